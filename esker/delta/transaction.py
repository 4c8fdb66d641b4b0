"""What does one commit do to the table?  (PROTOCOL.md, "Actions", "Row Tracking", "In-Commit Timestamps")

Pure. A `Change` says what somebody wants; `finished` makes of it the lines of version N, on top of version N - 1: fresh row
ids, timestamps and high-water marks come from the state that the commit follows, so the same change can be finished again on top
of a later one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import orjson

from esker.core.predicate import Predicate
from esker.core.types import Json
from esker.delta import row_tracking
from esker.delta.actions import Action, Add, AddCdc, DomainMetadata, Metadata, Remove, Txn, action_json
from esker.delta.history import ENABLED as TIMESTAMPS_ENABLED
from esker.delta.history import ENABLEMENT_TIMESTAMP, ENABLEMENT_VERSION
from esker.delta.properties import row_tracking_suspended
from esker.delta.protocol import Protocol, is_supported

# Every commit writes it anew, from the state that it follows.
REBASED_DOMAINS = frozenset({row_tracking.DOMAIN})

Identity: TypeAlias = tuple[str, str | None]
"""The path of a file and the unique id of its deletion vector."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What the history is to say of a commit, in the words of DESCRIBE HISTORY."""

    name: str
    parameters: Mapping[str, Json] = field(default_factory=dict, hash=False)
    metrics: Mapping[str, int] = field(default_factory=dict, hash=False)
    user_metadata: str | None = None


@dataclass(frozen=True, slots=True)
class ReadSet:
    """What was read to decide on a change: rows by conditions on the table's columns, and files."""

    conditions: tuple[Predicate, ...] = ()
    files: frozenset[Identity] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be committed."""

    operation: Operation
    adds: tuple[Add, ...] = ()
    removes: tuple[Remove, ...] = ()
    changed_rows: tuple[AddCdc, ...] = ()
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    txns: tuple[Txn, ...] = ()
    asked_at: int = -1
    """The version up to which it is known that nobody has done what `txns` say."""
    domains: tuple[DomainMetadata, ...] = ()
    reads: ReadSet = ReadSet()
    preserves_row_ids: bool = True

    @property
    def changes_data(self) -> bool:
        return any(a.data_change for a in self.adds) or any(r.data_change for r in self.removes)

    @property
    def only_rearranges(self) -> bool:
        """Whether the rows, and all that is said of the table, stay as they are."""
        is_silent = self.metadata is None and self.protocol is None and not self.txns
        return is_silent and not self.changes_data and all(d.domain in REBASED_DOMAINS for d in self.domains)

    @property
    def is_blind_append(self) -> bool:
        """Whether rows are added without a look at those that are there."""
        only_adds = not self.removes and self.metadata is None and self.protocol is None
        return only_adds and bool(self.adds) and self.reads == ReadSet()


@dataclass(frozen=True, slots=True)
class Base:
    """What a commit builds on: the state at the version before it. Version -1 is before the table was there."""

    version: int
    protocol: Protocol
    metadata: Metadata
    timestamp: int | None
    """Of the version's commit; of its file where commits carry no timestamps."""
    row_id_mark: Callable[[], int]
    """The highest row id that was given out, -1 for none."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A version that is ready to be written."""

    version: int
    change: Change
    protocol: Protocol
    metadata: Metadata
    in_commit_timestamp: int | None
    transaction: str
    data: bytes


def finished(change: Change, base: Base, now: int, transaction: str, isolation: str, engine: str) -> Finished:
    """The commit file of the version after `base`. `now` is in milliseconds since the epoch."""
    version = base.version + 1
    protocol = change.protocol or base.protocol
    stamp = _in_commit_timestamp(change.metadata or base.metadata, protocol, base, now)
    ready = _with_enablement(change, base, version, stamp)
    if gives_row_ids(protocol, change.metadata or base.metadata):
        ready = _with_row_ids(ready, base, version)
    info = _commit_info(ready, base.version, now, stamp, transaction, isolation, engine)
    lines: Iterator[dict[str, Json]] = (action_json(action) for action in _actions(ready))
    # "The `commitInfo` action must be the first action in the commit."  Writer Requirements for In-Commit Timestamps
    data = b"".join(orjson.dumps(line) + b"\n" for line in ({"commitInfo": info}, *lines))
    return Finished(version, ready, protocol, ready.metadata or base.metadata, stamp, transaction, data)


def gives_row_ids(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether files that are added get row ids: the table supports row tracking and has not suspended it."""
    return is_supported(protocol, "rowTracking") and not row_tracking_suspended(metadata.configuration)


def _actions(change: Change) -> Iterator[Action]:
    if change.protocol is not None:
        yield change.protocol
    if change.metadata is not None:
        yield change.metadata
    yield from change.txns
    yield from change.domains
    yield from change.removes
    yield from change.adds
    yield from change.changed_rows


def _in_commit_timestamp(metadata: Metadata, protocol: Protocol, base: Base, now: int) -> int | None:
    if not _has_timestamps(metadata, protocol):
        return None
    # "the larger of two values: The time [...] at which the writer attempted the commit; One millisecond later than the
    # previous commit's `inCommitTimestamp`", or than its file's time where the commit enables them
    return now if base.timestamp is None else max(now, base.timestamp + 1)


def _has_timestamps(metadata: Metadata, protocol: Protocol) -> bool:
    enabled = metadata.configuration.get(TIMESTAMPS_ENABLED, "false").lower() == "true"
    return enabled and is_supported(protocol, "inCommitTimestamp")


def _with_enablement(change: Change, base: Base, version: int, stamp: int | None) -> Change:
    """Where timestamps are enabled in a table that has older commits, "provenance information [...] must be tracked".

    That holds whatever the commit makes of the metadata, and where it is the protocol that comes to honour the property.
    """
    if stamp is None or version == 0:
        return change
    before, after = base.metadata.configuration, (change.metadata or base.metadata).configuration
    since = {ENABLEMENT_VERSION: str(version), ENABLEMENT_TIMESTAMP: str(stamp)}
    if _has_timestamps(base.metadata, base.protocol):
        since = {name: before[name] for name in since if name in before}
    told = {**{name: text for name, text in after.items() if name not in _SINCE}, **since}
    return change if told == after else replace(change, metadata=replace(change.metadata or base.metadata, configuration=told))


_SINCE = (ENABLEMENT_VERSION, ENABLEMENT_TIMESTAMP)


def _with_row_ids(change: Change, base: Base, version: int) -> Change:
    """Fresh ids and this version's number for every file that comes without, beyond the high-water mark.

    "Writers must set the `baseRowId` field in all `add` actions that they commit"
    """
    if all(add.base_row_id is not None and add.default_row_commit_version is not None for add in change.adds):
        return change
    mark = before = base.row_id_mark()
    adds: list[Add] = []
    for add in change.adds:
        if add.base_row_id is None:
            first, mark = mark + 1, mark + row_tracking.records(add)
            add = replace(add, base_row_id=first)
        if add.default_row_commit_version is None:
            add = replace(add, default_row_commit_version=version)
        adds.append(add)
    domains = (*change.domains, row_tracking.mark_domain(mark)) if mark > before else change.domains
    return replace(change, adds=tuple(adds), domains=domains)


def _commit_info(
    change: Change, read_version: int, now: int, stamp: int | None, transaction: str, isolation: str, engine: str
) -> dict[str, Json]:
    operation = change.operation
    info: dict[str, Json] = {} if stamp is None else {"inCommitTimestamp": stamp}
    info |= {
        "timestamp": now if stamp is None else stamp,
        "operation": operation.name,
        "operationParameters": {name: _parameter(value) for name, value in operation.parameters.items()},
    }
    if read_version >= 0:
        info["readVersion"] = read_version
    info |= {
        "isolationLevel": "SnapshotIsolation" if change.only_rearranges else isolation,
        "isBlindAppend": change.is_blind_append,
        "operationMetrics": {name: str(value) for name, value in operation.metrics.items()},
        "tags": {"delta.rowTracking.preserved": str(change.preserves_row_ids).lower()},
        "engineInfo": engine,
        "txnId": transaction,
    }
    if operation.user_metadata is not None:
        info["userMetadata"] = operation.user_metadata
    return info


def _parameter(value: Json) -> str:
    """Parameters are texts; what is not one is spelled in JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def identities(files: Iterable[Add | Remove]) -> frozenset[Identity]:
    """What tells these files apart."""
    return frozenset(file.identity for file in files)
