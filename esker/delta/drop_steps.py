"""How are the rows, files and domains of a table freed of a feature, while it still has it?

Each feature that leaves something behind has a step that takes it away, and a test of whether any is left. A step that was broken
off is done again from where it stopped. Rows are moved by whoever the caller brings.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow.compute as pc

from esker.core.arrange import RowArranger
from esker.core.column_paths import spelled
from esker.core.columns import Mask, Rows, mask_of
from esker.delta import row_tracking
from esker.delta.actions import removed_domain
from esker.delta.clustering import DOMAIN as CLUSTERING
from esker.delta.clustering import clustering_columns, clustering_domain
from esker.delta.column_mapping import Mode
from esker.delta.commit import commit
from esker.delta.drop_rules import RECIPES
from esker.delta.live_adds import live_adds
from esker.delta.metadata_commit import committed
from esker.delta.optimize import rewriting
from esker.delta.rearrange import Becoming, purge, rewritten
from esker.delta.row_commit import changeable
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation, gives_row_ids
from esker.delta.vector_tombstones import with_tombstones
from esker.delta.widened_files import widened_files
from esker.errors import Conflict, Unsupported

BATCH = 100_000
"""Files whose row ids one commit takes away."""


def _none(snapshot: Snapshot) -> Mask:
    return np.zeros(len(snapshot.files), dtype=bool)


@dataclass(frozen=True, slots=True)
class Step:
    """`take` frees the table of what the feature left; `left` tells what there is of it; `rewrites` which files that concerns."""

    take: Callable[[Snapshot, RowArranger], Snapshot] = lambda snapshot, arranger: snapshot
    left: Callable[[Snapshot], Iterator[str]] = lambda snapshot: iter(())
    rewrites: Callable[[Snapshot], Mask] = _none


def _purge(snapshot: Snapshot, arranger: RowArranger) -> Snapshot:
    while _with_vectors(snapshot).any():
        snapshot = purge(snapshot, None, arranger)
    return with_tombstones(snapshot)


def _with_vectors(snapshot: Snapshot) -> Mask:
    return mask_of(pc.is_valid(snapshot.files.table.column("deletionVector")))


def _vectors_left(snapshot: Snapshot) -> Iterator[str]:
    if marked := np.count_nonzero(_with_vectors(snapshot)):
        yield f"{marked} files have deletion vectors"


def _unmap(snapshot: Snapshot, arranger: RowArranger) -> Snapshot:
    """All files under the names that users see, in one version with the metadata that says so."""
    after = RECIPES["columnMapping"].clean(snapshot.metadata)
    operation = Operation("REMOVE COLUMN MAPPING")
    if snapshot.mapping is Mode.NONE:
        return committed(snapshot, lambda base: Settled(after, base.protocol), lambda settled: operation)
    whole = changeable(snapshot, only_adds=True)
    columns = clustering_columns(whole)
    stored = whole.as_if(whole.protocol, after)
    domains = (
        (clustering_domain([spelled(path) for path in columns], after.schema, stored.mapping),)
        if columns and CLUSTERING in whole.domains
        else ()
    )
    task = rewriting(whole, _mapped(whole), operation.name, {})
    return rewritten(snapshot, task, arranger, Becoming(after, domains))


def _mapped(snapshot: Snapshot) -> Mask:
    return np.full(len(snapshot.files), snapshot.mapping is not Mode.NONE)


def _widen(snapshot: Snapshot, arranger: RowArranger) -> Snapshot:
    """Files that hold older types are rewritten; once none is left the schema forgets that there were any."""
    clean = RECIPES["typeWidening"].clean
    if clean(snapshot.metadata) == snapshot.metadata:
        return snapshot
    whole = changeable(snapshot, only_adds=True)
    stale = widened_files(whole)
    sound = set(whole.files.table.column("path").filter(~stale).to_pylist())
    task = rewriting(whole, stale, "REORG", {"predicate": [], "applyPurge": False})
    snapshot = rewritten(snapshot, task, arranger)
    # what was just written has the types of the schema
    sound |= set(snapshot.files.table.column("path").to_pylist()) - set(whole.files.table.column("path").to_pylist())

    def decide(base: Snapshot) -> Settled:
        if widened_files(base, sound).any():
            raise Conflict("another writer has brought back files with older types", where=base.location)
        return Settled(clean(base.metadata), base.protocol)

    return committed(snapshot, decide, lambda after: Operation("UPDATE SCHEMA", {"schema": after.metadata.schema_string}))


def _forget_rows(snapshot: Snapshot, arranger: RowArranger) -> Snapshot:
    """All files are added again without row ids, batch by batch, as they are in the newest version."""
    batch = 0
    while len(_with_ids(snapshot)):
        snapshot = commit(snapshot, partial(_without_ids, number=batch), is_rebased=True)
        batch += 1
    return snapshot


def _without_ids(base: Snapshot, number: int) -> Change:
    if gives_row_ids(base.protocol, base.metadata):
        raise Conflict("another writer has the table track rows again", where=base.location)
    adds = live_adds(base, _with_ids(base)[:BATCH].tolist())
    bare = tuple(replace(add, base_row_id=None, default_row_commit_version=None, data_change=False) for add in adds)
    return Change(Operation("ROW TRACKING UNBACKFILL", {"batchId": number}), adds=bare, preserves_row_ids=False)


def _with_ids(snapshot: Snapshot) -> Rows:
    files = snapshot.files.table
    has_some = (pc.is_valid(files.column(name)) for name in ("baseRowId", "defaultRowCommitVersion"))
    return np.flatnonzero(mask_of(pc.or_(*has_some)))


def _ids_left(snapshot: Snapshot) -> Iterator[str]:
    if count := len(_with_ids(snapshot)):
        yield f"{count} files have row ids"


def _clear_domains(snapshot: Snapshot, arranger: RowArranger) -> Snapshot:
    if not snapshot.domains:
        return snapshot

    def apply(base: Snapshot) -> Change:
        # "Writers must only modify or delete system-controlled domains they understand."  Domain Metadata
        if foreign := sorted(n for n in base.domains if n.startswith(_OF_THE_SYSTEM) and n not in _UNDERSTOOD):
            raise Unsupported("domains of features that Esker does not know stay", where=base.location, problems=foreign)
        gone = tuple(removed_domain(domain) for domain in base.domains.values())
        return Change(Operation("DOMAIN METADATA CLEANUP", {"domainsToCleanup": len(gone)}), domains=gone)

    return commit(snapshot, apply, is_rebased=True)


_OF_THE_SYSTEM = "delta."
_UNDERSTOOD = (CLUSTERING, row_tracking.DOMAIN)


def _domains_left(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.domains:
        yield f"the table has the domains {', '.join(sorted(snapshot.domains))}"


def _v2_left(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.checkpoint_is_v2:
        yield "the table rests on a checkpoint of version 2"


STEPS: Mapping[str, Step] = {
    "columnMapping": Step(_unmap, rewrites=_mapped),
    "deletionVectors": Step(_purge, _vectors_left, _with_vectors),
    "domainMetadata": Step(_clear_domains, _domains_left),
    "rowTracking": Step(_forget_rows, _ids_left),
    "typeWidening": Step(_widen, rewrites=widened_files),
    "v2Checkpoint": Step(left=_v2_left),
}
"""The features that leave more behind than metadata."""
