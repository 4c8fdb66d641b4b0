"""How is an Iceberg table written by hand?  (Iceberg specification, "Table Metadata", "Manifest Lists", "Manifests")

A table of one snapshot, made of files that are there or are only said to be. Avro blocks are as large as those of the reference
implementation, since a reader works block by block.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.core import types as t
from esker.core.footers import Bound
from esker.core.types import Decimal, Field, Struct, Type
from esker.iceberg.bounds import plain_value, to_bytes
from esker.iceberg.manifest_schemas import manifest_list_schema, manifest_schema

BLOCK = 64_000  # bytes before compression
SNAPSHOT = 4_242_424_242
_NOW = 1_790_000_000_000
_NAMES: Mapping[pa.DataType, str] = {
    pa.int64(): "long", pa.int32(): "int", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string",
    pa.date32(): "date", pa.timestamp("us", "UTC"): "timestamptz", pa.decimal128(12, 2): "decimal(12, 2)",
}  # fmt: skip
TYPES: Mapping[pa.DataType, Type] = {
    pa.int64(): t.LONG, pa.int32(): t.INTEGER, pa.float64(): t.DOUBLE, pa.bool_(): t.BOOLEAN, pa.string(): t.STRING,
    pa.date32(): t.DATE, pa.timestamp("us", "UTC"): t.TIMESTAMP, pa.decimal128(12, 2): Decimal(12, 2),
}  # fmt: skip
"""The types of the columns of `data`."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a manifest says of a file: the record `data_file`, its path from the table's folder on."""

    path: str
    records: int
    size: int
    more: Mapping[str, Any] = field(default_factory=dict)

    def row(self, location: str, sequence_number: int) -> Mapping[str, Any]:
        """The manifest's entry."""
        file = {
            "content": 0, "file_path": f"{location}/{self.path}", "file_format": "PARQUET", "partition": {},
            "record_count": self.records, "file_size_in_bytes": self.size,
        }  # fmt: skip
        known = {"sequence_number": sequence_number, "file_sequence_number": sequence_number}
        return {"status": 1, "snapshot_id": SNAPSHOT, **known, "data_file": {**file, **self.more}}


@dataclass(frozen=True)
class Making:
    """A table that is being written to `draft`, to be found at `location` later."""

    draft: Path
    location: str
    schema: pa.Schema
    version: int = 2
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: str | None = None

    def write(self, files: Iterable[Listed], deletes: Iterable[Listed] = (), files_per_manifest: int = 10_000) -> None:
        """Write the metadata of a table with these data files, which are older than these delete files."""
        (self.draft / "metadata").mkdir(parents=True, exist_ok=True)
        kinds = ((False, iter(files)), (True, iter(deletes)))
        manifests: list[Mapping[str, Any]] = []
        for is_deletes, left in kinds:
            while some := tuple(islice(left, files_per_manifest)):
                manifests.append(self._manifest(f"metadata/m{len(manifests):05}.avro", some, is_deletes))
        names = {"snapshot-id": str(SNAPSHOT), "sequence-number": "2", "format-version": str(self.version)}
        _write_avro(self.draft / "metadata/snap.avro", manifest_list_schema(self.version), manifests, names)
        (self.draft / "metadata/v1.metadata.json").write_text(json.dumps(self._metadata(manifests)))
        (self.draft / "metadata/version-hint.text").write_text("1")

    def _manifest(self, name: str, files: Sequence[Listed], is_deletes: bool) -> Mapping[str, Any]:
        number = 2 if is_deletes else 1
        header = {
            "schema": json.dumps(self._schema), "schema-id": "0", "partition-spec": json.dumps(self._spec),
            "partition-spec-id": "0", "format-version": str(self.version), "content": "deletes" if is_deletes else "data",
        }  # fmt: skip
        rows = (file.row(self.location, number) for file in files)
        fields = [Field(self.partition_by, t.STRING, id=1000)] if self.partition_by else []
        _write_avro(self.draft / name, manifest_schema(self.version, Struct(tuple(fields))), rows, header)
        records = sum(file.records for file in files)
        return {
            "manifest_path": f"{self.location}/{name}", "manifest_length": (self.draft / name).stat().st_size,
            "partition_spec_id": 0, "content": int(is_deletes), "sequence_number": number, "min_sequence_number": number,
            "added_snapshot_id": SNAPSHOT, "added_files_count": len(files), "existing_files_count": 0, "deleted_files_count": 0,
            "added_rows_count": records, "existing_rows_count": 0, "deleted_rows_count": 0, "partitions": self._summaries(files),
            "first_row_id": 0 if self.version > 2 and not is_deletes else None,
        }  # fmt: skip

    def _summaries(self, files: Sequence[Listed]) -> list[Mapping[str, Any]]:
        if self.partition_by is None:
            return []
        values = sorted({file.more["partition"][self.partition_by].encode() for file in files})
        return [{"contains_null": False, "contains_nan": None, "lower_bound": values[0], "upper_bound": values[-1]}]

    @property
    def _spec(self) -> list[Mapping[str, Any]]:
        name = self.partition_by
        if name is None:
            return []
        return [{"name": name, "transform": "identity", "source-id": self.schema.names.index(name) + 1, "field-id": 1000}]

    @property
    def _schema(self) -> Mapping[str, Any]:
        fields = [{"id": i, "name": f.name, "required": False, "type": _NAMES[f.type]} for i, f in enumerate(self.schema, 1)]
        return {"type": "struct", "schema-id": 0, "fields": fields}

    def _metadata(self, manifests: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        records = sum(manifest["added_rows_count"] for manifest in manifests if not manifest["content"])
        rows = {"first-row-id": 0, "added-rows": records} if self.version > 2 else {}
        snapshot = {
            "snapshot-id": SNAPSHOT, "sequence-number": 2, "timestamp-ms": _NOW, "summary": {"operation": "append"},
            "manifest-list": f"{self.location}/metadata/snap.avro", "schema-id": 0, **rows,
        }  # fmt: skip
        current = {
            "current-snapshot-id": SNAPSHOT, "snapshots": [snapshot],
            "refs": {"main": {"snapshot-id": SNAPSHOT, "type": "branch"}},
            "snapshot-log": [{"snapshot-id": SNAPSHOT, "timestamp-ms": _NOW}],
        }  # fmt: skip
        return {
            "format-version": self.version, "table-uuid": str(UUID(int=4)), "location": self.location, "last-sequence-number": 2,
            "last-updated-ms": _NOW, "last-column-id": len(self.schema), "schemas": [self._schema], "current-schema-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": self._spec}], "default-spec-id": 0, "last-partition-id": 1000,
            "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0, "properties": dict(self.properties),
            **({"next-row-id": records} if self.version > 2 else {}), **(current if manifests else {"snapshots": []}),
        }  # fmt: skip


def data_file(table: Path, name: str, rows: pa.Table) -> Listed:
    """Write a data file whose columns have ids; what the manifest says of it."""
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(with_ids(rows), path)
    return told(table, name)


def told(table: Path, name: str) -> Listed:
    """What the manifest says of a data file that is there."""
    found = pq.read_table(table / name)
    return Listed(name, found.num_rows, (table / name).stat().st_size, metrics(found))


def with_ids(rows: pa.Table, ids: Sequence[int] | None = None) -> pa.Table:
    """The rows with field ids, which are those of the columns' order where none are given."""
    numbered = zip(rows.schema, ids or range(1, rows.num_columns + 1), strict=True)
    return rows.cast(pa.schema([f.with_metadata({"PARQUET:field_id": str(i)}) for f, i in numbered]))


def metrics(rows: pa.Table) -> Mapping[str, Any]:
    """Counts and bounds of all columns."""
    bounds = [(pc.min_max(rows[f.name]), TYPES[f.type]) for f in rows.schema]
    lower, upper = ([to_bytes(_plain(b[end], kind), kind) for b, kind in bounds] for end in ("min", "max"))
    return {
        "value_counts": pairs([rows.num_rows] * rows.num_columns),
        "null_value_counts": pairs([rows[name].null_count for name in rows.column_names]),
        "lower_bounds": pairs(lower),
        "upper_bounds": pairs(upper),
    }


def _plain(value: pa.Scalar, kind: Type) -> Bound:
    found = plain_value(value, kind)
    assert found is not None  # no column is all nulls
    return found


def pairs(values: Iterable[Any]) -> list[Mapping[str, Any]]:
    """A map from the ids of the columns, as Avro spells it."""
    return [{"key": i, "value": value} for i, value in enumerate(values, 1)]


def moved(source: Path, target: Path) -> None:
    """Write the metadata of a table without delete files so that it names the files at another place."""
    old, new = (f"{folder}/" for folder in (location_of(source), target))
    (target / "metadata").mkdir(parents=True)
    lengths = {}
    for path in sorted((source / "metadata").glob("m*.avro")):
        _rewrite(path, target / "metadata" / path.name, lambda entry: _renamed(entry, old, new))
        lengths[f"{new}metadata/{path.name}"] = (target / "metadata" / path.name).stat().st_size

    def listed(row: dict[str, Any]) -> dict[str, Any]:
        path = new + row["manifest_path"].removeprefix(old)
        return {**row, "manifest_path": path, "manifest_length": lengths[path]}

    _rewrite(source / "metadata/snap.avro", target / "metadata/snap.avro", listed)
    text = (source / "metadata/v1.metadata.json").read_text()
    (target / "metadata/v1.metadata.json").write_text(text.replace(old.rstrip("/"), new.rstrip("/")))
    (target / "metadata/version-hint.text").write_text("1")


def location_of(table: Path) -> str:
    return str(json.loads((table / "metadata/v1.metadata.json").read_text())["location"])


def _renamed(entry: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    file = entry["data_file"]
    return {**entry, "data_file": {**file, "file_path": new + file["file_path"].removeprefix(old)}}


def _rewrite(source: Path, target: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with source.open("rb") as stream:
        reader: Any = fastavro.reader(stream)
        header = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        _write_avro(target, reader.writer_schema, (change(row) for row in reader), header)


def _write_avro(path: Path, schema: Any, rows: Iterable[Mapping[str, Any]], header: Mapping[str, str]) -> None:
    with path.open("wb") as stream:
        fastavro.writer(stream, fastavro.parse_schema(schema), rows, "deflate", BLOCK, header)
