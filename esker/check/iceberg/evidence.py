"""What do the rules for Iceberg tables look at?

The metadata file as it is written, whether or not it makes sense; what it means, where it can be parsed; the manifests of its
current snapshot. Everything is read once, when the first rule asks for it.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from esker.check.model import Sighting
from esker.core.types import Json
from esker.errors import EskerError, InvalidTable, NotFound
from esker.iceberg.current_file import current_file
from esker.iceberg.data_files import DataFile, ManifestEntry
from esker.iceberg.manifest_lists import ManifestFile, parse_manifest_list
from esker.iceberg.manifests import read_manifests, records
from esker.iceberg.metadata import Snapshot, TableMetadata
from esker.iceberg.metadata_parsing import parse_metadata
from esker.iceberg.place import Place
from esker.storage.port import FileInfo
from esker.storage.source import open_input

Node: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest of the current snapshot: its entries and header, or what is wrong with it."""

    file: ManifestFile
    entries: tuple[ManifestEntry, ...] = ()
    size: int | None = None
    problem: str | None = None

    @property
    def where(self) -> str:
        return self.file.manifest_path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A live file as it lies in storage. `info` is None where it is missing; only Parquet files have a footer here."""

    entry: ManifestEntry
    info: FileInfo | None = None
    footer: pq.FileMetaData | None = None
    problem: str | None = None

    @property
    def file(self) -> DataFile:
        return self.entry.file

    @property
    def where(self) -> str:
        return self.file.file_path.rsplit("/", 1)[-1]


class Evidence:
    """A table in the eyes of the rules. `path` is its metadata file, by default the newest in the folder."""

    def __init__(self, place: Place, path: str | None = None, snapshot_id: int | None = None) -> None:
        self._place = place
        self._path = path
        self._snapshot_id = snapshot_id

    @cached_property
    def _read(self) -> Node | EskerError:
        try:
            path = self._path or current_file(self._place.storage)
            node = orjson.loads(_plain(self._place.storage.read(path)))
        except EskerError as error:
            return error
        except (ValueError, zlib.error, OSError, EOFError) as error:
            return InvalidTable(f"the metadata file is no JSON: {error}", where=self._place.url)
        return node if isinstance(node, dict) else InvalidTable("the metadata file holds no object", where=self._place.url)

    @property
    def unread(self) -> EskerError | None:
        """Why there is no metadata to look at."""
        return self._read if isinstance(self._read, EskerError) else None

    @property
    def node(self) -> Node:
        """The metadata as it is written; empty where it cannot be read."""
        return {} if isinstance(self._read, EskerError) else self._read

    @property
    def version(self) -> int:
        """The format version; 0 where the metadata does not tell."""
        return number(self.node, "format-version") or 0

    @cached_property
    def _parsed(self) -> TableMetadata | EskerError:
        try:
            return parse_metadata(dict(self.node), self._place.url)
        except EskerError as error:
            return error

    @property
    def refusal(self) -> EskerError | None:
        """Why the metadata makes no sense, where it can be read."""
        return self._parsed if self.unread is None and isinstance(self._parsed, EskerError) else None

    @property
    def metadata(self) -> TableMetadata | None:
        return None if isinstance(self._parsed, EskerError) else self._parsed

    @cached_property
    def place(self) -> Place:
        """Where the files are that the metadata names."""
        return self._place if self.metadata is None else self._place.recording(self.metadata.location)

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot whose files are looked at."""
        if self.metadata is None:
            return None
        wanted = self._snapshot_id
        return self.metadata.current_snapshot if wanted is None else self.metadata.snapshot(wanted)

    @cached_property
    def _listed(self) -> tuple[ManifestFile, ...] | EskerError:
        snapshot = self.snapshot
        try:
            if snapshot is None or snapshot.manifest_list is None:
                return ()
            return parse_manifest_list(self._bytes(snapshot.manifest_list), snapshot.manifest_list)
        except EskerError as error:
            return error

    @property
    def unlisted(self) -> EskerError | None:
        """Why the manifests of the snapshot cannot be told."""
        return self._listed if isinstance(self._listed, EskerError) else None

    @property
    def manifest_files(self) -> tuple[ManifestFile, ...]:
        return () if isinstance(self._listed, EskerError) else self._listed

    @cached_property
    def manifests(self) -> tuple[Manifest, ...]:
        """The manifests of the snapshot with their entries."""
        with ThreadPoolExecutor(8) as pool:
            return tuple(pool.map(self._manifest, self.manifest_files))

    @property
    def live(self) -> Iterator[ManifestEntry]:
        """The live entries of all manifests."""
        return (entry for manifest in self.manifests for entry in manifest.entries if entry.is_live)

    @cached_property
    def stored_files(self) -> tuple[StoredFile, ...]:
        """The live files with their sizes, and their footers where they are Parquet."""
        with ThreadPoolExecutor(8) as pool:
            return tuple(pool.map(self._stored, self.live))

    def read_file(self, path: str) -> bytes:
        """A file that the metadata names."""
        return self._bytes(path)

    def objects(self, key: str) -> Iterator[Node]:
        """The objects of a list of the metadata."""
        listed = self.node.get(key)
        return (one for one in (listed if isinstance(listed, list) else []) if isinstance(one, dict))

    def _bytes(self, path: str) -> bytes:
        storage, name = self.place.locate(path)
        return storage.read(name)

    def _manifest(self, file: ManifestFile) -> Manifest:
        try:
            data = self._bytes(file.manifest_path)
            found = read_manifests([file], [data], file.manifest_path)
            entries = tuple(entry for part in found for entry in records(part))
        except EskerError as error:
            return Manifest(file, problem=error.what)
        return Manifest(file, entries, len(data))

    def _stored(self, entry: ManifestEntry) -> StoredFile:
        found = StoredFile(entry)
        try:
            storage, name = self.place.locate(entry.file.file_path)
            found = replace(found, info=storage.head(name))
            if entry.file.file_format.lower() == "parquet" and found.info is not None:
                with open_input(storage, name, found.info.size) as source:
                    return replace(found, footer=pq.read_metadata(source))
        except NotFound:
            return found
        except (pa.ArrowException, OSError, EskerError) as error:
            return replace(found, problem=f"it cannot be read as {entry.file.file_format}: {error}")
        return found


Look: TypeAlias = Callable[[Evidence], Iterator[Sighting]]
"""How a rule is looked into."""


def number(node: Node, key: str) -> int | None:
    """The whole number that an object has under this key, if it has one."""
    found = node.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _plain(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
