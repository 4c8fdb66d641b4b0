"""How are rows of some files brought together in others?

One scan of all files and one exchange, after which each task has the rows of a few files and writes them. What becomes one file
is known for each row by its file, or by its place on a curve.
"""

from collections.abc import Callable
from typing import assert_never

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from esker.core.arrange import Curved, Packed, Rearrangement
from esker.core.change import unused
from esker.core.columns import Rows
from esker.core.scan import ScanPlan
from esker.core.write import WrittenFile
from esker.spark.curve import along_curve
from esker.spark.exchange import keys
from esker.spark.identity import most_tasks
from esker.spark.layout import named
from esker.spark.lookup import looked_up
from esker.spark.settings import settings
from esker.spark.write import table_rows, write_rows

_TASKS_PER_CORE = 4


def rearranged(what: Rearrangement, read: Callable[[ScanPlan], DataFrame], spark: SparkSession) -> tuple[WrittenFile, ...]:
    """Write every row of the plan, each piece of a part to one file."""
    tasks = task_count(what.pieces, _TASKS_PER_CORE * most_tasks(spark))
    match what.order:
        case Packed(piece):
            key = unused("key", what.plan.schema.names)
            rows = read(what.plan.labelled(key, _keys(what, piece, tasks))).repartition(tasks, named(key))
            return write_rows(table_rows(rows, what.spec), what.spec)
        case Curved():
            laid = along_curve(what, what.order, read)
            rows = laid.rows.repartition(tasks, looked_up(keys(tasks), named(laid.piece) % tasks))
            rows = rows.sortWithinPartitions(named(laid.piece), named(laid.place))
            # Else Spark sorts rows by their partitions, and need not keep them in their order within one.
            with settings(spark, {"spark.sql.maxConcurrentOutputFileWriters": "1"}):
                return write_rows(table_rows(rows, what.spec), what.spec)
    assert_never(what.order)


def _keys(what: Rearrangement, piece: Rows, tasks: int) -> Rows:
    """What leads the rows of each file to their task."""
    before = np.cumsum(what.pieces) - what.pieces
    task: Rows = (before[what.part] + piece) % tasks
    return keys(tasks)[task]


def task_count(pieces: Rows, wanted: int) -> int:
    """How many tasks write the pieces. Those of one part follow one another, and no two of them get to one task."""
    return max(int(pieces.max()), min(int(pieces.sum()), wanted))
