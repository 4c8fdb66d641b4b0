"""What is asked of Esker about Iceberg tables without Spark?  A plan lists all that has to be read, in columns."""

from tempfile import TemporaryDirectory

import pyarrow.compute as pc

import esker
from bench.data import small_rows
from bench.questions import COMMITS, WANTED_ROW, Answer
from esker.core.sql import parse
from esker.formats import open_format


def planned(folder: str) -> Answer:
    return summed(f"{folder}/target", None)


def filtered(folder: str) -> Answer:
    return summed(f"{folder}/target", f"id = {WANTED_ROW}")


def committed(folder: str) -> Answer:
    """A new table, and commits of a few rows one after another."""
    rows = small_rows(0)
    with TemporaryDirectory(dir=folder) as place:
        table = esker.create(f"{place}/t", rows.schema, format="iceberg")
        for _ in range(COMMITS):
            table = table.append(rows)
        return [table.to_arrow(columns=["id"]).num_rows]


def summed(table: str, where: str | None) -> Answer:
    """How many files are to be read, and how many bytes."""
    plan = open_format(table, {}, {}).plan(where=None if where is None else parse(where))
    return [len(plan), int(pc.sum(plan.sizes).as_py())]
