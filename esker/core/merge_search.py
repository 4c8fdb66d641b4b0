"""Which rows of a table does a merge concern?"""

from collections.abc import Sequence
from dataclasses import dataclass

from esker.core.binding import bind
from esker.core.change import Matches, RowInserts, RowMerger, RowPositions, RowUpdate, count, union
from esker.core.merge import Merge
from esker.core.merge_clauses import Clauses, Update
from esker.core.merge_condition import Side, key_pairs, target_predicate, within
from esker.core.predicate import Predicate, Truth, all_of, any_of
from esker.core.row_target import RowTarget
from esker.errors import InvalidRequest


@dataclass(frozen=True)
class Found:
    """The rows of the target that clauses are for, and what was read to know it."""

    source_rows: int
    candidates: Sequence[int]
    """The files that may have a match."""
    matches: Matches
    unmatched: tuple[RowPositions, ...]
    """For each clause the rows that it is for because no source row matches them."""
    files: tuple[int, ...]
    """The files that were looked at."""
    conditions: tuple[Predicate, ...]
    """What was looked for in them."""


def find(target: RowTarget, wanted: Merge, merger: RowMerger) -> Found:
    """Look for the rows."""
    table, source = Side(wanted.target, target.schema), Side(wanted.source, merger.source)
    keys = key_pairs(wanted.on, table, source)
    known = merger.keys([key.source for key in keys])
    ranges = [within(key.target, known.bounds[key.source]) for key in keys if key.source in known.bounds]
    asked = target_predicate(wanted.on, table, source, merger.zone)
    predicate = all_of(asked, *(bind(bounds, target.filterable) for bounds in ranges))
    candidates = target.candidates(predicate) if known.rows else []
    matches = _matches(target, wanted, candidates, merger)
    conditions = [clause.condition for clause in wanted.not_matched_by_source]
    rest = any_of(
        *(Truth(True) if c is None else target_predicate(c, table, source, merger.zone) for c in conditions)
    )
    others = target.candidates(rest)
    unmatched = tuple({} for _ in conditions) if not others else merger.matching(
        target.target.only(others), conditions, matches.rows
    )
    files = tuple(sorted({*candidates, *others}))
    return Found(known.rows, candidates, matches, unmatched, files, (predicate, *([rest] if conditions else [])))


def _matches(target: RowTarget, wanted: Merge, candidates: Sequence[int], merger: RowMerger) -> Matches:
    conditions = [clause.condition for clause in wanted.matched]
    if wanted.is_insert_only or not candidates:
        return Matches({}, 0, tuple({} for _ in conditions))
    matches = merger.matches(target.target.only(candidates), conditions)
    if matches.pairs > count(matches.rows) and not wanted.allows_many_matches:
        raise InvalidRequest(
            f"more than one row of the source matches a row of the table: {count(matches.rows)} rows have "
            f"{matches.pairs} matches",
            where=target.location,
            hint="Have the source bring one row for each row of the table. Nothing was changed.",
        )
    return matches


@dataclass(frozen=True)
class MergedRows:
    """What becomes of rows by a merge."""

    deleted: RowPositions
    updates: tuple[RowUpdate, ...]
    inserts: RowInserts | None


def merged_rows(target: RowTarget, wanted: Merge, clauses: Clauses, found: Found) -> MergedRows:
    """What the clauses do to the rows that were found."""
    changes = [
        *((clause, rows, True) for clause, rows in zip(clauses.matched, found.matches.by_clause, strict=True)),
        *((clause, rows, False) for clause, rows in zip(clauses.not_matched_by_source, found.unmatched, strict=True)),
    ]
    return MergedRows(
        deleted=union(*(rows for clause, rows, _ in changes if clause is None)),
        updates=tuple(_update(clause, rows, is_joined) for clause, rows, is_joined in changes if clause is not None and rows),
        inserts=_inserts(target, wanted, clauses, found) if clauses.not_matched and found.source_rows else None,
    )


def _update(clause: Update, rows: RowPositions, is_joined: bool) -> RowUpdate:
    return RowUpdate(rows, clause.values, clause.spec, is_joined)


def _inserts(target: RowTarget, wanted: Merge, clauses: Clauses, found: Found) -> RowInserts:
    """Source rows are new if they match none of the rows that were found to match; an insert-only merge looks for itself."""
    if wanted.is_insert_only:
        return RowInserts(clauses.not_matched, target.target.only(found.candidates))
    return RowInserts(clauses.not_matched, target.target.only(list(found.matches.rows)), found.matches.rows)
