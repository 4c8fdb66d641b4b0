"""What takes a table back to an earlier version?  (PROTOCOL.md, "Add File and Remove File", "Protocol Evolution")

A commit on top of the newest version: files that the earlier one had come back, files that it had not go, and its metadata holds
again. What the log and its readers have grown used to since stays: the protocol is never lowered, ids and numbers are never given
out twice.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pyarrow.compute as pc

from esker.core.columns import Rows, mask_of
from esker.core.demands import PROMISES
from esker.core.features import Operation
from esker.core.types import Field, Struct
from esker.delta import properties
from esker.delta.actions import Add, DomainMetadata, Metadata, Remove, removed, with_schema
from esker.delta.column_mapping import physical_name
from esker.delta.column_metadata import HIGH_WATER_MARK, numbering, with_metadata
from esker.delta.deletion_vectors import file_uri
from esker.delta.live_adds import live_adds
from esker.delta.protocol import Protocol, is_upgrade, merge
from esker.delta.replay import LiveFiles, rows_without
from esker.delta.settled import Settled, honoured
from esker.delta.snapshot import Place, Snapshot
from esker.errors import InvalidRequest, NotFound, Unsupported


@dataclass(frozen=True, slots=True)
class Restoration:
    """What a commit holds that restores a table, and what the history says of it."""

    adds: tuple[Add, ...]
    removes: tuple[Remove, ...]
    metadata: Metadata
    protocol: Protocol
    domains: tuple[DomainMetadata, ...]
    metrics: Mapping[str, int] = field(hash=False)


def restoring(current: Snapshot, target: Snapshot, now: int, ignore_missing: bool = False) -> Restoration:
    """How the table gets from `current` to `target`, an earlier version of it. `now` is in milliseconds since the epoch.

    Files that are to come back and are no longer there are refused; with `ignore_missing` they are left out.
    """
    if target.location != current.location or target.version >= current.version:
        raise InvalidRequest(
            f"version {target.version} is no earlier version of this table, which is at {current.version}",
            where=current.location,
        )
    current.gate(Operation.WRITE)
    target.gate(Operation.READ)
    lost, surplus = rows_without(target.files, current.files), rows_without(current.files, target.files)
    _check_row_ids(current, target, surplus)
    found = [replace(add, data_change=True) for add in live_adds(target, lost.tolist())]
    gone = _missing(found, target.place)
    if gone and not ignore_missing:
        raise InvalidRequest(
            f"version {target.version} cannot be restored: {len(gone)} of its files are no longer there",
            where=current.location,
            problems=sorted(gone.values()),
            hint="Restore a later version, or pass ignore_missing to leave them out.",
        )
    adds = tuple(add for add in found if add.path not in gone)
    removes = tuple(removed(add, now) for add in live_adds(current, surplus.tolist()))
    protocol = _protocol(current.protocol, target.protocol)
    metrics = _metrics(target.files, adds, removes, [add for add in found if add.path in gone])
    return Restoration(adds, removes, _metadata(current, target), protocol, tuple(_domains(current, target)), metrics)


def _check_row_ids(current: Snapshot, target: Snapshot, surplus: Rows) -> None:
    """ "Enabling on a non-empty table needs a backfill": files that stay must have their ids where the target has them."""
    if properties.row_tracking_enabled(honoured(Settled(target.metadata, target.protocol)).configuration):
        has_none = ~mask_of(pc.is_valid(current.files.table.column("baseRowId")))
        has_none[surplus] = False
        if has_none.any():
            raise Unsupported(
                f"version {target.version} tracks rows, and files of it have lost their row ids since",
                where=current.location,
                hint="Enable row tracking first, then restore.",
            )


def _missing(adds: list[Add], place: Place) -> dict[str, str]:
    """The paths of files that are gone, or whose deletion vector is, and where they should be."""

    def look(add: Add) -> tuple[str, str] | None:
        vector = add.deletion_vector
        needed = [add.path, *([] if vector is None or vector.storage_type == "i" else [file_uri(vector)])]
        for uri in needed:
            storage, path = place.locate(uri)
            try:
                storage.head(path)
            except NotFound:
                return add.path, f"{storage.url}/{path}"
        return None

    with ThreadPoolExecutor(16) as pool:
        return dict(found for found in pool.map(look, adds) if found is not None)


def _protocol(current: Protocol, target: Protocol) -> Protocol:
    """Never lowered: versions in between need what they needed."""
    return current if is_upgrade(target, current) else merge(current, target)


def _metadata(current: Snapshot, target: Snapshot) -> Metadata:
    past = honoured(Settled(target.metadata, target.protocol))
    old, new = current.metadata.configuration, past.configuration
    configuration = {key: value for key, value in new.items() if key not in _STAYING}
    configuration |= {key: old[key] for key in _STAYING if key in old}
    if properties.MAX_COLUMN_ID.name in new:
        # "`delta.columnMapping.maxColumnId` only grows"
        highest = max(properties.max_column_id(old), properties.max_column_id(new))
        configuration[properties.MAX_COLUMN_ID.name] = str(highest)
    marks = dict(_marks(current))
    schema = Struct(tuple(_with_mark(f, marks.get(physical_name(f, target.mapping))) for f in target.schema))
    metadata = past if schema == target.schema else with_schema(past, schema)
    return replace(metadata, configuration=configuration)


_STAYING = (
    properties.IN_COMMIT_TIMESTAMPS.name,
    properties.TIMESTAMPS_SINCE_VERSION.name,
    properties.TIMESTAMPS_SINCE.name,
    properties.CHECKPOINT_PROTECTION.name,
    PROMISES,
)
"""Properties that speak of commits or to clients, neither of which a restoration takes back."""


def _marks(snapshot: Snapshot) -> Iterator[tuple[str, int]]:
    """How far each identity column has come, by its physical name."""
    for member in snapshot.schema:
        found = numbering(member)
        if found is not None and found.high_water_mark is not None:
            yield physical_name(member, snapshot.mapping), found.high_water_mark


def _with_mark(member: Field, mark: int | None) -> Field:
    """The column with the farther of two marks: numbers that were given out since are not given out again."""
    found = numbering(member)
    if found is None or mark is None:
        return member
    own = found.high_water_mark
    farther = mark if own is None else max(own, mark) if found.step > 0 else min(own, mark)
    return with_metadata(member, {HIGH_WATER_MARK: farther})


def _domains(current: Snapshot, target: Snapshot) -> Iterator[DomainMetadata]:
    """Clustering goes back with the columns it is by. Other domains are their owners' and stay."""
    old, new = current.domains.get(_CLUSTERING), target.domains.get(_CLUSTERING)
    if old != new:
        yield DomainMetadata(_CLUSTERING, '{"clusteringColumns":[]}') if new is None else new


_CLUSTERING = "delta.clustering"


def _metrics(
    files: LiveFiles, adds: tuple[Add, ...], removes: tuple[Remove, ...], missing: list[Add]
) -> Mapping[str, int]:
    whole: int = pc.sum(files.table.column("size")).as_py() or 0
    return {
        "tableSizeAfterRestore": whole - sum(add.size for add in missing),
        "numOfFilesAfterRestore": len(files) - len(missing),
        "numRemovedFiles": len(removes),
        "numRestoredFiles": len(adds),
        "removedFilesSize": sum(remove.size for remove in removes),
        "restoredFilesSize": sum(add.size for add in adds),
    }
