"""How do Arrow rows that a caller brought become rows of a table?

Struct members go by their names, whatever their order and case, and those that are missing are null. What Arrow has in several
forms (dictionaries, large lists and texts, times of any unit and zone) takes the table's, if no value changes by that.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.arrow.conform import compacted, is_list, list_offsets, null_mask
from esker.core import types as t
from esker.core.arrow_types import from_arrow, is_variant, to_arrow
from esker.core.shredding import unshred
from esker.core.types import Array, Field, Map, Struct, Type, relaxed
from esker.core.variant import to_json
from esker.errors import InvalidRequest, InvalidTable, Unsupported


def columns_of(schema: pa.Schema) -> Struct:
    """The columns of the rows. Raises `Unsupported`, naming each column of a type that tables do not have."""
    fields: list[Field] = []
    problems: list[str] = []
    for field in schema:
        try:
            fields.append(Field(field.name, in_micros(from_arrow(field.type)), field.nullable))
        except Unsupported as error:
            problems.append(f"{field.name}: {error.what}")
    if problems:
        raise Unsupported("rows with these columns cannot be written", problems=problems, hint="Cast them to other types.")
    return Struct(tuple(fields))


def conformed(values: pa.Array | pa.ChunkedArray, wanted: Type, where: str) -> pa.ChunkedArray:
    """The values in the table's type. Raises `InvalidRequest` where one does not fit it exactly."""
    chunks: Iterable[pa.Array] = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    kind = to_arrow(relaxed(wanted))
    return pa.chunked_array([_conformed(chunk, wanted, where).cast(kind) for chunk in chunks], kind)


def in_micros(kind: Type) -> Type:
    """The type with times in microseconds, if they are finer: whether a value is lost by that is seen when it is cast."""
    match kind:
        case Struct():
            return Struct(tuple(Field(f.name, in_micros(f.type), f.nullable) for f in kind))
        case Array():
            return replace(kind, element=in_micros(kind.element))
        case Map():
            return Map(in_micros(kind.key), in_micros(kind.value), kind.value_contains_null)
    return _COARSER.get(kind, kind)


_COARSER: dict[Type, Type] = {t.TIMESTAMP_NS: t.TIMESTAMP, t.TIMESTAMP_NTZ_NS: t.TIMESTAMP_NTZ}


def _conformed(values: pa.Array, wanted: Type, where: str) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    match wanted:
        case Struct() if pa.types.is_struct(values.type):
            members = [_member(values, field, where) for field in wanted]
            fields = [pa.field(f.name, m.type) for f, m in zip(wanted, members, strict=True)]
            return pa.StructArray.from_arrays(members, fields=fields, mask=pc.is_null(values))
        case Array() if is_list(values.type):
            inner = _conformed(values.flatten(), wanted.element, where)
            return pa.ListArray.from_arrays(list_offsets(values), inner, mask=null_mask(values))
        case Map() if pa.types.is_map(values.type):
            entries = compacted(values)
            keys, items = _conformed(entries.keys, wanted.key, where), _conformed(entries.items, wanted.value, where)
            return pa.MapArray.from_arrays(list_offsets(values), keys, items, mask=null_mask(values))
        case t.VARIANT if is_variant(values.type):
            return _variants(values, where)
    try:
        found = values.cast(to_arrow(relaxed(wanted)))
        if wanted == t.FLOAT16 and not same_floats(found.cast(values.type), values):
            raise InvalidRequest(f"a value has no exact form as {wanted}", where=where)
        return found
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidRequest(f"the rows do not fit the type {wanted}: {error}", where=where) from error


def same_floats(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays have the same numbers, NaN being itself: to half a float Arrow rounds without a word."""
    while is_list(one.type) and is_list(other.type):
        one, other = one.flatten(), other.flatten()
    left, right = (array.to_numpy(zero_copy_only=False) for array in (one, other))
    return one.null_count == other.null_count and bool(np.array_equal(left, right, equal_nan=left.dtype.kind == "f"))


def _variants(values: pa.Array, where: str) -> pa.Array:
    """Variants, put together if they were shredded. Each must be one that readers can read."""
    try:
        found = unshred(values.storage if isinstance(values, pa.ExtensionArray) else values)
        for each in found.drop_null().to_pylist():
            to_json(each["metadata"], each["value"])
    except InvalidTable as error:
        raise InvalidRequest(f"the rows have bytes that are no variant: {error.what}", where=where) from error
    return found


def _member(values: pa.Array, field: Field, where: str) -> pa.Array:
    names = [f.name for f in values.type]
    same = [n for n in names if n == field.name] or [n for n in names if n.lower() == field.name.lower()]
    if not same:
        return pa.nulls(len(values), to_arrow(relaxed(field.type)))
    return _conformed(pc.struct_field(values, [names.index(same[0])]), field.type, where)
