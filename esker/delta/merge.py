"""How are the rows of a source merged into a table?

Files in which no row can match are not read: those that the condition rules out, and those whose keys lie outside the range of
the source's keys. The rows that a clause is for are found first; then only files that have some of them are written again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from esker.core.binding import bind
from esker.core.change import Matches, RowInserts, RowMerger, RowPositions, RowUpdate, count, union
from esker.core.merge import Merge, problems
from esker.core.merge_condition import Side, key_pairs, target_predicate, within
from esker.core.predicate import Predicate, Truth, all_of, any_of
from esker.delta.commit import now
from esker.delta.live_adds import live_adds
from esker.delta.merge_clauses import Clauses, Update, evolved_for, resolved_clauses
from esker.delta.merge_history import merge_operation
from esker.delta.plan import Pruner, filterable
from esker.delta.row_commit import Besides, Times, changeable, published
from esker.delta.row_edits import Edits, edited
from esker.delta.row_specs import RowSpecs
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import ReadSet, identities
from esker.delta.writing import identity_marks
from esker.errors import InvalidRequest


def merge(snapshot: Snapshot, wanted: Merge, merger: RowMerger) -> Snapshot:
    """Merge the source's rows. Where nothing comes of it, the table stays at its version."""
    started = now()
    if senseless := list(problems(wanted)):
        raise InvalidRequest("the merge makes no sense", where=snapshot.location, problems=senseless)
    target = evolved_for(snapshot, wanted, merger.source)
    specs = RowSpecs.of(changeable(target, only_adds=wanted.is_insert_only), merger.source.names)
    clauses = resolved_clauses(specs, wanted, merger.source)
    found = _found(specs, wanted, merger)
    searched = now()
    done = edited(specs, _edits(specs, wanted, clauses, found), merger)
    if done.is_nothing:
        return snapshot
    times = Times(started, searched, now())
    operation = merge_operation(wanted, done, found.source_rows, found.matches.by_clause, found.unmatched, times)
    metadata = identity_marks(target.metadata, done.written, target.mapping)
    besides = Besides(
        metadata=None if metadata == snapshot.metadata else metadata,
        protocol=None if target.protocol == snapshot.protocol else target.protocol,
    )
    return published(snapshot, done, operation, found.reads, besides)


@dataclass(frozen=True)
class _Found:
    """The rows of the target that clauses are for, and what was read to know it."""

    source_rows: int
    candidates: Sequence[int]
    """The files that may have a match."""
    matches: Matches
    unmatched: tuple[RowPositions, ...]
    """For each clause the rows that it is for because no source row matches them."""
    reads: ReadSet


def _found(specs: RowSpecs, wanted: Merge, merger: RowMerger) -> _Found:
    snapshot = specs.snapshot
    target, source = Side(wanted.target, snapshot.schema), Side(wanted.source, merger.source)
    keys = key_pairs(wanted.on, target, source)
    known = merger.keys([key.source for key in keys])
    ranges = [within(key.target, known.bounds[key.source]) for key in keys if key.source in known.bounds]
    asked = target_predicate(wanted.on, target, source, merger.zone)
    predicate = all_of(asked, *(bind(bounds, filterable(snapshot.schema)) for bounds in ranges))
    candidates = _files(snapshot, predicate) if known.rows else []
    matches = _matches(specs, wanted, candidates, merger)
    conditions = [clause.condition for clause in wanted.not_matched_by_source]
    rest = any_of(
        *(Truth(True) if c is None else target_predicate(c, target, source, merger.zone) for c in conditions)
    )
    others = _files(snapshot, rest)
    unmatched = tuple({} for _ in conditions) if not others else merger.matching(
        specs.target.only(others), conditions, matches.rows
    )
    read = identities(live_adds(snapshot, sorted({*candidates, *others})))
    return _Found(known.rows, candidates, matches, unmatched, ReadSet((predicate, *([rest] if conditions else [])), read))


def _files(snapshot: Snapshot, predicate: Predicate) -> list[int]:
    numbers: list[int] = np.flatnonzero(Pruner(snapshot)(predicate)).tolist()
    return numbers


def _matches(specs: RowSpecs, wanted: Merge, candidates: Sequence[int], merger: RowMerger) -> Matches:
    conditions = [clause.condition for clause in wanted.matched]
    if wanted.is_insert_only or not candidates:
        return Matches({}, 0, tuple({} for _ in conditions))
    matches = merger.matches(specs.target.only(candidates), conditions)
    if matches.pairs > count(matches.rows) and not wanted.allows_many_matches:
        raise InvalidRequest(
            f"more than one row of the source matches a row of the table: {count(matches.rows)} rows have "
            f"{matches.pairs} matches",
            where=specs.snapshot.location,
            hint="Have the source bring one row for each row of the table. Nothing was changed.",
        )
    return matches


def _edits(specs: RowSpecs, wanted: Merge, clauses: Clauses, found: _Found) -> Edits:
    changes = [
        *((clause, rows, True) for clause, rows in zip(clauses.matched, found.matches.by_clause, strict=True)),
        *((clause, rows, False) for clause, rows in zip(clauses.not_matched_by_source, found.unmatched, strict=True)),
    ]
    return Edits(
        deleted=union(*(rows for clause, rows, _ in changes if clause is None)),
        updates=tuple(_update(clause, rows, is_joined) for clause, rows, is_joined in changes if clause is not None and rows),
        inserts=_inserts(specs, wanted, clauses, found) if clauses.not_matched and found.source_rows else None,
    )


def _update(clause: Update, rows: RowPositions, is_joined: bool) -> RowUpdate:
    return RowUpdate(rows, clause.values, clause.spec, is_joined)


def _inserts(specs: RowSpecs, wanted: Merge, clauses: Clauses, found: _Found) -> RowInserts:
    """Source rows are new if they match none of the rows that were found to match; an insert-only merge looks for itself."""
    if wanted.is_insert_only:
        return RowInserts(clauses.not_matched, specs.target.only(found.candidates))
    return RowInserts(clauses.not_matched, specs.target.only(list(found.matches.rows)), found.matches.rows)
