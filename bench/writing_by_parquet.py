"""What is asked of Spark's own Parquet writer, which is the least that writing rows can cost?"""

from pyspark.sql import DataFrame, SparkSession


def configured(builder: SparkSession.Builder) -> SparkSession.Builder:
    return builder


def started(builder: SparkSession.Builder) -> SparkSession:
    return builder.getOrCreate()


def rows(spark: SparkSession, table: str) -> DataFrame:
    return spark.read.parquet(f"{table}/written")


def append(spark: SparkSession, table: str, source: str) -> None:
    spark.read.parquet(source).write.mode("append").parquet(f"{table}/written")


def append_often(spark: SparkSession, table: str, source: str, times: int) -> None:
    frame = spark.read.parquet(source)
    for _ in range(times):
        frame.write.mode("append").parquet(f"{table}/written")
