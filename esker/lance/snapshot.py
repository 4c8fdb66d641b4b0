"""What is the state of a table at one version?  (Lance table format, "Time travel, tags, branches, cleanup")

Opening reads one manifest. It never refuses: a table that cannot be read can still be described. `gate` refuses.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from esker.core.bitmap import Bitmap
from esker.core.features import Operation
from esker.core.types import Struct
from esker.errors import InvalidRequest, InvalidTable, NotFound
from esker.lance.deletions import check_deletions, parse_deletions
from esker.lance.file_versions import check_file_versions
from esker.lance.flags import check_flags
from esker.lance.manifest import ExternalFile, Fragment, Manifest, check_list, check_texts, parse_manifest
from esker.lance.place import Place
from esker.lance.refs import MAIN, Branch, Tag, branch_file, read_branches, read_tags
from esker.lance.row_ids import Numbers, parse_row_ids
from esker.lance.schema import LanceSchema, parse_schema
from esker.lance.transactions import Transaction, read_transaction
from esker.lance.versions import VERSIONS_FOLDER, ManifestFile, Naming, VersionListing, manifest_file, sort_out


def load(place: Place, version: int | None = None) -> "Snapshot":
    """The snapshot at a version, by default the newest."""
    if version is None and (newest := _newest_by_name(place)) is not None:
        return read_snapshot(place, newest)
    return read_snapshot(place, list_versions(place).find(version, place.url))


def load_ref(place: Place, ref: str) -> "Snapshot":
    """The snapshot that a branch's newest version is, or that a tag names."""
    if ref == MAIN:
        return load(replace(place, branch=None))
    for tag in read_tags(place.storage):
        if tag.name == ref:
            return load(replace(place, branch=tag.branch), tag.version)
    if has_branch(place, ref):
        return load(replace(place, branch=ref))
    names = sorted({tag.name for tag in read_tags(place.storage)} | {b.name for b in read_branches(place.storage)})
    known = f"There are: {', '.join(names)}." if names else "It has none."
    raise NotFound(f"the table has no tag or branch {ref}", where=place.storage.url, hint=known)


def on_branch(place: Place, name: str) -> Place:
    """The place of a branch."""
    if name != MAIN and not has_branch(place, name):
        raise NotFound(f"the table has no branch {name}", where=place.storage.url)
    return replace(place, branch=None if name == MAIN else name)


def load_at(place: Place, timestamp: datetime) -> "Snapshot":
    """The newest snapshot of the history that is not from after a moment."""
    for snapshot in history(place):
        if snapshot.manifest.timestamp is not None and snapshot.manifest.timestamp <= timestamp:
            return snapshot
    raise InvalidRequest(f"the table has no version from {timestamp.isoformat()} or before", where=place.url)


def history(place: Place) -> "Iterator[Snapshot]":
    """The snapshots of all versions, the newest first; each is read when it is asked for."""
    found = list_versions(place).manifests
    for version in sorted(found, reverse=True):
        yield read_snapshot(place, found[version])


def list_versions(place: Place) -> VersionListing:
    """The manifests of the history."""
    return sort_out(place.storage.list(place.path(VERSIONS_FOLDER)))


def has_branch(place: Place, name: str) -> bool:
    """Whether the table has a branch of this name."""
    try:
        place.storage.head(branch_file(name))
    except NotFound:
        return False
    return True


def read_snapshot(place: Place, found: ManifestFile) -> "Snapshot":
    """The snapshot that a manifest states."""
    where = f"{place.storage.url}/{found.file.path}"
    manifest = parse_manifest(place.storage.read(found.file.path), where)
    if manifest.version != found.version:
        raise InvalidTable(f"the manifest of version {found.version} says that it is of {manifest.version}", where=where)
    return Snapshot(place, found, manifest)


def _newest_by_name(place: Place) -> ManifestFile | None:
    """The newest version where its name comes first in the listing: of those that count down."""
    for file in place.storage.list(place.path(VERSIONS_FOLDER)):
        found = manifest_file(file)
        if found is not None:
            return found if found.naming is Naming.V2 else None
    return None


@dataclass(frozen=True)
class Snapshot:
    """Immutable facts about a table at one version."""

    place: Place
    file: ManifestFile
    manifest: Manifest

    @property
    def location(self) -> str:
        return self.place.url

    @property
    def version(self) -> int:
        return self.manifest.version

    @cached_property
    def columns(self) -> LanceSchema:
        return parse_schema(self.manifest.fields, self.file.file.path)

    @property
    def schema(self) -> Struct:
        return self.columns.struct

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        return self.manifest.fragments

    @cached_property
    def tags(self) -> tuple[Tag, ...]:
        return read_tags(self.place.storage)

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        return read_branches(self.place.storage)

    @cached_property
    def transaction(self) -> Transaction | None:
        """What made this version; None where nothing tells."""
        return read_transaction(self.place, self.manifest)

    @cached_property
    def has_latest(self) -> bool:
        """Whether the file is there that the oldest clients look for."""
        try:
            self.place.storage.head(self.place.path("_latest.manifest"))
        except NotFound:
            return False
        return True

    def gate(self, operation: Operation) -> None:
        """Refuse the operation, naming every flag that stands against it."""
        check_flags(self.manifest, operation, self.location)
        check_file_versions(self.manifest, operation, self.location)
        check_list(self.manifest, self.location)
        check_texts(self.manifest, self.location)

    def dead_rows(self, fragment: Fragment) -> Bitmap | None:
        """The deleted positions of a fragment, proved against what the manifest says of them."""
        if fragment.deletion is None:
            return None
        url = self.place.deletion_file(self.manifest, fragment.id, fragment.deletion)
        storage, path = self.place.locate(url)
        try:
            data = storage.read(path)
        except NotFound as error:
            raise InvalidTable("the deletion file is missing", where=url) from error
        dead = parse_deletions(data, fragment.deletion.kind, url)
        check_deletions(dead, fragment.deletion, fragment.physical_rows, url)
        return dead

    def row_ids(self, fragment: Fragment) -> Numbers | None:
        """The stable ids of a fragment's rows, deleted ones counted; None where it has none."""
        return None if fragment.row_ids is None else parse_row_ids(self._spilled(fragment.row_ids), self.location)

    def _spilled(self, held: bytes | ExternalFile) -> bytes:
        if isinstance(held, bytes):
            return held
        storage, path = self.place.locate(f"{self.place.url}/{held.path}")
        return storage.read(path, held.offset, held.offset + held.size)

    def newest(self) -> "Snapshot":
        """The newest snapshot of the same history: this one where it still is."""
        newest = _newest_by_name(self.place) or list_versions(self.place).find(None, self.location)
        return self if newest.version == self.version else read_snapshot(self.place, newest)

    @property
    def properties(self) -> Mapping[str, str]:
        """The configuration, and what is said of the table."""
        return self.manifest.config
