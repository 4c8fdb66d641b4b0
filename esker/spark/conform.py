"""How does a column take on the table's type without loss?

Struct members go by their names, whatever their order and case, and those that the rows lack are null. The types were found to
fit before: what is left is to put them in place.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as s

from esker.core.types import Array, Map, Struct, Type, relaxed
from esker.spark.types import to_spark


def conformed(value: Column, have: s.DataType, wanted: Type) -> Column:
    """The value in the type that is wanted."""
    match have, wanted:
        case s.StructType(), Struct():
            members = [_member(value, have, field.name, field.type) for field in wanted]
            return F.when(value.isNull(), F.lit(None)).otherwise(F.struct(*members))
        case s.ArrayType(), Array() if _is_nested(wanted.element):
            return F.transform(value, lambda element: conformed(element, have.elementType, wanted.element))
        case s.MapType(), Map() if _is_nested(wanted.key) or _is_nested(wanted.value):
            keys = F.transform(F.map_keys(value), lambda key: conformed(key, have.keyType, wanted.key))
            values = F.transform(F.map_values(value), lambda item: conformed(item, have.valueType, wanted.value))
            return F.map_from_arrays(keys, values)
    target = to_spark(relaxed(wanted))  # what must not be null is checked, not cast
    return value if have == target else value.cast(target)


def _member(value: Column, have: s.StructType, name: str, wanted: Type) -> Column:
    same = [f for f in have if f.name == name] or [f for f in have if f.name.lower() == name.lower()]
    if not same:
        return F.lit(None).cast(to_spark(relaxed(wanted))).alias(name)
    return conformed(value.getField(same[0].name), same[0].dataType, wanted).alias(name)


def _is_nested(kind: Type) -> bool:
    return isinstance(kind, Struct | Array | Map)
