"""Which values did somebody write down, in JSON or in CSV?

The opposite of `values`: what it says of JSON's fewer types holds here too. Raises `ValueError`, or an error of Arrow's, for a
value that is none of the type.
"""

import json
import re
from base64 import b64decode
from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate
from typing import TypeVar

import pyarrow as pa

from esker.core.types import Json

T = TypeVar("T")
_BEYOND = {text: float(text) for text in ("NaN", "Infinity", "-Infinity")}
_ZONE = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)$")


def arrow_values(values: Sequence[Json], kind: pa.DataType) -> pa.Array:
    """The values of JSON as a column; fractions come as `Decimal`, so that none of their digits is lost."""
    if pa.types.is_struct(kind):
        return _structs(values, kind)
    if pa.types.is_map(kind):
        return _maps(values, kind)
    if pa.types.is_list(kind):
        members = [None if v is None else _of(v, list) for v in values]
        flat = arrow_values([m for part in members for m in part or ()], kind.value_type)
        return pa.ListArray.from_arrays(_offsets(members), flat, kind, mask=_nulls(values))
    return pa.array([None if v is None else _scalar(v, kind) for v in values], _written(kind)).cast(kind)


def text_values(texts: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    """The texts of CSV as a column; what has parts is written as in JSON."""
    if pa.types.is_nested(kind):
        return arrow_values([None if t is None else json.loads(t, parse_float=Decimal) for t in texts], kind)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return pa.array(texts, pa.string()).cast(kind)
    return arrow_values(texts, kind)


def _written(kind: pa.DataType) -> pa.DataType:
    """The type that the values have before they are brought to theirs."""
    return pa.string() if pa.types.is_temporal(kind) else kind


def _scalar(value: "Json | Decimal", kind: pa.DataType) -> object:
    if pa.types.is_boolean(kind):
        return _of(value, bool)
    if pa.types.is_integer(kind):
        return _of(value, int)
    if pa.types.is_floating(kind):
        return _BEYOND[value] if isinstance(value, str) and value in _BEYOND else float(_number(value))
    if pa.types.is_decimal(kind):
        return Decimal(value) if isinstance(value, str) else _number(value)
    text = str(_of(value, str))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        clock = text.partition(":")[2]
        return text if _ZONE.search(clock) else f"{text}{'' if clock else 'T00:00:00'}Z"  # without a zone it is in UTC
    return b64decode(text, validate=True) if _is_binary(kind) else text


def _number(value: "Json | Decimal") -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(_of(value, int))


def _structs(values: Sequence[Json], kind: pa.StructType) -> pa.Array:
    objects = [{} if v is None else _of(v, dict) for v in values]
    if unknown := sorted({name for o in objects for name in o} - {field.name for field in kind}):
        raise ValueError(f"there is no member {', '.join(unknown)}")
    members = [arrow_values([o.get(field.name) for o in objects], field.type) for field in kind]
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=_nulls(values))


def _maps(values: Sequence[Json], kind: pa.MapType) -> pa.Array:
    pairs = [_pairs(v, kind) for v in values]
    flat = [pair for part in pairs for pair in part]
    keys = arrow_values([key for key, _ in flat], kind.key_type)
    items = arrow_values([item for _, item in flat], kind.item_type)
    return pa.MapArray.from_arrays(_offsets(pairs), keys, items, mask=_nulls(values)).cast(kind)


def _pairs(value: Json, kind: pa.MapType) -> list[tuple[Json, Json]]:
    if value is None:
        return []
    if pa.types.is_string(kind.key_type):
        return list(_of(value, dict).items())
    pairs = [_of(pair, list) for pair in _of(value, list)]
    return [(key, item) for key, item in pairs]


def _offsets(parts: Sequence[Sequence[object] | None]) -> pa.Array:
    return pa.array(accumulate((len(part or ()) for part in parts), initial=0), pa.int32())


def _nulls(values: Sequence[Json]) -> pa.Array:
    return pa.array([v is None for v in values], pa.bool_())


def _of(value: object, kind: type[T]) -> T:
    """The value, which must be of this kind; True is no number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{str(value)[:60]!r} is not such a value")
    return value


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))
