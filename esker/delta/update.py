"""How do rows get other values?"""

from collections.abc import Mapping

import numpy as np

from esker.core.assignments import assignments
from esker.core.change import Expression, RowEditor, RowUpdate
from esker.core.expressions import row_condition
from esker.core.predicate import Predicate, Truth
from esker.delta.commit import now
from esker.delta.live_adds import live_adds
from esker.delta.plan import Pruner
from esker.delta.row_commit import Times, changeable, file_metrics, published
from esker.delta.row_edits import Edits, edited
from esker.delta.row_specs import RowSpecs
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Operation, ReadSet, identities


def update(snapshot: Snapshot, values: Mapping[str, Expression], where: str | None, editor: RowEditor) -> Snapshot:
    """Set columns in the rows for which the condition is TRUE. Where there are none, the table stays at its version."""
    started = now()
    specs = RowSpecs.of(changeable(snapshot))
    paths = assignments(specs, values)
    predicate: Predicate = Truth(True) if where is None else row_condition(where, specs.snapshot.schema, editor.zone)
    candidates = np.flatnonzero(Pruner(specs.snapshot)(predicate)).tolist()
    if not candidates:
        return snapshot
    (rows,) = editor.matching(specs.target.only(candidates), [where])
    searched = now()
    done = edited(specs, Edits(updates=(RowUpdate(rows, paths, specs.updated(list(paths))),) if rows else ()), editor)
    if done.is_nothing:
        return snapshot
    metrics = file_metrics(done) | {"numUpdatedRows": done.counts.updated} | Times(started, searched, now()).metrics()
    operation = Operation("UPDATE", {"predicate": [] if where is None else [where]}, metrics)
    reads = ReadSet((predicate,), identities(live_adds(specs.snapshot, candidates)))
    return published(snapshot, done, operation, reads)
