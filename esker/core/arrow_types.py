"""How do our types look in Arrow?"""

import pyarrow as pa

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Fixed, Geography, Geometry, Map, Primitive, Struct, Type
from esker.errors import Unsupported

# "Arrow as metadata+value": the unshredded form of a variant, with the mark by which Spark knows it from other structs
_MARK = {b"variant": b"true"}
VARIANT = pa.struct([pa.field("metadata", pa.binary(), False, _MARK), pa.field("value", pa.binary(), False)])
_VARIANT_EXTENSIONS = ("arrow.parquet.variant", "parquet.variant")

_PRIMITIVES: dict[Primitive, pa.DataType] = {
    t.BOOLEAN: pa.bool_(), t.BYTE: pa.int8(), t.SHORT: pa.int16(), t.INTEGER: pa.int32(), t.LONG: pa.int64(),
    t.FLOAT: pa.float32(), t.DOUBLE: pa.float64(), t.STRING: pa.string(), t.BINARY: pa.binary(), t.DATE: pa.date32(),
    t.TIME: pa.time64("us"), t.TIMESTAMP: pa.timestamp("us", "UTC"), t.TIMESTAMP_NTZ: pa.timestamp("us"),
    t.TIMESTAMP_NS: pa.timestamp("ns", "UTC"), t.TIMESTAMP_NTZ_NS: pa.timestamp("ns"), t.UUID: pa.binary(16),
    t.VARIANT: VARIANT, t.VOID: pa.null(), t.UINT8: pa.uint8(), t.UINT16: pa.uint16(), t.UINT32: pa.uint32(),
    t.UINT64: pa.uint64(), t.FLOAT16: pa.float16(), t.DURATION: pa.duration("us"),
}  # fmt: skip


def to_arrow(kind: Type) -> pa.DataType:
    """The Arrow type that rows of this type have."""
    match kind:
        case Struct():
            return pa.struct([to_arrow_field(f) for f in kind])
        case Array():
            return pa.list_(pa.field("element", to_arrow(kind.element), kind.contains_null))
        case Map():
            return pa.map_(to_arrow(kind.key), pa.field("value", to_arrow(kind.value), kind.value_contains_null))
        case Decimal():
            return (pa.decimal128 if kind.precision <= 38 else pa.decimal256)(kind.precision, kind.scale)
        case Fixed():
            return pa.binary(kind.length)
        case Geometry() | Geography():
            return pa.binary()
        case Primitive():
            if kind in _PRIMITIVES:
                return _PRIMITIVES[kind]
    raise Unsupported(f"the type {kind} has no form in Arrow")


def to_arrow_field(field: Field) -> pa.Field:
    """The field with its name and nullability, without its metadata."""
    return pa.field(field.name, to_arrow(field.type), field.nullable)


def to_arrow_schema(schema: Struct) -> pa.Schema:
    """The columns as rows in Arrow have them."""
    return pa.schema([to_arrow_field(f) for f in schema])


def from_arrow(kind: pa.DataType) -> Type:
    """Our type for an Arrow type, `Unsupported` where there is none."""
    if is_variant(kind):
        return t.VARIANT
    if pa.types.is_struct(kind):
        return Struct(tuple(Field(f.name, from_arrow(f.type), f.nullable) for f in kind))
    if pa.types.is_map(kind):
        return Map(from_arrow(kind.key_type), from_arrow(kind.item_type), kind.item_field.nullable)
    if any(is_list(kind) for is_list in _LISTS):
        return Array(from_arrow(kind.value_type), kind.value_field.nullable)
    if pa.types.is_fixed_size_list(kind):
        return Array(from_arrow(kind.value_type), kind.value_field.nullable, length=kind.list_size)
    if pa.types.is_decimal(kind):
        return Decimal(kind.precision, kind.scale)
    if pa.types.is_dictionary(kind):
        return from_arrow(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return t.STRING
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return t.BINARY
    if pa.types.is_timestamp(kind):
        plain, nanos = (t.TIMESTAMP, t.TIMESTAMP_NS) if kind.tz else (t.TIMESTAMP_NTZ, t.TIMESTAMP_NTZ_NS)
        return nanos if kind.unit == "ns" else plain
    if pa.types.is_fixed_size_binary(kind):
        return Fixed(kind.byte_width)
    if pa.types.is_duration(kind):
        return t.DURATION
    if pa.types.is_time(kind):
        return t.TIME
    if pa.types.is_date(kind):
        return t.DATE
    for ours, arrow in _PRIMITIVES.items():
        if arrow == kind:
            return ours
    raise Unsupported(f"the Arrow type {kind} has no counterpart here")


_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view, pa.types.is_large_list_view)


def is_variant(kind: pa.DataType) -> bool:
    """Whether these are variants: they say so as Arrow's own extension does, or as Spark's and our own do."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name in _VARIANT_EXTENSIONS
    return bool(pa.types.is_struct(kind)) and any(
        field.name == "metadata" and (field.metadata or {}).items() >= _MARK.items() for field in kind
    )
