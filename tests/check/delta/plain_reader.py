"""The rows of a Delta table, read the slow way and by nothing of Esker's.

Replays the JSON log from version 0, or from a checkpoint, action by action; opens each file; takes out the rows that its deletion vector
names. No statistics, no skipping, no protocol: what a naive client sees.  (PROTOCOL.md, "Action Reconciliation", "Deletion Vectors")
"""

import json
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from tests.check.delta.valid import Files

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def rows(files: Files, version: int, from_checkpoint: bool = False) -> str:
    """The schema and the rows of a version as one text, or what keeps them from being read."""
    try:
        return _rows(files, version, from_checkpoint)
    except Exception as error:
        return f"cannot be read: {type(error).__name__}"


def _rows(files: Files, version: int, from_checkpoint: bool) -> str:
    metadata: dict[str, Any] = {}
    live: dict[tuple[str, str], dict[str, Any]] = {}
    for batch in _batches(files, version, from_checkpoint):
        actions = list(batch)
        for body in (action["remove"] for action in actions if action.get("remove")):
            live.pop(_identity(body), None)
        for action in actions:
            if body := action.get("add"):
                live[_identity(body)] = body
            metadata = action.get("metaData") or metadata
    schema = json.loads(metadata["schemaString"])["fields"]
    partitions = set(metadata["partitionColumns"])
    found = [row for add in live.values() for row in _of_file(files, add, schema, partitions)]
    return repr([[(field["name"], field["type"]) for field in schema], sorted(found)])


def _batches(files: Files, version: int, from_checkpoint: bool) -> Iterator[Iterable[dict[str, Any]]]:
    first = 0
    if from_checkpoint:
        first = max(int(name[11:31]) for name in files if name.startswith("_delta_log/0") and ".checkpoint." in name)
        yield _checkpoint(files, first)
        first += 1
    for number in range(first, version + 1):
        yield [json.loads(line) for line in files[f"_delta_log/{number:020}.json"].splitlines() if line.strip()]


def _checkpoint(files: Files, version: int) -> list[dict[str, Any]]:
    own = [data for name, data in files.items() if name.startswith(f"_delta_log/{version:020}.checkpoint.")]
    actions = [row for data in own for row in _parquet(data)]
    for action in list(actions):
        if sidecar := action.get("sidecar"):
            actions += _parquet(files[f"_delta_log/_sidecars/{sidecar['path']}"])
    return actions


def _parquet(data: bytes) -> list[dict[str, Any]]:
    return pq.read_table(pa.BufferReader(data)).to_pylist()  # type: ignore[no-any-return]


def _identity(body: dict[str, Any]) -> tuple[str, str]:
    vector = body.get("deletionVector") or {}
    return unquote(body["path"]), f"{vector.get('storageType')}{vector.get('pathOrInlineDv')}@{vector.get('offset')}"


def _of_file(files: Files, add: dict[str, Any], schema: list[dict[str, Any]], partitions: set[str]) -> Iterator[str]:
    table = pq.read_table(pa.BufferReader(files[unquote(add["path"])]))
    dead = _dead(files, add.get("deletionVector"))
    values = dict(add["partitionValues"])  # a map of a checkpoint is a list of pairs
    for number, row in enumerate(table.to_pylist()):
        if number in dead:
            continue
        told = []
        for field in schema:
            name = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
            told.append(str(values[name]) if field["name"] in partitions else str(row.get(name)))
        yield repr(told)


def _dead(files: Files, vector: dict[str, Any] | None) -> set[int]:
    if not vector:
        return set()
    text = vector["pathOrInlineDv"]
    if vector["storageType"] == "i":
        data = _z85(text)
    else:
        name = uuid.UUID(bytes=_z85(text[-20:]))
        whole = files[f"{text[:-20]}{'/' if text[:-20] else ''}deletion_vector_{name}.bin"]
        offset, size = vector.get("offset") or 0, vector["sizeInBytes"]
        if struct.unpack(">i", whole[offset : offset + 4])[0] != size:
            raise ValueError("another size")
        data = whole[offset + 4 : offset + 4 + size]
        if zlib.crc32(data) != struct.unpack(">I", whole[offset + 4 + size : offset + 8 + size])[0]:
            raise ValueError("another checksum")
    if struct.unpack("<I", data[:4])[0] != 1681511377:
        raise ValueError("no vector")
    dead: set[int] = set()
    rest = data[12:]
    for _ in range(struct.unpack("<q", data[4:12])[0]):
        key, bitmap = struct.unpack("<I", rest[:4])[0], BitMap.deserialize(rest[4:])
        dead |= {(key << 32) + low for low in bitmap}
        rest = rest[4 + len(bitmap.serialize()) :]
    if len(dead) != vector["cardinality"]:
        raise ValueError("another cardinality")
    return dead


def _z85(text: str) -> bytes:
    found = b""
    for start in range(0, len(text), 5):
        number = 0
        for sign in text[start : start + 5]:
            number = number * 85 + _Z85.index(sign)
        found += struct.pack(">I", number)
    return found
