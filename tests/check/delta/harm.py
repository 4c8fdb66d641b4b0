"""Does a mutation do harm, and does the check find it?

Harm is told by reading, not by the check: the rows of some version, the rows that a filter gives, or the changes are others than before,
or are refused, for Esker or for a reader that shares nothing with it; or a MUST of PROTOCOL.md is broken by construction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

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

    @property
    def is_found(self) -> bool:
        return any(not rule.startswith("(") for rule in self.found)


def reading(files: Files, version: int) -> list[str]:
    """All that readers see of the table."""
    seen = [plain_reader.rows(files, number) for number in range(version + 1)]
    if any(".checkpoint." in name for name in files):
        seen.append(plain_reader.rows(files, version, from_checkpoint=True))
    return seen + _by_esker(files, version)


def judged(mutation: Mutation, version: int, before: Sequence[str]) -> Outcome:
    harm = mutation.breaks
    if harm is None and reading(mutation.files, version) != list(before):
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


def _by_esker(files: Files, version: int) -> list[str]:
    place = stored(files)
    seen = [_told(lambda: esker.open(place.url).to_arrow()), _told(lambda: esker.open(place.url, version=version - 1).to_arrow())]
    seen += [_told(lambda where=where: esker.open(place.url).to_arrow(where=where)) for where in FILTERS]  # type: ignore[misc]
    if any("_change_data" in name for name in files):
        seen.append(_told(lambda: esker.open(place.url).changes(from_version=0).to_arrow().drop_columns(["_commit_timestamp"])))
    return seen


def _told(read) -> str:  # type: ignore[no-untyped-def]
    try:
        rows = read()
    except esker.EskerError as error:
        return f"refused: {type(error).__name__}"
    return repr([str(rows.schema), sorted(map(repr, rows.to_pylist()))])
