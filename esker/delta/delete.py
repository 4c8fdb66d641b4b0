"""How are rows deleted?

Files all of whose rows must match, by their partition values and statistics, are removed without being read; files without a
possible match are left alone. Only the others are searched.
"""

from dataclasses import dataclass

import numpy as np

from esker.core.change import RowEditor, RowPositions
from esker.core.expressions import row_condition
from esker.core.predicate import Predicate, Truth
from esker.core.skipping import outcomes
from esker.delta.commit import now
from esker.delta.live_adds import live_adds
from esker.delta.plan import Pruner
from esker.delta.row_commit import Times, changeable, file_metrics, published
from esker.delta.row_edits import Edits, edited
from esker.delta.row_specs import RowSpecs
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Operation, ReadSet, identities


@dataclass(frozen=True)
class Doomed:
    """The rows that a condition is TRUE for: those of whole files, and others by their positions."""

    whole: tuple[int, ...]
    rows: RowPositions
    reads: ReadSet


def delete(snapshot: Snapshot, where: str | None, editor: RowEditor) -> Snapshot:
    """Delete the rows for which the condition is TRUE, or all. Where there are none, the table stays at its version."""
    started = now()
    specs = RowSpecs.of(changeable(snapshot))
    found = doomed(specs, where, editor)
    searched = now()
    done = edited(specs, Edits(found.rows, whole=found.whole), editor)
    if done.is_nothing:
        return snapshot
    metrics = file_metrics(done) | Times(started, searched, now()).metrics()
    if done.counts.deleted is not None:
        metrics["numDeletedRows"] = done.counts.deleted
    operation = Operation("DELETE", {"predicate": [] if where is None else [where]}, metrics)
    return published(snapshot, done, operation, found.reads)


def doomed(specs: RowSpecs, where: str | None, editor: RowEditor) -> Doomed:
    """Find the rows, and what has to be read for that."""
    snapshot = specs.snapshot
    predicate: Predicate = Truth(True) if where is None else row_condition(where, snapshot.schema, editor.zone)
    possible = outcomes(predicate, Pruner(snapshot))
    whole = tuple(np.flatnonzero(possible.must_be_true).tolist())
    perhaps = np.flatnonzero(possible.may_true & ~possible.must_be_true).tolist()
    rows: RowPositions = {}
    if perhaps:
        (rows,) = editor.matching(specs.target.only(perhaps), [where])
    read = frozenset(identities(live_adds(snapshot, [*whole, *perhaps])))
    return Doomed(whole, rows, ReadSet((predicate,), read))
