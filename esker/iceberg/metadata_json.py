"""How is table metadata spelled in a file?  (spec, "Table Metadata and Snapshots" of Appendix C)"""

import gzip
import zlib
from collections.abc import Mapping

import orjson

from esker.core.types import Json
from esker.errors import InvalidTable, Unsupported
from esker.iceberg.metadata import (
    NO_SNAPSHOT,
    EncryptionKey,
    PartitionField,
    PartitionSpec,
    PartitionStatisticsFile,
    Snapshot,
    SnapshotRef,
    SortOrder,
    StatisticsFile,
    TableMetadata,
)
from esker.iceberg.metadata_parsing import parse_metadata
from esker.iceberg.schema import schema_json

_GZIP = b"\x1f\x8b"
_LARGEST = 1 << 30  # bytes of metadata unpacked: a small file must not fill the memory


def read_metadata(data: bytes, where: str) -> TableMetadata:
    """The metadata in a file's bytes, gzipped or not."""
    if data.startswith(_GZIP):
        data = _unzipped(data, where)
    try:
        node = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidTable(f"the metadata file is not JSON: {error}", where=where) from error
    return parse_metadata(node, where)


def write_metadata(metadata: TableMetadata, *, is_gzipped: bool = False) -> bytes:
    """The bytes of a metadata file."""
    data = orjson.dumps(metadata_json(metadata))
    return gzip.compress(data, mtime=0) if is_gzipped else data


def metadata_json(metadata: TableMetadata) -> dict[str, Json]:
    """The JSON object of a metadata file, in the order in which the reference implementation writes it."""
    version = metadata.format_version
    told: dict[str, Json] = {
        "format-version": version,
        "table-uuid": metadata.table_uuid,
        "location": metadata.location,
    }
    if version >= 2:
        told["last-sequence-number"] = metadata.last_sequence_number
    told |= {"last-updated-ms": metadata.last_updated_ms, "last-column-id": metadata.last_column_id}
    if version == 1:
        told["schema"] = schema_json(metadata.schema)
    told |= {"current-schema-id": metadata.current_schema_id, "schemas": [schema_json(s) for s in metadata.schemas]}
    if version == 1:
        told["partition-spec"] = [_partition_field_json(f) for f in metadata.spec.fields]
    told |= {
        "default-spec-id": metadata.default_spec_id,
        "partition-specs": [spec_json(s) for s in metadata.partition_specs],
        "last-partition-id": metadata.last_partition_id,
        "default-sort-order-id": metadata.default_sort_order_id,
        "sort-orders": [sort_order_json(s) for s in metadata.sort_orders],
        "properties": dict(metadata.properties),
    }
    if metadata.current_snapshot_id is not None:
        told["current-snapshot-id"] = metadata.current_snapshot_id
    elif version < 3:
        told["current-snapshot-id"] = NO_SNAPSHOT
    if metadata.next_row_id is not None:
        told["next-row-id"] = metadata.next_row_id
    if metadata.encryption_keys:
        told["encryption-keys"] = [_key_json(k) for k in metadata.encryption_keys]
    told |= {
        "refs": {name: ref_json(ref) for name, ref in metadata.refs.items()},
        "snapshots": [snapshot_json(s, version) for s in metadata.snapshots],
        "statistics": [statistics_json(s) for s in metadata.statistics],
        "partition-statistics": [partition_statistics_json(s) for s in metadata.partition_statistics],
        "snapshot-log": [{"timestamp-ms": e.timestamp_ms, "snapshot-id": e.snapshot_id} for e in metadata.snapshot_log],
        "metadata-log": [
            {"timestamp-ms": e.timestamp_ms, "metadata-file": e.metadata_file} for e in metadata.metadata_log
        ],
    }
    return told | {key: value for key, value in metadata.unknown.items() if key not in told}


def spec_json(spec: PartitionSpec) -> Json:
    return {"spec-id": spec.spec_id, "fields": [_partition_field_json(f) for f in spec.fields]}


def partition_fields_json(spec: PartitionSpec) -> Json:
    """Only the fields, as a manifest's `partition-spec` has them."""
    return [_partition_field_json(f) for f in spec.fields]


def sort_order_json(order: SortOrder) -> Json:
    fields: list[Json] = [
        {"transform": f.transform, **_sources_json(f.source_ids), "direction": f.direction, "null-order": f.null_order}
        for f in order.fields
    ]
    return {"order-id": order.order_id, "fields": fields}


def snapshot_json(snapshot: Snapshot, version: int) -> Json:
    """`version` is the table's: version 1 has no sequence numbers."""
    return _without_none(
        {
            "sequence-number": snapshot.sequence_number if version > 1 else None,
            "snapshot-id": snapshot.snapshot_id,
            "parent-snapshot-id": snapshot.parent_snapshot_id,
            "timestamp-ms": snapshot.timestamp_ms,
            "summary": dict(snapshot.summary) or None,
            "manifest-list": snapshot.manifest_list,
            # "Must be omitted if manifest-list is present"
            "manifests": list(snapshot.manifests) if snapshot.manifest_list is None else None,
            "schema-id": snapshot.schema_id,
            "first-row-id": snapshot.first_row_id,
            "added-rows": snapshot.added_rows,
            "key-id": snapshot.key_id,
        }
    )


def _unzipped(data: bytes, where: str) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(data, _LARGEST)
    except zlib.error as error:
        raise InvalidTable(f"the metadata file is not gzip: {error}", where=where) from error
    if unpacker.unconsumed_tail:
        raise Unsupported(f"a metadata file of more than {_LARGEST} bytes", where=where)
    if not unpacker.eof:
        raise InvalidTable("the metadata file ends before its gzip stream does", where=where)
    return plain


def _without_none(node: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in node.items() if value is not None}


def _sources_json(source_ids: tuple[int, ...]) -> dict[str, Json]:
    """ "source-id for one argument, source-ids for several; exactly one of the two is written" """
    return {"source-id": source_ids[0]} if len(source_ids) == 1 else {"source-ids": list(source_ids)}


def _partition_field_json(field: PartitionField) -> Json:
    return {
        "name": field.name,
        "transform": field.transform,
        **_sources_json(field.source_ids),
        "field-id": field.field_id,
    }


def ref_json(ref: SnapshotRef) -> Json:
    return _without_none(
        {
            "snapshot-id": ref.snapshot_id,
            "type": ref.type,
            "min-snapshots-to-keep": ref.min_snapshots_to_keep,
            "max-snapshot-age-ms": ref.max_snapshot_age_ms,
            "max-ref-age-ms": ref.max_ref_age_ms,
        }
    )


def statistics_json(file: StatisticsFile) -> Json:
    blobs: list[Json] = [
        {
            "type": b.type,
            "snapshot-id": b.snapshot_id,
            "sequence-number": b.sequence_number,
            "fields": list(b.fields),
            "properties": dict(b.properties),
        }
        for b in file.blob_metadata
    ]
    return _without_none(
        {
            "snapshot-id": file.snapshot_id,
            "statistics-path": file.statistics_path,
            "file-size-in-bytes": file.file_size_in_bytes,
            "file-footer-size-in-bytes": file.file_footer_size_in_bytes,
            "key-metadata": file.key_metadata,
            "blob-metadata": blobs,
        }
    )


def partition_statistics_json(file: PartitionStatisticsFile) -> Json:
    return {
        "snapshot-id": file.snapshot_id,
        "statistics-path": file.statistics_path,
        "file-size-in-bytes": file.file_size_in_bytes,
    }


def _key_json(key: EncryptionKey) -> Json:
    return _without_none(
        {
            "key-id": key.key_id,
            "encrypted-key-metadata": key.encrypted_key_metadata,
            "encrypted-by-id": key.encrypted_by_id,
            "properties": dict(key.properties) or None,
        }
    )
