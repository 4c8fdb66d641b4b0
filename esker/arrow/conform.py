"""How does a column of a file become a column of the table?

A file may have been written under an older schema: under other names, without a member, with a narrower type. `conform` gives
its values in the type the plan asks for, and refuses what would change a value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.scan import MappedField, Resolution
from esker.core.shredding import unshred
from esker.core.types import Array, Decimal, Field, Fixed, Geography, Geometry, Map, Struct, Type
from esker.errors import InvalidTable

FIELD_ID = b"PARQUET:field_id"
_ORC_FIELD_ID = b"iceberg.id"


@dataclass(frozen=True)
class Lookup:
    """How columns are found in a file, and what stands in the place of those that are not."""

    resolution: Resolution
    defaults: Mapping[int, pa.Scalar] = field(default_factory=dict)

    def missing(self, wanted: Field, visible: Type, count: int) -> pa.Array:
        """What a file has in the place of a column that it lacks."""
        default = self.defaults.get(wanted.id) if wanted.id is not None else None
        return pa.nulls(count, to_arrow(visible)) if default is None else pa.repeat(default, count)


def find(fields: list[pa.Field], wanted: Field, resolution: Resolution) -> int | None:
    """The position of the column among the file's fields; None where the file does not have it."""
    if resolution is Resolution.ID and wanted.id is not None:  # what the format itself adds to a file has no id
        matches = [i for i, f in enumerate(fields) if field_id(f) == wanted.id]
    else:
        matches = [i for i, f in enumerate(fields) if f.name == wanted.name]
        matches = matches or [i for i, f in enumerate(fields) if f.name.lower() == wanted.name.lower()]
    if len(matches) > 1:
        names = ", ".join(fields[i].name for i in matches)
        raise InvalidTable(f"the column {wanted.name} could be any of the file's columns {names}")
    return matches[0] if matches else None


def field_id(field: pa.Field) -> int | None:
    """The id that a file states of a field."""
    metadata = field.metadata or {}
    text = metadata.get(FIELD_ID) or metadata.get(_ORC_FIELD_ID)
    return None if text is None else int(text)


def has_ids(fields: Iterable[pa.Field]) -> bool:
    """Whether any of a file's fields has an id."""
    return any(field_id(f) is not None or has_ids(_members(f.type)) for f in fields)


def with_mapped_ids(fields: Iterable[pa.Field], mapped: Sequence[MappedField]) -> list[pa.Field]:
    """The fields of a file without ids, with those that a mapping has for their names."""
    return [_with_mapped_id(f, mapped) for f in fields]


def conform(column: pa.Array, stored: pa.Field, physical: Field, visible: Type, by: Lookup) -> pa.Array:
    """The stored values in the visible type. `physical` has the shape of `visible` under the file's names and ids."""
    return _conform(column, stored.type, physical.type, visible, by, physical.name)


def _members(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.value_field] if is_list(kind) else []


def _with_mapped_id(field: pa.Field, mapped: Sequence[MappedField], name: str | None = None) -> pa.Field:
    found = next((m for m in mapped if (name or field.name) in m.names), MappedField(frozenset(), None))
    kind = _with_mapped_type(field.type, found.fields)
    return field.with_type(kind).with_metadata({} if found.id is None else {FIELD_ID: str(found.id)})


def _with_mapped_type(kind: pa.DataType, mapped: Sequence[MappedField]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_with_mapped_id(member, mapped) for member in kind])
    if pa.types.is_map(kind):
        return pa.map_(
            _with_mapped_id(kind.key_field, mapped, "key"), _with_mapped_id(kind.item_field, mapped, "value")
        )
    return pa.list_(_with_mapped_id(kind.value_field, mapped, "element")) if is_list(kind) else kind


def _conform(column: pa.Array, stored: pa.DataType, physical: Type, visible: Type, by: Lookup, name: str) -> pa.Array:
    if isinstance(stored, pa.BaseExtensionType):
        column, stored = column.storage, stored.storage_type
    match physical, visible:
        case Struct(), Struct() if pa.types.is_struct(stored):
            return _struct(column, stored, physical, visible, by)
        case Array(), Array() if is_list(stored):
            return _list(column, stored, physical, visible, by, name)
        case Map(), Map() if pa.types.is_map(stored):
            return _map(column, stored, physical, visible, by, name)
        case t.VARIANT, _ if pa.types.is_struct(stored):
            return unshred(column)
        case t.VOID, _:
            return pa.nulls(len(column))
        case ((Struct() | Array() | Map()), _):
            raise InvalidTable(f"the file has {name} as {stored}, the table as {visible}")
        case _:
            return _primitive(column, stored, visible, name)


def is_list(stored: pa.DataType) -> bool:
    """Parquet has one kind of list; which of Arrow's a file had in memory is told by a note of its writer."""
    return any(is_one(stored) for is_one in _LISTS)


_LISTS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view, pa.types.is_large_list_view,
)  # fmt: skip


def _struct(column: pa.Array, stored: pa.DataType, physical: Struct, visible: Struct, by: Lookup) -> pa.Array:
    have = list(stored)
    children = []
    for inner, outer in zip(physical, visible, strict=True):
        at = find(have, inner, by.resolution)
        if at is None:
            children.append(by.missing(inner, outer.type, len(column)))
        else:
            children.append(_conform(column.field(at), have[at].type, inner.type, outer.type, by, inner.name))
    return pa.StructArray.from_arrays(children, fields=list(to_arrow(visible)), mask=pc.is_null(column))


def _list(column: pa.Array, stored: pa.DataType, physical: Array, visible: Array, by: Lookup, name: str) -> pa.Array:
    values = _conform(column.flatten(), stored.value_type, physical.element, visible.element, by, f"{name}.element")
    return pa.ListArray.from_arrays(list_offsets(column), values, type=to_arrow(visible), mask=null_mask(column))


def _map(column: pa.Array, stored: pa.DataType, physical: Map, visible: Map, by: Lookup, name: str) -> pa.Array:
    compact = compacted(column)
    keys = _conform(compact.keys, stored.key_type, physical.key, visible.key, by, f"{name}.key")
    items = _conform(compact.items, stored.item_type, physical.value, visible.value, by, f"{name}.value")
    return pa.MapArray.from_arrays(list_offsets(column), keys, items, type=to_arrow(visible), mask=null_mask(column))


def _primitive(column: pa.Array, stored: pa.DataType, visible: Type, name: str) -> pa.Array:
    target = to_arrow(visible)
    if stored == target:
        return column
    if pa.types.is_dictionary(stored):
        return _primitive(column.dictionary_decode(), stored.value_type, visible, name)
    if visible in (t.TIMESTAMP, t.TIMESTAMP_NTZ) and pa.types.is_timestamp(stored):
        return _timestamp(column, stored, target)
    if visible == t.TIME and stored == pa.int64():  # ORC has no type for it
        return column.view(target)
    if visible == t.LONG and pa.types.is_duration(stored):  # Parquet has no type for it
        return column.view(target)
    if not _is_widening(stored, visible):
        raise InvalidTable(f"the file has {name} as {stored}, the table as {visible}")
    try:
        return column.cast(target)
    except pa.ArrowInvalid as error:
        raise InvalidTable(f"the file has a value of {name} that {visible} cannot hold: {error}") from error


def _timestamp(column: pa.Array, stored: pa.DataType, target: pa.DataType) -> pa.Array:
    """Any unit in microseconds; what is finer is cut off. INT96 and careless writers leave the zone out."""
    plain = column.view(pa.timestamp(stored.unit))
    micros = pc.floor_temporal(plain, unit="microsecond") if stored.unit == "ns" else plain
    return micros.cast(pa.timestamp("us")).view(pa.int64()).view(target)


# Spark takes the unsigned types of Parquet for the next wider signed ones, and one of 64 bits for a decimal.
_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())


def _is_widening(stored: pa.DataType, visible: Type) -> bool:
    """Whether a file's type may stand for the table's: the same values in another form, or a widening of the protocol."""
    if stored == pa.null():
        return True
    if visible in t.INTEGRAL:
        return stored in _WHOLE  # a narrower column can be stored wider; the cast checks each value
    if visible == t.DOUBLE:
        return stored in (pa.float32(), pa.int8(), pa.int16(), pa.int32())
    if isinstance(visible, Decimal):
        return stored in _WHOLE or pa.types.is_decimal(stored)
    if visible == t.STRING:
        return bool(pa.types.is_large_string(stored) or pa.types.is_string_view(stored) or _is_binary(stored))
    if visible == t.BINARY:
        return bool(_is_binary(stored) or pa.types.is_string(stored) or pa.types.is_fixed_size_binary(stored))
    if visible == t.TIME:
        return bool(pa.types.is_time(stored))
    if visible == t.UUID or isinstance(visible, Fixed | Geometry | Geography):
        return _is_binary(stored)
    if visible in (t.TIMESTAMP_NS, t.TIMESTAMP_NTZ_NS) and pa.types.is_timestamp(stored):
        return bool(stored.tz) == (visible == t.TIMESTAMP_NS)
    return visible in (t.TIMESTAMP_NTZ, t.TIMESTAMP_NTZ_NS) and bool(pa.types.is_date(stored))


def _is_binary(stored: pa.DataType) -> bool:
    return bool(pa.types.is_binary(stored) or pa.types.is_large_binary(stored) or pa.types.is_binary_view(stored))


def null_mask(column: pa.Array) -> pa.Array | None:
    """Which values are null; None where none is."""
    return pc.is_null(column) if column.null_count else None


def list_offsets(column: pa.Array) -> pa.Array:
    """The lengths summed up from zero: a slice's own offsets start anywhere, and null rows may span values."""
    lengths = (
        pc.fill_null(pc.list_value_length(column), 0) if not pa.types.is_map(column.type) else _map_lengths(column)
    )
    ends = np.cumsum(lengths.to_numpy(zero_copy_only=False))
    return pa.array(np.concatenate([[0], ends]).astype(np.int32))


def _map_lengths(column: pa.Array) -> pa.Array:
    offsets = column.offsets.to_numpy(zero_copy_only=False)
    return pa.array(np.where(column.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0))


def compacted(column: pa.Array) -> pa.Array:
    """The entries of the rows that are not null, and no others."""
    ends = list_offsets(column)
    first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
    if last - first > ends[-1].as_py():  # a null row spans entries
        return pa.concat_arrays([column.drop_null()])
    keys, items = column.keys.slice(first, last - first), column.items.slice(first, last - first)
    return pa.MapArray.from_arrays(ends, keys, items, type=column.type)
