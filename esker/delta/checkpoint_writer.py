"""How is the state of a version written down?  (PROTOCOL.md, "Checkpoints", "Checkpoint Specs", "Last Checkpoint File")

A classic checkpoint is one Parquet file. Where the table's policy is `v2`, the file actions go into sidecars of bounded size and
a file with a unique name refers to them. A checkpoint that is there is never written over, and the hint never moves back.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.core.features import Operation
from esker.core.types import Json
from esker.delta import checkpoint_rows as rows
from esker.delta import properties
from esker.delta.actions import Action, JsonObject, Txn, action_json
from esker.delta.checkpoint import LAST_CHECKPOINT, json_checksum, read_last_checkpoint
from esker.delta.checkpoint_stats import CheckpointStats
from esker.delta.log import LOG_FOLDER, Checkpoint
from esker.delta.properties import CheckpointPolicy
from esker.delta.protocol import is_supported
from esker.delta.reconciliation import Reconciled, in_batches, reconciled
from esker.delta.snapshot import Snapshot
from esker.errors import AlreadyExists
from esker.storage.port import FileInfo, Storage

ROWS_TOGETHER = 50_000
"""File actions in a row group, and in a sidecar."""
_EMBEDDED = 30
"""As many sidecars the hint names at most."""


def write_checkpoint(
    snapshot: Snapshot, now: int, files: Reconciled | None = None, excused: frozenset[str] = frozenset()
) -> Checkpoint:
    """Write a checkpoint of the snapshot's version, and the hint to it; one that is there already is left as it is.

    `now`, in milliseconds since the epoch, decides which tombstones and transaction identifiers have expired. `files` are the
    snapshot's file actions where they have been reconciled already. `excused` is as for `commit`.
    """
    # "do not create a checkpoint for a version < V unless all features of the protocol at that version are supported":
    # the gate, at any version.  checkpointProtection
    snapshot.gate(Operation.WRITE, excused)
    known = snapshot.log.checkpoint
    if known is not None and known.version == snapshot.version:
        return known
    state = _State(snapshot, _unexpired(files or reconciled(snapshot), snapshot, now), CheckpointStats(snapshot), now)
    written = _write_v2(state) if _is_v2(snapshot) else _write_classic(state)
    _write_hint(snapshot.place.storage, written)
    return written.checkpoint


@dataclass(frozen=True, slots=True)
class _State:
    """What goes into a checkpoint."""

    snapshot: Snapshot
    files: Reconciled
    stats: CheckpointStats
    now: int

    @property
    def version(self) -> int:
        return self.snapshot.version

    @property
    def file_actions(self) -> int:
        return len(self.files.live) + int(self.files.tombstones.num_rows)


@dataclass(frozen=True, slots=True)
class _Written:
    """What the hint says of a checkpoint; `v2` is what only those of the V2 spec have."""

    checkpoint: Checkpoint
    actions: int
    size: int
    adds: int
    v2: JsonObject | None = None


def _is_v2(snapshot: Snapshot) -> bool:
    """ "A UUID-named v2 Checkpoint should only be created by clients if the v2 checkpoint table feature is enabled." """
    policy = properties.checkpoint_policy(snapshot.metadata.configuration)
    return policy is CheckpointPolicy.V2 and is_supported(snapshot.protocol, properties.CHECKPOINT_POLICY.feature)


def _unexpired(files: Reconciled, snapshot: Snapshot, now: int) -> Reconciled:
    # "A tombstone expires when current time [...] exceeds the expiration threshold added to the `remove` action timestamp."
    oldest = now - _millis(properties.deleted_file_retention(snapshot.metadata.configuration))
    is_young = pc.fill_null(pc.greater_equal(files.tombstones.column("deletionTimestamp"), oldest), False)
    return Reconciled(files.live, files.tombstones.filter(is_young))


def _table_actions(snapshot: Snapshot, now: int) -> list[JsonObject]:
    """The actions that are not about files: without commit provenance, and without tombstones of domains."""
    retention = properties.transaction_retention(snapshot.metadata.configuration)
    txns = (txn for txn in snapshot.txns.values() if retention is None or _is_kept(txn, now - _millis(retention)))
    actions: tuple[Action, ...] = (snapshot.protocol, snapshot.metadata, *txns, *snapshot.domains.values())
    return [action_json(action) for action in actions]


def _is_kept(txn: Txn, oldest: int) -> bool:
    return txn.last_updated is None or txn.last_updated >= oldest


def _millis(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def _write_classic(state: _State) -> _Written:
    actions = _table_actions(state.snapshot, state.now)
    schema = pa.schema([*rows.TABLE_KINDS.items(), ("add", rows.add_type(state.stats)), ("remove", rows.REMOVE)])
    tables = (rows.file_rows(kind, bodies, schema) for kind, bodies in _file_actions(state))
    data = _parquet((rows.table_rows(actions, schema), *tables), schema, state.snapshot)
    file = _put_classic(state, data)
    count = len(actions) + state.file_actions
    return _Written(Checkpoint(state.version, (file,)), count, file.size, len(state.files.live))


def _write_v2(state: _State) -> _Written:
    """The sidecars first, then the file that names them: a reader sees the checkpoint whole or not at all."""
    schema = pa.schema([("add", rows.add_type(state.stats)), ("remove", rows.REMOVE)])
    sidecars: list[FileInfo] = []
    for kind, bodies in _file_actions(state):
        data = _parquet([rows.file_rows(kind, bodies, schema)], schema, state.snapshot)
        sidecars.append(_put(state, f"{LOG_FOLDER}/_sidecars/{uuid4()}.parquet", data))
    size = sum(file.size for file in sidecars)
    named = [_sidecar_json(file, state.now) for file in sidecars]
    tags: dict[str, Json] = {
        "sidecarNumActions": str(state.file_actions), "sidecarSizeInBytes": str(size),
        "numOfAddFiles": str(len(state.files.live)),
    }  # fmt: skip
    actions: list[JsonObject] = [
        # "Each v2 spec checkpoint includes exactly one Checkpoint Metadata action."
        {"checkpointMetadata": {"version": state.version, "tags": tags}},
        *_table_actions(state.snapshot, state.now),
        *({"sidecar": sidecar} for sidecar in named),
    ]
    # Without columns for file actions, of which there are none here, delta-spark does not find those of the sidecars.
    top = pa.schema([*rows.TABLE_KINDS.items(), *rows.V2_KINDS.items(), *schema])
    data = _parquet([rows.table_rows(actions, top)], top, state.snapshot)
    file = _put(state, _path(state.version, f"checkpoint.{uuid4()}.parquet"), data)
    v2: dict[str, Json] = {
        "path": file.path.removeprefix(f"{LOG_FOLDER}/"), "sizeInBytes": file.size, "modificationTime": state.now,
    }  # fmt: skip
    if len(named) <= _EMBEDDED:
        v2["sidecarFiles"] = [*named]
    count = len(actions) + state.file_actions
    return _Written(Checkpoint(state.version, (file,)), count, size + file.size, len(state.files.live), v2)


def _sidecar_json(file: FileInfo, now: int) -> dict[str, Json]:
    # "implementations are encouraged to store only the file's name"
    return {"path": file.path.rsplit("/", 1)[-1], "sizeInBytes": file.size, "modificationTime": now}


def _file_actions(state: _State) -> Iterator[tuple[str, pa.StructArray]]:
    """The live files and the tombstones, so many together as fit into memory with their statistics."""
    for files in in_batches(state.files.live, ROWS_TOGETHER):
        yield "add", rows.adds(files, state.stats)
    tombstones = state.files.tombstones
    for start in range(0, tombstones.num_rows, ROWS_TOGETHER):
        yield "remove", rows.removes(tombstones.slice(start, ROWS_TOGETHER))


_CODECS = {"lz4_raw": "lz4"}  # what Arrow calls lz4 is without Hadoop's frames


def _parquet(tables: Iterable[pa.Table], schema: pa.Schema, snapshot: Snapshot) -> bytes:
    codec = properties.compression_codec(snapshot.metadata.configuration)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, compression=_CODECS.get(codec, codec)) as writer:
        for table in tables:
            writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _put_classic(state: _State, data: bytes) -> FileInfo:
    """A reader may be in the midst of a checkpoint that is there, so none is ever replaced."""
    path = _path(state.version, "checkpoint.parquet")
    try:
        state.snapshot.place.storage.put_if_absent(path, data)
    except AlreadyExists:
        # of the same version and so of the same content, but for tombstones that expired between the two
        return state.snapshot.place.storage.head(path)
    return FileInfo(path, len(data), state.now)


def _put(state: _State, path: str, data: bytes) -> FileInfo:
    """A file whose name nobody else gives."""
    with suppress(AlreadyExists):  # our own: a client repeats a request whose reply was lost
        state.snapshot.place.storage.put_if_absent(path, data)
    return FileInfo(path, len(data), state.now)


def _path(version: int, suffix: str) -> str:
    return f"{LOG_FOLDER}/{version:020}.{suffix}"


def _write_hint(storage: Storage, written: _Written) -> None:
    """Point readers at the checkpoint, unless they are pointed at a later one."""
    known = read_last_checkpoint(storage).version
    if known is not None and known > written.checkpoint.version:
        return
    hint: dict[str, Json] = {
        "version": written.checkpoint.version, "size": written.actions, "sizeInBytes": written.size,
        "numOfAddFiles": written.adds,
    }  # fmt: skip
    if written.v2 is not None:
        hint["v2Checkpoint"] = dict(written.v2)
    storage.put(LAST_CHECKPOINT, orjson.dumps(hint | {"checksum": json_checksum(hint)}))
