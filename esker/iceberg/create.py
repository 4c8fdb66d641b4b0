"""How does an Iceberg table come into being, or take the place of another?  (spec, "Table Metadata", "File System Tables")"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from uuid import uuid4

from esker.core import types as t
from esker.core.ddl import ColumnDefinition
from esker.core.table import TableDefinition
from esker.core.types import Array, Field, Map, Struct, any_type
from esker.core.write import RowSource
from esker.errors import Conflict, EskerError, InvalidRequest, Unsupported
from esker.iceberg.catalog import Catalog, LostRace
from esker.iceberg.commit import catalog_of, is_certain, now
from esker.iceberg.file_change import APPEND, OVERWRITE, FileChange, live_files
from esker.iceberg.leftovers import discard, discarding, publish_or_discard
from esker.iceberg.literals import default_json
from esker.iceberg.metadata import SUPPORTED_VERSIONS, SortOrder, TableMetadata
from esker.iceberg.new_ids import new_struct
from esker.iceberg.partitioning import new_order, new_spec
from esker.iceberg.place import Place
from esker.iceberg.promises import check_promises
from esker.iceberg.schema import COMMENT, INITIAL_DEFAULT, WRITE_DEFAULT, Schema, minimum_version, type_json
from esker.iceberg.snapshot_writer import SnapshotMaker
from esker.iceberg.state import TableState, current_state
from esker.iceberg.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetProperties,
    Update,
    UpgradeFormatVersion,
    updated,
)
from esker.iceberg.writing import check_rows_writable, data_files, write_spec

FORMAT_VERSION = "format-version"
DEFAULT_VERSION = 2
RESERVED = (
    FORMAT_VERSION, "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
    "current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order",
)  # fmt: skip
"""Properties that tell of the table and are never kept."""


def create(
    place: Place, definition: TableDefinition, rows: RowSource | None, catalog: Catalog | None = None
) -> TableState:
    """Create a table in a folder, with the rows where there are some. Raises `Conflict` where somebody else has.

    `catalog` is told of it, by default the folder itself.
    """
    version = _version(definition)
    schema = Schema(new_struct(_columns(definition, version), count(1)))
    _check(schema, version, place.url)
    metadata = TableMetadata(
        format_version=version,
        location=place.url,
        table_uuid=str(uuid4()),
        last_updated_ms=now(),
        last_column_id=0,
        schemas=(schema,),
        current_schema_id=0,
        properties=_properties(definition),
        next_row_id=0 if version > 2 else None,
    )
    spec, order = new_spec(None, schema, definition.partition_by), new_order(None, schema, definition.cluster_by)
    metadata = replace(metadata, partition_specs=(spec,), sort_orders=_orders(order), default_sort_order_id=order.order_id)
    metadata = updated(metadata, [AddPartitionSpec(spec), AddSchema(schema)], metadata.last_updated_ms)
    unborn = replace(current_state(place.recording(metadata.location), "metadata/v0.metadata.json", metadata), catalog=catalog)
    check_rows_writable(unborn)
    check_promises(unborn)
    return _born(unborn, rows)


def replace_table(state: TableState, definition: TableDefinition, rows: RowSource | None) -> TableState:
    """Put another table in the place of one, whose history stays."""
    version = max(_version(definition), state.metadata.format_version)
    ids = count(state.metadata.last_column_id + 1)
    known = max(s.schema_id for s in state.metadata.schemas)
    schema = Schema(new_struct(_columns(definition, version), ids), known + 1)
    _check(schema, version, state.location)
    spec = new_spec(state.metadata, schema, definition.partition_by)
    order = new_order(state.metadata, schema, definition.cluster_by)
    updates: list[Update] = [
        UpgradeFormatVersion(version), AddSchema(schema), SetCurrentSchema(schema.schema_id), AddPartitionSpec(spec),
        SetDefaultSpec(spec.spec_id), AddSortOrder(order), SetDefaultSortOrder(order.order_id),
        SetProperties(_properties(definition)),
    ]  # fmt: skip
    metadata = updated(state.metadata, updates, now())
    target = replace(state, metadata=metadata, schema=metadata.schema)
    files = () if rows is None else data_files(rows.write(write_spec(target, rows.schema)), target)
    data = state.files.data
    gone = live_files(state, data, ~(data.numbers("content") < 0))
    deletes = live_files(state, state.files.deletes, state.files.deletes.numbers("content") >= 0)
    change = FileChange(OVERWRITE, files, (*gone, *deletes))
    return publish_or_discard(state, change, files, updates)


def _born(unborn: TableState, rows: RowSource | None) -> TableState:
    catalog = catalog_of(unborn)
    if rows is None:
        return _first(unborn, catalog, unborn.metadata)
    spec = write_spec(unborn, rows.schema)
    with discarding(unborn, (spec.folder,)):
        files = data_files(rows.write(spec), unborn)
        maker = SnapshotMaker(unborn, FileChange(APPEND, files))
        try:
            metadata = updated(unborn.metadata, maker.change_of(unborn).updates, now())
        except EskerError:
            maker.discard(frozenset())
            raise
    # From here on an interruption does not tell whether there is a table that names the files.
    try:
        return _first(unborn, catalog, metadata)
    except EskerError as error:
        if is_certain(error):
            maker.discard(frozenset())
            discard(unborn, (spec.folder,))
        raise


def _first(unborn: TableState, catalog: Catalog, metadata: TableMetadata) -> TableState:
    try:
        path, found = catalog.create(metadata)
        return replace(current_state(unborn.place, path, found), catalog=unborn.catalog)
    except LostRace as error:
        raise Conflict(
            "another writer has created a table here", where=metadata.location, hint="Open it, or choose another place."
        ) from error


def _version(definition: TableDefinition) -> int:
    text = definition.properties.get(FORMAT_VERSION, str(DEFAULT_VERSION))
    if text not in {str(v) for v in SUPPORTED_VERSIONS}:
        raise Unsupported(f"format version {text}; Esker writes {', '.join(map(str, SUPPORTED_VERSIONS))}")
    return int(text)


def _properties(definition: TableDefinition) -> dict[str, str]:
    kept = {key: value for key, value in definition.properties.items() if key not in RESERVED}
    return kept | ({} if definition.comment is None else {"comment": definition.comment})


def _orders(order: SortOrder) -> tuple[SortOrder, ...]:
    return (SortOrder(),) if order == SortOrder() else (SortOrder(), order)


def _columns(definition: TableDefinition, version: int) -> Struct:
    problems = ["Iceberg has no constraints"] if definition.constraints else []
    problems += ["its format version says which features a table has: none can be asked for"] if definition.features else []
    problems += [f"{c.field.name}: Iceberg has no generated columns" for c in definition.columns if c.generated or c.identity]
    if version < 3:
        problems += [f"{c.field.name}: defaults need format version 3" for c in definition.columns if c.default is not None]
    if problems:
        raise Unsupported("such a table cannot be an Iceberg table", problems=problems)
    return Struct(tuple(_column(column) for column in definition.columns))


def _column(column: ColumnDefinition) -> Field:
    field = column.field
    kept = {key: value for key, value in field.metadata.items() if key == COMMENT}
    if column.default is not None:
        value = default_json(column.default, field.type)
        kept |= {INITIAL_DEFAULT: value, WRITE_DEFAULT: value} if value is not None else {}
    return replace(field, metadata=kept)


def _check(schema: Schema, version: int, where: str) -> None:
    """Raise where the columns cannot be those of a table of this version."""
    problems = list(_problems(schema.struct, ()))
    asked = minimum_version(schema.struct)
    if not len(schema.struct):
        problems.append("a table has at least one column")
    if asked > version:
        problems.append(f"there are types that need format version {asked}; the property {FORMAT_VERSION} asks for it")
    if problems:
        raise InvalidRequest("these columns cannot be those of a table", where=where, problems=problems)


def _problems(struct: Struct, path: tuple[str, ...]) -> Iterable[str]:
    names = [f.name for f in struct]
    repeated = sorted({name for name in names if names.count(name) > 1})
    yield from (f"the column {'.'.join((*path, name))} is there twice" for name in repeated)
    for field in struct:
        here = (*path, field.name)
        if not field.name:
            yield "a column has no name"
        if field.type == t.VOID and not field.nullable:
            yield f"the column {'.'.join(here)} is only ever null, and NOT NULL"
        try:
            type_json(field.type)
        except Unsupported as error:
            yield f"the column {'.'.join(here)}: {error.what}"
        match field.type:
            case Struct():
                yield from _problems(field.type, here)
            case Array() | Map() if any_type(field.type, t.VOID):
                yield f"the column {'.'.join(here)} has elements that are only ever null"
