"""What does a partition value say about the column that it was made of?  (spec, "Scan Planning": inclusive and strict projection)

Projecting a filter through a transform comes to the same as taking the partition value for bounds of the column: a file whose day
is 2026-01-02 has timestamps from that day's first microsecond to its last. Bounds serve both projections, the inclusive and the
strict, and they meet those that the file's statistics have. Only a bucket says nothing of order; it says which values cannot be
there.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.columns import Mask, mask_of
from esker.core.decimals import scaled, unscaled
from esker.core.filtering import comparable
from esker.core.predicate import Value
from esker.core.types import Decimal, Type
from esker.iceberg.transforms import Bucket, Identity, Time, Transform, Truncate, Unknown, Void, transformed

Range: TypeAlias = tuple[pa.Array, pa.Array]

_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}


def source_range(transform: Transform, lower: pa.Array, upper: pa.Array, source: Type) -> Range | None:
    """The least and the greatest value that partition values from `lower` to `upper` may come from; None: any."""
    match transform:
        case Identity():
            return lower, upper
        case Truncate(width):
            return _truncated_range(lower, upper, width, source)
        case Time(unit):
            return _since(lower, unit, source, is_last=False), _since(upper, unit, source, is_last=True)
        case Bucket() | Void() | Unknown():
            return None
    assert_never(transform)


def is_telling_null(transform: Transform) -> bool:
    """Whether a partition value is null exactly where the column is. "All transforms must return null for a null input." """
    return not isinstance(transform, Void | Unknown)


def bucket_holds(count: int, buckets: pa.Array, source: Type) -> Callable[[Sequence[Value]], Mask]:
    """Which files may hold one of some values, by the buckets that they lie in."""

    def may_hold(values: Sequence[Value]) -> Mask:
        everything = np.ones(len(buckets), dtype=bool)
        try:
            _, literals = comparable(pa.nulls(0, to_arrow(source)), list(values))
        except TypeError:
            return everything
        wanted = transformed(Bucket(count), literals, source)
        return mask_of(pc.or_(pc.is_null(buckets), pc.is_in(buckets, value_set=wanted.cast(buckets.type))))

    return may_hold


def _truncated_range(lower: pa.Array, upper: pa.Array, width: int, source: Type) -> Range | None:
    match source:
        case t.STRING | t.BINARY:
            return lower, _each(upper, lambda text: _last_with_prefix(text, width))
        case Decimal():
            return lower, _each(upper, lambda number: _raised(number, width - 1, source))
        case t.INTEGER | t.LONG:
            highest = int(np.iinfo(np.int32 if source == t.INTEGER else np.int64).max)
            return _unwrapped(lower, upper, width, source), _each(upper, lambda number: min(number + width - 1, highest))
    return None


def _unwrapped(lower: pa.Array, upper: pa.Array, width: int, source: Type) -> pa.Array:
    """The least numbers that were cut to these.

    What is cut off below the lowest number comes out at the upper end, as with any arithmetic of a width; and what is a long now
    may have been an int when it was cut.
    """
    for bits in (np.int32,) if source == t.INTEGER else (np.int64, np.int32):
        lowest, highest = int(np.iinfo(bits).min), int(np.iinfo(bits).max)
        is_wrapped = pc.and_(
            pc.greater(upper, pa.scalar(highest - width, upper.type)), pc.less_equal(lower, pa.scalar(highest, lower.type))
        )
        lower = pc.if_else(is_wrapped, pc.min_element_wise(lower, pa.scalar(lowest, lower.type)), lower)
    return lower


def _each(values: pa.Array, change: Callable[..., object]) -> pa.Array:
    """The change of each value, which is made once for all its likes."""
    encoded = values.dictionary_encode()
    changed = [None if value is None else change(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(changed, values.type).take(encoded.indices)


def _last_with_prefix(prefix: str | bytes, width: int) -> str | bytes | None:
    """No value that was cut to this prefix exceeds it; None where there is no such bound."""
    if len(prefix) < width:
        return prefix  # nothing was cut off
    if isinstance(prefix, bytes):
        head = prefix.rstrip(b"\xff")
        return head[:-1] + bytes([head[-1] + 1]) if head else None
    text = prefix.rstrip("\U0010ffff")
    if not text:
        return None
    following = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)


def _raised(number: Number, steps: int, kind: Decimal) -> Number | None:
    raised = unscaled(number, kind.scale) + steps
    return scaled(raised, kind.scale) if abs(raised) < 10**kind.precision else None


def _since(values: pa.Array, unit: str, source: Type, *, is_last: bool) -> pa.Array:
    """The first or last moment of a unit of time. Where it cannot be said in the column's type there is no bound."""
    counts, known = _counts(values)
    # Writers of old cut times before 1970 off towards it, so that what they wrote as unit n may be of unit n - 1.
    first = counts + 1 if is_last else np.where(counts <= 0, counts - 1, counts)
    kind = to_arrow(source)
    finest = "D" if pa.types.is_date(kind) else kind.unit
    with np.errstate(over="ignore"):
        moments = first.astype(f"datetime64[{_UNITS[unit]}]").astype(f"datetime64[{finest}]")
        known &= moments.astype(f"datetime64[{_UNITS[unit]}]").astype(np.int64) == first  # or the number was too large
    numbers = moments.astype(np.int64) - is_last
    if finest == "D":
        known &= np.abs(numbers) < 2**31
        numbers = np.where(known, numbers, 0)
        return pa.array(numbers.astype(np.int32), pa.int32(), mask=~known).view(kind)
    return pa.array(numbers, pa.int64(), mask=~known).view(kind)


def _counts(values: pa.Array) -> tuple[npt.NDArray[np.int64], Mask]:
    numbers = values.view(pa.int32()) if values.type.bit_width == 32 else values.view(pa.int64())
    known = mask_of(pc.is_valid(values))
    filled: npt.NDArray[np.int64] = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return filled, known.copy()
