"""Which statistics does a written file get?  (PROTOCOL.md, "Per-file Statistics")

From the file's own Parquet footer, so that no row is looked at twice. Bounds are exact where the types allow it: texts are cut
at a prefix and timestamps at milliseconds, as the protocol has it; what JSON cannot say has none.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal as Number
from math import isfinite
from typing import TypeAlias

import orjson

from esker.core import calendar
from esker.core import types as t
from esker.core.footers import Bound, ColumnBounds, FileStatistics
from esker.core.types import Decimal, Struct, Type, leaves
from esker.delta.column_mapping import Mode, physical_path

PREFIX = 32  # characters of a text
_HIGHEST = "\U0010ffff"
_MICROS = {"millis": 1000, "micros": 1, "nanos": None}
_Stated: TypeAlias = str | int | float | orjson.Fragment
_Tree: TypeAlias = dict[str, "_Stated | _Tree"]


def stats_json(found: FileStatistics, schema: Struct, mapping: Mode, indexed: Iterable[tuple[str, ...]]) -> str:
    """The `stats` of an `add`; `indexed` are the paths, by visible names, of the columns that get bounds and null counts."""
    wanted = set(indexed)
    low: _Tree = {}
    high: _Tree = {}
    nulls: _Tree = {}
    for path, leaf in leaves(schema):
        stored = physical_path(schema, path, mapping)
        bounds = found.columns.get(stored)
        if path not in wanted or bounds is None:
            continue
        if bounds.nulls is not None:
            _put(nulls, stored, bounds.nulls)
        ends = _ends(bounds, leaf.type)
        if ends is not None:
            _put(low, stored, ends[0])
            _put(high, stored, ends[1])
    document = {"numRecords": found.rows, "minValues": low, "maxValues": high, "nullCount": nulls, "tightBounds": True}
    return orjson.dumps(document).decode()


def _put(tree: _Tree, path: tuple[str, ...], value: _Stated) -> None:
    for name in path[:-1]:
        below = tree.setdefault(name, {})
        assert isinstance(below, dict)
        tree = below
    tree[path[-1]] = value


def _ends(bounds: ColumnBounds, kind: Type) -> tuple[_Stated, _Stated] | None:
    """Both bounds as JSON has them; None unless both can be said."""
    low, high = bounds.lower, bounds.upper
    if low is None or high is None:
        return None
    first, last = _lower(low, kind, bounds.unit), _upper(high, kind, bounds.unit)
    return None if first is None or last is None else (first, last)


def _lower(value: Bound, kind: Type, unit: str | None) -> _Stated | None:
    return value[:PREFIX] if isinstance(value, str) else _plain(value, kind, unit)


def _upper(value: Bound, kind: Type, unit: str | None) -> _Stated | None:
    if not isinstance(value, str) or len(value) <= PREFIX:
        return _plain(value, kind, unit)
    # No longer text with this beginning is greater, unless it goes on with the highest character itself.
    end = next((i for i in range(PREFIX, len(value)) if value[i] != _HIGHEST), None)
    return None if end is None else value[:end] + _HIGHEST


def _plain(value: Bound, kind: Type, unit: str | None) -> _Stated | None:
    match value:
        case bool() | bytes():
            return None
        case int() if kind == t.DATE:
            return calendar.date_text(value)
        case int() if kind in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
            return _moment(value, unit, "Z" if kind == t.TIMESTAMP else "")
        case int() if kind in t.INTEGRAL:
            return value
        case float() if isfinite(value):
            return value
        case Number() if isinstance(kind, Decimal):
            return orjson.Fragment(format(value, "f"))  # every digit, which a float could not hold
        case str() if kind == t.STRING:
            return value
    return None


def _moment(value: int, unit: str | None, zone: str) -> str | None:
    # "Timestamp columns are truncated down to milliseconds."
    per_unit = _MICROS.get(unit or "")
    text = None if per_unit is None else calendar.millis_text(value * per_unit // 1000)
    return None if text is None else text + zone


def without_bounds(found: FileStatistics, paths: Iterable[tuple[str, ...]]) -> FileStatistics:
    """The statistics with nothing said of some columns but how many of their values are null."""
    hidden: Mapping[tuple[str, ...], ColumnBounds] = {
        path: ColumnBounds(None, None, found.columns[path].nulls) for path in paths if path in found.columns
    }
    return FileStatistics(found.rows, {**found.columns, **hidden})
