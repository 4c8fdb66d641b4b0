"""What follows a commit?  (PROTOCOL.md, "Version Checksum File", "Checkpoints", "Metadata Cleanup")

Work that keeps the log short and checkable. Each piece may fail and be done by a later writer; the version stands without it.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from esker.delta import properties
from esker.delta.checkpoint_writer import write_checkpoint
from esker.delta.checksum_writer import replayed_summary, summary_after, write_checksum
from esker.delta.log_cleanup import clean_by_the_way
from esker.delta.reconciliation import Reconciled, reconciled
from esker.delta.snapshot import Snapshot
from esker.delta.summary import Summary
from esker.delta.transaction import Finished

SMALL_STATE = 1 << 20
"""Bytes of log that are replayed for nothing but a checksum."""

_log = logging.getLogger("esker")


def keep_up(snapshot: Snapshot, ready: Finished, base: Snapshot, now: int) -> Snapshot:
    """Do what is due after the commit that made `snapshot` of `base`; the snapshot with what came to be known of it."""
    is_due, state = False, None
    with _work(snapshot, "its checksum file"):
        is_due = _is_due(snapshot)
        summary = summary_after(base, ready)
        if is_due or (summary is None and _is_small(snapshot)):
            state = reconciled(snapshot)
            summary = _confirmed(summary, snapshot, state)
        if summary is not None:
            snapshot = snapshot.summed_up(summary)
            write_checksum(snapshot, summary, ready)
    if is_due:
        with _work(snapshot, "its checkpoint"):
            snapshot = snapshot.resting_on(write_checkpoint(snapshot, now, state))
        with _work(snapshot, "the clean-up of the log"):
            clean_by_the_way(snapshot, now)
    return snapshot


@contextmanager
def _work(snapshot: Snapshot, what: str) -> Iterator[None]:
    """Whatever goes wrong within is told and goes no further: nobody must take the version for one that failed."""
    try:
        yield
    except Exception as error:
        _log.warning("%s: version %d was committed, but %s failed: %s", snapshot.location, snapshot.version, what, error)


def _is_due(snapshot: Snapshot) -> bool:
    """Whether the version is one that gets a checkpoint."""
    return snapshot.version > 0 and snapshot.version % properties.checkpoint_interval(snapshot.metadata.configuration) == 0


def _is_small(snapshot: Snapshot) -> bool:
    size = snapshot.log.size
    return size <= SMALL_STATE and size + sum(sidecar.size for sidecar in snapshot.sidecars) <= SMALL_STATE


def _confirmed(expected: Summary | None, snapshot: Snapshot, state: Reconciled) -> Summary:
    """The summary of the replayed state, whatever was expected: an error of another writer goes no further than this."""
    found = replayed_summary(snapshot, state)
    if expected is not None and expected.tally != found.tally:
        _log.warning(
            "%s: the checksum files before version %d sum up to %s, the log to %s",
            snapshot.location, snapshot.version, expected.tally, found.tally,
        )  # fmt: skip
    return found
