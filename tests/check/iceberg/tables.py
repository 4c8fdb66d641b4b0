"""An Iceberg table in memory that a test can spoil at one place before it is written."""

import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from esker.core import types as t
from esker.core.bitmap import Bitmap
from esker.core.types import Field, Struct
from esker.iceberg.bounds import to_bytes
from esker.iceberg.data_files import Content, DataFile, ManifestEntry, Metrics, Status
from esker.iceberg.manifest_lists import ManifestFile, manifest_list_bytes
from esker.iceberg.manifest_writer import ManifestKind, manifest_bytes, manifest_file
from esker.iceberg.metadata import (
    PartitionField,
    PartitionSpec,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
    SortField,
    SortOrder,
    TableMetadata,
)
from esker.iceberg.metadata_json import metadata_json
from esker.iceberg.place import Place
from esker.iceberg.puffin import puffin_file, vector_blob
from esker.iceberg.schema import Schema
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage

SCHEMA = Schema(Struct((Field("id", t.LONG, False, id=1), Field("city", t.STRING, id=2))))
SPEC = PartitionSpec(0, (PartitionField((2,), 1000, "city", "identity"),))
ORDER = SortOrder(1, (SortField((1,), "identity", "asc", "nulls-first"),))
OLD, NEW = 11, 12
"""The ids of the snapshots."""
UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
DATA = "data/a.parquet"
_NAMES = count()


@dataclass
class Table:
    """What is to be written. `tell` changes the metadata's JSON last of all."""

    storage: Storage
    version: int = 2
    entries: list[ManifestEntry] = field(default_factory=list)
    deletes: list[ManifestEntry] = field(default_factory=list)
    tell: list[Callable[[dict[str, Any]], None]] = field(default_factory=list)
    listed: Callable[[list[ManifestFile]], list[ManifestFile]] = lambda manifests: manifests
    schemas: tuple[Schema, ...] = (SCHEMA,)
    spec: PartitionSpec = SPEC
    missing: set[str] = field(default_factory=set)
    manifest_version: int | None = None
    """The version of manifests and their list, where it is not the table's."""

    @property
    def url(self) -> str:
        return self.storage.url

    def data(self, path: str = DATA, ids: tuple[int, ...] = (1, 2, 3), city: str | None = "Oslo", **told: Any) -> DataFile:
        """A data file, written, and what a manifest says of it; `told` overrides."""
        rows = pa.table({"id": pa.array(ids, pa.int64()), "city": pa.array([city] * len(ids), pa.string())})
        size = self.put(path, parquet(rows, {"id": 1, "city": 2}))
        metrics = Metrics(
            value_counts={1: len(ids), 2: len(ids)}, null_value_counts={1: 0, 2: 0 if city else len(ids)},
            lower_bounds={1: to_bytes(min(ids), t.LONG)}, upper_bounds={1: to_bytes(max(ids), t.LONG)},
        )  # fmt: skip
        partition = (city,) if self.spec.fields else ()
        found = DataFile(f"{self.url}/{path}", "PARQUET", len(ids), size, self.spec.spec_id, partition, metrics=metrics)
        return replace(found, **told)

    def vector(self, of: DataFile, rows: tuple[int, ...] = (1,), path: str = "data/v.puffin", **told: Any) -> DataFile:
        """A deletion vector, written, and what a manifest says of it."""
        file = puffin_file([vector_blob(Bitmap.of(rows), of.file_path)], "tests")
        size = self.put(path, file.data)
        found = DataFile(
            f"{self.url}/{path}", "PUFFIN", len(rows), size, of.spec_id, of.partition, Content.POSITION_DELETES,
            referenced_data_file=of.file_path, content_offset=file.blobs[0].offset, content_size_in_bytes=file.blobs[0].length,
        )  # fmt: skip
        return replace(found, **told)

    def position_deletes(self, of: DataFile, rows: tuple[int, ...] = (1,), **told: Any) -> DataFile:
        """A file of position deletes, written, and what a manifest says of it."""
        table = pa.table({"file_path": [of.file_path] * len(rows), "pos": pa.array(rows, pa.int64())})
        size = self.put("data/d.parquet", parquet(table, {"file_path": 2147483546, "pos": 2147483545}))
        found = DataFile(
            f"{self.url}/data/d.parquet", "PARQUET", len(rows), size, of.spec_id, of.partition, Content.POSITION_DELETES
        )
        return replace(found, **told)

    def equality_deletes(self, of: DataFile, **told: Any) -> DataFile:
        """A file that deletes rows by their id, written, and what a manifest says of it."""
        size = self.put("data/e.parquet", parquet(pa.table({"id": pa.array([2], pa.int64())}), {"id": 1}))
        found = DataFile(
            f"{self.url}/data/e.parquet", "PARQUET", 1, size, of.spec_id, of.partition, Content.EQUALITY_DELETES,
            equality_ids=(1,),
        )  # fmt: skip
        return replace(found, **told)

    def put(self, path: str, data: bytes) -> int:
        self.storage.put(path, data)
        return len(data)

    def write(self) -> Place:
        """Write manifests, manifest list and metadata."""
        listed = self.listed([*self._manifest("m0", self.entries, False), *self._manifest("m1", self.deletes, True)])
        self.put("metadata/list.avro", manifest_list_bytes(listed, self.manifest_version or self.version, {}))
        node = metadata_json(self._metadata())
        for change in self.tell:
            change(node)
        self.put("metadata/v2.metadata.json", orjson.dumps(node))
        for path in self.missing:
            self.storage.delete(path)
        return Place(self.storage)

    def _manifest(self, name: str, entries: list[ManifestEntry], is_deletes: bool) -> list[ManifestFile]:
        if not entries:
            return []
        described = replace(self._metadata(), format_version=self.manifest_version or self.version)
        kind = ManifestKind(described, self.spec, is_deletes)
        size = self.put(f"metadata/{name}.avro", manifest_bytes(entries, kind))
        path, sequence = f"{self.url}/metadata/{name}.avro", None if self.version == 1 else 2
        found = manifest_file(path, size, entries, kind, NEW, sequence)
        return [replace(found, first_row_id=0) if self.version >= 3 and not is_deletes else found]

    def _metadata(self) -> TableMetadata:
        data = [e.file for e in self.entries if e.is_live]
        gone = [e.file for e in self.deletes if e.is_live]
        summary = {"operation": "append", "total-data-files": str(len(data)), "total-delete-files": str(len(gone))}
        rows = sum(f.record_count for f in data)
        lineage: dict[str, Any] = {"first_row_id": 0, "added_rows": rows} if self.version >= 3 else {}
        manifest_list = f"{self.url}/metadata/list.avro"
        return TableMetadata(
            self.version, self.url, UUID, 3_000_000, 2, self.schemas, self.schemas[-1].schema_id, (self.spec,), 0, 1000,
            (SortOrder(), ORDER), 1, 2 if self.version > 1 else 0, {}, NEW,
            (
                Snapshot(OLD, 1_000_000, manifest_list, sequence_number=1, summary={"operation": "append"}, schema_id=0),
                Snapshot(NEW, 2_000_000, manifest_list, (), OLD, 2, summary, 0, **lineage),
            ),
            {"main": SnapshotRef(NEW, "branch")},
            (SnapshotLogEntry(1_000_000, OLD), SnapshotLogEntry(2_000_000, NEW)),
            next_row_id=rows if self.version >= 3 else None,
        )  # fmt: skip


def added(file: DataFile, **told: Any) -> ManifestEntry:
    """The entry of a file that the newest snapshot adds; numbers are inherited."""
    return replace(ManifestEntry(Status.ADDED, NEW, None, None, file), **told)


def sound(version: int = 2) -> Table:
    """A table of one file that breaks no rule."""
    table = Table(MemoryStorage(f"memory://checked-{next(_NAMES)}/table"), version)
    table.entries.append(added(table.data()))
    return table


def parquet(rows: pa.Table, ids: dict[str, int]) -> bytes:
    fields = [f.with_metadata({"PARQUET:field_id": str(ids[f.name])}) if f.name in ids else f for f in rows.schema]
    sink = io.BytesIO()
    pq.write_table(rows.cast(pa.schema(fields)), sink)
    return sink.getvalue()
