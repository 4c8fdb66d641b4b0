"""Which statistics does a written file get?  (spec, "Manifests": `data_file`; table properties `write.metadata.metrics.*`)

From the file's own Parquet footer. How much of it is kept is for each column to say: nothing, counts, bounds cut to a length, or
bounds in full.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from esker.core import types as t
from esker.core.footers import Bound, ColumnBounds, FileStatistics
from esker.core.predicate import Path
from esker.core.types import Decimal, Fixed, Geography, Geometry, Struct, Type, leaves
from esker.errors import InvalidRequest
from esker.iceberg.bounds import to_bytes
from esker.iceberg.data_files import Metrics

DEFAULT = "write.metadata.metrics.default"
COLUMN = "write.metadata.metrics.column."
MOST_COLUMNS = "write.metadata.metrics.max-inferred-column-defaults"
_MOST_COLUMNS = 100
_TRUNCATE = re.compile(r"truncate\((\d{1,9})\)")
_HIGHEST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class MetricsMode:
    """What is kept of a column: its counts, and bounds of at most `length` characters or bytes; 0 for none, None for any."""

    has_counts: bool
    length: int | None


NONE, COUNTS, FULL = MetricsMode(False, 0), MetricsMode(True, 0), MetricsMode(True, None)
USUAL = MetricsMode(True, 16)


def parse_mode(text: str) -> MetricsMode:
    """The mode of a property's value. Raises `InvalidRequest` where it is none."""
    named = {"none": NONE, "counts": COUNTS, "full": FULL}.get(text.strip().lower())
    if named is not None:
        return named
    match = _TRUNCATE.fullmatch(text.strip().lower())
    if match is None or not int(match[1]):
        raise InvalidRequest(f"{text!r} is no metrics mode", hint="There are none, counts, truncate(16) and full.")
    return MetricsMode(True, int(match[1]))


def modes(schema: Struct, properties: Mapping[str, str]) -> Mapping[Path, MetricsMode]:
    """The mode of each column that is not a struct. Of a table with very many, only the first have statistics by default."""
    default = parse_mode(properties[DEFAULT]) if DEFAULT in properties else None
    asked = properties.get(MOST_COLUMNS, "")
    most = int(asked) if asked.isdecimal() else _MOST_COLUMNS
    found: dict[Path, MetricsMode] = {}
    for at, (path, _) in enumerate(leaves(schema)):
        own = properties.get(COLUMN + ".".join(path))
        found[path] = parse_mode(own) if own is not None else default or (USUAL if at < most else NONE)
    return found


def metrics(found: FileStatistics, schema: Struct, wanted: Mapping[Path, MetricsMode]) -> Metrics:
    """The metrics of a file with these columns."""
    sizes: dict[int, int] = {}
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    nans: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for path, leaf in leaves(schema):
        bounds, mode = found.columns.get(path), wanted.get(path, NONE)
        if leaf.id is None or bounds is None or not mode.has_counts:
            continue
        values[leaf.id] = found.rows
        for into, number in ((sizes, bounds.size), (nulls, bounds.nulls), (nans, bounds.nans)):
            if number is not None:
                into[leaf.id] = number
        low, high = ends(bounds, leaf.type, mode.length)
        if low is not None and high is not None:
            lower[leaf.id], upper[leaf.id] = to_bytes(low, leaf.type), to_bytes(high, leaf.type)
    return Metrics(sizes, values, nulls, nans, lower, upper)


def ends(bounds: ColumnBounds, kind: Type, length: int | None) -> tuple[Bound | None, Bound | None]:
    """Both bounds, cut to a length; None for one that cannot be said."""
    low, high = _plain(bounds.lower, kind, bounds.unit), _plain(bounds.upper, kind, bounds.unit)
    if low is None or high is None or length == 0:
        return None, None
    if length is None or not isinstance(low, str | bytes) or isinstance(kind, Fixed) or kind == t.UUID:
        return low, high
    return low[:length], _cut_up(high, length)


def _plain(value: Bound | None, kind: Type, unit: str | None) -> Bound | None:
    """The value in the type's own units; None where it is of another type."""
    match kind, value:
        case t.BOOLEAN, bool():
            return value
        case (t.INTEGER | t.LONG | t.DATE | t.TIME), int() if not isinstance(value, bool):
            return value
        case (t.TIMESTAMP | t.TIMESTAMP_NTZ | t.TIMESTAMP_NS | t.TIMESTAMP_NTZ_NS), int():
            return _in_units(value, "nanos" if kind in (t.TIMESTAMP_NS, t.TIMESTAMP_NTZ_NS) else "micros", unit)
        case (t.FLOAT | t.DOUBLE), float():
            return value
        case t.STRING, str():
            return value
        case (t.BINARY | t.UUID | Fixed()), bytes():
            return value
        case Decimal(), _ if value is not None and not isinstance(value, str | bytes | float | bool | int):
            return value
        case (Geometry() | Geography()), _:
            return None  # bounds of shapes are points, which the footer does not have
    return None


_PER_SECOND = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}


def _in_units(value: int, wanted: str, unit: str | None) -> int | None:
    if unit is None:
        return None
    scaled, rest = divmod(value * _PER_SECOND[wanted], _PER_SECOND[unit])
    return scaled if not rest else None


def _cut_up(value: Bound, length: int) -> Bound | None:
    """A value of at most this length that is not less; None where there is none."""
    match value:
        case str() if len(value) > length:
            return _next_text(value[:length])
        case bytes() if len(value) > length:
            return _next_bytes(value[:length])
    return value


def _next_text(text: str) -> str | None:
    for at in range(len(text) - 1, -1, -1):
        if text[at] != _HIGHEST:
            following = ord(text[at]) + 1
            return text[:at] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)
    return None


def _next_bytes(data: bytes) -> bytes | None:
    for at in range(len(data) - 1, -1, -1):
        if data[at] != 0xFF:
            return data[:at] + bytes([data[at] + 1])
    return None
