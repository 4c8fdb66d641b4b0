"""What is asked of delta-spark?  Run by a Python that has it, and has no Esker."""

import sys
from pathlib import Path

from delta import DeltaTable, configure_spark_with_delta_pip
from pyspark.sql import DataFrame, SparkSession

from bench.questions import ON, PRICE, SOME


def configured(builder: SparkSession.Builder) -> SparkSession.Builder:
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    # what is fetched stays in this environment, and goes with it
    return builder.config("spark.jars.ivy", str(Path(sys.prefix, "ivy")))


def started(builder: SparkSession.Builder) -> SparkSession:
    return configure_spark_with_delta_pip(builder).getOrCreate()


def rows(spark: SparkSession, table: str) -> DataFrame:
    return spark.read.format("delta").load(table)


def append(spark: SparkSession, table: str, source: str) -> None:
    spark.read.parquet(source).write.format("delta").mode("append").save(table)


def append_often(spark: SparkSession, table: str, source: str, times: int) -> None:
    frame = spark.read.parquet(source)
    for _ in range(times):
        frame.write.format("delta").mode("append").save(table)


def delete(spark: SparkSession, table: str, source: str) -> None:
    DeltaTable.forPath(spark, table).delete(SOME)


def update(spark: SparkSession, table: str, source: str) -> None:
    DeltaTable.forPath(spark, table).update(SOME, {"price": PRICE})


def merge(spark: SparkSession, table: str, source: str) -> None:
    merging = DeltaTable.forPath(spark, table).alias("target").merge(spark.read.parquet(source).alias("source"), ON)
    merging.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def optimize(spark: SparkSession, table: str, source: str) -> None:
    DeltaTable.forPath(spark, table).optimize().executeCompaction()
