"""Rows of Spark frames in Iceberg tables: partition values, nested ids, deletes, updates and merges."""

import datetime as dt
from decimal import Decimal as Number

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

import esker

pytestmark = pytest.mark.spark

DDL = "id bigint, name string, ts timestamp, n timestamp_ntz, d date, m decimal(9,2), b binary"
TRANSFORMS = ["bucket(4, id)", "truncate(2, name)", "days(ts)", "hours(n)", "months(d)", "bucket(8, ts)", "bucket(8, d)", "b"]
MODES = ("copy-on-write", "merge-on-read")


def rows():
    times = [dt.datetime(1969, 12, 31, 23, 59), dt.datetime(2024, 2, 29, 12), None, dt.datetime(2024, 3, 1)]
    return pa.table(
        {
            "id": pa.array([1, -7, 2**40, None], pa.int64()),
            "name": pa.array(["", "0xfe", None, "жук"], pa.string()),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "n": pa.array(times, pa.timestamp("us")),
            "d": pa.array([None if t is None else t.date() for t in times], pa.date32()),
            "m": pa.array([Number("1.25"), Number("-0.01"), None, Number("99.99")], pa.decimal128(9, 2)),
            "b": pa.array([b"", b"\xff\0", None, b"abc"], pa.binary()),
        }
    )


def partitions(table):
    files = table._table.state.files.data
    parts = [part.partition.to_pylist() for part in files.parts]
    return sorted(str(row) for part in parts for row in part)


def test_spark_and_arrow_compute_the_same_partition_values(spark, tmp_path):
    """Appendix B: what one writes into a bucket, the other must find there."""
    by_arrow = esker.create(tmp_path / "a", DDL, format="iceberg", partition_by=TRANSFORMS).append(rows())
    frame = by_arrow.to_df(spark)
    by_spark = esker.create(tmp_path / "s", DDL, format="iceberg", partition_by=TRANSFORMS).append(frame)
    assert partitions(by_spark) == partitions(by_arrow)
    assert sorted(by_spark.to_arrow().to_pylist(), key=str) == sorted(rows().to_pylist(), key=str)


def test_files_are_sorted_as_the_table_says(spark, tmp_path):
    """Sorting: "Writers should use this default sort order", and each file names the order that it has."""
    told = pa.table({"id": list(range(12)), "s": ["b", "a", None] * 4})
    table = esker.create(tmp_path / "t", "id bigint, s string", format="iceberg", partition_by=["bucket(2, id)"])
    table.iceberg.sort_by("s DESC NULLS LAST", "id")
    table.append(told)
    table.append(spark.createDataFrame(told).repartition(1))
    files = table.files()
    assert set(files.column("sort_order_id").to_pylist()) == {1}
    for path in files.column("path").to_pylist():
        found = pq.read_table(path.removeprefix("file://")).to_pylist()
        assert len(found) > 2
        assert found == sorted(found, key=lambda row: (row["s"] is None, -ord(row["s"] or "z"), row["id"]))


def test_what_spark_cannot_compute_is_written_by_workers(spark, tmp_path):
    asked = ["bucket(4, name)", "truncate(50, m)"]
    by_arrow = esker.create(tmp_path / "a", DDL, format="iceberg", partition_by=asked).append(rows())
    by_spark = esker.create(tmp_path / "s", DDL, format="iceberg", partition_by=asked).append(by_arrow.to_df(spark))
    assert partitions(by_spark) == partitions(by_arrow)


def test_nested_columns_of_a_frame_are_found_by_their_ids(spark, tmp_path):
    frame = spark.sql("SELECT id, array(id, 1) AS l, map('k', struct(id AS x)) AS m FROM range(3)")
    table = esker.create(tmp_path / "t", frame, format="iceberg")
    found = StaticTable.from_metadata(f"{tmp_path}/t/metadata/v1.metadata.json").scan().to_arrow().sort_by("id").to_pylist()
    assert found == table.to_arrow().sort_by("id").to_pylist()
    assert found[2] == {"id": 2, "l": [2, 1], "m": [("k", {"x": 2})]}


@pytest.mark.parametrize(("version", "mode"), [(1, MODES[0]), (2, MODES[1]), (3, MODES[0]), (3, MODES[1])])
def test_rows_are_deleted_updated_and_merged_by_spark(spark, tmp_path, version, mode):
    modes = {f"write.{name}.mode": mode for name in ("delete", "update", "merge")}
    table = esker.create(
        tmp_path / "t", spark.range(20).selectExpr("id", "id AS v", "id % 2 AS p"), format="iceberg", partition_by=["p"],
        cluster_by=["id DESC"], properties={"format-version": str(version), **modes},
    )  # fmt: skip
    ids = {} if version < 3 else {r["id"]: r["_row_id"] for r in table.to_arrow(["id", "_row_id"]).to_pylist()}
    table.delete("id < 3", spark=spark)
    table.update({"v": "v * 10"}, where="id >= 15", spark=spark)
    source = spark.range(18, 22).selectExpr("id", "-id AS v", "id % 2 AS p")
    table.merge(source, on="target.id = source.id").when_matched_update_all().when_not_matched_insert_all().execute()
    expected = {**{i: i for i in range(3, 15)}, 15: 150, 16: 160, 17: 170, 18: -18, 19: -19, 20: -20, 21: -21}
    found = table.to_arrow(["id", "v"]).to_pylist()
    assert {row["id"]: row["v"] for row in found} == expected
    assert len(found) == len(expected)
    newest = f"{tmp_path}/t/{table._table.state.metadata_file}"
    theirs = StaticTable.from_metadata(newest).scan().to_arrow().to_pylist()
    assert {row["id"]: row["v"] for row in theirs} == expected
    if version == 3:
        now = {r["id"]: r["_row_id"] for r in table.to_arrow(["id", "_row_id"]).to_pylist()}
        assert {i: now[i] for i in ids if i >= 3} == {i: row for i, row in ids.items() if i >= 3}


@pytest.mark.parametrize("version", [2, 3])
def test_files_are_optimized_and_purged_and_every_row_stays(spark, tmp_path, version):
    asked = {"format-version": str(version), "write.delete.mode": MODES[1]}
    table = esker.create(tmp_path / "t", "id bigint, p bigint", format="iceberg", partition_by=["p"], properties=asked)
    for start in range(0, 40, 10):
        table.append(pa.table({"id": range(start, start + 10), "p": [i % 2 for i in range(10)]}))
    names = ["id", "_row_id"] if version == 3 else ["id"]
    table.delete("id = 7 OR id = 8", spark=spark)
    expected = sorted(table.to_arrow(names).to_pylist(), key=str)
    assert table.optimize(dry_run=True, spark=spark).pieces == 2
    table.optimize(spark=spark)
    assert table.files().num_rows == 2
    assert table._table.state.snapshot.operation == "replace"
    assert sorted(table.to_arrow(names).to_pylist(), key=str) == expected
    table.delete("id = 9", spark=spark).purge(spark=spark)
    assert len(table._table.state.files.deletes) == 0
    table.optimize(z_order_by=["id"], spark=spark)
    expected = [row for row in expected if row["id"] != 9]
    assert sorted(table.to_arrow(names).to_pylist(), key=str) == expected
