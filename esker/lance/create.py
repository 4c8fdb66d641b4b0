"""How is a table created?"""

from collections.abc import Iterator

import pyarrow as pa

from esker.core.demands import PROMISES
from esker.core.table import TableDefinition
from esker.core.types import Struct
from esker.core.write import RowSource
from esker.errors import InvalidRequest, Unsupported
from esker.lance import flags
from esker.lance.append import records
from esker.lance.file_versions import check_types, chosen
from esker.lance.library import Library, NewTable, Overwrite
from esker.lance.place import Place
from esker.lance.promises import Effect, check_born, check_promises
from esker.lance.properties import set_properties
from esker.lance.row_specs import fresh
from esker.lance.schema import arrow_field
from esker.lance.snapshot import Snapshot, load
from esker.lance.versions import Naming

FILE_VERSION = "lance.data_storage_version"
MANIFEST_NAMES = "lance.manifest_names"
STABLE_ROW_IDS = "STABLE_ROW_IDS"
_CHOICES = (FILE_VERSION, MANIFEST_NAMES)
"""Properties that say how a table is created, and are not kept."""


def create(place: Place, definition: TableDefinition, rows: RowSource | None, library: Library) -> Snapshot:
    """Create a table where there is none, by one version with its rows."""
    if problems := list(_problems(definition)):
        raise InvalidRequest("no Lance table can be created so", where=place.url, problems=problems)
    columns = Struct(tuple(column.field for column in definition.columns))
    schema = pa.schema([arrow_field(field) for field in columns])
    version = chosen(definition.properties.get(FILE_VERSION))
    check_types(columns, version, place.url)
    has_ids = any(name.upper().removeprefix("FLAG_") == STABLE_ROW_IDS for name in definition.features)
    naming = Naming.V2 if definition.properties.get(MANIFEST_NAMES, "V2").upper() == "V2" else Naming.V1
    kept = _kept(definition)
    effect = Effect(flags.STABLE_ROW_IDS if has_ids else 0, flags.TABLE_CONFIG if {*kept} - {PROMISES} else 0, version)
    check_born(place, kept.get(PROMISES), effect, naming)
    written = () if rows is None else rows.write(fresh(place, columns, schema, rows.schema, version))
    table = NewTable(schema, version, has_ids, naming is Naming.V2, records(written))
    made = load(place, library.create(place.storage.url, place.options, table))
    return _described(made, definition, library)


def replace_table(snapshot: Snapshot, definition: TableDefinition, rows: RowSource | None, library: Library) -> Snapshot:
    """Give the table other columns and rows, keeping its history."""
    if problems := [*_problems(definition), *_kept_apart(snapshot, definition)]:
        raise InvalidRequest("the table cannot be replaced so", where=snapshot.location, problems=problems)
    columns = Struct(tuple(column.field for column in definition.columns))
    schema = pa.schema([arrow_field(field) for field in columns])
    version = chosen(definition.properties.get(FILE_VERSION, snapshot.manifest.file_version))
    check_types(columns, version, snapshot.location)
    if rows is not None and version != snapshot.manifest.file_version:
        raise Unsupported(
            f"rows in data files of version {version} in the place of others of version {snapshot.manifest.file_version}",
            where=snapshot.location, hint="Replace the table by one without rows, and append to that.",
        )  # fmt: skip
    kept = _kept(definition)
    check_promises(snapshot, Effect(0, flags.TABLE_CONFIG if {*kept} - {PROMISES} else 0, version), kept)
    written = () if rows is None else rows.write(fresh(snapshot.place, columns, schema, rows.schema, version))
    made = load(snapshot.place, library.commit(snapshot, Overwrite(records(written), schema, version), None))
    return _described(made, definition, library)


def _described(snapshot: Snapshot, definition: TableDefinition, library: Library) -> Snapshot:
    """The table with its configuration and what is said of it, where there is any: by versions of their own."""
    if kept := _kept(definition):
        snapshot = set_properties(snapshot, kept, library)
    said: dict[str, str | None] = {"name": definition.name, "comment": definition.comment}
    if told := {key: text for key, text in said.items() if text is not None}:
        snapshot = load(snapshot.place, library.set_metadata(snapshot, dict(told)))
    return snapshot


def _kept(definition: TableDefinition) -> dict[str, str]:
    return {key: value for key, value in definition.properties.items() if key not in _CHOICES}


def _kept_apart(snapshot: Snapshot, definition: TableDefinition) -> Iterator[str]:
    """What a table that there is cannot become."""
    if definition.features and not snapshot.manifest.reader_flags & flags.STABLE_ROW_IDS:
        yield "stable row ids are chosen when a table is created, and this one was created without"


def _problems(definition: TableDefinition) -> Iterator[str]:
    if not definition.columns:
        yield "a table has columns"
    if definition.partition_by or definition.cluster_by:
        yield "Lance has neither partitions nor clustering"
    if definition.constraints:
        yield "Lance has no constraints"
    for column in definition.columns:
        if column.default is not None or column.generated is not None or column.identity is not None:
            yield f"the column {column.field.name} has a source of values, and Lance has none"
    for name in definition.features:
        if name.upper().removeprefix("FLAG_") != STABLE_ROW_IDS:
            yield f"{name} is not chosen when a table is created: only {STABLE_ROW_IDS} is, and other flags follow from content"
    if definition.properties.get(MANIFEST_NAMES, "V2").upper() not in ("V1", "V2"):
        yield f"{MANIFEST_NAMES} is V1 or V2"
