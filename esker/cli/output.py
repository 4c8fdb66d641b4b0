"""How do rows become a file?

By the file's ending. The rows pass by batch after batch, and the file appears under its name only when it is whole.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from esker.cli.values import dumps, json_rows, json_values
from esker.errors import InvalidRequest


class Sink(Protocol):
    """What takes the rows."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""


def write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write the rows to a file in the format of its ending, replacing what was there; how many there were."""
    sink = sink_for(path)
    partial = path.with_name(f".{path.name}.partial")
    rows = 0
    try:
        with partial.open("wb") as file, sink(file, schema) as into:
            for batch in batches:
                into.write(batch)
                rows += batch.num_rows
        os.replace(partial, path)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return rows


def sink_for(path: Path) -> "Callable[[BinaryIO, pa.Schema], AbstractContextManager[Sink]]":
    """What writes the format of the file's ending."""
    if (sink := _SINKS.get(path.suffix.lower())) is None:
        raise InvalidRequest(f"{path}: a file to write ends in {', '.join(_SINKS)}")
    return sink


@contextmanager
def _parquet(file: BinaryIO, schema: pa.Schema) -> Iterator[Sink]:
    with pq.ParquetWriter(file, schema) as writer:
        yield _Batches(writer.write_batch)


@contextmanager
def _csv(file: BinaryIO, schema: pa.Schema) -> Iterator[Sink]:
    flat = pa.schema([pa.field(f.name, _flat_type(f.type)) for f in schema])
    with csv.CSVWriter(file, flat) as writer:
        yield _Batches(lambda batch: writer.write_batch(_flat(batch, flat)))


@contextmanager
def _json(file: BinaryIO, schema: pa.Schema) -> Iterator[Sink]:
    separators = _separators()
    yield _Batches(lambda b: file.writelines(f"{next(separators)}{dumps(row)}".encode() for row in json_rows(b)))
    file.write(closing(separators).encode())


@contextmanager
def _json_lines(file: BinaryIO, schema: pa.Schema) -> Iterator[Sink]:
    yield _Batches(lambda batch: file.writelines(f"{dumps(row)}\n".encode() for row in json_rows(batch)))


_SINKS = {".parquet": _parquet, ".csv": _csv, ".json": _json, ".jsonl": _json_lines, ".ndjson": _json_lines}


def json_document(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """The rows as one JSON array, piece by piece."""
    separators = _separators()
    for batch in batches:
        for row in json_rows(batch):
            yield f"{next(separators)}{dumps(row)}"
    yield closing(separators)


def _separators() -> Iterator[str]:
    """What stands before each object of an array."""
    yield "[\n"
    while True:
        yield ",\n"


def closing(separators: Iterator[str]) -> str:
    """What ends an array, which may have had no object."""
    return "[]\n" if next(separators) == "[\n" else "\n]\n"


class _Batches:
    def __init__(self, write: Callable[[pa.RecordBatch], object]) -> None:
        self._write = write

    def write(self, batch: pa.RecordBatch) -> None:
        self._write(batch)


def _flat_type(kind: pa.DataType) -> pa.DataType:
    is_flat = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or kind == pa.string()
    return kind if is_flat else pa.string()


def _flat(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """CSV has no nested values, and no bytes: what is neither number nor text is written as in JSON."""
    arrays = [a if a.type == f.type else _texts(a) for a, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _texts(array: pa.Array) -> pa.Array:
    values = json_values(array)
    return pa.array([v if v is None or isinstance(v, str) else dumps(v) for v in values], pa.string())
