"""What is the state of a table at one snapshot?  (spec, "Snapshots", "Snapshot Reference", "Manifest Lists")

Opening reads the metadata file and nothing else; manifests are read when they are asked for, once. Opening never refuses what the
metadata says: a table that cannot be read can still be described.
"""

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from esker.errors import InvalidRequest, InvalidTable, NotFound, Unsupported
from esker.iceberg.avro_file import parse_avro
from esker.iceberg.catalog import Catalog
from esker.iceberg.current_file import current_file, is_metadata_file
from esker.iceberg.live_files import LiveFiles, read_live
from esker.iceberg.manifest_lists import ManifestFile, parse_manifest_list
from esker.iceberg.metadata import MAIN, TAG, Snapshot, TableMetadata
from esker.iceberg.metadata_json import read_metadata
from esker.iceberg.place import METADATA, Place
from esker.iceberg.schema import Schema

NO_VERSION = -1
"""The version of a table without snapshots."""
_READERS = 16  # files are small, and stores far away


@dataclass(frozen=True)
class TableState:
    """The facts of a table at one snapshot."""

    place: Place
    metadata_file: str
    metadata: TableMetadata
    snapshot: Snapshot | None
    schema: Schema
    ref: str | None = MAIN
    """The branch or tag by which the snapshot was chosen."""
    catalog: Catalog | None = None
    """Who knows the newest metadata file; None for the table's own folder."""

    @property
    def location(self) -> str:
        return self.place.url

    @property
    def version(self) -> int:
        return NO_VERSION if self.snapshot is None else self.snapshot.snapshot_id

    @cached_property
    def manifests(self) -> tuple[ManifestFile, ...]:
        """The snapshot's manifests, in their order."""
        return () if self.snapshot is None else self.manifests_of(self.snapshot)

    @cached_property
    def files(self) -> LiveFiles:
        """All files of the snapshot, without their statistics."""
        return self.files_of(self.manifests)

    def files_of(self, manifests: Iterable[ManifestFile], statistics_of: Collection[int] | None = ()) -> LiveFiles:
        """The files that live in some of the manifests, with the statistics of columns of these ids, or of all for None."""
        listed = tuple(manifests)
        wanted = tuple(m for m in listed if m.may_have_live_files)
        # Nothing in the others is looked for, yet a snapshot that lost some of its manifests is not to be trusted.
        self.prove_there(m.manifest_path for m in listed if not m.may_have_live_files)
        return read_live(
            self.metadata, wanted, self.read_all(m.manifest_path for m in wanted), self.location, statistics_of
        )

    def manifests_of(self, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        """The manifests of any snapshot of the table."""
        if snapshot.key_id is not None:
            raise Unsupported("table encryption: the manifest list is encrypted", where=self.location)
        if snapshot.manifest_list is not None:
            (data,) = self.read_all([snapshot.manifest_list])
            found = parse_manifest_list(data, snapshot.manifest_list)
        else:
            bodies = self.read_all(snapshot.manifests)
            found = tuple(
                _embedded(p, d, snapshot.snapshot_id) for p, d in zip(snapshot.manifests, bodies, strict=True)
            )
        if unknown := {m.partition_spec_id for m in found} - {s.spec_id for s in self.metadata.partition_specs}:
            # "must be listed in table metadata partition-specs"
            raise InvalidTable(
                f"manifests are of the partition specs {sorted(unknown)}, which are not there", where=self.location
            )
        return found

    def read_all(self, paths: Iterable[str]) -> list[bytes]:
        """The bytes of files that the metadata names, read side by side."""
        wanted = list(paths)
        if len(wanted) == 1:
            return [self._read(wanted[0])]
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(self._read, wanted))

    def prove_there(self, paths: Iterable[str], magic: bytes = b"") -> None:
        """Raise where a file that the metadata names is missing, or does not begin with these bytes."""
        with ThreadPoolExecutor(_READERS) as pool:
            list(pool.map(lambda path: self._prove_there(path, magic), paths))

    def _read(self, path: str) -> bytes:
        storage, name = self.place.locate(path)
        with _named_by_metadata(path):
            return storage.read(name)

    def _prove_there(self, path: str, magic: bytes) -> None:
        storage, name = self.place.locate(path)
        with _named_by_metadata(path):
            begins = storage.read(name, 0, len(magic)) if magic else b""
            if not magic:
                storage.head(name)
        if begins != magic:
            raise InvalidTable(f"the file begins with {begins!r}, not with {magic!r}", where=path)

    def at(self, snapshot_id: int) -> "TableState":
        """The same table at a snapshot, with the columns that it had."""
        found = self.metadata.snapshot(snapshot_id)
        if found is None:
            raise InvalidRequest(
                f"there is no snapshot {snapshot_id}",
                where=self.location,
                hint="history() lists the snapshots there are.",
            )
        return replace(self, snapshot=found, schema=self.metadata.schema_at(found.schema_id), ref=None)

    def at_time(self, moment: datetime) -> "TableState":
        """The same table as it was at a moment. "Time travel by timestamp must use snapshot-log." """
        millis = int(moment.timestamp() * 1000)
        before = [entry for entry in self.metadata.snapshot_log if entry.timestamp_ms <= millis]
        if not before:
            raise InvalidRequest(
                f"the log of snapshots has none at {moment.isoformat()} or earlier", where=self.location
            )
        return self.at(before[-1].snapshot_id)

    def at_ref(self, name: str) -> "TableState":
        """The same table at a branch, with the columns of today, or at a tag, with those of then."""
        ref = self.metadata.refs.get(name)
        if ref is None:
            have = ", ".join(self.metadata.refs) or "none"
            raise InvalidRequest(f"there is no branch or tag {name}; there are: {have}", where=self.location)
        found = self.at(ref.snapshot_id)
        return replace(found, ref=name, schema=found.schema if ref.type == TAG else self.metadata.schema)


def load(place: Place, metadata_file: str | None = None) -> TableState:
    """The current state of the table at a place, by its newest metadata file or by the one that is named."""
    path = current_file(place.storage) if metadata_file is None else metadata_file
    try:
        data = place.storage.read(path)
    except NotFound as error:
        raise NotFound("there is no such metadata file", where=f"{place.url}/{path}") from error
    metadata = read_metadata(data, f"{place.url}/{path}")
    return current_state(place if place.recorded else place.recording(metadata.location), path, metadata)


def current_state(place: Place, metadata_file: str, metadata: TableMetadata) -> TableState:
    """The state that a metadata file says is the current one."""
    return TableState(place, metadata_file, metadata, metadata.current_snapshot, metadata.schema)


@contextmanager
def _named_by_metadata(path: str) -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        raise InvalidTable("a file that the metadata names is missing", where=path) from error


def _embedded(path: str, data: bytes, snapshot_id: int) -> ManifestFile:
    """A manifest that version 1 names in the snapshot itself, so that only its own header tells of it."""
    spec = parse_avro(data, path).text("partition-spec-id") or "0"
    if not spec.isdecimal():
        raise InvalidTable(f"a manifest is of the partition spec {spec!r:.40}", where=path)
    return ManifestFile(path, len(data), int(spec), snapshot_id)


def split_location(location: str) -> tuple[str, str | None]:
    """The folder and the metadata file that a location names; None where it names the folder alone."""
    if not is_metadata_file(location):
        return location, None
    folder, _, name = location.rpartition("/")
    if folder.endswith(f"/{METADATA}") or folder == METADATA:
        return folder.removesuffix(METADATA).rstrip("/") or ".", f"{METADATA}/{name}"
    return folder or ".", name
