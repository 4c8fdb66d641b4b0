"""What have clients been seen to do?

A file a format, written by `python -m tests.interop.clients --write`: by client and way, for each table a string with a letter a
release.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esker.core.features import Operation
from tests.interop.clients.cells import Cell, Outcome, Seen

FOLDER = Path(__file__).parent
_LETTERS = {Seen.WORKED: "o", Seen.REFUSED: ".", Seen.WRONG: "W", None: "-"}
_SEEN = {letter: seen for seen, letter in _LETTERS.items()}


@dataclass(frozen=True, slots=True)
class Observation:
    """What a release was seen to do with a table."""

    client: str
    release: str
    table: str
    operation: Operation
    ways: dict[str, Outcome]


def observations(format: str) -> Iterator[Observation]:
    """All that was kept."""
    for client, kept in _kept(format).items():
        for at, release in enumerate(kept["releases"]):
            found: dict[tuple[str, Operation], dict[str, Outcome]] = {}
            for way, tables in kept["ways"].items():
                operation, _, name = way.partition(": ")
                for table, letters in tables.items():
                    if (seen := _SEEN[letters[at]]) is not None:
                        found.setdefault((table, Operation(operation)), {})[name] = Outcome(seen)
            yield from (Observation(client, release, table, operation, ways) for (table, operation), ways in found.items())


def recorded(format: str, cells: Iterable[Cell]) -> None:
    """Keep what was seen of a release; what was kept of it gives way."""
    fresh = tuple(cells)
    kept = _kept(format)
    for cell in fresh:
        _replace(kept.setdefault(cell.client, {"releases": [], "ways": {}}), cell)
    _file(format).write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def _replace(kept: dict[str, Any], cell: Cell) -> None:
    if cell.release not in kept["releases"]:
        kept["releases"].append(cell.release)
        for tables in kept["ways"].values():
            tables.update({table: letters + _LETTERS[None] for table, letters in tables.items()})
    at, count = kept["releases"].index(cell.release), len(kept["releases"])
    seen = {f"{cell.operation.value}: {way}": outcome.seen for way, outcome in cell.ways.items()}
    for way in {*kept["ways"], *seen}:
        if way in seen or way.startswith(f"{cell.operation.value}: "):  # a way that is not taken any more is forgotten
            tables = kept["ways"].setdefault(way, {})
            letters = tables.get(cell.table, _LETTERS[None] * count)
            tables[cell.table] = letters[:at] + _LETTERS[seen.get(way)] + letters[at + 1 :]


def _kept(format: str) -> dict[str, Any]:
    return json.loads(_file(format).read_text()) if _file(format).exists() else {}


def _file(format: str) -> Path:
    return FOLDER / f"observed_{format}.json"
