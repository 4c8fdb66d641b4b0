"""May a change still be made, after what others have committed meanwhile?  (spec, "Commit Conflict Resolution and Retry")

Snapshot isolation: the files that a change removes, or whose rows it has looked at, are there as they were. Serializable besides:
nobody has added a row that the change would have looked at. Appends conflict with nothing.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import Mask, mask_of, rows_of
from esker.core.predicate import Truth
from esker.errors import Conflict
from esker.iceberg.data_files import Content, Status
from esker.iceberg.file_change import APPEND, FileChange, ReadSet
from esker.iceberg.live_files import Files, LiveFiles
from esker.iceberg.manifests import read_manifests
from esker.iceberg.metadata import Snapshot, TableMetadata
from esker.iceberg.plan import filterable
from esker.iceberg.pruning import FilePruner
from esker.iceberg.state import TableState

_HINT = "Nothing was changed. Open the table anew, and repeat the operation if it still makes sense."


def check(change: FileChange, read_at: TableState, base: TableState, is_serializable: bool) -> None:
    """Raise `Conflict` where what happened between the two states makes the change void."""
    if change.operation == APPEND and not change.removed:
        return
    rivals = list(_between(read_at, base))
    if not rivals:
        return
    live = _added(base, rivals)
    problems = [*_new_deletes(change.reads, live, read_at)]
    if is_serializable and not change.reads.allows_new_rows:
        problems += _new_rows(change.reads, live, base)
    if problems:
        raise Conflict("another writer has changed the same rows", where=base.location, problems=problems, hint=_HINT)


def gone(change: FileChange, base: TableState) -> frozenset[str]:
    """Which of the data files that the change refers to are not live any more."""
    referred = change.reads.data_files | {f.referenced_data_file for f in change.added if f.referenced_data_file is not None}
    if not referred:
        return frozenset()
    wanted = pa.array(sorted(referred), pa.string())
    there = pc.is_in(wanted, value_set=base.files.data.column("file_path"))
    return frozenset(wanted.filter(pc.invert(there)).to_pylist())


def _between(read_at: TableState, base: TableState) -> Iterator[Snapshot]:
    """The snapshots after one state up to another. One that is not among the ancestors was rolled back, or has expired."""
    known = None if read_at.snapshot is None else read_at.snapshot.snapshot_id
    at = base.snapshot
    while at is not None and at.snapshot_id != known:
        yield at
        parent = at.parent_snapshot_id
        at = None if parent is None else base.metadata.snapshot(parent)
        if at is None and parent is not None:
            raise Conflict("the history since the rows were read is gone", where=base.location, hint=_HINT)
    if at is None and known is not None:
        raise Conflict("the table was rolled back meanwhile", where=base.location, hint=_HINT)


def _added(base: TableState, rivals: list[Snapshot]) -> LiveFiles:
    """The files that the snapshots have added, rewritten ones left out."""
    told = {s.snapshot_id for s in rivals if s.operation != "replace"}
    manifests = [m for s in rivals for m in base.manifests_of(s) if m.added_snapshot_id == s.snapshot_id]
    manifests = list({m.manifest_path: m for m in manifests}.values())
    found = read_manifests(manifests, base.read_all(m.manifest_path for m in manifests), base.location)
    data, deletes = [], []
    for part in found:
        is_new = rows_of(part.table.column("status")) == Status.ADDED
        is_theirs = mask_of(pc.is_in(part.table.column("snapshot_id"), value_set=pa.array(sorted(told), pa.int64())))
        # manifests of both kinds have one Avro schema, so that one part may hold files of both
        is_data = rows_of(part.table.column("content")) == Content.DATA
        data.append(part.only(is_new & is_theirs & is_data))
        deletes.append(part.only(is_new & is_theirs & ~is_data))
    return LiveFiles(Files(base.metadata, tuple(data)), Files(base.metadata, tuple(deletes)))


def _new_rows(reads: ReadSet, live: LiveFiles, base: TableState) -> Iterator[str]:
    if not len(live.data):
        return
    pruner = FilePruner(live.data, filterable(base))
    for condition in reads.conditions:
        hits = np.ones(len(live.data), dtype=bool) if condition == Truth(True) else pruner(condition)
        if hits.any():
            yield f"{int(hits.sum())} files were added that may hold rows that were looked for"


def _new_deletes(reads: ReadSet, live: LiveFiles, read_at: TableState) -> Iterator[str]:
    """Deletes that may concern the files whose rows were read."""
    if not len(live.deletes) or not reads.data_files or reads.allows_new_deletes:
        return
    named = live.deletes.column("referenced_data_file")
    is_shared = mask_of(pc.is_null(named))
    concerned = mask_of(pc.fill_null(pc.is_in(named, value_set=pa.array(sorted(reads.data_files), pa.string())), False))
    scopes = _scopes(reads, read_at)
    for part, (shared, own) in zip(live.deletes.parts, _split(live.deletes, is_shared, concerned), strict=True):
        if own.any():
            yield f"{int(own.sum())} files of deletes were added for files whose rows were read"
        elif shared.any() and (part.spec_id in scopes or _is_global(live.deletes.metadata, part.spec_id)):
            yield f"{int(shared.sum())} files of deletes were added that may concern rows that were read"


def _scopes(reads: ReadSet, read_at: TableState) -> frozenset[int]:
    """The partition specs of the files whose rows were read."""
    files = read_at.files.data
    is_read = pc.is_in(files.column("file_path"), value_set=pa.array(sorted(reads.data_files), pa.string()))
    return frozenset(int(number) for number in np.unique(files.spec_ids[mask_of(is_read)]))


def _is_global(metadata: TableMetadata, spec_id: int) -> bool:
    spec = metadata.spec_at(spec_id)
    return spec is None or spec.is_unpartitioned


def _split(files: Files, *masks: Mask) -> Iterator[tuple[Mask, ...]]:
    start = 0
    for part in files.parts:
        end = start + part.table.num_rows
        yield tuple(mask[start:end] for mask in masks)
        start = end
