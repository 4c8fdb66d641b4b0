"""How are rows deleted and updated?

Rows are found by fragment and position. Those that go are noted in deletion files; those that change are written again into new
fragments, with their ids where the table keeps ids, and noted as dead where they were.
"""

from collections.abc import Collection, Mapping, Sequence

from esker.core.assignments import overlaps, resolved
from esker.core.change import AddressedPlan, Expression, Rewrite, RowEditor, RowUpdate, addressed
from esker.core.column_paths import parse_path
from esker.core.expressions import row_condition
from esker.core.predicate import Path, Predicate
from esker.core.references import references
from esker.errors import InvalidRequest
from esker.lance.append import records
from esker.lance.committing import committed, retried
from esker.lance.dead_rows import bury
from esker.lance.library import ChangeRows, Library
from esker.lance.plan import ROW_ID, plan
from esker.lance.row_specs import has_stable_ids, rewritten
from esker.lance.snapshot import Snapshot


def delete(snapshot: Snapshot, where: str | None, editor: RowEditor, library: Library) -> Snapshot:
    """Delete the rows for which the condition is TRUE, or all. Where there are none, no version is made."""

    def attempt(base: Snapshot) -> Snapshot:
        if where is None:
            everything = tuple(fragment.id for fragment in base.fragments)
            return committed(base, library, ChangeRows({}, everything)) if everything else base
        (found,) = editor.matching(candidates(base, where, editor), [where])
        if not found:
            return base
        deaths = bury(base, found)
        return committed(base, library, ChangeRows(deaths.deletions, deaths.removed, (), where))

    return retried(snapshot, attempt)


def update(
    snapshot: Snapshot, values: Mapping[str, Expression], where: str | None, editor: RowEditor, library: Library
) -> Snapshot:
    """Set columns in the rows for which the condition is TRUE, or in all. Where there are none, no version is made."""

    def attempt(base: Snapshot) -> Snapshot:
        paths = assignments(base, values)
        (found,) = editor.matching(candidates(base, where, editor), [where])
        if not found:
            return base
        spec = rewritten(base)
        target = whole_rows(base).only(list(found))
        done = editor.rewritten(Rewrite(target, updates=(RowUpdate(found, paths, spec),)))
        deaths = bury(base, found)
        modified = fields_in(base, {path[0] for path in paths})
        change = ChangeRows(deaths.deletions, deaths.removed, records(done.written), where or "true", modified)
        return committed(base, library, change)

    return retried(snapshot, attempt)


def assignments(snapshot: Snapshot, values: Mapping[str, Expression]) -> Mapping[Path, Expression]:
    """The values by the columns that they are for. Raises `InvalidRequest`, with every problem."""
    paths = {name: resolved(snapshot.schema, parse_path(name)) for name in values}
    problems = [] if values else ["there is nothing to set"]
    problems += [f"there is no column {name}" for name, path in paths.items() if path is None]
    problems += overlaps([path for path in paths.values() if path is not None])
    if problems:
        raise InvalidRequest("these columns cannot be set", where=snapshot.location, problems=problems)
    return {path: values[name] for name, path in paths.items() if path is not None}


def fields_in(snapshot: Snapshot, columns: Collection[str]) -> tuple[int, ...]:
    """The ids of these columns and of all that they are made of."""
    found: dict[int, None] = {}
    for field in snapshot.manifest.fields:  # a field comes after its parent
        if field.parent_id in found or (field.parent_id < 0 and field.name in columns):
            found[field.id] = None
    return tuple(found)


def candidates(snapshot: Snapshot, where: str | None, editor: RowEditor) -> AddressedPlan:
    """The rows that a condition may be TRUE for, with the columns that it names."""
    if where is None:
        return addressed(plan(snapshot, []))
    scan = plan(snapshot, None)
    predicate = row_condition(where, scan.filterable, editor.zone)
    return addressed(plan(snapshot, _named(snapshot, where)).filtered(predicate))


def whole_rows(snapshot: Snapshot, taken: Sequence[str] = (), predicate: Predicate | None = None) -> AddressedPlan:
    """All that is needed of rows in order to write them again; of those, where there is a predicate, for which it may be TRUE."""
    scan = plan(snapshot, [*snapshot.schema.names, ROW_ID] if has_stable_ids(snapshot) else None)
    return addressed(scan.filtered(predicate), taken)


def _named(snapshot: Snapshot, where: str) -> list[str] | None:
    named = references(where)
    if named is None:
        return None
    return [path[0] for path in named if snapshot.schema.find(path[0]) is not None or path[0] == ROW_ID]
