"""Per-file Statistics: what a written file says of its rows, and that it never says what is not so."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import esker
from esker.delta.table import DeltaTable, open_delta
from esker.storage.opening import open_storage
from tests.delta.stats_oracle import assert_statistics_hold
from tests.delta.tables import Log

_TYPES: Mapping[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "byte": (pa.int8(), st.integers(-128, 127)),
    "double": (pa.float64(), st.floats() | st.sampled_from([0.0, -0.0, float("nan"), float("inf")])),
    "float": (pa.float32(), st.floats(width=32)),
    "text": (pa.string(), st.text(max_size=3) | st.text("a\U0010ffff😀\ud7ff\x00", min_size=30, max_size=36)),
    "moment": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "clock": (pa.timestamp("us"), st.datetimes()),
    "day": (pa.date32(), st.dates()),
    "number": (pa.decimal128(38, 9), st.decimals(-(10**20), 10**20, places=9)),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "truth": (pa.bool_(), st.booleans()),
}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_statistics_exclude_a_row_that_is_there(data: st.DataObject):
    name = data.draw(st.sampled_from(sorted(_TYPES)))
    kind, values = _TYPES[name]
    parts = [data.draw(st.lists(st.none() | values, max_size=6)) for _ in range(2)]
    table = esker.create(Log().url, pa.schema([("v", kind), ("s", pa.struct([("m", kind)]))]))
    for part in parts:
        nested = pa.array([None if v is None else {"m": v} for v in part], pa.struct([("m", kind)]))
        table.append(pa.table({"v": pa.array(part, kind), "s": nested}))
    assert_statistics_hold(_delta(table))


def test_statistics_say_something():
    table = esker.create(Log().url, pa.schema([("v", pa.int64())]))
    table.append(pa.table({"v": [1, 2]}))
    table.append(pa.table({"v": [None, 9]}))
    assert assert_statistics_hold(_delta(table)) > 10


_LONG = "x" * 40
_STATED = [
    ("text", pa.array([_LONG, "a"]), "a", "x" * 32 + "\U0010ffff"),
    ("a text that goes on with the highest character", pa.array(["\U0010ffff" * 33]), None, None),
    ("emoji at the cut", pa.array(["😀" * 33]), "😀" * 32, "😀" * 32 + "\U0010ffff"),
    # "Timestamp columns are truncated down to milliseconds"
    ("moment", pa.array([datetime(2024, 1, 1, 0, 0, 0, 1999, UTC)]), "2024-01-01T00:00:00.001Z", "2024-01-01T00:00:00.001Z"),
    ("a moment before 1970", pa.array([datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)]),
     "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
    ("clock", pa.array([datetime(2024, 1, 1, 0, 0, 0, 1999)]), "2024-01-01T00:00:00.001", "2024-01-01T00:00:00.001"),
    ("a day before the calendar was reformed", pa.array([date(1582, 10, 4)]), "1582-10-04", "1582-10-04"),
    ("a day that not every reader knows", pa.array([3_000_000], pa.int32()).cast(pa.date32()), None, None),
    ("NaN", pa.array([1.0, float("nan")]), None, None),
    ("infinity", pa.array([1.0, float("inf")]), None, None),
    ("only nulls", pa.array([None], pa.int64()), None, None),
    ("truth", pa.array([True]), None, None),
    ("bytes", pa.array([b"a"]), None, None),
]  # fmt: skip


@pytest.mark.parametrize(("values", "low", "high"), [case[1:] for case in _STATED], ids=[case[0] for case in _STATED])
def test_bounds_are_stated_as_the_protocol_has_them(values: pa.Array, low: Any, high: Any):
    stats = _stats(esker.create(Log().url, pa.table({"v": values})))
    assert (stats["minValues"].get("v"), stats["maxValues"].get("v")) == (low, high)
    assert stats["nullCount"] == {"v": values.null_count}
    assert stats["numRecords"] == len(values)
    assert stats["tightBounds"] is True


def test_a_file_tells_no_bounds_of_a_column_with_nan():
    """Spark takes NaN for greater than all numbers, and leaves out row groups by what a file tells."""
    log = Log()
    doubles = pa.array([1.0, float("nan"), None])
    rows = pa.table({"i": [1, 2, 3], "d": doubles, "s": pa.StructArray.from_arrays([doubles, doubles.is_valid()], ["in", "b"])})
    table = esker.create(log.url, rows)
    footer = pq.read_metadata(pa.BufferReader(log.storage.read(str(_add(table)["path"]))))
    columns = [footer.row_group(0).column(at) for at in range(footer.num_columns)]
    told = {c.path_in_schema for c in columns if c.is_stats_set and c.statistics.has_min_max}
    assert told == {"i", "s.b"}
    assert _stats(table)["nullCount"] == {"i": 0, "d": 1, "s": {"in": 1, "b": 0}}


def test_decimals_keep_every_digit():
    value = Decimal("12345678901234567890123456789.123456789")
    table = esker.create(Log().url, pa.table({"v": pa.array([value], pa.decimal128(38, 9))}))
    assert f'"v":{value}' in str(_add(table)["stats"])


def test_statistics_are_kept_of_the_indexed_columns_and_of_clustering_columns():
    """Clustered Table: "Writers must write out [...] per-column statistics for clustering columns" """
    properties = {"delta.dataSkippingNumIndexedCols": "1"}
    rows = pa.table({"a": [1], "b": [2], "s": [{"c": 3, "d": 4}]})
    table = esker.create(Log().url, rows, cluster_by=["S.c"], properties=properties)
    assert _stats(table)["minValues"] == {"a": 1, "s": {"c": 3}}
    assert _stats(table.append(rows))["minValues"] == {"a": 1, "s": {"c": 3}}


def test_listed_columns_have_statistics_and_no_others():
    table = esker.create(
        Log().url, pa.table({"a": [1], "b": [2], "s": [{"c": 3, "d": 4}]}),
        properties={"delta.dataSkippingStatsColumns": "b,s.d"},
    )  # fmt: skip
    assert _stats(table)["minValues"] == {"b": 2, "s": {"d": 4}}


def test_statistics_go_by_physical_names():
    """Writer Requirements for Column Mapping: "Track partition values and column level statistics with the physical name" """
    table = esker.create(
        Log().url, pa.table({"a b": [1], "p": ["x"]}), partition_by=["p"], properties={"delta.columnMapping.mode": "name"}
    )
    physical = {f.name: f.metadata["delta.columnMapping.physicalName"] for f in table.schema}
    assert _stats(table)["maxValues"] == {physical["a b"]: 1}
    assert _add(table)["partitionValues"] == {physical["p"]: "x"}


def _delta(table: esker.Table) -> DeltaTable:
    return open_delta(open_storage(table.location), {}, {})


def _stats(table: esker.Table) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_add(table)["stats"])
    return found


def _add(table: esker.Table) -> dict[str, Any]:
    """The file that the last version added."""
    data = open_storage(table.location).read(f"_delta_log/{table.version:020}.json")
    lines = [json.loads(line) for line in bytes(data).splitlines()]
    (found,) = [line["add"] for line in lines if "add" in line]
    return dict(found)
