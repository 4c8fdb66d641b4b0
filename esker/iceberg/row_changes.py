"""How are rows deleted, updated and merged?

Files in which no row can match, by their partition values and statistics, are not read; where all rows of a file must match, a
delete removes it unread.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from esker.core.assignments import assignments
from esker.core.binding import bind
from esker.core.change import Expression, RowEditor, RowMerger, RowPositions, RowUpdate
from esker.core.expressions import row_condition
from esker.core.merge import Merge, problems
from esker.core.merge_clauses import brought_columns, resolved_clauses
from esker.core.merge_search import find, merged_rows
from esker.core.predicate import Predicate, Truth
from esker.core.skipping import outcomes
from esker.core.write import Check, RowSource, WriteOptions
from esker.errors import InvalidRequest
from esker.iceberg.append import is_done, noted, progress, targeted, with_columns_of
from esker.iceberg.file_change import DELETE, OVERWRITE, FileChange, ReadSet
from esker.iceberg.file_plan import RowReader
from esker.iceberg.leftovers import discarding, publish_or_discard
from esker.iceberg.row_edits import COPY_ON_WRITE, MERGE_ON_READ, Edited, Edits, edited, mode
from esker.iceberg.row_specs import RowSpecs
from esker.iceberg.schema_merge import merged_schema
from esker.iceberg.snapshot_writer import ISOLATION
from esker.iceberg.state import TableState
from esker.iceberg.updates import AddSchema, SetCurrentSchema, Update
from esker.iceberg.writing import data_files, write_spec


def delete(state: TableState, where: str | None, editor: RowEditor, read: RowReader) -> TableState:
    """Delete the rows for which the condition is TRUE, or all. Where there are none, the table stays at its snapshot."""
    specs = RowSpecs.of(state, read)
    whole, rows, reads = _doomed(specs, where, editor)
    how = mode(state, "delete")
    done = edited(specs, Edits(rows, whole=whole), editor, how)
    # deleting the same rows twice does no harm, where rows are recorded as dead one by one
    is_harmless = how == MERGE_ON_READ and state.metadata.format_version == 2 and not done.removed
    operation = OVERWRITE if any(not file.content for file in done.added) else DELETE
    return _published(state, done, replace(reads, allows_new_deletes=is_harmless), "delete", operation)


def update(
    state: TableState, values: Mapping[str, Expression], where: str | None, editor: RowEditor, read: RowReader
) -> TableState:
    """Set columns in the rows for which the condition is TRUE. Where there are none, the table stays at its snapshot."""
    specs = RowSpecs.of(state, read)
    paths = assignments(specs, values)
    predicate: Predicate = Truth(True) if where is None else row_condition(where, specs.schema, editor.zone)
    candidates = specs.candidates(predicate)
    if not candidates:
        return state
    (rows,) = editor.matching(specs.target.only(candidates), [where])
    edits = Edits(updates=(RowUpdate(rows, paths, specs.updated(list(paths))),) if rows else ())
    done = edited(specs, edits, editor, mode(state, "update"))
    return _published(state, done, ReadSet((predicate,)), "update", OVERWRITE)


def merge(state: TableState, wanted: Merge, merger: RowMerger, read: RowReader) -> TableState:
    """Merge the source's rows. Where nothing comes of it, the table stays at its snapshot."""
    if senseless := list(problems(wanted)):
        raise InvalidRequest("the merge makes no sense", where=state.location, problems=senseless)
    brought = brought_columns(wanted, state.schema.struct, merger.source)
    schema = merged_schema(state.metadata, brought, state.location)
    updates = () if schema == state.schema else (AddSchema(schema), SetCurrentSchema(schema.schema_id))
    specs = RowSpecs.of(targeted(state, updates).state, read, merger.source.names)
    clauses = resolved_clauses(specs, wanted, merger.source)
    found = find(specs, wanted, merger)
    rows = merged_rows(specs, wanted, clauses, found)
    done = edited(specs, Edits(rows.deleted, rows.updates, rows.inserts), merger, mode(state, "merge"))
    return _published(state, done, ReadSet(found.conditions), "merge", OVERWRITE, updates)


def overwrite_where(
    state: TableState, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor, read: RowReader
) -> TableState:
    """Put the rows in the place of those for which the condition is TRUE, as it must be for each of them."""
    if is_done(state, options):
        return state
    target = with_columns_of(state, rows.schema, options)
    specs = RowSpecs.of(target.state, read)
    row_condition(where, specs.schema, editor.zone)
    whole, found, reads = _doomed(specs, where, editor)
    spec = write_spec(target.state, rows.schema)
    with discarding(state, (spec.folder,)):
        fresh = data_files(rows.write(replace(spec, checks=(*spec.checks, _within(where)))), target.state)
        done = edited(specs, Edits(found, whole=whole), editor, COPY_ON_WRITE)
    both = replace(done, added=(*fresh, *done.added))
    return _published(state, both, reads, "delete", OVERWRITE, (*target.updates, *progress(options)), noted(options))


def _within(where: str) -> Check:
    return Check(f"the condition that the rows are to fulfil: {where}", where)


def _doomed(specs: RowSpecs, where: str | None, editor: RowEditor) -> tuple[tuple[int, ...], RowPositions, ReadSet]:
    """The files all of whose rows go, the rows of others, and what was read to know it."""
    predicate: Predicate = Truth(True) if where is None else row_condition(where, specs.schema, editor.zone)
    possible = outcomes(bind(predicate, specs.filterable), specs.pruner)
    must = possible.must_be_true
    whole = tuple(np.flatnonzero(must).tolist())
    perhaps = np.flatnonzero(possible.may_true & ~must).tolist()
    rows: RowPositions = {}
    if perhaps:
        (rows,) = editor.matching(specs.target.only(perhaps), [where])
    return whole, rows, ReadSet((predicate,))


def _published(
    state: TableState,
    done: Edited,
    reads: ReadSet,
    operation: str,
    told: str,
    besides: tuple[Update, ...] = (),
    summary: Mapping[str, str] | None = None,
) -> TableState:
    if done.is_nothing:
        return state
    change = FileChange(told, done.added, done.removed, replace(reads, data_files=done.touched), summary or {})
    isolation = state.metadata.properties.get(f"write.{operation}.{ISOLATION}", "serializable").lower()
    return publish_or_discard(state, change, done.added, besides, isolation)
