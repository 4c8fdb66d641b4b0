"""What is asked of Esker about Iceberg tables on Spark?  Opening the table is part of each call; writing is as for Delta."""

from pyspark.sql import SparkSession

import esker
from bench.questions import Answer, aggregated
from bench.writing_by_esker import append, append_often, configured, delete, merge, optimize, rows, started

__all__ = [
    "append", "append_often", "configured", "delete", "merge", "optimize", "rows", "scan", "scanned", "started",
]  # fmt: skip


def scanned(spark: SparkSession, folder: str) -> Answer:
    return aggregated(esker.open(f"{folder}/target").to_df(spark))


def scan(spark: SparkSession, table: str, source: str) -> None:
    aggregated(rows(spark, table))
