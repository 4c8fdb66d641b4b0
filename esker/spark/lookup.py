"""How does a row find its number in a table that is small?

As an expression that Spark compiles: the table is a constant of the plan. A search is a chain of projections, one for each bit of
the answer, because an expression within an expression would be computed over and over.
"""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from esker.core.columns import Rows
from esker.spark.layout import named

Table = npt.NDArray[Any]
"""Integers, floating numbers, or texts without a comma."""


def looked_up(table: Rows, index: Column) -> Column:
    """The number in this place of the table."""
    return F.get(_constant(table), index.cast("int"))


def with_ranks(rows: DataFrame, searches: Mapping[str, tuple[str, Table]]) -> DataFrame:
    """The rows with new columns, each of which counts the values of a table, in order, that are not above another column's.

    Where that one is null the count is 0.
    """
    rows = rows.withColumns({rank: F.lit(0) for rank in searches})
    constants = {rank: _constant(table) for rank, (_, table) in searches.items()}
    longest = max(len(table) for _, table in searches.values())
    for bit in reversed(range(longest.bit_length())):
        steps = {
            rank: named(rank) + _step(constants[rank], named(rank), named(value), 1 << bit)
            for rank, (value, table) in searches.items()
            if len(table) >> bit
        }
        rows = rows.withColumns(steps)
    return rows


def _step(table: Column, rank: Column, value: Column, step: int) -> Column:
    """The step where what it leads to is not above the value; beyond the end of the table there is null."""
    return F.when(F.get(table, rank + (step - 1)) <= value, F.lit(step)).otherwise(F.lit(0))


def _constant(table: Table) -> Column:
    """An array. As a text it is one node of the plan, which Spark folds, however long it is."""
    kind = {"i": "bigint", "f": "double"}.get(table.dtype.kind, "string")
    texts = map(repr if kind == "double" else str, table.tolist())
    return F.split(F.lit(",".join(texts)), ",").cast(f"array<{kind}>")
