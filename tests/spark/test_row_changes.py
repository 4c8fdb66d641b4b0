"""Do delete, update, merge and overwrite do to a table what plain Python does to lists of rows?"""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.errors import InvalidRequest
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
    {"tracking", "partitions"},
]
_STEPS = 4


@pytest.mark.parametrize("switches", _TABLES, ids=lambda switches: "+".join(sorted(switches)) or "plain")
def test_any_changes_leave_the_rows_that_plain_python_leaves(switches, spark, tmp_path):
    checked = Checked(spark, tmp_path / "table", Random(f"{sorted(switches)}"), switches)
    for _ in range(_STEPS):
        checked.change()


def test_values_of_an_update_are_not_computed_for_other_rows(spark, tmp_path):
    rows = pa.table({"id": [1, 2, 3], "by": [0, 1, 2], "v": [10, 20, 30]})
    table = esker.create(tmp_path / "table", rows)
    table.update({"v": "v div by"}, "by > 1", spark=spark)
    assert table.to_arrow().sort_by("id")["v"].to_pylist() == [10, 20, 15]


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

    def change(self) -> None:
        """One change, and whether the table, its rows' ids and its change feed tell of it."""
        before = self.table.version
        outcome = self.random.choice([self._delete, self._update, self._merge, self._merge, self._overwrite])()
        self.settle(outcome)
        if "feed" in self.switches and self.table.version > before:
            told = self.table.changes(from_version=before + 1).to_arrow().to_pylist()
            assert Counter((row["_change_type"], *(row[name] for name in COLUMNS)) for row in told) == outcome.changes

    def _delete(self) -> Outcome:
        where = self.random.choice(oracle.CONDITIONS)
        self.table.delete(where.sql(), spark=self.spark)
        return oracle.delete(self.rows, where)

    def _update(self) -> Outcome:
        where = self.random.choice([None, *oracle.CONDITIONS])
        values = dict(self.random.sample(oracle.ASSIGNMENTS, 2))
        texts = {name: said.sql() for name, said in values.items()}
        self.table.update(texts, None if where is None else where.sql(), spark=self.spark)
        return oracle.update(self.rows, values, where)

    def _overwrite(self) -> Outcome:
        where = self.random.choice(oracle.CONDITIONS)
        fresh = [Row(values) for values in self.values(12) if where(values) is True]
        self.table.overwrite(self.spark.createDataFrame(arrow(fresh)), where=where.sql(), spark=self.spark)
        return oracle.overwrite(self.rows, fresh, where)

    def _merge(self) -> Outcome:
        source, on = self.values(self.random.randint(0, 4)), self.random.choice(oracle.MATCHES)
        clauses = oracle.random_clauses(self.random)
        builder = self.table.merge(arrow([Row(values) for values in source]), on.sql("target."), spark=self.spark)
        for clause in clauses:
            builder = _with_clause(builder, clause)
        outcome = oracle.merge(self.rows, source, on, clauses)
        if outcome is not None:
            builder.execute()
            return outcome
        with pytest.raises(InvalidRequest, match="more than one row"):
            builder.execute()
        return Outcome(self.rows)

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


def _with_clause(builder: Any, clause: oracle.Clause) -> Any:
    condition = None if clause.condition is None else clause.condition.sql("target.")
    texts = None if clause.values is None else {name: said.sql("target.") for name, said in clause.values.items()}
    match clause.kind:
        case "matched" if clause.is_all:
            return builder.when_matched_update_all(condition)
        case "matched" if texts is None:
            return builder.when_matched_delete(condition)
        case "matched":
            return builder.when_matched_update(texts, condition)
        case "not matched" if texts is None:
            return builder.when_not_matched_insert_all(condition)
        case "not matched":
            return builder.when_not_matched_insert(texts, condition)
        case _ if texts is None:
            return builder.when_not_matched_by_source_delete(condition)
    return builder.when_not_matched_by_source_update(texts, condition)


def arrow(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(row.values) for row in rows], _ARROW)


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in COLUMNS) for row in rows.to_pylist())
