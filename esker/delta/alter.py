"""How does a change of the columns change the metadata?  (PROTOCOL.md, "Column Mapping", "Type Widening")

Pure: metadata in, metadata out. Columns that are added get ids, and every change of a type is recorded.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.member_order import moved, placed, without
from esker.core.nesting import nearest_field, resolved, type_at, with_field, with_members, with_type
from esker.core.predicate import Path
from esker.core.schema_changes import (
    AddColumn,
    ChangeType,
    DropColumn,
    DropNotNull,
    MoveColumn,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetDefault,
    SetNotNull,
)
from esker.core.types import Struct, Type
from esker.delta import column_names, schema_change_rules
from esker.delta.actions import Metadata, with_schema
from esker.delta.column_mapping_ids import with_mapping
from esker.delta.column_metadata import COMMENT, CURRENT_DEFAULT, with_metadata
from esker.delta.properties import HAS_DROPPED_OR_RENAMED, STATS_COLUMNS, column_mapping_mode, value
from esker.delta.schema_dependents import is_within
from esker.delta.type_changes import recorded
from esker.errors import InvalidRequest


def altered(metadata: Metadata, changes: Iterable[SchemaChange], clustering: Iterable[Path] = ()) -> Metadata:
    """The metadata after the changes, one after the other. `clustering` are the paths of the clustering columns.

    Raises `InvalidRequest`, with every problem, where the table does not allow them.
    """
    result = metadata
    clustered = tuple(clustering)
    problems: list[str] = []
    for change in changes:
        if found := tuple(schema_change_rules.problems(change, result, clustered)):
            problems += found
        else:
            result = _applied(change, result)
    known = set(column_names.problems(metadata.schema, column_mapping_mode(metadata.configuration)))
    named = column_names.problems(result.schema, column_mapping_mode(result.configuration))
    if problems := [*problems, *(problem for problem in named if problem not in known)]:
        raise InvalidRequest("the columns cannot be changed so", problems=problems)
    return with_mapping(result, metadata)


def _applied(change: SchemaChange, metadata: Metadata) -> Metadata:
    schema = metadata.schema
    match change:
        case AddColumn(field, parent, position):
            added = with_members(schema, parent, lambda struct: placed(struct, field, position))
            return with_schema(metadata, added)
        case DropColumn(path):
            dropped = with_members(schema, path[:-1], lambda struct: without(struct, path[-1]))
            return _remembered(_with_listed(with_schema(metadata, dropped), path, None))
        case RenameColumn(path, name):
            return _renamed(metadata, path, name)
        case MoveColumn(path, position):
            members = with_members(schema, path[:-1], lambda struct: moved(struct, path[-1], position))
            return with_schema(metadata, members)
        case SetComment(path, comment):
            return with_schema(metadata, with_field(schema, path, lambda f: with_metadata(f, {COMMENT: comment})))
        case DropNotNull(path):
            return with_schema(metadata, with_field(schema, path, lambda f: replace(f, nullable=True)))
        case SetNotNull(path):
            return with_schema(metadata, with_field(schema, path, lambda f: replace(f, nullable=False)))
        case ChangeType(path, kind):
            return with_schema(metadata, _retyped(schema, path, kind))
        case SetDefault(path, default):
            return with_schema(metadata, with_field(schema, path, lambda f: with_metadata(f, {CURRENT_DEFAULT: default})))
    assert_never(change)


def _renamed(metadata: Metadata, path: Path, name: str) -> Metadata:
    renamed = with_schema(metadata, with_field(metadata.schema, path, lambda f: f.renamed(name)))
    columns = metadata.partition_columns
    if len(path) == 1:
        columns = tuple(name if column.lower() == path[0].lower() else column for column in columns)
    return _remembered(_with_listed(replace(renamed, partition_columns=columns), path, name))


def _with_listed(metadata: Metadata, path: Path, name: str | None) -> Metadata:
    """The metadata with the column called otherwise, or left out, in the list of those that get statistics."""
    listed = value(STATS_COLUMNS, metadata.configuration)
    if listed is None or not any(is_within(column, path) for column in listed):
        return metadata
    kept = [column for column in listed if name is not None or not is_within(column, path)]
    end = len(path) - 1
    called = [(*c[:end], name, *c[end + 1 :]) if name is not None and is_within(c, path) else c for c in kept]
    text = ",".join(spelled(column) for column in called)
    return replace(metadata, configuration={**metadata.configuration, STATS_COLUMNS.name: text})


def _remembered(metadata: Metadata) -> Metadata:
    """ "flips to `true` on first drop/rename and never back"  (columnMappingUsageTracking)"""
    if HAS_DROPPED_OR_RENAMED.name not in metadata.configuration:
        return metadata
    return replace(metadata, configuration={**metadata.configuration, HAS_DROPPED_OR_RENAMED.name: "true"})


def _retyped(schema: Struct, path: Path, new: Type) -> Struct:
    old = type_at(schema, path)
    changed = with_type(schema, path, lambda kind: new)
    if old is None or old in (new, t.VOID):
        return changed
    owner, inside = nearest_field(schema, resolved(schema, path) or path)
    return with_field(changed, owner, lambda f: recorded(f, inside, old, new))
