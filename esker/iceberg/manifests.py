"""Which files does a manifest list?  (Iceberg specification, "Manifests", "Manifest Entry Fields", "Sequence Number Inheritance")

Entries are Arrow columns: a table has a million files. What entries leave to their manifest (snapshot id, sequence numbers, first
row id) is filled in on the way. A `ManifestEntry` is made for files that are written again one by one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import Mask, Rows, array, booleans, filled, int64, mask_of, rows_of, scalar
from esker.errors import InvalidTable
from esker.iceberg.avro_columns import read_columns
from esker.iceberg.avro_file import AvroFile, parse_avro
from esker.iceberg.avro_readers import as_map
from esker.iceberg.data_files import Content, DataFile, ManifestEntry, Metrics, Status
from esker.iceberg.manifest_lists import ManifestFile

_COUNTS = pa.map_(pa.int32(), pa.int64())
_BOUNDS = pa.map_(pa.int32(), pa.binary())

_ENTRY_FIELDS = {
    "status": ("0", pa.int32()), "snapshot_id": ("1", pa.int64()), "sequence_number": ("3", pa.int64()),
    "file_sequence_number": ("4", pa.int64()),
}  # fmt: skip
_FILE_FIELDS = {
    "content": ("134", pa.int32()), "file_path": ("100", pa.string()), "file_format": ("101", pa.string()),
    "record_count": ("103", pa.int64()), "file_size_in_bytes": ("104", pa.int64()), "column_sizes": ("108", _COUNTS),
    "value_counts": ("109", _COUNTS), "null_value_counts": ("110", _COUNTS), "nan_value_counts": ("137", _COUNTS),
    "lower_bounds": ("125", _BOUNDS), "upper_bounds": ("128", _BOUNDS), "key_metadata": ("131", pa.binary()),
    "split_offsets": ("132", pa.list_(pa.field("element", pa.int64()))),
    "equality_ids": ("135", pa.list_(pa.field("element", pa.int32()))), "sort_order_id": ("140", pa.int32()),
    "first_row_id": ("142", pa.int64()), "referenced_data_file": ("143", pa.string()), "content_offset": ("144", pa.int64()),
    "content_size_in_bytes": ("145", pa.int64()),
}  # fmt: skip

COLUMN_TYPES = {name: kind for name, (_, kind) in (_ENTRY_FIELDS | _FILE_FIELDS).items()}
"""What each column of entries is in Arrow."""

STATISTICS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
"""The columns that only those need who ask something of values."""


@dataclass(frozen=True)
class Entries:
    """The entries of manifests of one partition spec, manifest by manifest, in their order.

    `table` has a column for each field of `manifest_entry` and of `data_file`, under the spec's names, with what is inherited
    filled in; `partition` is the partition tuples, a struct whose members are named by partition field ids. `manifest` is the
    number of each entry's manifest among those that were asked for.
    """

    spec_id: int
    table: pa.Table
    partition: pa.StructArray
    manifest: Rows

    def only(self, keep: Mask) -> "Entries":
        if keep.all():
            return self
        rows = np.flatnonzero(keep)
        taken = int64(rows)
        return Entries(self.spec_id, self.table.take(taken), self.partition.take(taken), self.manifest[rows])

    @property
    def is_live(self) -> Mask:
        found: Mask = rows_of(self.table.column("status")) != Status.DELETED
        return found


def read_manifests(
    manifests: Sequence[ManifestFile], data: Sequence[bytes], where: str, statistics_of: Collection[int] | None = None
) -> tuple[Entries, ...]:
    """The entries of all manifests; those of one spec and one Avro schema are together.

    Statistics are most of the work. `statistics_of` are the ids of the columns whose counts and bounds are wanted, None for all.
    """
    groups: dict[tuple[int, str], list[int]] = {}
    files = [parse_avro(body, manifest.manifest_path) for manifest, body in zip(manifests, data, strict=True)]
    for number, (manifest, file) in enumerate(zip(manifests, files, strict=True)):
        groups.setdefault((manifest.partition_spec_id, file.schema), []).append(number)
    return tuple(
        _entries(spec_id, numbers, manifests, [files[n] for n in numbers], where, statistics_of)
        for (spec_id, _), numbers in groups.items()
    )


def _entries(
    spec_id: int,
    numbers: Sequence[int],
    manifests: Sequence[ManifestFile],
    files: Sequence[AvroFile],
    where: str,
    statistics_of: Collection[int] | None,
) -> Entries:
    passed = [label for name, (label, _) in _FILE_FIELDS.items() if name in _unwanted(statistics_of)]
    rows, file = read_columns(files, where, passed, statistics_of)
    if "2" not in rows.column_names or not pa.types.is_struct(rows.schema.field("2").type):
        raise InvalidTable("a manifest has no column data_file", where=manifests[numbers[0]].manifest_path)
    none = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in rows.schema], schema=rows.schema)
    try:
        parts = [_columns(batch) for batch in rows.to_batches() or [none]]
    except (pa.ArrowException, ValueError) as error:
        where = manifests[numbers[0]].manifest_path
        raise InvalidTable(f"a manifest has a field of another type than it is to have: {error}", where=where) from error
    manifest = np.array(numbers, np.int64)[file]
    table = _inherited(pa.concat_tables(table for table, _ in parts), manifest, manifests)
    return Entries(spec_id, _checked(table, where), pa.concat_arrays([tuples for _, tuples in parts]), manifest)


def _unwanted(statistics_of: Collection[int] | None) -> Collection[str]:
    """The statistics that are passed over. Filters ask for counts of values and nulls, and for bounds."""
    if statistics_of is None:
        return ()
    return ("column_sizes", "nan_value_counts") if statistics_of else STATISTICS


def _columns(rows: pa.RecordBatch) -> tuple[pa.Table, pa.StructArray]:
    """The columns of some entries under the spec's names, null where the file has none, and their partition tuples."""
    file, count = rows.column("2"), rows.num_rows
    found = {file.type.field(i).name: file.field(i) for i in range(file.type.num_fields)}
    columns = {
        name: rows.column(label).cast(kind) if label in rows.schema.names else pa.nulls(count, kind)
        for name, (label, kind) in _ENTRY_FIELDS.items()
    }
    columns |= {
        name: _typed(found[label], kind) if label in found else pa.nulls(count, kind)
        for name, (label, kind) in _FILE_FIELDS.items()
    }
    partition = found.get("102")
    if partition is None or not pa.types.is_struct(partition.type):
        partition = pa.array([{}] * count, pa.struct([]))
    return pa.table(columns), partition


def _typed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_nested(kind) or pa.types.is_null(values.type):
        return values.cast(kind)
    if pa.types.is_map(kind) and pa.types.is_list(values.type) and len(_members(values.type.value_type)) == 2:
        return as_map(values)  # the writer has left out that the array stands for a map
    if values.type.id != kind.id:
        raise ValueError(f"{values.type} in the place of {kind}")
    return values


def _members(kind: pa.DataType) -> list[pa.Field]:
    return list(kind) if pa.types.is_struct(kind) else []


def _inherited(table: pa.Table, manifest: Rows, manifests: Sequence[ManifestFile]) -> pa.Table:
    """The entries with what null leaves to the manifest."""
    status = table.column("status")
    is_added = booleans(rows_of(status) == Status.ADDED)
    of_manifest = int64(manifest)

    def own(values: Sequence[int | None]) -> pa.Array:
        return array(values, pa.int64()).take(of_manifest)

    # "Inherited when null"; sequence numbers "when null and status is 1 (added)". Version 1 has none: "must default to 0".
    sequence = own([m.sequence_number for m in manifests])
    is_older = pc.and_(pc.is_null(table.column("sequence_number")), booleans(rows_of(sequence) == 0))
    inherited = pc.if_else(pc.or_(is_added, is_older), sequence, scalar(None, pa.int64()))
    found = {
        "snapshot_id": pc.coalesce(table.column("snapshot_id"), own([m.added_snapshot_id for m in manifests])),
        "sequence_number": pc.coalesce(table.column("sequence_number"), inherited),
        "file_sequence_number": pc.coalesce(table.column("file_sequence_number"), inherited),
        "content": filled(table.column("content"), 0),
        "first_row_id": _first_row_ids(table, manifest, manifests),
    }
    for name, values in found.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def _first_row_ids(table: pa.Table, manifest: Rows, manifests: Sequence[ManifestFile]) -> pa.Array:
    """A null is the manifest's first row id and the rows of the files before that had none either.

    Deleted entries take no ids; in a manifest without a first row id, no file has one; delete files never have.
    """
    starts = np.array([-1 if m.first_row_id is None or m.is_deletes else m.first_row_id for m in manifests], np.int64)
    has_ids = starts[manifest] >= 0
    if not has_ids.any():
        return pa.nulls(table.num_rows, pa.int64())
    given = table.column("first_row_id").combine_chunks()
    is_live = rows_of(filled(table.column("status"), 0)) != Status.DELETED
    is_assigned = mask_of(pc.is_null(given)) & is_live & has_ids
    counts = np.where(is_assigned, rows_of(filled(table.column("record_count"), 0)), 0)
    before = np.cumsum(counts) - counts
    heads = np.flatnonzero(np.diff(manifest, prepend=-1))
    group = np.cumsum(np.diff(manifest, prepend=-1) != 0) - 1
    ids = starts[manifest] + before - (before[heads][group] if len(heads) else 0)
    assigned = pc.if_else(booleans(is_assigned), int64(ids), scalar(None, pa.int64()))
    return pc.if_else(booleans(has_ids), pc.coalesce(given, assigned), scalar(None, pa.int64()))


def _checked(table: pa.Table, where: str) -> pa.Table:
    for name in ("status", "file_path", "record_count", "file_size_in_bytes"):
        if table.column(name).null_count:
            raise InvalidTable(f"a manifest has an entry without {name}", where=where)
    for name, highest in (("status", max(Status)), ("content", max(Content))):
        values = rows_of(table.column(name))
        if len(values) and not 0 <= values.min() <= values.max() <= highest:
            raise InvalidTable(f"a manifest has an entry with the {name} {values.max()}", where=where)
    if (rows_of(table.column("record_count")) < 0).any():
        raise InvalidTable("a manifest has a file with a negative number of rows", where=where)
    # of what is deleted nobody asks how old it was
    is_live = rows_of(table.column("status")) != Status.DELETED
    if (mask_of(pc.is_null(table.column("sequence_number"))) & is_live).any():
        raise InvalidTable("a manifest has an entry that is not new and has no sequence number", where=where)
    return table


def records(entries: Entries) -> Iterator[ManifestEntry]:
    """The entries one by one, with all numbers their own."""
    tuples = [_plain(entries.partition.field(i)) for i in range(entries.partition.type.num_fields)]
    partitions = list(zip(*tuples, strict=True)) if tuples else [()] * len(entries.partition)
    for row, partition in zip(entries.table.to_pylist(), partitions, strict=True):
        metrics = Metrics(*(None if row[name] is None else dict(row[name]) for name in STATISTICS))
        yield ManifestEntry(
            Status(row["status"]), row["snapshot_id"], row["sequence_number"], row["file_sequence_number"],
            DataFile(
                row["file_path"], row["file_format"], row["record_count"], row["file_size_in_bytes"], entries.spec_id,
                partition, Content(row["content"]), metrics, row["key_metadata"],
                None if row["split_offsets"] is None else tuple(row["split_offsets"]),
                None if row["equality_ids"] is None else tuple(row["equality_ids"]),
                row["sort_order_id"], row["first_row_id"], row["referenced_data_file"], row["content_offset"],
                row["content_size_in_bytes"],
            ),
        )  # fmt: skip


def _plain(values: pa.Array) -> list[object]:
    """Plain values: what counts days or units of time is a number."""
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    plain: list[object] = values.to_pylist()
    return plain
