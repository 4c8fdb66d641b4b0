"""What does a checkpoint hold?  (PROTOCOL.md, "Checkpoints", "Checkpoint Specs", "Last Checkpoint File")

A checkpoint's few actions about the table come as JSON-like objects, as from a commit; its many file actions come as Arrow
columns, from the checkpoint's own files or from the sidecars it names.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import quote, unquote

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from esker.core.types import Json
from esker.delta import json_log
from esker.delta.actions import JsonObject, Sidecar, parse_sidecar
from esker.delta.log import LOG_FOLDER, Checkpoint
from esker.errors import EskerError, InvalidRequest, InvalidTable, NotFound
from esker.storage.paths import checked
from esker.storage.port import FileInfo, Storage
from esker.storage.source import open_input

LAST_CHECKPOINT = f"{LOG_FOLDER}/_last_checkpoint"
TABLE_ACTIONS = ("protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar")
_FEW = 8192
"""Rows that are in memory together where hardly any is kept."""


@dataclass(frozen=True, slots=True)
class LastCheckpoint:
    """The hint in `_last_checkpoint`; `problem` says why it is not to be trusted."""

    version: int | None
    problem: str | None = None


def read_last_checkpoint(storage: Storage) -> LastCheckpoint:
    """The hint, if there is one. It only saves listing, so nothing about it is ever an error."""
    try:
        data = storage.read(LAST_CHECKPOINT)
    except NotFound:
        return LastCheckpoint(None)
    except EskerError as error:
        return LastCheckpoint(None, f"_last_checkpoint cannot be read: {error}")
    return parse_last_checkpoint(data)


def parse_last_checkpoint(data: bytes) -> LastCheckpoint:
    """The hint in these bytes, or why they are none."""
    try:
        hint = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return LastCheckpoint(None, f"_last_checkpoint is not JSON: {error}")
    if not isinstance(hint, dict) or not isinstance(hint.get("version"), int) or hint["version"] < 0:
        return LastCheckpoint(None, "_last_checkpoint names no version")
    recorded = hint.get("checksum")
    if isinstance(recorded, str) and recorded != json_checksum(hint):
        return LastCheckpoint(None, f"_last_checkpoint has the checksum {json_checksum(hint)}, but records {recorded}")
    return LastCheckpoint(hint["version"])


def json_checksum(document: Mapping[str, Json]) -> str:
    """The MD5 of the canonical form, the top-level `checksum` left out.  ("JSON checksum")"""
    pairs = sorted(_canonical({k: v for k, v in document.items() if k != "checksum"}), key=lambda p: p[0].encode())
    return hashlib.md5(",".join(f"{path}={value}" for path, value in pairs).encode()).hexdigest()


def table_actions(storage: Storage, checkpoint: Checkpoint) -> list[tuple[str, JsonObject]]:
    """The actions that are not about files: protocol, metaData, txn, domainMetadata, checkpointMetadata, sidecar."""
    return [action for file in checkpoint.files for action in _table_actions(storage, file)]


def file_columns(
    storage: Storage, checkpoint: Checkpoint, sidecars: Sequence[Sidecar], wanted: Mapping[str, Sequence[str]]
) -> Iterator[tuple[FileInfo, pa.Table]]:
    """The file actions: from each file, a table with the struct columns `wanted`, cut down to the fields named.

    "A V2 spec Checkpoint can either have all the add and remove file actions embedded inside itself or all of them should be
    in sidecar files": both are read, and a table with both would be read whole.
    """
    files = [*checkpoint.files, *(sidecar_file(sidecar, storage.url) for sidecar in sidecars)]
    with ThreadPoolExecutor(4) as pool:
        yield from zip(files, pool.map(lambda file: read_file_columns(storage, file, wanted), files), strict=True)


def _table_actions(storage: Storage, file: FileInfo) -> list[tuple[str, JsonObject]]:
    where = f"{storage.url}/{file.path}"
    if file.path.endswith(".json"):
        return list(json_log.find(storage.read(file.path), TABLE_ACTIONS, where))
    with _opened(storage, file) as parquet:
        names = parquet.schema_arrow.names
        present = [name for name in TABLE_ACTIONS if name in names]
        found: dict[str, list[JsonObject]] = _guarded(where, lambda: _few_rows(parquet, present))
        return [(name, body) for name, bodies in found.items() for body in bodies]


def _few_rows(parquet: pq.ParquetFile, columns: Sequence[str]) -> dict[str, list[JsonObject]]:
    """The rows that are not null in each column. They are few among many, so the many are never in memory together."""
    found: dict[str, list[JsonObject]] = {name: [] for name in columns}
    for batch in parquet.iter_batches(_FEW, columns=columns):
        batch.validate(full=True)  # Arrow does not check that a file's texts are UTF-8
        for name in columns:
            if batch.column(name).null_count < batch.num_rows:
                found[name] += [_plain(row) for row in batch.column(name).drop_null().to_pylist()]
    return found


def read_file_columns(storage: Storage, file: FileInfo, wanted: Mapping[str, Sequence[str]]) -> pa.Table:
    """The struct columns `wanted` of one file of a checkpoint, cut down to the fields named."""
    where = f"{storage.url}/{file.path}"
    if file.path.endswith(".json"):
        rows = json_log.actions(storage.read(file.path), where)
        kept = {kind: [_cut(row.get(kind), fields, where) for row in rows] for kind, fields in wanted.items()}
        return _guarded(where, lambda: pa.table({kind: _objects(values) for kind, values in kept.items()}))
    with _opened(storage, file) as parquet:
        stored = {kind: parquet.schema_arrow.field(kind).type for kind in wanted if kind in parquet.schema_arrow.names}
        for kind, found in stored.items():
            if not pa.types.is_struct(found) or found.get_field_index("path") < 0:
                raise InvalidTable(f"the checkpoint has {kind} as {found!s:.80}, not as a struct with a path", where=where)
        leaves = [f"{kind}.{name}" for kind in stored for name in wanted[kind] if stored[kind].get_field_index(name) >= 0]
        return _guarded(where, lambda: _read(parquet, leaves))


def _opened(storage: Storage, file: FileInfo) -> pq.ParquetFile:
    where = f"{storage.url}/{file.path}"
    # in nanoseconds, what INT96 says of the year 9999 would wrap around
    unit = {"coerce_int96_timestamp_unit": "us"}
    return _guarded(where, lambda: pq.ParquetFile(open_input(storage, file.path, file.size), **unit))


def _read(parquet: pq.ParquetFile, columns: Sequence[str]) -> pa.Table:
    """These columns in chunks: whoever drops rows copies only the chunks that have some to drop."""
    schema = parquet.read_row_groups([], columns=columns).schema
    table = pa.Table.from_batches(parquet.iter_batches(columns=columns), schema)
    table.validate(full=True)  # Arrow does not check that a file's texts are UTF-8
    return table


def _guarded(where: str, read):  # type: ignore[no-untyped-def]
    try:
        return read()
    except NotFound as error:
        raise InvalidTable("a file of the checkpoint is missing", where=where) from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InvalidTable(f"the checkpoint cannot be read: {error}", where=where) from error


def sidecar_file(sidecar: Sidecar, where: str) -> FileInfo:
    """Where a sidecar is."""
    # "These files reside in the `_delta_log/_sidecars` directory": whatever folder the URI names, only its last part counts
    name = unquote(sidecar.path).rsplit("/", 1)[-1]
    try:
        return FileInfo(f"{LOG_FOLDER}/_sidecars/{checked(name)}", sidecar.size, 0)
    except InvalidRequest as error:
        raise InvalidTable(f"the sidecar {sidecar.path!r} has no usable name", where=where) from error


def sidecars_of(actions: Sequence[tuple[str, JsonObject]], where: str) -> tuple[Sidecar, ...]:
    """The sidecars that these actions of a checkpoint name."""
    return tuple(parse_sidecar(body, where) for kind, body in actions if kind == "sidecar")


def _cut(action: Json, fields: Sequence[str], where: str) -> dict[str, Json] | None:
    if action is None:
        return None
    if not isinstance(action, dict):
        raise InvalidTable("a file action of the checkpoint is not an object", where=where)
    # maps become Arrow maps, as they are in Parquet
    return {name: action.get(name) for name in fields if name in _JSON_TYPES}


def _objects(values: list[dict[str, Json] | None]) -> pa.Array:
    return pa.array(
        [None if v is None else {k: list(x.items()) if k in _MAPS and isinstance(x, dict) else x for k, x in v.items()}
         for v in values],
        type=pa.struct([(name, _JSON_TYPES[name]) for name in _first_keys(values)]),
    )  # fmt: skip


def _first_keys(values: list[dict[str, Json] | None]) -> list[str]:
    return next((list(v) for v in values if v is not None), [])


_MAPS = ("partitionValues", "tags")
_TEXT_MAP = pa.map_(pa.string(), pa.string())
DELETION_VECTOR = pa.struct(
    [
        ("storageType", pa.string()), ("pathOrInlineDv", pa.string()), ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()), ("cardinality", pa.int64()),
    ]
)  # fmt: skip
_JSON_TYPES: Mapping[str, pa.DataType] = {
    "path": pa.string(), "partitionValues": _TEXT_MAP, "size": pa.int64(), "modificationTime": pa.int64(),
    "dataChange": pa.bool_(), "stats": pa.string(), "tags": _TEXT_MAP, "deletionVector": DELETION_VECTOR,
    "baseRowId": pa.int64(), "defaultRowCommitVersion": pa.int64(), "clusteringProvider": pa.string(),
    "deletionTimestamp": pa.int64(), "extendedFileMetadata": pa.bool_(),
}  # fmt: skip


def _plain(row: dict[str, object]) -> JsonObject:
    """A Parquet row with its maps, which Arrow gives as lists of pairs, as objects."""
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: object) -> Json:
    match value:
        case dict():
            return {str(k): _plain_value(v) for k, v in value.items()}
        case list() if value and isinstance(value[0], tuple):
            return {str(k): _plain_value(v) for k, v in value}
        case list():
            return [_plain_value(v) for v in value]
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _canonical(node: Json, path: str = "") -> Iterator[tuple[str, str]]:
    match node:
        case dict():
            for key, value in node.items():
                yield from _canonical(value, f"{path}+{_quoted(key)}" if path else _quoted(key))
        case list():
            for i, value in enumerate(node):
                yield from _canonical(value, f"{path}+{i}" if path else str(i))
        case str():
            yield path, _quoted(node)
        case _:
            yield path, orjson.dumps(node).decode()


def _quoted(text: str) -> str:
    return '"' + quote(text, safe="-._~") + '"'
