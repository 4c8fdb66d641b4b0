"""How are the rows of a source merged into a table?

What the condition asks of the table alone, and the range of the source's keys, go to Lance's scanner. The rows that a clause is
for are found first; then only those are written again.
"""

from dataclasses import dataclass

from esker.core.assignments import resolved, shared
from esker.core.binding import bind
from esker.core.change import (
    AddressedPlan,
    Expression,
    Matches,
    Rewrite,
    RowInsert,
    RowInserts,
    RowMerger,
    RowPositions,
    RowUpdate,
    count,
    union,
)
from esker.core.column_paths import parse_path, quoted
from esker.core.merge import DeleteRow, InsertRow, Merge, UpdateRow, problems
from esker.core.merge_condition import Side, key_pairs, target_predicate, within
from esker.core.predicate import all_of
from esker.core.types import Struct
from esker.errors import InvalidRequest, Unsupported
from esker.lance.append import records
from esker.lance.committing import committed, retried
from esker.lance.dead_rows import bury
from esker.lance.edit import assignments, fields_in, whole_rows
from esker.lance.library import ChangeRows, Library
from esker.lance.plan import filterable
from esker.lance.row_specs import rewritten
from esker.lance.snapshot import Snapshot


def merge(snapshot: Snapshot, wanted: Merge, merger: RowMerger, library: Library) -> Snapshot:
    """Merge the source's rows. Where nothing comes of it, no version is made."""
    if senseless := list(problems(wanted)):
        raise InvalidRequest("the merge makes no sense", where=snapshot.location, problems=senseless)
    if wanted.evolves_schema:
        raise Unsupported("a merge that adds columns to a Lance table", where=snapshot.location, hint="Add them first.")
    return retried(snapshot, lambda base: _merged(base, wanted, merger, library))


def _merged(snapshot: Snapshot, wanted: Merge, merger: RowMerger, library: Library) -> Snapshot:
    found = _found(snapshot, wanted, merger)
    clauses = _Clauses(snapshot, wanted, merger.source)
    changes = [
        *((clause, rows, True) for clause, rows in zip(wanted.matched, found.matches.by_clause, strict=True)),
        *((clause, rows, False) for clause, rows in zip(wanted.not_matched_by_source, found.unmatched, strict=True)),
    ]
    deleted = union(*(rows for clause, rows, _ in changes if isinstance(clause, DeleteRow)))
    updates = tuple(
        clauses.update(clause, rows, is_joined)
        for clause, rows, is_joined in changes
        if isinstance(clause, UpdateRow) and rows
    )
    touched = union(deleted, *(update.positions for update in updates))
    inserts = clauses.inserts(found) if wanted.not_matched and found.source_rows else None
    if not touched and inserts is None:
        return snapshot
    done = merger.rewritten(Rewrite(found.target.only(list(touched)), deleted, updates, inserts))
    if not touched and not done.written:
        return snapshot
    deaths = bury(snapshot, touched)
    modified = fields_in(snapshot, {path[0] for update in updates for path in update.values})
    change = ChangeRows(deaths.deletions, deaths.removed, records(done.written), wanted.on, modified)
    return committed(snapshot, library, change)


@dataclass(frozen=True)
class _Found:
    """The rows of the table that clauses are for."""

    target: AddressedPlan
    candidates: AddressedPlan
    source_rows: int
    matches: Matches
    unmatched: tuple[RowPositions, ...]


def _found(snapshot: Snapshot, wanted: Merge, merger: RowMerger) -> _Found:
    table, source = Side(wanted.target, snapshot.schema), Side(wanted.source, merger.source)
    keys = key_pairs(wanted.on, table, source)
    known = merger.keys([key.source for key in keys])
    ranges = [within(key.target, known.bounds[key.source]) for key in keys if key.source in known.bounds]
    asked = target_predicate(wanted.on, table, source, merger.zone)
    target = whole_rows(snapshot, merger.source.names)
    predicate = all_of(asked, *(bind(bounds, filterable(snapshot.schema)) for bounds in ranges))
    candidates = whole_rows(snapshot, merger.source.names, predicate)
    conditions = [clause.condition for clause in wanted.matched]
    matches = Matches({}, 0, tuple({} for _ in conditions))
    if known.rows and not wanted.is_insert_only and len(target.plan):
        matches = merger.matches(candidates, conditions)
    if matches.pairs > count(matches.rows) and not wanted.allows_many_matches:
        raise InvalidRequest(
            f"more than one row of the source matches a row of the table: {count(matches.rows)} rows have "
            f"{matches.pairs} matches",
            where=snapshot.location,
            hint="Have the source bring one row for each row of the table. Nothing was changed.",
        )
    others = [clause.condition for clause in wanted.not_matched_by_source]
    unmatched = merger.matching(target, others, matches.rows) if others and len(target.plan) else tuple({} for _ in others)
    return _Found(target, candidates, known.rows, matches, unmatched)


class _Clauses:
    """What the clauses of a merge mean for the table."""

    def __init__(self, snapshot: Snapshot, merge: Merge, source: Struct) -> None:
        self._snapshot = snapshot
        self._merge = merge
        self._source = source

    def update(self, clause: UpdateRow, rows: RowPositions, is_joined: bool) -> RowUpdate:
        values = self._every_column() if clause.values is None else clause.values
        return RowUpdate(rows, assignments(self._snapshot, values), rewritten(self._snapshot), is_joined)

    def inserts(self, found: _Found) -> RowInserts:
        """Source rows are new if they match none of the rows that were found to match; an insert-only merge looks for itself."""
        clauses = tuple(self._insert(clause) for clause in self._merge.not_matched)
        if self._merge.is_insert_only:
            return RowInserts(clauses, found.candidates)
        return RowInserts(clauses, found.target.only(list(found.matches.rows)), found.matches.rows)

    def _insert(self, clause: InsertRow) -> RowInsert:
        schema = self._snapshot.schema
        named = self._every_column() if clause.values is None else clause.values
        paths = {name: resolved(schema, parse_path(name)) for name in named}
        problems = [f"there is no column {name}" for name, path in paths.items() if path is None or len(path) > 1]
        values = {path[0]: named[name] for name, path in paths.items() if path is not None}
        problems += [f"{name} would be set twice" for name in values if [p for p in paths.values() if p == (name,)][1:]]
        problems += [f"{f.name} is never null, and is not set" for f in schema if not f.nullable and f.name not in values]
        if problems:
            raise InvalidRequest("a row with these columns cannot be inserted", where=self._snapshot.location, problems=problems)
        given = Struct(tuple(field for field in schema if field.name in values))
        return RowInsert(values, rewritten(self._snapshot, given), clause.condition)

    def _every_column(self) -> dict[str, Expression]:
        """Every column of the table from the source, which has to have them all."""
        schema = self._snapshot.schema
        if lacking := [field.name for field in schema if self._source.find(field.name) is None]:
            raise InvalidRequest(
                f"the source lacks the columns {', '.join(lacking)}",
                where=self._snapshot.location,
                hint="Name the columns that are to be set.",
            )
        return {quoted(path): quoted((self._merge.source, *path)) for path in shared(schema, self._source)}
