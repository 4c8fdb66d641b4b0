"""How do Arrow values lie in a file?  Under physical names, with ids at every level, and without members of no type."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from esker.arrow.conform import FIELD_ID, compacted, list_offsets, null_mask
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.predicate import Path
from esker.core.types import VOID, Array, Field, Map, Struct, Type

Ids = Mapping[Path, int]


def stored_field(field: Field, nested_ids: Ids, above: Path = ()) -> pa.Field:
    """The field for Parquet's schema; `nested_ids` are those of elements, keys and values."""
    path = (*above, field.name)
    return _with_id(field.name, _stored_type(field.type, nested_ids, path), field.id)


def stored_values(values: pa.Array, physical: Type, kind: pa.DataType) -> pa.Array:
    """The values, whose members go by their places, in the type that `stored_field` has. A cast would go by names."""
    match physical:
        case Struct():
            kept = [i for i, field in enumerate(physical) if field.type != VOID]
            members = [
                stored_values(pc.struct_field(values, [i]), physical.fields[i].type, member.type)
                for i, member in zip(kept, kind, strict=True)
            ]
            return pa.StructArray.from_arrays(members, fields=list(kind), mask=pc.is_null(values))
        case Array():
            inner = stored_values(values.flatten(), physical.element, kind.value_type)
            return pa.ListArray.from_arrays(list_offsets(values), inner, type=kind, mask=null_mask(values))
        case Map():
            entries = compacted(values)
            keys = stored_values(entries.keys, physical.key, kind.key_type)
            items = stored_values(entries.items, physical.value, kind.item_type)
            return pa.MapArray.from_arrays(list_offsets(values), keys, items, type=kind, mask=null_mask(values))
        case t.VARIANT:  # its members are required: beneath a null they are empty
            members = [pc.fill_null(member, b"") for member in values.flatten()]
            return pa.StructArray.from_arrays(members, fields=list(kind), mask=pc.is_null(values))
    return values.cast(kind)


def _stored_type(kind: Type, nested_ids: Ids, path: Path) -> pa.DataType:
    match kind:
        case Struct():
            return pa.struct([stored_field(f, nested_ids, path) for f in kind if f.type != VOID])
        case Array():
            return pa.list_(_inner("element", kind.element, nested_ids, path))
        case Map():
            key = _inner("key", kind.key, nested_ids, path)
            return pa.map_(key.with_nullable(False), _inner("value", kind.value, nested_ids, path))
    return to_arrow(kind)


def _inner(name: str, kind: Type, nested_ids: Ids, above: Path) -> pa.Field:
    path = (*above, name)
    return _with_id(name, _stored_type(kind, nested_ids, path), nested_ids.get(path))


def _with_id(name: str, kind: pa.DataType, number: int | None) -> pa.Field:
    return pa.field(name, kind, metadata={} if number is None else {FIELD_ID: str(number).encode()})
