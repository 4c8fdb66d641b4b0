"""What does the metadata say, as tables?  (spec, "Table Metadata", "Snapshots", "Manifests", "Manifest Lists")

Each table has a row for each thing of its kind. Those of files and entries take what the manifests say and decode the bounds.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.arrow_types import to_arrow
from esker.core.columns import Rows, int64
from esker.core.types import Array, Map, Struct
from esker.errors import InvalidRequest
from esker.iceberg.append import USER_METADATA
from esker.iceberg.data_files import Content
from esker.iceberg.live_files import Files, LiveFiles
from esker.iceberg.manifests import read_manifests
from esker.iceberg.metadata import Snapshot
from esker.iceberg.partitions import partition_fields, partition_numbers, union_type
from esker.iceberg.schema import all_fields
from esker.iceberg.state import TableState
from esker.iceberg.statistics import FileStatistics

MOMENT = pa.timestamp("ms", "UTC")
_TEXTS = pa.map_(pa.string(), pa.string())


def metadata_table(state: TableState, name: str) -> pa.Table:
    """The metadata table of this name."""
    if name not in TABLES:
        raise InvalidRequest(f"there is no metadata table {name}; there are {', '.join(TABLES)}", where=state.location)
    return TABLES[name](state)


def history(state: TableState, limit: int | None = None) -> pa.Table:
    """The snapshots from this one back to the first that is left, each with what it did."""
    rows: list[dict[str, object]] = []
    seen: set[int] = set()
    at = state.snapshot
    while at is not None and at.snapshot_id not in seen and (limit is None or len(rows) < limit):
        seen.add(at.snapshot_id)
        rows.append(_history_row(at))
        at = None if at.parent_snapshot_id is None else state.metadata.snapshot(at.parent_snapshot_id)
    return _table(rows, _HISTORY)


def files(state: TableState) -> pa.Table:
    """A row for each live file, with its partition and statistics."""
    live = state.files_of(state.manifests, statistics_of=None)
    data, deletes = _files(state, live.data), _files(state, live.deletes)
    none = int64(np.zeros(len(deletes), np.int64))
    return pa.concat_tables(
        [data.append_column("deleted", _deleted(data, deletes)), deletes.append_column("deleted", none)]
    )


def _deleted(data: pa.Table, deletes: pa.Table) -> pa.Array:
    """How many rows of each data file are dead: null where there are deletes that only the rows can tell the effect of."""
    if pc.any(pc.not_equal(deletes.column("format"), "puffin")).as_py():
        return pa.nulls(len(data), pa.int64())
    counts = dict(zip(deletes.column("referenced_data_file").to_pylist(), deletes.column("records").to_pylist(), strict=True))
    return pa.array([counts.get(path, 0) for path in data.column("path").to_pylist()], pa.int64())


def differences(state: TableState) -> tuple[str, ...]:
    """Where the files differ from what the snapshot's summary says of them."""
    if state.snapshot is None:
        return ()
    data, deletes = state.files.data, state.files.deletes
    content = deletes.numbers("content")
    counted = {
        "total-data-files": len(data),
        "total-records": int(data.numbers("record_count").sum()),
        "total-delete-files": len(deletes),
        "total-position-deletes": int(deletes.numbers("record_count")[content == Content.POSITION_DELETES].sum()),
        "total-equality-deletes": int(deletes.numbers("record_count")[content == Content.EQUALITY_DELETES].sum()),
    }
    said = state.snapshot.summary
    return tuple(
        f"{name} is {said[name]} by the summary and {number} by the manifests"
        for name, number in counted.items()
        if name in said and said[name] != str(number)
    )


def _history_row(snapshot: Snapshot) -> dict[str, object]:
    return {
        "version": snapshot.snapshot_id,
        "timestamp": snapshot.timestamp_ms,
        "operation": snapshot.operation,
        "operationParameters": None,
        "readVersion": snapshot.parent_snapshot_id,
        "operationMetrics": [(k, v) for k, v in snapshot.summary.items() if k != "operation"],
        "userMetadata": snapshot.summary.get(USER_METADATA),
        "sequenceNumber": snapshot.sequence_number,
        "schemaId": snapshot.schema_id,
        "engineInfo": snapshot.summary.get("engine-name"),
    }


_HISTORY = {
    "version": pa.int64(), "timestamp": MOMENT, "operation": pa.string(), "operationParameters": _TEXTS,
    "readVersion": pa.int64(), "operationMetrics": _TEXTS, "userMetadata": pa.string(), "sequenceNumber": pa.int64(),
    "schemaId": pa.int32(), "engineInfo": pa.string(),
}  # fmt: skip


def _snapshots(state: TableState) -> pa.Table:
    rows = [
        {
            "committed_at": s.timestamp_ms, "snapshot_id": s.snapshot_id, "parent_id": s.parent_snapshot_id,
            "operation": s.operation, "manifest_list": s.manifest_list,
            "summary": [(k, v) for k, v in s.summary.items() if k != "operation"], "sequence_number": s.sequence_number,
            "schema_id": s.schema_id, "first_row_id": s.first_row_id, "added_rows": s.added_rows,
        }
        for s in state.metadata.snapshots
    ]  # fmt: skip
    return _table(rows, _SNAPSHOTS)


_SNAPSHOTS = {
    "committed_at": MOMENT, "snapshot_id": pa.int64(), "parent_id": pa.int64(), "operation": pa.string(),
    "manifest_list": pa.string(), "summary": _TEXTS, "sequence_number": pa.int64(), "schema_id": pa.int32(),
    "first_row_id": pa.int64(), "added_rows": pa.int64(),
}  # fmt: skip


def _snapshot_log(state: TableState) -> pa.Table:
    """When which snapshot became current, and whether it is an ancestor of the one that is current now."""
    ancestors = set()
    at = state.metadata.current_snapshot
    while at is not None and at.snapshot_id not in ancestors:
        ancestors.add(at.snapshot_id)
        at = None if at.parent_snapshot_id is None else state.metadata.snapshot(at.parent_snapshot_id)
    known = {s.snapshot_id: s for s in state.metadata.snapshots}
    rows = [
        {
            "made_current_at": entry.timestamp_ms, "snapshot_id": entry.snapshot_id,
            "parent_id": known[entry.snapshot_id].parent_snapshot_id if entry.snapshot_id in known else None,
            "is_current_ancestor": entry.snapshot_id in ancestors,
        }
        for entry in state.metadata.snapshot_log
    ]  # fmt: skip
    kinds = {
        "made_current_at": MOMENT,
        "snapshot_id": pa.int64(),
        "parent_id": pa.int64(),
        "is_current_ancestor": pa.bool_(),
    }
    return _table(rows, kinds)


def _refs(state: TableState) -> pa.Table:
    rows = [
        {
            "name": name, "type": ref.type.upper(), "snapshot_id": ref.snapshot_id,
            "max_reference_age_in_ms": ref.max_ref_age_ms, "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            "max_snapshot_age_in_ms": ref.max_snapshot_age_ms,
        }
        for name, ref in state.metadata.refs.items()
    ]  # fmt: skip
    return _table(rows, _REFS)


_REFS = {
    "name": pa.string(), "type": pa.string(), "snapshot_id": pa.int64(), "max_reference_age_in_ms": pa.int64(),
    "min_snapshots_to_keep": pa.int32(), "max_snapshot_age_in_ms": pa.int64(),
}  # fmt: skip


def _metadata_log(state: TableState) -> pa.Table:
    """The metadata files, the oldest first and the newest last, with the snapshot that was current then."""
    metadata = state.metadata
    entries = [(e.timestamp_ms, e.metadata_file) for e in metadata.metadata_log]
    entries.append((metadata.last_updated_ms, f"{metadata.location}/{state.metadata_file}"))
    known = {s.snapshot_id: s for s in metadata.snapshots}
    rows = []
    for millis, file in entries:
        before = [e.snapshot_id for e in metadata.snapshot_log if e.timestamp_ms <= millis]
        latest = known.get(before[-1]) if before else None
        rows.append(
            {
                "timestamp": millis,
                "file": file,
                "latest_snapshot_id": before[-1] if before else None,
                "latest_schema_id": latest.schema_id if latest else None,
                "latest_sequence_number": latest.sequence_number if latest else None,
            }
        )
    kinds = {
        "timestamp": MOMENT, "file": pa.string(), "latest_snapshot_id": pa.int64(), "latest_schema_id": pa.int32(),
        "latest_sequence_number": pa.int64(),
    }  # fmt: skip
    return _table(rows, kinds)


def _manifests(state: TableState) -> pa.Table:
    rows = [
        {
            "content": int(m.is_deletes), "path": m.manifest_path, "length": m.manifest_length,
            "partition_spec_id": m.partition_spec_id, "added_snapshot_id": m.added_snapshot_id,
            "sequence_number": m.sequence_number, "min_sequence_number": m.min_sequence_number,
            "added_files_count": m.added_files_count, "existing_files_count": m.existing_files_count,
            "deleted_files_count": m.deleted_files_count, "added_rows_count": m.added_rows_count,
            "existing_rows_count": m.existing_rows_count, "deleted_rows_count": m.deleted_rows_count,
            "first_row_id": m.first_row_id,
        }
        for m in state.manifests
    ]  # fmt: skip
    kinds: dict[str, pa.DataType] = {"content": pa.int32(), "path": pa.string()}
    others = dict.fromkeys(_MANIFEST_NUMBERS, pa.int64())
    return _table(rows, kinds | others)


_MANIFEST_NUMBERS = (
    "length", "partition_spec_id", "added_snapshot_id", "sequence_number", "min_sequence_number", "added_files_count",
    "existing_files_count", "deleted_files_count", "added_rows_count", "existing_rows_count", "deleted_rows_count",
    "first_row_id",
)  # fmt: skip


def _entries(state: TableState) -> pa.Table:
    """Every entry of every manifest, those of deleted files too."""
    manifests = state.manifests
    parts = (
        read_manifests(manifests, state.read_all(m.manifest_path for m in manifests), state.location)
        if manifests
        else ()
    )
    found = Files(state.metadata, parts)
    columns: dict[str, pa.Array] = {
        name: found.column(name) for name in ("status", "snapshot_id", "sequence_number", "file_sequence_number")
    }
    paths = np.array([m.manifest_path for m in manifests], dtype=object)
    numbers = [part.manifest for part in parts]
    columns["manifest_path"] = pa.array(paths[np.concatenate(numbers)] if numbers else [], pa.string())
    about = _files(state, found)
    return pa.table(columns | {name: about.column(name) for name in about.column_names if name not in columns})


def _files(state: TableState, found: Files) -> pa.Table:
    names = union_type(state.metadata)
    members = [found.values(f, m.type) for f, m in zip(partition_fields(state.metadata), names, strict=True)]
    columns: dict[str, pa.Array] = {
        "content": found.column("content"),
        "path": found.column("file_path"),
        "format": pc.utf8_lower(found.column("file_format")),
        "spec_id": int64(found.spec_ids).cast(pa.int32()),
        "records": found.column("record_count"),
        "size": found.column("file_size_in_bytes"),
    }
    if len(names):
        columns["partition"] = pa.StructArray.from_arrays(
            members, fields=[pa.field(m.name, to_arrow(m.type)) for m in names]
        )
    others = (
        "sequence_number", "file_sequence_number", "snapshot_id", "sort_order_id", "equality_ids", "first_row_id",
        "referenced_data_file", "content_offset", "content_size_in_bytes", "split_offsets", "key_metadata",
    )  # fmt: skip
    return pa.table(columns | {name: found.column(name) for name in others} | _statistics(state, found))


def _statistics(state: TableState, found: Files) -> dict[str, pa.Array]:
    """`min`, `max`, `null_count`, `nan_count` and `value_count`, each a struct by column path."""
    known = FileStatistics(found)
    leaves = [
        (".".join(p), f)
        for p, f in all_fields(state.schema.struct)
        if f.id is not None and not isinstance(f.type, Struct | Array | Map)
    ]
    if not leaves:
        return {}
    told: dict[str, list[pa.Array]] = {name: [] for name in ("min", "max", "null_count", "nan_count", "value_count")}
    for _, field in leaves:
        nothing = pa.nulls(len(found), to_arrow(field.type))
        told["min"].append(_or(known.bound("lower_bounds", field.id or 0, field.type), nothing))
        told["max"].append(_or(known.bound("upper_bounds", field.id or 0, field.type), nothing))
        for name in ("null_count", "nan_count", "value_count"):
            told[name].append(known.counts(_COUNTS[name], field.id or 0))
    names = [name for name, _ in leaves]
    return {name: pa.StructArray.from_arrays(arrays, names) for name, arrays in told.items()}


_COUNTS = {"null_count": "null_value_counts", "nan_count": "nan_value_counts", "value_count": "value_counts"}


def _or(found: pa.Array | None, nothing: pa.Array) -> pa.Array:
    return nothing if found is None else found


def _partitions(state: TableState) -> pa.Table:
    """A row for each partition that has data files or delete files."""
    live = state.files
    both = Files(state.metadata, (*live.data.parts, *live.deletes.parts))
    names = union_type(state.metadata)
    members = [both.values(f, m.type) for f, m in zip(partition_fields(state.metadata), names, strict=True)]
    specs = int64(both.spec_ids)
    numbers = partition_numbers([specs, *members], len(both))
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    content, records, sizes = (both.numbers(n) for n in ("content", "record_count", "file_size_in_bytes"))

    def summed(values: Rows, kind: Content) -> pa.Array:
        return int64(np.bincount(inverse, np.where(content == kind, values, 0), len(first)).astype(np.int64))

    ones = np.ones(len(both), np.int64)
    columns: dict[str, pa.Array] = {}
    if len(names):
        taken = [member.take(int64(first)) for member in members]
        columns["partition"] = pa.StructArray.from_arrays(
            taken, fields=[pa.field(m.name, to_arrow(m.type)) for m in names]
        )
    return pa.table(
        columns
        | {
            "spec_id": specs.take(int64(first)).cast(pa.int32()),
            "record_count": summed(records, Content.DATA),
            "file_count": summed(ones, Content.DATA),
            "total_data_file_size_in_bytes": summed(sizes, Content.DATA),
            "position_delete_record_count": summed(records, Content.POSITION_DELETES),
            "position_delete_file_count": summed(ones, Content.POSITION_DELETES),
            "equality_delete_record_count": summed(records, Content.EQUALITY_DELETES),
            "equality_delete_file_count": summed(ones, Content.EQUALITY_DELETES),
        }
    )


def _live_data(state: TableState) -> pa.Table:
    live: LiveFiles = state.files_of((m for m in state.manifests if not m.is_deletes), statistics_of=None)
    return _files(state, live.data)


def _live_deletes(state: TableState) -> pa.Table:
    live: LiveFiles = state.files_of((m for m in state.manifests if m.is_deletes), statistics_of=None)
    return _files(state, live.deletes)


TABLES: Mapping[str, Callable[[TableState], pa.Table]] = {
    "snapshots": _snapshots, "history": _snapshot_log, "refs": _refs, "metadata_log_entries": _metadata_log,
    "manifests": _manifests, "entries": _entries, "files": files, "data_files": _live_data, "delete_files": _live_deletes,
    "partitions": _partitions,
}  # fmt: skip
"""The metadata tables by name."""


def _table(rows: Iterable[Mapping[str, object]], kinds: Mapping[str, pa.DataType]) -> pa.Table:
    listed = list(rows)
    return pa.table({name: _column([row[name] for row in listed], kind) for name, kind in kinds.items()})


def _column(values: list[object], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except OverflowError:  # some writers have ids beyond what a long can hold
        return pa.array(values, pa.uint64())
