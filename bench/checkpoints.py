"""How is a table's state put behind a checkpoint?  (PROTOCOL.md, "Checkpoint Schema", "V2 Spec", "Sidecar Files")"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

SIDECARS = 4
_TEXTS = pa.map_(pa.string(), pa.string())
_PROTOCOL = pa.struct([
    ("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()), ("readerFeatures", pa.list_(pa.string())),
    ("writerFeatures", pa.list_(pa.string())),
])  # fmt: skip
_METADATA = pa.struct([
    ("id", pa.string()), ("name", pa.string()), ("description", pa.string()),
    ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])), ("schemaString", pa.string()),
    ("partitionColumns", pa.list_(pa.string())), ("configuration", _TEXTS), ("createdTime", pa.int64()),
])  # fmt: skip
_ADD = pa.struct([
    ("path", pa.string()), ("partitionValues", _TEXTS), ("size", pa.int64()), ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()), ("stats", pa.string()), ("tags", _TEXTS),
])  # fmt: skip
_REMOVE = pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())])
_SIDECAR = pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", _TEXTS)])
_CHECKPOINT_METADATA = pa.struct([("version", pa.int64()), ("tags", _TEXTS)])
_V2_PROTOCOL = {
    "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"],
}  # fmt: skip

Actions = Mapping[str, list[Any]]


def write_classic(source: Path, table: Path) -> None:
    """The commits of the source, and a classic checkpoint of one file at its newest version."""
    version, found = _actions(source)
    log = _commits(source, table)
    kinds = {"protocol": _PROTOCOL, "metaData": _METADATA, "add": _ADD, "remove": _REMOVE}
    _write(log / f"{version:020}.checkpoint.parquet", kinds, found)
    _hint(log, version, sum(map(len, found.values())))


def write_v2(source: Path, table: Path) -> None:
    """The commits of the source, and a v2 checkpoint at its newest version whose adds are in sidecars."""
    version, found = _actions(source)
    log = _commits(source, table)
    _require_feature(log / f"{0:020}.json")
    (log / "_sidecars").mkdir()
    adds, sidecars = found["add"], []
    for i in range(SIDECARS):
        name = f"{UUID(int=i + 1)}.parquet"
        path = log / "_sidecars" / name
        _write(path, {"add": _ADD, "remove": _REMOVE}, {"add": adds[i * len(adds) // SIDECARS : (i + 1) * len(adds) // SIDECARS]})
        sidecars.append({"path": name, "sizeInBytes": path.stat().st_size, "modificationTime": 0})
    kinds = {
        "checkpointMetadata": _CHECKPOINT_METADATA, "protocol": _PROTOCOL, "metaData": _METADATA, "sidecar": _SIDECAR,
        "add": _ADD, "remove": _REMOVE,
    }  # fmt: skip
    top: Actions = {
        "checkpointMetadata": [{"version": version}], "protocol": [_V2_PROTOCOL], "metaData": found["metaData"],
        "sidecar": sidecars,
    }  # fmt: skip
    _write(log / f"{version:020}.checkpoint.{UUID(int=0)}.parquet", kinds, top)
    _hint(log, version, sum(map(len, top.values())))


def _actions(table: Path) -> tuple[int, Actions]:
    """The newest version and all actions of a log that removes nothing, by kind."""
    found: dict[str, list[Any]] = {"protocol": [], "metaData": [], "add": []}
    commits = sorted((table / "_delta_log").glob("*.json"))
    for commit in commits:
        for line in commit.read_bytes().splitlines():
            for kind, body in orjson.loads(line).items():
                if kind != "commitInfo":
                    found[kind].append(body)
    return int(commits[-1].stem), found


def _commits(source: Path, table: Path) -> Path:
    log = table / "_delta_log"
    log.mkdir()
    for commit in (source / "_delta_log").glob("*.json"):
        os.link(commit, log / commit.name)
    return log


def _require_feature(commit: Path) -> None:
    """Give the first commit the protocol that a v2 checkpoint needs."""
    actions = [orjson.loads(line) for line in commit.read_bytes().splitlines()]
    commit.unlink()  # it is a link, and the source's stays as it is
    changed = [{"protocol": _V2_PROTOCOL} if "protocol" in action else action for action in actions]
    commit.write_bytes(b"".join(orjson.dumps(action) + b"\n" for action in changed))


def _write(path: Path, kinds: Mapping[str, pa.DataType], actions: Actions) -> None:
    """One row for each action, which is in the column of its kind."""
    columns = {}
    total = sum(map(len, actions.values()))
    before = 0
    for name, kind in kinds.items():
        bodies: Sequence[Any] = actions.get(name, [])
        after = total - before - len(bodies)
        columns[name] = pa.array([None] * before + [_paired(b, kind) for b in bodies] + [None] * after, kind)
        before += len(bodies)
    pq.write_table(pa.table(columns), path)


def _paired(body: Any, kind: pa.DataType) -> Any:
    """An object with its maps as pairs, as Arrow takes them."""
    if body is None:
        return None
    if pa.types.is_map(kind):
        return list(body.items())
    if pa.types.is_struct(kind):
        return {field.name: _paired(body.get(field.name), field.type) for field in kind}
    return body


def _hint(log: Path, version: int, size: int) -> None:
    (log / "_last_checkpoint").write_bytes(orjson.dumps({"version": version, "size": size}))
