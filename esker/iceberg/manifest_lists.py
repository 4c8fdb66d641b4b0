"""Which manifests does a snapshot have?  (Iceberg specification, "Manifest Lists")"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import fastavro
import pyarrow as pa

from esker.errors import InvalidTable
from esker.iceberg.avro_columns import read_columns
from esker.iceberg.avro_file import parse_avro
from esker.iceberg.manifest_schemas import manifest_list_schema


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """What the partition values of a manifest have in common, for one field of its spec. Bounds are bytes."""

    contains_null: bool
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest, as a manifest list names it. Counts are None where they are not known."""

    manifest_path: str
    manifest_length: int
    partition_spec_id: int
    added_snapshot_id: int | None
    is_deletes: bool = False
    sequence_number: int = 0
    min_sequence_number: int = 0
    added_files_count: int | None = None
    existing_files_count: int | None = None
    deleted_files_count: int | None = None
    added_rows_count: int | None = None
    existing_rows_count: int | None = None
    deleted_rows_count: int | None = None
    partitions: tuple[FieldSummary, ...] | None = None
    key_metadata: bytes | None = None
    first_row_id: int | None = None

    @property
    def may_have_live_files(self) -> bool:
        # "when `null` this is assumed to be non-zero"
        return self.added_files_count != 0 or self.existing_files_count != 0


def parse_manifest_list(data: bytes, where: str) -> tuple[ManifestFile, ...]:
    """The manifests in the order of the list. "Use 0 when reading v1 manifest lists" for sequence numbers."""
    rows, _ = read_columns([parse_avro(data, where)], where)
    return tuple(_manifest(row, where) for row in _renamed(rows).to_pylist())


_NAMES = {
    "500": "manifest_path", "501": "manifest_length", "502": "partition_spec_id", "517": "content", "515": "sequence_number",
    "516": "min_sequence_number", "503": "added_snapshot_id", "504": "added_files_count", "505": "existing_files_count",
    "506": "deleted_files_count", "512": "added_rows_count", "513": "existing_rows_count", "514": "deleted_rows_count",
    "507": "partitions", "519": "key_metadata", "520": "first_row_id",
}  # fmt: skip
_OLDER_NAMES = {f"{kind}_data_files_count": f"{kind}_files_count" for kind in ("added", "existing", "deleted")}


def _renamed(rows: pa.Table) -> pa.Table:
    return rows.rename_columns([_NAMES.get(name) or _OLDER_NAMES.get(name, name) for name in rows.column_names])


def _manifest(row: Mapping[str, object], where: str) -> ManifestFile:
    match row:
        case {"manifest_path": str() as path, "manifest_length": int() as length, "partition_spec_id": int() as spec}:
            pass
        case _:
            raise InvalidTable("a manifest list names a manifest without path, length or partition spec", where=where)
    content = _number(row, "content") or 0
    if content not in (0, 1):
        raise InvalidTable(f"the manifest {path} has the content {content}, which is none", where=where)
    summaries, key_metadata = row.get("partitions"), row.get("key_metadata")
    return ManifestFile(
        path, length, spec, _number(row, "added_snapshot_id"), content == 1,
        _number(row, "sequence_number") or 0, _number(row, "min_sequence_number") or 0,
        _number(row, "added_files_count"), _number(row, "existing_files_count"), _number(row, "deleted_files_count"),
        _number(row, "added_rows_count"), _number(row, "existing_rows_count"), _number(row, "deleted_rows_count"),
        partitions=tuple(_summary(one) for one in summaries) if isinstance(summaries, list) else None,
        key_metadata=key_metadata if isinstance(key_metadata, bytes) else None,
        first_row_id=_number(row, "first_row_id"),
    )  # fmt: skip


def _number(row: Mapping[str, object], name: str) -> int | None:
    found = row.get(name)
    return found if isinstance(found, int) else None


def _summary(found: Mapping[str, object]) -> FieldSummary:
    nan, lower, upper = (found.get(key) for key in ("518", "510", "511"))
    return FieldSummary(
        bool(found.get("509", True)),
        nan if isinstance(nan, bool) else None,
        lower if isinstance(lower, bytes) else None,
        upper if isinstance(upper, bytes) else None,
    )


def manifest_list_bytes(manifests: Sequence[ManifestFile], version: int, header: Mapping[str, str]) -> bytes:
    """The list as a file of a format version."""
    sink = io.BytesIO()
    schema = fastavro.parse_schema(manifest_list_schema(version))
    metadata = {**header, "format-version": str(version)}
    fastavro.writer(sink, schema, [_row(manifest) for manifest in manifests], codec="deflate", metadata=metadata)
    return sink.getvalue()


def _row(manifest: ManifestFile) -> dict[str, object]:
    return {
        "manifest_path": manifest.manifest_path,
        "manifest_length": manifest.manifest_length,
        "partition_spec_id": manifest.partition_spec_id,
        "content": int(manifest.is_deletes),
        "sequence_number": manifest.sequence_number,
        "min_sequence_number": manifest.min_sequence_number,
        "added_snapshot_id": manifest.added_snapshot_id,
        "added_files_count": manifest.added_files_count,
        "existing_files_count": manifest.existing_files_count,
        "deleted_files_count": manifest.deleted_files_count,
        "added_rows_count": manifest.added_rows_count,
        "existing_rows_count": manifest.existing_rows_count,
        "deleted_rows_count": manifest.deleted_rows_count,
        "partitions": None if manifest.partitions is None else [_summary_row(one) for one in manifest.partitions],
        "key_metadata": manifest.key_metadata,
        "first_row_id": manifest.first_row_id,
    }


def _summary_row(summary: FieldSummary) -> dict[str, bool | bytes | None]:
    return {
        "contains_null": summary.contains_null,
        "contains_nan": summary.contains_nan,
        "lower_bound": summary.lower_bound,
        "upper_bound": summary.upper_bound,
    }
