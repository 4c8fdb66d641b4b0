"""Which log files make up version N?  (PROTOCOL.md, "Delta Log Entries", "Checkpoints", "Log Compaction Files")

Pure: decides on a listing, reads nothing. A LogSegment promises:
  1. its commits, or compactions in their place, are contiguous;  2. they start right after the checkpoint, or at 0;
  3. a multi-part checkpoint is whole.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from esker.errors import InvalidRequest, InvalidTable, NotFound
from esker.storage.port import FileInfo

LOG_FOLDER = "_delta_log"
_GAPS = 20

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKSUM = re.compile(r"(\d{20})\.crc")
_COMPACTION = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
_CLASSIC = re.compile(r"(\d{20})\.checkpoint\.parquet")
_MULTI_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")
_UUID_NAMED = re.compile(r"(\d{20})\.checkpoint\.([0-9a-zA-Z-]+)\.(json|parquet)")


@dataclass(frozen=True, slots=True)
class Commit:
    """One `n.json`."""

    version: int
    file: FileInfo


@dataclass(frozen=True, slots=True)
class Compaction:
    """One `x.y.compacted.json`, which stands for the commits from `first` to `last`."""

    first: int
    last: int
    file: FileInfo


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The whole state at `version`, in one file or in all the parts of a multi-part checkpoint."""

    version: int
    files: tuple[FileInfo, ...]


@dataclass(frozen=True, slots=True)
class LogListing:
    """The files of `_delta_log`, sorted out."""

    commits: Mapping[int, Commit]
    checkpoints: Mapping[int, Sequence[Checkpoint]] = field(default_factory=dict)
    compactions: Sequence[Compaction] = ()
    checksums: Mapping[int, FileInfo] = field(default_factory=dict)

    @property
    def latest(self) -> int | None:
        """The newest version that the listing proves."""
        return max([*self.commits, *self.checkpoints], default=None)

    @property
    def gaps(self) -> tuple[int, ...]:
        """The first few versions after the newest checkpoint that have a later commit and none themselves."""
        first = max(self.checkpoints, default=min(self.commits, default=0))
        # a hostile name can claim version 10^19: look no further than the first few
        between = (v for v in range(first + 1, max(self.commits, default=0)) if v not in self.commits)
        return tuple(islice(between, _GAPS))


@dataclass(frozen=True, slots=True)
class LogSegment:
    """What to read to get version `version`: the checkpoint first, then the entries in order."""

    version: int
    checkpoint: Checkpoint | None
    entries: tuple[Commit | Compaction, ...]
    commit: Commit | None
    """The commit of `version` itself, where the log still has it."""

    @property
    def size(self) -> int:
        """Bytes of log to read, sidecars not counted."""
        files = [*(self.checkpoint.files if self.checkpoint else ()), *(entry.file for entry in self.entries)]
        return sum(file.size for file in files)


def commit_path(version: int) -> str:
    """Where the commit of a version is."""
    return f"{LOG_FOLDER}/{version:020}.json"


def checksum_path(version: int) -> str:
    """Where the checksum file of a version is."""
    return f"{LOG_FOLDER}/{version:020}.crc"


def sort_out(files: Iterable[FileInfo]) -> LogListing:
    """Tell the log's files by their names; names that mean nothing to the protocol are passed over."""
    commits: dict[int, Commit] = {}
    checkpoints: dict[int, list[Checkpoint]] = {}
    compactions: list[Compaction] = []
    checksums: dict[int, FileInfo] = {}
    parts: dict[tuple[int, int], dict[int, FileInfo]] = {}
    for file in files:
        name = file.path.removeprefix(f"{LOG_FOLDER}/")
        if m := _COMMIT.fullmatch(name):
            commits[int(m[1])] = Commit(int(m[1]), file)
        elif m := _CLASSIC.fullmatch(name):
            checkpoints.setdefault(int(m[1]), []).append(Checkpoint(int(m[1]), (file,)))
        elif m := _CHECKSUM.fullmatch(name):
            checksums[int(m[1])] = file
        elif m := _MULTI_PART.fullmatch(name):
            parts.setdefault((int(m[1]), int(m[3])), {})[int(m[2])] = file
        elif m := _COMPACTION.fullmatch(name):
            if int(m[2]) > int(m[1]):
                compactions.append(Compaction(int(m[1]), int(m[2]), file))
        elif m := _UUID_NAMED.fullmatch(name):
            checkpoints.setdefault(int(m[1]), []).append(Checkpoint(int(m[1]), (file,)))
    for (version, count), found in parts.items():
        # "readers must ignore multi-part checkpoints with missing parts"
        if len(found) == count and min(found) == 1 and max(found) == count:
            whole = Checkpoint(version, tuple(found[i] for i in range(1, count + 1)))
            checkpoints.setdefault(version, []).append(whole)
    return LogListing(commits, checkpoints, tuple(compactions), checksums)


def segment(listing: LogListing, at: int | None, where: str) -> LogSegment:
    """The files that make up version `at`, by default the newest."""
    latest = listing.latest
    if latest is None:
        raise NotFound("there is no Delta table: its log has neither commits nor checkpoints", where=where)
    if at is not None and (at < 0 or at > latest):
        raise InvalidRequest(f"there is no version {at}; the newest is {latest}", where=where)
    version = latest if at is None else at
    base = max((v for v in listing.checkpoints if v <= version), default=None)
    checkpoint = None if base is None else listing.checkpoints[base][0]
    first = 0 if base is None else base + 1
    _refuse_gaps(listing, first, version, at, where)
    entries = _entries(listing, first, version)
    return LogSegment(version, checkpoint, entries, listing.commits.get(version))


def _entries(listing: LogListing, first: int, last: int) -> tuple[Commit | Compaction, ...]:
    """The commits from `first` to `last`, with the widest compaction that fits taken wherever one starts."""
    widest: dict[int, Compaction] = {}
    for compaction in listing.compactions:
        known = widest.get(compaction.first)
        if compaction.last <= last and (known is None or known.last < compaction.last):
            widest[compaction.first] = compaction
    entries: list[Commit | Compaction] = []
    version = first
    while version <= last:
        taken: Commit | Compaction = widest.get(version) or listing.commits[version]
        entries.append(taken)
        version = (taken.last if isinstance(taken, Compaction) else version) + 1
    return tuple(entries)


def _refuse_gaps(listing: LogListing, first: int, last: int, at: int | None, where: str) -> None:
    present = sum(first <= v <= last for v in listing.commits)
    if present == last - first + 1:
        return
    # a hostile name can claim version 10^19: look no further than the first few
    missing = list(islice((v for v in range(first, last + 1) if v not in listing.commits), 6))
    was_cut_off = first == 0 and 0 not in listing.commits
    if at is not None and was_cut_off and (later := [v for v in listing.checkpoints if v > at]):
        raise InvalidRequest(
            f"version {at} is no longer in the log; the oldest that can be rebuilt is {min(later)}", where=where
        )
    shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
    raise InvalidTable(
        f"the log has a gap: the commits of version {shown} are missing",
        where=where,
        hint="Restore the missing files of _delta_log, or open a version that a checkpoint covers with version=.",
    )
