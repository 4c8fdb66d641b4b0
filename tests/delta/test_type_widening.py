"""Which type changes a table may have been through, and what the older files then say.  (PROTOCOL.md, "Type Widening")"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from esker.core import types as t
from esker.core.types import Array, Field, Map, Struct, Type
from esker.delta.type_widening import is_widening
from esker.errors import InvalidTable
from tests.delta.tables import Log

ALLOWED = [
    ("byte", "short"), ("byte", "integer"), ("byte", "long"), ("byte", "double"), ("byte", "decimal(10,0)"),
    ("byte", "decimal(12,2)"), ("short", "integer"), ("short", "long"), ("short", "double"), ("short", "decimal(10,0)"),
    ("integer", "long"), ("integer", "double"), ("integer", "decimal(10,0)"), ("integer", "decimal(15,5)"),
    ("long", "decimal(20,0)"), ("long", "decimal(23,3)"), ("float", "double"), ("date", "timestamp_ntz"),
    ("decimal(5,2)", "decimal(6,2)"), ("decimal(5,2)", "decimal(8,5)"), ("decimal(5,2)", "decimal(38,2)"),
]  # fmt: skip
REFUSED = [
    ("short", "byte"), ("integer", "short"), ("long", "integer"), ("long", "double"), ("integer", "float"), ("long", "float"),
    ("integer", "decimal(9,0)"), ("integer", "decimal(12,3)"), ("long", "decimal(19,0)"), ("long", "decimal(20,1)"),
    ("double", "float"), ("date", "timestamp"), ("timestamp_ntz", "date"), ("timestamp", "timestamp_ntz"),
    ("decimal(5,2)", "decimal(4,2)"), ("decimal(5,2)", "decimal(5,3)"), ("decimal(5,2)", "decimal(7,5)"),
    ("decimal(5,2)", "decimal(6,1)"), ("decimal(5,0)", "long"), ("float", "decimal(10,2)"), ("string", "integer"),
    ("integer", "string"), ("boolean", "integer"), ("binary", "string"), ("unheard", "long"), ("long", "unheard"),
]  # fmt: skip


@pytest.mark.parametrize("old, new", ALLOWED)
def test_a_change_in_the_list_is_a_widening(old: str, new: str) -> None:
    """newest text, 3.1: "Allowed changes (from -> to)" """
    assert is_widening(old, new)


@pytest.mark.parametrize("old, new", REFUSED)
def test_any_other_change_is_none(old: str, new: str) -> None:
    """newest text, 3.1: "Anything else is rejected." """
    assert not is_widening(old, new)


def widened(kind: Type, changes: Any, **settings: Any) -> Log:
    schema = Struct((Field("id", kind, metadata={"delta.typeChanges": changes}),))
    return Log().start(schema, features=["typeWidening"], **settings)


VALUES = [
    (t.SHORT, pa.int8(), [-128, None], [-128, None]), (t.INTEGER, pa.int16(), [1], [1]), (t.LONG, pa.int32(), [-5], [-5]),
    (t.LONG, pa.int8(), [-5], [-5]), (t.DOUBLE, pa.int32(), [2**31 - 1], [2147483647.0]),
    (t.DOUBLE, pa.float32(), [0.5], [0.5]), (t.Decimal(10, 0), pa.int32(), [-(2**31)], [Decimal(-(2**31))]),
    (t.Decimal(12, 2), pa.int8(), [7], [Decimal("7.00")]), (t.Decimal(22, 2), pa.int64(), [2**63 - 1], [Decimal(2**63 - 1)]),
    (t.Decimal(10, 4), pa.decimal128(5, 2), [Decimal("1.25")], [Decimal("1.2500")]),
    (t.TIMESTAMP_NTZ, pa.date32(), [date(2024, 2, 29)], [datetime(2024, 2, 29)]),
]  # fmt: skip


@pytest.mark.parametrize("kind, stored, values, expected", VALUES, ids=lambda value: str(value)[:30])
def test_a_file_written_before_the_change_is_read_in_the_new_type_at_any_depth(
    kind: Type, stored: pa.DataType, values: list[Any], expected: list[Any]
) -> None:
    """newest text, 3.1: readers "must read files written before the change and convert values up"."""
    shapes: list[tuple[Type, pa.DataType, Any]] = [
        (kind, stored, lambda v: v),
        (Array(kind), pa.list_(stored), lambda v: [v]),
        (Map(t.STRING, kind), pa.map_(pa.string(), stored), lambda v: [("k", v)]),
        (Struct((Field("x", kind),)), pa.struct([("x", stored)]), lambda v: {"x": v}),
    ]
    for visible, file, shaped in shapes:
        log = Log().start(Struct((Field("c", visible),)), features=["typeWidening", "timestampNtz"])
        log.commit(log.data("a.parquet", pa.table({"c": pa.array([shaped(v) for v in values], file)})))
        assert log.open().to_arrow()["c"].to_pylist() == [shaped(v) for v in expected]


def test_the_keys_of_a_map_are_widened_too() -> None:
    log = Log().start(Struct((Field("c", Map(t.LONG, t.LONG)),)), features=["typeWidening"])
    log.commit(log.data("a.parquet", pa.table({"c": pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int16()))})))
    assert log.open().to_arrow()["c"].to_pylist() == [[(1, 2)]]


RECORDED: list[Any] = [
    [{"fromType": "string", "toType": "long"}],
    [{"fromType": "integer", "toType": "long"}, {"fromType": "long", "toType": "double"}],
    [{"fromType": "integer"}], ["integer"], "integer", {"fromType": "string", "toType": "long"}, [[]], [None],
]  # fmt: skip


@pytest.mark.parametrize("changes", RECORDED, ids=str)
def test_a_recorded_change_that_is_not_in_the_list_is_refused(changes: Any) -> None:
    """newest text, 3.1: readers "must check that *every* recorded change is in the list above and fail otherwise"."""
    log = widened(t.LONG, changes)
    with pytest.raises(InvalidTable):
        log.open().to_arrow()


def test_a_recorded_change_inside_an_array_is_checked_too() -> None:
    inner = Struct((Field("x", t.LONG, metadata={"delta.typeChanges": [{"fromType": "double", "toType": "long"}]}),))
    log = Log().start(Struct((Field("c", Array(Map(t.STRING, inner))),)), features=["typeWidening"])
    with pytest.raises(InvalidTable, match=r"c\.x"):
        log.open().to_arrow()


@pytest.mark.parametrize("changes", [
    [], None, [{"fromType": "short", "toType": "integer"}, {"fromType": "integer", "toType": "long", "tableVersion": 3}],
    [{"fromType": "byte", "toType": "long", "fieldPath": "element.value"}], [{"fromType": "char(3)", "toType": "string"}],
], ids=str)  # fmt: skip
def test_recorded_changes_in_the_list_are_read(changes: Any) -> None:
    log = widened(t.LONG, changes)
    log.commit(log.data("a.parquet", pa.table({"id": pa.array([1], pa.int16())})))
    assert log.open().to_arrow().to_pylist() == [{"id": 1}]


def test_partition_values_of_an_older_type_are_read_in_the_new_one() -> None:
    schema = Struct((Field("id", t.LONG), Field("p", t.TIMESTAMP_NTZ)))
    log = Log().start(schema, features=["typeWidening", "timestampNtz"], partition_by=["p"])
    log.commit(log.data("a.parquet", pa.table({"id": [1]}), partition={"p": "2024-01-02"}))
    log.commit(log.data("b.parquet", pa.table({"id": [2]}), partition={"p": "2024-01-02 03:04:05"}))
    assert log.open().to_arrow()["p"].to_pylist() == [datetime(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5)]


def test_statistics_of_an_older_type_never_hide_a_row() -> None:
    schema = Struct((Field("c", t.TIMESTAMP_NTZ), Field("d", t.Decimal(12, 2))))
    log = Log().start(schema, features=["typeWidening", "timestampNtz"])
    rows = pa.table({"c": pa.array([date(2024, 1, 2)]), "d": pa.array([7], pa.int32())})
    bounds = {"c": "2024-01-02", "d": 7}
    log.commit(log.data("a.parquet", rows, stats={"numRecords": 1, "minValues": bounds, "maxValues": bounds}))
    assert log.open().to_arrow(where="c = TIMESTAMP_NTZ '2024-01-02 00:00:00' AND d = 7").num_rows == 1
    assert log.open().to_arrow(where="c > TIMESTAMP_NTZ '2024-01-03 00:00:00'").num_rows == 0


def test_the_bounds_of_a_float_hold_for_the_double_that_it_is_read_as() -> None:
    """newest text, 3.1: statistics "may be in the old type"; 3.4 as a float is 3.4000000953674316 as a double."""
    log = widened(t.DOUBLE, [{"fromType": "float", "toType": "double"}])
    rows = pa.table({"id": pa.array([-3.4, 3.4], pa.float32())})
    log.commit(log.data("f.parquet", rows, stats={"numRecords": 2, "minValues": {"id": -3.4}, "maxValues": {"id": 3.4}, "nullCount": {"id": 0}}))
    assert log.open().to_arrow(where="id > 3.40000005").num_rows == 1
    assert log.open().to_arrow(where="id < -3.40000005").num_rows == 1
    assert log.open().to_arrow(where="id > 3.5").num_rows == 0
