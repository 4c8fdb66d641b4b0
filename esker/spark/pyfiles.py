"""How are files read that Spark's own reader cannot read right?

Python workers read them with pyarrow, as the Arrow executor does; they need Esker installed as the driver does. Spark takes some
names of files for hidden and others for no names at all; and without the native relation it cannot be made to find columns by
id.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from esker.arrow.read import read_task
from esker.core import types as t
from esker.core.arrow_types import to_arrow_schema
from esker.core.scan import Deletes, ScanPlan
from esker.core.types import Struct, any_type
from esker.errors import Unsupported
from esker.spark.types import as_read, spark_form, to_spark_schema


def rows(spark: SparkSession, plan: ScanPlan) -> DataFrame:
    """The live rows of the planned files, with the plan's columns."""
    if any_type(plan.schema, t.VARIANT):
        raise Unsupported("variants in files that only Python workers can read", where=plan.location)
    tasks = pa.table({"task": pa.array([pickle.dumps(task) for task in plan.tasks()], pa.binary())})
    shape = to_spark_schema(as_read(plan.schema))
    return spark.createDataFrame(tasks).repartition(len(plan)).mapInArrow(_reader(_travelling(plan)), shape)


def _travelling(plan: ScanPlan) -> ScanPlan:
    """How to read any file of the plan, without the files and without what only the driver can do."""
    nothing = np.zeros(len(plan), dtype=bool)
    return replace(
        plan,
        paths=plan.paths.slice(0, 0),
        sizes=plan.sizes.slice(0, 0),
        constants=plan.constants.slice(0, 0),
        has_deletes=nothing[:0],
        load_deletes=_no_deletes,
        find_deletes=_nothing,
        may_match=None,
        formats=None,
    )


def _nothing() -> None:
    pass


def _no_deletes(ordinals: Sequence[int]) -> Mapping[int, Deletes]:
    return {}


def spark_arrow_schema(schema: Struct) -> pa.Schema:
    """What Spark takes from Arrow for these columns. A value that would change on the way there stops the query."""
    form = spark_form(schema)
    assert isinstance(form, Struct)
    return pa.schema([_as_taken(field) for field in to_arrow_schema(form)])


def _as_taken(field: pa.Field) -> pa.Field:
    return field.with_type(pa.time64("ns")) if pa.types.is_time(field.type) else field


def _reader(plan: ScanPlan) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = spark_arrow_schema(as_read(plan.schema))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column("task").to_pylist():
                for found in read_task(plan, pickle.loads(task)):
                    yield from pa.Table.from_batches([found]).cast(schema).to_batches()

    return read
