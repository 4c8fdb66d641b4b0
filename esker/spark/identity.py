"""How do rows get unique numbers?

The rows of a task are numbered in steps as wide as there are tasks, so that no two tasks share a number and few are left out.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from esker.core.write import Numbered
from esker.spark.failures import BROKEN
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
    values = {name: _number(rule, place, name) for name, rule in columns.items()}
    kept = [named(name) for name in frame.columns if name not in columns]
    return frame.coalesce(most).select(*kept, *(value.alias(name) for name, value in values.items()))


def _number(rule: Numbered, place: Column, name: str) -> Column:
    first = rule.start if rule.after is None else rule.after + rule.step
    number = F.try_add(F.lit(first).cast("long"), F.try_multiply(F.lit(rule.step).cast("long"), place))
    # "Overflow when calculating generated Identity values should be detected and such writes should not be allowed."
    told = F.lit(f"{BROKEN}the range of the identity column {name}: it has no numbers left")
    return F.coalesce(number, F.raise_error(told).cast("long"))


def most_tasks(spark: SparkSession) -> int:
    """How many tasks run at once, or, where that is not to be known, may be of use."""
    if is_connect(spark):
        return int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    return max(1, spark.sparkContext.defaultParallelism)
