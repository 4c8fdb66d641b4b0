"""How is one value stored in metadata as bytes?  (Iceberg specification, "Binary single-value serialization", Appendix D)

Plain values: a date is its number of days, a time or timestamp its number of units, a UUID its 16 bytes. Bounds that were
written before a column's type was promoted are told by their length.
"""

import struct
from collections.abc import Callable
from decimal import Decimal as Number

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.columns import Mask, booleans, filled, mask_of, rows_of, scalar
from esker.core.decimals import scaled
from esker.core.footers import Bound
from esker.core.types import Decimal, Fixed, Primitive, Type
from esker.errors import InvalidTable, Unsupported
from esker.iceberg.transforms import minimal_bytes, unscaled

_NUMBERS: dict[Type, str] = {
    t.INTEGER: "<i", t.LONG: "<q", t.FLOAT: "<f", t.DOUBLE: "<d", t.DATE: "<i", t.TIME: "<q", t.TIMESTAMP: "<q",
    t.TIMESTAMP_NTZ: "<q", t.TIMESTAMP_NS: "<q", t.TIMESTAMP_NTZ_NS: "<q",
}  # fmt: skip
_DAY = 86_400_000_000

# "infer the written type from byte length": long 4 is int, double 4 is float, timestamp or timestamp_ns 4 is date
_PROMOTED: dict[Type, tuple[str, int]] = {
    t.LONG: ("<i", 1), t.DOUBLE: ("<f", 1), t.TIMESTAMP_NTZ: ("<i", _DAY), t.TIMESTAMP_NTZ_NS: ("<i", _DAY * 1000),
}  # fmt: skip


def to_bytes(value: Bound, kind: Type) -> bytes:
    """The bytes of a value. Raises `Unsupported` for a type that has none."""
    match value, kind:
        case bool(), t.BOOLEAN:
            return b"\x01" if value else b"\x00"
        case str(), t.STRING:
            return value.encode()
        case bytes(), (t.BINARY | t.UUID | Fixed()):
            return value
        case bytes(), Primitive(name) if name.startswith(_GEO):
            return value
        case Number(), Decimal():
            return minimal_bytes(unscaled(value, kind))
        case (int() | float()), _ if kind in _NUMBERS:
            return struct.pack(_NUMBERS[kind], value)
    raise Unsupported(f"a bound of the type {kind} cannot be stored: {value!r}")


_GEO = ("geometry", "geography")


def parse_bytes(data: bytes, kind: Type) -> Bound:
    """The value that the bytes hold. Raises `InvalidTable` where they hold none of this type."""
    try:
        return _parse(data, kind)
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise InvalidTable(f"the bytes {data[:32].hex()} are no value of the type {kind}") from error


def _parse(data: bytes, kind: Type) -> Bound:
    match kind:
        case t.BOOLEAN:
            return data[0] != 0
        case t.STRING:
            return data.decode()
        case t.BINARY | t.UUID | Fixed():
            return data
        case Decimal() if data:  # no bytes would be zero
            return scaled(int.from_bytes(data, "big", signed=True), kind.scale)
        case Decimal():
            raise IndexError
        case Primitive(name) if name.startswith(_GEO):
            return data
    if len(data) == 4 and kind in _PROMOTED:
        code, scale = _PROMOTED[kind]
        (narrow,) = struct.unpack(code, data)
        number: int | float = narrow * scale
        return number
    if kind in _NUMBERS:
        (found,) = struct.unpack(_NUMBERS[kind], data)
        wide: int | float = found
        return wide
    raise Unsupported(f"the type {kind} has no single values in metadata")


def decoded(values: pa.Array, kind: Type) -> pa.Array:
    """The values of a whole column of stored bytes, null for null, in the Arrow type of `kind`."""
    wanted = to_arrow(kind)
    if kind in (t.STRING, t.BINARY):
        return _texts(values) if kind == t.STRING else values.cast(wanted)
    if kind in _NUMBERS and _is_even(values, np.dtype(_NUMBERS[kind]).itemsize):
        return _numbers(values, _PLAIN[wanted.bit_width]).view(wanted)
    if kind == t.BOOLEAN and _is_even(values, 1):
        return pc.not_equal(_numbers(values, pa.uint8()), scalar(0, pa.uint8()))
    if isinstance(kind, Decimal) and _is_short(values):
        return _decimals(values, wanted)
    return plain_array([None if v is None else parse_bytes(v, kind) for v in values.to_pylist()], kind)


_PLAIN = {32: pa.int32(), 64: pa.int64()}


def plain_array(values: list[Bound | None], kind: Type) -> pa.Array:
    """Plain values as an Arrow array of the type."""
    wanted = to_arrow(kind)
    is_counted = kind in _NUMBERS and kind not in t.FRACTIONAL
    return pa.array(values, _PLAIN[wanted.bit_width]).view(wanted) if is_counted else pa.array(values, wanted)


def _texts(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise InvalidTable(f"a bound of a text is not UTF-8: {error}") from error


def _is_even(values: pa.Array, size: int) -> bool:
    return bool((rows_of(filled(pc.binary_length(values), size)) == size).all())


def _is_short(values: pa.Array) -> bool:
    """Whether each value has a byte at least, and no more than a decimal of Arrow."""
    lengths = rows_of(filled(pc.binary_length(values), 1))
    return bool(((lengths >= 1) & (lengths <= _DECIMAL)).all())


_DECIMAL = 16


def _numbers(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The bytes of each value as a number, null for null."""
    known, ends, data = _bytes(values)
    numbers = np.zeros(len(values), kind.to_pandas_dtype())
    numbers[known] = data[ends[0] : ends[-1]].view(numbers.dtype)
    return pa.Array.from_buffers(kind, len(values), [booleans(known).buffers()[1], pa.py_buffer(numbers)])


def _decimals(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The bytes of each value, "unscaled value as two's-complement big-endian binary", as a decimal, null for null."""
    known, ends, data = _bytes(values)
    lengths, is_negative = np.diff(ends), data[ends[:-1]] >= 0x80
    given = np.repeat(np.where(is_negative, 0xFF, 0).astype(np.uint8)[:, None], _DECIMAL, axis=1)
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        given[rows, place] = data[ends[1:][rows] - 1 - place]
    whole = np.zeros((len(values), _DECIMAL), np.uint8)
    whole[known] = given
    found = pa.Array.from_buffers(kind, len(values), [booleans(known).buffers()[1], pa.py_buffer(whole)])
    try:
        found.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidTable(f"a bound has more digits than its type: {error}") from error
    return found


def _bytes(values: pa.Array) -> tuple[Mask, npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Which values there are, where each begins and the last ends, and their bytes."""
    given = values.drop_null()
    ends = np.frombuffer(given.buffers()[1] or bytes(4), np.int32)[given.offset : given.offset + len(given) + 1]
    return mask_of(pc.is_valid(values)), ends, np.frombuffer(given.buffers()[2] or b"", np.uint8)


def plain_value(value: pa.Scalar, kind: Type) -> Bound | None:
    """The plain value of an Arrow scalar."""
    if not value.is_valid:
        return None
    counted: Callable[[], Bound] = (
        value.as_py if kind not in _NUMBERS or kind in t.FRACTIONAL else lambda: _count(value)
    )
    found = counted()
    return found.bytes if hasattr(found, "bytes") else found


def _count(value: pa.Scalar) -> int:
    count: int = value.cast(_PLAIN[value.type.bit_width]).as_py()
    return count
