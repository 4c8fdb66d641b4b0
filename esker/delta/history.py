"""What happened to the table, and when?  (PROTOCOL.md, "Commit Provenance Information", "In-Commit Timestamps")

A commit's time is its `inCommitTimestamp` where the table has them, else the time its file was written, moved forward where
needed so that times rise with versions.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeGuard

import orjson
import pyarrow as pa

from esker.core.types import Json
from esker.delta import json_log
from esker.delta.actions import JsonObject
from esker.delta.log import Commit, LogListing
from esker.delta.protocol import is_supported
from esker.delta.snapshot import Snapshot, list_log
from esker.errors import InvalidRequest, InvalidTable
from esker.storage.port import Storage

ENABLED = "delta.enableInCommitTimestamps"
ENABLEMENT_VERSION = "delta.inCommitTimestampEnablementVersion"
ENABLEMENT_TIMESTAMP = "delta.inCommitTimestampEnablementTimestamp"


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """The `commitInfo` of a version, and the version's time in milliseconds since the epoch."""

    version: int
    timestamp: int
    info: JsonObject = field(default_factory=dict, hash=False)


def commits(snapshot: Snapshot, versions: Iterable[int] | None = None) -> list[CommitInfo]:
    """The commits up to the snapshot that the log still has, oldest first; `versions` picks some of them."""
    listing = list_log(snapshot.place.storage)
    wanted = [v for v in sorted(listing.commits) if v <= snapshot.version]
    if versions is not None:
        chosen = set(versions)
        wanted = [v for v in wanted if v in chosen]
    infos = _infos(snapshot.place.storage, [listing.commits[v] for v in wanted])
    times = file_times(listing)
    first = first_with_timestamp(snapshot)
    return [
        CommitInfo(v, _timestamp(v, info, first, times, snapshot.location), info)
        for v, info in zip(wanted, infos, strict=True)
    ]


def commit_time(snapshot: Snapshot) -> int | None:
    """When the snapshot's own version was committed, as far as can be told; None where the log no longer has its commit."""
    commit = snapshot.log.commit
    if commit is None:
        return None
    first = first_with_timestamp(snapshot)
    if first is not None and commit.version >= first:
        info = commit_info(snapshot.place.storage, commit)
        if isinstance(own := info.get("inCommitTimestamp"), int):
            return own
    return commit.file.modified


def commit_info(storage: Storage, commit: Commit) -> JsonObject:
    """The `commitInfo` of a commit; empty where it has none."""
    (info,) = _infos(storage, [commit])
    return info


def history(snapshot: Snapshot, limit: int | None = None) -> pa.Table:
    """A row for each commit, newest first, with the columns of DESCRIBE HISTORY; only the newest `limit` are read."""
    versions = None if limit is None else range(snapshot.version - limit + 1, snapshot.version + 1)
    return pa.Table.from_pylist([_row(commit) for commit in reversed(commits(snapshot, versions))], schema=_HISTORY)


def version_at(snapshot: Snapshot, moment: datetime) -> int:
    """The newest version that was there at the moment. `snapshot` is the newest of the table."""
    instant = _instant(moment)
    versions, after = _versions_after(snapshot, instant)
    if after == 0:
        raise InvalidRequest(
            f"there was no version at {instant.isoformat()}; the oldest in the log is {versions[0]}, which is younger",
            where=snapshot.location,
        )
    if after == len(versions) and instant > datetime.now(UTC):
        raise InvalidRequest(f"{instant.isoformat()} lies in the future", where=snapshot.location)
    return versions[after - 1]


def first_version_since(snapshot: Snapshot, moment: datetime) -> int:
    """The oldest version committed at the moment or later."""
    instant = _instant(moment)
    versions, after = _versions_after(snapshot, instant - timedelta(microseconds=1))
    if after == len(versions):
        raise InvalidRequest(f"nothing was committed at {instant.isoformat()} or later", where=snapshot.location)
    return versions[after]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _instant(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _versions_after(snapshot: Snapshot, instant: datetime) -> tuple[list[int], int]:
    """The versions of the log, and how many of them are not younger than the moment."""
    wanted = (instant - _EPOCH) // timedelta(milliseconds=1)
    listing = list_log(snapshot.place.storage)
    times = file_times(listing)
    first = first_with_timestamp(snapshot)
    versions = sorted(v for v in listing.commits if v <= snapshot.version)
    if not versions:
        raise InvalidRequest("the log has no commits left, so versions have no times", where=snapshot.location)

    def time_of(version: int) -> int:
        info: JsonObject = {}
        if first is not None and version >= first:
            (info,) = _infos(snapshot.place.storage, [listing.commits[version]])
        return _timestamp(version, info, first, times, snapshot.location)

    # Both kinds of time rise with the version. Across the version that brought timestamps into the commits they need not:
    # "If `timestamp X` >= `delta.inCommitTimestampEnablementTimestamp`, only table versions >= [...]EnablementVersion"
    if first is not None and versions[0] < first <= versions[-1]:
        split = next(i for i, v in enumerate(versions) if v >= first)
        if wanted >= time_of(versions[split]):
            return versions, split + bisect_right(versions[split:], wanted, key=time_of)
        return versions, bisect_right(versions[:split], wanted, key=time_of)
    return versions, bisect_right(versions, wanted, key=time_of)


def file_times(listing: LogListing) -> Mapping[int, int]:
    """The time of each commit by its file's modification time, made to rise strictly."""
    times: dict[int, int] = {}
    last: int | None = None
    for version in sorted(listing.commits):
        modified = listing.commits[version].file.modified
        last = modified if last is None else max(modified, last + 1)
        times[version] = last
    return times


def first_with_timestamp(snapshot: Snapshot) -> int | None:
    """The first version whose commit carries its own timestamp; None where the table does not use them."""
    configuration = snapshot.metadata.configuration
    if configuration.get(ENABLED, "false").lower() != "true" or not is_supported(snapshot.protocol, "inCommitTimestamp"):
        return None
    text = configuration.get(ENABLEMENT_VERSION, "0")  # absent: the table was created with them
    if not text.isdigit():
        raise InvalidTable(f"{ENABLEMENT_VERSION} is {text!r}, not a version", where=snapshot.location)
    return int(text)


def _timestamp(version: int, info: JsonObject, first: int | None, times: Mapping[int, int], where: str) -> int:
    if first is None or version < first:
        return times[version]
    own = info.get("inCommitTimestamp")
    if not _is_long(own):
        raise InvalidTable(f"the commit of version {version} has no inCommitTimestamp", where=where)
    return own


def _infos(storage: Storage, wanted: Sequence[Commit]) -> list[JsonObject]:
    def read(commit: Commit) -> JsonObject:
        where = f"{storage.url}/{commit.file.path}"
        found = json_log.find(storage.read(commit.file.path), ["commitInfo"], where)
        return next((body for _, body in found), {})

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(read, wanted))


_TEXTS = pa.map_(pa.string(), pa.string())
_HISTORY = pa.schema(
    [
        ("version", pa.int64()), ("timestamp", pa.timestamp("ms", "UTC")), ("userId", pa.string()),
        ("userName", pa.string()), ("operation", pa.string()), ("operationParameters", _TEXTS), ("readVersion", pa.int64()),
        ("isolationLevel", pa.string()), ("isBlindAppend", pa.bool_()), ("operationMetrics", _TEXTS),
        ("userMetadata", pa.string()), ("engineInfo", pa.string()), ("txnId", pa.string()),
    ]
)  # fmt: skip


def _row(commit: CommitInfo) -> dict[str, object]:
    """commitInfo is free-form: whatever is not of the column's type is shown as text or left out."""
    row: dict[str, object] = {"version": commit.version, "timestamp": commit.timestamp}
    for name in _HISTORY.names[2:]:
        value, kind = commit.info.get(name), _HISTORY.field(name).type
        if kind == _TEXTS:
            row[name] = [(k, _text(v)) for k, v in value.items()] if isinstance(value, dict) else None
        elif kind == pa.string():
            row[name] = None if value is None else _text(value)
        else:
            row[name] = value if (isinstance(value, bool) if kind == pa.bool_() else _is_long(value)) else None
    return row


def _is_long(value: Json) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _text(value: Json) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()
