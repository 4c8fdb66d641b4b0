"""Rows by Spark. Importing this costs nothing: pyspark is loaded when one of these functions is first called."""

from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from esker.core.arrange import RowArranger
from esker.core.change import RowEditor, RowMerger
from esker.core.fragments import Scan
from esker.core.job import Job
from esker.core.merge import Merge
from esker.core.types import Struct
from esker.core.write import RowSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Relation: TypeAlias = Literal["auto", "native", "portable"]


def get_session(name: str = "esker", **config: Any) -> "SparkSession":
    """The active session, or a good local one: see `esker.spark.session`."""
    session: SparkSession = import_module("esker.spark.session").session(name, **config)
    return session


def session_zone(spark: "SparkSession | None") -> ZoneInfo | None:
    """The zone in which the session reads texts without one.

    None for a name that only Java knows, and in a session that reads SQL otherwise than others: what a condition means is
    then for Spark alone to say.
    """
    conf = (spark or get_session()).conf
    if any(str(conf.get(key, "false")).lower() == "true" for key in _OTHER_SQL):
        return None
    try:
        return ZoneInfo(str(conf.get("spark.sql.session.timeZone")))
    except (ZoneInfoNotFoundError, ValueError):
        return None


_OTHER_SQL = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled",
)
"""Settings under which a text, a number or a comparison means something else."""


def run_job(spark: "SparkSession | None", job: Job) -> pa.Table:
    """The outcome of a job that the workers do: see `esker.spark.job`."""
    return import_module("esker.spark.job").run(spark or get_session(), job)


def read_plan(
    spark: "SparkSession | None", plan: Scan, where: str | None = None, relation: Relation = "auto"
) -> "DataFrame":
    """The rows of a plan as a lazy frame: see `esker.spark.read`."""
    frame: DataFrame = import_module("esker.spark.read").read(spark or get_session(), plan, where, relation)
    return frame


def arrow_frame(spark: "SparkSession | None", rows: pa.Table) -> "DataFrame":
    """The rows of an Arrow table as a frame: see `esker.spark.frames`."""
    frame: DataFrame = import_module("esker.spark.frames").frame(spark or get_session(), rows)
    return frame


def collected(frame: "DataFrame") -> pa.Table:
    """The rows of a frame, all of them: see `esker.spark.frames`."""
    return import_module("esker.spark.frames").collected(frame)


def filtered(frame: "DataFrame", where: str) -> "DataFrame":
    """The rows of a frame for which a condition is true: see `esker.spark.frames`."""
    rows: DataFrame = import_module("esker.spark.frames").filtered(frame, where)
    return rows


def spark_rows(frame: "DataFrame") -> RowSource:
    """The rows of a frame, ready to be written: see `esker.spark.write`."""
    rows: RowSource = import_module("esker.spark.write").SparkRows(frame)
    return rows


def row_editor(spark: "SparkSession | None") -> RowEditor:
    """Who finds and rewrites rows: see `esker.spark.edit`."""
    editor: RowEditor = import_module("esker.spark.edit").SparkEditor(spark)
    return editor


def row_arranger(spark: "SparkSession | None") -> RowArranger:
    """Who lays rows out anew: see `esker.spark.edit`."""
    arranger: RowArranger = import_module("esker.spark.edit").SparkEditor(spark)
    return arranger


def row_merger(spark: "SparkSession | None", source: RowSource, merge: Merge) -> AbstractContextManager[RowMerger]:
    """Who merges the rows of a source: see `esker.spark.merge`."""
    merger: AbstractContextManager[RowMerger] = import_module("esker.spark.merge").merging(spark, source, merge)
    return merger


def spark_schema(schema: "StructType") -> Struct:
    """Our form of Spark's schema."""
    found: Struct = import_module("esker.spark.types").from_spark_schema(schema)
    return found
