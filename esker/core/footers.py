"""What do a Parquet footer's statistics say of a file?

Bounds and null counts of the columns that no list is wrapped around, over all row groups, as plain values: a date is its
number of days since 1970, a time or timestamp its number of units, because files hold dates that Python cannot say.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal as Number
from math import isnan
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from esker.core.hybrid_calendar import hybrid_calendar

Path: TypeAlias = tuple[str, ...]
Bound: TypeAlias = bool | int | float | Number | str | bytes


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Least and greatest value, None where unknown or where there is no value; and how many are null, None where unknown."""

    lower: Bound | None
    upper: Bound | None
    nulls: int | None
    unit: str | None = None
    """Of a timestamp: `millis`, `micros` or `nanos`."""
    size: int | None = None
    """How many bytes the column takes in the file."""
    nans: int | None = None
    """How many values are NaN, None where unknown."""


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The number of rows, and the bounds of columns by their paths in the file."""

    rows: int
    columns: Mapping[Path, ColumnBounds] = field(default_factory=dict, hash=False)
    row_groups: tuple[int, ...] = ()
    """Where the row groups begin."""


def file_statistics(footer: pq.FileMetaData) -> FileStatistics:
    """The statistics of a whole file; a column that one of its row groups says nothing of has no bounds."""
    leaves = enumerate(_leaves(footer.schema.to_arrow_schema()))
    columns = {path: _bounds(footer, i) for i, path in leaves if path is not None}
    return FileStatistics(footer.num_rows, columns, tuple(_starts(footer)))


def _starts(footer: pq.FileMetaData) -> Iterator[int]:
    for i in range(footer.num_row_groups if footer.num_columns else 0):
        first = footer.row_group(i).column(0)
        yield first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset


def _leaves(members: Iterable[pa.Field], above: Path = ()) -> Iterator[Path | None]:
    """A path for each column of the file, in the file's order; None for what lies in a list or a map.

    Not by the columns' own paths: in those, a dot inside a name is not to be told from one between names.
    """
    for member in members:
        path = (*above, member.name)
        if pa.types.is_struct(member.type):
            yield from _leaves(member.type, path)
        elif pa.types.is_nested(member.type):
            yield from (None for _ in _leaves(_inner(member.type)))
        else:
            yield path


def _inner(kind: pa.DataType) -> list[pa.Field]:
    return [kind.key_field, kind.item_field] if pa.types.is_map(kind) else [kind.value_field]


def _bounds(footer: pq.FileMetaData, column: int) -> ColumnBounds:
    chunks = [footer.row_group(i).column(column) for i in range(footer.num_row_groups)]
    unit = _unit(footer.schema.column(column))
    is_counted = footer.schema.column(column).logical_type.type in ("DATE", "TIME", "TIMESTAMP")
    nulls: int | None = 0
    lows: list[Bound] = []
    highs: list[Bound] = []
    # A file that counts days by another calendar has another order of them; what it bounds is not looked into.
    has_bounds = not (is_counted and hybrid_calendar(footer.metadata or {}))
    for chunk in chunks:
        found = chunk.statistics if chunk.is_stats_set else None
        counted = found.null_count if found is not None and found.has_null_count else None
        nulls = None if nulls is None or counted is None else nulls + counted
        if counted == chunk.num_values:
            continue
        if found is None or not found.has_min_max:
            has_bounds = False
            continue
        ends = _ends(found, is_raw=is_counted)
        has_bounds = has_bounds and not any(end is None or _is_nan(end) for end in ends)
        lows += [ends[0]] if ends[0] is not None else []
        highs += [ends[1]] if ends[1] is not None else []
    size = sum(chunk.total_compressed_size for chunk in chunks)
    if not has_bounds or not lows:
        return ColumnBounds(None, None, nulls, unit, size)
    return ColumnBounds(min(lows), max(highs), nulls, unit, size)


def _ends(found: pq.Statistics, is_raw: bool) -> tuple[Bound | None, Bound | None]:
    try:
        return (found.min_raw, found.max_raw) if is_raw else (found.min, found.max)
    except UnicodeDecodeError:  # engines put any bytes into a text
        return None, None


def _is_nan(value: Bound) -> bool:
    return isinstance(value, float) and isnan(value)


def _unit(column: pq.ColumnSchema) -> str | None:
    if column.logical_type.type != "TIMESTAMP":
        return None
    return next(unit for text, unit in _UNITS.items() if text in str(column.logical_type))


_UNITS = {"milliseconds": "millis", "microseconds": "micros", "nanoseconds": "nanos"}

