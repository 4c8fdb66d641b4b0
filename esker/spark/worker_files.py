"""How are files written that Spark's own writer cannot write right?

Python workers write them with pyarrow, as the Arrow executor does; they need Esker installed as the driver does. Spark's writer
gives no ids to elements, keys and values, has no form for some types, and cannot compute every value that rows are kept apart by.
Each task writes what it has gathered whenever that is a large file's worth.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from esker.arrow.write import ArrowRows
from esker.core.write import Given, WriteSpec, WrittenFile
from esker.spark.types import spark_form
from esker.storage import Storage

_GATHERED = 128 << 20  # bytes in memory before files are written of them


def is_needed(spec: WriteSpec) -> bool:
    """Whether Spark's own writer cannot write such files."""
    values = (*spec.partition_values, *(key.value for key in spec.sort_by))
    return bool(spec.nested_ids) or any(v.sql is None for v in values) or spark_form(spec.schema) != spec.schema


def write_by_workers(rows: DataFrame, spec: WriteSpec, storage: Storage) -> tuple[WrittenFile, ...]:
    """Write rows that have the table's columns, which were checked."""
    written = rows.mapInArrow(_writer(_as_given(spec)), s.StructType([s.StructField("file", s.BinaryType())]))
    files = tuple(pickle.loads(row.file) for row in written.collect())
    _discard_others(storage, spec.folder, {file.path for file in files})
    return files


def _as_given(spec: WriteSpec) -> WriteSpec:
    columns = tuple(replace(column, value=Given(column.field.name)) for column in spec.columns)
    return replace(spec, columns=columns, checks=())


def _writer(spec: WriteSpec) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(batches):
            files = [pickle.dumps(file) for file in ArrowRows(table).write(spec)]
            yield pa.RecordBatch.from_arrays([pa.array(files, pa.binary())], names=["file"])

    return write


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _GATHERED:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _discard_others(storage: Storage, folder: str, kept: set[str]) -> None:
    """A task that was repeated, or raced by its twin, leaves files that nobody names."""
    for file in list(storage.list(folder)):
        if file.path not in kept:
            storage.delete(file.path)
