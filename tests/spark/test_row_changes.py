"""Do delete, update, merge and overwrite do to a table what plain Python does to lists of rows?"""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.core.merge import Merge
from esker.core.write import RowSource, WriteOptions
from esker.delta.table import DeltaTable, open_delta
from esker.errors import InvalidRequest
from esker.merging import MergeBuilder
from esker.rows import row_source
from esker.storage import open_storage
from tests.spark import row_oracle as oracle
from tests.spark.row_oracle import COLUMNS, SCHEMA, Clause, Outcome, Row, Said

pytestmark = pytest.mark.spark

STEPS = 4

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
        esker.create(path, SCHEMA, partition_by=["p"] if "partitions" in switches else [], properties=properties)
        self.delta: DeltaTable = open_delta(open_storage(path, {}), {}, {})
        self.rows: list[Row] = []
        self.ids: dict[int, tuple[int, int]] = {}
        self.used: set[int] = set()
        for _ in range(3):
            fresh = [Row(values) for values in self.values(random.randint(1, 9))]
            self.delta = self.delta.append(row_source(arrow(fresh)), WriteOptions())
            self.settle(Outcome([*self.rows, *fresh], Counter(("insert", *row.visible) for row in fresh)))

    @property
    def table(self) -> esker.Table:
        return esker.Table(self.delta)

    def editor(self) -> Any:
        from esker.spark.edit import SparkEditor

        return SparkEditor(self.spark, self.relation())

    def relation(self) -> Any:
        return self.random.choice(["native", "portable"])

    def values(self, count: int) -> list[dict[str, Any]]:
        return [oracle.random_values(self.random, next(self.numbers)) for _ in range(count)]

    def delete(self) -> None:
        where = self.random.choice([None, *oracle.CONDITIONS, *oracle.CONDITIONS])
        self.changed(self.delta.delete(where and where.sql(), self.editor()), oracle.delete(self.rows, where))

    def update(self) -> None:
        where = self.random.choice([None, *oracle.CONDITIONS, *oracle.CONDITIONS])
        values = dict(self.random.sample(oracle.ASSIGNMENTS, 2))
        done = self.delta.update({name: said.sql() for name, said in values.items()}, where and where.sql(), self.editor())
        self.changed(done, oracle.update(self.rows, values, where))

    def overwrite(self) -> None:
        where = self.random.choice(oracle.CONDITIONS)
        fresh = [Row(values) for values in self.values(12) if where(values) is True]
        outcome = oracle.overwrite(self.rows, fresh, where)
        self.delta = self.delta.overwrite_where(self.source(fresh), where.sql(), WriteOptions(), self.editor())
        self.settle(outcome)

    def merge(self) -> None:
        on, clauses = self.random.choice(oracle.MATCHES), oracle.random_clauses(self.random)
        source = self.values(self.random.choice([0, 3, 6])) if self.random.random() < 0.8 else [r.values for r in self.rows]
        outcome = oracle.merge(self.rows, source, on, clauses)
        wanted = _merge(on, clauses)
        if outcome is None:
            with pytest.raises(InvalidRequest, match="more than one row of the source matches"):
                self.merged(wanted, source)
            assert esker.open(self.delta.location).version == self.delta.version
        else:
            self.changed(self.merged(wanted, source), outcome)

    def merged(self, wanted: Merge, source: list[Any]) -> DeltaTable:
        from esker.spark.merge import SparkMerger

        frame = self.spark.createDataFrame(arrow([Row(values) for values in source]))
        with SparkMerger(frame, wanted, self.relation()) as merger:
            return self.delta.merge(wanted, merger)

    def source(self, rows: list[Row]) -> RowSource:
        """The rows as Arrow or as Spark has them."""
        table = arrow(rows)
        return row_source(self.random.choice([table, self.spark.createDataFrame(table)]))

    def changed(self, done: DeltaTable, outcome: Outcome) -> None:
        """A change of no row makes no version."""
        assert done.version == self.delta.version + bool(outcome.changes)
        self.delta = done
        self.settle(outcome)

    def settle(self, outcome: Outcome) -> None:
        """Compare the table with what is expected of it, and go on from there."""
        assert counted(self.table.to_arrow()) == Counter(row.visible for row in outcome.rows)
        if "tracking" in self.switches:
            self._settle_ids(outcome)
        if "feed" in self.switches and outcome.changes:
            told = self.table.changes(self.delta.version).to_arrow().to_pylist()
            assert Counter((r["_change_type"], *(r[name] for name in COLUMNS)) for r in told) == outcome.changes
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


@pytest.mark.parametrize("switches", _TABLES, ids=lambda switches: "+".join(sorted(switches)) or "plain")
def test_rows_change_as_lists_of_rows_do(spark: Any, tmp_path: Path, switches: set[str]):
    random = Random("+".join(sorted(switches)))
    checked = Checked(spark, tmp_path, random, switches)
    for _ in range(STEPS):
        random.choice([checked.delete, checked.update, checked.overwrite, checked.merge, checked.merge])()


def _merge(on: Said, clauses: list[Clause]) -> Merge:
    built: list[Merge] = []
    builder = MergeBuilder(Merge(on.sql("target.")), built.append)
    for clause in clauses:
        condition = clause.condition and clause.condition.sql("target.")
        values = {name: said.sql("target.") for name, said in (clause.values or {}).items()}
        match clause.kind:
            case "matched" if clause.is_all:
                builder = builder.when_matched_update_all(condition)
            case "matched" if clause.values is None:
                builder = builder.when_matched_delete(condition)
            case "matched":
                builder = builder.when_matched_update(values, condition)
            case "not matched" if clause.is_all:
                builder = builder.when_not_matched_insert_all(condition)
            case "not matched":
                builder = builder.when_not_matched_insert(values, condition)
            case _ if clause.values is None:
                builder = builder.when_not_matched_by_source_delete(condition)
            case _:
                builder = builder.when_not_matched_by_source_update(values, condition)
    builder.execute()
    return built[0]


def arrow(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(row.values) for row in rows], _ARROW)


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in COLUMNS) for row in rows.to_pylist())
