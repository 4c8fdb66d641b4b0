"""How do our types look in Spark?"""

from dataclasses import replace

from pyspark.sql import types as s

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Fixed, Geography, Geometry, Map, Primitive, Struct, Type
from esker.errors import Unsupported

_PRIMITIVES: dict[Type, s.DataType] = {
    t.BOOLEAN: s.BooleanType(), t.BYTE: s.ByteType(), t.SHORT: s.ShortType(), t.INTEGER: s.IntegerType(),
    t.LONG: s.LongType(), t.FLOAT: s.FloatType(), t.DOUBLE: s.DoubleType(), t.STRING: s.StringType(),
    t.BINARY: s.BinaryType(), t.DATE: s.DateType(), t.TIMESTAMP: s.TimestampType(),
    t.TIMESTAMP_NTZ: s.TimestampNTZType(), t.VARIANT: s.VariantType(), t.VOID: s.NullType(),
    t.DURATION: s.DayTimeIntervalType(),
}  # fmt: skip
if hasattr(s, "TimeType"):  # since Spark 4.1
    _PRIMITIVES[t.TIME] = s.TimeType()

_DIGITS = 38
"""As many as a decimal of Spark's may have."""

_FORMS: dict[Type, Type] = {t.TIMESTAMP_NS: t.TIMESTAMP, t.TIMESTAMP_NTZ_NS: t.TIMESTAMP_NTZ, t.UUID: t.BINARY}


def spark_form(kind: Type) -> Type:
    """The type in which Spark holds values of a type that it lacks: microseconds for nanoseconds, bytes for what is bytes."""
    match kind:
        case Struct():
            return Struct(tuple(replace(f, type=spark_form(f.type)) for f in kind))
        case Array():
            return replace(kind, element=spark_form(kind.element))
        case Map():
            return replace(kind, key=spark_form(kind.key), value=spark_form(kind.value))
        case Fixed() | Geometry() | Geography():
            return t.BINARY
    return _FORMS.get(kind, kind)

# Types of other formats that Spark does not have; their values are read as those of a wider one.
_WIDER: dict[Primitive, s.DataType] = {
    t.UINT8: s.ShortType(), t.UINT16: s.IntegerType(), t.UINT32: s.LongType(), t.UINT64: s.DecimalType(20, 0),
    t.FLOAT16: s.FloatType(),
}  # fmt: skip


def to_spark(kind: Type) -> s.DataType:
    """The Spark type that rows of this type have; `Unsupported` where Spark has none."""
    match kind:
        case Struct():
            return to_spark_schema(kind)
        case Array():
            return s.ArrayType(to_spark(kind.element), kind.contains_null)
        case Map():
            return s.MapType(to_spark(kind.key), to_spark(kind.value), kind.value_contains_null)
        case Decimal() if kind.precision <= _DIGITS:
            return s.DecimalType(kind.precision, kind.scale)
        case Fixed() | Geometry() | Geography():
            return s.BinaryType()
        case Primitive():
            if (found := _PRIMITIVES.get(_FORMS.get(kind, kind)) or _WIDER.get(kind)) is not None:
                return found
    raise Unsupported(f"the type {kind} has no form in this Spark")


def to_spark_schema(schema: Struct) -> s.StructType:
    """The schema with its nullability and metadata."""
    return s.StructType([s.StructField(f.name, to_spark(f.type), f.nullable, dict(f.metadata)) for f in schema])


def from_spark(kind: s.DataType) -> Type:
    """Our type for a Spark type; `Unsupported` where there is none."""
    match kind:
        case s.StructType():
            return from_spark_schema(kind)
        case s.ArrayType():
            return Array(from_spark(kind.elementType), kind.containsNull)
        case s.MapType():
            return Map(from_spark(kind.keyType), from_spark(kind.valueType), kind.valueContainsNull)
        case s.DecimalType():
            return Decimal(kind.precision, kind.scale)
        case _:
            for ours, spark in _PRIMITIVES.items():
                if spark == kind:
                    return ours
    raise Unsupported(f"the Spark type {kind.simpleString()} has no counterpart here")


def from_spark_schema(schema: s.StructType) -> Struct:
    """The columns with their nullability and metadata."""
    return Struct(tuple(Field(f.name, from_spark(f.dataType), f.nullable, metadata=f.metadata) for f in schema))


def as_read(schema: Struct) -> Struct:
    """The schema as rows are read: everything may be null, and of the metadata only the comments stay."""
    return Struct(tuple(_as_read(f) for f in schema))


def _as_read(field: Field) -> Field:
    comment = {key: text for key, text in field.metadata.items() if key == "comment"}
    return replace(field, type=_nullable(field.type), nullable=True, metadata=comment)


def _nullable(kind: Type) -> Type:
    match kind:
        case Struct():
            return as_read(kind)
        case Array():
            return Array(_nullable(kind.element))
        case Map():
            return Map(_nullable(kind.key), _nullable(kind.value))
    return kind
