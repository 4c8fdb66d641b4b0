"""How do branches and tags come, go and move?  (spec, "Snapshot Reference", "Snapshot Retention Policy")"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from esker.errors import Conflict, InvalidRequest
from esker.iceberg.commit import Change, commit
from esker.iceberg.file_change import FileChange, LiveFile, ReadSet, current_records
from esker.iceberg.manifests import read_manifests
from esker.iceberg.metadata import BRANCH, MAIN, TAG, Snapshot, SnapshotRef, TableMetadata
from esker.iceberg.snapshot_writer import publish
from esker.iceberg.state import TableState
from esker.iceberg.updates import AssertRef, RemoveRef, SetRef

WAP_ID, PUBLISHED_WAP_ID, SOURCE = "wap.id", "published-wap-id", "source-snapshot-id"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a reference and its snapshots are kept; None for what the table says."""

    max_ref_age_ms: int | None = None
    max_snapshot_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None


def create_ref(state: TableState, name: str, kind: str, snapshot_id: int | None, retention: Retention) -> TableState:
    """Have a branch or tag point to a snapshot, by default to the one of the state."""
    if kind == TAG and (retention.max_snapshot_age_ms is not None or retention.min_snapshots_to_keep is not None):
        raise InvalidRequest("a tag keeps one snapshot: it has an age of its own and nothing else", where=state.location)

    def apply(base: TableState) -> Change:
        if name in base.metadata.refs:
            raise InvalidRequest(f"there is a branch or tag {name}", where=state.location)
        target = _known(base.metadata, snapshot_id if snapshot_id is not None else state.version)
        ref = SnapshotRef(
            target.snapshot_id, kind, retention.min_snapshots_to_keep, retention.max_snapshot_age_ms, retention.max_ref_age_ms
        )
        return Change((SetRef(name, ref),), (AssertRef(name, None),))

    return commit(state, apply)


def drop_ref(state: TableState, name: str) -> TableState:
    """Take a branch or tag away; its snapshots stay until they expire."""
    if name == MAIN:
        raise InvalidRequest(f"{MAIN} cannot be dropped", where=state.location)

    def apply(base: TableState) -> Change:
        ref = _ref(base.metadata, name)
        return Change((RemoveRef(name),), (AssertRef(name, ref.snapshot_id),))

    return commit(state, apply)


def fast_forward(state: TableState, branch: str, to: str) -> TableState:
    """Move a branch to where another reference is, which must be ahead of it."""

    def apply(base: TableState) -> Change | None:
        ref, target = base.metadata.refs.get(branch), _ref(base.metadata, to)
        if ref is not None and ref.snapshot_id == target.snapshot_id:
            return None
        if ref is not None and ref.snapshot_id not in {s.snapshot_id for s in ancestors(base.metadata, target.snapshot_id)}:
            raise InvalidRequest(f"{branch} cannot be moved to {to}, which is not ahead of it", where=state.location)
        moved = replace(ref, snapshot_id=target.snapshot_id) if ref is not None else SnapshotRef(target.snapshot_id, BRANCH)
        return Change((SetRef(branch, moved),), (AssertRef(branch, None if ref is None else ref.snapshot_id),))

    return commit(state, apply)


def rollback(state: TableState, snapshot_id: int) -> TableState:
    """Take the branch back to an earlier snapshot of its own."""

    def apply(base: TableState) -> Change | None:
        branch = base.ref or MAIN
        if base.snapshot is not None and base.snapshot.snapshot_id == snapshot_id:
            return None
        _known(base.metadata, snapshot_id)
        if base.snapshot is None or snapshot_id not in {s.snapshot_id for s in ancestors(base.metadata, base.version)}:
            raise InvalidRequest(f"the snapshot {snapshot_id} is not in the history of {branch}", where=state.location)
        ref = base.metadata.refs.get(branch) or SnapshotRef(base.version, BRANCH)
        return Change((SetRef(branch, replace(ref, snapshot_id=snapshot_id)),), (AssertRef(branch, base.version),))

    return commit(state, apply)


def cherry_pick(state: TableState, snapshot_id: int) -> TableState:
    """Make the changes of a snapshot on the branch: by moving there where it follows, else by its files anew.

    Only snapshots that append, or that replace whole partitions, can be picked.
    """
    picked = _known(state.metadata, snapshot_id)
    _check_unpicked(state, picked)
    if picked.parent_snapshot_id == (None if state.snapshot is None else state.version):
        return _moved(state, picked)
    if picked.operation != "append":
        raise InvalidRequest(
            f"the snapshot {snapshot_id} does not follow the newest one and is of the kind {picked.operation}: "
            "only appends can be picked then", where=state.location,
        )  # fmt: skip
    files = tuple(live.file for live in added_files(state, picked))
    wap = picked.summary.get(WAP_ID)
    told = {SOURCE: str(snapshot_id)} | ({} if wap is None else {PUBLISHED_WAP_ID: wap})
    change = FileChange("append", files, reads=ReadSet(), summary=told)
    return publish(state, change, guard=lambda base: _check_unpicked(base, picked))


def publish_staged(state: TableState, wap_id: str) -> TableState:
    """Publish what was staged under an id (write, audit, publish)."""
    staged = [s for s in state.metadata.snapshots if s.summary.get(WAP_ID) == wap_id]
    if len(staged) != 1:
        raise InvalidRequest(f"{len(staged)} snapshots were staged under wap.id {wap_id}", where=state.location)
    return cherry_pick(state, staged[0].snapshot_id)


def added_files(state: TableState, snapshot: Snapshot) -> Iterator[LiveFile]:
    """The files that a snapshot has added."""
    manifests = [m for m in state.manifests_of(snapshot) if m.added_snapshot_id == snapshot.snapshot_id]
    for manifest, data in zip(manifests, state.read_all(m.manifest_path for m in manifests), strict=True):
        for part in read_manifests([manifest], [data], state.location):
            for entry in current_records(part, state.metadata):
                if entry.status == 1 and entry.snapshot_id == snapshot.snapshot_id:
                    yield LiveFile(replace(entry, file=replace(entry.file, first_row_id=None)), manifest.manifest_path)


def ancestors(metadata: TableMetadata, snapshot_id: int) -> Iterator[Snapshot]:
    """A snapshot and those before it, as far as they are known."""
    at = metadata.snapshot(snapshot_id)
    while at is not None:
        yield at
        at = None if at.parent_snapshot_id is None else metadata.snapshot(at.parent_snapshot_id)


def _check_unpicked(base: TableState, picked: Snapshot) -> None:
    """Raise where the branch has the changes of a snapshot already: its files would be live twice."""
    wap = picked.summary.get(WAP_ID)
    for snapshot in ancestors(base.metadata, base.version):
        if picked.snapshot_id == snapshot.snapshot_id or str(picked.snapshot_id) == snapshot.summary.get(SOURCE):
            what = f"the snapshot {picked.snapshot_id}"
        elif wap is not None and wap in (snapshot.summary.get(WAP_ID), snapshot.summary.get(PUBLISHED_WAP_ID)):
            what = f"wap.id {wap}"
        else:
            continue
        raise InvalidRequest(f"{base.ref or MAIN} has the changes of {what} already", where=base.location)


def _moved(state: TableState, picked: Snapshot) -> TableState:
    def apply(base: TableState) -> Change:
        branch = base.ref or MAIN
        ref = base.metadata.refs.get(branch)
        if (None if ref is None else ref.snapshot_id) != picked.parent_snapshot_id:
            raise Conflict(f"{branch} has moved meanwhile", where=state.location, hint="Pick the snapshot again.")
        moved = replace(ref, snapshot_id=picked.snapshot_id) if ref is not None else SnapshotRef(picked.snapshot_id, BRANCH)
        return Change((SetRef(branch, moved),), (AssertRef(branch, picked.parent_snapshot_id),))

    return commit(state, apply)


def _ref(metadata: TableMetadata, name: str) -> SnapshotRef:
    if name not in metadata.refs:
        raise InvalidRequest(f"there is no branch or tag {name}", where=metadata.location)
    return metadata.refs[name]


def _known(metadata: TableMetadata, snapshot_id: int) -> Snapshot:
    found = metadata.snapshot(snapshot_id)
    if found is None:
        raise InvalidRequest(f"there is no snapshot {snapshot_id}", where=metadata.location)
    return found
