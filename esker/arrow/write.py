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

from esker.arrow.partition_text import partition_texts
from esker.core import types as t
from esker.core.arrow_types import from_arrow, to_arrow
from esker.core.binding import bind
from esker.core.columns import int64, mask_of, rows_of
from esker.core.filtering import mask
from esker.core.footers import ColumnBounds, FileStatistics, file_statistics
from esker.core.sql import parse
from esker.core.types import Array, Field, Map, Struct, Type
from esker.core.write import Absent, Check, Computed, Given, Numbered, WriteColumn, WriteSpec, WrittenFile
from esker.errors import EskerError, InvalidRequest, Unsupported
from esker.storage import Storage, open_storage

_SMALLEST_ROW_GROUP = 1 << 20


class ArrowRows:
    """The rows of an Arrow table."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows

    @property
    def schema(self) -> Struct:
        return Struct(tuple(Field(f.name, from_arrow(f.type), f.nullable) for f in self.rows.schema))

    def write(self, spec: WriteSpec) -> tuple[WrittenFile, ...]:
        """Write all rows as the spec says, one file for each partition and `rows_per_file`."""
        rows = _table_rows(self.rows, spec)
        for check in spec.checks:
            _check(rows, check, spec)
        storage = open_storage(spec.location, spec.storage_options)
        return tuple(_write(storage, spec, part, partition) for partition, part in _parts(rows, spec) if part.num_rows)


def _table_rows(rows: pa.Table, spec: WriteSpec) -> pa.Table:
    """The table's columns under the names that are seen."""
    arrays = [_value(column, rows, spec) for column in spec.columns]
    return pa.table(arrays, names=[column.field.name for column in spec.columns])


def _value(column: WriteColumn, rows: pa.Table, spec: WriteSpec) -> pa.ChunkedArray | pa.Array:
    match column.value:
        case Given(name):
            return conformed(rows.column(name).combine_chunks(), column.field.type, spec.location)
        case Absent():
            return pa.nulls(rows.num_rows, to_arrow(column.field.type))
        case Numbered(start, step, after):
            first = start if after is None else after + step
            return int64(first + step * np.arange(rows.num_rows, dtype=np.int64))
        case Computed(sql):
            raise Unsupported(
                f"only Spark can compute the column {column.field.name}: {sql}",
                where=spec.location,
                hint="Write a Spark frame instead of an Arrow table.",
            )
    assert_never(column.value)


def conformed(values: pa.Array, wanted: Type, where: str) -> pa.Array:
    """The values in the table's type; struct members go by their names, and those that are missing are null."""
    match wanted:
        case Struct() if pa.types.is_struct(values.type):
            members = [_member(values, field, where) for field in wanted]
            fields = [pa.field(f.name, m.type) for f, m in zip(wanted, members, strict=True)]
            return pa.StructArray.from_arrays(members, fields=fields, mask=pc.is_null(values))
        case Array() if pa.types.is_list(values.type) and _is_nested(wanted.element):
            inner = conformed(values.flatten(), wanted.element, where)
            return pa.ListArray.from_arrays(_offsets(values), inner, mask=pc.is_null(values))
        case Map() if pa.types.is_map(values.type) and (_is_nested(wanted.key) or _is_nested(wanted.value)):
            raise Unsupported("maps of structs in Arrow rows", where=where, hint="Write a Spark frame instead.")
    try:
        return values.cast(to_arrow(wanted))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidRequest(f"the rows do not fit the type {wanted}: {error}", where=where) from error


def _member(values: pa.Array, field: Field, where: str) -> pa.Array:
    names = [f.name for f in values.type]
    same = [n for n in names if n == field.name] or [n for n in names if n.lower() == field.name.lower()]
    if not same:
        return pa.nulls(len(values), to_arrow(field.type))
    return conformed(pc.struct_field(values, [names.index(same[0])]), field.type, where)


def _offsets(values: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(values), 0)
    return pa.array(np.concatenate([[0], np.cumsum(rows_of(lengths))]), pa.int32())


def _is_nested(kind: Type) -> bool:
    return isinstance(kind, Struct | Array | Map)


def _check(rows: pa.Table, check: Check, spec: WriteSpec) -> None:
    holds = mask(bind(parse(check.sql), spec.schema), rows)
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
    columns = {c.field.name: c for c in spec.columns}
    texts = pa.table(
        {columns[name].physical.name: partition_texts(rows.column(name), columns[name].field.type) for name in spec.partition_by}
    )
    numbered = texts.append_column("row", int64(np.arange(rows.num_rows)))
    groups = numbered.group_by(texts.column_names, use_threads=False).aggregate([("row", "list")])
    for group in groups.to_pylist():
        taken = int64(np.array(group.pop("row_list"), dtype=np.int64))
        yield group, rows.take(taken)


def _write(storage: Storage, spec: WriteSpec, rows: pa.Table, partition: Mapping[str, str | None]) -> WrittenFile:
    stored = [c for c in spec.stored if c.field.type != t.VOID]
    arrays = [rows.column(c.field.name) for c in stored]
    fields = [_parquet_field(c.physical) for c in stored]
    table = pa.table([_stored(a, f.type) for a, f in zip(arrays, fields, strict=True)], schema=pa.schema(fields))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=_SMALLEST_ROW_GROUP)
    data = sink.getvalue()
    path = f"{spec.folder}/part-{uuid4()}.parquet"
    _put(storage, path, data.to_pybytes())
    found = _without_nan(file_statistics(pq.read_metadata(pa.BufferReader(data))), table)
    return WrittenFile(path, len(data), int(time() * 1000), partition, found)


def _stored(values: pa.ChunkedArray | pa.Array, kind: pa.DataType) -> pa.Array:
    """The values with the names that files have for struct members. A cast would look for members by these names."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_struct(kind):
        members = [_stored(member, field.type) for member, field in zip(whole.flatten(), kind, strict=True)]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=pc.is_null(whole))
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(_offsets(whole), _stored(whole.flatten(), kind.value_type), kind, mask=pc.is_null(whole))
    return whole.cast(kind)


def _put(storage: Storage, path: str, data: bytes) -> None:
    try:
        storage.put_if_absent(path, data)
    except EskerError as error:
        raise EskerError(f"a data file could not be written: {error.what}", where=f"{storage.url}/{path}") from error


def _parquet_field(field: Field) -> pa.Field:
    """The field with ids at every level, for Parquet's schema."""
    plain = _parquet_type(field.type)
    ids = {} if field.id is None else {b"PARQUET:field_id": str(field.id).encode()}
    return pa.field(field.name, plain, metadata=ids)


def _parquet_type(kind: Type) -> pa.DataType:
    match kind:
        case Struct():
            return pa.struct([_parquet_field(f) for f in kind])
        case Array():
            return pa.list_(pa.field("element", _parquet_type(kind.element)))
        case Map():
            return pa.map_(_parquet_type(kind.key), _parquet_type(kind.value))
    return to_arrow(kind)


def _without_nan(found: FileStatistics, rows: pa.Table) -> FileStatistics:
    """Arrow's bounds pass over NaN, which is greater than they say."""
    blurred = {
        path: ColumnBounds(None, None, bounds.nulls) if _has_nan(rows, path) else bounds
        for path, bounds in found.columns.items()
    }
    return FileStatistics(found.rows, blurred)


def _has_nan(rows: pa.Table, path: tuple[str, ...]) -> bool:
    values = rows.column(path[0]).combine_chunks()
    for name in path[1:]:
        values = pc.struct_field(values, name)
    return bool(pa.types.is_floating(values.type)) and bool(mask_of(pc.fill_null(pc.is_nan(values), False)).any())
