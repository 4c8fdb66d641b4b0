"""Partition Value Serialization: every value that is written is the value that is read."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import esker
from esker.errors import InvalidRequest
from tests.delta.tables import Log

NASTY = ["a", " ", "../..", "%2e%2e", "a=b/c", "é😀", "\x00", "\n", "__HIVE_DEFAULT_PARTITION", "null", "x" * 200, "'\"`\\"]
"""Texts that a path or a folder's name must not take for something else."""

VALUES: Mapping[str, tuple[pa.DataType, list[Any]]] = {
    "string": (pa.string(), NASTY),
    "boolean": (pa.bool_(), [True, False]),
    "byte": (pa.int8(), [-128, 127]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1]),
    "float": (pa.float32(), [1.5, float("inf"), float("-inf"), 3.4028234663852886e38]),
    "double": (pa.float64(), [0.1, 1e300, 5e-324]),
    "decimal(20,10)": (pa.decimal128(20, 10), [Decimal("0E-10"), Decimal("-1234567890.0123456789")]),
    "date": (pa.date32(), [date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us", "UTC"), [
        datetime(1, 1, 2, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(2024, 3, 31, 2, 30, 0, 1, UTC), datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC),
    ]),
    "timestamp_ntz": (pa.timestamp("us"), [datetime(1, 1, 2), datetime(2024, 3, 31, 2, 30, 0, 10), datetime(2024, 3, 10, 2, 30)]),
    "binary": (pa.binary(), [b"a", "é".encode()]),
}  # fmt: skip
"""Values of each type that partitions can have, some of which clocks in Berlin or New York never show."""


@pytest.mark.parametrize("kind", VALUES)
def test_partition_values_come_back_as_they_were(kind: str):
    rows = rows_of(kind)
    table = esker.create(Log().url, f"n int, p {kind}", partition_by=["p"])
    table.append(rows)
    assert table.to_arrow().sort_by("n") == rows.cast(table.to_arrow().schema)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=4), st.lists(st.datetimes(), min_size=4, max_size=4))
def test_any_text_and_time_comes_back(texts: list[str], times: list[datetime]):
    rows = pa.table({
        "n": pa.array(range(len(texts)), pa.int32()), "p": pa.array(texts),
        "q": pa.array(times[: len(texts)], pa.timestamp("us")),
    })  # fmt: skip
    table = esker.create(Log().url, rows, partition_by=["p", "q"])
    expected = [{**row, "p": row["p"] or None} for row in rows.to_pylist()]  # "An empty string [...] translates to a `null`"
    assert table.to_arrow().sort_by("n").to_pylist() == expected


def test_a_binary_value_that_is_no_text_is_refused():
    table = esker.create(Log().url, "n int, p binary", partition_by=["p"])
    with pytest.raises(InvalidRequest, match="not UTF-8"):
        table.append(pa.table({"n": pa.array([1], pa.int32()), "p": [b"\xff"]}))
    assert table.at().version == 0


def test_partition_columns_may_have_any_name():
    rows = pa.table({"row": ["a", None], "row_list": ["b", "c"], "0": ["d", ""], "v": [1, 2]})
    table = esker.create(Log().url, rows, partition_by=["row", "row_list", "0"])
    assert table.to_arrow().sort_by("v").to_pylist() == [
        {"row": "a", "row_list": "b", "0": "d", "v": 1}, {"row": None, "row_list": "c", "0": None, "v": 2},
    ]  # fmt: skip


def rows_of(kind: str) -> pa.Table:
    """A row for each of the values, and for null."""
    arrow, values = VALUES[kind]
    return pa.table({"n": pa.array(range(len(values) + 1), pa.int32()), "p": pa.array([*values, None], arrow)})
