"""How does a version come about?  (PROTOCOL.md, "Creation of New Log Entries", "Delta Log Entries")

The one place where a table changes. A change is a function of the newest snapshot, applied again after every lost race; the
commit file appears whole or not at all, and where the store does not say which, it is looked for by its transaction id.
"""

from collections.abc import Callable, Iterator
from importlib.metadata import version as package_version
from random import uniform
from time import monotonic, sleep, time
from uuid import uuid4

import pyarrow.compute as pc

from esker.core.features import Operation as Door
from esker.delta import conflict, history, json_log, row_tracking
from esker.delta.actions import Metadata
from esker.delta.after_commit import keep_up
from esker.delta.column_mapping import physical_name
from esker.delta.conflict import SERIALIZABLE, WRITE_SERIALIZABLE, RivalCommit, parse_rival
from esker.delta.log import Commit, commit_path
from esker.delta.promises import check_promises
from esker.delta.protocol import check_writable, without
from esker.delta.settled import Settled
from esker.delta.snapshot import Committed, Place, Snapshot, load, load_after
from esker.delta.transaction import Base, Change, Finished, finished
from esker.delta.validation import check_change
from esker.errors import CommitUnknown, Conflict, EskerError, InvalidRequest, InvalidTable, NotFound, Unsupported
from esker.storage.port import FileInfo

ATTEMPTS = 100
ENGINE = f"Esker/{package_version('esker')}"

_SAFE_FROM_CLEANUP = 60_000
"""Milliseconds for which no clean-up of the log touches a commit."""


def commit(
    read_at: Snapshot, apply: Callable[[Snapshot], Change], is_rebased: bool = False, excused: frozenset[str] = frozenset()
) -> Snapshot:
    """Publish a change on top of the newest version; the snapshot of the version it became.

    `read_at` is the snapshot that the change was decided on: what rivals committed after it must not conflict. A change that
    is wholly made anew from the snapshot given to `apply` is `is_rebased` and conflicts with nothing. `excused` are features
    that are being taken out of the table, of which nothing has to be understood but how that is done.
    """
    transaction = str(uuid4())
    base = _newest(read_at)
    rivals = list(_between(read_at, base))
    for _ in range(ATTEMPTS):
        began = monotonic()
        base.gate(Door.WRITE, excused)
        change = apply(base)
        if not is_rebased:
            conflict.check(change, rivals, read_at, _isolation(base.metadata))
        check_change(change, base)
        ready = finished(change, _base(base), now(), transaction, _isolation(base.metadata), ENGINE)
        check_writable(without(ready.protocol, excused) if excused else ready.protocol, base.location)
        _check_promises(ready, base)
        if _published(base.place, ready):
            return _followed(base, ready)
        # Rivals that pause for different times do not meet again. What an attempt takes is what the store takes to answer.
        sleep(uniform(0, 2 * (monotonic() - began)))
        latest = load_after(base)
        rivals += _between(base, latest)
        base = latest
    raise Conflict(
        f"another writer was first {ATTEMPTS} times", where=read_at.location, hint="Try again when the table is quieter."
    )


def create(unborn: Snapshot, change: Change) -> Snapshot:
    """Publish version 0. Raises `Conflict` where somebody has created the table."""
    unborn.gate(Door.WRITE)
    check_change(change, unborn)
    ready = finished(change, _base(unborn), now(), str(uuid4()), SERIALIZABLE, ENGINE)
    _check_promises(ready, unborn)
    if not _published(unborn.place, ready):
        raise Conflict(
            "another writer has created a table here", where=unborn.location, hint="Open it, or choose another place."
        )
    return _followed(unborn, ready)


def _check_promises(ready: Finished, base: Snapshot) -> None:
    """A change of rows alone asks nothing new of clients, but for vectors and domains where there were none."""
    change = ready.change
    brings_some = bool(change.domains) or any(add.deletion_vector is not None for add in change.adds)
    if change.metadata is not None or change.protocol is not None or brings_some:
        check_promises(base, Settled(ready.metadata, ready.protocol), change.adds, change.domains)


def _base(snapshot: Snapshot) -> Base:
    return Base(
        snapshot.version,
        snapshot.protocol,
        snapshot.metadata,
        history.commit_time(snapshot),
        lambda: _row_id_mark(snapshot),
    )


def _row_id_mark(snapshot: Snapshot) -> int:
    """The highest row id that was given out. "Writers must never commit duplicate Row IDs in the table in any version." """
    has_no_mark = row_tracking.DOMAIN not in snapshot.domains
    if has_no_mark and pc.any(pc.is_valid(snapshot.bare_files.table.column("baseRowId"))).as_py():
        raise InvalidTable(
            f"files have row ids, and the domain {row_tracking.DOMAIN}, which says how far those go, is missing",
            where=snapshot.location,
            hint="Drop rowTracking, then enable it again.",
        )
    return row_tracking.high_water_mark(snapshot.domains, snapshot.location)


def _isolation(metadata: Metadata) -> str:
    level = metadata.configuration.get("delta.isolationLevel", SERIALIZABLE)
    return WRITE_SERIALIZABLE if level.lower() == WRITE_SERIALIZABLE.lower() else SERIALIZABLE


def _newest(snapshot: Snapshot) -> Snapshot:
    """The snapshot, if the log can tell by itself whether a rival has followed it; else that of the newest version.

    The name of the next version is free where nobody took it, and again where its commit was cleaned up long after.
    """
    commit = snapshot.log.commit
    if commit is not None and now() - commit.file.modified < _SAFE_FROM_CLEANUP:
        return snapshot
    latest = load(snapshot.place)
    return snapshot if latest.version == snapshot.version else latest


def _published(place: Place, ready: Finished) -> bool:
    """Whether the version is ours; False where a rival has it."""
    path = commit_path(ready.version)
    try:
        place.storage.put_if_absent(path, ready.data)
    except (InvalidRequest, Unsupported):
        raise  # it was not even tried
    except EskerError as error:
        # A client that repeats a request whose reply was lost finds its own file: see whose it is.
        try:
            return _is_ours(place, path, ready.transaction)
        except EskerError:
            raise CommitUnknown(
                f"the store did not say whether version {ready.version} was written: {error}",
                where=place.url,
                hint=f"Look for txnId {ready.transaction} in the history before you repeat the operation.",
            ) from error
    return True


def _is_ours(place: Place, path: str, transaction: str) -> bool:
    data = place.storage.read(path)
    found = json_log.find(data, ["commitInfo"], f"{place.url}/{path}")
    return any(body.get("txnId") == transaction for _, body in found)


def _followed(base: Snapshot, ready: Finished) -> Snapshot:
    """The snapshot after the commit."""
    commit, change = Commit(ready.version, _written(base.place, ready)), ready.change
    made = Committed(commit, ready.protocol, ready.metadata, change.txns, change.domains)
    return keep_up(base.followed_by(made), ready, base, now())


def _written(place: Place, ready: Finished) -> FileInfo:
    """The commit's file. It is there, whether or not the store says when it was written."""
    path = commit_path(ready.version)
    try:
        return place.storage.head(path)
    except EskerError:
        return FileInfo(path, len(ready.data), now())


def _between(before: Snapshot, latest: Snapshot) -> Iterator[RivalCommit]:
    """The commits after one snapshot up to another."""
    place = before.place
    partitions = [physical_name(f, before.mapping) for f in before.partition_fields]
    for version in range(before.version + 1, latest.version + 1):
        path = commit_path(version)
        where = f"{place.url}/{path}"
        try:
            file = place.storage.head(path)
            data = place.storage.read(path)
        except NotFound as error:
            raise Conflict(f"the commit of version {version} is gone, so it cannot be checked", where=where) from error
        yield parse_rival(data, Commit(version, file), partitions, where)


def now() -> int:
    """The time in milliseconds since the epoch."""
    return int(time() * 1000)
