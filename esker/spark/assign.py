"""How does the value of an expression become that of a column?

Types that hold all values of the expression's take them as they are. A number may also go into a narrower type, if each value
fits it exactly; only a floating column rounds. Nothing else is converted: whoever wants that writes a CAST.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from esker.core.change import Expression
from esker.core.column_paths import spelled
from esker.core.predicate import Path
from esker.core.types import Array, Field, Map, Struct, Type
from esker.errors import InvalidRequest
from esker.spark.conform import conformed
from esker.spark.expressions import column_of
from esker.spark.failures import BROKEN
from esker.spark.types import to_spark


def assigned(rows: DataFrame, column: Field, old: Column, values: Mapping[Path, Expression], where: str) -> Column:
    """The column with the values at the paths within it put in place; the empty path stands for the column itself."""
    if not values:
        return old
    ready = {path: column_of(rows, value) for path, value in values.items()}
    kinds = rows.select(*(value.alias(str(i)) for i, value in enumerate(ready.values()))).schema
    typed = {path: (value, kinds[i].dataType) for i, (path, value) in enumerate(ready.items())}
    return _placed(column.type, (column.name,), old, typed, where).alias(column.name)


_Typed = Mapping[Path, tuple[Column, s.DataType]]


def _placed(kind: Type, path: Path, old: Column, values: _Typed, where: str) -> Column:
    if () in values:
        return exact(*values[()], kind, path, where)
    if not values:
        return old
    assert isinstance(kind, Struct)
    # A struct that was null becomes one whose other members are null.
    members = [
        _placed(f.type, (*path, f.name), old.getField(f.name), _below(values, f.name), where).alias(f.name) for f in kind
    ]
    return F.struct(*members)


def _below(values: _Typed, name: str) -> _Typed:
    return {path[1:]: value for path, value in values.items() if path[0] == name}


def inserted(rows: DataFrame, column: Field, value: Expression, where: str) -> Column:
    """The value as that of a column in a row that is added; struct members that it lacks are null."""
    ready = column_of(rows, value)
    have = rows.select(ready.alias("value")).schema["value"].dataType
    return exact(ready, have, column.type, (column.name,), where, is_whole=False).alias(column.name)


def exact(
    value: Column, have: s.DataType, wanted: Type, path: Path, where: str, is_whole: bool = True
) -> Column:
    """The value in the type that is wanted; a row whose value does not fit fails the job.

    One that `is_whole` brings every member of a struct, so that none is lost in the place of another value.
    """
    target = to_spark(wanted)
    if _holds(wanted, have, is_whole):
        return conformed(value, have, wanted)
    if not isinstance(have, s.NumericType) or not isinstance(target, s.NumericType):
        raise InvalidRequest(
            f"a {have.simpleString()} cannot become the {wanted} of the column {spelled(path)}",
            where=where,
            hint="Cast the value to the column's type.",
        )
    if isinstance(target, s.FractionalType) and not isinstance(target, s.DecimalType):
        return value.cast(target)
    narrow = value.try_cast(target)
    fits = value.isNull() | F.coalesce(narrow.cast(have) == value, F.lit(False))
    told = F.lit(f"{BROKEN}the type {wanted} of the column {spelled(path)}: a value does not fit it exactly")
    return F.when(fits, narrow).otherwise(F.raise_error(told).cast(target))


def _holds(wanted: Type, have: s.DataType, is_whole: bool) -> bool:
    """Whether the type holds every value of another one."""
    match wanted, have:
        case _, s.NullType():
            return True
        case Struct(), s.StructType():
            members = [(wanted.find(f.name), f.dataType) for f in have]
            is_complete = not is_whole or len(have) == len(wanted)
            return is_complete and all(known is not None and _holds(known.type, kind, is_whole) for known, kind in members)
        case Array(), s.ArrayType():
            return _holds(wanted.element, have.elementType, is_whole)
        case Map(), s.MapType():
            is_key = _holds(wanted.key, have.keyType, is_whole)
            return is_key and _holds(wanted.value, have.valueType, is_whole)
    target = to_spark(wanted)
    return have == target or _is_wider(target, have)


def _is_wider(target: s.DataType, have: s.DataType) -> bool:
    match target, have:
        case s.DecimalType(), s.DecimalType():
            return target.scale >= have.scale and target.precision - target.scale >= have.precision - have.scale
        case s.DecimalType(), _:
            return target.precision - target.scale >= _DIGITS.get(type(have), 99)
        case s.TimestampType() | s.TimestampNTZType(), s.DateType():
            return True
    if isinstance(target, s.IntegralType) and isinstance(have, s.IntegralType):
        return _DIGITS[type(target)] >= _DIGITS[type(have)]
    return isinstance(target, s.DoubleType) and isinstance(have, s.FloatType)


_DIGITS: dict[type[s.DataType], int] = {s.ByteType: 3, s.ShortType: 5, s.IntegerType: 10, s.LongType: 19}
