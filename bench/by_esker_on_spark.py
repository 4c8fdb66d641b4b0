"""What is asked of Esker on Spark?  Opening the table is part of each question."""

from pyspark.sql import SparkSession

import esker
from bench.questions import WANTED_ROW, Answer, aggregated


def scanned(spark: SparkSession, folder: str) -> Answer:
    return aggregated(esker.open(folder).to_df(spark))


def filtered(spark: SparkSession, folder: str) -> Answer:
    return aggregated(esker.open(folder).to_df(spark, where=f"id = {WANTED_ROW}"))
