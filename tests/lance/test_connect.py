"""Lance tables on a Spark Connect server, which has no JVM at hand: read by the portable relation, and written."""

from pathlib import Path
from typing import Any

import pytest

import esker
from esker.errors import EskerError
from tests.connect import on_connect

pytestmark = pytest.mark.connect

USED = """
from esker.spark.session import is_connect, session
from tests.lance.test_connect import used
spark = session()
assert is_connect(spark)
used(spark, folder)
"""


def used(spark: Any, path: Path) -> None:
    """Each way of reading and of writing."""
    frame = spark.range(0, 400, 1, 4).selectExpr("id", "concat('n', id) AS name", "cast(id AS decimal(9,2)) AS amount", "array(id) AS list")
    table = esker.create(path, frame, format="lance", features=["STABLE_ROW_IDS"])
    assert table.to_df(spark).count() == 400
    for switch in ("true", "false"):  # with it, Spark hands its filters over
        spark.conf.set("spark.sql.python.filterPushdown.enabled", switch)
        assert [row.name for row in table.to_df(spark).where("id = 7 AND name LIKE 'n%'").select("name").collect()] == ["n7"]
    table.delete("length(name) = 2", spark=spark)
    table.update({"name": "upper(name)"}, "id = 50", spark=spark)
    source = spark.range(395, 405).selectExpr("id", "'merged' AS name", "1.5BD AS amount", "array(0L) AS list")
    table.merge(source, "target.id = source.id", spark=spark).when_matched_update_all().when_not_matched_insert_all().execute()
    assert table.optimize(dry_run=True, spark=spark).files
    table.optimize(spark=spark)
    found = {row.id: row.name for row in table.to_df(spark, where="id >= 10").collect()}
    assert sorted(found) == list(range(10, 405))
    assert (found[50], found[394], found[400]) == ("N50", "n394", "merged")
    with pytest.raises(EskerError, match="long in the table"):
        table.append(spark.sql("SELECT 'x' AS id"))


@pytest.mark.slow
def test_a_lance_table_is_read_and_written_on_spark_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    on_connect(USED, tmp_path / "t")
    assert esker.open(tmp_path / "t").to_arrow(where="id = 400").to_pylist()[0]["name"] == "merged"
