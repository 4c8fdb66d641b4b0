"""A process that works on a table which others work on too, and writes down what it was told that it has done.

    python -m tests.rivals.worker LOCATION JOURNAL KIND SEED SECONDS

The journal has a line for each operation that was acknowledged: its version, and what it was, so that the table can be told from
the journals alone. Rows have an id that is given out once, a value, and one of a few partitions.
"""

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any

import pyarrow as pa

from esker.arrow.read import read_table
from esker.arrow.write import ArrowRows
from esker.core.merge import InsertRow, Merge, UpdateRow
from esker.core.table import FormatTable, VacuumWish
from esker.core.write import WriteOptions
from esker.delta.live_adds import live_adds
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.errors import Conflict
from esker.storage import open_storage
from tests.arrow_editor import ArrowEditor, ArrowMerger
from tests.delta.operations import rearrange

PARTITIONS = ("p0", "p1", "p2", "p3")
Done = tuple[FormatTable, dict[str, Any]] | None
"""The table after the operation, and what the journal says; None where there was nothing to do."""


class Worker(ABC):
    """Chooses what to do by its seed, and does it to the newest version."""

    def __init__(self, seed: int, seconds: float) -> None:
        self.random = Random(seed)
        self.next_id = seed * 1_000_000
        self.retention = timedelta(seconds=max(10.0, seconds / 2))

    @abstractmethod
    def newest(self) -> Any:
        """The table as it is now."""

    def number(self, table: Any) -> int:
        """What tells the order of versions."""
        version: int = table.version
        return version

    def table(self, last: Any, since: float) -> Any:
        """The newest version, or as often the one of our last operation, if vacuum cannot have reached it."""
        is_fresh = monotonic() - since < self.retention.total_seconds() / 4
        return last if last is not None and is_fresh and self.random.random() < 0.5 else self.newest()

    def append(self, table: FormatTable) -> Done:
        rows = self._fresh_rows(self.random.randint(1, 20))
        return table.append(ArrowRows(_arrow(rows)), WriteOptions()), {"set": rows}

    def delete(self, table: FormatTable) -> Done:
        found = self._some(table)
        ids = [row["id"] for row in found]
        return _unless_same(table, table.delete(_among(ids), ArrowEditor()), {"gone": ids}) if ids else None

    def update(self, table: FormatTable) -> Done:
        found = self._some(table)
        ids = [row["id"] for row in found]
        if not ids:
            return None
        rows = [[row["id"], row["v"] + 1, row["p"]] for row in found]
        return _unless_same(table, table.update({"v": "v + 1"}, _among(ids), ArrowEditor()), {"set": rows})

    def merge(self, table: FormatTable) -> Done:
        rows = [[row["id"], row["v"] + 1000, row["p"]] for row in self._some(table)] + self._fresh_rows(3)
        wanted = Merge("target.id = source.id", (UpdateRow(None),), (InsertRow(None),))
        return table.merge(wanted, ArrowMerger(_arrow(rows), wanted)), {"set": rows}

    @abstractmethod
    def optimize(self, table: Any) -> Done:
        """Put the rows of some files together."""

    def vacuum(self, table: FormatTable) -> Done:
        wish = VacuumWish(self.retention, allow_unsafe=True)
        after, vacuumed = table.vacuum(wish, lambda done, all: None)
        # Its commits need not be neighbours: each is told by its operation.
        return after, {"vacuumed": len(vacuumed.files)}

    def _fresh_rows(self, most: int) -> list[list[Any]]:
        first, self.next_id = self.next_id, self.next_id + most
        partition = self.random.choice(PARTITIONS)
        return [[id, 0, partition] for id in range(first, first + most)]

    def _some(self, table: FormatTable) -> list[dict[str, Any]]:
        """A few rows of one partition."""
        partition = self.random.choice(PARTITIONS)
        there = [row for row in read_table(table.plan()).to_pylist() if row["p"] == partition]
        return self.random.sample(there, min(len(there), 4))


class DeltaWorker(Worker):
    def __init__(self, location: str, seed: int, seconds: float) -> None:
        super().__init__(seed, seconds)
        self.place = Place(open_storage(location))

    def newest(self) -> DeltaTable:
        return DeltaTable(load(self.place))

    def optimize(self, table: DeltaTable) -> Done:
        there = [str(add.partition_values["p"]) for add in live_adds(table.snapshot)]
        return (rearrange(self.random.choice(there))(table), {}) if len(there) > 8 else None


KINDS: dict[str, tuple[str, ...]] = {
    "appender": ("append",),
    "changer": ("delete", "update", "append"),
    "merger": ("merge",),
    "keeper": ("optimize", "optimize", "optimize", "append", "vacuum"),
}


def main(location: str, journal: str, kind: str, seed: str, seconds: str) -> None:
    work(DeltaWorker(location, int(seed), float(seconds)), Path(journal), kind, float(seconds))


def work(worker: Worker, journal: Path, kind: str, seconds: float) -> None:
    """Work for some seconds, and note what was acknowledged."""
    until = monotonic() + seconds
    last, since = None, 0.0
    left = set(KINDS[kind])  # a slow machine gets more time, so that everything is tried
    with journal.open("a", buffering=1) as acknowledged:
        while monotonic() < until or (left and monotonic() < until + 10 * seconds):
            name = worker.random.choice(sorted(left) or KINDS[kind])
            act: Callable[[FormatTable], Done] = getattr(worker, name)
            try:
                done = act(worker.table(last, since))
            except Conflict as error:
                acknowledged.write(json.dumps({"conflict": str(error), "operation": name}) + "\n")
                last = None
                left.discard(name)
                continue
            if done is not None:
                left.discard(name)
                last, said = done
                since = monotonic()
                acknowledged.write(json.dumps({"version": worker.number(last), "operation": name, **said}) + "\n")
            if kind == "appender":
                sleep(worker.random.uniform(0, 0.2))  # or who changes rows never finds a moment without new ones


def _arrow(rows: list[list[Any]]) -> pa.Table:
    ids, values, partitions = zip(*rows, strict=True)
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array(values, pa.int64()), "p": pa.array(partitions)})


def _among(ids: list[int]) -> str:
    return f"id IN ({', '.join(map(str, ids))})"


def _unless_same(before: FormatTable, after: FormatTable, said: dict[str, Any]) -> Done:
    return None if after.version == before.version else (after, said)


if __name__ == "__main__":
    main(*sys.argv[1:])
