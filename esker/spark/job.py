"""How is a job spread over Spark's workers?

DataFrame API only, so that it works on Spark Connect too. The workers run Python, and need Esker installed as the driver does.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from esker.core.job import Job
from esker.spark import failures

ArrowMap: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_GROUP = 64 << 20  # bytes of input whose rows one worker reduces at once


def run(spark: SparkSession, job: Job) -> pa.Table:
    """The outcome of the job, on the driver."""
    inputs = spark.range(0, job.inputs, 1, max(1, job.inputs))
    rows = inputs.mapInArrow(_mapped(job), from_arrow_schema(job.mapped))
    together = rows.repartition(max(2, job.size // _GROUP), job.key)
    return _collected(together.mapInArrow(_reduced(job), from_arrow_schema(job.reduced)), job.reduced)


def spread(spark: SparkSession, work: Callable[[int], bytes], count: int) -> tuple[bytes, ...]:
    """What the work gives for each number below the count. Of a task that is repeated or raced by its twin one answer counts."""

    def done(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"number": [number], "made": [work(number)]})

    with failures.job("do what was shared out"):
        made = spark.range(0, count, 1, count).mapInArrow(done, "number long, made binary").toArrow()
    return tuple(made.sort_by("number").column("made").to_pylist())


def _collected(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    table = frame.toArrow()
    return table.cast(schema) if table.num_rows else pa.Table.from_batches([], schema)


def _mapped(job: Job) -> ArrowMap:
    def run_map(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from job.map(number)

    return run_map


def _reduced(job: Job) -> ArrowMap:
    def run_reduce(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if arrived := list(batches):
            yield from job.reduce(pa.Table.from_batches(arrived).cast(job.mapped)).to_batches()

    return run_reduce
