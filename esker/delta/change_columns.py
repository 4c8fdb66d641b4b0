"""How are the columns of a table changed, and what does the history say of it?"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from esker.core.change import RowEditor
from esker.core.column_paths import spelled
from esker.core.nesting import field_at, nearest_field
from esker.core.predicate import Path
from esker.core.schema_changes import (
    AddColumn,
    After,
    ChangeType,
    DropColumn,
    DropNotNull,
    First,
    Last,
    MoveColumn,
    Position,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetDefault,
    SetNotNull,
)
from esker.core.types import Array, Field, Json, Map, Struct
from esker.delta.alter import altered
from esker.delta.clustering import clustering_columns
from esker.delta.existing_rows import ExistingRows
from esker.delta.metadata_commit import committed, whole
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Operation
from esker.errors import InvalidRequest


def change_columns(snapshot: Snapshot, changes: Sequence[SchemaChange], editor: RowEditor | None) -> Snapshot:
    """Carry out the changes, all of one kind, in one commit. The editor looks at rows where a change asks something of them."""
    if not changes:
        raise InvalidRequest("no change of the columns is asked for", where=snapshot.location)
    if editor is None and any(isinstance(change, SetNotNull) for change in changes):
        raise InvalidRequest("NOT NULL cannot be set without a look at the rows", where=snapshot.location)
    existing = None if editor is None else ExistingRows(editor)

    def decide(base: Snapshot) -> Settled:
        after = whole(base, altered(base.metadata, changes, clustering_columns(base) or ()))
        if existing is not None:
            existing.check(base, after)
        return after

    return committed(snapshot, decide, lambda after: operation(changes, after.metadata.schema))


def operation(changes: Sequence[SchemaChange], schema: Struct) -> Operation:
    """The changes in the words of DESCRIBE HISTORY; `schema` is the one after them."""
    match changes[0]:
        case AddColumn():
            added = [change for change in changes if isinstance(change, AddColumn)]
            return Operation("ADD COLUMNS", {"columns": [_added(change) for change in added]})
        case DropColumn():
            return Operation("DROP COLUMNS", {"columns": [spelled(change.path) for change in changes]})
        case RenameColumn(path, name):
            new = (*path[:-1], name)
            return Operation("RENAME COLUMN", {"oldColumnPath": spelled(path), "newColumnPath": spelled(new)})
        case MoveColumn(path, position):
            return Operation("CHANGE COLUMN", {"column": _changed(path, schema), **_position(position)})
        case SetComment(path) | DropNotNull(path) | SetNotNull(path) | ChangeType(path) | SetDefault(path):
            return Operation("CHANGE COLUMN", {"column": _changed(path, schema)})
    assert_never(changes[0])


def _added(change: AddColumn) -> dict[str, Json]:
    return {"column": _described(change.path, change.field), **_position(change.position)}


def _changed(path: Path, schema: Struct) -> dict[str, Json]:
    owner, _ = nearest_field(schema, path)
    field = field_at(schema, owner)
    assert field is not None
    return _described(owner, field)


def _described(path: Path, field: Field) -> dict[str, Json]:
    kind = field.type
    name = next((name for nested, name in _NESTED.items() if isinstance(kind, nested)), str(kind))
    return {"name": spelled(path), "type": name, "nullable": field.nullable, "metadata": dict(field.metadata)}


_NESTED: Mapping[type, str] = {Struct: "struct", Array: "array", Map: "map"}


def _position(position: Position) -> dict[str, Json]:
    match position:
        case First():
            return {"position": "FIRST"}
        case After(name):
            return {"position": f"AFTER {spelled((name,))}"}
        case Last():
            return {}
    assert_never(position)
