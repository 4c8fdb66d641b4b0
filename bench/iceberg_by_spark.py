"""What is asked of iceberg-spark?  Run by a Python that has the Spark which the runtime fits, and has no Esker."""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.questions import ICEBERG_RUNTIME, ON, SOME, aggregated

RUNTIME = f"org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:{ICEBERG_RUNTIME}"
_CATALOG = "spark.sql.catalog.local"


def configured(builder: SparkSession.Builder) -> SparkSession.Builder:
    builder = builder.config("spark.jars.packages", RUNTIME)
    builder = builder.config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    builder = builder.config(_CATALOG, "org.apache.iceberg.spark.SparkCatalog").config(f"{_CATALOG}.type", "hadoop")
    builder = builder.config(f"{_CATALOG}.cache-enabled", "false")
    # what is fetched stays in this environment, and goes with it
    return builder.config("spark.jars.ivy", str(Path(sys.prefix, "ivy")))


def started(builder: SparkSession.Builder) -> SparkSession:
    return builder.getOrCreate()


def rows(spark: SparkSession, table: str) -> DataFrame:
    return spark.table(named(spark, table))


def scan(spark: SparkSession, table: str, source: str) -> None:
    aggregated(rows(spark, table))


def append(spark: SparkSession, table: str, source: str) -> None:
    spark.read.parquet(source).writeTo(named(spark, table)).append()


def append_often(spark: SparkSession, table: str, source: str, times: int) -> None:
    frame = spark.read.parquet(source)
    for _ in range(times):
        frame.writeTo(named(spark, table)).append()


def delete(spark: SparkSession, table: str, source: str) -> None:
    spark.sql(f"DELETE FROM {named(spark, table)} WHERE {SOME}")


def merge(spark: SparkSession, table: str, source: str) -> None:
    spark.read.parquet(source).createOrReplaceTempView("source")
    spark.sql(
        f"MERGE INTO {named(spark, table)} AS target USING source ON {ON} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def optimize(spark: SparkSession, table: str, source: str) -> None:
    name = named(spark, table).removeprefix("local.")
    spark.sql(f"CALL local.system.rewrite_data_files(table => '{name}')").collect()


def named(spark: SparkSession, table: str) -> str:
    """A table by the folder that it lies in, which is the catalog's from its first use on."""
    folder, _, name = table.rpartition("/")
    spark.conf.set(f"{_CATALOG}.warehouse", folder)
    return f"local.`{name}`"
