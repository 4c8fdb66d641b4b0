"""What do a file's statistics promise about its rows?  (PROTOCOL.md, "Per-file Statistics")

The statistics of all live files, column by column and only for the columns asked for, as bounds that hold: texts cut off at a
prefix, timestamps cut to milliseconds and decimals rounded to floats are widened again, null counts are trusted only where wide
bounds allow it, and what cannot be understood is unknown.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as Number
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from esker.core import calendar
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.columns import filled, mask_of, scalar
from esker.core.decimals import scaled
from esker.core.skipping import ColumnStats
from esker.core.types import Decimal, Type
from esker.delta.replay import LiveFiles

Path = tuple[str, ...]

TRUNCATED_AT = 32  # bytes: writers cut at 32 characters or UTF-16 units, and neither has fewer bytes
_RECORDS = ("numRecords",)
_ZERO = scalar(0, pa.int64())
_MILLISECOND = 999  # microseconds that cutting to milliseconds may have taken away
# Until 1972 the clocks of some zones were off by seconds too, as -07:52:58 before 1884, and some writers leave them out.
_SECONDS = 59_000_000
_EVEN_OFFSETS = scalar(calendar.micros("1973-01-01"), pa.int64())
# So many digits of a decimal come through a float unharmed, and it is never shown with more than so many.
_FLOAT_DIGITS, _SHOWN_DIGITS = 15, 17
_WITH_BOUNDS = frozenset(
    {t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.STRING, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ}
)


class FileStatistics:
    """The statistics of the live files by physical column path; what was parsed once is kept."""

    def __init__(self, files: LiveFiles):
        self._files = files
        self._leaves: dict[Path, pa.Array] = {}

    @property
    def count(self) -> int:
        return len(self._files)

    @property
    def is_recorded(self) -> bool:
        """Whether any file has statistics at all."""
        texts = self._files.table.column("stats")
        return texts.null_count < len(texts) or any(not isinstance(piece, int) for piece in self._files.parsed)

    def num_records(self) -> pa.Array:
        """The rows in each data file, dead ones counted; null where the statistics do not say."""
        return self._leaf(_RECORDS, t.LONG)

    def column(self, path: Path, kind: Type) -> ColumnStats:
        """Bounds that hold for every row of a file, and whether it can have nulls and values."""
        low, high, nulls = self.bounds(path, kind)
        has_none = mask_of(filled(pc.equal(nulls, _ZERO), False))
        # The rule for wide bounds, which is right for tight ones too: only 0 and numRecords say anything.
        is_all = mask_of(filled(pc.equal(nulls, self.num_records()), False))
        empty = mask_of(filled(pc.equal(self.num_records(), _ZERO), False))
        low, high = _lowered(low, kind), _raised(high, kind)
        return ColumnStats(low, high, may_be_null=~has_none & ~empty, may_have_value=~is_all & ~empty)

    def bounds(self, path: Path, kind: Type) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Lowest and highest value and null count as they are recorded."""
        self.load({path: kind})
        nothing = pa.nulls(self.count, to_arrow(kind))
        low, high = (self._leaves.get((part, *path), nothing) for part in ("minValues", "maxValues"))
        return low, high, self._leaves["nullCount", *path]

    def recorded(self, wanted: Mapping[Path, Type]) -> Mapping[Path, pa.Array]:
        """These members of the statistics as they are recorded, by their own paths, read in one pass."""
        self._leaves |= self._parsed({path: kind for path, kind in wanted.items() if path not in self._leaves})
        return {path: self._leaves[path] for path in wanted}

    def load(self, columns: Mapping[Path, Type]) -> None:
        """Parse what is needed for these columns, all in one pass over the texts."""
        wanted: dict[Path, Type] = {_RECORDS: t.LONG}
        for path, kind in columns.items():
            wanted["nullCount", *path] = t.LONG
            if kind in _WITH_BOUNDS or isinstance(kind, Decimal):
                wanted["minValues", *path] = wanted["maxValues", *path] = kind
        missing = {path: kind for path, kind in wanted.items() if path not in self._leaves}
        if missing:
            self._leaves |= self._parsed(missing)

    def _leaf(self, path: Path, kind: Type) -> pa.Array:
        if path not in self._leaves:
            self._leaves |= self._parsed({path: kind})
        return self._leaves[path]

    def _parsed(self, wanted: Mapping[Path, Type]) -> dict[Path, pa.Array]:
        """One value for each file and leaf, from wherever the file's statistics are kept."""
        pieces: dict[Path, list[pa.Array]] = {path: [pa.nulls(0, to_arrow(kind))] for path, kind in wanted.items()}
        at = 0
        for piece in self._files.parsed:
            if isinstance(piece, int):
                found = _from_json(self._files.table.column("stats").slice(at, piece).combine_chunks(), wanted)
                at += piece
            else:
                found = {path: _from_struct(piece, path, kind) for path, kind in wanted.items()}
                at += len(piece)
            for path, values in found.items():
                pieces[path].append(values)
        return {path: pa.concat_arrays(parts) for path, parts in pieces.items()}


def _lowered(low: pa.Array, kind: Type) -> pa.Array:
    if isinstance(kind, Decimal):
        return _unrounded(low, kind, pc.subtract)
    return _moved(low, -_SECONDS, 0) if kind == t.TIMESTAMP else low


def _raised(high: pa.Array, kind: Type) -> pa.Array:
    if isinstance(kind, Decimal):
        return _unrounded(high, kind, pc.add)
    if kind == t.STRING:
        # 0xFF follows every byte of UTF-8, so this is above all texts that begin with a cut-off maximum. It is not UTF-8
        # itself, which comparing bytes does not mind.
        raw = high.cast(pa.binary())
        cut = pc.greater_equal(pc.binary_length(raw), scalar(TRUNCATED_AT, pa.int32()))
        return pc.if_else(cut, pc.binary_join_element_wise(raw, b"\xff", b""), raw).view(pa.string())
    if kind == t.TIMESTAMP:
        return _moved(high, _SECONDS + _MILLISECOND, _MILLISECOND)
    return _moved(high, _MILLISECOND, _MILLISECOND) if kind == t.TIMESTAMP_NTZ else high


def _unrounded(bound: pa.Array, kind: Decimal, away: Callable[[pa.Array, pa.Array], pa.Array]) -> pa.Array:
    """Decimals moved by what a float may have taken away, where a float says them: deltalake, as of 1.6, rounds them to one."""
    if kind.precision <= _FLOAT_DIGITS or not len(bound):
        return bound
    width = pa.decimal256(50, kind.scale)
    exact = bound.cast(width)
    is_long = filled(pc.greater_equal(pc.abs(exact), scalar(scaled(10**_FLOAT_DIGITS, kind.scale), width)), False)
    if not mask_of(is_long).any():
        return bound
    digits = pc.ascii_trim(pc.replace_substring_regex(exact.cast(pa.string()), r"E.*|[-.]", ""), "0")
    is_float = pc.and_(is_long, filled(pc.less_equal(pc.binary_length(digits), _SHOWN_DIGITS), False))
    # 2**-50 is some steps of a float: it may have been rounded more than once.
    step = pc.add(pc.multiply(pc.abs(bound.cast(pa.float64())), 2.0**-50).cast(width), scalar(scaled(1, kind.scale), width))
    moved = away(exact, pc.if_else(is_float, step, scalar(Number(0), width)))
    most = scaled(10**kind.precision - 1, kind.scale)
    ends = [scalar(end, moved.type) for end in (-most, most)]
    moved = pc.min_element_wise(pc.max_element_wise(moved, ends[0], skip_nulls=False), ends[1], skip_nulls=False)
    return pc.if_else(is_float, moved.cast(bound.type), bound)


def _moved(bound: pa.Array, old: int, recent: int) -> pa.Array:
    """Timestamps moved by microseconds, the old ones and the others; what would run over stays."""
    raw = bound.view(pa.int64())
    by = pc.if_else(pc.less(raw, _EVEN_OFFSETS), scalar(old, pa.int64()), scalar(recent, pa.int64()))
    moved = pc.add(raw, by)
    is_right = pc.less_equal(moved, raw) if old < 0 else pc.greater_equal(moved, raw)
    return pc.if_else(is_right, moved, raw).view(bound.type)


def _from_struct(piece: pa.Array, path: Path, kind: Type) -> pa.Array:
    node = piece
    for name in path:
        if not pa.types.is_struct(node.type) or node.type.get_field_index(name) < 0:
            return pa.nulls(len(piece), to_arrow(kind))
        node = pc.struct_field(node, name)
    if node.type == to_arrow(kind):
        return node
    try:
        if pa.types.is_string(node.type) and kind != t.STRING:
            return _values(node.to_pylist(), kind)
        if kind in (t.TIMESTAMP, t.TIMESTAMP_NTZ) and pa.types.is_timestamp(node.type):
            return node.cast(pa.timestamp("us", node.type.tz), safe=False).view(to_arrow(kind))
        return node.cast(to_arrow(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(piece), to_arrow(kind))


def _from_json(texts: pa.Array, wanted: Mapping[Path, Type]) -> dict[Path, pa.Array]:
    """The fast way is Arrow's JSON reader on all texts and leaves at once; what it cannot take is parsed one by one."""
    if texts.null_count == len(texts):
        return {path: pa.nulls(len(texts), to_arrow(kind)) for path, kind in wanted.items()}
    whole = _columns_of_json(texts, wanted)
    found: dict[Path, pa.Array] = {}
    for path, kind in wanted.items():
        fast = (_columns_of_json(texts, {path: kind}) if whole is None and len(wanted) > 1 else whole) or {}
        if path not in fast:
            found[path] = _values([_at(text, path) for text in texts.to_pylist()], kind)
        else:
            found[path] = _values_by_text(fast[path], kind) if kind in _AS_TEXT else fast[path]
    return found


def _columns_of_json(texts: pa.Array, wanted: Mapping[Path, Type]) -> dict[Path, pa.Array] | None:
    known = pc.fill_null(texts, scalar("{}", pa.string()))
    if not known[0].as_py().startswith("{"):
        return None  # Arrow's reader crashes, as of version 26, on a text of nothing but `null`
    lines = pc.binary_join_element_wise(known, scalar("", pa.string()), scalar("\n", pa.string()))
    data = b"".join(_value_bytes(lines))
    options = pa.json.ParseOptions(explicit_schema=_json_schema(wanted), unexpected_field_behavior="ignore")
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    try:
        table = pa.json.read_json(pa.BufferReader(data), parse_options=options, read_options=reading)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(texts):
        return None  # a text that is not exactly one object
    return {path: _descended(table.column(path[0]).combine_chunks(), path[1:]) for path in wanted}


def _descended(node: pa.Array, path: Path) -> pa.Array:
    for name in path:
        node = pc.struct_field(node, name)
    return node


def _json_schema(wanted: Mapping[Path, Type]) -> pa.Schema:
    """A schema that has just these leaves."""
    tree: dict[str, Any] = {}
    for path, kind in wanted.items():
        node = tree
        for name in path[:-1]:
            node = node.setdefault(name, {})
        node[path[-1]] = pa.string() if kind in _AS_TEXT else to_arrow(kind)
    return pa.schema(list(_json_struct(tree)))


def _json_struct(tree: Mapping[str, Any]) -> pa.DataType:
    return pa.struct([(name, _json_struct(kind) if isinstance(kind, dict) else kind) for name, kind in tree.items()])


def _value_bytes(lines: pa.Array | pa.ChunkedArray) -> Sequence[memoryview]:
    found = []
    for chunk in lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]:
        offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        found.append(memoryview(chunk.buffers()[2])[offsets[0] : offsets[-1]])
    return found


def _at(text: str | None, path: Path) -> Any:
    if not text:
        return None
    try:
        node = json.loads(text, parse_float=Number)  # a decimal bound must not pass through a float
    except (ValueError, ArithmeticError, RecursionError):
        return None
    for name in path:
        if not isinstance(node, dict):
            return None
        node = node.get(name)
    return node


def _values_by_text(texts: pa.Array, kind: Type) -> pa.Array:
    distinct = texts.dictionary_encode()
    return pc.take(_values(distinct.dictionary.to_pylist(), kind), distinct.indices)


def _values(found: Sequence[Any], kind: Type) -> pa.Array:
    """Typed values; null for each one that is not of the type."""
    target = to_arrow(kind)
    convert = _CONVERT.get(kind, _decimal if isinstance(kind, Decimal) else _plain)
    storage = pa.int64() if pa.types.is_timestamp(target) else pa.int32() if pa.types.is_date(target) else target
    values: list[object] = []
    for value in found:
        try:
            values.append(None if value is None else pa.scalar(convert(value), storage).as_py())
        except (ArithmeticError, ValueError, TypeError, pa.ArrowInvalid, pa.ArrowTypeError):
            values.append(None)
    return pa.array(values, storage).cast(target)


def _plain(value: Any) -> object:
    if isinstance(value, bool | int | str):
        return value
    raise TypeError(value)


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)


def _decimal(value: Any) -> Number:
    return Number(str(value))


_CONVERT: Mapping[Type, Callable[[Any], object]] = {
    t.FLOAT: _float, t.DOUBLE: _float, t.DATE: calendar.days, t.TIMESTAMP: calendar.micros,
    t.TIMESTAMP_NTZ: calendar.micros,
}  # fmt: skip
_AS_TEXT = frozenset({t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ})
