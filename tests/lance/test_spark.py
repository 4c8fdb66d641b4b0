"""Rows that Spark's workers read and write, and that the driver commits once."""

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import esker
from esker.errors import EskerError
from esker.spark import fragments

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> esker.Table:
    """A table that workers wrote: five fragments of a hundred rows."""
    frame = spark.range(0, 500, 1, 5).selectExpr(
        "id", "concat('n', id) AS name", "array(cast(id AS float), 0F) AS vector", "named_struct('x', id % 7) AS st"
    )
    return esker.create(tmp_path_factory.mktemp("lance") / "t", frame, format="lance", features=["STABLE_ROW_IDS"])


def test_workers_write_fragments_and_the_driver_commits_one_version(table: esker.Table, spark: Any) -> None:
    dataset = lance.dataset(table.location.removeprefix("file://"))
    assert (dataset.version, len(dataset.get_fragments()), dataset.count_rows()) == (1, 5, 500)
    assert table.to_df(spark).agg({"id": "sum"}).first()[0] == sum(range(500))


def test_columns_and_filters_reach_pylance(table: esker.Table, spark: Any) -> None:
    frame = table.to_df(spark, columns=["name"], where="id IN (3, 444) AND upper(name) LIKE 'N%'")
    assert sorted(row.name for row in frame.collect()) == ["n3", "n444"]
    lazy = table.to_df(spark).where("st.x = 3 AND name >= 'n49'").select("id")
    assert sorted(row.id for row in lazy.collect()) == sorted(i for i in range(500) if i % 7 == 3 and f"n{i}" >= "n49")
    assert fragments.takes_filters(spark) == hasattr(fragments.ds, "Filter")


def test_a_job_that_fails_leaves_no_version(table: esker.Table, spark: Any) -> None:
    before = esker.open(table.location.removeprefix("file://")).version
    bad = spark.range(0, 10, 1, 2).selectExpr("id", "CASE WHEN id = 7 THEN raise_error('boom') ELSE 'x' END AS name")
    with pytest.raises(EskerError, match="boom"):
        esker.open(table.location.removeprefix("file://")).append(bad)
    assert esker.open(table.location.removeprefix("file://")).version == before


def test_rows_are_changed_by_conditions_that_only_spark_understands(table: esker.Table, spark: Any, tmp_path: Path) -> None:
    own = table.clone(tmp_path / "c")
    own.delete("length(name) = 2", spark=spark)
    own.update({"name": "upper(name)", "st.x": "st.x + 100L"}, "pmod(id, 100) = 50", spark=spark)
    source = spark.range(495, 505).selectExpr("id", "'merged' AS name", "array(1F, 2F) AS vector", "named_struct('x', 1L) AS st")
    merge = own.merge(source, "target.id = source.id", spark=spark)
    merge.when_matched_update({"name": "source.name"}).when_not_matched_insert_all().execute()
    found = {row["id"]: row for row in own.to_arrow().to_pylist()}
    assert sorted(found) == list(range(10, 505))
    assert (found[50]["name"], found[50]["st"]) == ("N50", {"x": 101})
    assert [found[id]["name"] for id in (494, 495, 504)] == ["n494", "merged", "merged"]
    assert found[499]["vector"] == [499.0, 0.0]
    # "the id is preserved for updated rows": section 8
    ids = lambda handle: dict(zip(*handle.to_arrow(columns=["id", "_rowid"]).to_pydict().values(), strict=True))  # noqa: E731
    before, after = ids(table), ids(own)
    assert {id: after[id] for id in range(10, 500)} == {id: before[id] for id in range(10, 500)}


def test_a_merge_with_two_source_rows_for_one_row_is_refused(table: esker.Table, spark: Any) -> None:
    source = spark.createDataFrame([(1, "a"), (1, "b")], "id long, name string")
    merge = table.merge(source, "target.id = source.id", spark=spark).when_matched_update({"name": "source.name"})
    with pytest.raises(EskerError, match="more than one row"):
        merge.execute()


def test_numbers_that_spark_has_not_are_read_as_wider_ones(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "h": pa.array([0.5], pa.float16()), "b": pa.array([255], pa.uint8())})
    table = esker.create(tmp_path / "t", rows, format="lance")
    frame = table.to_df(spark)
    assert [field.dataType.simpleString() for field in frame.schema] == ["decimal(20,0)", "float", "smallint"]
    assert [int(value) if i != 1 else value for i, value in enumerate(frame.first())] == [2**64 - 1, 0.5, 255]
    table.append(frame)
    assert table.to_arrow() == pa.concat_tables([rows, rows])
