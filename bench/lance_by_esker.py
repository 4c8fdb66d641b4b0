"""What is asked of Esker about Lance tables, on Spark?  Opening the table is part of each question."""

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

import esker
from bench.questions import WANTED_ROW, Answer, aggregated


def scanned(spark: SparkSession, folder: str) -> Answer:
    return aggregated(esker.open(f"{folder}/lance").to_df(spark))


def filtered(spark: SparkSession, folder: str) -> Answer:
    return aggregated(esker.open(f"{folder}/lance").to_df(spark, where=f"id = {WANTED_ROW}"))


def counted(spark: SparkSession, folder: str) -> Answer:
    """Whole rows come to Spark, whatever it then does with them: it cannot leave out columns of a source in Python."""
    return _summed(esker.open(f"{folder}/lance").to_df(spark))


def found(spark: SparkSession, folder: str) -> Answer:
    return _summed(esker.open(f"{folder}/lance").to_df(spark, where=f"id = {WANTED_ROW}"))


def written(spark: SparkSession, folder: str) -> Answer:
    with TemporaryDirectory(dir=Path(folder).parent) as target:
        made = esker.create(f"{target}/t", spark.read.parquet(f"{folder}/data"), format="lance")
        return [sum(made.files().column("records").to_pylist()), made.version]


def _summed(rows: DataFrame) -> Answer:
    row = rows.selectExpr("count(1)", "sum(id)").collect()[0]
    return [int(row[0]), int(row[1])]
