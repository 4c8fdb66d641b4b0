"""What has to be read to see the rows of a snapshot?  (spec, "Scan Planning", "Column Projection", "Reserved Field IDs")

The door at which a table is refused that cannot be read right: all that stands in the way is told at once, before a row flows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.binding import bind
from esker.core.columns import Mask, booleans, int64, scalar
from esker.core.features import Operation
from esker.core.predicate import Predicate
from esker.core.scan import (
    FromConstant,
    FromConstants,
    FromFile,
    Nulls,
    Partitioned,
    RowIndex,
    ScanColumn,
    ScanPlan,
    Stored,
)
from esker.core.types import Field, Struct, Type, relaxed
from esker.errors import InvalidRequest, InvalidTable, Unsupported
from esker.iceberg import schema as schemas
from esker.iceberg.defaults import initial_defaults
from esker.iceberg.equality_deletes import equality_deletes, scope_constants
from esker.iceberg.features import Facts, gate
from esker.iceberg.file_plan import RowReader, file_plan
from esker.iceberg.live_files import Files, LiveFiles
from esker.iceberg.manifest_lists import ManifestFile
from esker.iceberg.partitions import identity_sources, partition_fields, partition_type, union_type
from esker.iceberg.position_deletes import PositionDeletes
from esker.iceberg.pruning import FilePruner, column_ids, matching_manifests
from esker.iceberg.state import TableState

FILE, POSITION, SPEC_ID, PARTITION = "_file", "_pos", "_spec_id", "_partition"
ROW_ID, LAST_UPDATED = "_row_id", "_last_updated_sequence_number"
METADATA_COLUMNS = (FILE, POSITION, SPEC_ID, PARTITION, ROW_ID, LAST_UPDATED)
STORED_ROW_ID = Field(ROW_ID, t.LONG, id=2147483540)
STORED_LAST_UPDATED = Field(LAST_UPDATED, t.LONG, id=2147483539)


def plan(state: TableState, columns: Sequence[str] | None, where: Predicate | None, read: RowReader) -> ScanPlan:
    """How to read the snapshot's rows. `columns` may name metadata columns, and `*` for all of the table's own.

    `where` leaves out files, and whole manifests unread, in which it is TRUE for no row.
    """
    check(state)
    if where is None:
        return plan_files(state, state.files, columns, read)
    bound = bind(where, filterable(state))
    data = matching_manifests(state.metadata, state.schema, [m for m in state.manifests if not m.is_deletes], bound)
    matching = tuple(part for some in _by_number(data) for part in _matching(state, some, bound).parts)
    deletes = state.files_of(m for m in state.manifests if m.is_deletes).deletes
    return plan_files(state, LiveFiles(Files(state.metadata, matching), deletes), columns, read, has_statistics=True)


def _matching(state: TableState, manifests: Sequence[ManifestFile], where: Predicate) -> Files:
    """The data files of some manifests that may hold a row for which the filter is TRUE."""
    found = state.files_of(manifests, column_ids(where, filterable(state))).data
    return found.only(FilePruner(found, filterable(state))(where))


def _by_number(manifests: Sequence[ManifestFile]) -> Iterator[list[ManifestFile]]:
    """The manifests some at a time, so that what a filter leaves out is never in memory all at once."""
    some: list[ManifestFile] = []
    for manifest in manifests:
        some.append(manifest)
        if sum((m.added_files_count or 0) + (m.existing_files_count or 0) for m in some) >= _AT_ONCE:
            yield some
            some = []
    if some:
        yield some


_AT_ONCE = 50_000  # files: many enough that reading them in columns pays


def plan_files(
    state: TableState, live: LiveFiles, columns: Sequence[str] | None, read: RowReader, *, has_statistics: bool = False
) -> ScanPlan:
    """How to read the rows of these files, without those that these deletes kill."""
    wanted = _Columns(state, live.data)
    shown = wanted.resolved(columns)
    equality, has_equality = equality_deletes(state, live, wanted.column)
    if has_equality.any():
        wanted.constants |= scope_constants(live)
    found = file_plan(state, live.data, shown, wanted.constants)
    pruner = FilePruner(live.data, filterable(state)) if has_statistics else _lazy_pruner(state, live)
    found = replace(
        found,
        defaults=initial_defaults((*state.metadata.schemas, state.schema), state.location),
        equality=equality if has_equality.any() else (),
        has_equality=has_equality,
        may_match=pruner,
    )
    if not len(live.deletes):
        return found
    dead = PositionDeletes(state, live, found.paths, read)
    return replace(found, has_deletes=dead.has_deletes, load_deletes=dead.load, find_deletes=dead.find)


def check(state: TableState) -> None:
    """Refuse what cannot be read right."""
    gate(Facts(replace(state.metadata, current_schema_id=state.schema.schema_id)), Operation.READ, state.location)
    if problems := list(schemas.problems(state.schema)):
        raise InvalidTable("the schema breaks the specification", where=state.location, problems=problems)
    if unknown := list(schemas.unknown_types(state.schema)):
        raise Unsupported("the schema cannot be read", where=state.location, problems=unknown)


def filterable(state: TableState) -> Struct:
    """What a filter may name: the table's columns, and the metadata columns that none of them hides."""
    own = state.schema.struct
    hidden = (f for f in _metadata_fields(state) if own.find(f.name) is None)
    return Struct((*own.fields, *hidden))


def _metadata_fields(state: TableState) -> tuple[Field, ...]:
    kinds: dict[str, Type] = {FILE: t.STRING, SPEC_ID: t.INTEGER, PARTITION: union_type(state.metadata)}
    return tuple(Field(name, kinds.get(name, t.LONG)) for name in METADATA_COLUMNS)


def _lazy_pruner(state: TableState, live: LiveFiles) -> Callable[[Predicate], Mask] | None:
    """A pruner that reads the statistics when it is first asked; without a way to them it keeps every file."""
    if live is not state.files:
        return None
    return _Statistics(state)


@dataclass
class _Statistics:
    """What the statistics say of the table's data files; those of a column are read when a filter first names it."""

    state: TableState
    _ids: frozenset[int] = frozenset()
    _files: Files | None = None

    def __call__(self, predicate: Predicate) -> Mask:
        schema = filterable(self.state)
        ids = column_ids(bind(predicate, schema), schema)
        if self._files is None or not ids <= self._ids:
            self._ids |= ids
            self._files = self.state.files_of(self.state.manifests, self._ids).data
        return FilePruner(self._files, schema)(predicate)


@dataclass
class _Columns:
    """Finds where the columns of data files come from, and gathers the constants that they need."""

    state: TableState
    files: Files
    constants: dict[str, tuple[Field, pa.Array]] = field(default_factory=dict)

    def resolved(self, names: Sequence[str] | None) -> tuple[ScanColumn, ...]:
        own = self.state.schema.struct
        metadata = {f.name: f for f in _metadata_fields(self.state)}
        found: list[ScanColumn] = []
        unknown: list[str] = []
        for name in ["*"] if names is None else names:
            column = own.find(name)
            if column is not None:
                found.append(self.column(column))
            elif name == "*":
                found += [self.column(f) for f in own]
            elif name in metadata:
                found.append(self._metadata_column(metadata[name]))
            else:
                unknown.append(name)
        if unknown:
            have = ", ".join([*own.names, *METADATA_COLUMNS])
            raise InvalidRequest(
                f"there is no column {', '.join(unknown)}; there are {have}", where=self.state.location
            )
        if len({c.field.name for c in found}) < len(found):
            raise InvalidRequest("a column is asked for twice", where=self.state.location)
        return tuple(found)

    def column(self, column: Field) -> ScanColumn:
        """A column of the table. "An identity-partition value from the manifest's partition tuple if present" comes first."""
        visible = Field(column.name, relaxed(column.type), True, column.id, column.metadata)
        if column.type == t.VOID:
            return ScanColumn(visible, Nulls())
        if not any((column.id or 0) in identity_sources(spec) for spec in self.state.metadata.partition_specs):
            return ScanColumn(visible, FromFile(column))
        is_shared, values = self.files.shared(column.id or 0, visible.type)
        if len(self.files) and not is_shared.any():
            return ScanColumn(visible, FromFile(column))
        name, flag = f"value {column.id}", f"has value {column.id}"
        self.constants[name] = (Field(name, visible.type), values)
        if is_shared.all():
            return ScanColumn(visible, FromConstant(name))
        self.constants[flag] = (Field(flag, t.BOOLEAN), booleans(is_shared))
        return ScanColumn(visible, Partitioned(column, name, flag))

    def _metadata_column(self, column: Field) -> ScanColumn:
        match column.name:
            case "_pos":
                return ScanColumn(column, RowIndex())
            case "_file":
                self.constants[FILE] = (column, self.files.column("file_path"))
                return ScanColumn(column, FromConstant(FILE))
            case "_spec_id":
                self.constants[SPEC_ID] = (column, int64(self.files.spec_ids).cast(pa.int32()))
                return ScanColumn(column, FromConstant(SPEC_ID))
            case "_partition":
                return ScanColumn(column, FromConstants(self._partition_members()))
            case "_row_id":
                self.constants["first row id"] = (column, self.files.column("first_row_id"))
                return ScanColumn(column, Stored(STORED_ROW_ID, "first row id", plus_row_index=True))
        # "If file.first_row_id is null, both read as null."
        has_ids = pc.is_valid(self.files.column("first_row_id"))
        sequence = pc.if_else(has_ids, self.files.column("sequence_number"), scalar(None, pa.int64()))
        self.constants["row sequence"] = (column, sequence)
        return ScanColumn(column, Stored(STORED_LAST_UPDATED, "row sequence"))

    def _partition_members(self) -> tuple[str, ...]:
        names = []
        for at, partition in enumerate(partition_fields(self.state.metadata)):
            kind = partition_type(self.state.metadata, partition)
            name = f"partition field {at}"
            self.constants[name] = (Field(name, kind), self.files.values(partition, kind))
            names.append(name)
        return tuple(names)
