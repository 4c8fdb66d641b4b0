"""How does iceberg-spark plan a table?  By its own Java interface, and all in the JVM."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.iceberg_by_spark import configured, named, started
from bench.questions import WANTED_ROW

__all__ = ["configured", "filter", "plan", "rows", "started"]


def plan(spark: SparkSession, table: str, source: str) -> None:
    _planned(spark, table, is_filtered=False)


def filter(spark: SparkSession, table: str, source: str) -> None:
    _planned(spark, table, is_filtered=True)


def rows(spark: SparkSession, table: str) -> DataFrame:
    """What both sides have to agree on: as many rows as there are files to read."""
    return spark.range(sum(_planned(spark, table, is_filtered=either) for either in (False, True)))


def _planned(spark: SparkSession, table: str, is_filtered: bool) -> int:
    java: Any = spark._jvm
    iceberg = java.org.apache.iceberg
    opened = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, named(spark, table))
    scan = opened.newScan()
    if is_filtered:
        scan = scan.filter(iceberg.expressions.Expressions.equal("id", WANTED_ROW))
    tasks = scan.planFiles()
    try:
        return int(iceberg.relocated.com.google.common.collect.Iterables.size(tasks))
    finally:
        tasks.close()
