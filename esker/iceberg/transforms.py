"""What partition value does a column value become?  (Iceberg specification, "Partition Transforms", Appendix B)

A transform is a value of a closed union. It works on whole Arrow arrays; what it cannot be applied to is told by
`misfit` before. A transform that is not in the specification keeps its text, and nothing is computed by it.
"""

import re
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import decimals
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.columns import rows_of
from esker.core.decimals import scaled
from esker.core.types import Array, Decimal, Fixed, Map, Struct, Type
from esker.errors import InvalidRequest, InvalidTable, Unsupported
from esker.iceberg.murmur3 import hash_bytes, hash_longs


@dataclass(frozen=True, slots=True)
class Identity:
    """The value itself."""

    def __str__(self) -> str:
        return "identity"


@dataclass(frozen=True, slots=True)
class Bucket:
    """The value's hash, modulo a number of buckets."""

    count: int

    def __str__(self) -> str:
        return f"bucket[{self.count}]"


@dataclass(frozen=True, slots=True)
class Truncate:
    """The value cut to a width."""

    width: int

    def __str__(self) -> str:
        return f"truncate[{self.width}]"


@dataclass(frozen=True, slots=True)
class Time:
    """Whole units of time since 1970-01-01: `year`, `month`, `day` or `hour`."""

    unit: str

    def __str__(self) -> str:
        return self.unit


@dataclass(frozen=True, slots=True)
class Void:
    """Always null."""

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A transform that the specification does not have; readers ignore it, writers refuse it."""

    text: str

    def __str__(self) -> str:
        return self.text


Transform: TypeAlias = Identity | Bucket | Truncate | Time | Void | Unknown

IDENTITY, VOID = Identity(), Void()
YEAR, MONTH, DAY, HOUR = (Time(unit) for unit in ("year", "month", "day", "hour"))

_NAMED: dict[str, Transform] = {str(named): named for named in (IDENTITY, VOID, YEAR, MONTH, DAY, HOUR)}
_WITH_NUMBER = re.compile(r"(bucket|truncate)\[(\d{1,10})\]", re.IGNORECASE)

_DATES = (t.DATE,)
_TIMESTAMPS = (t.TIMESTAMP, t.TIMESTAMP_NTZ, t.TIMESTAMP_NS, t.TIMESTAMP_NTZ_NS)
_NANOS = (t.TIMESTAMP_NS, t.TIMESTAMP_NTZ_NS)
_HASHED = (t.INTEGER, t.LONG, t.DATE, t.TIME, *_TIMESTAMPS, t.STRING, t.UUID, t.BINARY)
_TRUNCATED = (t.INTEGER, t.LONG, t.STRING, t.BINARY)
_DAY = 86_400_000_000


def parse_transform(text: str) -> Transform:
    """The transform of this name. One that is not known keeps its text; a width that is not positive is refused."""
    if (named := _NAMED.get(text.lower())) is not None:
        return named
    if (match := _WITH_NUMBER.fullmatch(text)) is None:
        return Unknown(text)
    number = int(match[2])
    if not 0 < number < 2**31:
        raise InvalidTable(f"the transform {text} has the parameter {number}, which is to be positive and below 2^31")
    return Bucket(number) if match[1].lower() == "bucket" else Truncate(number)


def misfit(transform: Transform, source: Type) -> str | None:
    """Why the transform cannot be applied to values of a type; None where it can."""
    if _fits(transform, source):
        return None
    return f"the transform {transform} does not take values of the type {source}"


def _fits(transform: Transform, source: Type) -> bool:
    match transform:
        case Void():
            return True
        case Identity():
            return not isinstance(source, Struct | Array | Map) and source not in (t.VARIANT, t.VOID)
        case Bucket():
            return isinstance(source, Decimal | Fixed) or source in _HASHED
        case Truncate():
            return isinstance(source, Decimal) or source in _TRUNCATED
        case Time("hour"):
            return source in _TIMESTAMPS
        case Time():
            return source in (*_DATES, *_TIMESTAMPS)
        case Unknown():
            return False
    assert_never(transform)


def result_type(transform: Transform, source: Type) -> Type:
    """The type of the partition values."""
    match transform:
        case Identity() | Truncate() | Void():
            return source
        case Bucket():
            return t.INTEGER
        case Time("day"):
            return t.DATE  # as many bytes as the `int` that older documents ask for
        case Time():
            return t.INTEGER
        case Unknown():
            return t.STRING
    assert_never(transform)


def transformed(transform: Transform, values: pa.Array, source: Type) -> pa.Array:
    """The partition value of each value; null for null."""
    if (problem := misfit(transform, source)) is not None:
        raise Unsupported(problem) if isinstance(transform, Unknown) else InvalidRequest(problem)
    match transform:
        case Identity():
            return values
        case Void():
            return pa.nulls(len(values), to_arrow(source))
        case Bucket(count):
            return _typed((hashes(values, source) & np.int32(0x7FFFFFFF)) % np.int32(count), values, t.INTEGER)
        case Truncate(width):
            return _truncated(values, width, source)
        case Time(unit):
            return _typed(_since_epoch(values, unit, source), values, result_type(transform, source))
        case Unknown():
            raise AssertionError(transform)
    assert_never(transform)


def hashes(values: pa.Array, source: Type) -> npt.NDArray[np.int32]:
    """The hash of each value; anything for null.  (Appendix B)"""
    if isinstance(source, Decimal):
        # "using the minimum number of bytes required to hold the unscaled value as a two's complement big-endian"
        unique = values.dictionary_encode()
        bodies = [minimal_bytes(unscaled(value, source)) for value in unique.dictionary.to_pylist()]
        codes = pc.fill_null(unique.indices, 0).to_numpy(zero_copy_only=False)
        return _hash_stretches(pa.array(bodies, pa.binary()))[codes] if bodies else np.zeros(len(values), np.int32)
    if source in (t.STRING, t.BINARY, t.UUID) or isinstance(source, Fixed):
        return _hash_stretches(values.cast(pa.binary()))
    # ns timestamps are reduced to micros first
    return hash_longs(_numbers(values) // (1000 if source in _NANOS else 1))


def _hash_stretches(values: pa.Array) -> npt.NDArray[np.int32]:
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    body = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return hash_bytes(body, ends[:-1], np.diff(ends))


def _truncated(values: pa.Array, width: int, source: Type) -> pa.Array:
    match source:
        case t.STRING:
            return pc.utf8_slice_codeunits(values, 0, width)
        case t.BINARY:
            return pc.binary_slice(values, 0, width)
        case Decimal():
            unique = values.dictionary_encode()
            cut = [None if v is None else _cut(v, width, source) for v in unique.dictionary.to_pylist()]
            return pa.array(cut, values.type).take(unique.indices)
    numbers = _numbers(values)
    return _typed(numbers - numbers % width, values, source)  # NumPy's remainder is never negative


def _cut(value: Number, width: int, kind: Decimal) -> Number:
    whole = unscaled(value, kind)
    return scaled(whole - whole % width, kind.scale)


def _since_epoch(values: pa.Array, unit: str, source: Type) -> npt.NDArray[np.int64]:
    numbers = _numbers(values)
    micros = numbers // 1000 if source in _NANOS else numbers
    if unit == "hour":
        return micros // (_DAY // 24)
    days = numbers if source == t.DATE else micros // _DAY
    return days if unit == "day" else days.astype("datetime64[D]").astype(_CALENDAR[unit]).astype(np.int64)


_CALENDAR = {"year": "datetime64[Y]", "month": "datetime64[M]"}


def _numbers(values: pa.Array) -> npt.NDArray[np.int64]:
    """Whole numbers, whatever they count; 0 for null."""
    plain = values.view(pa.int32()) if values.type.bit_width == 32 else values.view(pa.int64())
    return rows_of(pc.fill_null(plain, 0))


def _typed(numbers: npt.NDArray[np.int64] | npt.NDArray[np.int32], values: pa.Array, kind: Type) -> pa.Array:
    """The numbers in a type, null where the values are."""
    wanted = to_arrow(kind)
    plain = np.int32 if wanted.bit_width == 32 else np.int64
    missing = pc.is_null(values).to_numpy(zero_copy_only=False) if values.null_count else None
    return pa.array(numbers.astype(plain), mask=missing).view(wanted)


def unscaled(value: Number, kind: Decimal) -> int:
    """A decimal number without its point."""
    return decimals.unscaled(value, kind.scale)


def minimal_bytes(number: int) -> bytes:
    """The least bytes that hold a number as big-endian two's complement."""
    size = (number + 1 if number < 0 else number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)
