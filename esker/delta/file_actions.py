"""How does a log file become columns of file actions?  (PROTOCOL.md, "Add File and Remove File", "Checkpoint Schema")

A scan needs little of them, and `sources` reads just that. Whoever writes the state down again needs all: `whole_sources`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import Rows, booleans, empty, int64, mask_of, scalar
from esker.delta import checkpoint as checkpoints
from esker.delta import json_log
from esker.delta.actions import Sidecar
from esker.delta.checkpoint import DELETION_VECTOR
from esker.delta.log import Commit, LogSegment
from esker.errors import InvalidTable
from esker.storage.port import Storage

_ADD_FIELDS = [
    pa.field("path", pa.string()), pa.field("size", pa.int64()), pa.field("modificationTime", pa.int64()),
    pa.field("dataChange", pa.bool_()), pa.field("deletionVector", DELETION_VECTOR), pa.field("baseRowId", pa.int64()),
    pa.field("defaultRowCommitVersion", pa.int64()), pa.field("clusteringProvider", pa.string()),
]  # fmt: skip
REMOVE_FIELDS = [pa.field("path", pa.string()), pa.field("deletionVector", DELETION_VECTOR)]
STATS = pa.field("stats", pa.string())
TEXT_MAP = pa.map_(pa.string(), pa.string())
TOMBSTONE = pa.schema(
    [
        *REMOVE_FIELDS, ("deletionTimestamp", pa.int64()), ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", TEXT_MAP), ("size", pa.int64()), ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
    ]
)  # fmt: skip
"""What is kept of a `remove`: "VACUUM tombstones do not require `stats` or `tags`"."""


@dataclass(frozen=True, slots=True)
class FileActions:
    """The adds and removes of one log file. `parsed` are the adds' statistics as a struct, where the checkpoint has them.

    All actions of a commit are of one age. In a file that compacts several they come with their own, `ages`: of the adds,
    then of the removes.
    """

    adds: pa.Table
    removes: pa.Table
    parsed: pa.Array | None = None
    ages: tuple[Rows, Rows] | None = None


def add_schema(partitions: Sequence[str], with_stats: bool) -> pa.Schema:
    """The columns of an `add` that replay keeps."""
    values = pa.field("partitionValues", pa.struct([(name, pa.string()) for name in partitions]))
    return pa.schema([*_ADD_FIELDS, values, *([STATS] if with_stats else [])])


def _with_tags(schema: pa.Schema) -> pa.Schema:
    return schema.append(pa.field("tags", TEXT_MAP))


def sources(
    storage: Storage, segment: LogSegment, sidecars: Sequence[Sidecar], partitions: Sequence[str], with_stats: bool
) -> Iterator[FileActions]:
    """The file actions of a segment, oldest first; with statistics come tags, which whoever adds a file again must keep."""
    schema = _with_tags(add_schema(partitions, with_stats)) if with_stats else add_schema(partitions, with_stats)
    yield FileActions(empty(schema), empty(pa.schema(REMOVE_FIELDS)))
    if segment.checkpoint is not None:
        fields = [*schema.names, *(["stats_parsed"] if with_stats else [])]
        columns = checkpoints.file_columns(storage, segment.checkpoint, sidecars, {"add": fields})
        for file, table in columns:
            yield from_checkpoint(table, schema, f"{storage.url}/{file.path}")
    for entry in segment.entries:
        actions = from_json(storage.read(entry.file.path), schema, f"{storage.url}/{entry.file.path}")
        yield replace(actions, ages=None) if isinstance(entry, Commit) else actions


def whole_sources(
    storage: Storage, segment: LogSegment, sidecars: Sequence[Sidecar], partitions: Sequence[str]
) -> Iterator[FileActions]:
    """The file actions of a segment, oldest first, with statistics, tags and tombstones."""
    schema = _with_tags(add_schema(partitions, with_stats=True))
    yield FileActions(empty(schema), empty(TOMBSTONE))
    if segment.checkpoint is not None:
        wanted = {"add": [*schema.names, "stats_parsed"], "remove": TOMBSTONE.names}
        columns = checkpoints.file_columns(storage, segment.checkpoint, sidecars, wanted)
        found = [from_checkpoint(table, schema, f"{storage.url}/{file.path}", TOMBSTONE) for file, table in columns]
        # A checkpoint's tombstones have nothing left to cancel, so they count as older than all of its adds.
        yield FileActions(empty(schema), pa.concat_tables([actions.removes for actions in found]))
        yield from (replace(actions, removes=empty(TOMBSTONE)) for actions in found)
    for entry in segment.entries:
        actions = from_json(storage.read(entry.file.path), schema, f"{storage.url}/{entry.file.path}", TOMBSTONE)
        yield replace(actions, ages=None) if isinstance(entry, Commit) else actions


_REMOVES = pa.schema(REMOVE_FIELDS)


def from_json(data: bytes, schema: pa.Schema, where: str, remove_schema: pa.Schema = _REMOVES) -> FileActions:
    """The file actions of a commit or a compaction."""
    kinds = {"add": schema, "remove": remove_schema}
    wanted = pa.schema([(kind, pa.struct([f for f in fields if f.type != TEXT_MAP])) for kind, fields in kinds.items()])
    table = json_log.file_actions(data, wanted, where)
    adds, removes = (_unnested(table.column(kind)) for kind in kinds)
    for kind, actions in (("add", adds), ("remove", removes)):
        _require_paths(actions, kind, where)
    # Reconciled as it should be, a compaction has each file once. Some writers only string the commits together, newest first.
    lines = [np.flatnonzero(mask_of(pc.is_valid(table.column(kind)))) for kind in kinds]
    ages = (table.num_rows - lines[0], table.num_rows - lines[1])
    return FileActions(
        _with_maps(adds, schema, data, "add", where), _with_maps(removes, remove_schema, data, "remove", where), ages=ages
    )


def _with_maps(actions: pa.Table, schema: pa.Schema, data: bytes, kind: str, where: str) -> pa.Table:
    """The actions with the fields that are maps, which Arrow's reader cannot take."""
    for at, field in enumerate(schema):
        if field.type == TEXT_MAP:
            actions = actions.add_column(at, field, _maps(data, kind, field.name, actions.num_rows, where))
    return actions


def _maps(data: bytes, kind: str, field: str, count: int, where: str) -> pa.Array:
    if not count or not json_log.has_field(data, kind, field):
        return pa.nulls(count, TEXT_MAP)
    maps = json_log.text_maps(data, kind, field, where)
    if len(maps) != count:
        raise InvalidTable(f"the actions {kind} are spelled in a way that cannot be read", where=where)
    return pa.array(maps, TEXT_MAP)


def from_checkpoint(
    table: pa.Table, schema: pa.Schema, where: str, remove_schema: pa.Schema | None = None
) -> FileActions:
    """The adds, and the removes where their schema is given.

    "A checkpoint contains the complete replay", so its tombstones have nothing left to cancel and replay does not ask for them.
    """
    found = _actions(table, "add", where)
    adds = _conformed(found, schema, "add", where)
    parsed = found.column("stats_parsed").combine_chunks() if "stats_parsed" in found.column_names else None
    if parsed is not None and "stats" in schema.names:
        texts = adds.column("stats")
        if texts.null_count < len(texts):
            parsed = None  # one form is enough, and the JSON one is never lossy
    if remove_schema is None:
        return FileActions(adds, empty(_REMOVES), parsed)
    return FileActions(adds, _conformed(_actions(table, "remove", where), remove_schema, "remove", where), parsed)


def _actions(table: pa.Table, kind: str, where: str) -> pa.Table:
    found = _unnested(table.column(kind)) if kind in table.column_names else empty(pa.schema([]))
    _require_paths(found, kind, where)
    return found


def _conformed(found: pa.Table, schema: pa.Schema, kind: str, where: str) -> pa.Table:
    """The actions with just these columns, null where the checkpoint has none."""
    columns = []
    for field in schema:
        if field.name not in found.column_names:
            columns.append(pa.nulls(found.num_rows, field.type))
        elif field.name == "partitionValues" and field.type != TEXT_MAP:
            columns.append(_structs_of(found.column(field.name), field.type))
        else:
            columns.append(_as(found.column(field.name), field.type, f"{kind}.{field.name}", where))
    return pa.table(columns, schema=schema)


def _as(column: pa.ChunkedArray, target: pa.DataType, name: str, where: str) -> pa.ChunkedArray:
    if pa.types.is_struct(target):
        children = [
            _as(pc.struct_field(column, f.name), f.type, f"{name}.{f.name}", where).combine_chunks()
            if column.type.get_field_index(f.name) >= 0
            else pa.nulls(len(column), f.type)
            for f in target
        ]
        mask = pc.is_null(column).combine_chunks()
        # a vector without a storage type is none: some writers fill the struct with nulls
        if target == DELETION_VECTOR:
            mask = pc.or_(mask, pc.is_null(children[0]))
        return pa.chunked_array([pa.StructArray.from_arrays(children, fields=list(target), mask=mask)])
    try:
        return column.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidTable(f"{name} is of type {column.type}, not {target}", where=where) from error


def _structs_of(maps: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """Maps of partition values as structs with one member for each partition column."""
    if not pa.types.is_map(maps.type):
        raise InvalidTable(f"add.partitionValues is of type {maps.type}, not a map")
    return pa.chunked_array([_struct_of(chunk, target) for chunk in maps.chunks], target)


def _struct_of(maps: pa.Array, target: pa.DataType) -> pa.Array:
    if target.num_fields == 0:
        return pa.StructArray.from_arrays([], fields=[], mask=booleans(np.zeros(len(maps), bool)))
    children = _in_step(maps, target) or [pc.map_lookup(maps, f.name, "first") for f in target]
    return pa.StructArray.from_arrays([child.cast(pa.string()) for child in children], fields=list(target))


def _in_step(maps: pa.Array, target: pa.DataType) -> list[pa.Array] | None:
    """The values of maps that all have just these keys in one order, as a writer leaves them; far quicker than look-ups."""
    keys, items, width = maps.keys, maps.items, target.num_fields
    if maps.null_count or maps.offset or len(keys) != width * len(maps):
        return None
    found = []
    for at, field in enumerate(target):
        rows = int64(np.arange(at, len(keys), width))
        if not pc.all(pc.equal(keys.take(rows), scalar(field.name, keys.type)), min_count=0).as_py():
            return None
        found.append(items.take(rows))
    return found


def _unnested(column: pa.ChunkedArray) -> pa.Table:
    """A struct column as a table, without the rows in which it is null."""
    return pa.Table.from_struct_array(column.drop_null())


def _require_paths(actions: pa.Table, kind: str, where: str) -> None:
    if actions.num_rows and actions.column("path").null_count:
        raise InvalidTable(f"an action {kind} has no path", where=where)
