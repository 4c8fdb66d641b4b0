"""A process that works on an Iceberg table which others work on too: `tests.rivals.worker` says how.

    python -m tests.rivals.iceberg_worker PLACE JOURNAL KIND SEED SECONDS

The place is JSON: `{"folder": ...}`, or `{"catalog": {...}, "name": ...}`. Versions are told by sequence numbers.
"""

import json
import sys
from pathlib import Path

from esker.arrow.read import read_table
from esker.catalogs import open_catalog
from esker.core.arrange import Layout
from esker.iceberg.place import Place
from esker.iceberg.table import IcebergTable, open_by_catalog, open_iceberg
from esker.storage import open_storage
from tests.delta.arranging import ArrowArranger
from tests.rivals.worker import Done, Worker, work


def opened(place: str) -> IcebergTable:
    """The table at a place, in its newest state."""
    told = json.loads(place)
    if "folder" in told:
        return open_iceberg(open_storage(told["folder"]), None, {}, {}, read_table)
    entry = open_catalog(told["catalog"], {}).table(told["name"])
    return open_by_catalog(Place(open_storage(entry.location)), entry.catalog, read_table)


class IcebergWorker(Worker):
    def __init__(self, place: str, seed: int, seconds: float) -> None:
        super().__init__(seed, seconds)
        self.first = opened(place)

    def newest(self) -> IcebergTable:
        return self.first.at()

    def number(self, table: IcebergTable) -> int:
        snapshot = table.state.snapshot
        return 0 if snapshot is None else snapshot.sequence_number

    def optimize(self, table: IcebergTable) -> Done:
        if len(table.state.files.data) < 9:
            return None
        after = table.optimize(Layout(where=f"p = 'p{self.random.randrange(4)}'"), ArrowArranger())
        return None if after.version == table.version else (after, {})


def main(place: str, journal: str, kind: str, seed: str, seconds: str) -> None:
    work(IcebergWorker(place, int(seed), float(seconds)), Path(journal), kind, float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
