"""Which files does nobody need, and how are they deleted?  (spec, "Snapshot Retention Policy"; "Manifest Entry Fields", note 1)

What is deleted is what was reached from snapshots that have expired and is reached from none that is left, or what lies in the
table's folders, is old enough, and is reached from nothing. The table is changed first: a crash leaves files, never holes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from esker.core.table import Vacuumed, VacuumWish
from esker.errors import EskerError, InvalidRequest, InvalidTable, NotFound
from esker.iceberg.commit import Change, check_writable, commit, newest, now
from esker.iceberg.current_file import HINT
from esker.iceberg.expiry import Expiry, expiry
from esker.iceberg.manifests import read_manifests
from esker.iceberg.metadata import Snapshot, TableMetadata
from esker.iceberg.place import METADATA
from esker.iceberg.state import TableState
from esker.iceberg.updates import RemoveRef, RemoveSnapshots, Update
from esker.iceberg.writing import DATA, DATA_PATH
from esker.storage.port import FileInfo

LEAST_AGE = timedelta(days=1)
"""How old files that nobody names must be: writers that have not committed yet may need younger ones."""
USUAL_AGE = timedelta(days=3)
COLLECTS = "gc.enabled"
_PLACE = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")


def vacuum(state: TableState, wish: VacuumWish, progress: Callable[[int, int], None]) -> tuple[TableState, Vacuumed]:
    """Expire snapshots by the table's policy, or by age where one is given, and delete what nobody needs any more."""
    if wish.is_lite:
        after, expired = expire(state, wish, progress)
        return after, expired
    after, expired = expire(state, wish, progress)
    orphaned = remove_orphans(after, wish, progress, frozenset(expired.files))
    return after, Vacuumed(expired.files + orphaned.files, expired.size + orphaned.size, wish.is_dry_run)


def expire(state: TableState, wish: VacuumWish, progress: Callable[[int, int], None]) -> tuple[TableState, Vacuumed]:
    """Let snapshots expire, and delete the files that only they had."""
    check_writable(state)
    _check_own(state.metadata)
    age = None if wish.retention is None else int(wish.retention.total_seconds() * 1000)
    base = newest(state)
    found = expiry(base.metadata, now(), age)
    if found.is_nothing:
        return base, Vacuumed((), 0, wish.is_dry_run)
    if wish.is_dry_run:
        return base, _foretold(base, sorted(_only_in(base, found)))
    seen: list[tuple[TableState, Expiry]] = []

    def apply(current: TableState) -> Change | None:
        chosen = expiry(current.metadata, now(), age)
        seen.append((current, chosen))
        updates: list[Update] = [RemoveRef(name) for name in chosen.refs]
        return None if chosen.is_nothing else Change((*updates, RemoveSnapshots(chosen.snapshot_ids)))

    after = commit(base, apply)
    files = _only_in(*seen[-1])
    return after, _deleted(after, sorted(files), progress)


def _check_own(metadata: TableMetadata) -> None:
    """Raise where the table says that its files are not its own, as a snapshot of another table does."""
    if metadata.properties.get(COLLECTS, "true").lower() == "false":
        raise InvalidRequest(
            f"{COLLECTS} is false: files of the table may be those of another one too", where=metadata.location,
            hint="Set the property to true where that is not so.",
        )  # fmt: skip


def _only_in(state: TableState, gone: Expiry) -> set[str]:
    """The paths that are reached from snapshots that go, and from none that stays."""
    metadata = state.metadata
    dead = [s for s in metadata.snapshots if s.snapshot_id in gone.snapshot_ids]
    kept = [s for s in metadata.snapshots if s.snapshot_id not in gone.snapshot_ids]
    candidates = _still_reached(state, dead)
    if not candidates:
        return set()
    needed = _Needed.of(state, reached(state, kept) | _statistics(metadata, frozenset(gone.snapshot_ids)))
    # What is needed under another scheme or host may be the same file, so it stays.
    return {path for path in candidates if _bare(state.place.absolute(path)) not in needed.bare}


def _still_reached(state: TableState, snapshots: Sequence[Snapshot]) -> set[str]:
    """What snapshots lead to as far as it is there: one that has lost files is what people let expire."""
    try:
        return reached(state, snapshots)
    except InvalidTable:
        found: set[str] = set()
        for snapshot in snapshots:
            with suppress(InvalidTable):
                found |= reached(state, [snapshot])
        return found


def reached(state: TableState, snapshots: Iterable[Snapshot]) -> set[str]:
    """Every file that snapshots lead to: lists, manifests, data and delete files, statistics."""
    wanted = list(snapshots)
    ids = {s.snapshot_id for s in wanted}
    found = {s.manifest_list for s in wanted if s.manifest_list is not None}
    manifests = {m.manifest_path: m for s in wanted for m in state.manifests_of(s)}
    found |= set(manifests)
    listed = list(manifests.values())
    for part in read_manifests(listed, state.read_all(manifests), state.location, ()):
        found |= set(part.table.filter(part.is_live).column("file_path").to_pylist())
    found |= {s.statistics_path for s in state.metadata.statistics if s.snapshot_id in ids}
    return found | {s.statistics_path for s in state.metadata.partition_statistics if s.snapshot_id in ids}


@dataclass(frozen=True)
class _Needed:
    """What must not be deleted, as URLs and without their schemes and hosts."""

    urls: frozenset[str]
    bare: frozenset[str]

    @staticmethod
    def of(state: TableState, paths: Iterable[str]) -> "_Needed":
        urls = frozenset(state.place.absolute(path) for path in paths)
        return _Needed(urls, frozenset(map(_bare, urls)))


def _bare(url: str) -> str:
    return _PLACE.sub("", url)


def remove_orphans(
    state: TableState, wish: VacuumWish, progress: Callable[[int, int], None], expired: frozenset[str] = frozenset()
) -> Vacuumed:
    """Delete the files in the table's folders that it does not name and that are old enough."""
    _check_own(state.metadata)
    age = wish.retention if wish.retention is not None and wish.retention > LEAST_AGE else USUAL_AGE
    if wish.retention is not None and wish.retention < LEAST_AGE:
        if not wish.allow_unsafe:
            return Vacuumed((), 0, wish.is_dry_run)
        age = wish.retention
    before = now() - int(age.total_seconds() * 1000)
    candidates = [file for file in _listed(state) if file.modified <= before and file.path != HINT]
    needed = _needed(newest(state))
    orphans = [file for file in candidates if _is_orphan(f"{state.location}/{file.path}", needed)]
    sizes = {f"{state.metadata.location.rstrip('/')}/{file.path}": file.size for file in orphans}
    fresh = tuple(path for path in sizes if path not in expired)
    return Vacuumed(fresh, sum(sizes[p] for p in fresh), True) if wish.is_dry_run else _deleted(state, fresh, progress)


def _is_orphan(url: str, needed: _Needed) -> bool:
    if url in needed.urls:
        return False
    if _bare(url) in needed.bare:
        raise InvalidRequest(
            f"the table names a file of the same path under another scheme or host: {url}",
            hint="Whether they are the same cannot be told, so nothing was deleted. Say so by relocate={old: new}.",
        )
    return True


def _listed(state: TableState) -> Iterator[FileInfo]:
    """The files in the folders that only the table uses."""
    folders = [METADATA] if DATA_PATH in state.metadata.properties else [METADATA, DATA]
    for folder in folders:
        yield from state.place.storage.list(folder)


def _needed(state: TableState) -> _Needed:
    metadata = state.metadata
    paths = reached(state, metadata.snapshots) | {entry.metadata_file for entry in metadata.metadata_log}
    return _Needed.of(state, paths | _statistics(metadata) | {f"{state.location}/{state.metadata_file}"})


def _statistics(metadata: TableMetadata, gone: frozenset[int] = frozenset()) -> set[str]:
    """The files of statistics, save those of snapshots that go."""
    found = {s.statistics_path for s in metadata.statistics if s.snapshot_id not in gone}
    return found | {s.statistics_path for s in metadata.partition_statistics if s.snapshot_id not in gone}


def _foretold(state: TableState, paths: Iterable[str]) -> Vacuumed:
    """What `_deleted` would do."""
    sizes: dict[str, int] = {}
    for path in paths:
        storage, name = state.place.locate(path)
        with suppress(NotFound):
            sizes[path] = storage.head(name).size
    return Vacuumed(tuple(sizes), sum(sizes.values()), is_dry_run=True)


def _deleted(state: TableState, paths: Iterable[str], progress: Callable[[int, int], None]) -> Vacuumed:
    """Delete files that the metadata has named. One that cannot be deleted stays, and is taken the next time."""
    wanted = list(paths)
    done: list[str] = []
    size = 0
    for at, path in enumerate(wanted):
        storage, name = state.place.locate(path)
        try:
            size += storage.head(name).size
            storage.delete(name)
            done.append(path)
        except NotFound:
            continue
        except EskerError:
            break
        finally:
            progress(at + 1, len(wanted))
    return Vacuumed(tuple(done), size)
