"""How is a feature taken out of a table?  (PROTOCOL.md, "Supported Features"; protocol_rfcs/checkpoint-protection.md)

First writers are kept from using it, then the table is freed of what it left behind, then one commit takes the name out. Older
versions may need the feature all the same. Either checkpoints that any client can read are put between them and the newest, and
clients are told not to touch what lies before; or the older versions are cut off, which has to wait until nobody can be reading
them. Whatever was done stays done: a drop that was broken off, or has to wait, goes on when it is asked for again.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from esker.core.arrange import RowArranger
from esker.core.features import Feature
from esker.core.features import Operation as Door
from esker.core.protocol_changes import Drop, Dropped, Rewriting
from esker.core.types import Json
from esker.delta import properties
from esker.delta.actions import Metadata, removed_domain
from esker.delta.checkpoint_writer import write_checkpoint
from esker.delta.clustering import clustering_columns
from esker.delta.commit import commit, now
from esker.delta.drop_rules import (
    cleaned,
    domains_of,
    downgraded,
    droppable,
    is_protected,
    leaving,
    off,
    only_truncates,
    rounds,
)
from esker.delta.drop_steps import STEPS, Step
from esker.delta.features import Facts
from esker.delta.foresee import foreseen, property_differences, protecting
from esker.delta.history import commits
from esker.delta.log_cleanup import truncate_log
from esker.delta.metadata_commit import committed
from esker.delta.past import last_need
from esker.delta.promises import check_promises
from esker.delta.protocol import without
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot, list_log, load_after
from esker.delta.transaction import Change, Operation
from esker.errors import Conflict

BARRIER = 3
"""Checkpoints that are put between the versions that need a feature and those that do not."""


def drop(snapshot: Snapshot, wanted: Drop, arranger: RowArranger) -> tuple[Snapshot, Dropped]:
    """Take the features out, as far as that can be done now; the table at its new version, and what was done."""
    snapshot = load_after(snapshot)
    names = droppable(snapshot.protocol, snapshot.metadata, wanted.features, wanted.truncates_history)
    snapshot.gate(Door.WRITE, frozenset(names))
    now_is = Settled(snapshot.metadata, snapshot.protocol)
    check_promises(snapshot, foreseen(now_is, wanted, snapshot.version, snapshot.domains, clustering_columns(snapshot)))
    gone: tuple[str, ...] = ()
    for going in rounds(names):
        snapshot = _prepared(snapshot, going, arranger)
        is_bound = is_protected(going) or only_truncates(going)
        if is_bound and wanted.truncates_history:
            snapshot, moment = _truncated(snapshot, going)
            if moment is not None:
                return snapshot, _waiting(snapshot, gone, tuple(name for name in names if name not in gone), moment)
        is_fast = is_protected(going) and not wanted.truncates_history
        if is_fast:
            snapshot = _walled_off(snapshot, going)
        snapshot = _downgraded(snapshot, going, wanted.truncates_history)
        if is_fast:
            snapshot = _checkpointed(snapshot, ())
        gone += going
    return snapshot, Dropped(snapshot.location, snapshot.version, str(snapshot.protocol), gone)


def to_be_rewritten(snapshot: Snapshot, names: Iterable[str]) -> Rewriting:
    """The files that dropping these features rewrites."""
    wanted = np.zeros(len(snapshot.files), dtype=bool)
    for step in _steps(leaving(snapshot.protocol, names)):
        wanted |= step.rewrites(snapshot)
    files = snapshot.files.table.filter(pa.array(wanted))
    return Rewriting(tuple(files.column("path").to_pylist()), sum(size or 0 for size in files.column("size").to_pylist()))


def _steps(features: Iterable[Feature[Facts]]) -> Iterator[Step]:
    return (STEPS[feature.name] for feature in features if feature.name in STEPS)


def _prepared(snapshot: Snapshot, names: Sequence[str], arranger: RowArranger) -> Snapshot:
    """The table with the features turned off, and freed of what they left behind."""
    features = leaving(snapshot.protocol, names)
    before = snapshot.metadata
    snapshot = committed(
        snapshot,
        lambda base: Settled(off(base.metadata, features), base.protocol),
        lambda after: _property_operation(before, after.metadata),
        frozenset(names),
    )
    for step in _steps(features):
        snapshot = step.take(snapshot, arranger)
    return snapshot


def _property_operation(before: Metadata, after: Metadata) -> Operation:
    changed = property_differences(before, after)
    if fresh := {key: text for key, text in changed.items() if text is not None}:
        return Operation("SET TBLPROPERTIES", {"properties": {**fresh}})
    return Operation("UNSET TBLPROPERTIES", {"properties": [*changed], "ifExists": True})


def _walled_off(snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
    """Empty versions with checkpoints of them: whoever starts from one need not know what came before."""
    for _ in range(BARRIER):
        snapshot = _checkpointed(_empty_version(snapshot, names), names)
    return snapshot


def _empty_version(snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
    return commit(snapshot, lambda base: Change(Operation("Empty Commit")), is_rebased=True, excused=frozenset(names))


def _checkpointed(snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
    return snapshot.resting_on(write_checkpoint(snapshot, now(), excused=frozenset(names)))


def _downgraded(snapshot: Snapshot, names: Sequence[str], truncates_history: bool) -> Snapshot:
    """The table without the names. What has to hold is looked at again in the version that the commit follows."""
    protects = is_protected(names) and not truncates_history
    parameters: dict[str, Json] = {"featureName": ", ".join(names), "truncateHistory": truncates_history}

    def apply(base: Snapshot) -> Change:
        features = leaving(base.protocol, names)
        if problems := [*_left(base, features)]:
            raise Conflict(
                f"another writer has used {', '.join(names)} meanwhile", where=base.location, problems=problems,
                hint="Drop the feature again: what was done stays done.",
            )  # fmt: skip
        metadata = downgraded(base.metadata, features)
        if protects:
            metadata = protecting(metadata, base.version + 1)
        gone = domains_of(features) & base.domains.keys()
        return Change(
            Operation("DROP FEATURE", parameters),
            metadata=None if metadata == base.metadata else metadata,
            protocol=without(base.protocol, names, protects),
            domains=tuple(removed_domain(base.domains[name]) for name in sorted(gone)),
        )

    return commit(snapshot, apply, excused=frozenset(names))


def _left(base: Snapshot, features: Iterable[Feature[Facts]]) -> Iterator[str]:
    """What the features have left in the table."""
    wanted = tuple(features)
    if changed := property_differences(base.metadata, off(base.metadata, wanted)):
        yield f"the properties {', '.join(changed)} were changed"
    if cleaned(base.metadata, wanted) != base.metadata:
        yield "the metadata of columns was changed"
    for step in _steps(wanted):
        yield from step.left(base)


def _truncated(snapshot: Snapshot, names: Sequence[str]) -> tuple[Snapshot, datetime | None]:
    """The table without the versions that need the features; or with them, and the moment at which they can go."""
    truncate_log(snapshot, now(), frozenset(names))
    needed = _last_needed(snapshot, names)
    if needed is None:
        return snapshot, None
    listing = list_log(snapshot.place.storage)
    # a clean-up must not stop short of what is protected
    first = max(needed + 1, properties.protected_before_version(snapshot.metadata.configuration))
    base = min((v for v in listing.checkpoints if v >= first and v in listing.commits), default=None)
    if base is None:
        snapshot = _checkpointed(_empty_version(snapshot, names), names)
        base = snapshot.version
    return snapshot, _goes_at(snapshot, base)


def _last_needed(snapshot: Snapshot, names: Sequence[str]) -> int | None:
    """The newest version in the log that cannot do without the features."""
    found = last_need(snapshot, [feature.name for feature in leaving(snapshot.protocol, names)])
    if not only_truncates(names):
        return found
    protected = properties.protected_before_version(snapshot.metadata.configuration)
    listing = list_log(snapshot.place.storage)
    guarded = (v for v in (*listing.commits, *listing.checkpoints) if v < protected)
    return max((v for v in (found, *guarded) if v is not None), default=None)


def _goes_at(snapshot: Snapshot, version: int) -> datetime:
    """When all that came before a version is old enough to go: its own age counts, and minutes are counted whole."""
    (commit,) = commits(snapshot, [version])
    kept = properties.truncated_history_retention(snapshot.metadata.configuration)
    moment = datetime.fromtimestamp(commit.timestamp / 1000, UTC) + kept
    return moment.replace(second=0, microsecond=0) + timedelta(minutes=1)


def _waiting(snapshot: Snapshot, gone: tuple[str, ...], left: tuple[str, ...], moment: datetime) -> Dropped:
    why = "older versions need what is dropped, and stay until readers of them had time to finish"
    return Dropped(snapshot.location, snapshot.version, str(snapshot.protocol), gone, left, why, moment)
