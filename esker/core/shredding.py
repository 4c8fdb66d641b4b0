"""Which variant do these typed columns stand for?  (VariantShredding.md of the Parquet format)

A writer may take a variant apart: `typed_value` columns hold what has a certain type, and `value` holds the rest. Here
the whole is put together again, column by column from the leaves up.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import variant
from esker.core.arrow_types import VARIANT
from esker.core.variant import Basic, Kind
from esker.errors import InvalidTable


def unshred(array: pa.StructArray) -> pa.StructArray:
    """The same variants as `struct<metadata, value>`, for a variant group as read from Parquet. Null rows stay null.

    Raises `InvalidTable` where the columns are not those of a variant, contradict one another, or hold a field whose
    name is not in the row's metadata. What is not shredded is copied, not checked.
    """
    group = _children(_storage(array), ("metadata", "value", "typed_value"), "the variant")
    if "metadata" not in group:
        raise InvalidTable("the variant has no metadata column")
    metadata = _binary(group.pop("metadata"), "metadata")
    if metadata.null_count > array.null_count:
        raise InvalidTable("the metadata of a variant is null")
    value = _values(group, _Rows.of(metadata), "the variant")
    # "If a Variant is missing in a context where a value is required, readers must return a Variant null"
    children = [metadata.fill_null(b""), value.fill_null(variant.NULL)]
    return pa.StructArray.from_arrays(children, fields=list(VARIANT), mask=array.is_null())


@dataclass(frozen=True, slots=True)
class _Dictionary:
    names: tuple[str, ...]
    ids: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which metadata belongs to each row of the arrays at hand: `origins` has the variant that each is part of."""

    origins: npt.NDArray[np.int64]
    dictionary: Callable[[int], _Dictionary]

    @staticmethod
    def of(metadata: pa.Array) -> "_Rows":
        @lru_cache(maxsize=256)  # rows mostly share their metadata
        def parsed(raw: bytes) -> _Dictionary:
            names = variant.names(raw)
            return _Dictionary(names, {name: id for id, name in reversed(list(enumerate(names)))})

        return _Rows(np.arange(len(metadata)), lambda row: parsed(metadata[row].as_py()))

    def repeated(self, times: npt.NDArray[np.int64]) -> "_Rows":
        return _Rows(np.repeat(self.origins, times), self.dictionary)


_Group: TypeAlias = dict[str, pa.Array]


def _values(group: _Group, rows: _Rows, where: str) -> pa.Array:
    """One encoded value for each row of a group of `value` and `typed_value`, null where both are."""
    if "typed_value" not in group:
        return _untyped(group, where)
    typed = _storage(group["typed_value"])
    value = _untyped(group, where) if "value" in group else pa.nulls(len(typed), pa.binary())
    if pa.types.is_struct(typed.type):
        return _objects(typed, value, rows, where)
    # "Writers must not produce data where both `value` and `typed_value` are non-null, unless the Variant value is an
    # object."
    if value.null_count < len(value) and pc.any(pc.and_(value.is_valid(), typed.is_valid())).as_py():
        raise InvalidTable(f"{where} has both a value and a typed_value that is no object")
    if pa.types.is_list(typed.type) or pa.types.is_large_list(typed.type):
        return _arrays(typed, value, rows, where)
    typed = _primitives(typed, where)
    return typed if value.null_count == len(value) else pc.coalesce(typed, value)


def _untyped(group: _Group, where: str) -> pa.Array:
    if "value" not in group:
        raise InvalidTable(f"{where} has neither a value nor a typed_value")
    return _binary(group["value"], f"the value of {where}")


def _objects(typed: pa.StructArray, value: pa.Array, rows: _Rows, where: str) -> pa.Array:
    columns: dict[str, list[bytes | None]] = {}
    for name, field in sorted(_children(typed, None, where).items()):
        # "The group for each named field must use repetition level `required`."
        if field.null_count > typed.null_count:
            raise InvalidTable(f"the shredded field {name!r} of {where} is null; a missing field has null parts")
        inside = f"the field {name!r} of {where}"
        columns[name] = _values(_children(field, ("value", "typed_value"), inside), rows, inside).to_pylist()
    built: list[bytes | None] = []
    fields = zip(*columns.values(), strict=True) if columns else ((),) * len(typed)
    others = (typed.is_valid().to_pylist(), value.to_pylist(), rows.origins.tolist())
    for cells, is_object, rest, origin in zip(fields, *others, strict=True):
        if is_object:
            shredded = [(name, cell) for name, cell in zip(columns, cells, strict=True) if cell is not None]
            built.append(_object(shredded, rest, rows.dictionary(origin), columns.keys(), where))
        else:
            built.append(_not_shredded(rest, Basic.OBJECT, where))
    return pa.array(built, pa.binary())


def _object(
    shredded: list[tuple[str, bytes]], rest: bytes | None, dictionary: _Dictionary, taken: Collection[str], where: str
) -> bytes:
    missing = [name for name, _ in shredded if name not in dictionary.ids]
    if missing:
        # "All field names of a Variant, whether shredded or not, must be present in the metadata."
        raise InvalidTable(f"{where} has shredded fields whose names are not in its metadata", problems=missing)
    if rest is None:
        return variant.object_of([(dictionary.ids[name], cell) for name, cell in shredded])
    fields = [(name, dictionary.ids[name], cell) for name, cell in shredded]
    for name, id, cell in variant.members(rest, dictionary.names):
        # "The `value` column of a partially shredded object must never contain [...] shredded fields"
        if name in taken:
            raise InvalidTable(f"the value of {where} holds the field {name!r}, which is shredded")
        fields.append((name, id, cell))
    return variant.object_of([(id, cell) for _, id, cell in sorted(fields, key=lambda field: field[0])])


def _arrays(typed: pa.Array, value: pa.Array, rows: _Rows, where: str) -> pa.Array:
    elements = typed.flatten()
    inside = f"an element of {where}"
    if elements.null_count:
        raise InvalidTable(f"{inside} is null; the group of an element is required")
    if not pa.types.is_struct(elements.type):
        raise InvalidTable(f"{inside} is {elements.type}, and no group of value and typed_value")
    lengths = pc.list_value_length(typed).fill_null(0).to_numpy().astype(np.int64)
    group = _children(elements, ("value", "typed_value"), inside)
    items = _values(group, rows.repeated(lengths), inside).fill_null(variant.NULL).to_pylist()
    ends = np.cumsum(lengths)
    built: list[bytes | None] = []
    bounds = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    for is_array, rest, (start, end) in zip(typed.is_valid().to_pylist(), value.to_pylist(), bounds, strict=True):
        built.append(variant.array_of(items[start:end]) if is_array else _not_shredded(rest, Basic.ARRAY, where))
    return pa.array(built, pa.binary())


def _not_shredded(rest: bytes | None, basic: Basic, where: str) -> bytes | None:
    # "If the value is an object, `typed_value` must be non-null."  "If the value is an array, `value` must be null."
    if rest and rest[0] & 3 == basic:
        raise InvalidTable(f"the value of {where} holds an {basic.name.lower()}, which should have been shredded")
    return rest


_FIXED: Mapping[pa.DataType, Kind] = {
    pa.int8(): Kind.INT8, pa.int16(): Kind.INT16, pa.int32(): Kind.INT32, pa.int64(): Kind.INT64,
    pa.float32(): Kind.FLOAT, pa.float64(): Kind.DOUBLE, pa.date32(): Kind.DATE, pa.time64("us"): Kind.TIME,
    pa.timestamp("us", "UTC"): Kind.TIMESTAMP, pa.timestamp("us"): Kind.TIMESTAMP_NTZ,
    pa.timestamp("ns", "UTC"): Kind.TIMESTAMP_NANOS, pa.timestamp("ns"): Kind.TIMESTAMP_NTZ_NANOS,
    pa.binary(16): Kind.UUID,
}  # fmt: skip


def _primitives(typed: pa.Array, where: str) -> pa.Array:
    if pa.types.is_dictionary(typed.type):
        typed = typed.dictionary_decode()
    kind = typed.type
    if pa.types.is_timestamp(kind) and kind.tz:
        kind = pa.timestamp(kind.unit, "UTC")
    if kind in _FIXED:
        encoded = _fixed(_FIXED[kind].header, typed, kind.bit_width // 8)
    elif pa.types.is_boolean(kind):
        encoded = pc.if_else(typed, Kind.TRUE.header, Kind.FALSE.header)
    elif pa.types.is_decimal(kind) and kind.precision <= 38 and 0 <= kind.scale <= 38:
        encoded = _decimals(typed.cast(pa.decimal128(kind.precision, kind.scale)))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        encoded = _strings(typed.cast(pa.string()).cast(pa.binary()))
    elif _is_binary(kind):
        raw = typed.cast(pa.binary())
        encoded = _joined(_sizes(Kind.BINARY, raw), raw)
    else:
        raise InvalidTable(f"{where} is shredded as {kind}, which no variant can be")
    return pc.if_else(typed.is_valid(), encoded, pa.scalar(None, pa.binary())) if typed.null_count else encoded


def _fixed(header: bytes, typed: pa.Array, width: int) -> pa.Array:
    """`header` and the first `width` bytes of each value, as they lie in memory; nulls become anything."""
    stored = typed.type.bit_width // 8
    start, end = typed.offset * stored, (typed.offset + len(typed)) * stored
    raw = np.frombuffer(typed.buffers()[1] or b"", np.uint8)[start:end]
    records = np.empty((len(typed), len(header) + width), np.uint8)
    records[:, : len(header)] = np.frombuffer(header, np.uint8)
    records[:, len(header) :] = raw.reshape(len(typed), stored)[:, :width]
    size = pa.binary(len(header) + width)
    return pa.FixedSizeBinaryArray.from_buffers(size, len(typed), [None, pa.py_buffer(records)]).cast(pa.binary())


def _decimals(typed: pa.Array) -> pa.Array:
    precision = max(typed.type.precision, typed.type.scale)
    widths = {Kind.DECIMAL4: 4, Kind.DECIMAL8: 8, Kind.DECIMAL16: 16}
    kind = Kind.DECIMAL4 if precision <= 9 else Kind.DECIMAL8 if precision <= 18 else Kind.DECIMAL16
    return _fixed(kind.header + bytes([typed.type.scale]), typed, widths[kind])


_LONG = 64  # bytes: from here on a string has a length of its own


@cache
def _short_headers() -> pa.Array:
    return pa.array([bytes([Basic.SHORT_STRING | length << 2]) for length in range(_LONG)], pa.binary())


def _strings(raw: pa.Array) -> pa.Array:
    lengths = pc.binary_length(raw).fill_null(0)
    short = _short_headers().take(pc.min_element_wise(lengths, pa.scalar(_LONG - 1, pa.int32())))
    return _joined(pc.if_else(pc.less(lengths, _LONG), short, _sizes(Kind.STRING, raw)), raw)


def _sizes(kind: Kind, raw: pa.Array) -> pa.Array:
    return _fixed(kind.header, pc.binary_length(raw).fill_null(0), 4)


def _joined(headers: pa.Array, raw: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(headers, raw, pa.scalar(b"", pa.binary()))


def _children(array: pa.Array, allowed: Collection[str] | None, where: str) -> _Group:
    """The columns of a group by name, null wherever the group is."""
    if not pa.types.is_struct(array.type):
        raise InvalidTable(f"{where} is {array.type}, and no group")
    names = [field.name for field in array.type]
    unknown = [name for name in names if allowed is not None and name not in allowed]
    if unknown or len(set(names)) < len(names):
        raise InvalidTable(f"{where} has columns that do not belong there, or two of one name", problems=unknown)
    return dict(zip(names, array.flatten(), strict=True))


def _storage(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _binary(array: pa.Array, what: str) -> pa.Array:
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not _is_binary(kind):
        raise InvalidTable(f"{what} is {array.type}, and must be binary")
    return array.cast(pa.binary())


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))
