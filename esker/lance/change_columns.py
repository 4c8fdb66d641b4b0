"""How do a table's columns change?  (Lance table format, "Transaction": Merge, Project)

Adding, dropping and renaming are changes of metadata alone. A cast writes the column anew. What Lance cannot say is refused.
"""

from collections.abc import Sequence
from typing import assert_never

from esker.core.assignments import resolved
from esker.core.column_paths import spelled
from esker.core.predicate import Path
from esker.core.schema_changes import (
    AddColumn,
    ChangeType,
    DropColumn,
    DropNotNull,
    Last,
    MoveColumn,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetDefault,
    SetNotNull,
)
from esker.core.types import Field, Struct
from esker.errors import InvalidRequest, Unsupported
from esker.lance.committing import retried, writable
from esker.lance.file_versions import check_types
from esker.lance.library import AlterColumn, Library
from esker.lance.schema import arrow_field, logical_type
from esker.lance.snapshot import Snapshot, load


def change_columns(snapshot: Snapshot, changes: Sequence[SchemaChange], library: Library) -> Snapshot:
    """Change the columns, by changes of one kind."""
    if not changes:
        return writable(snapshot)
    return retried(snapshot, lambda base: load(base.place, _changed(base, changes, library)))


def _changed(base: Snapshot, changes: Sequence[SchemaChange], library: Library) -> int:
    match changes[0]:
        case AddColumn():
            return library.add_columns(base, [arrow_field(_added(base, change)) for change in changes])
        case DropColumn():
            paths = [_found(base, change.path)[0] for change in changes if isinstance(change, DropColumn)]
            if {path[0] for path in paths if len(path) == 1} >= set(base.schema.names):
                raise InvalidRequest("a table has columns, and these are all", where=base.location)
            return library.drop_columns(base, [_dotted(base, path) for path in paths])
        case RenameColumn() | ChangeType() | DropNotNull():
            return library.alter_columns(base, [_altered(base, change) for change in changes])
        case MoveColumn():
            what = "moving a column"
        case SetComment():
            what = "a comment on a column"
        case SetNotNull():
            what = "forbidding nulls in a column"
        case SetDefault():
            what = "a default for a column"
        case _:
            assert_never(changes[0])
    raise Unsupported(f"{what} of a Lance table", where=base.location, hint="Lance adds, drops, renames and casts columns.")


def _added(base: Snapshot, change: SchemaChange) -> Field:
    assert isinstance(change, AddColumn)
    if change.parent:
        raise Unsupported("adding a member to a struct of a Lance table", where=base.location)
    if not isinstance(change.position, Last):
        raise Unsupported("adding a column anywhere but last to a Lance table", where=base.location)
    check_types([change.field], base.manifest.file_version, base.location)
    if base.schema.find(change.field.name) is not None:
        raise InvalidRequest(f"there is a column {change.field.name}", where=base.location)
    if not change.field.nullable:
        raise InvalidRequest(f"the new column {change.field.name} is null in the rows that are there", where=base.location)
    return change.field


def _altered(base: Snapshot, change: SchemaChange) -> AlterColumn:
    match change:
        case RenameColumn(path, name):
            found, _ = _found(base, path)
            parent = base.schema if len(found) == 1 else _struct(base, found[:-1])
            other = parent.find(name)
            if other is not None and other.name != found[-1]:
                raise InvalidRequest(f"there is a column {other.name}", where=base.location)
            return AlterColumn(_dotted(base, found), name=name)
        case ChangeType(path, type):
            return AlterColumn(_dotted(base, _found(base, path)[0]), type=logical_type(type))
        case DropNotNull(path):
            return AlterColumn(_dotted(base, _found(base, path)[0]), nullable=True)
    raise AssertionError(change)


def _found(base: Snapshot, path: Path) -> tuple[Path, Field]:
    found = resolved(base.schema, path)
    field = None if found is None else base.schema.at(found)
    if found is None or field is None:
        raise InvalidRequest(f"there is no column {spelled(path)}", where=base.location)
    return found, field


def _struct(base: Snapshot, path: Path) -> Struct:
    kind = _found(base, path)[1].type
    assert isinstance(kind, Struct)
    return kind


def _dotted(base: Snapshot, path: Path) -> str:
    """The path as the library reads it."""
    if any("." in part or "`" in part for part in path):
        raise Unsupported(f"the column {spelled(path)}: pylance takes its name for a path", where=base.location)
    return ".".join(path)
