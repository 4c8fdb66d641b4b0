"""How do actions become the rows of a checkpoint?  (PROTOCOL.md, "Checkpoint Schema")

"Each row in the checkpoint corresponds to a single action", in the struct column of its kind. The few actions about the table
come as JSON objects, the many about files as columns.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from esker.core.columns import booleans, int64
from esker.delta.actions import JsonObject
from esker.delta.checkpoint import DELETION_VECTOR
from esker.delta.checkpoint_stats import CheckpointStats
from esker.delta.file_actions import TEXT_MAP
from esker.delta.replay import LiveFiles

_TEXTS = pa.list_(pa.string())
TABLE_KINDS: Mapping[str, pa.StructType] = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()), ("readerFeatures", _TEXTS),
            ("writerFeatures", _TEXTS),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()), ("name", pa.string()), ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", TEXT_MAP)])), ("schemaString", pa.string()),
            ("partitionColumns", _TEXTS), ("configuration", TEXT_MAP), ("createdTime", pa.int64()),
        ]
    ),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
}  # fmt: skip
"""The actions about the table that every checkpoint has."""
V2_KINDS: Mapping[str, pa.StructType] = {
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", TEXT_MAP)]),
    "sidecar": pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", TEXT_MAP)]
    ),
}
"""The actions that only checkpoints of the V2 spec have."""
REMOVE = pa.struct(
    [
        ("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()), ("partitionValues", TEXT_MAP), ("size", pa.int64()),
        ("deletionVector", DELETION_VECTOR), ("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64()),
    ]
)  # fmt: skip
_ADD = (
    ("path", pa.string()), ("partitionValues", TEXT_MAP), ("size", pa.int64()), ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()), ("tags", TEXT_MAP), ("deletionVector", DELETION_VECTOR), ("baseRowId", pa.int64()),
    ("defaultRowCommitVersion", pa.int64()), ("clusteringProvider", pa.string()),
)  # fmt: skip


def add_type(stats: CheckpointStats) -> pa.StructType:
    """The `add` column of a table."""
    return pa.struct([*_ADD, *stats.types().items()])


def table_rows(actions: Sequence[JsonObject], schema: pa.Schema) -> pa.Table:
    """A row for each of the actions, which are objects with one member, their kind."""
    columns = [pa.array([action.get(kind) for action in actions], schema.field(kind).type) for kind in schema.names]
    return pa.table(columns, schema=schema)


def file_rows(kind: str, bodies: pa.StructArray, schema: pa.Schema) -> pa.Table:
    """A row for each action of one kind."""
    columns = [bodies if field.name == kind else pa.nulls(len(bodies), field.type) for field in schema]
    return pa.table(columns, schema=schema)


def adds(files: LiveFiles, stats: CheckpointStats) -> pa.StructArray:
    """The `add` actions of live files."""
    columns = {name: files.table.column(name).combine_chunks() for name, _ in _ADD}
    # What is in a checkpoint is the state and changes nothing.
    columns |= {"partitionValues": _maps(columns["partitionValues"]), "dataChange": _falses(len(files))}
    columns |= stats.columns(files)
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def removes(tombstones: pa.Table) -> pa.StructArray:
    """The `remove` actions of files that are gone."""
    kept = {name: tombstones.column(name).combine_chunks() for name in tombstones.column_names}
    columns: Iterable[pa.Array] = (kept.get(field.name, _falses(tombstones.num_rows)) for field in REMOVE)
    return pa.StructArray.from_arrays(list(columns), fields=list(REMOVE))


def _falses(count: int) -> pa.BooleanArray:
    return booleans(np.zeros(count, np.bool_))


def _maps(structs: pa.StructArray) -> pa.MapArray:
    """Structs of texts as maps, all with the same keys in the same order."""
    count, width = len(structs), structs.type.num_fields
    slots = np.arange(count * width, dtype=np.int64)
    names = pa.array([field.name for field in structs.type], pa.string())
    values = pa.concat_arrays([pa.nulls(0, pa.string()), *structs.flatten()])
    offsets = int64(np.arange(count + 1, dtype=np.int64) * width).cast(pa.int32())
    if width == 0:
        return pa.MapArray.from_arrays(offsets, names, values)
    return pa.MapArray.from_arrays(
        offsets, names.take(int64(slots % width)), values.take(int64(slots % width * count + slots // width))
    )
