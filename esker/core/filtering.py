"""For which rows is a predicate TRUE, FALSE or NULL?

Exact, and with Spark's semantics: NaN equals itself and exceeds every other number, 0.0 equals -0.0, strings and binary
are ordered by their bytes, a field of a null struct is null. The predicate must be bound to the table's schema.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal as Number
from math import isnan
from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from esker.core import columns
from esker.core.predicate import (
    And,
    Comparison,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
    Path,
    Predicate,
    StartsWith,
    Truth,
    Value,
    opaque_parts,
)
from esker.errors import InvalidRequest, Unsupported

Rows: TypeAlias = pa.Table | pa.RecordBatch

ON_SPARK = "Read by Spark: use to_df, or --engine spark on the command line."
"""What to do where Arrow cannot evaluate something."""


def mask(predicate: Predicate, rows: Rows) -> pa.BooleanArray:
    """One truth value per row; null stands for NULL.

    Raises `Unsupported` where a part is opaque, `InvalidRequest` where a column is missing or of another type than the
    literal it is compared with.
    """
    if opaque := sorted(set(opaque_parts(predicate))):
        raise Unsupported(f"only Spark can evaluate: {'; '.join(opaque)}", hint=ON_SPARK)
    return _mask(predicate, rows)


@dataclass(frozen=True, slots=True)
class Order:
    """How each value of an array lies to a literal: three masks, null where the array is."""

    below: pa.BooleanArray
    same: pa.BooleanArray
    above: pa.BooleanArray


def compare(array: pa.Array, value: Value) -> Order:
    """Where the values of `array` lie to `value`; a `TypeError` where the two cannot be compared exactly."""
    array, literal = comparable(array, [value])
    if not pa.types.is_floating(array.type):
        return Order(pc.less(array, literal[0]), pc.equal(array, literal[0]), pc.greater(array, literal[0]))
    nan = pc.is_nan(array)
    if isinstance(value, float) and isnan(value):
        return Order(pc.invert(nan), nan, pc.and_(nan, False))
    return Order(pc.less(array, literal[0]), pc.equal(array, literal[0]), pc.or_(pc.greater(array, literal[0]), nan))


def comparable(array: pa.Array, values: Sequence[Value]) -> tuple[pa.Array, pa.Array]:
    """The array and the literals in one type in which they compare exactly; a `TypeError` where there is none."""
    array = _plain(array)
    if not all(_fits(value, array.type) for value in values):
        raise TypeError(f"cannot compare {array.type} with {values[0]!r}")
    try:
        return array, columns.array(values, array.type)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
            # The literal lies beyond what nanoseconds can say: cutting the column to microseconds moves no row past it.
            return comparable(array.cast(pa.timestamp("us", array.type.tz), safe=False), values)
        raise TypeError(f"cannot compare {array.type} with {values[0]!r}") from error


def _mask(predicate: Predicate, rows: Rows) -> pa.BooleanArray:
    match predicate:
        case Comparison():
            return _compared(_column(rows, predicate.column), predicate)
        case IsIn():
            return _is_in(_column(rows, predicate.column), predicate)
        case IsNull():
            return pc.is_null(_column(rows, predicate.column))
        case StartsWith():
            return pc.starts_with(_plain(_column(rows, predicate.column)), predicate.prefix)
        case Truth(value=value):
            return pa.nulls(rows.num_rows, pa.bool_()) if value is None else pa.repeat(value, rows.num_rows)
        case Not():
            return pc.invert(_mask(predicate.child, rows))
        case And():
            return pc.and_kleene(_mask(predicate.left, rows), _mask(predicate.right, rows))
        case Or():
            return pc.or_kleene(_mask(predicate.left, rows), _mask(predicate.right, rows))
        case Opaque():
            raise Unsupported(f"only Spark can evaluate: {predicate.text}", hint=ON_SPARK)
    assert_never(predicate)


def _column(rows: Rows, path: Path) -> pa.Array:
    found = rows.schema.get_field_index(path[0])
    if found < 0:
        raise InvalidRequest(f"the rows have no column {'.'.join(path)}")
    column = rows.column(found)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    for name in path[1:]:
        found = array.type.get_field_index(name) if pa.types.is_struct(array.type) else -1
        if found < 0:
            raise InvalidRequest(f"the rows have no column {'.'.join(path)}")
        array = pc.struct_field(array, [found])  # null wherever the struct is
    return array


def _compared(array: pa.Array, comparison: Comparison) -> pa.BooleanArray:
    try:
        order = compare(array, comparison.value)
    except TypeError as error:
        raise InvalidRequest(f"column {'.'.join(comparison.column)}: {error}") from error
    match comparison.operator:
        case Operator.EQ:
            return order.same
        case Operator.NE:
            return pc.invert(order.same)
        case Operator.LT:
            return order.below
        case Operator.LE:
            return pc.or_(order.below, order.same)
        case Operator.GT:
            return order.above
        case Operator.GE:
            return pc.or_(order.above, order.same)
    assert_never(comparison.operator)


def _is_in(array: pa.Array, predicate: IsIn) -> pa.BooleanArray:
    try:
        array, values = comparable(array, predicate.values)
    except TypeError as error:
        raise InvalidRequest(f"column {'.'.join(predicate.column)}: {error}") from error
    if pa.types.is_floating(array.type):  # the set is looked up by bits, and -0.0 has others than 0.0
        array, values = pc.add(array, 0.0), pc.add(values, 0.0)
    listed = pc.is_in(array, value_set=values)
    unknown = pc.is_null(array)
    if predicate.has_null:
        unknown = pc.or_(unknown, pc.invert(listed))
    return pc.if_else(unknown, columns.scalar(None, pa.bool_()), listed)


def _plain(array: pa.Array) -> pa.Array:
    """The array in a type that has every kernel we use, its values unchanged."""
    kind = array.type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain(array.cast(kind.value_type))
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return array.cast(pa.timestamp("us", kind.tz))
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return array.cast(pa.float64())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return array.cast(pa.int64())
    if pa.types.is_date64(kind):
        return array.cast(pa.date32())
    for wider, matches in _WIDER:
        if matches(kind):
            return array.cast(wider)
    return array


_WIDER = (
    (pa.large_string(), pa.types.is_string_view),
    (pa.large_binary(), lambda kind: pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind)),
)


def _fits(value: Value, kind: pa.DataType) -> bool:
    """Whether the literal is of the array's kind: Arrow itself would cut 3.5 to 3 and a datetime to its day."""
    match value:
        case bool():
            return bool(pa.types.is_boolean(kind))
        case int():
            return bool(pa.types.is_integer(kind)) and -(2**63) <= value < 2**63
        case float():
            return bool(pa.types.is_floating(kind))
        case Number():
            return bool(pa.types.is_decimal(kind))
        case str():
            return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
        case bytes():
            return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
        case datetime():
            return bool(pa.types.is_timestamp(kind)) and (kind.tz is None) == (value.tzinfo is None)
        case date():
            return bool(pa.types.is_date(kind))
    return False
