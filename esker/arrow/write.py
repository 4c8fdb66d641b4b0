"""How do Arrow rows become files, without Spark?

For small writes: the rows are in memory, and are written by one process. What only Spark can evaluate is refused by name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import time
from typing import Any, assert_never
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.arrow.brought import columns_of, conformed
from esker.arrow.derived import derived, plain_values, sorted_rows
from esker.arrow.lance import write_fragments
from esker.arrow.partition_text import partition_texts
from esker.arrow.stored import stored_field, stored_values
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.binding import bind
from esker.core.columns import int64, mask_of
from esker.core.expressions import literal
from esker.core.filtering import mask
from esker.core.footers import Bound, FileStatistics, file_statistics
from esker.core.predicate import Path
from esker.core.sql import parse
from esker.core.types import Struct, relaxed
from esker.core.write import Absent, Check, Computed, Constant, Given, Numbered, WriteColumn, WriteSpec, WrittenFile
from esker.errors import EskerError, InvalidRequest, Unsupported
from esker.storage import Storage, storage_at

_SMALLEST_ROW_GROUP = 1 << 20
_CODECS = {"lz4_raw": "lz4", "uncompressed": "none"}  # what Arrow calls lz4 is without Hadoop's frames


class ArrowRows:
    """The rows of an Arrow table."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows

    @property
    def schema(self) -> Struct:
        return columns_of(self.rows.schema)

    @property
    def plain(self) -> pa.Table:
        """The rows in the plain types of their schema."""
        arrays = [conformed(self.rows.column(i), field.type, "the rows") for i, field in enumerate(self.schema)]
        return pa.table(arrays, names=list(self.schema.names))

    def write(self, spec: WriteSpec) -> tuple[WrittenFile, ...]:
        """Write all rows as the spec says, one file for each partition and `rows_per_file`."""
        rows = _table_rows(self.rows, spec)
        for check in spec.checks:
            _check(rows, check, spec)
        if spec.fragments is not None:
            return write_fragments(rows.to_batches(), spec)
        storage = storage_at(spec.location, spec.storage_options)
        parts = list(_parts(sorted_rows(rows, spec.sort_by), spec))
        return tuple(_write(storage, spec, part) for part in parts if part.rows.num_rows)


def _table_rows(rows: pa.Table, spec: WriteSpec) -> pa.Table:
    """The table's columns under the names that are seen."""
    arrays = [_value(column, rows, spec) for column in spec.columns]
    return pa.table(arrays, names=[column.field.name for column in spec.columns])


def _value(column: WriteColumn, rows: pa.Table, spec: WriteSpec) -> pa.ChunkedArray | pa.Array:
    match column.value:
        case Given(name):
            return conformed(rows.column(name), column.field.type, spec.location)
        case Constant(value):
            return pa.repeat(value, rows.num_rows)
        case Absent():
            return pa.nulls(rows.num_rows, to_arrow(relaxed(column.field.type)))
        case Numbered():
            return _numbers(column.value, rows.num_rows, column.field.name)
        case Computed(sql) if (value := literal(sql, column.field.type)) is not None:
            return pa.repeat(value, rows.num_rows)
        case Computed(sql):
            raise Unsupported(
                f"only Spark can compute the column {column.field.name}: {sql}", where=spec.location, hint=_BY_SPARK
            )
    assert_never(column.value)


_BY_SPARK = "Write a Spark frame instead of an Arrow table."


def _numbers(rule: Numbered, count: int, name: str) -> pa.Array:
    first = rule.start if rule.after is None else rule.after + rule.step
    # "Overflow when calculating generated Identity values should be detected and such writes should not be allowed."
    if not -(2**63) <= first + rule.step * max(0, count - 1) < 2**63:
        raise InvalidRequest(f"the identity column {name} has no numbers left for {count} rows")
    return int64(first + rule.step * np.arange(count, dtype=np.int64))


def _check(rows: pa.Table, check: Check, spec: WriteSpec) -> None:
    try:
        holds = mask(bind(parse(check.sql), spec.schema), rows)
    except Unsupported as error:
        raise Unsupported(f"only Spark can tell whether rows keep {check.what}", where=spec.location, hint=_BY_SPARK) from error
    if not pc.all(pc.fill_null(holds, False), min_count=0).as_py():
        raise InvalidRequest(f"a row breaks {check.what}", where=spec.location, hint="Nothing was written.")


@dataclass(frozen=True)
class _Part:
    """Rows that share a file: their partition as texts, or as plain values."""

    rows: pa.Table
    partition: Mapping[str, str | None] = field(default_factory=dict)
    values: tuple[Bound | None, ...] = ()


def _parts(rows: pa.Table, spec: WriteSpec) -> Iterator[_Part]:
    """The rows of each partition, in pieces of at most `rows_per_file`."""
    for part in _partitions(rows, spec):
        size = spec.rows_per_file or max(1, part.rows.num_rows)
        for start in range(0, part.rows.num_rows, size):
            yield replace(part, rows=part.rows.slice(start, size))


def _partitions(rows: pa.Table, spec: WriteSpec) -> Iterator[_Part]:
    if spec.partition_values:
        keys = [plain_values(derived(rows, value)) for value in spec.partition_values]
        yield from (_Part(part, values=values) for values, part in _groups(rows, keys))
    elif spec.partition_by:
        by_name = {c.field.name: c for c in spec.columns}
        columns = [by_name[name] for name in spec.partition_by]
        texts = [partition_texts(rows.column(c.field.name), c.field.type) for c in columns]
        for values, part in _groups(rows, texts):
            yield _Part(part, {c.physical.name: text for c, text in zip(columns, values, strict=True)})
    else:
        yield _Part(rows)


def _groups(rows: pa.Table, keys: Sequence[pa.Array]) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    """The rows of each combination of keys, in their order, with the keys."""
    named = {str(i): key for i, key in enumerate(keys)}
    numbered = pa.table({**named, "row": int64(np.arange(rows.num_rows))})
    groups = numbered.group_by(list(named), use_threads=False).aggregate([("row", "list")])
    for group in groups.to_pylist():
        yield tuple(group[key] for key in named), rows.take(int64(np.array(group["row_list"], dtype=np.int64)))


def _write(storage: Storage, spec: WriteSpec, part: _Part) -> WrittenFile:
    table = _file_rows(part.rows, spec)
    codec = spec.compression or "zstd"
    sink = pa.BufferOutputStream()
    pages = "2.0" if spec.has_v2_pages else "1.0"
    form = {"compression": _CODECS.get(codec.lower(), codec), "data_page_version": pages, "row_group_size": _SMALLEST_ROW_GROUP}
    pq.write_table(table, sink, write_statistics=_told(table), **form)
    data = sink.getvalue()
    path = f"{spec.folder}/part-{uuid4()}.parquet"
    _put(storage, path, data.to_pybytes())
    found = _counted(file_statistics(pq.read_metadata(pa.BufferReader(data))), table)
    return WrittenFile(path, len(data), int(time() * 1000), part.partition, found, part.values)


def _put(storage: Storage, path: str, data: bytes) -> None:
    try:
        storage.put_if_absent(path, data)
    except EskerError as error:
        raise EskerError(f"a data file could not be written: {error.what}", where=f"{storage.url}/{path}") from error


def _file_rows(rows: pa.Table, spec: WriteSpec) -> pa.Table:
    """The columns as the file holds them."""
    stored = [c for c in spec.stored if c.field.type != t.VOID]
    fields = [stored_field(c.physical, spec.nested_ids) for c in stored]
    arrays = [
        pa.chunked_array(
            [stored_values(chunk, c.physical.type, f.type) for chunk in rows.column(c.field.name).chunks], f.type
        )
        for c, f in zip(stored, fields, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def _told(rows: pa.Table) -> bool | list[str]:
    """The columns of which a file tells bounds: those of numbers pass over NaN, which Spark takes for greater than they say."""
    leaves = list(_leaves(rows.schema))
    silent = {".".join(path) for path in leaves if _nans(rows, path)}
    return not silent or [name for path in leaves if (name := ".".join(path)) not in silent]


def _leaves(members: Iterable[pa.Field], above: Path = ()) -> Iterator[Path]:
    """The columns that no list is wrapped around."""
    for member in members:
        if pa.types.is_struct(member.type):
            yield from _leaves(member.type, (*above, member.name))
        elif not pa.types.is_nested(member.type):
            yield (*above, member.name)


def _counted(found: FileStatistics, rows: pa.Table) -> FileStatistics:
    """The statistics with what the file does not tell of columns with NaN."""
    columns = {path: replace(bounds, nans=_nans(rows, path)) for path, bounds in found.columns.items()}
    nulls = {path: _values(rows, path).null_count for path, bounds in columns.items() if bounds.nans}
    silent = {path: replace(columns[path], lower=None, upper=None, nulls=count) for path, count in nulls.items()}
    return replace(found, columns=columns | silent)


def _nans(rows: pa.Table, path: Path) -> int | None:
    """How many values are NaN; None where they are no floating-point numbers."""
    values = _values(rows, path)
    return int(mask_of(pc.fill_null(pc.is_nan(values), False)).sum()) if pa.types.is_floating(values.type) else None


def _values(rows: pa.Table, path: Path) -> pa.ChunkedArray:
    values = rows.column(path[0])
    for name in path[1:]:
        values = pc.struct_field(values, name)
    return values
