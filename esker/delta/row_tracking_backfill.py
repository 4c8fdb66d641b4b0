"""How do the files of a table that is to track rows get their row ids?  (PROTOCOL.md, "Row Tracking")

"A backfill operation may be required to commit `add` and `remove` actions with the `baseRowId` field set for all data files
before the table property `delta.enableRowTracking` can be set to `true`." First the table supports the feature: from then on
whoever adds files gives them ids. Then the files that are there are added again, unchanged, batch by batch. Whatever comes in
between, the work is picked up where it was left.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.core.columns import Rows, mask_of
from esker.delta import properties
from esker.delta.actions import Add, Metadata, action_json
from esker.delta.commit import commit
from esker.delta.live_adds import live_adds
from esker.delta.metadata_commit import committed
from esker.delta.protocol import Protocol, check_writable, is_supported
from esker.delta.required_features import upgraded
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation, gives_row_ids
from esker.errors import Conflict, InvalidTable
from esker.storage import open_input

BATCH = 100_000
"""Files that one commit gives ids to."""


def needs_backfill(snapshot: Snapshot, after: Metadata) -> bool:
    """Whether the table is to track rows from now on, and has files without row ids."""
    before = properties.row_tracking_enabled(snapshot.metadata.configuration)
    return not before and properties.row_tracking_enabled(after.configuration) and bool(len(_without_ids(snapshot)))


def backfilled(snapshot: Snapshot, target: Protocol) -> Snapshot:
    """The table with row ids for all its files. `target` is the protocol that it is to have in the end."""
    check_writable(target, snapshot.location)
    counts = _missing_counts(snapshot)
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
        snapshot = commit(snapshot, partial(_batch, number=batch, counts=counts), is_rebased=True)
        batch += 1
    return snapshot


def _batch(base: Snapshot, number: int, counts: Mapping[str, int]) -> Change:
    """The next files get ids. They are those of the newest version, so that no file that a rival removed comes back."""
    if not gives_row_ids(base.protocol, base.metadata):
        raise Conflict("another writer is taking row tracking out of the table", where=base.location)
    wanted = _without_ids(base)[:BATCH].tolist()
    adds = (replace(add, data_change=False) for add in live_adds(base, wanted))
    counted = tuple(_with_count(add, counts[add.path]) if add.path in counts else add for add in adds)
    return Change(Operation("ROW TRACKING BACKFILL", {"batchId": number}), adds=counted)


def _without_ids(snapshot: Snapshot) -> Rows:
    files = snapshot.files.table
    has_none = (pc.is_null(files.column(name)) for name in ("baseRowId", "defaultRowCommitVersion"))
    return np.flatnonzero(mask_of(pc.or_(*has_none)))


def _missing_counts(snapshot: Snapshot) -> Mapping[str, int]:
    """How many rows files have that are to get ids and do not say so, from their footers."""
    unsaid = _without_ids(snapshot)
    unsaid = unsaid[mask_of(pc.is_null(snapshot.statistics.num_records()))[unsaid]]

    def look(add: Add) -> tuple[str, int]:
        storage, path = snapshot.place.locate(add.path)
        try:
            with open_input(storage, path) as source:
                return add.path, pq.read_metadata(source).num_rows
        except (pa.ArrowException, OSError) as error:
            raise InvalidTable(f"the footer cannot be read: {error}", where=f"{storage.url}/{path}") from error

    with ThreadPoolExecutor(16) as pool:
        return dict(pool.map(look, live_adds(snapshot, unsaid.tolist())))


def _with_count(add: Add, rows: int) -> Add:
    said = orjson.loads(add.stats or "{}")
    return replace(add, stats=orjson.dumps({**said, "numRecords": rows}).decode())
