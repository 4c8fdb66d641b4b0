"""Which part of a filter can Lance's own scanner take over?

Its SQL is DataFusion's, which agrees with Spark's on most of what filters say, and not on all: on NaN and zero, on what a text
means as a number. So the condition that is pushed is TRUE for every row for which the filter is, and the filter is evaluated
again on what comes back.
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal as Number
from typing import assert_never

import numpy as np
import pyarrow as pa

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
)
from esker.lance.schema import Column, LanceSchema


def pushed(predicate: Predicate, schema: LanceSchema) -> str | None:
    """A condition in Lance's SQL that holds wherever the predicate is TRUE; None where nothing of it can be said."""
    return _Pusher(schema).holding(predicate)


_EXTENSION = "ARROW:extension:name"
_NEGATED = {
    Operator.EQ: Operator.NE, Operator.NE: Operator.EQ, Operator.LT: Operator.GE, Operator.GE: Operator.LT,
    Operator.GT: Operator.LE, Operator.LE: Operator.GT,
}  # fmt: skip

_ROUNDED = {Operator.LT: Operator.LE, Operator.GT: Operator.GE}
"""What holds of a rounded literal, too, wherever the operator holds of the literal."""


class _Pusher:
    def __init__(self, schema: LanceSchema) -> None:
        self._schema = schema

    def holding(self, predicate: Predicate) -> str | None:
        """A condition that holds wherever the predicate is TRUE."""
        match predicate:
            case And(left, right):
                return _both(self.holding(left), self.holding(right))
            case Or(left, right):
                return _either(self.holding(left), self.holding(right))
            case Not(child):
                return self.failing(child)
            case Truth(value):
                return None if value else "false"
            case Comparison(path, operator, value):
                return self._compared(path, operator, value)
            case IsIn(path, values, _):
                return self._listed(path, values)
            case IsNull(path):
                return self._named(path, lambda name, _: f"{name} IS NULL")
            case StartsWith(path, prefix):
                return self._named(path, lambda name, kind: _starts(name, kind, prefix))
            case Opaque():
                return None
        assert_never(predicate)

    def failing(self, predicate: Predicate) -> str | None:
        """A condition that holds wherever the predicate is FALSE."""
        match predicate:
            case And(left, right):
                return _either(self.failing(left), self.failing(right))
            case Or(left, right):
                return _both(self.failing(left), self.failing(right))
            case Not(child):
                return self.holding(child)
            case Truth(value):
                return "false" if value is not False else None
            case Comparison(path, operator, value):
                return self._compared(path, _NEGATED[operator], value)
            case IsNull(path) | StartsWith(path, _) | IsIn(path, _, _):
                return self._named(path, lambda name, _: f"{name} IS NOT NULL")
            case Opaque():
                return None
        assert_never(predicate)

    def _compared(self, path: Path, operator: Operator, value: Value) -> str | None:
        return self._named(path, lambda name, kind: _comparison(name, kind, operator, value))

    def _listed(self, path: Path, values: tuple[Value, ...]) -> str | None:
        def listed(name: str, kind: pa.DataType) -> str | None:
            texts = [_literal(value, kind) for value in values]
            if pa.types.is_floating(kind) or any(text is None for text in texts):
                return None
            return f"{name} IN ({', '.join(text for text in texts if text is not None)})"

        return self._named(path, listed)

    def _named(self, path: Path, say: Callable[[str, pa.DataType], str | None]) -> str | None:
        """What can be said of a column, by its name in Lance's SQL and its type."""
        column = self._schema.find(path[0])
        for part in path[1:]:
            column = None if column is None else _member(column, part)
        # a name with a quote or a dot in it has no spelling that all releases read
        if column is None or column.arrow is None or column.is_blob or any("`" in part or "." in part for part in path):
            return None
        if _EXTENSION in column.field.metadata:  # JSON, for one, is stored as bytes and compared with no text
            return None
        return say(".".join(f"`{part}`" for part in path), column.arrow.type)


def _member(column: Column, name: str) -> Column | None:
    if column.arrow is None or not pa.types.is_struct(column.arrow.type):
        return None
    return next((part for part in column.parts if part.field.name == name), None)


def _both(left: str | None, right: str | None) -> str | None:
    return f"({left}) AND ({right})" if left is not None and right is not None else left or right


def _either(left: str | None, right: str | None) -> str | None:
    return None if left is None or right is None else f"({left}) OR ({right})"


def _comparison(name: str, kind: pa.DataType, operator: Operator, value: Value) -> str | None:
    text = _literal(value, kind)
    if text is None:
        return None
    if pa.types.is_float32(kind) and isinstance(value, float) and _single(value) != value:
        # The library rounds the literal to the column's type, onto a value that lies on one side of the literal itself.
        if operator is Operator.NE:
            return None
        operator = _ROUNDED.get(operator, operator)
    condition = f"{name} {operator.value} {text}"
    # NaN exceeds all numbers here, and what it does there is the library's to choose
    return f"({condition}) OR isnan({name})" if pa.types.is_floating(kind) else condition


def _starts(name: str, kind: pa.DataType, prefix: str) -> str | None:
    return f"starts_with({name}, {_text(prefix)})" if pa.types.is_string(kind) else None


def _literal(value: Value, kind: pa.DataType) -> str | None:
    """The value in Lance's SQL, as one of the column's type; None where that is not certain."""
    match value:
        case bool():
            return str(value).lower() if pa.types.is_boolean(kind) else None
        case int():
            return str(value) if pa.types.is_integer(kind) and _fits(value, kind) else None
        case float():
            # zero has two signs, and a text of a number no bounds
            is_sure = pa.types.is_float32(kind) or pa.types.is_float64(kind)
            return repr(value) if is_sure and value == value and value != 0 and abs(value) < 1e30 else None
        case Number():
            is_small = pa.types.is_decimal128(kind) and kind.scale >= 0
            return f"CAST('{value}' AS DECIMAL({kind.precision},{kind.scale}))" if is_small else None
        case str():
            return _text(value) if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
        case datetime():
            is_same = pa.types.is_timestamp(kind) and (kind.tz is None) == (value.tzinfo is None)
            is_sure = is_same and kind.unit == "us" and kind.tz in (None, "UTC") and value.year >= 1
            return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}'" if is_sure else None
        case date():
            return f"DATE '{value.isoformat()}'" if pa.types.is_date32(kind) else None
    return None


def _fits(value: int, kind: pa.DataType) -> bool:
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, OverflowError):
        return False
    # the least of all is read as the negative of a number that is too large for an integer
    return -(2**63) < value < 2**63


def _single(value: float) -> float:
    """The number as a column of single floats would have it."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
