"""How is a manifest written, and what does a manifest list say of it?  (Iceberg specification, "Manifests", "Manifest Lists")"""

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import copysign, isnan

import fastavro
import orjson

from esker.core.footers import Bound
from esker.core.types import Field, Struct, Type
from esker.iceberg.bounds import to_bytes
from esker.iceberg.data_files import DataFile, ManifestEntry, Status
from esker.iceberg.manifest_lists import FieldSummary, ManifestFile
from esker.iceberg.manifest_schemas import BLOCK_SIZE, avro_name, manifest_schema
from esker.iceberg.metadata import PartitionSpec, TableMetadata
from esker.iceberg.metadata_json import partition_fields_json
from esker.iceberg.partitions import partition_type
from esker.iceberg.schema import schema_json


@dataclass(frozen=True)
class ManifestKind:
    """What all entries of a manifest share."""

    metadata: TableMetadata
    spec: PartitionSpec
    is_deletes: bool = False

    @property
    def partition(self) -> Struct:
        """The type of the partition tuples, with the ids of the partition fields."""
        fields = self.spec.fields
        return Struct(tuple(Field(f.name, partition_type(self.metadata, f), id=f.field_id) for f in fields))


def manifest_bytes(entries: Iterable[ManifestEntry], kind: ManifestKind) -> bytes:
    """The manifest as a file."""
    version = kind.metadata.format_version
    metadata = {
        "schema": orjson.dumps(schema_json(kind.metadata.schema)).decode(),
        "schema-id": str(kind.metadata.current_schema_id),
        "partition-spec": orjson.dumps(partition_fields_json(kind.spec)).decode(),
        "partition-spec-id": str(kind.spec.spec_id),
        "format-version": str(version),
    }
    if version > 1:
        metadata["content"] = "deletes" if kind.is_deletes else "data"
    names = [avro_name(field.name) for field in kind.partition]
    sink = io.BytesIO()
    schema = fastavro.parse_schema(manifest_schema(version, kind.partition))
    fastavro.writer(sink, schema, (_row(entry, names) for entry in entries), codec="deflate", metadata=metadata)
    return sink.getvalue()


def manifest_file(
    path: str, length: int, entries: Sequence[ManifestEntry], kind: ManifestKind, snapshot_id: int, sequence_number: int | None
) -> ManifestFile:
    """What a manifest list says of a manifest with these entries, which `snapshot_id` adds."""
    files, rows = Counter[Status](), Counter[Status]()
    for entry in entries:
        files[entry.status] += 1
        rows[entry.status] += entry.file.record_count
    known = [e.sequence_number for e in entries if e.is_live and e.sequence_number is not None]
    inherits = sequence_number is not None and any(e.is_live and e.sequence_number is None for e in entries)
    numbers = [*known, *([sequence_number] if inherits and sequence_number is not None else [])]
    return ManifestFile(
        path, length, kind.spec.spec_id, snapshot_id, kind.is_deletes,
        sequence_number or 0, min(numbers, default=sequence_number or 0),
        files[Status.ADDED], files[Status.EXISTING], files[Status.DELETED],
        rows[Status.ADDED], rows[Status.EXISTING], rows[Status.DELETED],
        partitions=summaries([entry.file for entry in entries], kind.partition),
    )  # fmt: skip


def summaries(files: Sequence[DataFile], partition: Struct) -> tuple[FieldSummary, ...]:
    """What the partition values of the files have in common, field by field."""
    return tuple(_summary([file.partition[at] for file in files], field.type) for at, field in enumerate(partition))


def _summary(values: Sequence[Bound | None], kind: Type) -> FieldSummary:
    is_nan = any(isinstance(v, float) and isnan(v) for v in values)
    numbers = (v for v in values if v is not None and not (isinstance(v, float) and isnan(v)))
    # "If -0.0 is a value of the partition field, the `lower_bound` must not be +0.0": a set would have but one of the zeros
    ranked = [number for number, _ in sorted({total_order(v) for v in numbers})]
    return FieldSummary(
        any(v is None for v in values),
        is_nan,
        to_bytes(ranked[0], kind) if ranked else None,
        to_bytes(ranked[-1], kind) if ranked else None,
    )


def total_order(value: Bound) -> tuple[Bound, float]:
    """What values are compared by: -0.0 comes before +0.0."""
    return value, copysign(1.0, value) if isinstance(value, float) and not value else 0.0


def _row(entry: ManifestEntry, names: Sequence[str]) -> dict[str, object]:
    return {
        "status": int(entry.status),
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "data_file": _file_row(entry.file, names),
    }


def _file_row(file: DataFile, names: Sequence[str]) -> dict[str, object]:
    metrics = file.metrics
    return {
        "content": int(file.content),
        "file_path": file.file_path,
        "file_format": file.file_format,
        "partition": dict(zip(names, file.partition, strict=True)),
        "record_count": file.record_count,
        "file_size_in_bytes": file.file_size_in_bytes,
        "block_size_in_bytes": BLOCK_SIZE,
        "column_sizes": _pairs(metrics.column_sizes),
        "value_counts": _pairs(metrics.value_counts),
        "null_value_counts": _pairs(metrics.null_value_counts),
        "nan_value_counts": _pairs(metrics.nan_value_counts),
        "lower_bounds": _pairs(metrics.lower_bounds),
        "upper_bounds": _pairs(metrics.upper_bounds),
        "key_metadata": file.key_metadata,
        "split_offsets": _listed(file.split_offsets),
        "equality_ids": _listed(file.equality_ids),
        "sort_order_id": file.sort_order_id,
        "first_row_id": file.first_row_id,
        "referenced_data_file": file.referenced_data_file,
        "content_offset": file.content_offset,
        "content_size_in_bytes": file.content_size_in_bytes,
    }


def _pairs(values: Mapping[int, int] | Mapping[int, bytes] | None) -> list[dict[str, int | bytes]] | None:
    return None if values is None else [{"key": key, "value": value} for key, value in values.items()]


def _listed(values: tuple[int, ...] | None) -> list[int] | None:
    return None if values is None else list(values)
