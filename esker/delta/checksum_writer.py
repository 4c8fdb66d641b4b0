"""What does a writer say of the version it made?  (PROTOCOL.md, "Version Checksum File", "Writer Requirements")

The summary follows from that of the version before, in memory or in its checksum file, so that a commit costs the same however
large the table is. Where it does not, a small state is replayed; a large one has no checksum until its next checkpoint, which
replays it anyway. A wrong one is worse than none.
"""

from contextlib import suppress
from dataclasses import replace

import orjson

from esker.delta.actions import Metadata
from esker.delta.catching_up import caught_up
from esker.delta.live_adds import live_adds
from esker.delta.log import checksum_path
from esker.delta.properties import transaction_retention
from esker.delta.reconciliation import Reconciled
from esker.delta.snapshot import Snapshot
from esker.delta.summary import MOST_DOMAINS, MOST_FILES, MOST_TXNS, Step, Summary, after, listed, summary_json
from esker.delta.tally import tally
from esker.delta.transaction import Change, Finished
from esker.errors import AlreadyExists


def summary_after(base: Snapshot, ready: Finished) -> Summary | None:
    """The summary that follows from the one before; None where it does not."""
    before = base.summary or caught_up(base, _FRESH)
    change = ready.change
    step = Step(change.adds, change.removes, change.txns, change.domains, _is_fresh(change))
    found = None if before is None else after(before, step)
    return None if found is None else _confirmable(found, ready.metadata)


def replayed_summary(snapshot: Snapshot, state: Reconciled) -> Summary:
    """The summary of a state that was replayed."""
    live = state.live
    adds = {add.path: add for add in live_adds(snapshot.pinned(live))} if len(live) <= MOST_FILES else None
    txns, domains = listed(snapshot.txns, MOST_TXNS), listed(snapshot.domains, MOST_DOMAINS)
    return _confirmable(Summary(tally(live.table), txns, domains, adds), snapshot.metadata)


def write_checksum(snapshot: Snapshot, summary: Summary, ready: Finished) -> None:
    """Write the checksum file of the version that was just committed."""
    body = summary_json(summary, snapshot.protocol, snapshot.metadata, ready.transaction, ready.in_commit_timestamp)
    # "Writers MUST NOT overwrite existing Version Checksum files": whoever was first summed up the same commit
    with suppress(AlreadyExists):
        snapshot.place.storage.put_if_absent(checksum_path(snapshot.version), orjson.dumps(body), durable=False)


_FRESH = frozenset({
    "WRITE", "DELETE", "UPDATE", "MERGE", "OPTIMIZE", "REORG", "REMOVE COLUMN MAPPING", "RESTORE", "REPLACE TABLE",
    "REPLACE TABLE AS SELECT",
})  # fmt: skip
"""Operations that add only files that are not live and remove only files that are. Others may add a live file once more, to say
more of it, or leave tombstones of files that were never part of the table."""


def _confirmable(summary: Summary, metadata: Metadata) -> Summary:
    """Without applications where they expire: whether one is still there goes by the clock, so nobody could confirm it."""
    return summary if transaction_retention(metadata.configuration) is None else replace(summary, txns=None)


def _is_fresh(change: Change) -> bool:
    return change.operation.name in _FRESH or not (change.adds or change.removes)
