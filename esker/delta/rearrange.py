"""How are files rewritten without a change of their rows?  (PROTOCOL.md, "Add File and Remove File", "Row Tracking")

`dataChange` is false: "an action when combined with other actions in the same atomic version only rearranges existing data". Rows
keep their values, their ids and the versions that wrote them, and the change feed tells nothing of it. Rivals that add rows do
not matter; those that removed or changed one of the same files do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from esker.core.arrange import Layout, OptimizePlan, Packed, Rearrangement, RowArranger
from esker.core.predicate import Truth
from esker.core.write import WriteSpec, WrittenFile
from esker.delta.actions import Add, DomainMetadata, Metadata, removed
from esker.delta.clustering import clustering_columns
from esker.delta.commit import now
from esker.delta.leftovers import commit_or_discard, discarding
from esker.delta.live_adds import live_adds
from esker.delta.optimize import Task, Zone, optimizing, purging
from esker.delta.row_commit import changeable
from esker.delta.row_specs import RowSpecs
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation, ReadSet, identities
from esker.delta.writing import added
from esker.errors import InvalidTable


def optimize(snapshot: Snapshot, layout: Layout, arranger: RowArranger) -> Snapshot:
    """Lay out files anew. Where there is nothing to gain, the table stays at its version."""
    return rewritten(snapshot, optimizing(changeable(snapshot, only_adds=True), layout, _zone(arranger)), arranger)


def plan_optimize(snapshot: Snapshot, layout: Layout, arranger: RowArranger) -> OptimizePlan:
    """What `optimize` would rewrite."""
    return optimizing(changeable(snapshot, only_adds=True), layout, _zone(arranger)).plan


def purge(snapshot: Snapshot, where: str | None, arranger: RowArranger) -> Snapshot:
    """Rewrite the files that have deletion vectors. Where there are none, the table stays at its version."""
    return rewritten(snapshot, purging(changeable(snapshot, only_adds=True), where, _zone(arranger)), arranger)


def _zone(arranger: RowArranger) -> Zone:
    return lambda: arranger.zone


@dataclass(frozen=True, slots=True)
class Becoming:
    """What else changes in the version that the rewritten files make: they are then stored as this metadata says."""

    metadata: Metadata
    domains: tuple[DomainMetadata, ...] = ()


def rewritten(read_at: Snapshot, task: Task, arranger: RowArranger, becoming: Becoming | None = None) -> Snapshot:
    """The table with the task done. Where there is nothing to do, it stays at its version."""
    if not len(task.choice) and becoming is None:
        return read_at
    specs = RowSpecs.of(task.snapshot)
    after = task.snapshot if becoming is None else task.snapshot.as_if(task.snapshot.protocol, becoming.metadata)
    files = _written(specs, replace(specs, snapshot=after).copied, task, arranger)
    gone = tuple(live_adds(task.snapshot, task.choice.files.tolist()))
    clustering = clustering_columns(task.snapshot) or ()
    fresh = _adds(task, added(files, after.metadata, after.mapping, data_change=False, clustering=clustering))
    operation = Operation(task.operation, task.parameters, metrics(fresh, gone))
    # Files that a rival adds are stored as before, and would not be understood.
    conditions = () if becoming is None else (Truth(True),)

    def apply(base: Snapshot) -> Change:
        return Change(
            operation=operation,
            adds=fresh,
            removes=tuple(removed(add, now(), data_change=False) for add in gone),
            metadata=None if becoming is None else becoming.metadata,
            domains=() if becoming is None else becoming.domains,
            reads=ReadSet(conditions, identities(gone)),
            preserves_row_ids=specs.keeps_row_ids,
        )

    return commit_or_discard(read_at, apply, [file.path for file in files])


def _written(specs: RowSpecs, spec: WriteSpec, task: Task, arranger: RowArranger) -> tuple[WrittenFile, ...]:
    if not len(task.choice):
        return ()
    rearrangement = _rearrangement(specs, spec, task)
    with discarding(task.snapshot.place.storage, (specs.folder,)):
        files = arranger.rearranged(rearrangement)
        _check(files, rearrangement)
    return files


def _rearrangement(specs: RowSpecs, spec: WriteSpec, task: Task) -> Rearrangement:
    choice = task.choice
    keep = np.zeros(len(specs.rows), dtype=bool)
    keep[choice.files] = True
    order = np.argsort(choice.files)  # the plan has its files in the order of the snapshot
    rows = task.facts.rows[choice.files]
    return Rearrangement(
        plan=specs.rows.only(keep),
        part=choice.part[order],
        pieces=choice.pieces,
        order=task.order or Packed(choice.piece[order]),
        spec=spec,
        rows=None if (rows < 0).any() else int(rows.sum()),
    )


def _check(files: Sequence[WrittenFile], rearrangement: Rearrangement) -> None:
    """Raise where rows were lost or came twice."""
    written = sum(file.statistics.rows for file in files)
    if rearrangement.rows is not None and written != rearrangement.rows:
        raise InvalidTable(
            f"{rearrangement.rows} rows had to be written, and {written} were",
            where=rearrangement.plan.location,
            hint="Look whether numRecords of the files is right. Nothing was changed.",
        )


def _adds(task: Task, adds: Sequence[Add]) -> tuple[Add, ...]:
    return tuple(replace(add, clustering_provider=task.provider, tags=task.tags or None) for add in adds)


def metrics(fresh: Sequence[Add], gone: Sequence[Add]) -> dict[str, int]:
    """What DESCRIBE HISTORY tells of an OPTIMIZE or a REORG; the sizes are those of the added files."""
    sizes = sorted(add.size for add in fresh) or [0]
    quarters = {f"p{quarter * 25}FileSize": sizes[len(sizes) * quarter // 4] for quarter in (1, 2, 3)}
    return {
        "numAddedFiles": len(fresh),
        "numRemovedFiles": len(gone),
        "numAddedBytes": sum(add.size for add in fresh),
        "numRemovedBytes": sum(add.size for add in gone),
        "minFileSize": sizes[0],
        **quarters,
        "maxFileSize": sizes[-1],
        "numDeletionVectorsRemoved": sum(add.deletion_vector is not None for add in gone),
    }
