"""How does a change become part of a table?  (spec, "Optimistic Concurrency", "Commit Conflict Resolution and Retry")

The one place where a table changes. A change is a function of the newest state, applied again after every lost race; a
requirement that the newest state does not meet is a conflict.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from random import uniform
from time import sleep, time
from uuid import uuid4

from esker.core.features import Operation
from esker.errors import CommitUnknown, Conflict, EskerError, InvalidRequest
from esker.iceberg.catalog import Catalog, LostRace, Swap
from esker.iceberg.features import Facts, gate
from esker.iceberg.hadoop import FolderCatalog
from esker.iceberg.metadata import MetadataLogEntry, TableMetadata
from esker.iceberg.promises import check_promises
from esker.iceberg.state import TableState, current_state
from esker.iceberg.updates import AssertUuid, Requirement, Update, unmet, updated
from esker.storage.paths import resolve_literal, trimmed

ATTEMPTS = 50
RETRIES = "commit.retry.num-retries"
PREVIOUS_VERSIONS = "write.metadata.previous-versions-max"
DELETE_OLD = "write.metadata.delete-after-commit.enabled"


@dataclass(frozen=True)
class Change:
    """What is to happen to the metadata, and what it must be like for that."""

    updates: tuple[Update, ...]
    requirements: tuple[Requirement, ...] = ()


def catalog_of(state: TableState) -> Catalog:
    """Who knows the newest metadata file of the table."""
    return state.catalog or FolderCatalog(state.place.storage)


def newest(state: TableState) -> TableState:
    """The newest state of the table, on the same branch."""
    path, metadata = catalog_of(state).load()
    if path == state.metadata_file and state.ref is not None and metadata.table_uuid == state.metadata.table_uuid:
        return state  # a metadata file never changes, so what was read of its manifests holds
    return on_branch(_current(state, path, metadata), state.ref)


def on_branch(state: TableState, ref: str | None) -> TableState:
    """The state at a branch of the table; the newest of the main one where the branch is gone or none was chosen."""
    return state.at_ref(ref) if ref is not None and ref in state.metadata.refs else state


def _current(state: TableState, path: str, metadata: TableMetadata) -> TableState:
    return replace(current_state(state.place, path, metadata), catalog=state.catalog)


def commit(state: TableState, apply: Callable[[TableState], Change | None]) -> TableState:
    """Publish a change on top of the newest state; the state that it became. Nothing happens where there is no change."""
    check_writable(state)
    catalog = catalog_of(state)
    attempts = _attempts(state.metadata)
    for attempt in range(attempts):
        base = newest(state)
        if problems := list(unmet(base.metadata, [AssertUuid(state.metadata.table_uuid)])):
            raise Conflict("the table was replaced by another", where=state.location, problems=problems)
        change = apply(base)
        if change is None:
            return base
        check_met(base, change.requirements)
        made = _identified(_logged(updated(base.metadata, change.updates, now()), base))
        check_promises(on_branch(_current(base, base.metadata_file, made), base.ref), base)
        try:
            path, metadata = catalog.swap(Swap(base.metadata_file, base.metadata, made, change.updates, change.requirements))
        except LostRace:
            _pause(attempt)
            continue
        _clean(base, metadata)
        return on_branch(_current(state, path, metadata), state.ref)
    raise Conflict(
        f"another writer was first {attempts} times", where=state.location, hint="Try again when the table is quieter."
    )


def check_met(base: TableState, requirements: Iterable[Requirement]) -> None:
    """Raise `Conflict` where the state is not what a change was made for."""
    if problems := list(unmet(base.metadata, requirements)):
        raise Conflict("the table was changed by another writer", where=base.location, problems=problems, hint="Open it anew.")


def check_writable(state: TableState) -> None:
    """Raise where the table cannot be changed from here."""
    recorded = state.metadata.location
    if not _is_same_place(state.location, recorded):
        raise InvalidRequest(
            f"the table's metadata says that it lies at {recorded}: it was copied here, and can only be read",
            where=state.location,
            hint="Open it where it was made.",
        )
    gate(Facts(state.metadata), Operation.WRITE, state.location)


def _is_same_place(location: str, recorded: str) -> bool:
    try:
        return trimmed(resolve_literal(location, trimmed(recorded))) == location
    except EskerError:
        return False


def now() -> int:
    """The time in milliseconds since the epoch."""
    return int(time() * 1000)


def _attempts(metadata: TableMetadata) -> int:
    retries = metadata.properties.get(RETRIES, "")
    return int(retries) + 1 if retries.isdecimal() else ATTEMPTS


def _logged(metadata: TableMetadata, base: TableState) -> TableMetadata:
    """The metadata with its predecessor in the log."""
    entry = MetadataLogEntry(base.metadata.last_updated_ms, f"{trimmed(metadata.location)}/{base.metadata_file}")
    most = metadata.properties.get(PREVIOUS_VERSIONS, "100")
    kept = max(1, int(most)) if most.isdecimal() else 100
    return replace(metadata, metadata_log=(*metadata.metadata_log, entry)[-kept:])


def _identified(metadata: TableMetadata) -> TableMetadata:
    """The metadata with a UUID: tables of version 1 may have none, and later versions require one."""
    return metadata if metadata.table_uuid else replace(metadata, table_uuid=str(uuid4()))


def _clean(base: TableState, metadata: TableMetadata) -> None:
    """Delete the metadata files that have left the log, where the table asks for that."""
    if metadata.properties.get(DELETE_OLD, "false").lower() != "true":
        return
    kept = {entry.metadata_file for entry in metadata.metadata_log}
    for entry in base.metadata.metadata_log:
        if entry.metadata_file not in kept:
            with suppress(EskerError):  # a file that stays is never read
                storage, path = base.place.locate(entry.metadata_file)
                storage.delete(path)


def _pause(attempt: int) -> None:
    """Rivals that pause for different times do not meet again."""
    sleep(uniform(0, min(0.002 * 2**attempt, 0.5)))


def is_certain(error: EskerError) -> bool:
    """Whether a change that failed with this error certainly did not happen."""
    return not isinstance(error, CommitUnknown)
