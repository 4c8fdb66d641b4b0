"""How do edited rows become a version, and what does the history say of them?"""

from dataclasses import dataclass

from esker.core.features import Operation as Door
from esker.delta import properties
from esker.delta.actions import Add, Metadata, Txn, removed
from esker.delta.commit import now
from esker.delta.intended import Intended
from esker.delta.leftovers import commit_or_discard
from esker.delta.plan import check
from esker.delta.protocol import Protocol
from esker.delta.row_edits import Edited
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation, ReadSet
from esker.errors import InvalidRequest


@dataclass(frozen=True)
class Besides:
    """What else a version of edited rows brings."""

    adds: tuple[Add, ...] = ()
    paths: tuple[str, ...] = ()
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    txns: tuple[Txn, ...] = ()
    asked_at: int = -1


def changeable(snapshot: Snapshot, only_adds: bool = False) -> Snapshot:
    """The snapshot with its files listed once. Raises where its rows may not be changed, if not `only_adds` to them."""
    snapshot.gate(Door.WRITE)
    check(snapshot)
    if not only_adds:
        check_removable(snapshot)
    return snapshot.pinned(snapshot.files)


def check_removable(snapshot: Snapshot) -> None:
    """Raise `InvalidRequest` where rows can only be added."""
    if Intended(snapshot.metadata, snapshot.protocol).is_active(properties.APPEND_ONLY):
        # "New log entries MUST NOT change or remove data from the table."  Append-only Tables
        raise InvalidRequest("delta.appendOnly is true: rows can be added, not changed or removed", where=snapshot.location)


def published(
    read_at: Snapshot, edited: Edited, operation: Operation, reads: ReadSet, besides: Besides = Besides()
) -> Snapshot:
    """The version that the edits make. Files that were written for it are taken back where a rival made it void."""

    def apply(base: Snapshot) -> Change:
        return Change(
            operation=operation,
            adds=(*besides.adds, *edited.fresh, *edited.kept),
            removes=tuple(removed(add, now()) for add in (*edited.removed, *edited.replaced)),
            changed_rows=edited.feed,
            metadata=besides.metadata,
            protocol=besides.protocol,
            txns=besides.txns,
            asked_at=besides.asked_at,
            reads=reads,
            preserves_row_ids=edited.preserves_row_ids,
        )

    return commit_or_discard(read_at, apply, (*edited.paths, *besides.paths))


@dataclass(frozen=True, slots=True)
class Times:
    """When an operation started, had found its rows, and had written them; in milliseconds since the epoch."""

    started: int
    found: int
    written: int

    def metrics(self) -> dict[str, int]:
        return {
            "executionTimeMs": self.written - self.started,
            "scanTimeMs": self.found - self.started,
            "rewriteTimeMs": self.written - self.found,
        }


def file_metrics(edited: Edited) -> dict[str, int]:
    """What DESCRIBE HISTORY tells of the files of a DELETE or an UPDATE."""
    had_vector = sum(add.deletion_vector is not None for add in edited.replaced)
    return {
        "numAddedFiles": len(edited.fresh),
        "numRemovedFiles": len(edited.removed),
        "numAddedBytes": sum(add.size for add in edited.fresh),
        "numRemovedBytes": sum(add.size for add in edited.removed),
        "numAddedChangeFiles": len(edited.feed),
        "numCopiedRows": edited.counts.copied,
        "numDeletionVectorsAdded": len(edited.replaced) - had_vector,
        "numDeletionVectorsUpdated": had_vector,
        "numDeletionVectorsRemoved": sum(add.deletion_vector is not None for add in edited.removed),
    }
