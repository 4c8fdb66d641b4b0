"""May a change be committed after what rivals have committed since its rows were read?

The rules that Delta's writers share, under their names: a change is lost where a rival changed the protocol or the metadata,
added rows that the change would have had to read, or removed a file that it read, removes or adds again; and one that adds rows
where a rival changed the clustering columns. Another deletion vector for a file removes it too, so rivals that delete rows of
one file conflict. Under `Serializable` every rival's rows count, under `WriteSerializable` those of blind appends do not, if the
change leaves the metadata alone; a change that only rearranges rows is not concerned by added ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import int64
from esker.core.predicate import Predicate, Truth
from esker.delta import json_log
from esker.delta.actions import JsonObject
from esker.delta.clustering import DOMAIN as CLUSTERING
from esker.delta.file_actions import FileActions, add_schema, from_json
from esker.delta.log import Commit
from esker.delta.plan import Pruner
from esker.delta.replay import LiveFiles
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import REBASED_DOMAINS, Change
from esker.errors import Conflict

SERIALIZABLE = "Serializable"
WRITE_SERIALIZABLE = "WriteSerializable"


@dataclass(frozen=True)
class RivalCommit:
    """A commit that came between."""

    version: int
    info: JsonObject
    kinds: frozenset[str]
    apps: frozenset[str]
    domains: frozenset[str]
    partitions: tuple[str, ...]
    """The physical names of the partition columns."""
    data: bytes = field(repr=False)
    where: str

    @cached_property
    def files(self) -> FileActions:
        return from_json(self.data, add_schema(self.partitions, with_stats=True), self.where)

    @property
    def removed(self) -> frozenset[str]:
        """The paths of the files that it removed. Most commits only add, and then nothing is parsed."""
        return frozenset(self.files.removes.column("path").to_pylist()) if json_log.has_kind(self.data, "remove") else frozenset()

    @property
    def title(self) -> str:
        return f"version {self.version} ({self.info.get('operation', 'by an unnamed operation')})"

    @property
    def is_blind_append(self) -> bool:
        return self.info.get("isBlindAppend") is True


def parse_rival(data: bytes, commit: Commit, partitions: Sequence[str], where: str) -> RivalCommit:
    """What a rival did, from its commit file. `partitions` are the physical names of the partition columns."""
    kinds = ["commitInfo", "protocol", "metaData", "txn", "domainMetadata"]
    found = list(json_log.find(data, kinds, where))
    return RivalCommit(
        version=commit.version,
        info=next((body for kind, body in found if kind == "commitInfo"), {}),
        kinds=frozenset(kind for kind, _ in found),
        apps=frozenset(str(body.get("appId")) for kind, body in found if kind == "txn"),
        domains=frozenset(str(body.get("domain")) for kind, body in found if kind == "domainMetadata"),
        partitions=tuple(partitions),
        data=data,
        where=where,
    )


def check(change: Change, rivals: Sequence[RivalCommit], read_at: Snapshot, isolation: str) -> None:
    """Raise `Conflict`, naming each rival and what it did, where the change cannot follow these rivals."""
    problems = [f"{rival.title} {what}" for rival in rivals for what in _conflicts(change, rival, read_at, isolation)]
    if problems:
        raise Conflict(
            f"another writer was first, and {change.operation.name} cannot follow it",
            where=read_at.location,
            problems=problems,
            hint="Read the table again and repeat the operation.",
        )


def _conflicts(change: Change, rival: RivalCommit, read_at: Snapshot, isolation: str) -> Iterator[str]:
    if "protocol" in rival.kinds:
        yield "changed the protocol"
    if "metaData" in rival.kinds:
        yield "changed the schema or the properties"
    if rival.version > change.asked_at and (both := sorted(rival.apps & {txn.app_id for txn in change.txns})):
        yield f"recorded progress of the same application: {', '.join(both)}"
    if both := sorted((rival.domains & {d.domain for d in change.domains}) - REBASED_DOMAINS):
        yield f"wrote the same domain metadata: {', '.join(both)}"
    # "Writers must write out [...] per-column statistics for clustering columns": what was written knows of the older ones
    if CLUSTERING in rival.domains and any(add.data_change for add in change.adds):
        yield "changed the clustering columns"
    if added := _rows_to_be_read(change, rival, read_at, isolation):
        yield f"added rows that had to be read: {_shown(added)}"
    gone = rival.removed
    if read := gone & {path for path, _ in change.reads.files}:
        yield f"removed or changed files that were read: {_shown(sorted(read))}"
    elif taken := gone & {remove.path for remove in change.removes}:
        yield f"removed or changed files that are to be removed: {_shown(sorted(taken))}"
    elif back := gone & {add.path for add in change.adds}:
        yield f"removed or changed files that are to be added again: {_shown(sorted(back))}"


def _rows_to_be_read(change: Change, rival: RivalCommit, read_at: Snapshot, isolation: str) -> list[str]:
    """The files with new rows that may fulfil a condition by which the change read."""
    # Rules that a change makes for all rows are broken by rows of which it knows nothing, whoever appended them.
    ignored = isolation == WRITE_SERIALIZABLE and rival.is_blind_append and change.metadata is None
    if not change.reads.conditions or change.only_rearranges or ignored:
        return []
    adds = rival.files.adds
    fresh = adds.filter(pc.fill_null(adds.column("dataChange"), True))
    if not fresh.num_rows:
        return []
    pruner = Pruner(read_at.pinned(LiveFiles(fresh, (fresh.num_rows,))))
    hit: list[str] = []
    for condition in change.reads.conditions:
        kept = fresh if condition == Truth(True) else fresh.take(_rows(pruner, condition))
        hit += kept.column("path").to_pylist()
    return hit


def _rows(pruner: Pruner, condition: Predicate) -> pa.Array:
    return int64(np.flatnonzero(pruner(condition)))


def _shown(paths: Sequence[str], most: int = 3) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more
