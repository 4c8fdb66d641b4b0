"""How does Spark scan fragments for no more than a query needs?

A relation in the driver's JVM, which asks back when a query is planned: it is told the columns and the filters that Catalyst
arrived at, and answered with a frame. A task of that frame reads a group of fragments in a Python worker.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from esker.arrow.lance import read_fragments
from esker.core.catalyst import from_catalyst
from esker.core.fragments import FragmentScan
from esker.errors import EskerError
from esker.spark.doors import door_of, known_zone
from esker.spark.fragments import GROUP, left_to, plain, shape

_LEAST = 4 << 20
_NOTHING = "nothing"


def rows(spark: SparkSession, scan: FragmentScan) -> DataFrame:
    """The rows of the scan, with its columns."""
    jvm: Any = spark.sparkContext._jvm
    planned = door_of(spark, "PlannedFragments").relation(
        spark._jsparkSession,
        jvm.org.apache.spark.sql.types.DataType.fromJson(shape(scan).json()),
        sum(scan.sizes),
        _Planner(spark, scan),
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(planned), spark)


def by_workers(spark: SparkSession, scan: FragmentScan) -> DataFrame:
    """A frame that reads all of the scan; without columns, its rows have one that says nothing."""
    # as many tasks as there are cores, but none for next to nothing
    share = sum(scan.sizes) // max(1, spark.sparkContext.defaultParallelism)
    groups = [group.fragments for group in scan.groups(min(GROUP, max(_LEAST, share)))]

    def read(ordinals: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in ordinals:
            for ordinal in batch.column(0).to_pylist():
                for found in read_fragments(scan.of(groups[ordinal])):
                    yield plain(found, scan) if scan.columns else _counted(found)

    kind = shape(scan) if scan.columns else s.StructType([s.StructField(_NOTHING, s.BooleanType())])
    return spark.range(0, len(groups), 1, max(1, len(groups))).mapInArrow(read, kind)


def _counted(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.bool_())], names=[_NOTHING])


class _Planner:
    """Answers what Spark asks while it plans a query, with a frame, or with a text that says what went wrong.

    An exception must not cross to the JVM: it would be told as a fault of the connection.
    """

    def __init__(self, spark: SparkSession, scan: FragmentScan):
        self._spark = spark
        self._scan = scan

    def apply(self, question: str, about: str) -> JavaObject | str:
        try:
            return by_workers(self._spark, self._asked(json.loads(about)))._jdf
        except EskerError as error:
            return f"{type(error).__name__}: {error}"
        except Exception as error:
            return f"the {question} of {self._scan.location} could not be planned: {type(error).__name__}: {error}"

    def _asked(self, asked: dict[str, Any]) -> FragmentScan:
        """The scan cut down to what a query needs. Spark looks at the filters again, row by row."""
        zone = known_zone(asked["zone"])
        needed = replace(self._scan, columns=tuple(self._scan.columns[i] for i in asked["columns"]))
        return left_to(needed, (from_catalyst(tree, zone) for tree in asked["filters"]))

    class Java:
        implements: ClassVar[list[str]] = ["java.util.function.BiFunction"]
