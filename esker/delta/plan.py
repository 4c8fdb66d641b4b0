"""What has to be read to see the rows of a snapshot?  (PROTOCOL.md, "Requirements for Readers")

The first of the three doors at which a table is refused: whatever keeps Esker from reading it right is found here, all of it
at once, before a row flows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.binding import bind
from esker.core.columns import Mask, filled, int64, mask_of
from esker.core.features import Operation
from esker.core.predicate import Predicate
from esker.core.scan import Deletes, FromConstant, FromFile, Nulls, Positions, RowIndex, ScanColumn, ScanPlan
from esker.core.skipping import ColumnStats, may_match
from esker.core.types import Field, Struct, relaxed
from esker.delta import column_mapping, deletion_vectors, row_tracking, type_widening
from esker.delta import schema as schemas
from esker.delta.partitions import parse_values
from esker.delta.replay import LiveFiles
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest, InvalidTable, Unsupported

FILE = "_file"
POSITION = "_pos"
METADATA_COLUMNS = (row_tracking.ROW_ID, row_tracking.ROW_COMMIT_VERSION, FILE, POSITION)


def plan(snapshot: Snapshot, columns: Sequence[str] | None = None) -> ScanPlan:
    """How to read the snapshot's rows. `columns` may name metadata columns, and `*` for all of the table's own."""
    check(snapshot)
    wanted = resolve_columns(snapshot, columns)
    files = snapshot.bare_files
    pruner = Pruner(snapshot)
    return ScanPlan(
        location=snapshot.location,
        columns=wanted,
        resolution=snapshot.mapping.resolution,
        paths=snapshot.paths,
        sizes=filled(files.table.column("size"), 0).combine_chunks(),
        constants=constants(snapshot, files, wanted),
        constant_fields=constant_fields(snapshot, wanted),
        has_deletes=mask_of(pc.is_valid(files.table.column("deletionVector"))),
        load_deletes=deletes_of(snapshot, files),
        find_deletes=lambda: deletion_vectors.find(vectors_of(snapshot, files), snapshot.place.locate),
        may_match=pruner,
        may_be_narrower=type_widening.is_recorded(snapshot.schema),
        storage_options=snapshot.place.options,
    )


def check(snapshot: Snapshot) -> None:
    """Refuse what cannot be read right."""
    snapshot.gate(Operation.READ)
    if snapshot.metadata.provider.lower() != "parquet":
        raise Unsupported(f"data files in the format {snapshot.metadata.provider}", where=snapshot.location)
    invalid = [
        *column_mapping.problems(snapshot.schema, snapshot.mapping),
        *type_widening.problems(snapshot.schema),
    ]
    if invalid:
        raise InvalidTable("the schema breaks the protocol", where=snapshot.location, problems=invalid)
    if unknown := list(schemas.problems(snapshot.schema)):
        raise Unsupported("the schema cannot be read", where=snapshot.location, problems=unknown)


def resolve_columns(snapshot: Snapshot, names: Sequence[str] | None) -> tuple[ScanColumn, ...]:
    """The columns of these names and where each comes from. Raises `InvalidRequest` for one that is not there or named twice."""
    found: list[ScanColumn] = []
    unknown: list[str] = []
    for name in ["*"] if names is None else names:
        field = snapshot.schema.find(name)
        if field is not None:
            found.append(_column(snapshot, field))
        elif name == "*":
            found += [_column(snapshot, f) for f in snapshot.schema]
        elif name in (row_tracking.ROW_ID, row_tracking.ROW_COMMIT_VERSION):
            found.append(row_tracking.column(name, snapshot.metadata.configuration, snapshot.location))
        elif name == FILE:
            found.append(ScanColumn(Field(FILE, t.STRING), FromConstant(FILE)))
        elif name == POSITION:
            found.append(ScanColumn(Field(POSITION, t.LONG), RowIndex()))
        else:
            unknown.append(name)
    if unknown:
        have = ", ".join([*snapshot.schema.names, *METADATA_COLUMNS])
        raise InvalidRequest(f"there is no column {', '.join(unknown)}; there are {have}", where=snapshot.location)
    if len({c.field.name for c in found}) < len(found):
        raise InvalidRequest("a column is asked for twice", where=snapshot.location)
    return tuple(found)


def _column(snapshot: Snapshot, field: Field) -> ScanColumn:
    visible = Field(field.name, relaxed(field.type), True, field.id, field.metadata)
    if any(f.name == field.name for f in snapshot.partition_fields):
        return ScanColumn(visible, FromConstant(field.name))
    if field.type == t.VOID:
        return ScanColumn(visible, Nulls())  # "never stored in Parquet"
    return ScanColumn(visible, FromFile(column_mapping.physical(type_widening.as_read(field), snapshot.mapping)))


def constant_fields(snapshot: Snapshot, columns: Sequence[ScanColumn]) -> Struct:
    """The per-file constants that these columns need."""
    partitions = {f.name: f for f in snapshot.partition_fields}
    found: dict[str, Field] = {}
    for column in columns:
        name = getattr(column.source, "name", None)
        if name is not None:
            found[name] = partitions.get(name) or Field(name, t.STRING if name == FILE else t.LONG)
    return Struct(tuple(found.values()))


def constants(snapshot: Snapshot, files: LiveFiles, columns: Sequence[ScanColumn]) -> pa.Table:
    """A column for each constant that these columns need, a row for each file."""
    values: dict[str, pa.Array] = {}
    for field in constant_fields(snapshot, columns):
        match field.name:
            case row_tracking.BASE_ROW_ID:
                values[field.name] = files.table.column("baseRowId")
            case row_tracking.DEFAULT_COMMIT_VERSION:
                values[field.name] = files.table.column("defaultRowCommitVersion")
            case "_file":
                values[field.name] = snapshot.paths
            case _:
                values[field.name] = partition_values(snapshot, files, field)
    # a table without columns has no length of its own, and nobody asks for it
    return pa.table(values)


def partition_values(snapshot: Snapshot, files: LiveFiles, field: Field) -> pa.Array:
    """The typed values of a partition column, one for each file."""
    name = column_mapping.physical_name(field, snapshot.mapping)
    texts = pc.struct_field(files.table.column("partitionValues").combine_chunks(), name)
    return parse_values(texts, field.type, field.name, snapshot.location)


def vectors_of(
    snapshot: Snapshot, files: LiveFiles, ordinals: Sequence[int] | None = None
) -> Mapping[int, deletion_vectors.DeletionVector]:
    """The descriptors of the files with these ordinals, by default of all files that have one."""
    column = files.table.column("deletionVector")
    if ordinals is None:
        ordinals = np.flatnonzero(mask_of(pc.is_valid(column))).tolist()
    rows = column.take(int64(np.array(ordinals, np.int64))).to_pylist()
    return {ordinals[i]: vector for i, vector in deletion_vectors.descriptors(rows, snapshot.location)}


def deletes_of(snapshot: Snapshot, files: LiveFiles) -> Callable[[Sequence[int]], Mapping[int, Deletes]]:
    """A function that loads the deletion vectors of the files with the ordinals it is given."""

    def load(ordinals: Sequence[int]) -> Mapping[int, Deletes]:
        vectors = vectors_of(snapshot, files, ordinals)
        bitmaps = deletion_vectors.load(vectors, snapshot.place.locate, snapshot.location)
        return {ordinal: Positions(bitmap) for ordinal, bitmap in bitmaps.items()}

    return load


@dataclass
class Pruner:
    """Which live files may hold a row for which a predicate is TRUE?"""

    snapshot: Snapshot

    def __call__(self, predicate: Predicate) -> Mask:
        return may_match(bind(predicate, filterable(self.snapshot.schema)), self)

    @property
    def count(self) -> int:
        return len(self.snapshot.bare_files)

    def column(self, path: tuple[str, ...]) -> ColumnStats | None:
        """Exact values for a partition column, what the statistics promise for any other."""
        snapshot = self.snapshot
        field = snapshot.schema.at(path)
        if field is None:
            return None
        if any(f.name == path[0] for f in snapshot.partition_fields):
            values = partition_values(snapshot, snapshot.bare_files, field)
            is_null = mask_of(pc.is_null(values))
            return ColumnStats(values, values, may_be_null=is_null, may_have_value=~is_null)
        stored = column_mapping.physical_path(snapshot.schema, path, snapshot.mapping)
        stats = snapshot.statistics.column(stored, field.type)
        return _of_floats(stats) if type_widening.was_float(field) else stats


def _of_floats(stats: ColumnStats) -> ColumnStats:
    """The bounds of doubles that may be floats in the file: a float's text, as 3.4, is not the double that it is read as."""

    def outer(bound: pa.Array | None, choose: Callable[..., pa.Array]) -> pa.Array | None:
        as_read = None if bound is None else bound.cast(pa.float32(), safe=False).cast(pa.float64())
        return None if as_read is None else choose(bound, as_read, skip_nulls=False)

    return replace(stats, lower=outer(stats.lower, pc.min_element_wise), upper=outer(stats.upper, pc.max_element_wise))


def filterable(schema: Struct) -> Struct:
    """What a filter may name: the table's columns, and the metadata columns that none of them hides."""
    kinds = {FILE: t.STRING}
    hidden = (Field(name, kinds.get(name, t.LONG)) for name in METADATA_COLUMNS if schema.find(name) is None)
    return Struct((*schema.fields, *hidden))
