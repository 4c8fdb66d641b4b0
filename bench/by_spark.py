"""What is asked of Spark's own Parquet source, on the data files of a table?"""

from pyspark.sql import SparkSession

from bench.questions import WANTED_ROW, Answer, aggregated


def scanned(spark: SparkSession, folder: str) -> Answer:
    return aggregated(spark.read.parquet(f"{folder}/data"))


def filtered(spark: SparkSession, folder: str) -> Answer:
    return aggregated(spark.read.parquet(f"{folder}/data").where(f"id = {WANTED_ROW}"))
