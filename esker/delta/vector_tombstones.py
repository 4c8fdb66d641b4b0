"""Who keeps the deletion vectors of older versions when the table forgets the feature?  (PROTOCOL.md, "Deletion Vectors")

A vacuum by a client that knows no vectors goes by paths: it would take a file of vectors that removed files still refer to. A
tombstone of the file's own keeps it for as long as those.
"""

from collections.abc import Iterator
from datetime import timedelta

import pyarrow.compute as pc

from esker.delta import properties
from esker.delta.actions import Remove
from esker.delta.commit import commit, now
from esker.delta.deletion_vectors import descriptors, file_uri
from esker.delta.reconciliation import reconciled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation


def with_tombstones(snapshot: Snapshot) -> Snapshot:
    """The table with a tombstone for each file of vectors that its tombstones refer to; where all are there, as it is."""
    if not any(_missing(snapshot)):
        return snapshot
    operation = Operation("Deletion Vector Tombstones")
    return commit(snapshot, lambda base: Change(operation, removes=tuple(_missing(base))), is_rebased=True)


def _missing(snapshot: Snapshot) -> Iterator[Remove]:
    moment = now()
    tombstones = reconciled(snapshot).tombstones
    kept = properties.deleted_file_retention(snapshot.metadata.configuration) // timedelta(milliseconds=1)
    is_young = pc.fill_null(pc.greater_equal(tombstones.column("deletionTimestamp"), moment - kept), False)
    young = tombstones.filter(is_young)
    vectors = descriptors(young.column("deletionVector").to_pylist(), snapshot.location)
    named = dict.fromkeys(file_uri(vector) for _, vector in vectors if vector.storage_type != "i")
    known = set(tombstones.column("path").to_pylist())
    for path in named:
        # files of another table, of which this one is a clone, are not ours to speak of
        is_own = snapshot.place.absolute(path).startswith(f"{snapshot.location}/")
        if is_own and path not in known:
            yield Remove(path, None, 0, moment, data_change=False)
