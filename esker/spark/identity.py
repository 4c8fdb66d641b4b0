"""How do rows get unique numbers?

The rows of a task are numbered in steps as wide as there are tasks, so that no two tasks share a number and few are left out.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from esker.core.write import Numbered
from esker.spark.layout import named
from esker.spark.session import is_connect

_ROW_BITS = (1 << 33) - 1  # of monotonically_increasing_id: the rest is the task's number


def numbered(frame: DataFrame, columns: Mapping[str, Numbered]) -> DataFrame:
    """The frame with the columns added."""
    if not columns:
        return frame
    most = most_tasks(frame.sparkSession)
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_BITS))
    place = F.spark_partition_id() + row * F.lit(most)
    values = {name: F.lit(_first(rule)) + F.lit(rule.step) * place for name, rule in columns.items()}
    kept = [named(name) for name in frame.columns if name not in columns]
    return frame.coalesce(most).select(*kept, *(value.alias(name) for name, value in values.items()))


def _first(rule: Numbered) -> int:
    return rule.start if rule.after is None else rule.after + rule.step


def most_tasks(spark: SparkSession) -> int:
    """How many tasks run at once, or, where that is not to be known, may be of use."""
    if is_connect(spark):
        return int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    return max(1, spark.sparkContext.defaultParallelism)
