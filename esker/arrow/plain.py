"""How do values of types that only some formats have look to those who do not have them?

Numbers become numbers of a wider type, lists lose their fixed length, timestamps take microseconds. No value changes: one that
would is an error.
"""

import pyarrow as pa
import pyarrow.compute as pc

from esker.arrow.conform import compacted, is_list, list_offsets, null_mask
from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Map, Primitive, Struct, Type
from esker.errors import Unsupported

_PLAIN: dict[Type, pa.DataType] = {
    t.UINT8: pa.int16(), t.UINT16: pa.int32(), t.UINT32: pa.int64(), t.UINT64: pa.decimal128(20, 0), t.FLOAT16: pa.float32(),
    t.STRING: pa.string(), t.BINARY: pa.binary(), t.DATE: pa.date32(), t.TIME: pa.time64("ns"), t.DURATION: pa.duration("us"),
    t.TIMESTAMP: pa.timestamp("us", "UTC"), t.TIMESTAMP_NTZ: pa.timestamp("us"), t.TIMESTAMP_NS: pa.timestamp("us", "UTC"),
    t.TIMESTAMP_NTZ_NS: pa.timestamp("us"),
}  # fmt: skip

_DIGITS = 38


def plain_array(values: pa.Array, field: Field) -> pa.Array:
    """The values of a column in the types that every engine has."""
    try:
        return _plain(values, field.type)
    except pa.ArrowInvalid as error:
        raise Unsupported(f"a value of {field.name} has no form outside of its table: {error}") from error


def _plain(values: pa.Array, kind: Type) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    match kind:
        case Struct():
            members = [_plain(pc.struct_field(values, [i]), f.type) for i, f in enumerate(kind)]
            fields = [pa.field(f.name, m.type) for f, m in zip(kind, members, strict=True)]
            return pa.StructArray.from_arrays(members, fields=fields, mask=pc.is_null(values))
        case Array() if is_list(values.type):
            return pa.ListArray.from_arrays(list_offsets(values), _plain(values.flatten(), kind.element), mask=null_mask(values))
        case Map():
            whole = compacted(values)
            keys, items = _plain(whole.keys, kind.key), _plain(whole.items, kind.value)
            return pa.MapArray.from_arrays(list_offsets(values), keys, items, mask=null_mask(values))
        case Decimal() if pa.types.is_decimal256(values.type) and kind.precision <= _DIGITS:
            return values.cast(pa.decimal128(kind.precision, kind.scale))
        case t.Fixed():
            return values.cast(pa.binary())
        case Primitive() if kind in _PLAIN and values.type != _PLAIN[kind]:
            return values.cast(_PLAIN[kind])
    return values
