"""A process that writes by Spark, and may be unlucky: python -m tests.rivals.spark_writer HOW MASTER MARKS LOCATION...

`marks` is a folder in which each attempt at a task leaves a file, so that one can tell afterwards that there was more than one.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import DataFrame

import esker

ROWS, TASKS = 4000, 4

SETTINGS: dict[str, dict[str, str | int | bool]] = {
    "speculated": {
        "spark.speculation": True, "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1", "spark.speculation.minTaskRuntime": "100ms", "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": ":".join(sys.path),
    },
}  # fmt: skip


def main(how: str, master: str, marks: str, *locations: str) -> None:
    own = {"spark.master": master, "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": 4}
    spark = esker.session(**SETTINGS.get(how, {}), **own)
    for location in locations:
        table, attempts = esker.open(location), Path(marks, Path(location).name)
        attempts.mkdir()
        rows = spark.range(0, ROWS, numPartitions=TASKS).selectExpr("id", "id AS v")
        source = spark.range(ROWS // 2, ROWS * 2, numPartitions=TASKS).selectExpr("id", "-id AS v")
        match how:
            case "speculated":
                table.append(unlucky(rows, attempts, fails=False))
            case "retried":
                table.append(unlucky(rows, attempts, fails=True))
                merged(table, unlucky(source, attempts, fails=True))
            case "merge":
                merged(table, source)
    Path(marks, "acknowledged").touch()


def merged(table: esker.Table, source: DataFrame) -> None:
    merge = table.merge(source, "target.id = source.id", spark=source.sparkSession)
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def unlucky(rows: DataFrame, marks: Path, fails: bool) -> DataFrame:
    """The rows. The first attempt at one of the tasks fails in the end, or is so slow that it has a twin, with which it goes on."""

    def attempt(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        assert context is not None
        is_first, number = context.attemptNumber() == 0, context.partitionId()
        (marks / f"{number}-{context.attemptNumber()}").touch()
        patience = time.monotonic() + 120
        while is_first and number == 1 and not fails and not (marks / "1-1").exists() and time.monotonic() < patience:
            time.sleep(0.05)
        yield from batches
        if is_first and number == 1 and fails:
            raise RuntimeError("the first attempt fails, when its rows were written")

    return rows.mapInPandas(attempt, "id long, v long")


if __name__ == "__main__":
    main(*sys.argv[1:])
