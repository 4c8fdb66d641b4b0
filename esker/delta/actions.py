"""What does a log entry say?  (PROTOCOL.md, "Actions")

The actions that come a few at a time, as records. File actions come by the hundred thousand and stay in Arrow columns:
see `replay`. JSON is parsed here, once; unknown actions and unknown fields are ignored, as the protocol asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from esker.core.types import Json, Struct
from esker.delta.schema import parse_schema
from esker.errors import InvalidTable

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


def parse_metadata(body: JsonObject, where: str) -> Metadata:
    schema_string = body.get("schemaString")
    if not isinstance(schema_string, str):
        raise InvalidTable("metaData has no schemaString", where=where)
    match body.get("format") or {}:
        case {"provider": str(provider)}:
            pass
        case _:
            provider = "parquet"
    columns = body.get("partitionColumns") or []
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        raise InvalidTable("metaData.partitionColumns is not a list of names", where=where)
    schema = parse_schema(schema_string, where)
    if missing := [c for c in columns if isinstance(c, str) and schema.find(c) is None]:
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
        provider=provider,
        created_time=created if isinstance(created, int) else None,
    )


def parse_txn(body: JsonObject, where: str) -> Txn:
    match body:
        case {"appId": str(app_id), "version": int(version), **rest}:
            updated = rest.get("lastUpdated")
            return Txn(app_id, version, updated if isinstance(updated, int) else None)
    raise InvalidTable("a txn action lacks appId or version", where=where)


def parse_domain_metadata(body: JsonObject, where: str) -> DomainMetadata:
    match body:
        case {"domain": str(domain), **rest}:
            return DomainMetadata(domain, str(rest.get("configuration") or ""), bool(rest.get("removed", False)))
    raise InvalidTable("a domainMetadata action lacks its domain", where=where)


def parse_sidecar(body: JsonObject, where: str) -> Sidecar:
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
