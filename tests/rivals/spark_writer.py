"""A process that writes by Spark, and may be unlucky: python -m tests.rivals.spark_writer HOW LOCATION MARKS

`marks` is a folder in which each attempt at a task leaves a file, so that one can tell afterwards that there was more than one.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import esker

ROWS, TASKS = 4000, 4

SETTINGS: dict[str, dict[str, str | int | bool]] = {
    "retried": {"spark.master": "local[2,4]"},
    "merge": {"spark.master": "local[2]"},
}


def main(how: str, location: str, marks: str) -> None:
    spark = esker.session(**SETTINGS[how], **{"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": 4})
    table = esker.open(location)
    if how == "merge":
        source = spark.range(ROWS // 2, ROWS * 2, numPartitions=TASKS).selectExpr("id", "-id AS v")
        merge = table.merge(source, "target.id = source.id", spark=spark)
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
    else:
        table.append(unlucky(spark, marks))
    Path(marks, "acknowledged").touch()


def unlucky(spark: SparkSession, marks: str) -> DataFrame:
    """Rows, of which those of one task come on the second attempt."""

    def attempt(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        assert context is not None
        is_first, number = context.attemptNumber() == 0, context.partitionId()
        Path(marks, f"{number}-{context.attemptNumber()}").touch()
        yield from batches
        if is_first and number == 1:
            raise RuntimeError("the first attempt fails, when its rows were written")

    return spark.range(0, ROWS, numPartitions=TASKS).selectExpr("id", "id AS v").mapInPandas(attempt, "id long, v long")


if __name__ == "__main__":
    main(*sys.argv[1:])
