"""What do the rules for Lance tables look at?

The folder of versions as it is listed, the manifest of each version whether or not it makes sense, the references, and the
snapshot that was asked for, where there is one. Everything is read once, when the first rule asks for it.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from esker.check.model import Sighting
from esker.errors import EskerError, NotFound
from esker.lance.manifest import DataFile, Fragment, Manifest, parse_manifest
from esker.lance.place import Place
from esker.lance.refs import BRANCHES_FOLDER, TAGS_FOLDER
from esker.lance.snapshot import Snapshot, read_snapshot
from esker.lance.versions import VERSIONS_FOLDER, ManifestFile, VersionListing, sort_out
from esker.storage.port import FileInfo


@dataclass(frozen=True)
class ReadManifest:
    """A manifest of the history, or why it cannot be read."""

    file: ManifestFile
    manifest: Manifest | None = None
    problem: str | None = None

    @property
    def where(self) -> str:
        return f"version {self.file.version}"


@dataclass(frozen=True)
class StoredFile:
    """A data file of a fragment as it lies in storage; `info` is None where it is missing."""

    fragment: Fragment
    file: DataFile
    url: str
    info: FileInfo | None

    @property
    def where(self) -> str:
        return f"fragment {self.fragment.id}, {self.file.path}"


class Evidence:
    """A table in the eyes of the rules."""

    def __init__(self, place: Place, version: int | None = None) -> None:
        self.place = place
        self._version = version

    @cached_property
    def version_files(self) -> tuple[FileInfo, ...]:
        """All that lies in the folder of versions."""
        return tuple(self.place.storage.list(self.place.path(VERSIONS_FOLDER)))

    @cached_property
    def listing(self) -> VersionListing:
        return sort_out(self.version_files)

    @cached_property
    def manifests(self) -> tuple[ReadManifest, ...]:
        """The manifests of all versions, oldest first, and of detached ones."""
        found = [*(m for _, m in sorted(self.listing.manifests.items())), *self.listing.twice, *self.listing.detached.values()]
        with ThreadPoolExecutor(8) as pool:
            return tuple(pool.map(self._read, found))

    @cached_property
    def _opened(self) -> Snapshot | EskerError:
        try:
            return read_snapshot(self.place, self.listing.find(self._version, self.place.url))
        except EskerError as error:
            return error

    @property
    def refusal(self) -> EskerError | None:
        """Why the version cannot be opened."""
        return self._opened if isinstance(self._opened, EskerError) else None

    @property
    def snapshot(self) -> Snapshot | None:
        return None if isinstance(self._opened, EskerError) else self._opened

    @property
    def manifest(self) -> Manifest | None:
        return None if self.snapshot is None else self.snapshot.manifest

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        """The fragments of the version; none where they cannot be told."""
        try:
            return () if self.snapshot is None else self.snapshot.fragments
        except EskerError:
            return ()

    @cached_property
    def stored_files(self) -> tuple[StoredFile, ...]:
        """The data files whose paths lead somewhere."""
        with ThreadPoolExecutor(8) as pool:
            found = pool.map(self._stored, [(fragment, file) for fragment in self.fragments for file in fragment.files])
            return tuple(stored for stored in found if stored is not None)

    @cached_property
    def tag_files(self) -> tuple[FileInfo, ...]:
        return self._references(TAGS_FOLDER)

    @cached_property
    def branch_files(self) -> tuple[FileInfo, ...]:
        return self._references(BRANCHES_FOLDER)

    def _references(self, folder: str) -> tuple[FileInfo, ...]:
        """The files of references. What a writer staged before it was cut short has another suffix, and nobody reads it."""
        return tuple(file for file in self.place.storage.list(folder) if file.path.endswith(".json"))

    def _read(self, found: ManifestFile) -> ReadManifest:
        where = f"{self.place.storage.url}/{found.file.path}"
        try:
            return ReadManifest(found, parse_manifest(self.place.storage.read(found.file.path), where))
        except EskerError as error:
            return ReadManifest(found, problem=error.what)

    def _stored(self, pair: tuple[Fragment, DataFile]) -> StoredFile | None:
        fragment, file = pair
        assert self.snapshot is not None
        try:
            url = self.place.data_file(self.snapshot.manifest, file)
            storage, path = self.place.locate(url)
        except EskerError:
            return None
        try:
            return StoredFile(fragment, file, url, storage.head(path))
        except NotFound:
            return StoredFile(fragment, file, url, None)


Look: TypeAlias = Callable[[Evidence], Iterator[Sighting]]
"""How a rule is looked into."""
