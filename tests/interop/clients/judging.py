"""What does the data on clients predict of what was observed?"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from esker.compat.report import compatibility
from esker.core.demands import Contract
from esker.formats import open_format
from tests.interop.clients.cells import Cell
from tests.interop.clients.observed import Observation


def contracts(folder: Path) -> Mapping[str, Contract]:
    """What each of the tables in a folder asks of clients, by its name."""
    return {place.name: open_format(place / "table", {}, {}).contract() for place in folder.iterdir()}


def cells(observed: Iterable[Observation], asked: Mapping[str, Contract]) -> Iterator[Cell]:
    """What was observed, beside what the data says of it; tables that are no longer shown are passed over."""
    for seen in observed:
        if seen.table in asked:
            (report,) = compatibility(asked[seen.table], [f"{seen.client}=={seen.release}"]).clients
            yield Cell(seen.client, seen.release, seen.table, seen.operation, report.judgement(seen.operation), seen.ways)
