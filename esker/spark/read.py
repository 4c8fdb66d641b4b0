"""What are the rows of a scan plan, as a Spark frame?

Lazy: what must be known before rows flow is checked here, and rows flow when the frame is used.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import TypeAlias

import numpy as np
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from esker.core.columns import Mask
from esker.core.fragments import FragmentScan, Scan
from esker.core.scan import Resolution, ScanPlan
from esker.core.types import VARIANT, any_type
from esker.errors import InvalidRequest
from esker.spark import Relation, fragment_relation, fragments, native, portable, pyfiles
from esker.spark.equality import without_equal_rows
from esker.spark.files import is_listed, is_openable
from esker.spark.fitness import by_python
from esker.spark.frames import filtered
from esker.spark.layout import has_row_index
from esker.spark.session import is_connect


def read(spark: SparkSession, plan: Scan, where: str | None = None, relation: Relation = "auto") -> DataFrame:
    """The plan's columns in order, of the rows for which `where` is true.

    The native relation gives a query's filters to the plan, file by file, whenever the query is planned. A session without a
    JVM has the portable one, which reads all of the plan's files. Fragments have one of each kind as well.
    """
    match plan:
        case FragmentScan():
            fragments.check_names(spark, plan)
            frame = _chosen(spark, relation, partial(fragment_relation.rows, spark, plan), partial(fragments.rows, spark, plan))
        case ScanPlan():
            plan.find_deletes()  # Spark asks for them only when a query is planned
            frame = _chosen(spark, relation, partial(_living, spark, plan, _native), partial(_living, spark, plan, _portable))
    return frame if where is None else filtered(frame, where)


def _chosen(
    spark: SparkSession, relation: Relation, native: Callable[[], DataFrame], portable: Callable[[], DataFrame]
) -> DataFrame:
    match relation:
        case "native" if is_connect(spark):
            raise InvalidRequest("a Spark Connect session has no JVM at hand, which the native relation needs")
        case "native":
            return native()
        case "auto" if not is_connect(spark):
            try:
                return native()
            except (Py4JError, TypeError) as error:  # py4j calls a missing class a package, and calling one a TypeError
                _warn(error)
    return portable()


_Frames: TypeAlias = Callable[[SparkSession, ScanPlan], Iterator[DataFrame]]


def _living(spark: SparkSession, plan: ScanPlan, frames: _Frames) -> DataFrame:
    """The rows without the dead ones. Only files that may hold rows dead by value are compared with deleted ones."""

    compared = plan.has_equality if plan.equality else np.zeros(len(plan), dtype=bool)

    def parts() -> Iterator[DataFrame]:
        if compared.any():
            yield without_equal_rows(plan.only(compared), lambda whole: _living(spark, whole, frames))
        if not compared.all() or not len(plan):
            for part in plan.only(~compared).settled():
                yield from frames(spark, part)

    return _union(parts())


def _native(spark: SparkSession, plan: ScanPlan) -> Iterator[DataFrame]:
    openable = _files_for_which(plan, is_openable) & ~by_python(plan) & _reads_right(spark, plan)
    if not openable.all():
        yield pyfiles.rows(spark, plan.only(~openable))
    plain = openable & ~plan.has_deletes
    deleted = openable & plan.has_deletes
    # Only the files with deletes are to pay for the row's index, unless the caller asked for it.
    if plain.any() and deleted.any() and not has_row_index(plan):
        yield native.rows(spark, plan.only(plain))
        yield native.rows(spark, plan.only(deleted))
    elif openable.any() or not len(plan):
        yield native.rows(spark, plan.only(openable))


def _portable(spark: SparkSession, plan: ScanPlan) -> Iterator[DataFrame]:
    listed = _files_for_which(plan, is_listed) & _reads_right(spark, plan) & (plan.resolution is Resolution.NAME)
    if not listed.all():
        yield pyfiles.rows(spark, plan.only(~listed))
    if listed.any() or not len(plan):
        yield portable.rows(spark, plan.only(listed))


def _reads_right(spark: SparkSession, plan: ScanPlan) -> bool:
    """Whether Spark's own reader of Parquet knows all that the plan's files may hold; that of Spark 4.0 does not."""
    if tuple(int(part) for part in spark.version.split(".")[:2]) >= (4, 1):
        return True
    # Its Parquet library cannot open a file in which a variant is annotated as one.
    has_variants = any_type(plan.schema, VARIANT)
    # It looks the type of a column up by the file's name for it, and fails to widen what has another name in the table.
    is_widened_by_id = plan.resolution is Resolution.ID and plan.may_be_narrower
    return not has_variants and not is_widened_by_id


def _files_for_which(plan: ScanPlan, test: Callable[[str], bool]) -> Mask:
    return np.fromiter((test(url) for url in plan.paths.to_pylist()), dtype=bool, count=len(plan))


def _union(frames: Iterator[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, frames)


def _warn(error: Exception) -> None:
    """Said once: Python shows a warning of one place a single time."""
    reason = str(error).strip().splitlines()[0]
    warnings.warn(
        f"the native relation is not to be had in this Spark, so queries skip no files by themselves: {reason}",
        RuntimeWarning,
        stacklevel=4,
    )
