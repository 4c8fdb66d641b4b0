"""How are the rows of a source merged into a table?

Files in which no row can match are not read: those that the condition rules out, and those whose keys lie outside the range of
the source's keys. The rows that a clause is for are found first; then only files that have some of them are written again.
"""

from esker.core.change import RowMerger
from esker.core.merge import Merge, problems
from esker.core.merge_clauses import brought_columns, resolved_clauses
from esker.core.merge_search import find, merged_rows
from esker.core.types import Struct
from esker.delta.append import with_columns_of
from esker.delta.commit import now
from esker.delta.live_adds import live_adds
from esker.delta.merge_history import merge_operation
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
    target = _evolved_for(snapshot, wanted, merger.source)
    specs = RowSpecs.of(changeable(target, only_adds=wanted.is_insert_only), merger.source.names)
    clauses = resolved_clauses(specs, wanted, merger.source)
    found = find(specs, wanted, merger)
    searched = now()
    rows = merged_rows(specs, wanted, clauses, found)
    done = edited(specs, Edits(rows.deleted, rows.updates, rows.inserts), merger)
    if done.is_nothing:
        return snapshot
    times = Times(started, searched, now())
    operation = merge_operation(wanted, done, found.source_rows, found.matches.by_clause, found.unmatched, times)
    metadata = identity_marks(target.metadata, done.written, target.mapping)
    besides = Besides(
        metadata=None if metadata == snapshot.metadata else metadata,
        protocol=None if target.protocol == snapshot.protocol else target.protocol,
    )
    reads = ReadSet(found.conditions, identities(live_adds(specs.snapshot, list(found.files))))
    return published(snapshot, done, operation, reads, besides)


def _evolved_for(snapshot: Snapshot, wanted: Merge, source: Struct) -> Snapshot:
    """The snapshot with the columns that the merge asks for and only the source has, where it asks for that."""
    brought = brought_columns(wanted, snapshot.schema, source)
    return with_columns_of(snapshot, brought) if wanted.evolves_schema else snapshot
