"""How does a test make an Iceberg table by hand, file by file, as the specification says it?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import esker
from esker.arrow.conform import FIELD_ID
from esker.core.arrow_types import to_arrow
from esker.core.bitmap import Bitmap
from esker.core.types import Array, Field, Map, Struct, Type
from esker.iceberg.bounds import plain_value, to_bytes
from esker.iceberg.data_files import Content, DataFile, ManifestEntry, Metrics, Status
from esker.iceberg.manifest_lists import manifest_list_bytes
from esker.iceberg.manifest_writer import ManifestKind, manifest_bytes, manifest_file
from esker.iceberg.metadata import (
    MAIN,
    PartitionField,
    PartitionSpec,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
    TableMetadata,
)
from esker.iceberg.metadata_json import write_metadata
from esker.iceberg.puffin import puffin_file, vector_blob
from esker.iceberg.schema import Schema
from esker.storage.memory import MemoryStorage

LOCATION = "s3://far/away/t"
"""What the metadata records: nothing is ever there."""
_SPACES = count()


def spec(number: int, *fields: tuple[int, str]) -> PartitionSpec:
    """A spec of columns by their ids and transforms; a field has the same id in all specs."""
    made = [PartitionField((s,), 1000 + s * 1000 + sum(tr.encode()), f"{tr.split('[')[0]}_{s}", tr) for s, tr in fields]
    return PartitionSpec(number, tuple(made))


@dataclass
class Builder:
    """A table in memory, which grows by snapshots."""

    schema: Struct
    specs: tuple[PartitionSpec, ...] = (PartitionSpec(),)
    version: int = 2
    properties: Mapping[str, str] = field(default_factory=dict)
    storage: MemoryStorage = field(default_factory=lambda: MemoryStorage(f"memory://iceberg-{next(_SPACES)}/t"))
    metadata: TableMetadata = field(init=False)
    _numbers: Any = field(default_factory=lambda: count(1))
    _live: list[ManifestEntry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.metadata = TableMetadata(
            self.version, LOCATION, "0c5a3d4e-0000-4000-8000-000000000001", 0, 1000, (Schema(self.schema),), 0, self.specs,
            self.specs[-1].spec_id, 2000, properties=self.properties, next_row_id=0 if self.version > 2 else None,
        )  # fmt: skip

    def data(
        self,
        rows: pa.Table,
        partition: Sequence[Any] = (),
        spec_id: int = 0,
        *,
        with_ids: bool = True,
        stats: bool = True,
        fields: Sequence[Field] | None = None,
    ) -> DataFile:
        """A data file with these rows, as columns of these fields."""
        name = f"data/{next(self._numbers)}.parquet"
        size = self._parquet(name, rows, (self._fields_of(rows) if fields is None else fields) if with_ids else None)
        metrics = self._metrics(rows) if stats else Metrics()
        return DataFile(
            f"{LOCATION}/{name}", "PARQUET", rows.num_rows, size, spec_id, tuple(partition), metrics=metrics
        )

    def equality(self, rows: pa.Table, ids: Sequence[int], partition: Sequence[Any] = (), spec_id: int = 0) -> DataFile:
        """A file of deleted rows, compared by the columns of these ids."""
        file = self.data(rows, partition, spec_id)
        return replace(file, content=Content.EQUALITY_DELETES, equality_ids=tuple(ids), metrics=Metrics())

    def positions(
        self,
        rows: Iterable[tuple[DataFile | str, int]],
        partition: Sequence[Any] = (),
        spec_id: int = 0,
        names: DataFile | None = None,
    ) -> DataFile:
        """A position delete file; `names` is the one data file that it says it is for."""
        listed = sorted((f if isinstance(f, str) else f.file_path, p) for f, p in rows)
        kind = pa.schema([_stored("file_path", pa.string(), 2147483546), _stored("pos", pa.int64(), 2147483545)])
        table = pa.table([pa.array(column) for column in zip(*listed, strict=True)], schema=kind)
        name = f"data/{next(self._numbers)}-deletes.parquet"
        self._put(name, table)
        file = DataFile(
            f"{LOCATION}/{name}", "PARQUET", len(listed), 1, spec_id, tuple(partition), Content.POSITION_DELETES
        )
        return replace(file, referenced_data_file=None if names is None else names.file_path)

    def vector(self, file: DataFile, rows: Iterable[int], **changes: Any) -> DataFile:
        """A deletion vector in a Puffin file of its own."""
        bitmap = Bitmap.of(rows)
        puffin = puffin_file([vector_blob(bitmap, file.file_path)], "a test")
        name = f"data/{next(self._numbers)}.puffin"
        self.storage.put(name, puffin.data)
        blob = puffin.blobs[0]
        told = DataFile(
            f"{LOCATION}/{name}", "puffin", len(bitmap), len(puffin.data), file.spec_id, file.partition,
            Content.POSITION_DELETES, referenced_data_file=file.file_path, content_offset=blob.offset,
            content_size_in_bytes=blob.length,
        )  # fmt: skip
        return replace(told, **changes)

    def commit(
        self,
        *added: DataFile,
        removed: Iterable[DataFile] = (),
        operation: str = "append",
        branch: str = MAIN,
        **changes: Any,
    ) -> int:
        """A snapshot in which some files came and others went; its id. `changes` are other values for the metadata."""
        metadata = replace(self.metadata, **changes)
        sequence = metadata.last_sequence_number + 1
        snapshot_id = 100 + len(metadata.snapshots)
        gone = {file.identity for file in removed}
        entries = [e for e in self._live if e.file.identity not in gone]
        entries = [replace(e, status=Status.EXISTING) for e in entries]
        numbers = sequence if metadata.format_version > 1 else 0
        entries += [ManifestEntry(Status.ADDED, snapshot_id, numbers, numbers, file) for file in added]
        self._live = entries
        manifests = []
        for is_deletes in (False, True):
            for own in metadata.partition_specs:
                kind = ManifestKind(metadata, own, is_deletes)
                mine = [
                    e
                    for e in entries
                    if e.file.spec_id == own.spec_id and (e.file.content != Content.DATA) == is_deletes
                ]
                for group in self.grouped(mine):
                    data = manifest_bytes(group, kind)
                    name = f"metadata/m{next(self._numbers)}.avro"
                    self.storage.put(name, data)
                    made = manifest_file(f"{LOCATION}/{name}", len(data), group, kind, snapshot_id, sequence)
                    made = replace(made, sequence_number=sequence if metadata.format_version > 1 else 0)
                    manifests.append(
                        replace(made, first_row_id=0) if metadata.format_version > 2 and not is_deletes else made
                    )
        name = f"metadata/snap-{snapshot_id}.avro"
        self.storage.put(name, manifest_list_bytes(manifests, metadata.format_version, {}))
        parent = metadata.refs[branch].snapshot_id if branch in metadata.refs else None
        made_snapshot = Snapshot(
            snapshot_id, snapshot_id * 1000, f"{LOCATION}/{name}", (), parent, sequence if metadata.format_version > 1 else 0,
            {"operation": operation}, metadata.current_schema_id, 0 if metadata.format_version > 2 else None,
        )  # fmt: skip
        is_main = branch == MAIN
        self.metadata = replace(
            metadata,
            last_sequence_number=sequence if metadata.format_version > 1 else 0,
            snapshots=(*metadata.snapshots, made_snapshot),
            current_snapshot_id=snapshot_id if is_main else metadata.current_snapshot_id,
            refs={**metadata.refs, branch: SnapshotRef(snapshot_id, "branch")},
            snapshot_log=(*metadata.snapshot_log, SnapshotLogEntry(snapshot_id * 1000, snapshot_id))
            if is_main
            else metadata.snapshot_log,
        )
        return snapshot_id

    def grouped(self, entries: list[ManifestEntry]) -> Iterable[list[ManifestEntry]]:
        """The entries by manifests: two to one, so that there is something to skip."""
        return [entries[at : at + 2] for at in range(0, len(entries), 2)]

    def open(self, **options: Any) -> esker.Table:
        """The table by its folder."""
        self.publish()
        return esker.open(self.storage.url, **options)

    def publish(self) -> None:
        self.storage.put(f"metadata/v{len(self.metadata.snapshots) + 1}.metadata.json", write_metadata(self.metadata))

    def _parquet(self, name: str, rows: pa.Table, fields: Sequence[Field] | None) -> int:
        if fields is not None:
            rows = pa.table(
                [rows.column(f.name).combine_chunks() for f in fields],
                schema=pa.schema([stored_field(f) for f in fields]),
            )
        return self._put(name, rows)

    def _fields_of(self, rows: pa.Table) -> list[Field]:
        """The fields that the columns are of: by the schema as it is now, or was when they had that name."""
        known = {f.name: f for s in (*self.metadata.schemas, Schema(self.schema)) for f in s.struct}
        return [field for name, field in known.items() if name in rows.column_names]

    def _put(self, name: str, table: pa.Table) -> int:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        data = sink.getvalue().to_pybytes()
        self.storage.put(name, data)
        return len(data)

    def _metrics(self, rows: pa.Table) -> Metrics:
        nulls, values, lower, upper = {}, {}, {}, {}
        for column in self._fields_of(rows):
            if isinstance(column.type, Struct | Array | Map) or column.id is None:
                continue
            found = [v for v in rows.column(column.name) if v.is_valid and v.as_py() == v.as_py()]
            values[column.id], nulls[column.id] = rows.num_rows, rows.column(column.name).null_count
            plain = [plain_value(v, column.type) for v in found]
            if plain:
                lower[column.id], upper[column.id] = (to_bytes(choose(plain), column.type) for choose in (min, max))
        return Metrics(None, values, nulls, None, lower, upper)


def stored_field(field: Field) -> pa.Field:
    """The field of a data file, with ids at every level."""
    return pa.field(field.name, _stored_type(field.type), True, {FIELD_ID: str(field.id)})


def _stored_type(kind: Type) -> pa.DataType:
    match kind:
        case Struct():
            return pa.struct([stored_field(f) for f in kind])
        case Array():
            return pa.list_(stored_field(Field("element", kind.element, id=kind.element_id)))
    return to_arrow(kind)


def _stored(name: str, kind: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, kind, False, {FIELD_ID: str(field_id)})


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows in an order that does not depend on files."""
    return sorted(table.to_pylist(), key=repr)
