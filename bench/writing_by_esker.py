"""What is asked of Esker as a writer?  Opening the table is part of each call."""

from pyspark.sql import DataFrame, SparkSession

import esker
from bench.questions import ON, PRICE, SOME


def configured(builder: SparkSession.Builder) -> SparkSession.Builder:
    return builder


def started(builder: SparkSession.Builder) -> SparkSession:
    return builder.getOrCreate()


def rows(spark: SparkSession, table: str) -> DataFrame:
    return esker.open(table).to_df(spark)


def append(spark: SparkSession, table: str, source: str) -> None:
    esker.open(table).append(spark.read.parquet(source))


def append_often(spark: SparkSession, table: str, source: str, times: int) -> None:
    frame, target = spark.read.parquet(source), esker.open(table)
    for _ in range(times):
        target.append(frame)


def delete(spark: SparkSession, table: str, source: str) -> None:
    esker.open(table).delete(SOME, spark=spark)


def update(spark: SparkSession, table: str, source: str) -> None:
    esker.open(table).update({"price": PRICE}, SOME, spark=spark)


def merge(spark: SparkSession, table: str, source: str) -> None:
    merging = esker.open(table).merge(spark.read.parquet(source), ON)
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


def optimize(spark: SparkSession, table: str, source: str) -> None:
    esker.open(table).optimize(spark=spark)
