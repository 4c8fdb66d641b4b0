"""A process that writes by Spark, and may be unlucky: python -m tests.rivals.spark_writer HOW LOCATION MARKS [MASTER]

`marks` is a folder in which each attempt at a task leaves a file, so that one can tell afterwards that there was more than one.
"""

import sys
import time
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
    "speculated": {
        "spark.speculation": True, "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1", "spark.speculation.minTaskRuntime": "100ms", "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": ":".join(sys.path),
    },
}  # fmt: skip


def main(how: str, location: str, marks: str, master: str = "") -> None:
    where: dict[str, str | int | bool] = {"spark.master": master} if master else {}
    spark = esker.session(**SETTINGS[how], **where, **{"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": 4})
    table = esker.open(location)
    if how == "merge":
        source = spark.range(ROWS // 2, ROWS * 2, numPartitions=TASKS).selectExpr("id", "-id AS v")
        merge = table.merge(source, "target.id = source.id", spark=spark)
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
    else:
        table.append(unlucky(spark, marks, how == "retried"))
    Path(marks, "acknowledged").touch()


def unlucky(spark: SparkSession, marks: str, fails: bool) -> DataFrame:
    """Rows. The first attempt at one of the tasks fails in the end, or is so slow that it has a twin, with which it goes on."""

    def attempt(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        assert context is not None
        is_first, number = context.attemptNumber() == 0, context.partitionId()
        Path(marks, f"{number}-{context.attemptNumber()}").touch()
        patience = time.monotonic() + 120
        while is_first and number == 1 and not fails and not Path(marks, "1-1").exists() and time.monotonic() < patience:
            time.sleep(0.05)
        yield from batches
        if is_first and number == 1 and fails:
            raise RuntimeError("the first attempt fails, when its rows were written")

    return spark.range(0, ROWS, numPartitions=TASKS).selectExpr("id", "id AS v").mapInPandas(attempt, "id long, v long")


if __name__ == "__main__":
    main(*sys.argv[1:])
