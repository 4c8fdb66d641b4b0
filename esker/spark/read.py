"""What are the rows of a scan plan, as a Spark frame?"""

from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from esker.core.scan import ScanPlan
from esker.spark import native


def read(spark: SparkSession, plan: ScanPlan, where: str | None = None, relation: Literal["auto", "native", "portable"] = "auto") -> DataFrame:
    frame = native.rows(spark, plan)
    return frame if where is None else frame.where(where)
