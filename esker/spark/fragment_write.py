"""How do a frame's rows become fragments?

Each task writes the rows of its partition, in a Python worker and through the format's library, and tells what it wrote. Only
what successful tasks told is handed on, so a task that is repeated or raced by its twin counts once; what else lies in the
table's folder is named by no version.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame

from esker.arrow.lance import write_fragments as write_batches
from esker.core.footers import FileStatistics
from esker.core.write import WriteSpec, WrittenFile
from esker.spark.failures import job
from esker.spark.settings import settings

_BATCH = 16 << 20
_MOST_ROWS = 65_536
# guesses for what a type does not tell
_TEXT, _ELEMENTS, _BLOB = 32, 8, 1 << 20
_BLOB_SIGNS = {b"lance-encoding:blob": b"true", b"ARROW:extension:name": b"lance.blob.v2"}
_TOLD = "path string, size long, modified long, rows long, record string"


def write_fragments(rows: DataFrame, spec: WriteSpec) -> tuple[WrittenFile, ...]:
    """Write rows that have the columns of the spec."""
    assert spec.fragments is not None
    batches = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(rows_at_once(spec.fragments.schema))}
    with settings(rows.sparkSession, batches), job("write the rows", spec.location):
        told = rows.mapInArrow(_writer(spec), _TOLD).toArrow()
    return tuple(
        WrittenFile(t["path"], t["size"], t["modified"], {}, FileStatistics(t["rows"], {}), record=t["record"])
        for t in told.to_pylist()
    )


def rows_at_once(schema: pa.Schema) -> int:
    """How many rows go to a worker at a time: many short ones, which cost less so, and no more long ones than memory takes."""
    return min(_MOST_ROWS, max(1, _BATCH // max(1, sum(_width(column.type, column.metadata) for column in schema))))


def _width(kind: pa.DataType, metadata: Mapping[bytes, bytes] | None = None) -> int:
    """How many bytes a value has, about."""
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width(kind.value_type)
    if metadata and any(metadata.get(key) == value for key, value in _BLOB_SIGNS.items()):
        return _BLOB
    if kind.num_fields:
        times = 1 if pa.types.is_struct(kind) else _ELEMENTS
        return times * sum(_width(kind.field(i).type, kind.field(i).metadata) for i in range(kind.num_fields))
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return _TEXT


def _writer(spec: WriteSpec) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        written = write_batches(batches, spec)
        yield pa.RecordBatch.from_pydict(
            {
                "path": [file.path for file in written],
                "size": pa.array([file.size for file in written], pa.int64()),
                "modified": pa.array([file.modified for file in written], pa.int64()),
                "rows": pa.array([file.statistics.rows for file in written], pa.int64()),
                "record": pa.array([file.record for file in written], pa.string()),
            }
        )

    return write
