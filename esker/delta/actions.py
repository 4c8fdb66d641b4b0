"""What does a log entry say?  (PROTOCOL.md, "Actions")

The actions as records. Those about files that are read come by the hundred thousand and stay in Arrow columns, see `replay`;
`Add`, `Remove` and `AddCdc` are for those that are written. JSON is parsed and printed here, once; unknown actions and unknown
fields are ignored, as the protocol asks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

import orjson

from esker.core.types import Json, Struct
from esker.delta.deletion_vectors import DeletionVector, parse_descriptor
from esker.delta.protocol import Protocol
from esker.delta.schema import parse_schema, schema_json
from esker.errors import InvalidTable, Unsupported

JsonObject = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Metadata:
    """The `metaData` action: schema, partitioning and properties."""

    id: str
    schema_string: str
    schema: Struct
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict, hash=False)
    name: str | None = None
    description: str | None = None
    provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict, hash=False)
    created_time: int | None = None


@dataclass(frozen=True, slots=True)
class Txn:
    """How far an application has come."""

    app_id: str
    version: int
    last_updated: int | None = None


@dataclass(frozen=True, slots=True)
class DomainMetadata:
    """A named configuration; `removed` makes it a tombstone."""

    domain: str
    configuration: str
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file of a version 2 checkpoint that holds file actions."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Add:
    """A file that becomes part of the table. `path` is a URI: relative to the table, percent-encoded, or absolute."""

    path: str
    partition_values: Mapping[str, str | None] = field(hash=False)
    size: int
    modification_time: int
    data_change: bool = True
    stats: str | None = None
    tags: Mapping[str, str | None] | None = field(default=None, hash=False)
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None

    @property
    def identity(self) -> tuple[str, str | None]:
        """What tells logical files apart: the path, and the deletion vector's unique id."""
        return self.path, None if self.deletion_vector is None else self.deletion_vector.unique_id


@dataclass(frozen=True, slots=True)
class Remove:
    """A file that was part of the table, with all that its `add` said of it.

    One that was no data file has no partition values, None.
    """

    path: str
    partition_values: Mapping[str, str | None] | None = field(hash=False)
    size: int
    deletion_timestamp: int
    data_change: bool = True
    stats: str | None = None
    tags: Mapping[str, str | None] | None = field(default=None, hash=False)
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None

    @property
    def identity(self) -> tuple[str, str | None]:
        return self.path, None if self.deletion_vector is None else self.deletion_vector.unique_id


@dataclass(frozen=True, slots=True)
class AddCdc:
    """A file of changed rows."""

    path: str
    partition_values: Mapping[str, str | None] = field(hash=False)
    size: int
    tags: Mapping[str, str | None] | None = field(default=None, hash=False)


Action: TypeAlias = Protocol | Metadata | Txn | DomainMetadata | Add | Remove | AddCdc


def removed(add: Add, now: int, data_change: bool = True) -> Remove:
    """The tombstone of a live file. `now` is in milliseconds since the epoch."""
    return Remove(
        add.path, add.partition_values, add.size, now, data_change, add.stats, add.tags, add.deletion_vector,
        add.base_row_id, add.default_row_commit_version,
    )  # fmt: skip


def removed_domain(domain: DomainMetadata) -> DomainMetadata:
    """The tombstone of a domain: "Writers should preserve an accurate pre-image of the configuration." """
    return replace(domain, removed=True)


def with_schema(metadata: Metadata, schema: Struct) -> Metadata:
    """The same metadata with another schema. Raises `Unsupported` where it says more than a schema keeps."""
    if _USER_DEFINED.search(metadata.schema_string):
        raise Unsupported(
            "the schema has types that a user of Spark defined, whose classes would be lost if it were written again"
        )
    return replace(metadata, schema=schema, schema_string=orjson.dumps(schema_json(schema)).decode())


_USER_DEFINED = re.compile(r'"type"\s*:\s*"udt"')


def action_json(action: Action) -> dict[str, Json]:
    """The action as a line of a commit has it: one object with one key."""
    match action:
        case Protocol():
            return {"protocol": _protocol_json(action)}
        case Metadata():
            return {"metaData": _metadata_json(action)}
        case Txn(app_id, version, updated):
            return {"txn": _present({"appId": app_id, "version": version, "lastUpdated": updated})}
        case DomainMetadata(domain, configuration, is_removed):
            return {"domainMetadata": {"domain": domain, "configuration": configuration, "removed": is_removed}}
        case Add():
            return {"add": _add_json(action)}
        case Remove():
            return {"remove": _remove_json(action)}
        case AddCdc(path, values, size, tags):
            body = {"path": path, "partitionValues": _map(values), "size": size, "tags": _map(tags), "dataChange": False}
            return {"cdc": _present(body)}
    assert_never(action)


def parse_metadata(body: JsonObject, where: str) -> Metadata:
    """The metadata of a `metaData` action. Raises `InvalidTable`, as all of these do, where it makes no sense."""
    schema_string = body.get("schemaString")
    if not isinstance(schema_string, str):
        raise InvalidTable("metaData has no schemaString", where=where)
    form = body.get("format")
    provider, options = (form.get("provider"), form.get("options")) if isinstance(form, dict) else (None, None)
    columns = body.get("partitionColumns") or []
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        raise InvalidTable("metaData.partitionColumns is not a list of names", where=where)
    schema = parse_schema(schema_string, where)
    # Values are kept under the names that stand here: were a column found by another spelling, its values would not be.
    if missing := [c for c in columns if isinstance(c, str) and c not in schema.names]:
        raise InvalidTable(f"the partition columns {', '.join(missing)} are not in the schema", where=where)
    if len({str(c).lower() for c in columns}) < len(columns):
        raise InvalidTable("metaData.partitionColumns names a column twice", where=where)
    created = body.get("createdTime")
    return Metadata(
        id=_text(body, "id", where) or "",
        schema_string=schema_string,
        schema=schema,
        partition_columns=tuple(str(c) for c in columns),
        configuration=_text_map(body.get("configuration"), "metaData.configuration", where),
        name=_text(body, "name", where),
        description=_text(body, "description", where),
        provider=provider if isinstance(provider, str) else "parquet",
        format_options=_text_map(options, "metaData.format.options", where),
        created_time=created if isinstance(created, int) else None,
    )


def parse_txn(body: JsonObject, where: str) -> Txn:
    """The progress that a `txn` action records."""
    match body:
        case {"appId": str(app_id), "version": int(version), **rest}:
            updated = rest.get("lastUpdated")
            return Txn(app_id, version, updated if isinstance(updated, int) else None)
    raise InvalidTable("a txn action lacks appId or version", where=where)


def parse_domain_metadata(body: JsonObject, where: str) -> DomainMetadata:
    """The domain, or its tombstone, of a `domainMetadata` action."""
    match body:
        case {"domain": str(domain), **rest}:
            return DomainMetadata(domain, str(rest.get("configuration") or ""), bool(rest.get("removed", False)))
    raise InvalidTable("a domainMetadata action lacks its domain", where=where)


def parse_add(body: JsonObject, where: str) -> Add:
    """The file of an `add` action."""
    match body:
        case {"path": str(path), "size": int(size), "modificationTime": int(time), **rest}:
            vector, row_id, version = (rest.get(n) for n in ("deletionVector", "baseRowId", "defaultRowCommitVersion"))
            stats, provider, tags = (rest.get(n) for n in ("stats", "clusteringProvider", "tags"))
            return Add(
                path=path, size=size, modification_time=time, data_change=rest.get("dataChange") is not False,
                partition_values=_nullable_texts(rest.get("partitionValues"), "add.partitionValues", where),
                stats=stats if isinstance(stats, str) else None,
                tags=None if tags is None else _nullable_texts(tags, "add.tags", where),
                deletion_vector=parse_descriptor(vector, where) if isinstance(vector, dict) else None,
                base_row_id=row_id if isinstance(row_id, int) else None,
                default_row_commit_version=version if isinstance(version, int) else None,
                clustering_provider=provider if isinstance(provider, str) else None,
            )  # fmt: skip
    raise InvalidTable("an add action lacks path, size or modificationTime", where=where)


def parse_sidecar(body: JsonObject, where: str) -> Sidecar:
    """The file that a `sidecar` action names."""
    match body:
        case {"path": str(path), "sizeInBytes": int(size)} if size >= 0:
            return Sidecar(path, size)
    raise InvalidTable("a sidecar action lacks path or sizeInBytes", where=where)


def _text(body: JsonObject, key: str, where: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidTable(f"metaData.{key} is not a text", where=where)
    return value


def _text_map(node: Json, key: str, where: str) -> Mapping[str, str]:
    if not node:  # Parquet shows an empty map as an empty list
        return {}
    if not isinstance(node, dict) or not all(v is None or isinstance(v, str) for v in node.values()):
        raise InvalidTable(f"{key} is not a map of texts", where=where)
    return {k: v for k, v in node.items() if isinstance(v, str)}


def _nullable_texts(node: Json, key: str, where: str) -> Mapping[str, str | None]:
    texts = {k: v for k, v in node.items() if v is None or isinstance(v, str)} if isinstance(node, dict) else {}
    if node is not None and (not isinstance(node, dict) or len(texts) < len(node)):
        raise InvalidTable(f"{key} is not a map of texts", where=where)
    return texts


def _protocol_json(protocol: Protocol) -> dict[str, Json]:
    body: dict[str, Json] = {"minReaderVersion": protocol.min_reader, "minWriterVersion": protocol.min_writer}
    if protocol.reader_features is not None:
        body["readerFeatures"] = [*sorted(protocol.reader_features)]
    if protocol.writer_features is not None:
        body["writerFeatures"] = [*sorted(protocol.writer_features)]
    return body


def _metadata_json(metadata: Metadata) -> dict[str, Json]:
    return _present(
        {
            "id": metadata.id, "name": metadata.name, "description": metadata.description,
            "format": {"provider": metadata.provider, "options": dict(metadata.format_options)},
            "schemaString": metadata.schema_string,
            "partitionColumns": list(metadata.partition_columns), "configuration": dict(metadata.configuration),
            "createdTime": metadata.created_time,
        }
    )  # fmt: skip


def _add_json(add: Add) -> dict[str, Json]:
    return _present(
        {
            "path": add.path, "partitionValues": dict(add.partition_values), "size": add.size,
            "modificationTime": add.modification_time, "dataChange": add.data_change, "stats": add.stats,
            "tags": _map(add.tags), "deletionVector": _vector_json(add.deletion_vector), "baseRowId": add.base_row_id,
            "defaultRowCommitVersion": add.default_row_commit_version, "clusteringProvider": add.clustering_provider,
        }
    )  # fmt: skip


def _remove_json(remove: Remove) -> dict[str, Json]:
    # "true means `partitionValues` and `size` are present"  Add File and Remove File
    is_whole = remove.partition_values is not None
    return _present(
        {
            "path": remove.path, "deletionTimestamp": remove.deletion_timestamp, "dataChange": remove.data_change,
            "extendedFileMetadata": is_whole, "partitionValues": _map(remove.partition_values),
            "size": remove.size if is_whole else None,
            "stats": remove.stats, "tags": _map(remove.tags), "deletionVector": _vector_json(remove.deletion_vector),
            "baseRowId": remove.base_row_id, "defaultRowCommitVersion": remove.default_row_commit_version,
        }
    )  # fmt: skip


def _vector_json(vector: DeletionVector | None) -> dict[str, Json] | None:
    if vector is None:
        return None
    return _present(
        {
            "storageType": vector.storage_type, "pathOrInlineDv": vector.path_or_inline, "offset": vector.offset,
            "sizeInBytes": vector.size, "cardinality": vector.cardinality,
        }
    )  # fmt: skip


def _map(texts: Mapping[str, str | None] | None) -> Json:
    return None if texts is None else dict(texts)


def _present(body: Mapping[str, Json]) -> dict[str, Json]:
    """What has a value: an optional field without one is left out."""
    return {name: value for name, value in body.items() if value is not None}
