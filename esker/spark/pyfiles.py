"""How are files read that Spark's own reader cannot read right?

Python workers read them with pyarrow, as the Arrow executor does; they need Esker installed as the driver does. Spark takes some
names of files for hidden and others for no names at all; without the native relation it cannot be made to find columns by id; and
an old one misreads some columns.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from esker.arrow.read import read_task
from esker.core.scan import Deletes, ScanPlan
from esker.core.types import Struct
from esker.spark.types import as_read, spark_form, to_spark_schema
from esker.spark.variants import for_spark


def rows(spark: SparkSession, plan: ScanPlan) -> DataFrame:
    """The live rows of the planned files, with the plan's columns."""
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


def _reader(plan: ScanPlan) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    form = spark_form(as_read(plan.schema))
    assert isinstance(form, Struct)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column("task").to_pylist():
                for found in read_task(plan, pickle.loads(task)):
                    for at, field in enumerate(form):
                        found = found.set_column(at, field.name, for_spark(found.column(at), field.type))
                    yield found

    return read
