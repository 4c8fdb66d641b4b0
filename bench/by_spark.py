"""What is asked of Spark's own Parquet source, on the data files of a table?"""

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from bench.questions import WANTED_ROW, Answer, aggregated


def scanned(spark: SparkSession, folder: str) -> Answer:
    return aggregated(spark.read.parquet(f"{folder}/data"))


def filtered(spark: SparkSession, folder: str) -> Answer:
    return aggregated(spark.read.parquet(f"{folder}/data").where(f"id = {WANTED_ROW}"))


def written(spark: SparkSession, folder: str) -> Answer:
    with TemporaryDirectory(dir=Path(folder).parent) as target:
        spark.read.parquet(f"{folder}/data").write.parquet(f"{target}/t")
        return [spark.read.parquet(f"{target}/t").count(), 1]
