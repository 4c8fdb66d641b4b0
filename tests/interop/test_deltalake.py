"""Does Esker read what deltalake (delta-rs) writes as deltalake reads it?

Each case writes a table with what deltalake can do; every version of it must have the same rows for both.
"""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import (
    CommitProperties,
    DeltaTable,
    Field,
    QueryBuilder,
    Schema,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.schema import PrimitiveType

import esker
from esker.check.model import Severity
from tests.interop.rows import by_arrow, by_spark, content

pytestmark = pytest.mark.peers

FIRST = -(2**31)
FEED = {"delta.enableChangeDataFeed": "true"}

EVERY_TYPE = pa.table(
    {
        "a_byte": pa.array([1, -128, 127, None], pa.int8()),
        "a_short": pa.array([1, -(2**15), 2**15 - 1, None], pa.int16()),
        "an_int": pa.array([1, FIRST, 2**31 - 1, None], pa.int32()),
        "a_long": pa.array([1, -(2**63), 2**63 - 1, None], pa.int64()),
        "a_float": pa.array([1.5, float("-inf"), float("nan"), None], pa.float32()),
        "a_double": pa.array([-0.0, float("inf"), float("nan"), None], pa.float64()),
        "a_decimal": pa.array([Decimal("1.10"), Decimal("-9.99"), Decimal("9.99"), None], pa.decimal128(3, 2)),
        "a_wide_decimal": pa.array([Decimal(1), Decimal(10) ** 28 * -9, None, None], pa.decimal128(38, 9)),
        "a_string": pa.array(["text", "", "a/b=c%20 :é\n\"'", None], pa.string()),
        "a_binary": pa.array([b"\x00\xff", b"", b"abc", None], pa.binary()),
        "a_boolean": pa.array([True, False, True, None], pa.bool_()),
        "a_date": pa.array([date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None], pa.date32()),
        "a_timestamp": pa.array([0, -62135596800000000, 253402300799999999, None], pa.timestamp("us", "UTC")),
        "a_timestamp_ntz": pa.array([0, -1, 253402300799999999, None], pa.timestamp("us")),
    }
)
NESTED = pa.table(
    {
        "s": pa.array([{"a": {"b": [1, None]}}, {"a": None}, None], pa.struct({"a": pa.struct({"b": pa.list_(pa.int32())})})),
        "m": pa.array([[("k", [{"x": 1}])], [], None], pa.map_(pa.string(), pa.list_(pa.struct({"x": pa.int64()})))),
        "l": pa.array([[["x", None], []], [None], None], pa.list_(pa.list_(pa.string()))),
        "large": pa.array([[1], [], None], pa.large_list(pa.int32())),
        "fixed": pa.array([[1, 2], [3, None], None], pa.list_(pa.int32(), 2)),
    }
)
OTHER_ARROW_TYPES = pa.table(
    {
        "large_string": pa.array(["a", None], pa.large_string()),
        "string_view": pa.array(["a", None], pa.string_view()),
        "dictionary": pa.array(["a", None]).dictionary_encode(),
        "large_binary": pa.array([b"a", None], pa.large_binary()),
        "fixed_binary": pa.array([b"ab", None], pa.binary(2)),
        "nanoseconds": pa.array([-1000, None], pa.timestamp("ns", "UTC")),
        "another_zone": pa.array([0, None], pa.timestamp("us", "Europe/Oslo")),
    }
)


def rows(start: int, stop: int, name: str = "n") -> pa.Table:
    """Rows of three columns: `id`, `name`, `part`."""
    ids = range(start, stop)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"{name}{i}" for i in ids], "part": [f"p{i % 3}" for i in ids]})


def every_type(path: str) -> None:
    write_deltalake(path, EVERY_TYPE)
    write_deltalake(path, EVERY_TYPE.slice(1, 2), mode="append", writer_properties=WriterProperties(compression="GZIP"))


def nested_types(path: str) -> None:
    write_deltalake(path, NESTED)


def other_arrow_types(path: str) -> None:
    write_deltalake(path, OTHER_ARROW_TYPES)


def partitioned_by_every_type(path: str) -> None:
    # deltalake spells a negative decimal in a partition as -9.-99, which nobody can read
    wanted = pc.or_kleene(pc.is_null(EVERY_TYPE["a_decimal"]), pc.greater(EVERY_TYPE["a_decimal"], 0))
    numbered = EVERY_TYPE.append_column("n", pa.array(range(4))).filter(wanted)
    write_deltalake(path, numbered, partition_by=EVERY_TYPE.column_names)
    write_deltalake(path, numbered, mode="append")


def appends_and_overwrites(path: str) -> None:
    write_deltalake(path, rows(0, 9), partition_by=["part"])
    write_deltalake(path, rows(9, 12), mode="append")
    write_deltalake(path, rows(0, 3, "again").filter(pc.equal(pc.field("part"), "p1")), mode="overwrite",
                    predicate="part = 'p1'")  # fmt: skip
    write_deltalake(path, rows(50, 53), mode="overwrite")


def changes_of_rows(path: str, **options: Any) -> None:
    write_deltalake(path, rows(0, 20), **options)
    table = DeltaTable(path)
    table.update(updates={"name": "upper(name)"}, predicate="id % 4 = 0")
    table.delete("id BETWEEN 5 AND 8")
    merge = table.merge(rows(15, 25, "m"), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_delete("s.id = 15").when_matched_update_all().when_not_matched_insert_all().execute()
    table.delete("part = 'p1'")
    table.restore(2)


def change_data_feed(path: str) -> None:
    changes_of_rows(path, configuration=FEED)


def change_data_feed_in_partitions(path: str) -> None:
    changes_of_rows(path, configuration=FEED, partition_by=["part"])


def deletion_vectors_allowed(path: str) -> None:
    changes_of_rows(path, configuration={"delta.enableDeletionVectors": "true"})


def column_mapping(path: str) -> None:
    write_deltalake(path, rows(0, 9), partition_by=["part"], configuration={"delta.columnMapping.mode": "name"})
    write_deltalake(path, rows(9, 12), mode="append")


def checkpoints(path: str) -> None:
    write_deltalake(path, rows(0, 3), partition_by=["part"])
    for start in (3, 6):
        write_deltalake(path, rows(start, start + 3), mode="append")
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).delete("id = 4")


def cleaned_log(path: str) -> None:
    write_deltalake(path, EVERY_TYPE, configuration={"delta.logRetentionDuration": "interval 0 days"})
    write_deltalake(path, EVERY_TYPE, mode="append")
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).cleanup_metadata()
    write_deltalake(path, EVERY_TYPE.slice(0, 1), mode="append")


def compacted_log(path: str) -> None:
    write_deltalake(path, rows(0, 3))
    for start in (3, 6, 9):
        write_deltalake(path, rows(start, start + 3), mode="append")
    DeltaTable(path).compact_logs(1, 3)
    DeltaTable(path).delete("id = 4")


def optimized(path: str) -> None:
    write_deltalake(path, rows(0, 30), partition_by=["part"])
    write_deltalake(path, rows(30, 60), mode="append")
    DeltaTable(path).optimize.compact()
    write_deltalake(path, rows(60, 90), mode="append")
    DeltaTable(path).optimize.z_order(["id", "name"])
    DeltaTable(path).vacuum(retention_hours=1000, dry_run=False)


def schema_evolution(path: str) -> None:
    write_deltalake(path, rows(0, 3))
    more = rows(3, 5).append_column("more", pa.array([{"x": 1}, None], pa.struct({"x": pa.int64()})))
    write_deltalake(path, more, mode="append", schema_mode="merge")
    DeltaTable(path).alter.add_columns([Field("added", PrimitiveType("date"))])
    write_deltalake(path, rows(5, 6), mode="append", schema_mode="merge")
    write_deltalake(path, EVERY_TYPE, mode="overwrite", schema_mode="overwrite")


def constraints(path: str) -> None:
    columns = [Field("id", "long", nullable=False), Field("twice", "long", metadata={"delta.generationExpression": "id * 2"})]
    DeltaTable.create(path, Schema(columns))
    DeltaTable(path).alter.add_constraint({"positive": "id > 0"})
    write_deltalake(path, pa.table({"id": [1, 2]}), mode="append", schema_mode="merge")
    DeltaTable(path).alter.set_table_properties({"delta.appendOnly": "true"})


def transactions(path: str) -> None:
    write_deltalake(path, rows(0, 3))
    done = CommitProperties(app_transactions=[Transaction("app", 7)], custom_metadata={"userMetadata": "note"})
    write_deltalake(path, rows(3, 5), mode="append", commit_properties=done)


CASES: tuple[Callable[[str], None], ...] = (
    every_type, nested_types, other_arrow_types, partitioned_by_every_type, appends_and_overwrites, changes_of_rows,
    change_data_feed, change_data_feed_in_partitions, deletion_vectors_allowed, column_mapping, checkpoints, cleaned_log,
    compacted_log, optimized, schema_evolution, constraints, transactions,
)  # fmt: skip
FEEDS = (change_data_feed, change_data_feed_in_partitions)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A folder whose name has to be escaped in a URL."""
    return str(tmp_path / "a b é")


@pytest.mark.parametrize("case", CASES)
def test_each_version_has_the_rows_that_deltalake_reads(case: Callable[[str], None], path: str) -> None:
    case(path)
    table = esker.open(path)
    assert table.version == DeltaTable(path).version()
    for version in _versions(path):
        assert content(by_arrow(table.at(version))) == content(_peer_rows(path, version)), version
    wrong = {(found.rule, found.what.partition(":")[0]) for found in table.check(deep=True) if found.severity is Severity.ERROR}
    # deltalake, as of 1.6, rounds the bounds of decimals to floats
    assert wrong <= {("data.bounds", "a_wide_decimal")}


@pytest.mark.parametrize("case", CASES)
def test_the_newest_version_has_the_same_rows_through_spark(case: Callable[[str], None], path: str, spark: Any) -> None:
    case(path)
    table = esker.open(path)
    assert content(by_spark(spark, "native")(table)) == content(_peer_rows(path, table.version))


@pytest.mark.parametrize("case", FEEDS)
def test_the_changes_are_those_that_deltalake_reads(case: Callable[[str], None], path: str) -> None:
    case(path)
    table = esker.open(path)
    for first, last in ((0, table.version), (1, 1), (2, 3)):
        wanted = pa.table(DeltaTable(path).load_cdf(starting_version=first, ending_version=last).read_all())
        # deltalake takes the time of a commit from commitInfo, and Esker, as delta-spark does, from the commit's file
        found = table.changes(first, last).to_arrow().drop_columns("_commit_timestamp")
        # the cast: deltalake's versions are of 32 bits
        assert content(found) == content(wanted.select(found.column_names).cast(found.schema)), (first, last)


@pytest.mark.parametrize("case", CASES)
def test_the_history_has_the_versions_and_operations_that_deltalake_tells(case: Callable[[str], None], path: str) -> None:
    case(path)
    history = esker.open(path).history()
    wanted = [(entry["version"], entry["operation"]) for entry in DeltaTable(path).history()]
    assert list(zip(history["version"].to_pylist(), history["operation"].to_pylist(), strict=True)) == wanted


@pytest.mark.parametrize("case", CASES)
def test_a_filter_keeps_the_rows_that_it_keeps_for_deltalake(case: Callable[[str], None], path: str) -> None:
    """Files are skipped by deltalake's statistics, in commits and in checkpoints."""
    case(path)
    table = esker.open(path)
    for where in _filters(table):
        wanted = _peer_rows(path, table.version, where)
        assert content(table.to_arrow(where=where)) == content(wanted), where


def _filters(table: esker.Table) -> list[str]:
    texts = {
        "id": "id > 3", "name": "name = 'n4'", "part": "part <> 'p1'", "a_byte": "a_byte < 0", "a_long": "a_long >= 1",
        "a_decimal": "a_decimal > 1.10", "a_string": "a_string IS NULL", "a_boolean": "NOT a_boolean",
        "a_date": "a_date < DATE '2000-01-01'", "an_int": "an_int IN (1, 2147483647)",
    }  # fmt: skip
    return [text for name, text in texts.items() if table.schema.find(name) is not None]


def _versions(path: str) -> list[int]:
    """The versions that deltalake can still open."""
    logs = Path(path, "_delta_log")
    commits = sorted(int(f.stem) for f in logs.glob("*.json") if f.stem.isdigit())
    checkpoints = sorted(int(f.name.split(".")[0]) for f in logs.glob("*.checkpoint.parquet"))
    first = 0 if commits[0] == 0 else checkpoints[0]
    return list(range(first, commits[-1] + 1))


def _peer_rows(path: str, version: int, where: str = "true") -> pa.Table:
    table = DeltaTable(path, version=version)
    names = ", ".join('"' + field.name + '"' for field in table.schema().fields)
    return pa.table(QueryBuilder().register("t", table).execute(f"SELECT {names} FROM t WHERE {where}").read_all())
