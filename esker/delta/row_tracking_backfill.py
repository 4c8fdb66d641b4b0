"""How do the files of a table that is to track rows get their row ids?  (PROTOCOL.md, "Row Tracking")

"A backfill operation may be required to commit `add` and `remove` actions with the `baseRowId` field set for all data files
before the table property `delta.enableRowTracking` can be set to `true`." First the table supports the feature: from then on
whoever adds files gives them ids. Then the files that are there are added again, unchanged, batch by batch. Whatever comes in
between, the work is picked up where it was left.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow.compute as pc

from esker.core.columns import Rows, mask_of
from esker.delta import properties
from esker.delta.actions import Metadata, action_json
from esker.delta.commit import commit
from esker.delta.live_adds import live_adds
from esker.delta.metadata_commit import committed
from esker.delta.protocol import Protocol, check_writable, is_supported
from esker.delta.required_features import upgraded
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation
from esker.errors import Conflict

BATCH = 100_000
"""Files that one commit gives ids to."""


def needs_backfill(snapshot: Snapshot, after: Metadata) -> bool:
    """Whether the table is to track rows from now on, and has files without row ids."""
    before = properties.row_tracking_enabled(snapshot.metadata.configuration)
    return not before and properties.row_tracking_enabled(after.configuration) and bool(len(_without_ids(snapshot)))


def backfilled(snapshot: Snapshot, target: Protocol) -> Snapshot:
    """The table with row ids for all its files. `target` is the protocol that it is to have in the end."""
    check_writable(target, snapshot.location)
    if not is_supported(snapshot.protocol, "rowTracking"):
        raised = upgraded(snapshot.protocol, ["rowTracking"])
        body = action_json(raised)["protocol"]
        snapshot = committed(
            snapshot,
            lambda base: Settled(base.metadata, raised),
            lambda after: Operation("UPGRADE PROTOCOL", {"newProtocol": body}),
        )
    batch = 0
    while len(_without_ids(snapshot)):
        snapshot = commit(snapshot, partial(_batch, number=batch), is_rebased=True)
        batch += 1
    return snapshot


def _batch(base: Snapshot, number: int) -> Change:
    """The next files get ids. They are those of the newest version, so that no file that a rival removed comes back."""
    if not is_supported(base.protocol, "rowTracking"):
        raise Conflict("another writer has taken row tracking out of the table", where=base.location)
    wanted = _without_ids(base)[:BATCH].tolist()
    adds = tuple(replace(add, data_change=False) for add in live_adds(base, wanted))
    return Change(Operation("ROW TRACKING BACKFILL", {"batchId": number}), adds=adds)


def _without_ids(snapshot: Snapshot) -> Rows:
    files = snapshot.files.table
    has_none = (pc.is_null(files.column(name)) for name in ("baseRowId", "defaultRowCommitVersion"))
    return np.flatnonzero(mask_of(pc.or_(*has_none)))
