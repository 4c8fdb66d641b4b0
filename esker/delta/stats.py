"""What do a file's statistics promise about its rows?  (PROTOCOL.md, "Per-file Statistics")

The statistics of all live files, column by column and only for the columns asked for, as bounds that hold: texts cut off at a
prefix and timestamps cut to milliseconds are widened again, null counts are trusted only where wide bounds allow it, and what
cannot be understood is unknown.
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
from esker.core.skipping import ColumnStats
from esker.core.types import Decimal, Type
from esker.delta.replay import LiveFiles

Path = tuple[str, ...]

TRUNCATED_AT = 32  # characters: no writer cuts shorter texts
_MILLISECOND = 999  # microseconds that cutting to milliseconds may have taken away
_WITH_BOUNDS = frozenset(
    {t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.STRING, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ}
)


class FileStatistics:
    """The statistics of the live files by physical column path; what was parsed once is kept."""

    def __init__(self, files: LiveFiles):
        self._files = files
        self._columns: dict[Path, ColumnStats | None] = {}
        self._records: pa.Array | None = None

    @property
    def count(self) -> int:
        return len(self._files)

    def num_records(self) -> pa.Array:
        """The rows in each data file, dead ones counted; null where the statistics do not say."""
        if self._records is None:
            self._records = self._leaf(("numRecords",), t.LONG)
        return self._records

    def column(self, path: Path, kind: Type) -> ColumnStats | None:
        """Bounds and null counts of a column that is stored in the files."""
        if path not in self._columns:
            self._columns[path] = self._column(path, kind)
        return self._columns[path]

    def bounds(self, path: Path, kind: Type) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Lowest and highest value and null count as they are recorded."""
        nulls = self._leaf(("nullCount", *path), t.LONG)
        if kind not in _WITH_BOUNDS and not isinstance(kind, Decimal):
            nothing = pa.nulls(self.count, to_arrow(kind))
            return nothing, nothing, nulls
        low, high = (self._leaf((part, *path), kind) for part in ("minValues", "maxValues"))
        return low, high, nulls

    def _column(self, path: Path, kind: Type) -> ColumnStats:
        low, high, nulls = self.bounds(path, kind)
        has_none = pc.fill_null(pc.equal(nulls, 0), False).to_numpy(zero_copy_only=False)
        # The rule for wide bounds, which is right for tight ones too: only 0 and numRecords say anything.
        is_all = pc.fill_null(pc.equal(nulls, self.num_records()), False).to_numpy(zero_copy_only=False)
        empty = pc.fill_null(pc.equal(self.num_records(), 0), False).to_numpy(zero_copy_only=False)
        return ColumnStats(low, _widened(high, kind), may_be_null=~has_none & ~empty, may_have_value=~is_all & ~empty)

    def _leaf(self, path: Path, kind: Type) -> pa.Array:
        """One value for each file, from wherever the file's statistics are kept."""
        pieces: list[pa.Array] = []
        at = 0
        for piece in self._files.parsed:
            if isinstance(piece, int):
                texts = self._files.table.column("stats").slice(at, piece).combine_chunks()
                pieces.append(_from_json(texts, path, kind))
                at += piece
            else:
                pieces.append(_from_struct(piece, path, kind))
                at += len(piece)
        if not pieces:
            return pa.nulls(0, to_arrow(kind))
        return pa.concat_arrays([p.combine_chunks() if isinstance(p, pa.ChunkedArray) else p for p in pieces])


def _widened(high: pa.Array, kind: Type) -> pa.Array:
    if kind == t.STRING:
        # 0xFF follows every byte of UTF-8, so this is above all texts that begin with a cut-off maximum. It is not UTF-8
        # itself, which comparing bytes does not mind.
        raw = high.cast(pa.binary())
        cut = pc.greater_equal(pc.utf8_length(high), TRUNCATED_AT)
        return pc.if_else(cut, pc.binary_join_element_wise(raw, b"\xff", b""), raw).view(pa.string())
    if kind in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        raw = high.view(pa.int64())
        last = np.iinfo(np.int64).max - _MILLISECOND
        return pc.if_else(pc.greater(raw, last), raw, pc.add(raw, _MILLISECOND)).view(high.type)
    return high


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


def _from_json(texts: pa.Array, path: Path, kind: Type) -> pa.Array:
    """The fast way is Arrow's JSON reader on all texts at once; what it cannot take is parsed one by one."""
    read_as = to_arrow(kind) if kind not in _AS_TEXT else pa.string()
    fast = _column_of_json(texts, path, read_as)
    if fast is None:
        return _values([_at(text, path) for text in texts.to_pylist()], kind)
    return fast if kind not in _AS_TEXT else _values_by_text(fast, kind)


def _column_of_json(texts: pa.Array, path: Path, kind: pa.DataType) -> pa.Array | None:
    if len(texts) == 0:
        return pa.nulls(0, kind)
    known = pc.fill_null(texts, "{}")
    if not pc.all(pc.starts_with(known, "{")).as_py():
        return None  # Arrow's reader crashes, as of version 26, on a text of nothing but `null`
    lines = pc.binary_join_element_wise(known, "", "\n")
    schema: pa.DataType = kind
    for name in reversed(path):
        schema = pa.struct([(name, schema)])
    data = b"".join(bytes(chunk) for chunk in _value_bytes(lines))
    options = pa.json.ParseOptions(explicit_schema=pa.schema(list(schema)), unexpected_field_behavior="ignore")
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    try:
        table = pa.json.read_json(pa.BufferReader(data), parse_options=options, read_options=reading)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(texts):
        return None  # a text that is not exactly one object
    node = table.column(path[0]).combine_chunks()
    for name in path[1:]:
        node = pc.struct_field(node, name)
    return node


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
