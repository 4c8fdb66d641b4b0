"""How do values travel to Spark in Arrow?

A variant is a struct there too, but with the value first; a time of day has nanoseconds. A value that would change on the way
stops the query.
"""

from collections.abc import Mapping

import pyarrow as pa

from esker.arrow.conform import Lookup, conform
from esker.core.arrow_types import VARIANT as ARROW_VARIANT
from esker.core.arrow_types import to_arrow
from esker.core.scan import Resolution
from esker.core.types import BINARY, TIME, VARIANT, Array, Field, Map, Struct, Type, any_type

_PLAIN = Struct((Field("value", BINARY, False), Field("metadata", BINARY, False)))
_MARKED = pa.struct([ARROW_VARIANT.field("value"), ARROW_VARIANT.field("metadata")])

_TAKEN: Mapping[Type, pa.DataType] = {VARIANT: _MARKED, TIME: pa.time64("ns")}


def for_spark(column: pa.Array, kind: Type) -> pa.Array:
    """The values of a column as Spark takes them over."""
    if any_type(kind, VARIANT):
        plain = _plain(kind)
        column = conform(column, pa.field("", column.type), Field("", plain), plain, Lookup(Resolution.NAME))
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
    return _TAKEN.get(kind) or to_arrow(kind)
