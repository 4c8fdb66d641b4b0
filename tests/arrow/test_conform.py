"""How a column of a file becomes a column of the table: every form a value may be stored in."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from esker.arrow.conform import Lookup, conform, find
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.scan import Resolution
from esker.core.types import Array, Field, Map, Struct, Type
from esker.errors import InvalidTable
from tests.delta.tables import Log, parquet

BY_NAME = Resolution.NAME


def read(column: pa.Array, kind: Type, physical: Type | None = None, by: Resolution = BY_NAME) -> pa.Array:
    found = conform(column, pa.field("c", column.type), Field("c", physical or kind), kind, Lookup(by))
    found.validate(full=True)
    assert found.type == to_arrow(kind)
    return found


NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
WIDENED: list[tuple[pa.DataType, Type, Any, Any]] = [
    (pa.int8(), t.SHORT, -1, -1), (pa.int8(), t.INTEGER, -1, -1), (pa.int8(), t.LONG, -1, -1), (pa.int16(), t.LONG, -1, -1),
    (pa.int32(), t.LONG, -1, -1), (pa.int32(), t.BYTE, 127, 127), (pa.int64(), t.INTEGER, 5, 5),
    (pa.int8(), t.DOUBLE, -1, -1.0), (pa.int16(), t.DOUBLE, 3, 3.0), (pa.int32(), t.DOUBLE, 2**31 - 1, 2147483647.0),
    (pa.float32(), t.DOUBLE, 0.5, 0.5), (pa.int32(), t.Decimal(12, 2), 7, Decimal("7.00")),
    (pa.int64(), t.Decimal(20, 0), 2**63 - 1, Decimal(2**63 - 1)),
    (pa.decimal128(5, 2), t.Decimal(10, 4), Decimal("1.25"), Decimal("1.2500")),
    (pa.decimal256(5, 2), t.Decimal(5, 2), Decimal("1.25"), Decimal("1.25")),
    (pa.large_string(), t.STRING, "x", "x"), (pa.binary(), t.STRING, b"x", "x"), (pa.string_view(), t.STRING, "x", "x"),
    (pa.large_binary(), t.BINARY, b"x", b"x"), (pa.binary(2), t.BINARY, b"xy", b"xy"), (pa.string(), t.BINARY, "x", b"x"),
    (pa.binary_view(), t.BINARY, b"x", b"x"), (pa.binary_view(), t.STRING, b"x", "x"), (pa.large_binary(), t.Geometry(), b"x", b"x"),
    (pa.dictionary(pa.int32(), pa.string()), t.STRING, "x", "x"),
    (pa.date32(), t.TIMESTAMP_NTZ, date(2024, 1, 2), datetime(2024, 1, 2)),
    (pa.timestamp("s", "UTC"), t.TIMESTAMP, NOON, NOON), (pa.timestamp("ms", "UTC"), t.TIMESTAMP, NOON, NOON),
    (pa.timestamp("ns", "UTC"), t.TIMESTAMP, NOON, NOON), (pa.timestamp("us", "Europe/Oslo"), t.TIMESTAMP, NOON, NOON),
    (pa.timestamp("us"), t.TIMESTAMP, NOON.replace(tzinfo=None), NOON),
    (pa.timestamp("us", "UTC"), t.TIMESTAMP_NTZ, NOON, NOON.replace(tzinfo=None)),
    (pa.null(), t.LONG, None, None), (pa.null(), t.STRING, None, None),
    (pa.uint8(), t.SHORT, 255, 255), (pa.uint16(), t.INTEGER, 2**16 - 1, 2**16 - 1), (pa.uint32(), t.LONG, 2**32 - 1, 2**32 - 1),
    (pa.uint64(), t.Decimal(20, 0), 2**64 - 1, Decimal(2**64 - 1)), (pa.duration("us"), t.LONG, timedelta(seconds=1), 10**6),
]  # fmt: skip


@pytest.mark.parametrize("stored, kind, value, expected", WIDENED, ids=lambda value: str(value)[:30])
def test_a_value_keeps_its_meaning_in_the_type_of_the_table(stored: pa.DataType, kind: Type, value: Any, expected: Any) -> None:
    """PROTOCOL.md, "Delta Data Type to Parquet Type Mappings"; newest text, 3.1."""
    # Arrow makes no views of Python values
    written = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(stored, stored)
    assert read(pa.array([None, value, None], written).cast(stored), kind).to_pylist() == [None, expected, None]


REFUSED: list[tuple[pa.DataType, Type, Any]] = [
    (pa.int64(), t.DOUBLE, 1), (pa.float64(), t.FLOAT, 1.0), (pa.float32(), t.LONG, 1.0), (pa.string(), t.LONG, "1"),
    (pa.int64(), t.STRING, 1), (pa.int32(), t.BYTE, 128), (pa.int64(), t.INTEGER, 2**31), (pa.bool_(), t.LONG, True),
    (pa.int32(), t.BOOLEAN, 1), (pa.uint8(), t.BYTE, 128), (pa.uint64(), t.LONG, 2**63), (pa.decimal128(5, 3), t.Decimal(5, 2), Decimal("1.255")), (pa.binary(), t.STRING, b"\xff"),
    (pa.decimal128(10, 2), t.Decimal(5, 2), Decimal("12345.00")), (pa.float64(), t.Decimal(5, 2), 1.5),
    (pa.int64(), t.TIMESTAMP, 1), (pa.timestamp("us"), t.DATE, 0), (pa.date32(), t.TIMESTAMP, date(2024, 1, 1)),
    (pa.timestamp("us"), t.LONG, 0), (pa.int64(), Struct((Field("x", t.LONG),)), 1), (pa.int64(), Array(t.LONG), 1),
    (pa.list_(pa.int64()), t.LONG, [1]), (pa.struct([("x", pa.int64())]), t.LONG, {"x": 1}),
    (pa.struct([("x", pa.int64())]), Map(t.STRING, t.LONG), {"x": 1}), (pa.list_(pa.int64()), Struct(()), [1]),
]  # fmt: skip


@pytest.mark.parametrize("stored, kind, value", REFUSED, ids=lambda value: str(value)[:30])
def test_what_would_change_a_value_is_refused(stored: pa.DataType, kind: Type, value: Any) -> None:
    """newest text, C13: "a data-file column that *is* in the schema must have the schema's type, except where type widening"."""
    with pytest.raises(InvalidTable, match="the file has"):
        read(pa.array([value], stored), kind)


def test_nanoseconds_are_cut_off_towards_the_past() -> None:
    column = pa.array([-1, -1000, -1001, 1999], pa.int64()).view(pa.timestamp("ns"))
    assert read(column, t.TIMESTAMP_NTZ).view(pa.int64()).to_pylist() == [-1, -1, -2, 1]


def test_milliseconds_that_microseconds_cannot_say_are_refused() -> None:
    column = pa.array([2**62], pa.int64()).view(pa.timestamp("ms"))
    with pytest.raises((InvalidTable, pa.ArrowInvalid)):
        read(column, t.TIMESTAMP_NTZ)


NESTED = Struct((Field("a", t.LONG), Field("b", Struct((Field("c", t.STRING),))), Field("gone", Array(t.LONG))))


def test_members_are_found_by_name_in_any_order_and_those_missing_are_null() -> None:
    stored = pa.struct([("extra", pa.int64()), ("b", pa.struct([("z", pa.int8())])), ("A", pa.int32())])
    column = pa.array([{"extra": 1, "b": {"z": 2}, "A": 3}, None, {"extra": None, "b": None, "A": None}], stored)
    assert read(column, NESTED).to_pylist() == [
        {"a": 3, "b": {"c": None}, "gone": None}, None, {"a": None, "b": None, "gone": None}
    ]  # fmt: skip


FIELDS = ["id", "Id", "name", "NAME", "x"]


@pytest.mark.parametrize("wanted, at", [("id", 0), ("Id", 1), ("X", 4), ("y", None)])
def test_a_column_is_found_by_its_spelling_and_else_ignoring_case(wanted: str, at: int | None) -> None:
    assert find([pa.field(name, pa.int64()) for name in FIELDS], Field(wanted, t.LONG), BY_NAME) == at


@pytest.mark.parametrize("wanted", ["ID", "Name"])
def test_a_column_that_could_be_either_of_two_is_refused(wanted: str) -> None:
    with pytest.raises(InvalidTable, match="could be any"):
        find([pa.field(name, pa.int64()) for name in FIELDS], Field(wanted, t.LONG), BY_NAME)


def test_a_column_is_found_by_id_whatever_its_name() -> None:
    fields = [pa.field("a", pa.int64(), metadata={b"PARQUET:field_id": b"2"}), pa.field("b", pa.int64())]
    assert find(fields, Field("b", t.LONG, id=2), Resolution.ID) == 0
    assert find(fields, Field("a", t.LONG, id=3), Resolution.ID) is None
    with pytest.raises(InvalidTable):
        find([fields[0], fields[0]], Field("a", t.LONG, id=2), Resolution.ID)


LISTS = [None, [], [1, None], [2], None, [3, 4, 5], [None]]
MAPS = [None, [], [("a", 1), ("b", None)], [("c", 2)], None, [("d", 3)]]


@pytest.mark.parametrize("start", range(len(LISTS)))
@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("stored", [
    pa.list_(pa.int32()), pa.large_list(pa.int32()), pa.list_view(pa.int32()), pa.large_list_view(pa.int32()),
], ids=str)  # fmt: skip
def test_a_slice_of_lists_keeps_its_rows(stored: pa.DataType, start: int, length: int) -> None:
    sliced = pa.array(LISTS, stored).slice(start, length)
    assert read(sliced, Array(t.LONG)).to_pylist() == LISTS[start : start + length]


@pytest.mark.parametrize("start", range(len(MAPS)))
@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_a_slice_of_maps_keeps_its_rows(start: int, length: int) -> None:
    sliced = pa.array(MAPS, pa.map_(pa.string(), pa.int32())).slice(start, length)
    assert read(sliced, Map(t.STRING, t.LONG)).to_pylist() == MAPS[start : start + length]


@pytest.mark.parametrize("text", [pa.string_view(), pa.large_string()], ids=str)
def test_files_that_note_views_in_memory_are_read_as_any_other(text: pa.DataType) -> None:
    """As deltalake leaves them, which notes in a file the Arrow types of the rows that it was given."""
    stored = pa.struct([("m", pa.map_(text, text)), ("l", pa.list_view(text))])
    values = [{"m": [("a", "b"), ("c", None)], "l": ["x", None]}, None, {"m": None, "l": None}, {"m": [], "l": []}]
    kind = Struct((Field("m", Map(t.STRING, t.STRING)), Field("l", Array(t.STRING))))
    assert table_of(kind, pa.array(values, stored)) == values
    assert table_of(Array(Map(t.STRING, t.STRING)), pa.array([[[("a", "b")], None]], pa.list_(pa.map_(text, text))))


def test_lists_and_maps_inside_one_another_keep_their_rows() -> None:
    kind = Array(Map(t.STRING, Struct((Field("l", Array(t.LONG)),))))
    values = [None, [], [None, [("a", {"l": [1, None]}), ("b", None)]], [[("c", {"l": None})], []], [[("d", {"l": []})]]]
    stored = pa.list_(pa.map_(pa.string(), pa.struct([("l", pa.list_(pa.int32()))])))
    for start in range(len(values)):
        assert read(pa.array(values, stored).slice(start), kind).to_pylist() == values[start:]


def test_rows_that_are_null_may_span_values_and_offsets_may_start_anywhere() -> None:
    offsets = pa.array([1, 2, 4, 5], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, pa.array([9, 1, 8, 8, 2], pa.int32()), mask=pa.array([False, True, False]))
    assert read(lists, Array(t.LONG)).to_pylist() == [[1], None, [2]]
    maps = pa.MapArray.from_arrays(offsets, pa.array(list("zayxb")), pa.array([9, 1, 8, 8, 2], pa.int32()))
    assert read(maps, Map(t.STRING, t.LONG)).to_pylist() == [[("a", 1)], [("y", 8), ("x", 8)], [("b", 2)]]


def test_a_slice_of_structs_keeps_its_rows() -> None:
    stored = pa.struct([("a", pa.int32()), ("gone", pa.list_(pa.int32()))])
    values = [{"a": 1, "gone": [1]}, None, {"a": None, "gone": None}, {"a": 4, "gone": [None, 2]}]
    kind = Struct((Field("a", t.LONG), Field("gone", Array(t.LONG))))
    for start in range(4):
        assert read(pa.array(values, stored).slice(start, 2), kind).to_pylist() == values[start : start + 2]


def table_of(kind: Type, column: pa.Array, **options: Any) -> list[Any]:
    log = Log().start(Struct((Field("c", kind),)), features=["timestampNtz"])
    log.commit(log.data("a.parquet", pa.table({"c": column}), **options))
    return log.open().to_arrow()["c"].to_pylist()


MOMENTS = [datetime(2024, 1, 1, 12, 0, 0, 123456), None, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 2),
           datetime(9999, 12, 31)]  # fmt: skip


@pytest.mark.parametrize("options", [
    {"use_deprecated_int96_timestamps": True}, {"version": "2.6"}, {"coerce_timestamps": "us"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", [t.TIMESTAMP, t.TIMESTAMP_NTZ], ids=str)
def test_a_timestamp_is_the_same_in_every_physical_form(kind: Type, options: dict[str, Any]) -> None:
    """PROTOCOL.md, "Delta Data Type to Parquet Type Mappings": `int96` or `int64`."""
    zone = UTC if kind == t.TIMESTAMP else None
    expected = [m and m.replace(tzinfo=zone) for m in MOMENTS]
    if "use_deprecated_int96_timestamps" in options:
        expected = expected[:3]  # Arrow writes INT96 by way of nanoseconds, which reach no further
    assert table_of(kind, pa.array(expected, to_arrow(kind)), **options) == expected


@pytest.mark.parametrize("precision", [4, 9, 10, 18, 19, 38])
@pytest.mark.parametrize("as_integer", [True, False])
def test_a_decimal_is_the_same_in_every_physical_form(precision: int, as_integer: bool) -> None:
    """PROTOCOL.md, "Delta Data Type to Parquet Type Mappings": `int32`, `int64` or `fixed_length_binary`."""
    values = [Decimal("9" * (precision - 2) + ".99"), None, Decimal("-0.01")]
    column = pa.array(values, pa.decimal128(precision, 2))
    assert table_of(t.Decimal(precision, 2), column, store_decimal_as_integer=as_integer) == values


@pytest.mark.parametrize("is_compliant", [True, False])
def test_a_list_is_the_same_whatever_its_element_is_called(is_compliant: bool) -> None:
    column = pa.array(LISTS, pa.list_(pa.field("x", pa.int64())))
    assert table_of(Array(t.LONG), column, use_compliant_nested_type=is_compliant) == LISTS


def test_columns_that_the_table_does_not_have_are_passed_over_and_those_missing_are_null() -> None:
    """newest text, C13: "extra data-file columns are tolerated"; C12: readers still ignore `_change_type`."""
    log = Log().start(Struct((Field("id", t.LONG), Field("new", Struct((Field("x", t.LONG),))))))
    log.storage.put("a.parquet", parquet(pa.table({"extra": [1], "ID": [2], "_change_type": ["insert"]})))
    log.commit({"add": {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}})
    assert log.open().to_arrow().to_pylist() == [{"id": 2, "new": None}]
    assert log.open().to_arrow(columns=["new"]).to_pylist() == [{"new": None}]


def test_names_with_dots_are_names_and_not_paths() -> None:
    log = Log().start(Struct((Field("a.b", t.LONG), Field("a", Struct((Field("b", t.LONG),))))))
    log.commit(log.data("f.parquet", pa.table({"a": [{"b": 1}], "a.b": [2]})))
    assert log.open().to_arrow().to_pylist() == [{"a.b": 2, "a": {"b": 1}}]
    assert log.open().to_arrow(columns=["a.b"]).to_pylist() == [{"a.b": 2}]
    assert log.open().to_arrow(columns=["a"]).to_pylist() == [{"a": {"b": 1}}]


def test_a_void_column_is_null_at_any_depth() -> None:
    """newest text, 2.1: "readers materialise them as all-null"."""
    inner = Struct((Field("w", t.VOID), Field("x", t.LONG)))
    log = Log().start(Struct((Field("id", t.LONG), Field("v", t.VOID), Field("s", inner))))
    log.commit(log.data("f.parquet", pa.table({"id": [1], "s": [{"x": 2}]})))
    assert log.open().to_arrow().to_pylist() == [{"id": 1, "v": None, "s": {"w": None, "x": 2}}]


def test_rows_of_several_row_groups_keep_their_order() -> None:
    values = np.arange(1000)
    assert table_of(t.LONG, pa.array(values), row_group_size=7) == values.tolist()
