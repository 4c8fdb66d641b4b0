"""Do delete, update, merge and overwrite do to a table what plain Python does to lists of rows?"""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import esker
from tests.spark import row_oracle as oracle
from tests.spark.row_oracle import COLUMNS, SCHEMA, Outcome, Row

pytestmark = pytest.mark.spark

_ARROW = pa.schema([("n", pa.int64()), ("k", pa.int32()), ("v", pa.int32()), ("s", pa.string()), ("p", pa.string())])
_SWITCHES = {
    "vectors": {"delta.enableDeletionVectors": "true"},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "tracking": {"delta.enableRowTracking": "true"},
    "mapping": {"delta.columnMapping.mode": "name"},
    "partitions": {},
}
# Each row turns on some of what a table can have, so that any two of them meet in all four ways.
_TABLES = [
    set(),
    {"vectors", "feed", "tracking", "mapping", "partitions"},
    {"vectors", "feed"},
    {"tracking", "mapping", "feed"},
    {"partitions", "feed", "vectors"},
    {"partitions", "mapping"},
    {"vectors", "tracking"},
    {"feed", "partitions", "tracking"},
    {"mapping", "vectors"},
]


class Checked:
    """A table and the rows that it should have."""

    def __init__(self, spark: Any, path: Path, random: Random, switches: set[str]) -> None:
        properties = {name: text for switch in switches for name, text in _SWITCHES[switch].items()}
        self.spark = spark
        self.random = random
        self.switches = switches
        self.numbers = iter(range(10_000))
        self.table = esker.create(
            path, SCHEMA, partition_by=["p"] if "partitions" in switches else [], properties=properties
        )
        self.rows: list[Row] = []
        self.ids: dict[int, tuple[int, int]] = {}
        self.used: set[int] = set()
        for _ in range(3):
            fresh = [Row(values) for values in self.values(random.randint(1, 9))]
            self.table.append(arrow(fresh))
            self.settle(Outcome([*self.rows, *fresh]))

    def values(self, count: int) -> list[dict[str, Any]]:
        return [oracle.random_values(self.random, next(self.numbers)) for _ in range(count)]

    def settle(self, outcome: Outcome) -> None:
        """Compare the table with what is expected of it, and go on from there."""
        shown = self.table.to_arrow()
        assert counted(shown) == Counter(row.visible for row in outcome.rows)
        if "tracking" in self.switches:
            self._settle_ids(outcome)
        self.rows = outcome.rows

    def _settle_ids(self, outcome: Outcome) -> None:
        """Rows keep their ids; those that changed have the version that changed them, and new ones have fresh ids."""
        shown = self.table.to_arrow(columns=["*", "_row_id", "_row_commit_version"]).to_pylist()
        left = Counter((tuple(r[c] for c in COLUMNS), r["_row_id"], r["_row_commit_version"]) for r in shown)
        for row in outcome.rows:
            if row.tag in self.ids:
                number, version = self.ids[row.tag]
                version = self.table.version if row.tag in outcome.updated else version
                self.ids[row.tag] = (number, version)
                left[row.visible, number, version] -= 1
        assert min(left.values(), default=0) >= 0, "a row has lost its id or its version"
        fresh = sorted(left.elements(), key=str)
        expected = sorted((row for row in outcome.rows if row.tag not in self.ids), key=lambda row: str(row.visible))
        assert [visible for visible, _, _ in fresh] == sorted((row.visible for row in expected), key=str)
        for row, (_, number, version) in zip(expected, fresh, strict=True):
            assert number not in self.used
            assert version == self.table.version
            self.used.add(number)
            self.ids[row.tag] = (number, version)


def arrow(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(row.values) for row in rows], _ARROW)


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in COLUMNS) for row in rows.to_pylist())
