"""Does Spark look at the rows that are there, and read tables whose columns were changed?"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.errors import InvalidRequest

pytestmark = pytest.mark.spark


def test_constraints_and_not_null_are_asked_of_the_rows_that_are_there(spark: Any, tmp_path: Path):
    table = esker.create(tmp_path / "t", "id bigint, name string", properties={"delta.columnMapping.mode": "name"})
    with pytest.raises(InvalidRequest, match="no condition"):
        table.add_constraint("c", "nonsense(id)", spark=spark)  # there are no rows yet, and it is no condition all the same
    table.append(pa.table({"id": [1, 2], "name": ["anne", None]}))
    for condition, problem in (("length(name) > 2", "1 rows"), ("length(name)", "no condition"), ("sum(id) > 0", "one row")):
        with pytest.raises(InvalidRequest, match=problem):
            table.add_constraint("c", condition, spark=spark)
    with pytest.raises(InvalidRequest, match="1 rows"):
        table.set_not_null("name", spark=spark)
    assert esker.open(table.location).version == 1
    table.add_constraint("c", "length(name) > 2 OR name IS NULL -- short", spark=spark).set_not_null("id", spark=spark)
    frame = spark.createDataFrame([(3, "x")], "id long, name string")
    with pytest.raises(InvalidRequest, match="constraint c"):
        table.append(frame)
    table.drop_constraint("c").append(frame)
    assert esker.open(table.location).version == 5


def test_a_default_fills_what_new_rows_do_not_bring(spark: Any, tmp_path: Path):
    table = esker.create(tmp_path / "t", "id bigint", features=["allowColumnDefaults"]).append(pa.table({"id": [1]}))
    table.add_columns("n int").set_default("n", "40 + 2").append(spark.range(2, 3))
    assert sorted(map(tuple, table.to_df(spark).collect())) == [(1, None), (2, 42)]


@pytest.mark.parametrize("relation", ["native", "portable"])
def test_spark_reads_changed_columns_as_arrow_does(spark: Any, tmp_path: Path, relation: Any):
    properties = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    table = esker.create(tmp_path / "t", "id bigint, a int, s struct<b int, c string>, d date", properties=properties)
    old = {"id": 1, "a": 7, "s": {"b": 8, "c": "x"}, "d": None}
    table.append(pa.Table.from_pylist([old], pa.schema([("id", pa.int64()), ("a", pa.int32()), ("s", pa.struct([("b", pa.int32()), ("c", pa.string())])), ("d", pa.date32())])))
    table.change_type("a", "bigint").change_type("s.b", "double").rename_column("s.c", "cc").drop_columns("d")
    table.add_columns("d string", first=True).add_columns("e int", parent="s", first=True).rename_column("a", "A a")
    table.append(spark.sql("SELECT 'y' AS d, 2L AS id, 9L AS `A a`, named_struct('e', 1, 'b', 0.5D, 'cc', 'z') AS s"))
    read = [row.asDict(recursive=True) for row in table.to_df(spark, relation=relation).orderBy("id").collect()]
    assert read == sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])
    assert read[0] == {"d": None, "id": 1, "A a": 7, "s": {"e": None, "b": 8.0, "cc": "x"}}
