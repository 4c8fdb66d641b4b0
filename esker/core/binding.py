"""What does a predicate mean for the columns of this table?

Names become paths spelled as the schema spells them. Literals become values of the column's own type, by the rules with
which Spark compares different types, so that nobody downstream converts anything: `x < 3.5` on an integer is `x <= 3`.
Where those rules depend on a setting, or lose digits, or are not known here, the part becomes `Opaque`.

A literal or a text without a zone is in `zone`, which is UTC unless the caller knows the session's.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, tzinfo
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context
from decimal import Decimal as Number
from math import floor, isinf, isnan

import numpy as np

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
    describe,
)
from esker.core.sql import date_of, instant, is_utc, number_of, timestamp_of
from esker.core.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FRACTIONAL,
    INTEGER,
    INTEGRAL,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NS,
    Decimal,
    Field,
    Fixed,
    Struct,
    Type,
)
from esker.errors import InvalidRequest


def bind(predicate: Predicate, schema: Struct, zone: tzinfo = UTC) -> Predicate:
    """The predicate over the schema's own names and types; `InvalidRequest` where it names an unknown column."""
    match predicate:
        case Not():
            return Not(bind(predicate.child, schema, zone))
        case And():
            return And(bind(predicate.left, schema, zone), bind(predicate.right, schema, zone))
        case Or():
            return Or(bind(predicate.left, schema, zone), bind(predicate.right, schema, zone))
        case Truth() | Opaque():
            return predicate
    found = _resolve(predicate.column, schema)
    if found is None:
        return Opaque(describe(predicate))
    path, column = found
    match predicate:
        case IsNull():
            return IsNull(path)
        case Comparison():
            bound = _Column(path, column, zone).compared(predicate.operator, predicate.value)
        case IsIn():
            bound = _Column(path, column, zone).listed(predicate)
        case StartsWith():
            bound = StartsWith(path, predicate.prefix) if _is_bytewise_text(column) else None
    return bound or Opaque(describe(predicate))


def _resolve(path: Path, schema: Struct) -> tuple[Path, Field] | None:
    """The column as the schema spells it; None where the path leads into an array, a map or a variant."""
    spelled: list[str] = []
    kind: Type = schema
    column: Field | None = None
    for name in path:
        if not isinstance(kind, Struct):
            if column is None or _is_atomic(column.type):
                raise _unknown(path, schema)
            return None
        column = kind.find(name)
        if column is None:
            raise _unknown(path, schema)
        if column.name != name and sum(f.name.lower() == name.lower() for f in kind) > 1:
            raise InvalidRequest(f"the name {'.'.join(path)} is ambiguous: columns differ in nothing but case")
        spelled.append(column.name)
        kind = column.type
    if column is None:
        raise _unknown(path, schema)
    return tuple(spelled), column


def _unknown(path: Path, schema: Struct) -> InvalidRequest:
    return InvalidRequest(f"there is no column {'.'.join(path)}", hint=f"the columns are {', '.join(schema.names)}")


_ATOMIC = (BOOLEAN, *INTEGRAL, *FRACTIONAL, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ)


def _is_atomic(kind: Type) -> bool:
    return kind in _ATOMIC or isinstance(kind, Decimal | Fixed)


def _is_bytewise_text(column: Field) -> bool:
    """Whether Spark orders the strings by their bytes. With a collation it does not; a char(n) is padded first."""
    padded = str(column.metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")).startswith("char")
    return column.type == STRING and not padded and "__COLLATIONS" not in column.metadata


class _Column:
    """A column and the rules with which literals are compared with it. None stands for: not certain."""

    def __init__(self, path: Path, field: Field, zone: tzinfo):
        self.path = path
        self.field = field
        self.zone = zone

    def compared(self, operator: Operator, value: Value) -> Predicate | None:
        kind = self.field.type
        if kind in INTEGRAL or isinstance(kind, Decimal):
            return self._stepped(operator, value)
        if kind == DATE:
            return self._day(operator, value)
        bound = self._same(value)
        return None if bound is None else Comparison(self.path, operator, bound)

    def listed(self, predicate: IsIn) -> Predicate | None:
        # Spark casts a whole list to one type; only where that is the type of each member may they be taken one by one.
        kinds = {type(value) for value in predicate.values}
        if not (len(kinds) <= 1 or kinds == {int, Number}) or not self._may_list(predicate.values):
            return None
        values: list[Value] = []
        for value in predicate.values:
            match self.compared(Operator.EQ, value):
                case Comparison(value=bound):
                    values.append(bound)
                case None:
                    return None
                case _:
                    pass  # no value of the column equals this literal
        if not values:
            return Truth(None) if predicate.has_null else self._never()
        return IsIn(self.path, tuple(values), predicate.has_null)

    def _may_list(self, values: Iterable[Value]) -> bool:
        """Texts in a list are compared as texts by one setting, as the column's type by another."""
        texts = [value for value in values if isinstance(value, str)]
        if self.field.type == DATE:
            return all(str(date_of(text)) == text for text in texts)
        return self.field.type == STRING or not texts

    def _never(self) -> Predicate:
        """FALSE for every value, NULL for null."""
        return And(IsNull(self.path), Truth(None))

    def _always(self) -> Predicate:
        """TRUE for every value, NULL for null."""
        return Or(Not(IsNull(self.path)), Truth(None))

    def _same(self, value: Value) -> Value | None:
        """The literal as a value of the column's type, for the types whose values all compare as the literal does."""
        kind = self.field.type
        match value:
            case bool():
                return value if kind == BOOLEAN else None
            case int() | float() | Number():
                return self._floating(value) if kind in FRACTIONAL else None
            case bytes():
                return value if kind == BINARY or isinstance(kind, Fixed) else None
            case str() if kind == STRING:
                is_sound = _is_bytewise_text(self.field) and not any("\ud800" <= c <= "\udfff" for c in value)
                return value if is_sound else None
            case str() if kind in FRACTIONAL:
                number = number_of(value)
                return None if number is None else self._single(float(number))
            case str() | date():
                return self._timestamp(value)
        return None

    def _floating(self, value: int | float | Number) -> float | None:
        try:
            number = float(value)
        except OverflowError:
            return None
        # A float is compared with an integer as float or as double, depending on ANSI mode; with others as double.
        return self._single(number) if isinstance(value, int) else number

    def _single(self, number: float) -> float | None:
        with np.errstate(over="ignore"):
            is_exact = self.field.type == DOUBLE or isnan(number) or float(np.float32(number)) == number
        return number if is_exact else None

    def _timestamp(self, value: str | date) -> datetime | None:
        kind = self.field.type
        if kind not in (TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMP_NS, TIMESTAMP_NTZ_NS):
            return None
        reading = timestamp_of(value) if isinstance(value, str) else value
        if reading is None:
            return None
        if not isinstance(reading, datetime):
            reading = datetime.combine(reading, time())
        if kind in (TIMESTAMP, TIMESTAMP_NS):
            return instant(reading, self.zone)
        if reading.tzinfo is None:
            return reading
        # Spark moves the column to the session's zone; only in UTC is that one to one.
        is_exact = is_utc(self.zone) and not isinstance(value, str)
        return reading.astimezone(UTC).replace(tzinfo=None) if is_exact else None

    def _day(self, operator: Operator, value: Value) -> Predicate | None:
        if isinstance(value, str):
            day = date_of(value)
            return None if day is None else Comparison(self.path, operator, day)
        if not isinstance(value, datetime):
            return Comparison(self.path, operator, value) if isinstance(value, date) else None
        if value.tzinfo is not None and not is_utc(self.zone):
            return None
        reading = value.astimezone(UTC) if value.tzinfo else value
        return self._between(operator, reading.date(), is_exact=reading.time() == time())

    def _stepped(self, operator: Operator, value: Value) -> Predicate | None:
        """Compare a column whose values are evenly spaced with any number."""
        if isinstance(value, str):
            number = number_of(value) if self.field.type in INTEGRAL else None
            if not isinstance(number, int) or not self._holds(number):
                return None
            value = number
        if isinstance(value, bool) or not isinstance(value, int | float | Number):
            return None
        if isinstance(value, float):
            if isnan(value) or isinf(value):
                return self._beyond(operator, above=not value < 0)
            exact = self._as_decimal(value)
            if exact is None:
                return None
            value = exact
        if not self._is_common(Number(value)):
            return None
        below = self._floor(Number(value))
        if not self._holds(below):
            return self._beyond(operator, above=value > 0)
        return self._between(operator, below, is_exact=below == value)

    def _as_decimal(self, value: float) -> Number | None:
        """The number with which to compare exactly, so that the result is that of comparing as doubles."""
        match self.field.type:
            case Decimal(precision=precision, scale=scale):
                if precision > 15:  # several decimals may become the same double
                    return None
                near = Number(value).quantize(Number(1).scaleb(-scale), ROUND_HALF_EVEN, _WIDE)
                return near if float(near) == value else Number(value)
        # A long beyond 2^53 is rounded when it becomes a double, but never to below 2^53.
        return Number(value) if self.field.type != LONG or abs(value) < 2**53 else None

    def _is_common(self, value: Number) -> bool:
        """Whether a decimal type holds both all values of the column and the literal, so that Spark rounds neither."""
        whole, scale = _digits(self.field.type)
        exponent = value.as_tuple().exponent
        fraction = max(-exponent, 0) if isinstance(exponent, int) else 0
        return isinstance(exponent, int) and max(whole, value.adjusted() + 1) + max(scale, fraction) <= 38

    def _floor(self, value: Number) -> int | Number:
        if isinstance(self.field.type, Decimal):
            return value.quantize(Number(1).scaleb(-self.field.type.scale), ROUND_FLOOR, _WIDE)
        return floor(value)

    def _holds(self, value: int | Number) -> bool:
        kind = self.field.type
        if isinstance(kind, Decimal):
            return Number(value).copy_abs() < Number(1).scaleb(kind.precision - kind.scale)
        return -_LIMITS[kind] <= value < _LIMITS[kind]

    def _between(self, operator: Operator, below: int | Number | date, is_exact: bool) -> Predicate:
        """Compare with `below` itself, or with something strictly between it and the next value."""
        if is_exact:
            return Comparison(self.path, operator, below)
        match operator:
            case Operator.LT | Operator.LE:
                return Comparison(self.path, Operator.LE, below)
            case Operator.GT | Operator.GE:
                return Comparison(self.path, Operator.GT, below)
            case Operator.EQ:
                return self._never()
            case Operator.NE:
                return self._always()

    def _beyond(self, operator: Operator, above: bool) -> Predicate:
        """Compare with a number greater than all values of the column, or less than all."""
        less, greater = (Operator.LT, Operator.LE), (Operator.GT, Operator.GE)
        is_true = operator is Operator.NE or operator in (less if above else greater)
        return self._always() if is_true else self._never()


_WIDE = Context(prec=2000)  # every double is a decimal of fewer digits

_LIMITS: dict[Type, int] = {BYTE: 2**7, SHORT: 2**15, INTEGER: 2**31, LONG: 2**63}
_DIGITS: dict[Type, tuple[int, int]] = {BYTE: (3, 0), SHORT: (5, 0), INTEGER: (10, 0), LONG: (20, 0)}


def _digits(kind: Type) -> tuple[int, int]:
    return (kind.precision - kind.scale, kind.scale) if isinstance(kind, Decimal) else _DIGITS[kind]
