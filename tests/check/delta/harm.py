"""Does a mutation do harm, and does the check find it?

Harm is told by reading, not by the check: the rows of some version, the rows that a filter gives, or the changes are others than before,
or are refused, for Esker or for a reader that shares nothing with it; or a MUST of PROTOCOL.md is broken by construction.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, zip_longest

import pyarrow as pa

import esker
from esker.check.delta.rules import check_delta
from esker.check.model import Finding, Severity
from esker.delta.snapshot import Place
from esker.storage.memory import MemoryStorage
from tests.check.delta import plain_reader
from tests.check.delta.mutations import Mutation
from tests.check.delta.valid import Files

FILTERS = ("id = 1", "id = 3", "id > 5", "name = 'n4'", "day = '2026-01-03'")
_SPACES = count()


@dataclass(frozen=True, slots=True)
class Outcome:
    mutation: Mutation
    harm: str | None
    found: tuple[str, ...]
    """The rules that the check found broken, of severity warning or error, and those of severity notice in brackets."""


def reading(files: Files, version: int) -> Iterator[str]:
    """All that readers see of the table, the quickest first."""
    yield from (plain_reader.rows(files, number) for number in range(version, -1, -1))
    if any(".checkpoint." in name for name in files):
        yield plain_reader.rows(files, version, from_checkpoint=True)
    yield from _by_esker(files, version)


def judged(mutation: Mutation, version: int, before: Sequence[str]) -> Outcome:
    harm = mutation.breaks
    if harm is None and any(one != other for one, other in zip_longest(reading(mutation.files, version), before)):
        harm = "it reads otherwise"
    return Outcome(mutation, harm, found(mutation.files) if harm else ())


def found(files: Files) -> tuple[str, ...]:
    try:
        told: list[Finding] = list(check_delta(Place(stored(files)), deep=True))
    except esker.EskerError as error:
        return (f"refused: {error.what}",)
    return tuple(dict.fromkeys(f"({f.rule})" if f.severity is Severity.NOTICE else f.rule for f in told))


def stored(files: Files) -> MemoryStorage:
    storage = MemoryStorage(f"memory://harm-{next(_SPACES)}/table")
    for path, data in files.items():
        storage.put(path, data)
    return storage


def _by_esker(files: Files, version: int) -> Iterator[str]:
    place = stored(files)
    newest = cache(lambda: esker.open(place.url))
    yield from (_told(lambda where=where: newest().to_arrow(where=where)) for where in (None, *FILTERS))  # type: ignore[misc]
    yield _told(lambda: esker.open(place.url, version=version - 1).to_arrow())
    if any("_change_data" in name for name in files):
        yield _told(lambda: newest().changes(from_version=0).to_arrow().drop_columns(["_commit_timestamp"]))


def _told(read: Callable[[], pa.Table]) -> str:
    try:
        rows = read()
    except esker.EskerError as error:
        return f"refused: {type(error).__name__}"
    return repr([str(rows.schema), sorted(map(repr, rows.to_pylist()))])
