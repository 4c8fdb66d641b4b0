"""How may the columns of a table change?  (spec, "Schema Evolution", "Default values", "Identifier Field IDs")

Pure. Columns are known by their ids, which stay, so that files need not be written anew. Every problem is told at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import assert_never

from esker.core import types as t
from esker.core.column_paths import parse_path, spelled
from esker.core.member_order import moved, placed, without
from esker.core.nesting import field_at, type_at, with_field, with_members, with_type
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
from esker.core.types import Array, Decimal, Field, Map, Struct, Type
from esker.errors import InvalidRequest
from esker.iceberg.literals import default_json
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.new_ids import new_field
from esker.iceberg.schema import COMMENT, INITIAL_DEFAULT, WRITE_DEFAULT, Schema, all_fields, minimum_version

_TIMES = (t.TIMESTAMP_NTZ, t.TIMESTAMP_NTZ_NS)


def altered(metadata: TableMetadata, changes: Iterable[SchemaChange]) -> Schema:
    """The schema after the changes, one after the other.

    Raises `InvalidRequest`, with every problem, where the table does not allow them.
    """
    result = metadata.schema.struct
    ids = count(metadata.last_column_id + 1)
    problems: list[str] = []
    for change in changes:
        if found := tuple(_Rules(metadata, result).problems(change)):
            problems += found
        else:
            result = _applied(change, result, ids)
    if problems:
        raise InvalidRequest("the columns cannot be changed so", where=metadata.location, problems=problems)
    return numbered(metadata, replace(metadata.schema, struct=result))


def identified(metadata: TableMetadata, names: Sequence[str]) -> Schema:
    """The schema with these columns as identifier fields: what tells rows apart.

    "An identifier field must be a required primitive that is not float or double, and not within what may be null."
    """
    problems: list[str] = []
    ids: list[int] = []
    for path in map(parse_path, names):
        field = field_at(metadata.schema.struct, path)
        if field is None or field.id is None:
            problems.append(f"there is no column {spelled(path)}")
            continue
        above = [field_at(metadata.schema.struct, path[:end]) for end in range(1, len(path) + 1)]
        if any(f is None or f.nullable for f in above):
            problems.append(f"{spelled(path)} may be null")
        if isinstance(field.type, Struct | Array | Map) or field.type in (t.FLOAT, t.DOUBLE, t.VARIANT, t.VOID):
            problems.append(f"{spelled(path)} is {field.type}")
        ids.append(field.id)
    if problems:
        raise InvalidRequest("these columns cannot be identifier fields", where=metadata.location, problems=problems)
    return numbered(metadata, replace(metadata.schema, identifier_field_ids=tuple(sorted(ids))))


def numbered(metadata: TableMetadata, schema: Schema) -> Schema:
    """The schema under the id of one that is the same, or under the next."""
    for known in metadata.schemas:
        if known.struct == schema.struct and known.identifier_field_ids == schema.identifier_field_ids:
            return known
    return replace(schema, schema_id=max(s.schema_id for s in metadata.schemas) + 1)


@dataclass(frozen=True)
class _Rules:
    """What the table allows."""

    metadata: TableMetadata
    struct: Struct

    def problems(self, change: SchemaChange) -> Iterator[str]:
        if not isinstance(change, AddColumn) and type_at(self.struct, change.path) is None:
            yield f"there is no column {spelled(change.path)}"
            return
        match change:
            case AddColumn():
                yield from self._adding(change)
            case DropColumn(path):
                yield from self._member(path)
                yield from self._dropping(path)
            case RenameColumn(path, name):
                yield from self._member(path)
                parent = type_at(self.struct, path[:-1])
                other = parent.find(name) if isinstance(parent, Struct) else None
                if other is not None and other is not field_at(self.struct, path):
                    yield f"there is a column {spelled((*path[:-1], name))}"
            case MoveColumn(path, position):
                yield from self._member(path)
                yield from self._placing(path[:-1], position)
            case SetComment(path):
                yield from self._member(path)
            case DropNotNull(path):
                yield from self._member(path)
                if self._is_identifier(path):
                    yield f"{spelled(path)} is an identifier field, which is never null"
            case SetNotNull(path):
                # "Optional columns cannot be made required": files that are there may hold nulls
                yield f"{spelled(path)} may be null in files that are there: Iceberg has no way to make it NOT NULL"
            case ChangeType(path, kind):
                yield from self._retyping(path, kind)
            case SetDefault(path, default):
                yield from self._member(path)
                yield from self._default(path, field_at(self.struct, path), default)
            case _:
                assert_never(change)

    def _member(self, path: Path) -> Iterator[str]:
        if field_at(self.struct, path) is None:
            yield f"{spelled(path)} is not a column or the member of a struct"
        elif self._is_in_key(path):
            yield f"{spelled(path)} is part of a map's key, which stays as it is"

    def _adding(self, change: AddColumn) -> Iterator[str]:
        parent = type_at(self.struct, change.parent) if change.parent else self.struct
        if not isinstance(parent, Struct):
            yield f"{spelled(change.parent)} is no struct that could get a column"
            return
        if parent.find(change.field.name) is not None:
            yield f"there is a column {spelled(change.path)}"
        if self._is_in_key((*change.parent, change.field.name)):
            yield f"{spelled(change.path)} would be part of a map's key, which stays as it is"
        if (asked := minimum_version(change.field.type)) > self.metadata.format_version:
            yield f"{spelled(change.path)} has a type of format version {asked}"
        # "Adding a required field needs both defaults non-null."
        if not change.field.nullable and change.default is None:
            yield f"{spelled(change.path)} is NOT NULL and has no default, and rows that are there lack it"
        if change.default is not None:
            yield from self._default(change.path, change.field, change.default)
        yield from self._placing(change.parent, change.position)

    def _placing(self, parent: Path, position: Position) -> Iterator[str]:
        struct = type_at(self.struct, parent) if parent else self.struct
        if isinstance(position, After) and isinstance(struct, Struct) and struct.find(position.name) is None:
            yield f"there is no column {spelled((*parent, position.name))} to come after"

    def _dropping(self, path: Path) -> Iterator[str]:
        field = field_at(self.struct, path)
        if field is None:
            return
        gone = {f.id for _, f in all_fields(Struct((field,)))}
        if gone & set(self.metadata.schema.identifier_field_ids):
            yield f"{spelled(path)} is an identifier field"
        for partition in self.metadata.spec.fields:
            if gone & set(partition.source_ids) and partition.transform != "void":
                yield f"the table is partitioned by {partition.name}, which is made of {spelled(path)}"
        if any(gone & set(key.source_ids) for key in self.metadata.sort_order.fields):
            yield f"the table's sort order goes by {spelled(path)}"
        parent = type_at(self.struct, path[:-1]) if len(path) > 1 else self.struct
        if isinstance(parent, Struct) and len(parent) == 1:
            yield f"{spelled(path)} is the only column"

    def _retyping(self, path: Path, kind: Type) -> Iterator[str]:
        old = type_at(self.struct, path)
        if old is None or old == kind:
            return
        if self._is_in_key(path):
            yield f"{spelled(path)} is part of a map's key, which stays as it is"
        if not is_promotion(old, kind, self.metadata.format_version):
            yield f"{spelled(path)} cannot go from {old} to {kind}"
        field = field_at(self.struct, path)
        if field is not None:
            yield from changed_partitions(self.metadata, field, path)

    def _default(self, path: Path, field: Field | None, default: str | None) -> Iterator[str]:
        if self.metadata.format_version < 3:
            yield f"{spelled(path)}: defaults need format version 3"
        elif default is not None and field is not None:
            try:
                default_json(default, field.type)
            except InvalidRequest as error:
                yield error.what

    def _is_identifier(self, path: Path) -> bool:
        field = field_at(self.struct, path)
        return field is not None and field.id in self.metadata.schema.identifier_field_ids

    def _is_in_key(self, path: Path) -> bool:
        return any(
            isinstance(type_at(self.struct, path[:at]) if at else self.struct, Map) and path[at].lower() == "key"
            for at in range(len(path))
        )


def changed_partitions(metadata: TableMetadata, field: Field, path: Path) -> Iterator[str]:
    """The partition fields of any spec that keep a column from being promoted.

    "Not allowed if a partition transform on the field would change its result": a date does so where it becomes a timestamp.
    """
    if field.type != t.DATE:
        return
    for partition in (f for spec in metadata.partition_specs for f in spec.fields):
        if field.id in partition.source_ids and partition.transform not in ("identity", "void"):
            yield f"the partition field {partition.name} would change with {spelled(path)}"


def is_promotion(old: Type, new: Type, version: int) -> bool:
    """Whether values may be read in another type.  ("Schema Evolution": type promotion)"""
    match old, new:
        case t.INTEGER, t.LONG:
            return True
        case t.FLOAT, t.DOUBLE:
            return True
        case Decimal(), Decimal():
            return old.scale == new.scale and old.precision <= new.precision <= 38
        case t.DATE, _ if new in _TIMES:
            return version >= 3
        case t.VOID, _:
            return version >= 3
    return False


def _applied(change: SchemaChange, struct: Struct, ids: Iterator[int]) -> Struct:
    match change:
        case AddColumn(field, parent, position, default):
            fresh = new_field(_declared(field, default), ids)
            return with_members(struct, parent, lambda members: placed(members, fresh, position))
        case DropColumn(path):
            return with_members(struct, path[:-1], lambda members: without(members, path[-1]))
        case RenameColumn(path, name):
            return with_field(struct, path, lambda f: f.renamed(name))
        case MoveColumn(path, position):
            return with_members(struct, path[:-1], lambda members: moved(members, path[-1], position))
        case SetComment(path, comment):
            return with_field(struct, path, lambda f: _noted(f, COMMENT, comment))
        case DropNotNull(path):
            return with_field(struct, path, lambda f: replace(f, nullable=True))
        case SetNotNull():
            raise AssertionError(change)
        case ChangeType(path, kind):
            return with_type(struct, path, lambda _: kind)
        case SetDefault(path, default):
            return with_field(struct, path, lambda f: _with_default(f, default))
    assert_never(change)


def _declared(field: Field, default: str | None) -> Field:
    kept = {key: value for key, value in field.metadata.items() if key == COMMENT}
    value = None if default is None else default_json(default, field.type)
    # "initial-default: set when the field is added"; "write-default starts equal to it"
    return replace(field, metadata=kept if value is None else {**kept, INITIAL_DEFAULT: value, WRITE_DEFAULT: value})


def _with_default(field: Field, default: str | None) -> Field:
    value = None if default is None else default_json(default, field.type)
    others = {key: known for key, known in field.metadata.items() if key != WRITE_DEFAULT}
    return replace(field, metadata=others if value is None else {**others, WRITE_DEFAULT: value})


def _noted(field: Field, key: str, text: str | None) -> Field:
    others = {name: value for name, value in field.metadata.items() if name != key}
    return replace(field, metadata=others if text is None else {**others, key: text})
