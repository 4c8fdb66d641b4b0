"""Which files are in the table?  (PROTOCOL.md, "Action Reconciliation")

Columnar: every log file becomes an Arrow table of file actions, and reconciliation is a few operations on row numbers. The
rule, from the newest text of the protocol: of all `add` actions of a path the newest counts, and it is live unless a newer
commit removes that very pair of path and deletion vector.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.delta import checkpoint as checkpoints
from esker.delta import json_log
from esker.delta.actions import Sidecar
from esker.delta.checkpoint import DELETION_VECTOR
from esker.delta.log import Commit, LogSegment
from esker.errors import InvalidTable
from esker.storage.port import Storage

Rows = npt.NDArray[np.int64]

_ADD_FIELDS = [
    pa.field("path", pa.string()), pa.field("size", pa.int64()), pa.field("modificationTime", pa.int64()),
    pa.field("dataChange", pa.bool_()), pa.field("deletionVector", DELETION_VECTOR), pa.field("baseRowId", pa.int64()),
    pa.field("defaultRowCommitVersion", pa.int64()), pa.field("clusteringProvider", pa.string()),
]  # fmt: skip
_REMOVE_FIELDS = [pa.field("path", pa.string()), pa.field("deletionVector", DELETION_VECTOR)]
STATS = pa.field("stats", pa.string())


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


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """The live files, one row each: the fields of `add` with `partitionValues` as a struct of texts.

    `parsed` has the statistics kept as structs: pieces that follow one another in the order of the rows, each a struct array
    or, where the files of a piece have their statistics as JSON, just a length.
    """

    table: pa.Table
    parsed: tuple[pa.Array | int, ...]

    def __len__(self) -> int:
        return int(self.table.num_rows)


def live_files(
    storage: Storage, segment: LogSegment, sidecars: Sequence[Sidecar], partitions: Sequence[str], with_stats: bool
) -> LiveFiles:
    """Replay the segment. `partitions` are the physical names of the partition columns."""
    return reconcile(_sources(storage, segment, sidecars, partitions, with_stats))


def reconcile(sources: Iterable[FileActions]) -> LiveFiles:
    """The live files of sources that are given oldest first."""
    kept = list(sources)
    adds = pa.concat_tables([s.adds for s in kept])
    live = _live_rows(adds, pa.concat_tables([s.removes for s in kept]), *_ages(kept))
    return LiveFiles(adds.take(pa.array(live)).combine_chunks(), tuple(_parsed(kept, live)))


def add_schema(partitions: Sequence[str], with_stats: bool) -> pa.Schema:
    """The columns of an `add` that replay keeps."""
    values = pa.field("partitionValues", pa.struct([(name, pa.string()) for name in partitions]))
    return pa.schema([*_ADD_FIELDS, values, *([STATS] if with_stats else [])])


def _live_rows(adds: pa.Table, removes: pa.Table, added: Rows, removed: Rows) -> Rows:
    """The rows of `adds` that are live, given the age of each action."""
    if adds.num_rows == 0:
        return np.empty(0, np.int64)
    newest = np.argsort(added, kind="stable")
    by_path = _codes([adds.column("path")])
    last = np.full(int(by_path.max()) + 1, -1, dtype=np.int64)
    last[by_path[newest]] = newest  # the last assignment wins
    rows: Rows = np.sort(last)
    if removes.num_rows == 0:
        return rows
    keys = _codes([_keys(adds), _keys(removes)])
    removed_at = np.full(int(keys.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(removed_at, keys[adds.num_rows :], removed)
    return rows[removed_at[keys[: adds.num_rows][rows]] <= added[rows]]


def _ages(sources: Sequence[FileActions]) -> tuple[Rows, Rows]:
    """How new each add and each remove is; a greater number is newer."""
    added: list[Rows] = []
    removed: list[Rows] = []
    now = 0
    for source in sources:
        zeros = (np.zeros(source.adds.num_rows, np.int64), np.zeros(source.removes.num_rows, np.int64))
        adds, removes = source.ages or zeros
        added.append(adds + now)
        removed.append(removes + now)
        now = max([now, *(int(ages.max()) for ages in (added[-1], removed[-1]) if len(ages))]) + 1
    return np.concatenate(added), np.concatenate(removed)


def _codes(texts: Sequence[pa.ChunkedArray]) -> Rows:
    """A number for each distinct text."""
    encoded = pa.chunked_array([c for t in texts for c in t.chunks], pa.string()).combine_chunks().dictionary_encode()
    codes: Rows = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _keys(actions: pa.Table) -> pa.ChunkedArray:
    """What identifies a logical file: its path, and the unique id of its deletion vector if it has one."""
    paths, vectors = actions.column("path"), actions.column("deletionVector")
    if vectors.null_count == len(vectors):
        return paths
    # no path holds a line break, so no path is taken for another with a vector
    with_vector = pc.binary_join_element_wise(paths, vector_ids(vectors), "\n")
    return pc.coalesce(with_vector, paths)


def vector_ids(vectors: pa.ChunkedArray) -> pa.ChunkedArray:
    """`<storageType><pathOrInlineDv>@<offset>`; null where there is no vector.  (Derived Fields)"""
    offset = pc.struct_field(vectors, "offset")
    suffix = pc.if_else(pc.is_null(offset), "", pc.binary_join_element_wise("@", pc.cast(offset, pa.string()), ""))
    return pc.binary_join_element_wise(
        pc.struct_field(vectors, "storageType"), pc.struct_field(vectors, "pathOrInlineDv"), suffix, ""
    )


def _parsed(sources: Sequence[FileActions], live: Rows) -> Iterator[pa.Array | int]:
    """The live rows' struct statistics, source by source."""
    start = 0
    for source in sources:
        end = start + source.adds.num_rows
        rows = live[(live >= start) & (live < end)] - start
        if len(rows):
            yield len(rows) if source.parsed is None else source.parsed.take(pa.array(rows))
        start = end


def _sources(
    storage: Storage, segment: LogSegment, sidecars: Sequence[Sidecar], partitions: Sequence[str], with_stats: bool
) -> Iterator[FileActions]:
    schema = add_schema(partitions, with_stats)
    yield FileActions(schema.empty_table(), pa.schema(_REMOVE_FIELDS).empty_table())
    if segment.checkpoint is not None:
        fields = [*schema.names, *(["stats_parsed"] if with_stats else [])]
        columns = checkpoints.file_columns(storage, segment.checkpoint, sidecars, {"add": fields})
        for file, table in columns:
            yield _from_checkpoint(table, schema, f"{storage.url}/{file.path}")
    for entry in segment.entries:
        actions = _from_json(storage.read(entry.file.path), schema, f"{storage.url}/{entry.file.path}")
        yield replace(actions, ages=None) if isinstance(entry, Commit) else actions


def _from_json(data: bytes, schema: pa.Schema, where: str) -> FileActions:
    wanted = pa.schema([("add", pa.struct(list(schema))), ("remove", pa.struct(_REMOVE_FIELDS))])
    table = json_log.file_actions(data, wanted, where)
    adds, removes = (_unnested(table.column(kind)) for kind in ("add", "remove"))
    for kind, actions in (("add", adds), ("remove", removes)):
        _require_paths(actions, kind, where)
    # Reconciled as it should be, a compaction has each file once. Some writers only string the commits together, newest first.
    lines = [np.flatnonzero(pc.is_valid(table.column(kind)).to_numpy()) for kind in ("add", "remove")]
    return FileActions(adds, removes, ages=(table.num_rows - lines[0], table.num_rows - lines[1]))


def _from_checkpoint(table: pa.Table, schema: pa.Schema, where: str) -> FileActions:
    """Only the adds: "a checkpoint contains the complete replay", so its tombstones have nothing left to cancel."""
    none = pa.schema(_REMOVE_FIELDS).empty_table()
    if "add" not in table.column_names:
        return FileActions(schema.empty_table(), none)
    found = _unnested(table.column("add"))
    _require_paths(found, "add", where)
    columns = []
    for field in schema:
        if field.name not in found.column_names:
            columns.append(pa.nulls(found.num_rows, field.type))
        elif field.name == "partitionValues":
            columns.append(_struct_of(found.column(field.name), field.type))
        else:
            columns.append(_as(found.column(field.name), field.type, field.name, where))
    parsed = found.column("stats_parsed").combine_chunks() if "stats_parsed" in found.column_names else None
    if parsed is not None and "stats" in schema.names:
        texts = columns[schema.get_field_index("stats")]
        if texts.null_count < len(texts):
            parsed = None  # one form is enough, and the JSON one is never lossy
    return FileActions(pa.table(columns, schema=schema), none, parsed)


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
        raise InvalidTable(f"add.{name} is of type {column.type}, not {target}", where=where) from error


def _struct_of(maps: pa.ChunkedArray, target: pa.DataType) -> pa.Array:
    """A map of partition values as a struct with one member for each partition column."""
    if not pa.types.is_map(maps.type):
        raise InvalidTable(f"add.partitionValues is of type {maps.type}, not a map")
    whole = maps.combine_chunks()
    if target.num_fields == 0:
        return pa.StructArray.from_arrays([], fields=[], mask=pa.array(np.zeros(len(whole), bool)))
    children = [pc.map_lookup(whole, f.name, "first").cast(pa.string()) for f in target]
    return pa.StructArray.from_arrays(children, fields=list(target))


def _unnested(column: pa.ChunkedArray) -> pa.Table:
    """A struct column as a table, without the rows in which it is null."""
    whole = column.combine_chunks().drop_null()
    return pa.Table.from_struct_array(whole)


def _require_paths(actions: pa.Table, kind: str, where: str) -> None:
    if actions.num_rows and actions.column("path").null_count:
        raise InvalidTable(f"an action {kind} has no path", where=where)
