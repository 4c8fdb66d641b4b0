"""A Delta table in memory, written action by action: what a test puts into the log is what is there."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import esker
from esker.core import types as t
from esker.core.arrow_types import to_arrow_schema
from esker.core.bitmap import Bitmap
from esker.core.types import Field, Struct
from esker.delta.deletion_vectors import z85_encode
from esker.delta.schema import schema_json
from esker.delta.snapshot import Place, Snapshot, load
from esker.delta.table import DeltaTable
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage

Action = dict[str, Any]
ID = Struct((Field("id", t.LONG),))
_NAMES = count()


class Log:
    """A table's folder; its `storage` may be written to by hand as well."""

    def __init__(self, storage: Storage | None = None) -> None:
        self.storage: Storage = storage or MemoryStorage(f"memory://test-{next(_NAMES)}/table")
        self.version = -1

    @property
    def url(self) -> str:
        return self.storage.url

    def start(self, schema: Struct = ID, *actions: Action, features: Iterable[str] = (), **settings: Any) -> "Log":
        """The commit that creates the table."""
        self.commit(protocol(*features), metadata(schema, **settings), *actions)
        return self

    def commit(self, *actions: Action, version: int | None = None) -> int:
        """The next version, or the one named, one action a line."""
        self.version = self.version + 1 if version is None else version
        self.put(f"{self.version:020}.json", lines(actions))
        return self.version

    def put(self, name: str, data: bytes | str | Action) -> None:
        """A file of the log as it stands; an object becomes JSON."""
        text = json.dumps(data) if isinstance(data, dict) else data
        self.storage.put(f"_delta_log/{name}", text.encode() if isinstance(text, str) else text)

    def checkpoint(self, version: int, actions: Sequence[Action], name: str | None = None) -> None:
        """A checkpoint in Parquet; `name` is what stands between the version and nothing, by default the classic name."""
        self.put(f"{version:020}.{name or 'checkpoint.parquet'}", parquet(checkpoint_rows(actions)))

    def data(self, path: str, rows: pa.Table, **options: Any) -> Action:
        """Write a data file, and give the `add` for it."""
        written = {k: options.pop(k) for k in list(options) if k in _WRITING}
        body = parquet(rows, **written)
        self.storage.put(path, body)
        return add(path, **{"size": len(body), "stats": {"numRecords": rows.num_rows}} | options)

    def open(self, **options: Any) -> esker.Table:
        return esker.open(self.url, **options)

    def delta(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(self.snapshot(version))

    def snapshot(self, version: int | None = None) -> Snapshot:
        return load(Place(self.storage), version)

    def paths(self, version: int | None = None) -> list[str]:
        """The live files."""
        return sorted(self.snapshot(version).files.table.column("path").to_pylist())


_WRITING = ("use_deprecated_int96_timestamps", "coerce_timestamps", "version", "row_group_size", "store_decimal_as_integer",
            "allow_truncated_timestamps", "use_compliant_nested_type", "store_schema")  # fmt: skip


def protocol(*features: str, reader: int | None = None, writer: int | None = None, listed: bool | None = None) -> Action:
    """A protocol that lists these features for readers and writers, or a legacy one where there are none."""
    if not features and not listed:
        return {"protocol": {"minReaderVersion": reader or 1, "minWriterVersion": writer or 2}}
    readers = [f for f in features if f in _READERS]
    body: Action = {"minReaderVersion": reader or (3 if readers else 1), "minWriterVersion": 7}
    if body["minReaderVersion"] == 3:
        body["readerFeatures"] = readers
    return {"protocol": body | {"writerFeatures": list(features)}}


_READERS = {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "typeWidening",
            "variantType", "variantShredding", "catalogManaged", "unheardOf"}  # fmt: skip


def metadata(schema: Struct = ID, partition_by: Sequence[str] = (), id: str = "an-id", **configuration: str) -> Action:
    """A metaData action. Properties come by their names with `__` for the dot."""
    return {
        "metaData": {
            "id": id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema_json(schema)),
            "partitionColumns": list(partition_by),
            "configuration": {name.replace("__", "."): value for name, value in configuration.items()},
            "createdTime": 1,
        }
    }


def add(path: str, *, stats: Mapping[str, Any] | str | None = None, partition: Mapping[str, str | None] | None = None,
        dv: Action | None = None, **fields: Any) -> Action:  # fmt: skip
    body: Action = {"path": path, "partitionValues": dict(partition or {}), "size": 1, "modificationTime": 1}
    body |= {"dataChange": True} | fields
    if stats is not None:
        body["stats"] = stats if isinstance(stats, str) else json.dumps(stats)
    if dv is not None:
        body["deletionVector"] = dv
    return {"add": body}


def remove(path: str, *, dv: Action | None = None, **fields: Any) -> Action:
    body: Action = {"path": path, "deletionTimestamp": 1, "dataChange": True} | fields
    return {"remove": body | ({} if dv is None else {"deletionVector": dv})}


def inline(*positions: int) -> Action:
    """The descriptor of a deletion vector kept in the log."""
    data = Bitmap.of(positions).serialize()
    return {"storageType": "i", "pathOrInlineDv": z85_encode(data), "sizeInBytes": len(data),
            "cardinality": len(positions)}  # fmt: skip


def lines(actions: Iterable[Action]) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def rows(schema: Struct = ID, /, **columns: Sequence[Any]) -> pa.Table:
    """Rows as a writer of this schema stores them."""
    return pa.table({name: pa.array(columns[name], to_arrow_schema(schema).field(name).type) for name in columns})


def ids(*values: int) -> pa.Table:
    return rows(id=values)


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return bytes(sink.getvalue())


_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct([("storageType", pa.string()), ("pathOrInlineDv", pa.string()), ("offset", pa.int32()),
                     ("sizeInBytes", pa.int32()), ("cardinality", pa.int64())])  # fmt: skip
_CHECKPOINT = {
    "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()),
                           ("readerFeatures", pa.list_(pa.string())), ("writerFeatures", pa.list_(pa.string()))]),
    "metaData": pa.struct([("id", pa.string()), ("schemaString", pa.string()), ("configuration", _TEXTS),
                           ("partitionColumns", pa.list_(pa.string())), ("createdTime", pa.int64()),
                           ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)]))]),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "add": pa.struct([("path", pa.string()), ("partitionValues", _TEXTS), ("size", pa.int64()),
                      ("modificationTime", pa.int64()), ("dataChange", pa.bool_()), ("stats", pa.string()),
                      ("deletionVector", _VECTOR), ("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64())]),
    "remove": pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_()),
                         ("deletionVector", _VECTOR)]),
    "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", _TEXTS)]),
}  # fmt: skip


def checkpoint_rows(actions: Sequence[Action], parsed: pa.StructType | None = None) -> pa.Table:
    """The actions as the rows of a checkpoint. `parsed` is the type of `stats_parsed`, where the adds have it."""
    types = dict(_CHECKPOINT)
    if parsed is not None:
        types["add"] = pa.struct([*types["add"], ("stats_parsed", parsed)])
    columns = {kind: pa.array([action.get(kind) for action in actions], kind_type) for kind, kind_type in types.items()}
    return pa.table({k: v for k, v in columns.items() if v.null_count < len(v) or k in ("add", "remove")})
