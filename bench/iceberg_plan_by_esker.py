"""How does Esker plan an Iceberg table in a process that runs on?  The Spark session beside it is the peer's need."""

from pyspark.sql import DataFrame, SparkSession

from bench.iceberg_by_esker import summed
from bench.questions import WANTED_ROW
from bench.writing_by_esker import configured, started

__all__ = ["configured", "filter", "plan", "rows", "started"]


def plan(spark: SparkSession, table: str, source: str) -> None:
    summed(table, None)


def filter(spark: SparkSession, table: str, source: str) -> None:
    summed(table, f"id = {WANTED_ROW}")


def rows(spark: SparkSession, table: str) -> DataFrame:
    """What both sides have to agree on: as many rows as there are files to read."""
    return spark.range(summed(table, None)[0] + summed(table, f"id = {WANTED_ROW}")[0])
