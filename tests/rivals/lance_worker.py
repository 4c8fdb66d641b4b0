"""A process that works on a Lance table which others work on too, and writes down what it was told that it has done.

    python -m tests.rivals.lance_worker LOCATION JOURNAL KIND SEED SECONDS

As `worker` does for Delta tables.
"""

import json
import sys
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pyarrow as pa

import esker
from esker.core.merge import InsertRow, Merge, UpdateRow
from esker.core.write import WriteOptions
from esker.errors import Conflict
from esker.lance.table import LanceTable
from esker.rows import row_source
from tests.arrow_editor import ArrowEditor, ArrowMerger
from tests.delta.arranging import ArrowArranger

Done = tuple[LanceTable, dict[str, Any]] | None
"""The table after the operation, and what the journal says; None where there was nothing to do."""
_MERGE = Merge("target.id = source.id", (UpdateRow(None),), (InsertRow(None),))


class Worker:
    """Chooses what to do by its seed, and does it to the newest version, or to the one that it made last."""

    def __init__(self, location: str, seed: int) -> None:
        self.location = location
        self.random = Random(seed)
        self.next_id = seed * 1_000_000

    def table(self, last: LanceTable | None) -> LanceTable:
        if last is not None and self.random.random() < 0.5:
            return last
        found = esker.open(self.location)._table
        assert isinstance(found, LanceTable)
        return found

    def append(self, table: LanceTable) -> Done:
        rows = self._fresh_rows(self.random.randint(1, 20))
        return table.append(row_source(_arrow(rows)), WriteOptions()), {"set": rows}

    def delete(self, table: LanceTable) -> Done:
        ids = [row["id"] for row in self._some(table)]
        return _unless_same(table, table.delete(_among(ids), ArrowEditor()), {"gone": ids}) if ids else None

    def update(self, table: LanceTable) -> Done:
        rows = [[row["id"], row["v"] + 1, row["p"]] for row in self._some(table)]
        ids = [row[0] for row in rows]
        return _unless_same(table, table.update({"v": "v + 1"}, _among(ids), ArrowEditor()), {"set": rows}) if ids else None

    def merge(self, table: LanceTable) -> Done:
        rows = [[row["id"], row["v"] + 1000, row["p"]] for row in self._some(table)] + self._fresh_rows(3)
        return table.merge(_MERGE, ArrowMerger(_arrow(rows), _MERGE)), {"set": rows}

    def optimize(self, table: LanceTable) -> Done:
        return _unless_same(table, table.purge(None, ArrowArranger()), {})

    def _fresh_rows(self, most: int) -> list[list[Any]]:
        first, self.next_id = self.next_id, self.next_id + most
        return [[id, 0, "p"] for id in range(first, first + most)]

    def _some(self, table: LanceTable) -> list[dict[str, Any]]:
        """A few rows that this process brought, so that no rival changes them and the journals tell what becomes of them."""
        own = self.next_id // 1_000_000
        there = [row for row in esker.Table(table.at()).to_arrow().to_pylist() if row["id"] // 1_000_000 == own]
        return self.random.sample(there, min(len(there), 4))


KINDS: dict[str, tuple[str, ...]] = {
    "appender": ("append",),
    "changer": ("delete", "update", "append"),
    "merger": ("merge", "update"),
    "keeper": ("optimize", "append"),
}


def main(location: str, journal: str, kind: str, seed: str, seconds: str) -> None:
    worker, until = Worker(location, int(seed)), monotonic() + float(seconds)
    last: LanceTable | None = None
    left = set(KINDS[kind])  # a slow machine gets more time, so that everything is tried
    with Path(journal).open("a", buffering=1) as acknowledged:
        while monotonic() < until or (left and monotonic() < until + 10 * float(seconds)):
            name = worker.random.choice(sorted(left) or KINDS[kind])
            try:
                done = getattr(worker, name)(worker.table(last))
            except Conflict as error:
                acknowledged.write(json.dumps({"conflict": str(error), "operation": name}) + "\n")
                last = None
                left.discard(name)
                continue
            if done is not None:
                left.discard(name)
                last, said = done
                acknowledged.write(json.dumps({"version": last.version, "operation": name, **said}) + "\n")


def _arrow(rows: list[list[Any]]) -> pa.Table:
    ids, values, partitions = zip(*rows, strict=True)
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array(values, pa.int64()), "p": pa.array(partitions)})


def _among(ids: list[int]) -> str:
    return f"id IN ({', '.join(map(str, ids))})"


def _unless_same(before: LanceTable, after: LanceTable, said: dict[str, Any]) -> Done:
    return None if after.version == before.version else (after, said)


if __name__ == "__main__":
    main(*sys.argv[1:])
