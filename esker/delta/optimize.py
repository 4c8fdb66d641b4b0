"""Which files of a table are better laid out anew?  (PROTOCOL.md, "Clustered Table")

Small files are packed, the rows of whole partitions laid along a Z-order curve, or those of a clustered table along a Hilbert
curve. Nothing is read but the log.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import tzinfo
from uuid import uuid4

import numpy as np
import orjson
import pyarrow.compute as pc

from esker.core.arrange import Curved, Layout, OptimizePlan
from esker.core.column_paths import spelled
from esker.core.columns import Mask, Rows, int64, mask_of, rows_of
from esker.core.curve import MOST_COLUMNS, CurveKind
from esker.core.expressions import row_condition
from esker.core.packing import TARGET_SIZE, Choice, FileFacts, gathered, is_worn, packed, small
from esker.core.predicate import Path, columns, opaque_parts
from esker.core.skipping import outcomes
from esker.core.types import Json
from esker.delta import properties
from esker.delta.clustering import PROVIDER, clustering_columns, resolved
from esker.delta.column_mapping import physical_path
from esker.delta.plan import Pruner
from esker.delta.reclustering import CLUSTER, COLUMNS, ClusteredFiles, to_cluster
from esker.delta.reconciliation import reconciled
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest

Zone = Callable[[], tzinfo | None]
"""Gives the zone of times that are written without one. It may have to start Spark, so it is asked only when it counts."""


@dataclass(frozen=True)
class Task:
    """What is to be rewritten and how, and what is said of it afterwards."""

    snapshot: Snapshot
    facts: FileFacts
    choice: Choice
    operation: str
    parameters: dict[str, Json]
    order: Curved | None = None
    tags: dict[str, str | None] = field(default_factory=dict)
    """Of the files that come of it."""

    @property
    def provider(self) -> str | None:
        """Who clustered the files that come of it."""
        return PROVIDER if self.tags else None

    @property
    def plan(self) -> OptimizePlan:
        """What is told of it beforehand."""
        chosen = self.snapshot.files.table.take(int64(self.choice.files))
        size = pc.sum(chosen.column("size")).as_py() or 0
        paths = tuple(chosen.column("path").to_pylist())
        return OptimizePlan(self.snapshot.location, self.snapshot.version, paths, size, int(self.choice.pieces.sum()))


def optimizing(snapshot: Snapshot, layout: Layout, zone: Zone) -> Task:
    """What an OPTIMIZE of this snapshot rewrites. Raises `InvalidRequest` for what cannot be asked of the table."""
    clustering = clustering_columns(snapshot) or ()
    z_order = _z_order(snapshot, layout, clustering)
    target = _target(snapshot, layout)
    wanted = _within(snapshot, layout.where, zone)
    facts = file_facts(snapshot)
    parameters: dict[str, Json] = {
        "predicate": [] if layout.where is None else [layout.where], "zOrderBy": [spelled(path) for path in z_order],
        "clusterBy": [spelled(path) for path in clustering], "auto": False,
    }  # fmt: skip
    if clustering:
        parameters |= {"isFull": True} if layout.is_full else {}
        return _clustering(snapshot, facts, clustering, layout.is_full, target, parameters)
    if z_order:
        choice = gathered(facts, wanted, target)
        return Task(snapshot, facts, choice, "OPTIMIZE", parameters, Curved(CurveKind.Z_ORDER, z_order))
    choice = packed(facts, wanted & small(facts, target), target)
    return Task(snapshot, facts, choice, "OPTIMIZE", parameters)


def purging(snapshot: Snapshot, where: str | None, zone: Zone) -> Task:
    """What a REORG rewrites: every file with a deletion vector."""
    wanted = _within(snapshot, where, zone)
    facts = file_facts(snapshot)
    choice = packed(facts, wanted & facts.has_vector, _target(snapshot, Layout()))
    parameters: dict[str, Json] = {"predicate": [] if where is None else [where], "applyPurge": True}
    return Task(snapshot, facts, choice, "REORG", parameters)


def rewriting(snapshot: Snapshot, wanted: Mask, operation: str, parameters: dict[str, Json]) -> Task:
    """What rewrites each of these files, for the sake of how it is stored."""
    facts = file_facts(snapshot)
    return Task(snapshot, facts, packed(facts, wanted, _target(snapshot, Layout()), is_forced=True), operation, parameters)


def file_facts(snapshot: Snapshot) -> FileFacts:
    """What the log says of the live files."""
    table = snapshot.files.table
    records = rows_of(pc.fill_null(snapshot.statistics.num_records(), -1))
    vectors = table.column("deletionVector").combine_chunks()
    dead = rows_of(pc.fill_null(pc.struct_field(vectors, "cardinality"), 0))
    is_known = records > 0
    share = np.where(is_known, dead / np.maximum(records, 1), 0.0)
    sizes = rows_of(pc.fill_null(table.column("size"), 0))
    return FileFacts(
        size=(sizes * (1 - share)).astype(np.int64),
        partition=_partitions(snapshot),
        rows=np.where(records >= 0, records - dead, -1),
        dead=share,
        has_vector=mask_of(pc.is_valid(vectors)),
    )


def _partitions(snapshot: Snapshot) -> Rows:
    """The same number for files of one partition."""
    values = snapshot.files.table.column("partitionValues").combine_chunks()
    number = np.zeros(len(values), np.int64)
    for texts in values.flatten():
        codes = rows_of(pc.dictionary_encode(texts, null_encoding="encode").indices)
        number = np.unique(number * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return number


def _target(snapshot: Snapshot, layout: Layout) -> int:
    if layout.target_size is None:
        return properties.target_file_size(snapshot.metadata.configuration) or TARGET_SIZE
    if layout.target_size <= 0:
        raise InvalidRequest(f"files of {layout.target_size} bytes cannot be", where=snapshot.location)
    return layout.target_size


def _within(snapshot: Snapshot, where: str | None, zone: Zone) -> Mask:
    """The files of the partitions that the condition is about."""
    if where is None:
        return np.ones(len(snapshot.files), dtype=bool)
    predicate = row_condition(where, snapshot.schema, zone())
    partitions = {f.name for f in snapshot.partition_fields}
    foreign = dict.fromkeys(spelled(path) for path in columns(predicate) if path[0] not in partitions)
    problems = [f"{name} is no partition column" for name in foreign]
    problems += [f"it cannot be told of a partition's values whether {text}" for text in opaque_parts(predicate)]
    if problems:
        raise InvalidRequest("whole partitions are rewritten, and this is no condition on them", where=snapshot.location,
                             problems=problems)  # fmt: skip
    return outcomes(predicate, Pruner(snapshot)).may_true


def _z_order(snapshot: Snapshot, layout: Layout, clustering: tuple[Path, ...]) -> tuple[Path, ...]:
    """The columns to lay rows out by, in the schema's spelling."""
    if layout.is_full and not clustering:
        raise InvalidRequest("full is for clustered tables, and this is none", where=snapshot.location)
    if not layout.z_order_by:
        return ()
    if clustering:
        raise InvalidRequest(
            "the table is clustered, so its rows are not laid out by other columns", where=snapshot.location,
            hint="cluster_by changes the clustering columns.",
        )  # fmt: skip
    paths = resolved(layout.z_order_by, snapshot.schema)
    partitions = {f.name for f in snapshot.partition_fields}
    indexed = properties.indexed_columns(snapshot.metadata)
    problems = [f"{spelled(path)} is a partition column" for path in paths if path[0] in partitions]
    problems += [
        f"{spelled(path)} has no statistics, so that no file could be skipped by it"
        for path in paths
        if path not in indexed and path[0] not in partitions
    ]
    if len(paths) > MOST_COLUMNS:
        problems.append(f"{len(paths)} columns are more than the {MOST_COLUMNS} that a curve can follow")
    if problems:
        raise InvalidRequest("rows cannot be laid out by these columns", where=snapshot.location, problems=problems)
    return paths


def _clustering(
    snapshot: Snapshot, facts: FileFacts, paths: tuple[Path, ...], is_full: bool, target: int, parameters: dict[str, Json]
) -> Task:
    if len(paths) > MOST_COLUMNS:
        raise InvalidRequest(f"a curve can follow {MOST_COLUMNS} columns, not {len(paths)}", where=snapshot.location)
    stored = orjson.dumps([physical_path(snapshot.schema, path, snapshot.mapping) for path in paths]).decode()
    candidates = np.ones(len(facts.size), dtype=bool)
    if not is_full:
        candidates = to_cluster(_clustered_files(snapshot, facts), stored, is_worn(facts))
    tags: dict[str, str | None] = {CLUSTER: str(uuid4()), COLUMNS: stored}
    choice = gathered(facts, candidates, target)
    return Task(snapshot, facts, choice, "OPTIMIZE", parameters, Curved(CurveKind.HILBERT, paths), tags)


def _clustered_files(snapshot: Snapshot, facts: FileFacts) -> ClusteredFiles:
    """The clustering of the live files, whose tags a scan has no use for and which are looked up here."""
    whole = reconciled(snapshot).live.table
    by_path = dict(zip(whole.column("path").to_pylist(), whole.column("tags").to_pylist(), strict=True))
    table = snapshot.files.table
    tags = [None if (pairs := by_path.get(path)) is None else dict(pairs) for path in table.column("path").to_pylist()]
    return ClusteredFiles(facts.size, table.column("clusteringProvider").to_pylist(), tags)
