"""How are rows added to a table, or put in the place of others?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from esker.core.predicate import Predicate, Truth
from esker.core.types import Json, Struct
from esker.core.write import RowSource, WriteOptions, WrittenFile
from esker.delta.actions import Add, Txn, removed
from esker.delta.clustering import clustering_columns
from esker.delta.commit import now
from esker.delta.leftovers import commit_or_discard
from esker.delta.live_adds import live_adds
from esker.delta.promises import check_promises
from esker.delta.replaced_schema import with_schema_of
from esker.delta.row_commit import check_removable
from esker.delta.same_partitions import same_partitions
from esker.delta.schema_merge import evolved
from esker.delta.settled import Settled, settled
from esker.delta.snapshot import Snapshot, load_after
from esker.delta.transaction import Change, Operation, ReadSet, identities
from esker.delta.writing import added, identity_marks, write_spec
from esker.errors import Conflict


def append(snapshot: Snapshot, rows: RowSource, options: WriteOptions) -> Snapshot:
    """Add the rows."""
    return once(snapshot, options, lambda asked_at: _write(snapshot, rows, options, asked_at))


def overwrite(snapshot: Snapshot, rows: RowSource, options: WriteOptions) -> Snapshot:
    """Put the rows in the place of all that are there."""

    def replaced(files: Sequence[WrittenFile]) -> _Replaced:
        return _Replaced(tuple(live_adds(snapshot)), (Truth(True),))

    return once(snapshot, options, lambda asked_at: _write(snapshot, rows, options, asked_at, replaced))


def overwrite_partitions(snapshot: Snapshot, rows: RowSource, options: WriteOptions) -> Snapshot:
    """Put the rows in the place of those in the same partitions; other partitions stay."""

    def replaced(files: Sequence[WrittenFile]) -> _Replaced:
        found = same_partitions(snapshot, files)
        return _Replaced(found.files, (found.condition,))

    return once(snapshot, options, lambda asked_at: _write(snapshot, rows, options, asked_at, replaced))


def once(snapshot: Snapshot, options: WriteOptions, write: Callable[[int], Snapshot]) -> Snapshot:
    """Write, unless the application has done so under this number or a later one.  (PROTOCOL.md, "Transaction Identifiers")

    The newest version is asked, since the snapshot may be older than the write; and asked again where a rival was first, since
    that may have been this very write, repeated by another process. `write` is told which version was asked: only what the
    application has recorded since then stands against it. What was done is in the snapshot that is given back.
    """
    if options.transaction is None:
        return write(snapshot.version)
    if is_done(newest := _newest(snapshot), *options.transaction):
        return newest
    try:
        return write(newest.version)
    except Conflict:
        if is_done(newest := _newest(snapshot), *options.transaction):
            return newest
        raise


def is_done(snapshot: Snapshot, app_id: str, number: int) -> bool:
    """Whether the application has written under this number or a later one."""
    done = snapshot.txns.get(app_id)
    return done is not None and done.version >= number


def progress(options: WriteOptions) -> tuple[Txn, ...]:
    """The `txn` that a write with these options records."""
    return () if options.transaction is None else (Txn(*options.transaction, last_updated=now()),)


def with_columns_of(snapshot: Snapshot, rows: Struct) -> Snapshot:
    """The snapshot as it is once the table has taken over the columns of the rows."""
    before = Settled(snapshot.metadata, snapshot.protocol)
    after = settled(evolved(snapshot.metadata, rows), before, domains=snapshot.domains)
    return snapshot if after == before else snapshot.as_if(after.protocol, after.metadata)


@dataclass(frozen=True)
class _Replaced:
    """Live files that give way to those that were written, and conditions for the rows that belong to them."""

    files: tuple[Add, ...] = ()
    conditions: tuple[Predicate, ...] = ()


_Replacing = Callable[[Sequence[WrittenFile]], _Replaced]
"""What gives way to the files that were written."""


def _newest(snapshot: Snapshot) -> Snapshot:
    latest = load_after(snapshot)
    return snapshot if latest.version == snapshot.version else latest


def _write(
    snapshot: Snapshot, rows: RowSource, options: WriteOptions, asked_at: int, replaced: _Replacing | None = None
) -> Snapshot:
    if replaced is not None:
        check_removable(snapshot)
    target = _target(snapshot, rows.schema, options)
    check_promises(snapshot, Settled(target.metadata, target.protocol))
    files = rows.write(write_spec(target, rows.schema))
    # What the caller has seen is replaced, and nothing that rivals have added since.
    gone = _Replaced() if replaced is None else replaced(files)
    mode = "Append" if replaced is None else "Overwrite"
    metadata = identity_marks(target.metadata, files, target.mapping)
    change = Change(
        operation=_operation(mode, target, options, files, gone.files),
        adds=added(files, target.metadata, target.mapping, clustering=clustering_columns(target) or ()),
        removes=tuple(removed(add, now()) for add in gone.files),
        metadata=None if metadata == snapshot.metadata else metadata,
        protocol=None if target.protocol == snapshot.protocol else target.protocol,
        txns=progress(options),
        asked_at=asked_at,
        reads=ReadSet(gone.conditions, identities(gone.files)),
    )
    return commit_or_discard(snapshot, lambda base: change, [file.path for file in files])


def _target(snapshot: Snapshot, rows: Struct, options: WriteOptions) -> Snapshot:
    """The table that the rows are written to."""
    if options.overwrite_schema:
        return with_schema_of(snapshot, rows, options.partition_by)
    return with_columns_of(snapshot, rows) if options.merge_schema else snapshot


def _operation(mode: str, base: Snapshot, options: WriteOptions, files: Sequence[WrittenFile], gone: Sequence[Add]) -> Operation:
    metrics = {
        "numFiles": len(files),
        "numOutputRows": sum(file.statistics.rows for file in files),
        "numOutputBytes": sum(file.size for file in files),
    }
    if mode == "Overwrite":
        metrics |= {"numRemovedFiles": len(gone), "numRemovedBytes": sum(add.size for add in gone)}
    parameters: dict[str, Json] = {"mode": mode, "partitionBy": [*base.metadata.partition_columns]}
    return Operation("WRITE", parameters, metrics, options.user_metadata)
