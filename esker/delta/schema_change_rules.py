"""Which changes of the columns does a table allow?  (PROTOCOL.md, "Column Mapping", "Type Widening", "Default Columns";
where it is silent, what Delta's own ALTER TABLE allows)"""

from collections.abc import Iterable, Iterator
from typing import assert_never

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.expressions import expression_problems
from esker.core.nesting import field_at, nearest_field, type_at, walk
from esker.core.predicate import Path
from esker.core.schema_changes import (
    AddColumn,
    After,
    ChangeType,
    DropColumn,
    DropNotNull,
    MoveColumn,
    Position,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetDefault,
    SetNotNull,
)
from esker.core.sql_tokens import check_enclosed
from esker.core.types import Array, Field, Map, Struct, Type
from esker.delta.actions import Metadata
from esker.delta.column_mapping import Mode
from esker.delta.column_metadata import COMMENT, generation_expression, numbering
from esker.delta.properties import (
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3,
    column_mapping_mode,
    type_widening_enabled,
    value,
)
from esker.delta.schema_dependents import expressions_on, roles
from esker.delta.type_changes import is_allowed, is_known_to_iceberg
from esker.errors import InvalidRequest


def problems(change: SchemaChange, metadata: Metadata, clustering: Iterable[Path] = ()) -> Iterator[str]:
    """Every reason for which the table does not allow the change. `clustering` are its clustering columns."""
    if not isinstance(change, AddColumn) and type_at(metadata.schema, change.path) is None:
        yield f"there is no column {spelled(change.path)}"
        return
    match change:
        case AddColumn():
            yield from _adding(change, metadata.schema)
        case DropColumn(path):
            yield from _struct_field(metadata.schema, path)
            yield from _dropping(path, metadata, clustering)
        case RenameColumn(path, name):
            yield from _struct_field(metadata.schema, path)
            yield from _renaming(path, name, metadata)
        case MoveColumn(path, position):
            yield from _struct_field(metadata.schema, path)
            yield from _placing(metadata.schema, path, position)
        case SetComment(path) | DropNotNull(path) | SetNotNull(path):
            yield from _struct_field(metadata.schema, path)
        case ChangeType(path, kind):
            yield from _retyping(path, kind, metadata)
        case SetDefault(path, default):
            yield from _defaulting(path, default, metadata.schema)
        case _:
            assert_never(change)


def widening_problems(path: Path, metadata: Metadata) -> Iterator[str]:
    """What else in the table keeps the column from changing its type, whatever the types are."""
    yield from _dependents(metadata, path, "changed")
    owner = field_at(metadata.schema, nearest_field(metadata.schema, path)[0])
    if owner is not None and (source := _source(owner)):
        yield f"{spelled(path)} cannot change its type: it is {source}"


def stays_convertible(metadata: Metadata) -> bool:
    """Whether only such changes are allowed as Iceberg knows too."""
    compat = (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3)
    return any(value(version, metadata.configuration) for version in compat)


def _struct_field(schema: Struct, path: Path) -> Iterator[str]:
    if field_at(schema, path) is None:
        yield f"{spelled(path)} is an element, a key or a value, and no column of its own"


def _adding(change: AddColumn, schema: Struct) -> Iterator[str]:
    if change.default is not None:  # rows that are there would have to get it
        yield f"a column is added without a default: add {spelled(change.path)} first; set_default then gives it one"
    here = spelled(change.path)
    parent = type_at(schema, change.parent)
    if not isinstance(parent, Struct):
        yield f"{spelled(change.parent)} is no struct, so it gets no column {change.field.name}"
        return
    if parent.find(change.field.name) is not None:
        yield f"there is a column {here}"
    yield from _placing(schema, change.path, change.position)
    # Rows that are there have no value for the column.
    for path, field in ((change.path, change.field), *walk(change.field.type, change.path)):
        if not field.nullable:
            yield f"the column {spelled(path)} would be null in the rows that are there, and is to be NOT NULL"
        # "Table operations that add new columns [...] MUST not specify a default value for any column in the same command
        # that the column is created."  Default Columns
        if foreign := sorted(set(field.metadata) - {COMMENT}):
            yield f"the column {spelled(path)} brings {', '.join(foreign)}; a column is added with nothing but a comment"


def _placing(schema: Struct, path: Path, position: Position) -> Iterator[str]:
    if isinstance(position, After) and field_at(schema, (*path[:-1], position.name)) is None:
        yield f"there is no column {spelled((*path[:-1], position.name))} to come before {path[-1]}"


def _dropping(path: Path, metadata: Metadata, clustering: Iterable[Path]) -> Iterator[str]:
    here = spelled(path)
    yield from _unmapped(metadata, f"dropping {here}")
    yield from (f"{here} is {role}" for role in roles(metadata, path, clustering))
    yield from _dependents(metadata, path, "dropped")
    parent = type_at(metadata.schema, path[:-1])
    if isinstance(parent, Struct) and len(parent) == 1:
        yield f"{here} is the only column of {spelled(path[:-1]) or 'the table'}"
    elif len(path) == 1 and len(metadata.schema) - 1 == len(metadata.partition_columns):
        yield f"{here} is the only column besides the partition columns"


def _renaming(path: Path, name: str, metadata: Metadata) -> Iterator[str]:
    yield from _unmapped(metadata, f"renaming {spelled(path)}")
    yield from _dependents(metadata, path, "renamed")
    taken = field_at(metadata.schema, (*path[:-1], name))
    if taken is not None and taken is not field_at(metadata.schema, path):
        yield f"there is a column {spelled((*path[:-1], name))}"


def _unmapped(metadata: Metadata, doing: str) -> Iterator[str]:
    if column_mapping_mode(metadata.configuration) is Mode.NONE:
        yield f"{doing} needs column mapping, and delta.columnMapping.mode is none"


def _dependents(metadata: Metadata, path: Path, done: str) -> Iterator[str]:
    yield from (f"{spelled(path)} cannot be {done}: {user} uses it" for user in expressions_on(metadata, path))


def _retyping(path: Path, new: Type, metadata: Metadata) -> Iterator[str]:
    here, old = spelled(path), type_at(metadata.schema, path)
    # "Changing a void column to any other type is allowed and does not need typeWidening."
    if old is None or old in (new, t.VOID):
        return
    if isinstance(old, Struct | Array | Map) or isinstance(new, Struct | Array | Map):
        yield f"{here} cannot change from {old} to {new}; change the columns within it"
        return
    if not is_allowed(old, new):
        yield f"{here} cannot change from {old} to {new}: that is no widening that Delta has"
    elif not type_widening_enabled(metadata.configuration):
        # "If not `true`, writers must refuse new type changes"
        yield f"changing {here} from {old} to {new} needs type widening, and delta.enableTypeWidening is not true"
    if stays_convertible(metadata) and not is_known_to_iceberg(old, new):
        yield f"{here} cannot change from {old} to {new}, which Iceberg does not know, and the table stays convertible"
    yield from widening_problems(path, metadata)


def _source(field: Field) -> str | None:
    if generation_expression(field) is not None:
        return "a generated column"
    return "an identity column" if numbering(field) is not None else None


def _defaulting(path: Path, default: str | None, schema: Struct) -> Iterator[str]:
    field = field_at(schema, path)
    if len(path) > 1 or field is None:
        yield f"{spelled(path)} is within a column; only columns of the table have defaults"
        return
    if default is None:
        return
    if source := _source(field):
        yield f"{spelled(path)} is {source} and has no default"
    # "`variant` columns may only default to NULL"
    if field.type == t.VARIANT and default.strip().upper() != "NULL":
        yield f"{spelled(path)} is a variant, whose default can only be NULL"
    here = f"the default of {spelled(path)}"
    try:
        check_enclosed(default)
    except InvalidRequest as error:
        yield f"{here} is no expression: {error.what}"
        return
    yield from (f"{here}: {problem}" for problem in expression_problems(default))
