"""How do Arrow rows become files, without Spark?

For small writes: the rows are in memory, and are written by one process. What only Spark can evaluate is refused by name.
"""

from collections.abc import Iterator, Mapping
from time import time
from typing import assert_never
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.arrow.brought import columns_of, conformed
from esker.arrow.lance import write_fragments
from esker.arrow.partition_text import partition_texts
from esker.arrow.stored import stored_field, stored_values
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.binding import bind
from esker.core.columns import int64, mask_of
from esker.core.filtering import mask
from esker.core.footers import ColumnBounds, FileStatistics, file_statistics
from esker.core.sql import parse
from esker.core.types import Struct, relaxed
from esker.core.write import Absent, Check, Computed, Given, Numbered, WriteColumn, WriteSpec, WrittenFile
from esker.errors import EskerError, InvalidRequest, Unsupported
from esker.storage import Storage, storage_at

_SMALLEST_ROW_GROUP = 1 << 20
_CODECS = {"lz4_raw": "lz4"}  # what Arrow calls lz4 is without Hadoop's frames


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
        parts = list(_parts(rows, spec))
        return tuple(_write(storage, spec, part, partition) for partition, part in parts if part.num_rows)


def _table_rows(rows: pa.Table, spec: WriteSpec) -> pa.Table:
    """The table's columns under the names that are seen."""
    arrays = [_value(column, rows, spec) for column in spec.columns]
    return pa.table(arrays, names=[column.field.name for column in spec.columns])


def _value(column: WriteColumn, rows: pa.Table, spec: WriteSpec) -> pa.ChunkedArray | pa.Array:
    match column.value:
        case Given(name):
            return conformed(rows.column(name), column.field.type, spec.location)
        case Absent():
            return pa.nulls(rows.num_rows, to_arrow(relaxed(column.field.type)))
        case Numbered():
            return _numbers(column.value, rows.num_rows, column.field.name)
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


def _parts(rows: pa.Table, spec: WriteSpec) -> Iterator[tuple[Mapping[str, str | None], pa.Table]]:
    """The rows of each partition, in pieces of at most `rows_per_file`."""
    for partition, part in _partitions(rows, spec):
        size = spec.rows_per_file or max(1, part.num_rows)
        for start in range(0, part.num_rows, size):
            yield partition, part.slice(start, size)


def _partitions(rows: pa.Table, spec: WriteSpec) -> Iterator[tuple[Mapping[str, str | None], pa.Table]]:
    if not spec.partition_by:
        yield {}, rows
        return
    by_name = {c.field.name: c for c in spec.columns}
    columns = [by_name[name] for name in spec.partition_by]
    keys = {str(i): partition_texts(rows.column(c.field.name), c.field.type) for i, c in enumerate(columns)}
    numbered = pa.table({**keys, "row": int64(np.arange(rows.num_rows))})
    groups = numbered.group_by(list(keys), use_threads=False).aggregate([("row", "list")])
    for group in groups.to_pylist():
        taken = int64(np.array(group["row_list"], dtype=np.int64))
        yield {c.physical.name: group[key] for key, c in zip(keys, columns, strict=True)}, rows.take(taken)


def _write(storage: Storage, spec: WriteSpec, rows: pa.Table, partition: Mapping[str, str | None]) -> WrittenFile:
    table = _file_rows(rows, spec)
    codec = spec.compression or "zstd"
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=_CODECS.get(codec, codec), row_group_size=_SMALLEST_ROW_GROUP)
    data = sink.getvalue()
    path = f"{spec.folder}/part-{uuid4()}.parquet"
    _put(storage, path, data.to_pybytes())
    found = _without_nan(file_statistics(pq.read_metadata(pa.BufferReader(data))), table)
    return WrittenFile(path, len(data), int(time() * 1000), partition, found)


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


def _without_nan(found: FileStatistics, rows: pa.Table) -> FileStatistics:
    """Arrow's bounds pass over NaN, which is greater than they say."""
    blurred = {
        path: ColumnBounds(None, None, bounds.nulls) if _has_nan(rows, path) else bounds
        for path, bounds in found.columns.items()
    }
    return FileStatistics(found.rows, blurred)


def _has_nan(rows: pa.Table, path: tuple[str, ...]) -> bool:
    values = rows.column(path[0])
    for name in path[1:]:
        values = pc.struct_field(values, name)
    return bool(pa.types.is_floating(values.type)) and bool(mask_of(pc.fill_null(pc.is_nan(values), False)).any())
