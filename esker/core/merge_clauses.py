"""What do the clauses of a merge mean for this table?

`*_all` clauses become assignments column by column; a schema that evolves takes over the columns that clauses need. Every
clause learns how its rows are written.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from esker.core.assignments import assignments, resolved, shared
from esker.core.change import Expression, RowInsert
from esker.core.column_paths import parse_path, quoted, spelled
from esker.core.merge import DeleteRow, InsertRow, Merge, UpdateRow
from esker.core.predicate import Path
from esker.core.row_target import RowTarget
from esker.core.types import Field, Struct
from esker.core.write import WriteSpec
from esker.errors import InvalidRequest


@dataclass(frozen=True)
class Update:
    """What an update sets, and how its rows are written."""

    values: Mapping[Path, Expression]
    spec: WriteSpec


@dataclass(frozen=True)
class Clauses:
    """The clauses of a merge in their order; None stands for a delete."""

    matched: tuple[Update | None, ...]
    not_matched: tuple[RowInsert, ...]
    not_matched_by_source: tuple[Update | None, ...]


def brought_columns(merge: Merge, table: Struct, source: Struct) -> Struct:
    """The columns that the merge asks for and only the source may have, where the table is to take them over."""
    if not merge.evolves_schema:
        return Struct()
    values = [clause.values for clause in _with_values(merge)]
    if any(value is None for value in values):
        return source
    names = {parse_path(name): None for value in values if value is not None for name in value}
    brought = Struct()
    for path in names:
        if resolved(table, path) is None:
            brought = _joined(brought, _only(source, path))
    return brought


def _joined(one: Struct, other: Struct) -> Struct:
    """The members of both, at every depth."""
    kept = [_joined_field(field, other.find(field.name)) for field in one]
    return Struct((*kept, *(field for field in other if one.find(field.name) is None)))


def _joined_field(one: Field, other: Field | None) -> Field:
    if other is not None and isinstance(one.type, Struct) and isinstance(other.type, Struct):
        return replace(one, type=_joined(one.type, other.type))
    return one


def resolved_clauses(specs: RowTarget, merge: Merge, source: Struct) -> Clauses:
    """The clauses with their assignments. Raises `InvalidRequest` where they name columns that cannot be set."""
    every = _All(specs, merge, source)
    return Clauses(
        matched=tuple(_change(clause, specs, every) for clause in merge.matched),
        not_matched=tuple(_insert(clause, specs, every) for clause in merge.not_matched),
        not_matched_by_source=tuple(_change(clause, specs, every) for clause in merge.not_matched_by_source),
    )


def _with_values(merge: Merge) -> Iterator[UpdateRow | InsertRow]:
    for clause in (*merge.matched, *merge.not_matched, *merge.not_matched_by_source):
        if not isinstance(clause, DeleteRow):
            yield clause


def _only(source: Struct, path: Path) -> Struct:
    """The source's schema cut down to one column or struct member; nothing where it has none."""
    found = source.find(path[0])
    if found is None:
        return Struct()
    if len(path) == 1:
        return Struct((found,))
    inner = _only(found.type, path[1:]) if isinstance(found.type, Struct) else Struct()
    return Struct((Field(found.name, inner),)) if inner.fields else Struct()


def _change(clause: UpdateRow | DeleteRow, specs: RowTarget, every: "_All") -> Update | None:
    if isinstance(clause, DeleteRow):
        return None
    named = every.updated() if clause.values is None else clause.values
    values = assignments(specs, named)
    return Update(values, specs.updated(list(values)))


def _insert(clause: InsertRow, specs: RowTarget, every: "_All") -> RowInsert:
    named = every.inserted() if clause.values is None else clause.values
    schema, where = specs.schema, specs.location
    paths = {name: resolved(schema, parse_path(name)) for name in named}
    problems = [f"there is no column {name}" for name, path in paths.items() if path is None or len(path) > 1]
    found = [path[0] for path in paths.values() if path is not None]
    problems += [f"{name} would be set twice" for name in sorted(set(found)) if found.count(name) > 1]
    if problems:
        raise InvalidRequest("a row with these columns cannot be inserted", where=where, problems=problems)
    values = {path[0]: named[name] for name, path in paths.items() if path is not None}
    given = Struct(tuple(field for field in schema if field.name in values))
    return RowInsert(values, specs.inserted(given), clause.condition)


class _All:
    """What all columns of the source are for the table."""

    def __init__(self, target: RowTarget, merge: Merge, source: Struct) -> None:
        self._target = target
        self._merge = merge
        self._source = source

    def updated(self) -> dict[str, Expression]:
        """Every column from the source. Those that it lacks stay as they are, if they may be lacking."""
        self._require(field for field in self._target.schema if not self._target.is_generated(field))
        paths = shared(self._target.schema, self._source)
        return {quoted(path): quoted((self._merge.source, *path)) for path in paths}

    def inserted(self) -> dict[str, Expression]:
        """Every column from the source. Those that it lacks are filled otherwise or null, if they may be lacking."""
        self._require(field for field in self._target.schema if not self._target.is_filled(field))
        names = [field.name for field in self._target.schema if self._source.find(field.name) is not None]
        return {quoted((name,)): quoted((self._merge.source, name)) for name in names}

    def _require(self, fields: Iterable[Field]) -> None:
        lacking = [spelled((field.name,)) for field in fields if self._source.find(field.name) is None]
        if lacking and not self._merge.evolves_schema:
            raise InvalidRequest(
                f"the source lacks the columns {', '.join(lacking)}",
                where=self._target.location,
                hint="Name the columns that are to be set, or merge with schema evolution.",
            )
