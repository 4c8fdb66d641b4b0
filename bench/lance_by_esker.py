"""What is asked of Esker about Lance tables?  Opening the table is part of each question."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import esker
from bench.questions import WANTED_ROW, Answer, aggregated


def scanned(spark: SparkSession, folder: str) -> Answer:
    return aggregated(esker.open(f"{folder}/lance").to_df(spark))


def filtered(spark: SparkSession, folder: str) -> Answer:
    return aggregated(esker.open(f"{folder}/lance").to_df(spark, where=f"id = {WANTED_ROW}"))


def counted(spark: SparkSession, folder: str) -> Answer:
    return _summed(esker.open(f"{folder}/lance").to_df(spark))


def found(spark: SparkSession, folder: str) -> Answer:
    return _summed(esker.open(f"{folder}/lance").to_df(spark, where=f"id = {WANTED_ROW}"))


def written(spark: SparkSession, folder: str) -> Answer:
    with TemporaryDirectory(dir=Path(folder).parent) as target:
        made = esker.create(f"{target}/t", spark.read.parquet(f"{folder}/data"), format="lance")
        return [sum(made.files().column("records").to_pylist()), made.version]


def written_alone(spark: SparkSession, folder: str) -> Answer:
    rows = pq.read_table(f"{folder}/data")
    with TemporaryDirectory(dir=Path(folder).parent) as target:
        made = esker.create(f"{target}/t", rows, format="lance")
        return [sum(made.files().column("records").to_pylist()), made.version]


def _summed(rows: DataFrame) -> Answer:
    """The sum of the ids, and how many values of each column are not null: as `lance_by_pylance` tells it."""
    row = rows.selectExpr("sum(id)", *(f"count(`{name}`)" for name in sorted(rows.columns))).collect()[0]
    return [int(value) for value in row]
