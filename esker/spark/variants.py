"""How does a variant travel to Spark in Arrow?  As a struct too, but with the value first."""

import pyarrow as pa

from esker.arrow.conform import conform
from esker.core.arrow_types import VARIANT as ARROW_VARIANT
from esker.core.arrow_types import to_arrow
from esker.core.scan import Resolution
from esker.core.types import BINARY, VARIANT, Array, Field, Map, Struct, Type, any_type

_PLAIN = Struct((Field("value", BINARY, False), Field("metadata", BINARY, False)))
_MARKED = pa.struct([ARROW_VARIANT.field("value"), ARROW_VARIANT.field("metadata")])


def for_spark(column: pa.Array, kind: Type) -> pa.Array:
    """The values of a column as Spark takes them over."""
    if any_type(kind, VARIANT):
        plain = _plain(kind)
        column = conform(column, pa.field("", column.type), Field("", plain), plain, Resolution.NAME)
    return column.cast(_marked(kind))


def _plain(kind: Type) -> Type:
    match kind:
        case Struct():
            return Struct(tuple(Field(f.name, _plain(f.type), f.nullable) for f in kind))
        case Array():
            return Array(_plain(kind.element), kind.contains_null)
        case Map():
            return Map(_plain(kind.key), _plain(kind.value), kind.value_contains_null)
    return _PLAIN if kind == VARIANT else kind


def _marked(kind: Type) -> pa.DataType:
    match kind:
        case Struct():
            return pa.struct([pa.field(f.name, _marked(f.type), f.nullable) for f in kind])
        case Array():
            return pa.list_(pa.field("element", _marked(kind.element), kind.contains_null))
        case Map():
            return pa.map_(_marked(kind.key), pa.field("value", _marked(kind.value), kind.value_contains_null))
    return _MARKED if kind == VARIANT else to_arrow(kind)
