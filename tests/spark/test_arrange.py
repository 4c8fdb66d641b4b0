"""Do rows stay what they are when Spark lays them out anew?"""

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import esker
from esker.core.arrange import Layout
from esker.core.columns import rows_of
from esker.core.curve import CurveKind
from esker.core.spread import places, spread
from esker.delta.rearrange import optimize, purge
from esker.delta.snapshot import Place, Snapshot, load
from esker.storage import open_storage
from tests.connect import on_connect

pytestmark = pytest.mark.spark

IDS = ("_row_id", "_row_commit_version")
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def snapshot(path: Path) -> Snapshot:
    return load(Place(open_storage(path)))


def arranger(spark: Any, relation: str) -> Any:
    from esker.spark.edit import SparkEditor

    return SparkEditor(spark, relation)  # type: ignore[arg-type]


def shown(path: Path, columns: tuple[str, ...] = ()) -> Counter[str]:
    return Counter(map(str, esker.open(path).to_arrow(columns=["*", *columns]).to_pylist()))


def mixed(first: int, count: int = 30) -> pa.Table:
    """Rows of all kinds of columns, with nulls here and there."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"{'æ' * (i % 3)}{i * 37 % 100}" for i in numbers]),
            "x": pa.array([float("nan") if i % 11 == 0 else i * 7919 % 101 / 3 for i in numbers]),
            "d": pa.array([None if i % 5 == 0 else date.fromordinal(730_000 + i * 31 % 97) for i in numbers]),
            "t": pa.array([_EPOCH.replace(minute=i % 60) for i in numbers], pa.timestamp("us", "UTC")),
            "m": pa.array([Decimal(i * 13 % 50) / 4 for i in numbers], pa.decimal128(9, 2)),
            "n": pa.array([{"a": i, "b": [str(i), None]} for i in numbers], _NESTED),
            "p": pa.array([None if i % 4 == 0 else "a b/c"[: i % 4] for i in numbers]),
        }
    )


_NESTED = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])
SCHEMA = (
    "id bigint, s string, x double, d date, t timestamp, m decimal(9,2), n struct<a: int, b: array<string>>, p string"
)
TRACKED = {"delta.enableRowTracking": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}
TABLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "partitioned, with ids and vectors": {"partition_by": ["p"], "properties": TRACKED | VECTORS},
    "mapped by name, with ids": {"properties": {"delta.columnMapping.mode": "name"} | TRACKED},
    "mapped by id, partitioned, with vectors": {
        "partition_by": ["p"], "properties": {"delta.columnMapping.mode": "id"} | VECTORS,
    },
}  # fmt: skip


def built(path: Path, options: dict[str, Any], spark: Any) -> tuple[str, ...]:
    made = esker.create(path, SCHEMA, **options)
    for first in (0, 30, 60):
        made.append(mixed(first))
    made.delete("id % 10 = 3", spark=spark)
    return IDS if TRACKED.items() <= options.get("properties", {}).items() else ()


@pytest.mark.parametrize("name", TABLES)
def test_rows_and_their_ids_are_the_same_before_and_after(spark, relation, tmp_path, name):
    """ "When a row is updated or copied, the stable Row ID for this row is preserved."  (Row Tracking)"""
    columns = built(tmp_path, TABLES[name], spark)
    before = shown(tmp_path, columns)
    partitions = 4 if "partition_by" in TABLES[name] else 1
    done = optimize(snapshot(tmp_path), Layout(), arranger(spark, relation))
    assert len(done.files) == partitions
    assert done.files.table.column("deletionVector").null_count == partitions
    assert shown(tmp_path, columns) == before
    if relation == "native":
        laid = Layout(z_order_by=("s", "x", "n.a"), target_size=3_000)
        assert len(optimize(done, laid, arranger(spark, relation)).files) > partitions
        assert shown(tmp_path, columns) == before


def test_a_purge_keeps_the_rows(spark, relation, tmp_path):
    built(tmp_path, TABLES["partitioned, with ids and vectors"], spark)
    before = shown(tmp_path, IDS)
    done = purge(snapshot(tmp_path), "p = 'a'", arranger(spark, relation))
    assert 0 < done.files.table.column("deletionVector").null_count < len(done.files)
    done = purge(done, None, arranger(spark, relation))
    assert done.files.table.column("deletionVector").null_count == len(done.files)
    assert shown(tmp_path, IDS) == before


def spread_table(path: Path, **options: Any) -> esker.Table:
    """Rows whose columns have nothing to do with one another, so that every file spans all values of each."""
    random = np.random.default_rng(3)
    made = esker.create(path, "a int, b string", **options)
    for _ in range(4):
        a, b = random.integers(0, 1000, 2000), random.integers(0, 10**6, 2000)
        made.append(pa.table({"a": pa.array(a, pa.int32()), "b": [f"name {i:06}" for i in b.tolist()]}))
    return made


QUERIES = ["a = 100", "a = 600", "b = 'name 300000'", "b between 'name 900' and 'name 901'"]


def files_read(made: esker.Table, where: str) -> int:
    plan = made._table.plan()
    return int(plan.matching(made._bound(where, UTC)).sum())


@pytest.mark.parametrize("options, wish", [({}, {"z_order_by": ["a", "b"]}), ({"cluster_by": ["a", "b"]}, {})])
def test_a_filter_on_each_of_the_columns_skips_files_afterwards(spark, tmp_path, options, wish):
    made = spread_table(tmp_path, **options)
    rows = shown(tmp_path)
    assert [files_read(made, where) for where in QUERIES] == [4, 4, 4, 4]
    made.optimize(**wish, target_size=made.optimize(**wish, dry_run=True).size // 16, spark=spark)
    files = made.files()
    assert 16 <= len(files) <= 17
    assert max(files["records"].to_pylist()) < 1.2 * 8000 / len(files)
    assert shown(tmp_path) == rows
    # Each column is cut into about four ranges, so that a value of it is in a quarter of the files; a few more lie across.
    assert max(files_read(made, where) for where in QUERIES) <= 9


@pytest.mark.parametrize("kind", CurveKind)
def test_spark_finds_the_places_that_plain_columns_give(spark, tmp_path, kind):
    from esker.core.arrange import Curved, Rearrangement
    from esker.delta.row_specs import RowSpecs
    from esker.spark.curve import along_curve

    esker.create(tmp_path, SCHEMA).append(mixed(0, 200))
    specs = RowSpecs.of(snapshot(tmp_path))
    columns = (("s",), ("x",), ("d",), ("t",), ("m",))[: 5 if kind is CurveKind.Z_ORDER else 3]
    part, pieces = np.zeros(1, np.int64), np.array([6])
    curve = Curved(kind, columns)
    laid = along_curve(Rearrangement(specs.rows, part, pieces, curve, specs.copied, 200), curve, arranger(spark, "native").rows)
    found = laid.rows.select("id", laid.place, laid.piece).toArrow().sort_by("id")
    rows = mixed(0, 200)
    values = {
        "s": pa.array([s if s is None else s[:32].encode().hex().upper() for s in rows["s"].to_pylist()]),
        "x": rows["x"].combine_chunks(), "d": rows["d"].cast(pa.int32()).cast(pa.int64()).combine_chunks(),
        "t": rows["t"].cast(pa.int64()).combine_chunks(), "m": rows["m"].cast(pa.float64()).combine_chunks(),
    }  # fmt: skip
    plain = [values[path[0]] for path in columns]
    expected = places(plain, [spread(column) for column in plain], kind)
    assert found[laid.place].to_pylist() == expected.tolist()
    piece = rows_of(found[laid.piece].cast(pa.int64()))
    assert np.bincount(piece, minlength=6).min() >= 200 // 6 - 6
    assert (np.diff(piece[np.argsort(expected, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("tasks", [1, 2, 7, 40])
def test_every_key_leads_to_its_task(spark, tasks):
    from pyspark.sql import functions as F

    from esker.spark.exchange import hashed, keys

    numbers = spark.createDataFrame(pa.table({"key": pa.array(keys(tasks))})).repartition(tasks, "key")
    landed = {row["key"]: row["task"] for row in numbers.select("key", F.spark_partition_id().alias("task")).collect()}
    assert [landed[key] for key in keys(tasks).tolist()] == list(range(tasks))
    some = np.array([0, 1, -1, 1 << 40, -(1 << 62)], np.int64)
    spoken = spark.createDataFrame(pa.table({"n": some})).select(F.hash("n").alias("h")).toArrow()["h"].to_pylist()
    assert hashed(some).tolist() == spoken


OPTIMIZED = """
import esker
table = esker.open(folder)
table.optimize().optimize(z_order_by=["s", "id"], target_size=1500)
print(table.version, len(table.files()))
"""


@pytest.mark.connect
@pytest.mark.slow
def test_rows_are_laid_out_anew_on_a_connect_server(tmp_path):
    pytest.importorskip("grpc")
    made = esker.create(tmp_path, SCHEMA, partition_by=["p"])
    made.append(mixed(0)).append(mixed(30))
    before = shown(tmp_path)
    version, files = map(int, on_connect(OPTIMIZED, tmp_path).split())
    assert version == 4
    assert files > 4
    assert shown(tmp_path) == before
