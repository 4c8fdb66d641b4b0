"""Which files of the log does nobody need any more?  (PROTOCOL.md, "Metadata Cleanup", and the feature checkpointProtection)

History that is older than the table keeps it goes, up to the checkpoint from which the oldest version that stays is read.
Stopped half-way, a clean-up leaves every version readable that it was to leave.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import groupby

from esker.core.features import Operation
from esker.delta import checkpoint as checkpoints
from esker.delta import properties
from esker.delta.history import version_at
from esker.delta.log import LOG_FOLDER, LogListing
from esker.delta.protocol import is_supported
from esker.delta.snapshot import Snapshot, list_log
from esker.errors import InvalidRequest, InvalidTable
from esker.storage.port import FileInfo, Storage

SIDECARS = f"{LOG_FOLDER}/_sidecars"

_THREADS = 16


def clean_log(newest: Snapshot, now: int) -> int:
    """Delete what has expired of the table's log; how many files that were. `now` is in milliseconds since the epoch."""
    if not properties.expired_log_cleanup_enabled(newest.metadata.configuration):
        raise InvalidRequest(
            f"{properties.EXPIRED_LOG_CLEANUP.name} is false: the table keeps its whole log",
            where=newest.location,
            hint="Set it to true first.",
        )
    newest.gate(Operation.WRITE)
    return _delete_expired(newest, _table_cutoff(newest, now)) + _delete_sidecars(newest.place.storage, now)


def truncate_log(newest: Snapshot, now: int, excused: frozenset[str] = frozenset()) -> int:
    """Delete what is older than the table keeps when features, the `excused`, go with their history."""
    newest.gate(Operation.WRITE, excused)
    return _delete_expired(newest, truncation_cutoff(newest, now)) + _delete_sidecars(newest.place.storage, now)


def truncation_cutoff(newest: Snapshot, now: int) -> datetime:
    """What was replaced before this moment may be truncated: the retention of its own, cut at the minute."""
    cutoff = _moment(now) - properties.truncated_history_retention(newest.metadata.configuration)
    return cutoff.replace(second=0, microsecond=0)


def clean_by_the_way(newest: Snapshot, now: int) -> int:
    """The same as a matter of routine, if the table wants it. Sidecars are looked at where something else has gone."""
    if not properties.expired_log_cleanup_enabled(newest.metadata.configuration):
        return 0
    deleted = _delete_expired(newest, _table_cutoff(newest, now))
    return deleted + _delete_sidecars(newest.place.storage, now) if deleted else 0


def oldest_kept(newest: Snapshot, listing: LogListing, cutoff: datetime) -> int | None:
    """The version whose checkpoint is the oldest to stay; None where nothing is to go."""
    configuration = newest.metadata.configuration
    try:
        # "The newest commit not newer than the `cutOffTimestamp` is the `cutoffCommit`"
        commit = version_at(newest, cutoff)
    except InvalidRequest:  # all commits are younger, or none is left
        return None
    # "the newest checkpoint that is not newer than the `cutOffCommit`", and none: "do nothing"
    oldest = max((version for version in listing.checkpoints if version <= commit), default=None)
    protected = properties.protected_before_version(configuration)
    if oldest is None or (oldest < protected and is_supported(newest.protocol, properties.CHECKPOINT_PROTECTION.feature)):
        # "history cleanup is allowed only if [...] one single cleanup removes everything below" the protected version.
        # The other way, to support every protocol of every version that goes, is left to whoever knows them all.
        return None
    return oldest


def expired(files: Iterable[FileInfo], oldest: int) -> list[FileInfo]:
    """The files of the log that versions from `oldest` on are not read from, in the order in which they should go."""
    found = [
        (turn, int(match[1]), file)
        for file in files
        for turn, kind in enumerate(_KINDS)
        if (match := kind.fullmatch(file.path.removeprefix(f"{LOG_FOLDER}/")))
    ]
    gone = [entry for entry in found if entry[1] < oldest + (_KINDS[entry[0]] in _UP_TO_THE_OLDEST)]
    return [file for _, _, file in sorted(gone, key=lambda entry: entry[:2])]


def unneeded_sidecars(files: Iterable[FileInfo], named: Iterable[str], now: int) -> list[FileInfo]:
    """The sidecars that no checkpoint names, but for those that one in the making may be about to name.

    "preserve files that are less than a day old (as of midnight UTC), to not break in-progress checkpoints"
    """
    needed, young = frozenset(named), _midnight(_moment(now) - timedelta(days=1))
    return [file for file in files if file.path not in needed and _moment(file.modified) < young]


_COMPACTION = re.compile(r"(\d{20})\.\d{20}\.compacted\.json")
_STAGED_COMMIT = re.compile(r"_staged_commits/(\d{20})\..+\.json")
_KINDS = (
    re.compile(r"(\d{20})\.json"),
    re.compile(r"(\d{20})\.crc"),
    _COMPACTION,
    _STAGED_COMMIT,
    re.compile(r"(\d{20})\.checkpoint(?:\..+)?\.(?:parquet|json)"),  # also the parts of one that was never finished
)
"""The log's files in the order in which they go: "delete commits before their checkpoints"."""
# "delete all the log compaction files having startVersion <= `cutOffCheckpoint`'s version", and staged commits likewise;
# "also keep the JSON commit *at* the checkpoint version"
_UP_TO_THE_OLDEST = (_COMPACTION, _STAGED_COMMIT)


def _table_cutoff(newest: Snapshot, now: int) -> datetime:
    return _midnight(_moment(now) - properties.log_retention(newest.metadata.configuration))


def _delete_expired(newest: Snapshot, cutoff: datetime) -> int:
    storage = newest.place.storage
    oldest = oldest_kept(newest, list_log(storage), cutoff)
    gone = [] if oldest is None else expired(storage.list(LOG_FOLDER), oldest)
    if oldest is not None and gone:
        _forget_hint(storage, oldest)
    # "within a cleanup delete commits before their checkpoints": many at a time, but of one kind
    return sum(_delete(storage, list(of_a_kind)) for _, of_a_kind in groupby(gone, _kind))


def _forget_hint(storage: Storage, oldest: int) -> None:
    """Take away a hint at a checkpoint that goes: without one the log is listed. A writer may have died before its own."""
    hint = checkpoints.read_last_checkpoint(storage).version
    if hint is not None and hint < oldest:
        storage.delete(checkpoints.LAST_CHECKPOINT)


def _kind(file: FileInfo) -> int:
    """Which of the kinds an expired file is of."""
    name = file.path.removeprefix(f"{LOG_FOLDER}/")
    return next(at for at, kind in enumerate(_KINDS) if kind.fullmatch(name))


def _delete_sidecars(storage: Storage, now: int) -> int:
    """What is named is read after the sidecars were listed: a checkpoint that came meanwhile has its own protected."""
    files = list(storage.list(SIDECARS))
    if not unneeded_sidecars(files, (), now):
        return 0
    return _delete(storage, unneeded_sidecars(files, _named_sidecars(storage), now))


def _named_sidecars(storage: Storage) -> Iterator[str]:
    for at_version in list_log(storage).checkpoints.values():
        for found in at_version:
            actions = checkpoints.table_actions(storage, found)
            if all(kind != "protocol" for kind, _ in actions):  # every checkpoint has one, so what else is there was not read
                raise InvalidTable("the checkpoint holds no protocol action", where=f"{storage.url}/{found.files[0].path}")
            for sidecar in checkpoints.sidecars_of(actions, storage.url):
                yield checkpoints.sidecar_file(sidecar, storage.url).path


def _delete(storage: Storage, files: Sequence[FileInfo]) -> int:
    with ThreadPoolExecutor(_THREADS) as pool:
        return sum(1 for _ in pool.map(lambda file: storage.delete(file.path), files))


def _moment(millis: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=millis)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
