"""How do rows become fragments?

pylance writes the data files. Nothing of them is part of the table until a commit names them: what it says of them is handed
on, and whoever commits hands it back.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from time import time

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.fragment import FragmentMetadata, RowIdMeta

from esker.arrow.brought import same_floats
from esker.arrow.lance.dataset import errors, open_dataset, uri
from esker.core.footers import FileStatistics
from esker.core.write import FragmentForm, WriteSpec, WrittenFile
from esker.errors import InvalidRequest
from esker.lance.row_ids import row_id_bytes
from esker.lance.schema import BLOB_LAYOUT

_ROWS_PER_FRAGMENT = 1 << 20


def write_fragments(rows: Iterable[pa.RecordBatch], spec: WriteSpec) -> tuple[WrittenFile, ...]:
    """Write all rows; rows that keep their ids and rows that get new ones do not share a fragment."""
    form = spec.fragments
    assert form is not None
    with errors(spec.location):
        if form.row_ids is None:
            return tuple(_written(fragment) for fragment in _fragments(rows, spec, form))
        keeping, fresh = _parted(rows, form.row_ids)
        ids = _ids(keeping, form.row_ids)
        made = _fragments(keeping, spec, form)
        return tuple(
            _written(fragment) for fragment in (*_with_ids(made, ids), *_fragments(fresh, spec, form))
        )


def stored(batch: pa.RecordBatch, schema: pa.Schema, where: str) -> pa.RecordBatch:
    """The rows in the types in which the table keeps them. Raises `InvalidRequest` where a value would change."""
    arrays = [_aligned(_stored(batch.column(field.name), field, where)) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fragments(rows: Iterable[pa.RecordBatch], spec: WriteSpec, form: FragmentForm) -> list[FragmentMetadata]:
    batches = _peeked(stored(batch, form.schema, spec.location) for batch in rows if batch.num_rows)
    if batches is None:
        return []
    options = dict(spec.storage_options)
    target: str | lance.LanceDataset = uri(spec.location)
    if form.version is not None or form.branch is not None:
        target = open_dataset(spec.location, form.branch, form.version, options)
    made = lance.fragment.write_fragments(
        pa.RecordBatchReader.from_batches(form.schema, batches),
        target,
        schema=form.schema,
        mode="overwrite" if form.version is None else "append",
        max_rows_per_file=spec.rows_per_file or _ROWS_PER_FRAGMENT,
        data_storage_version=form.file_version,
        storage_options=options or None,
    )
    assert isinstance(made, list)
    return made


def _peeked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch] | None:
    """The batches; None where there are none, since a fragment has rows."""
    first = next(batches, None)
    return None if first is None else _chained(first, batches)


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _parted(rows: Iterable[pa.RecordBatch], name: str) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """The rows that keep their ids, and the others."""
    keeping, fresh = [], []
    for batch in rows:
        has_id = pc.is_valid(batch.column(name))
        keeping.append(batch.filter(has_id))
        fresh.append(batch.filter(pc.invert(has_id)))
    return keeping, fresh


def _ids(rows: Iterable[pa.RecordBatch], name: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    parts = [batch.column(name).to_numpy(zero_copy_only=False).astype(np.uint64) for batch in rows]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def _with_ids(
    fragments: Iterable[FragmentMetadata], ids: np.ndarray[tuple[int], np.dtype[np.uint64]]
) -> Iterator[FragmentMetadata]:
    start = 0
    for fragment in fragments:
        own = ids[start : start + fragment.physical_rows]
        start += fragment.physical_rows
        yield replace(fragment, row_id_meta=RowIdMeta.from_json(json.dumps({"Inline": list(row_id_bytes(own))})))
    assert start == len(ids)


def _written(fragment: FragmentMetadata) -> WrittenFile:
    size = sum(file.file_size_bytes or 0 for file in fragment.files)
    told = FileStatistics(fragment.physical_rows, {})
    return WrittenFile(fragment.files[0].path, size, int(time() * 1000), {}, told, record=json.dumps(fragment.to_json()))


def _stored(values: pa.Array, field: pa.Field, where: str) -> pa.Array:
    if not field.nullable and values.null_count:
        raise InvalidRequest(f"a row breaks the rule that {field.name} is never null", where=where)
    if values.type == field.type:
        return values
    try:
        if field.type == BLOB_LAYOUT and not pa.types.is_struct(values.type):
            parts = [values.cast(pa.large_binary()), pa.nulls(len(values), pa.string())]
            return pa.StructArray.from_arrays(parts, fields=list(BLOB_LAYOUT), mask=pc.is_null(values))
        if pa.types.is_dictionary(field.type):
            return values.cast(field.type.value_type).dictionary_encode().cast(field.type)
        found = values.cast(field.type)
        if _has_halves(field.type) and not same_floats(found.cast(values.type), values):
            raise InvalidRequest(f"a value of {field.name} has no exact form as {field.type}", where=where)
        return found
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidRequest(f"the rows do not fit {field.name}, which is {field.type}: {error}", where=where) from error


def _has_halves(kind: pa.DataType) -> bool:
    """Whether floats of half the size are in the type: to them Arrow rounds without a word."""
    return bool(pa.types.is_float16(kind)) or any(_has_halves(kind.field(i).type) for i in range(kind.num_fields))


def _aligned(values: pa.Array) -> pa.Array:
    """The values where the library may take them from: Spark's stream lays them at multiples of 8 bytes, and decimals need 16."""
    width = 16 if _has_decimals(values.type) else 8
    if all(buffer is None or buffer.address % width == 0 for buffer in values.buffers()):
        return values
    return pa.concat_arrays([values, values.slice(0, 0)])  # of two arrays Arrow makes a third


def _has_decimals(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind)) or any(_has_decimals(kind.field(i).type) for i in range(kind.num_fields))
