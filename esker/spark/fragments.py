"""What are the rows of a scan of fragments, as a Spark frame, where there is no JVM at hand?

A data source of Spark's Python API: one task for a group of fragments, which a Python worker reads through the format's library
and hands over as Arrow batches. Filters of a query reach the library where Spark offers them; Spark evaluates them again. The
workers need Esker and the library installed as the driver does.
"""

import base64
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as ds
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from esker.arrow.brought import in_micros
from esker.arrow.lance import read_fragments
from esker.arrow.plain import plain_array
from esker.core.binding import bind
from esker.core.fragments import FragmentScan
from esker.core.predicate import Comparison, IsIn, IsNull, Not, Operator, Predicate, StartsWith, all_of
from esker.core.types import Struct
from esker.errors import EskerError, Unsupported
from esker.spark.types import as_read, to_spark_schema

GROUP = 128 << 20
"""How many bytes of a table a task reads at most, about."""
_ENABLED = "spark.sql.python.filterPushdown.enabled"
_SCAN = "scan"


def rows(spark: SparkSession, scan: FragmentScan) -> DataFrame:
    """The rows of the scan, with its columns."""
    source = FilteringSource if takes_filters(spark) else FragmentSource
    spark.dataSource.register(source)
    text = base64.b64encode(pickle.dumps(scan)).decode()
    return spark.read.format(source.name()).schema(shape(scan)).option(_SCAN, text).load()


def check_names(spark: SparkSession, scan: FragmentScan) -> None:
    """Refuse columns that Spark cannot tell apart."""
    if str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true":
        return
    counted = Counter(column.field.name.lower() for column in scan.columns)
    if alike := [column.field.name for column in scan.columns if counted[column.field.name.lower()] > 1]:
        raise Unsupported(
            f"to Spark these columns have one name: {', '.join(alike)}", where=scan.location,
            hint="Choose among them with columns=, or set spark.sql.caseSensitive.",
        )  # fmt: skip


def shape(scan: FragmentScan) -> StructType:
    """The columns as Spark has them. Times in nanoseconds are read as such in microseconds, where no value is lost by that."""
    visible = in_micros(scan.schema)
    assert isinstance(visible, Struct)
    comments = {field.name: field.metadata for field in scan.schema}
    return to_spark_schema(as_read(Struct(tuple(replace(f, metadata=comments[f.name]) for f in visible))))


def plain(batch: pa.RecordBatch, scan: FragmentScan) -> pa.RecordBatch:
    """The batch in the types that Spark has."""
    arrays = [plain_array(batch.column(i), column.field) for i, column in enumerate(scan.columns)]
    return pa.RecordBatch.from_arrays(arrays, names=[column.field.name for column in scan.columns])


def left_to(scan: FragmentScan, filters: Iterable[Predicate]) -> FragmentScan:
    """The scan with what it can take of a query's filters. Spark evaluates them again, so any may be left out."""
    bound = []
    for found in filters:
        with suppress(EskerError):  # of columns that the table lacks, or compared with what it does not hold
            bound.append(bind(found, scan.filterable))
    return scan.filtered(all_of(*bound)) if bound else scan


def takes_filters(spark: SparkSession) -> bool:
    """Whether Spark hands filters to sources in Python. Without the setting it refuses a source that would take them."""
    return hasattr(ds, "Filter") and str(spark.conf.get(_ENABLED, "false")).lower() == "true"


class FragmentSource(DataSource):
    """Fragments of one version of a table."""

    @classmethod
    def name(cls) -> str:
        return "esker_fragments"

    def reader(self, schema: StructType) -> "FragmentReader":
        return FragmentReader(_scan(self.options))


class FilteringSource(FragmentSource):
    """The same for a Spark that hands its filters over."""

    @classmethod
    def name(cls) -> str:
        return "esker_filtered_fragments"

    def reader(self, schema: StructType) -> "FilteringReader":
        return FilteringReader(_scan(self.options))


class Group(InputPartition):
    """The fragments of one task."""

    def __init__(self, fragments: Sequence[int]) -> None:
        super().__init__(tuple(fragments))


class FragmentReader(DataSourceReader):
    """Reads groups of fragments."""

    def __init__(self, scan: FragmentScan) -> None:
        self.scan = scan

    def partitions(self) -> Sequence[InputPartition]:
        return [Group(group.fragments) for group in self.scan.groups(GROUP)] or [Group(())]  # Spark wants one at least

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in read_fragments(self.scan.of(partition.value)):
            yield plain(batch, self.scan)


class FilteringReader(FragmentReader):
    """Leaves what it can of a query's filters to the library."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Spark keeps them all, since the library's answer may have rows too many."""
        self.scan = left_to(self.scan, (found for own in filters if (found := _predicate(own)) is not None))
        return filters


def _scan(options: Mapping[str, str]) -> FragmentScan:
    found = pickle.loads(base64.b64decode(options[_SCAN]))
    assert isinstance(found, FragmentScan)
    return found


_OPERATORS = {
    "EqualTo": Operator.EQ, "GreaterThan": Operator.GT, "GreaterThanOrEqual": Operator.GE, "LessThan": Operator.LT,
    "LessThanOrEqual": Operator.LE,
}  # fmt: skip


def _predicate(own: Any) -> Predicate | None:
    kind = type(own).__name__
    if kind in _OPERATORS:
        return None if own.value is None else Comparison(tuple(own.attribute), _OPERATORS[kind], own.value)
    match kind:
        case "In":
            values = tuple(value for value in own.value if value is not None)
            return IsIn(tuple(own.attribute), values, len(values) < len(own.value)) if values else None
        case "IsNull":
            return IsNull(tuple(own.attribute))
        case "IsNotNull":
            return Not(IsNull(tuple(own.attribute)))
        case "StringStartsWith":
            return StartsWith(tuple(own.attribute), own.value)
        case "Not":
            child = _predicate(own.child)
            return None if child is None else Not(child)
    return None
