"""How do a frame's rows become fragments?

Each task writes the rows of its partition, in a Python worker and through the format's library, and tells what it wrote. Only
what successful tasks told is handed on, so a task that is repeated or raced by its twin counts once; what else lies in the
table's folder is named by no version.
"""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from esker.arrow.lance import write_fragments as write_batches
from esker.core.footers import FileStatistics
from esker.core.write import WriteSpec, WrittenFile
from esker.spark.failures import job

_TOLD = "path string, size long, modified long, rows long, record string"


def write_fragments(rows: DataFrame, spec: WriteSpec) -> tuple[WrittenFile, ...]:
    """Write rows that have the columns of the spec."""
    with job("write the rows", spec.location):
        told = rows.mapInArrow(_writer(spec), _TOLD).toArrow()
    return tuple(
        WrittenFile(t["path"], t["size"], t["modified"], {}, FileStatistics(t["rows"], {}), record=t["record"])
        for t in told.to_pylist()
    )


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
