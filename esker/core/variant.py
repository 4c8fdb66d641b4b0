"""Which value do these bytes stand for?  (VariantEncoding.md of the Parquet format)

A variant is two byte strings: `metadata`, a dictionary of field names, and `value`, which refers to it by position. All
reading checks bounds first, and values may not overlap: malformed bytes raise `InvalidTable`, after work that is in
proportion to their length.
"""

import base64
import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Generic, TypeVar
from uuid import UUID

import numpy as np

from esker.core.calendar import DAY
from esker.errors import InvalidRequest, InvalidTable, Unsupported

DEPTH = 400  # of arrays and objects within one another; well inside what Python's own stack holds
NULL = b"\x00"


class Basic(IntEnum):
    """The basic types of the specification, the low two bits of a value."""

    PRIMITIVE = 0
    SHORT_STRING = 1
    OBJECT = 2
    ARRAY = 3


class Kind(IntEnum):
    """The primitive types of the specification, by their type id."""

    NULL = 0
    TRUE = 1
    FALSE = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    DOUBLE = 7
    DECIMAL4 = 8
    DECIMAL8 = 9
    DECIMAL16 = 10
    DATE = 11
    TIMESTAMP = 12
    TIMESTAMP_NTZ = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    TIME = 17
    TIMESTAMP_NANOS = 18
    TIMESTAMP_NTZ_NANOS = 19
    UUID = 20

    @property
    def header(self) -> bytes:
        """The byte that a value of this type starts with."""
        return bytes([self << 2])


@dataclass(frozen=True, slots=True)
class Nanos:
    """A timestamp in nanoseconds since 1970, too fine for `datetime`: an instant if `is_utc`, else a wall clock."""

    count: int
    is_utc: bool


def decode(metadata: bytes, value: bytes) -> object:
    """The value as Python says it.

    None, bool, int, float, Decimal, str, bytes, UUID, date, time, datetime (aware and in UTC for an instant, naive for
    a wall clock), `Nanos` for timestamps in nanoseconds, list, and dict in the order of the fields. Raises
    `InvalidTable` for malformed bytes; `Unsupported` for a type that the specification does not list, and for a day
    that Python's calendar does not reach.
    """
    return _read(_whole(value), names(metadata), _PLAIN, 0)


def to_json(metadata: bytes, value: bytes) -> str:
    """The value as JSON, letter for letter as Spark's `to_json` of a variant renders it in a session in UTC.

    What JSON cannot say is a string: dates, times, timestamps, UUIDs, binary as base64, numbers that are not finite.
    Types that Spark does not know, times and nanoseconds, look like those that it does.
    """
    return _read(_whole(value), names(metadata), _JSON, 0)


def encode(value: object) -> tuple[bytes, bytes]:
    """Metadata and value of the variant that `decode` turns into this Python value; `InvalidRequest` if there is none.

    An int takes the smallest type that holds it, a decimal where int64 does not; the dictionary is sorted.
    """
    found: set[str] = set()
    _collect(value, found, 0)
    dictionary = sorted(found)  # by code point, which is the order of the UTF-8 bytes
    ids = {name: id for id, name in enumerate(dictionary)}
    try:
        return _metadata([name.encode() for name in dictionary]), _written(value, ids)
    except UnicodeEncodeError as error:
        raise InvalidRequest("a variant holds only text that can be written in UTF-8", hint=str(error)) from error
    except OverflowError as error:
        raise InvalidRequest("the value is too large for a variant", hint=str(error)) from error


def names(metadata: bytes) -> tuple[str, ...]:
    """The field names of the dictionary, by id."""
    view = memoryview(metadata)
    header = _unsigned(view, 0, 1)
    if header & 0x0F != 1:
        raise _malformed(f"the metadata has version {header & 0x0F}; there is only version 1")
    width = (header >> 6) + 1
    count = _unsigned(view, 1, width)
    if count == 0:
        return ()  # VariantShredding.md spells an empty dictionary `01 00`, without its only offset
    start = 1 + width * (count + 2)
    offsets = _unsigneds(view, 1 + width, count + 1, width)
    if offsets[0] != 0 or any(b < a for a, b in pairwise(offsets)) or offsets[-1] > len(view) - start:
        raise _malformed("the offsets of the dictionary lead astray")
    return tuple(_text(bytes(view[start + a : start + b])) for a, b in pairwise(offsets))


def members(value: bytes, dictionary: Sequence[str]) -> Iterator[tuple[str, int, bytes]]:
    """Name, id and value of each field of an object, in its own order; `InvalidTable` if the value is no object."""
    whole = _whole(value)
    if whole[0] & 3 != Basic.OBJECT:
        raise _malformed("an object was expected")
    for name, id, item in _members(whole, dictionary):
        yield name, id, bytes(item)


def object_of(fields: Sequence[tuple[int, bytes]]) -> bytes:
    """An object of these ids and values, which are in the order of the field names."""
    ids = [id for id, _ in fields]
    id_width = _width(max(ids, default=0))
    offset_width, offsets = _offsets([item for _, item in fields])
    is_large = len(fields) > 0xFF
    header = Basic.OBJECT | (offset_width - 1) << 2 | (id_width - 1) << 4 | is_large << 6
    parts = [bytes([header]), len(fields).to_bytes(4 if is_large else 1, "little"), _packed(ids, id_width), offsets]
    return b"".join([*parts, *(item for _, item in fields)])


def array_of(items: Sequence[bytes]) -> bytes:
    """An array of these values."""
    offset_width, offsets = _offsets(items)
    is_large = len(items) > 0xFF
    header = Basic.ARRAY | (offset_width - 1) << 2 | is_large << 4
    return b"".join([bytes([header]), len(items).to_bytes(4 if is_large else 1, "little"), offsets, *items])


# Reading


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Form(Generic[T]):
    """What becomes of a primitive, of an array and of an object whose parts have become it already."""

    primitive: Callable[["_Primitive", bytes], T]
    array: Callable[[list[T]], T]
    object: Callable[[dict[str, T]], T]


def _read(value: memoryview, dictionary: Sequence[str], form: _Form[T], depth: int) -> T:
    if depth > DEPTH:
        raise _malformed(f"it nests deeper than {DEPTH}")
    match Basic(value[0] & 3):
        case Basic.OBJECT:
            fields: dict[str, T] = {}
            for name, _, item in _members(value, dictionary):
                fields[name] = _read(item, dictionary, form, depth + 1)
            return form.object(fields)
        case Basic.ARRAY:
            elements: list[T] = []
            for item in _items(value, _layout(value)):
                elements.append(_read(item, dictionary, form, depth + 1))
            return form.array(elements)
        case Basic.SHORT_STRING:
            return form.primitive(_PRIMITIVES[Kind.STRING], bytes(value[1:]))
        case Basic.PRIMITIVE:
            primitive = _primitive(value)
            return form.primitive(primitive, bytes(value[1 if primitive.size is not None else 5 :]))


def _members(value: memoryview, dictionary: Sequence[str]) -> list[tuple[str, int, memoryview]]:
    layout = _layout(value)
    ids = _unsigneds(value, layout.ids, layout.count, layout.id_width)
    if any(id >= len(dictionary) for id in ids):
        raise _malformed("an object has a field whose name is not in the dictionary")
    # "It is an error for an object to contain two fields with the same name, whether or not they have distinct IDs"
    if len({dictionary[id] for id in ids}) < len(ids):
        raise _malformed("an object has two fields of one name")
    return [(dictionary[id], id, item) for id, item in zip(ids, _items(value, layout), strict=True)]


def _items(value: memoryview, layout: "_Layout") -> list[memoryview]:
    data = value[layout.data : layout.end]
    items = [_whole(data[at:]) for at in _unsigneds(value, layout.offsets, layout.count + 1, layout.offset_width)[:-1]]
    # Values that lie in one another would let few bytes stand for a value without end.
    if sum(map(len, items)) > len(data):
        raise _malformed("values overlap")
    return items


def _whole(value: bytes | memoryview) -> memoryview:
    """Exactly the bytes of the value that starts here; what follows it belongs to others."""
    view = memoryview(value)
    if not view:
        raise _malformed("it ends where a value should start")
    match Basic(view[0] & 3):
        case Basic.OBJECT | Basic.ARRAY:
            end = _layout(view).end
        case Basic.SHORT_STRING:
            end = 1 + (view[0] >> 2)
        case Basic.PRIMITIVE:
            size = _primitive(view).size
            end = 1 + size if size is not None else 5 + _unsigned(view, 1, 4)
    if end > len(view):
        raise _malformed("it is cut short")
    return view[:end]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the parts of an object or array lie; an array has no ids, so theirs are zero bytes wide."""

    count: int
    id_width: int
    offset_width: int
    ids: int
    offsets: int
    data: int
    end: int


def _layout(value: memoryview) -> _Layout:
    is_object = value[0] & 3 == Basic.OBJECT
    header = value[0] >> 2
    count_width = 4 if header >> (4 if is_object else 2) & 1 else 1
    id_width = (header >> 2 & 3) + 1 if is_object else 0
    offset_width = (header & 3) + 1
    count = _unsigned(value, 1, count_width)
    offsets = 1 + count_width + count * id_width
    data = offsets + (count + 1) * offset_width
    end = data + _unsigned(value, data - offset_width, offset_width)
    return _Layout(count, id_width, offset_width, 1 + count_width, offsets, data, end)


def _primitive(value: memoryview) -> "_Primitive":
    # "new types may be added to the specification without incrementing the version ID"
    if value[0] >> 2 not in _PRIMITIVES:
        raise Unsupported(f"a variant holds a value of the primitive type {value[0] >> 2}, which is not known here")
    return _PRIMITIVES[Kind(value[0] >> 2)]


def _unsigned(view: memoryview, at: int, width: int) -> int:
    if at + width > len(view):
        raise _malformed("it is cut short")
    return int.from_bytes(view[at : at + width], "little")


def _unsigneds(view: memoryview, at: int, count: int, width: int) -> list[int]:
    end = at + count * width
    if end > len(view):
        raise _malformed("it is cut short")
    if width == 1:
        return list(view[at:end])
    return [int.from_bytes(view[i : i + width], "little") for i in range(at, end, width)]


def _malformed(why: str) -> InvalidTable:
    return InvalidTable(f"malformed variant: {why}")


# Primitives: bytes to Python


def _constant(value: bool | None) -> Callable[[bytes], object]:
    return lambda _: value


def _integer(raw: bytes) -> int:
    return int.from_bytes(raw, "little", signed=True)


def _double(raw: bytes) -> float:
    return float(struct.unpack("<d", raw)[0])


def _float(raw: bytes) -> float:
    return float(struct.unpack("<f", raw)[0])


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise _malformed("a string is not UTF-8") from error


def _decimal(raw: bytes) -> Decimal:
    unscaled, scale = _unscaled(raw)
    return Decimal(f"{unscaled}E-{scale}")


_PRECISIONS = {4: 9, 8: 18, 16: 38}  # bytes of the unscaled value: its digits


def _unscaled(raw: bytes) -> tuple[int, int]:
    unscaled, scale = _integer(raw[1:]), raw[0]
    if scale > 38 or abs(unscaled) >= 10 ** _PRECISIONS[len(raw) - 1]:
        raise _malformed("a decimal has more digits than its type allows")
    return unscaled, scale


_EPOCH = date(1970, 1, 1).toordinal()
_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
_WALL_CLOCK = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def _date(raw: bytes) -> date:
    try:
        return date.fromordinal(_EPOCH + _integer(raw))
    except (ValueError, OverflowError) as error:
        raise _out_of_calendar(_date_text(raw)) from error


def _since(epoch: datetime) -> Callable[[bytes], object]:
    def timestamp(raw: bytes) -> datetime:
        try:
            return epoch + _integer(raw) * _MICROSECOND
        except OverflowError as error:
            raise _out_of_calendar(_timestamp_text(_integer(raw) * 1000)) from error

    return timestamp


def _out_of_calendar(text: str) -> Unsupported:
    return Unsupported(f"Python's calendar does not reach {text}", hint="as JSON the variant can be read")


def _time(raw: bytes) -> time:
    micros = _integer(raw)
    if not 0 <= micros < DAY:
        raise _malformed("a time is not within a day")
    return (_WALL_CLOCK + micros * _MICROSECOND).time()


# Primitives: bytes to JSON


def _quoted(text: Callable[[bytes], str]) -> Callable[[bytes], str]:
    return lambda raw: f'"{text(raw)}"'


def _json_string(text: str) -> str:
    # Spark's JSON library spells control characters with capital digits; an escaped backslash is not part of one
    plain = json.dumps(text, ensure_ascii=False)
    return re.sub(r"(\\\\)|\\u00([01][0-9a-f])", lambda m: m[1] or rf"\u00{m[2].upper()}", plain)


def _java_number(number: float, shortest: str) -> str:
    """As Java writes it, given the fewest digits that tell it from its neighbours: it takes two at least."""
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return shortest
    mantissa, exponent = f"{Decimal(shortest):e}".split("e")
    mantissa = mantissa.rstrip("0") if "." in mantissa else f"{mantissa}."
    if mantissa.endswith("."):
        mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}E{int(exponent)}"


def _decimal_text(raw: bytes) -> str:
    unscaled, scale = _unscaled(raw)
    digits = str(abs(unscaled)).zfill(scale + 1)
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :].rstrip("0")
    return ("-" if unscaled < 0 else "") + whole + (f".{fraction}" if fraction else "")


def _date_text(raw: bytes) -> str:
    return _day_text(_integer(raw))


_ERA = 146_097  # days; the calendar repeats every 400 years


def _day_text(days: int) -> str:
    era, day = divmod(_EPOCH - 1 + days, _ERA)
    shown = date.fromordinal(day + 1)
    year = shown.year + 400 * era
    return f"{year:04d}{shown:-%m-%d}" if 0 <= year <= 9999 else f"{year:+05d}{shown:-%m-%d}"


def _timestamp_text(nanos: int) -> str:
    days, of_day = divmod(nanos, DAY * 1000)
    return f"{_day_text(days)} {_clock_text(of_day)}"


def _clock_text(nanos: int) -> str:
    seconds, fraction = divmod(nanos, 1_000_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return clock + f".{fraction:09d}".rstrip("0") if fraction else clock


def _micros_of_day(raw: bytes) -> str:
    _time(raw)
    return _clock_text(_integer(raw) * 1000)


# Primitives: the table of the specification


@dataclass(frozen=True, slots=True)
class _Primitive:
    """How many bytes it takes, None where they say so themselves; what they are in Python and in JSON."""

    size: int | None
    plain: Callable[[bytes], object]
    json: Callable[[bytes], str]


_PRIMITIVES: Mapping[Kind, _Primitive] = {
    Kind.NULL: _Primitive(0, _constant(None), lambda _: "null"),
    Kind.TRUE: _Primitive(0, _constant(True), lambda _: "true"),
    Kind.FALSE: _Primitive(0, _constant(False), lambda _: "false"),
    Kind.INT8: _Primitive(1, _integer, lambda raw: str(_integer(raw))),
    Kind.INT16: _Primitive(2, _integer, lambda raw: str(_integer(raw))),
    Kind.INT32: _Primitive(4, _integer, lambda raw: str(_integer(raw))),
    Kind.INT64: _Primitive(8, _integer, lambda raw: str(_integer(raw))),
    Kind.DOUBLE: _Primitive(8, _double, lambda raw: _java_number(_double(raw), str(_double(raw)))),
    Kind.DECIMAL4: _Primitive(5, _decimal, _decimal_text),
    Kind.DECIMAL8: _Primitive(9, _decimal, _decimal_text),
    Kind.DECIMAL16: _Primitive(17, _decimal, _decimal_text),
    Kind.DATE: _Primitive(4, _date, _quoted(_date_text)),
    Kind.TIMESTAMP: _Primitive(
        8, _since(_INSTANT), _quoted(lambda raw: f"{_timestamp_text(_integer(raw) * 1000)}+00:00")
    ),
    Kind.TIMESTAMP_NTZ: _Primitive(8, _since(_WALL_CLOCK), _quoted(lambda raw: _timestamp_text(_integer(raw) * 1000))),
    Kind.FLOAT: _Primitive(4, _float, lambda raw: _java_number(_float(raw), str(np.float32(_float(raw))))),
    Kind.BINARY: _Primitive(None, lambda raw: raw, _quoted(lambda raw: base64.b64encode(raw).decode())),
    Kind.STRING: _Primitive(None, _text, lambda raw: _json_string(_text(raw))),
    Kind.TIME: _Primitive(8, _time, _quoted(_micros_of_day)),
    Kind.TIMESTAMP_NANOS: _Primitive(
        8, lambda raw: Nanos(_integer(raw), True), _quoted(lambda raw: f"{_timestamp_text(_integer(raw))}+00:00")
    ),
    Kind.TIMESTAMP_NTZ_NANOS: _Primitive(
        8, lambda raw: Nanos(_integer(raw), False), _quoted(lambda raw: _timestamp_text(_integer(raw)))
    ),
    Kind.UUID: _Primitive(16, lambda raw: UUID(bytes=raw), _quoted(lambda raw: str(UUID(bytes=raw)))),
}

_PLAIN: _Form[object] = _Form(lambda primitive, raw: primitive.plain(raw), lambda items: items, lambda fields: fields)
_JSON: _Form[str] = _Form(
    lambda primitive, raw: primitive.json(raw),
    lambda items: f"[{','.join(items)}]",
    lambda fields: "{" + ",".join(f"{_json_string(name)}:{text}" for name, text in fields.items()) + "}",
)


# Writing


def _collect(value: object, into: set[str], depth: int) -> None:
    if depth > DEPTH:
        raise InvalidRequest(f"a variant may not nest deeper than {DEPTH}")
    match value:
        case dict():
            for name, item in value.items():
                if not isinstance(name, str):
                    raise InvalidRequest(f"the fields of a variant are named by strings, not by {name!r}")
                into.add(name)
                _collect(item, into, depth + 1)
        case list() | tuple():
            for item in value:
                _collect(item, into, depth + 1)


def _metadata(dictionary: Sequence[bytes]) -> bytes:
    offsets = list(accumulate(map(len, dictionary), initial=0))
    width = _width(max(offsets[-1], len(dictionary)))
    is_sorted = 1
    header = 1 | is_sorted << 4 | (width - 1) << 6
    return b"".join([bytes([header]), _packed([len(dictionary), *offsets], width), *dictionary])


def _written(value: object, ids: Mapping[str, int]) -> bytes:
    match value:
        case dict():
            fields: list[tuple[int, bytes]] = []
            for name in sorted(value):
                fields.append((ids[name], _written(value[name], ids)))
            return object_of(fields)
        case list() | tuple():
            items: list[bytes] = []
            for item in value:
                items.append(_written(item, ids))
            return array_of(items)
    return _written_primitive(value)


def _written_primitive(value: object) -> bytes:
    match value:
        case None:
            return NULL
        case bool():
            return (Kind.TRUE if value else Kind.FALSE).header
        case int():
            return _written_int(value)
        case float():
            return Kind.DOUBLE.header + struct.pack("<d", value)
        case Decimal():
            return _written_decimal(value)
        case str():
            raw = value.encode()
            return bytes([Basic.SHORT_STRING | len(raw) << 2]) + raw if len(raw) < 64 else _sized(Kind.STRING, raw)
        case bytes():
            return _sized(Kind.BINARY, value)
        case UUID():
            return Kind.UUID.header + value.bytes
        case datetime():
            is_instant = value.utcoffset() is not None
            kind, micros = (
                (Kind.TIMESTAMP, (value - _INSTANT) // _MICROSECOND)
                if is_instant
                else (Kind.TIMESTAMP_NTZ, (value.replace(tzinfo=None) - _WALL_CLOCK) // _MICROSECOND)
            )
            return kind.header + micros.to_bytes(8, "little", signed=True)
        case date():
            return Kind.DATE.header + (value.toordinal() - _EPOCH).to_bytes(4, "little", signed=True)
        case time() if value.tzinfo is None:
            micros = (datetime.combine(_WALL_CLOCK.date(), value) - _WALL_CLOCK) // _MICROSECOND
            return Kind.TIME.header + micros.to_bytes(8, "little", signed=True)
        case Nanos():
            kind = Kind.TIMESTAMP_NANOS if value.is_utc else Kind.TIMESTAMP_NTZ_NANOS
            return kind.header + value.count.to_bytes(8, "little", signed=True)
    raise InvalidRequest(f"a variant cannot hold {value!r}, a {type(value).__name__}")


def _written_int(value: int) -> bytes:
    for kind, size in ((Kind.INT8, 1), (Kind.INT16, 2), (Kind.INT32, 4), (Kind.INT64, 8)):
        if value.bit_length() < size * 8 or value == -1 << size * 8 - 1:
            return kind.header + value.to_bytes(size, "little", signed=True)
    return _written_decimal(Decimal(value))


def _written_decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidRequest(f"a variant cannot hold the decimal {value}")
    scale = max(-exponent, 0)
    zeros = max(exponent, 0) if any(digits) else 0
    for kind, size in ((Kind.DECIMAL4, 4), (Kind.DECIMAL8, 8), (Kind.DECIMAL16, 16)):
        if max(len(digits) + zeros, scale) <= _PRECISIONS[size]:
            unscaled = int("".join(map(str, digits))) * int(10**zeros) * (-1 if sign else 1)
            return kind.header + bytes([scale]) + unscaled.to_bytes(size, "little", signed=True)
    raise InvalidRequest("a variant holds numbers of up to 38 digits; this one has more")


def _sized(kind: Kind, raw: bytes) -> bytes:
    return kind.header + len(raw).to_bytes(4, "little") + raw


def _offsets(items: Iterable[bytes]) -> tuple[int, bytes]:
    offsets = list(accumulate(map(len, items), initial=0))
    width = _width(offsets[-1])
    return width, _packed(offsets, width)


def _width(largest: int) -> int:
    width = max(1, (largest.bit_length() + 7) // 8)
    if width > 4:
        raise OverflowError("an offset takes more than four bytes")
    return width


def _packed(numbers: Sequence[int], width: int) -> bytes:
    if width == 1:
        return bytes(numbers)
    return b"".join(number.to_bytes(width, "little") for number in numbers)
