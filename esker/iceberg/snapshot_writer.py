"""How does a change of files become a snapshot?  (spec, "Snapshots", "Manifest Lists", "Sequence Number Inheritance")

A function of the newest state, applied anew after every lost race. Manifests are written once and used again; only the manifest
list has the numbers of the snapshot, and is written for each attempt.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from esker.errors import Conflict, EskerError, InvalidRequest, InvalidTable
from esker.iceberg import conflict
from esker.iceberg.commit import Change, check_met, commit, is_certain, now
from esker.iceberg.data_files import Content, DataFile, ManifestEntry, Status
from esker.iceberg.file_change import FileChange, LiveFile, current_records
from esker.iceberg.manifest_lists import ManifestFile, manifest_list_bytes
from esker.iceberg.manifest_merging import bins
from esker.iceberg.manifest_writer import ManifestKind, manifest_bytes, manifest_file
from esker.iceberg.manifests import read_manifests
from esker.iceberg.metadata import BRANCH, MAIN, TAG, Snapshot, SnapshotRef, TableMetadata
from esker.iceberg.place import METADATA
from esker.iceberg.state import TableState
from esker.iceberg.summary import summary
from esker.iceberg.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AssertCurrentSchema,
    AssertDefaultSpec,
    AssertRef,
    Requirement,
    SetRef,
    Update,
    updated,
)
from esker.storage.paths import join_url, trimmed

METADATA_PATH = "write.metadata.path"
ISOLATION = "isolation-level"
ENTRIES_PER_MANIFEST = 25_000
"""About as many as fit the usual target size of a manifest."""


def publish(
    state: TableState,
    change: FileChange,
    besides: Iterable[Update] = (),
    isolation: str | None = None,
    guard: Callable[[TableState], None] = lambda base: None,
) -> TableState:
    """Make a snapshot of the change, on the state's branch. `besides` are updates of the metadata that come with it; `guard`
    raises where the change does not fit the state that it is to follow.
    """
    maker = SnapshotMaker(state, change, tuple(besides), isolation or "serializable", guard)
    try:
        made = commit(state, maker)
    except EskerError as error:
        if is_certain(error):
            maker.discard(frozenset())
        raise
    maker.discard(frozenset(maker.used))
    return made


@dataclass(frozen=True)
class Written:
    """A manifest that was written, before it is known which sequence number it gets."""

    file: ManifestFile
    has_own: bool
    """Whether live entries of it have sequence numbers of their own."""

    def at(self, sequence_number: int, version: int) -> ManifestFile:
        if version == 1:
            return replace(self.file, sequence_number=0, min_sequence_number=0)
        least = min(self.file.min_sequence_number, sequence_number) if self.has_own else sequence_number
        return replace(self.file, sequence_number=sequence_number, min_sequence_number=least)


@dataclass
class SnapshotMaker:
    """Makes the snapshot of a change on top of any state."""

    read_at: TableState
    change: FileChange
    besides: tuple[Update, ...] = ()
    isolation: str = "serializable"
    guard: Callable[[TableState], None] = lambda base: None
    snapshot_id: int = field(default_factory=lambda: (uuid4().int >> 64) & (2**63 - 1))
    uuid: str = field(default_factory=lambda: str(uuid4()))
    used: list[str] = field(default_factory=list)
    """The paths that the last attempt refers to."""
    _written: dict[str, None] = field(default_factory=dict)
    _cache: dict[object, list[Written]] = field(default_factory=dict)
    _attempt: int = 0

    def __call__(self, base: TableState) -> Change | None:
        if base.metadata.snapshot(self.snapshot_id) is not None:
            return None  # the attempt that was told to have lost had won: whoever carried it has asked twice
        return self.change_of(base)

    def change_of(self, base: TableState) -> Change:
        """The updates that add the snapshot to a state."""
        branch = base.ref if base.ref is not None else MAIN
        self._check(base, branch)
        self.guard(base)
        conflict.check(self.change, self.read_at, base, self.isolation != "snapshot")
        required = self._required(base, branch)
        check_met(base, required)
        self._attempt += 1
        base = self._shaped(base)
        version = base.metadata.format_version
        sequence = base.metadata.last_sequence_number + 1 if version > 1 else 0
        fresh = self._added(base)
        kept, replaced = self._filtered(base)
        manifests = [*(w.at(sequence, version) for w in fresh), *(w.at(sequence, version) for w in replaced), *kept]
        if not self.change.is_fast:
            manifests = self._merged(manifests, base, sequence)
        created = sum(m.added_snapshot_id == self.snapshot_id for m in manifests)
        manifests, added_rows = _with_row_ids(manifests, base)
        snapshot = self._snapshot(base, manifests, sequence, added_rows, created)
        self.used = [m.manifest_path for m in manifests] + [snapshot.manifest_list or ""]
        ref = base.metadata.refs.get(branch)
        moved = replace(ref, snapshot_id=self.snapshot_id) if ref is not None else SnapshotRef(self.snapshot_id, BRANCH)
        return Change((*self.besides, AddSnapshot(snapshot), SetRef(branch, moved)), required)

    def _required(self, base: TableState, branch: str) -> tuple[Requirement, ...]:
        ref = base.metadata.refs.get(branch)
        at = AssertRef(branch, None if ref is None else ref.snapshot_id)
        if not any(isinstance(update, AddSchema | AddPartitionSpec | AddSortOrder) for update in self.besides):
            return (at,)
        # ids were given out by what was there then
        then = self.read_at.metadata
        return (
            at,
            AssertCurrentSchema(then.current_schema_id, then.last_column_id),
            AssertDefaultSpec(then.default_spec_id, then.last_partition_id),
        )

    def _shaped(self, base: TableState) -> TableState:
        """The base with the format version, the columns and the partition specs that the snapshot will be of."""
        if not self.besides:
            return base
        return replace(base, metadata=updated(base.metadata, self.besides, base.metadata.last_updated_ms))

    def _check(self, base: TableState, branch: str) -> None:
        ref = base.metadata.refs.get(branch)
        if ref is not None and ref.type == TAG:
            raise InvalidRequest(f"{branch} is a tag, which stays where it is", where=base.location, hint="Write to a branch.")
        is_outdated = any(f.content == Content.POSITION_DELETES and not f.is_deletion_vector for f in self.change.added)
        if base.metadata.format_version >= 3 and is_outdated:
            # "v3 writers must not add position-delete files"
            raise Conflict("the table was upgraded to version 3 meanwhile", where=base.location, hint="Repeat the operation.")

    def discard(self, used: frozenset[str]) -> None:
        """Delete what was written for attempts that came to nothing."""
        for path in self._written:
            if path not in used:
                storage, name = self.read_at.place.locate(path)
                try:
                    storage.delete(name)
                except EskerError:
                    return  # leftovers that no snapshot names

    def _added(self, base: TableState) -> list[Written]:
        """The manifests of the files that are added."""
        groups: dict[tuple[bool, int], list[DataFile]] = {}
        for file in self.change.added:
            groups.setdefault((file.content != Content.DATA, file.spec_id), []).append(file)
        key = ("added", base.metadata.format_version)
        then = self._as_written(base)
        if any(base.metadata.spec_at(spec_id) != then.metadata.spec_at(spec_id) for _, spec_id in groups):
            raise Conflict("the partition spec of the files is gone", where=base.location, hint="Repeat the operation.")
        if key not in self._cache:
            self._cache[key] = [
                self._write([self._entry(file) for file in files[at : at + ENTRIES_PER_MANIFEST]], then, spec_id, is_deletes)
                for (is_deletes, spec_id), files in groups.items()
                for at in range(0, len(files), ENTRIES_PER_MANIFEST)
            ]
        return self._cache[key]

    def _as_written(self, base: TableState) -> TableState:
        """The base with the columns under which the files were written: their partition values are of those types."""
        then, newest = self._shaped(self.read_at).metadata, base.metadata
        kept = replace(then, format_version=newest.format_version, properties=newest.properties)
        return replace(base, metadata=kept)

    def _entry(self, file: DataFile) -> ManifestEntry:
        own = self.change.sequence_number if file.content == Content.DATA else None
        return ManifestEntry(Status.ADDED, self.snapshot_id, own, None, file)

    def _filtered(self, base: TableState) -> tuple[list[ManifestFile], list[Written]]:
        """The manifests of the base that stay, and those that come in the place of others."""
        targets = self._located(base)
        kept: list[ManifestFile] = []
        replaced: list[Written] = []
        for manifest in base.manifests:
            if manifest.manifest_path in targets:
                replaced += self._without(manifest, targets[manifest.manifest_path], base)
            elif manifest.may_have_live_files:
                kept.append(manifest)
        return kept, replaced

    def _located(self, base: TableState) -> Mapping[str, frozenset[tuple[str, int | None]]]:
        """The files that go, by the manifests of the base that list them."""
        if base.version != self.read_at.version and (dead := conflict.gone(self.change, base)):
            raise Conflict("files whose rows were read are gone", where=base.location, problems=sorted(dead)[:10])
        there = {m.manifest_path for m in base.manifests}
        targets: dict[str, set[tuple[str, int | None]]] = {}
        lost: dict[tuple[str, int | None], LiveFile] = {}
        for live in self.change.removed:
            if live.manifest_path in there:
                targets.setdefault(live.manifest_path, set()).add(live.file.identity)
            else:
                lost[live.file.identity] = live
        if lost:
            known = {m.manifest_path for m in self.read_at.manifests}
            for manifest in base.manifests:
                if manifest.manifest_path not in known and manifest.may_have_live_files:
                    for entry in self._entries([manifest], base):
                        if entry.is_live and lost.pop(entry.file.identity, None) is not None:
                            targets.setdefault(manifest.manifest_path, set()).add(entry.file.identity)
        if lost:
            raise Conflict(
                "files that were to be removed are gone: another writer was first", where=base.location,
                problems=sorted(path for path, _ in lost)[:10], hint="Open the table anew, and repeat the operation.",
            )  # fmt: skip
        return {path: frozenset(files) for path, files in targets.items()}

    def _without(self, manifest: ManifestFile, targets: frozenset[tuple[str, int | None]], base: TableState) -> list[Written]:
        """The manifest with some of its files marked as deleted."""
        key = (manifest.manifest_path, targets, base.metadata.format_version, manifest.first_row_id)
        if key not in self._cache:
            entries = [self._carried(e, targets) for e in self._entries([manifest], base) if e.is_live]
            marked = sum(e.status == Status.DELETED for e in entries)
            if marked != len(targets):
                raise Conflict("files that were to be removed are gone: another writer was first", where=base.location)
            self._cache[key] = [self._write(entries, base, manifest.partition_spec_id, manifest.is_deletes)]
        return self._cache[key]

    def _carried(self, entry: ManifestEntry, targets: frozenset[tuple[str, int | None]]) -> ManifestEntry:
        if entry.file.identity in targets:
            return replace(entry, status=Status.DELETED, snapshot_id=self.snapshot_id)
        return replace(entry, status=Status.EXISTING)

    def _merged(self, manifests: list[ManifestFile], base: TableState, sequence: int) -> list[ManifestFile]:
        """Small manifests put together, where there are many of them."""
        merged: list[ManifestFile] = []
        for group in bins(manifests, base.metadata.properties, self.snapshot_id):
            if len(group) == 1:
                merged += group
                continue
            key = ("merged", tuple(m.manifest_path for m in group), base.metadata.format_version)
            if key not in self._cache:
                entries = [self._kept(e) for e in self._entries(group, base) if e.is_live or e.snapshot_id == self.snapshot_id]
                self._cache[key] = [self._write(entries, base, group[0].partition_spec_id, group[0].is_deletes)]
            merged += [w.at(sequence, base.metadata.format_version) for w in self._cache[key]]
        return merged

    def _kept(self, entry: ManifestEntry) -> ManifestEntry:
        """An entry as it is written again: what this snapshot has done stays told, and its numbers are left to the manifest."""
        if entry.snapshot_id == self.snapshot_id and entry.status == Status.ADDED:
            return self._entry(entry.file)
        return entry if entry.status == Status.DELETED else replace(entry, status=Status.EXISTING)

    def _entries(self, manifests: Sequence[ManifestFile], base: TableState) -> list[ManifestEntry]:
        parts = read_manifests(manifests, base.read_all(m.manifest_path for m in manifests), base.location)
        return [entry for part in parts for entry in current_records(part, base.metadata)]

    def _write(self, entries: Sequence[ManifestEntry], base: TableState, spec_id: int, is_deletes: bool) -> Written:
        spec = base.metadata.spec_at(spec_id)
        if spec is None:
            raise InvalidTable(f"there is no partition spec {spec_id}", where=base.location)
        kind = ManifestKind(base.metadata, spec, is_deletes)
        data = manifest_bytes(entries, kind)
        path = f"{metadata_root(base.metadata)}/{self.uuid}-m{len(self._written)}.avro"
        self._put(path, data)
        listed = manifest_file(path, len(data), entries, kind, self.snapshot_id, None)
        return Written(listed, any(e.is_live and e.sequence_number is not None for e in entries))

    def _put(self, path: str, data: bytes) -> None:
        self._written[path] = None
        storage, name = self.read_at.place.locate(path)
        storage.put_if_absent(name, data)

    def _snapshot(
        self, base: TableState, manifests: Sequence[ManifestFile], sequence: int, added_rows: int | None, created: int
    ) -> Snapshot:
        metadata, parent = base.metadata, base.snapshot
        path = f"{metadata_root(metadata)}/snap-{self.snapshot_id}-{self._attempt}-{self.uuid}.avro"
        first_row_id = metadata.next_row_id if metadata.format_version > 2 else None
        header = {
            "snapshot-id": str(self.snapshot_id),
            "parent-snapshot-id": "null" if parent is None else str(parent.snapshot_id),
            **({"sequence-number": str(sequence)} if metadata.format_version > 1 else {}),
            **({"first-row-id": str(first_row_id)} if first_row_id is not None else {}),
        }
        self._put(path, manifest_list_bytes(manifests, metadata.format_version, header))
        counts = {
            "manifests-created": created,
            "manifests-kept": len(manifests) - created,
            "manifests-replaced": sum(
                m.manifest_path not in {n.manifest_path for n in manifests} for m in base.manifests if m.may_have_live_files
            ),
        }
        told = summary(
            self.change.operation, self.change.added, [live.file for live in self.change.removed],
            None if parent is None else parent.summary,
            {**{key: str(number) for key, number in counts.items()}, **self.change.summary},
        )  # fmt: skip
        return Snapshot(
            self.snapshot_id,
            max(now(), metadata.last_updated_ms),
            path,
            parent_snapshot_id=None if parent is None else parent.snapshot_id,
            sequence_number=sequence,
            summary=told,
            schema_id=metadata.current_schema_id,
            first_row_id=first_row_id,
            added_rows=added_rows,
        )


def metadata_root(metadata: TableMetadata) -> str:
    """Where manifests and their lists go, as the metadata names it."""
    elsewhere = metadata.properties.get(METADATA_PATH)
    return join_url(metadata.location, METADATA) if elsewhere is None else trimmed(elsewhere)


def _with_row_ids(manifests: Sequence[ManifestFile], base: TableState) -> tuple[list[ManifestFile], int | None]:
    """The manifests with their first row ids, and how many rows have got ids by that.

    "manifests that already have `first_row_id` keep it"; each data manifest without one gets the running value, which then grows
    by its added and existing rows.
    """
    if base.metadata.format_version < 3:
        return list(manifests), None
    first = following = base.metadata.next_row_id or 0
    found: list[ManifestFile] = []
    for manifest in manifests:
        if manifest.is_deletes or manifest.first_row_id is not None:
            found.append(manifest)
            continue
        found.append(replace(manifest, first_row_id=following))
        following += _rows(manifest, base)
    return found, following - first


def _rows(manifest: ManifestFile, base: TableState) -> int:
    if manifest.added_rows_count is not None and manifest.existing_rows_count is not None:
        return manifest.added_rows_count + manifest.existing_rows_count
    return int(sum(base.files_of([manifest]).data.numbers("record_count")))
