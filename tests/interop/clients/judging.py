"""What does the data on clients predict of what was observed?"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from esker.compat.clients import client
from esker.compat.verdicts import judged
from esker.core.demands import Contract
from esker.formats import open_format
from tests.interop.clients.cells import Cell
from tests.interop.clients.observed import Observation


def contracts(folder: Path) -> Mapping[str, Contract]:
    """What each of the tables in a folder asks of clients, by its name."""
    return {place.name: open_format(place / "table", {}, {}).contract() for place in folder.iterdir()}


def cells(format: str, observed: Iterable[Observation], asked: Mapping[str, Contract]) -> Iterator[Cell]:
    """What was observed, beside what the data says of it."""
    known = cache(lambda name, version: client(format, name).release(version))
    for seen in observed:
        release = known(seen.client, seen.release)
        assert release is not None, f"nothing is known of {seen.client} {seen.release}"
        predicted = judged(release, asked[seen.table], seen.operation)
        yield Cell(seen.client, seen.release, seen.table, seen.operation, predicted, seen.ways)
