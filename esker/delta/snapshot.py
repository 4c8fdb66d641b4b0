"""What is the state of the table at one version?  (PROTOCOL.md, "Action Reconciliation", "Delta Table Specification")

Opening reads protocol and metadata and nothing about files; the rest is read when it is asked for, once. Opening never
refuses: a table that cannot be read can still be described. `gate` refuses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile

import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import array, scalar
from esker.core.demands import Judge
from esker.core.features import Operation
from esker.core.types import Field, Struct
from esker.delta import checkpoint as checkpoints
from esker.delta import column_mapping, json_log
from esker.delta.actions import (
    DomainMetadata,
    JsonObject,
    Metadata,
    Sidecar,
    Txn,
    parse_domain_metadata,
    parse_metadata,
    parse_txn,
)
from esker.delta.checkpoint import LastCheckpoint
from esker.delta.log import (
    LOG_FOLDER,
    Checkpoint,
    Commit,
    Compaction,
    LogListing,
    LogSegment,
    checksum_path,
    commit_path,
    segment,
    sort_out,
)
from esker.delta.properties import transaction_retention
from esker.delta.protocol import Protocol, check_readable, check_writable, is_supported, parse_protocol, without
from esker.delta.replay import LiveFiles, live_files
from esker.delta.stats import FileStatistics
from esker.delta.summary import NOTHING, Summary, parse_summary
from esker.errors import EskerError, InvalidTable, NotFound
from esker.storage import storage_at
from esker.storage.paths import relocated, resolve, split_url
from esker.storage.port import FileInfo, Storage

_SMALL_LOG = 8 << 20
"""Bytes of log that are read with their statistics, wanted or not."""


@dataclass(frozen=True)
class Place:
    """Where a table is: its storage, the options that opened it, and prefixes of paths that have moved.

    `judge` is asked whether a change keeps the table's promises; None where they are not to be kept.
    """

    storage: Storage
    options: Mapping[str, str] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)
    judge: Judge | None = field(default=None, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        """A storage's connections do not travel; it is opened anew where the place arrives. Nothing is committed there."""
        return _place_at, (self.url, dict(self.options), dict(self.moves))

    @property
    def url(self) -> str:
        return self.storage.url

    def absolute(self, uri: str) -> str:
        """The URL of a file that the log names."""
        return relocated(resolve(self.url, uri), self.moves)

    def locate(self, uri: str) -> tuple[Storage, str]:
        """The storage that holds a file named in the log, and the file's path in it."""
        url = self.absolute(uri)
        if url.startswith(f"{self.url}/"):
            return self.storage, url.removeprefix(f"{self.url}/")
        root, name = split_url(url)
        return storage_at(root, self.options), name


def _place_at(url: str, options: Mapping[str, str], moves: Mapping[str, str]) -> Place:
    return Place(storage_at(url, options), options, moves)


def list_log(storage: Storage, after: str | None = None) -> LogListing:
    """The files of the log folder; those in its own folders (`_sidecars`, `_staged_commits`) come last and are left out."""
    files = storage.list(LOG_FOLDER, after)
    listing = sort_out(takewhile(lambda file: not file.path.startswith(f"{LOG_FOLDER}/_"), files))
    # A folder that rivals write to is not listed at one moment: it may show a commit and not the one right before it.
    found = {version: Commit(version, file) for version in listing.gaps if (file := _there(storage, commit_path(version)))}
    return replace(listing, commits={**listing.commits, **found}) if found else listing


def _there(storage: Storage, path: str) -> FileInfo | None:
    try:
        return storage.head(path)
    except NotFound:
        return None


def load(place: Place, version: int | None = None) -> "Snapshot":
    """The snapshot at a version, by default the newest."""
    listing, hint = _listed(place, version)
    return at_version(place, listing, version, hint)


def load_after(base: "Snapshot") -> "Snapshot":
    """The newest snapshot. Where commits alone came after `base`, nothing older than them is read."""
    listing, hint = _listed(base.place, None)
    log = segment(listing, None, base.location)
    fresh = [entry for entry in log.entries if isinstance(entry, Commit) and entry.version > base.version]
    if len(fresh) != log.version - base.version:
        return at_version(base.place, listing, None, hint)
    return base.overtaken(log, listing.checksums, hint, fresh)


def _listed(place: Place, version: int | None) -> tuple[LogListing, LastCheckpoint]:
    """The log from the last checkpoint on, if it is known and not after the version; else the whole log."""
    hint = checkpoints.read_last_checkpoint(place.storage)
    listing = None
    if hint.version is not None and (version is None or hint.version <= version):
        listing = list_log(place.storage, f"{LOG_FOLDER}/{hint.version:020}.")
        if hint.version not in listing.checkpoints:
            hint = LastCheckpoint(None, f"_last_checkpoint names version {hint.version}, which has no complete checkpoint")
            listing = None
    return listing or list_log(place.storage), hint


def at_version(place: Place, listing: LogListing, version: int | None, hint: LastCheckpoint) -> "Snapshot":
    """The snapshot of a version, by default the newest, of a log that was listed."""
    return Snapshot(place, segment(listing, version, place.url), listing.checksums, hint)


def before_creation(place: Place, protocol: Protocol, metadata: Metadata) -> "Snapshot":
    """A table that is not there yet, at version -1."""
    log, known = LogSegment(-1, None, (), None), {"txns": {}, "domains": {}, "summary": NOTHING}
    return _told({**_facts(place, log, LastCheckpoint(None), protocol, metadata), **known})


@dataclass(frozen=True, slots=True)
class Committed:
    """What is known of a version by whoever committed it."""

    commit: Commit
    protocol: Protocol
    metadata: Metadata
    txns: tuple[Txn, ...] = ()
    domains: tuple[DomainMetadata, ...] = ()


def _facts(
    place: Place, log: LogSegment, hint: LastCheckpoint, protocol: Protocol, metadata: Metadata
) -> dict[str, object]:
    """What every snapshot knows. Its checksum file was not listed."""
    return {"place": place, "log": log, "hint": hint, "_checksums": None, "protocol": protocol, "metadata": metadata}


def _told(known: Mapping[str, object]) -> "Snapshot":
    """A snapshot of which nothing that is known has to be read."""
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.__dict__ |= known
    return snapshot


class Snapshot:
    """Immutable facts about a table at one version."""

    def __init__(self, place: Place, log: LogSegment, checksums: Mapping[int, FileInfo], hint: LastCheckpoint):
        self.place = place
        self.log = log
        self.hint = hint
        self._checksums: Mapping[int, FileInfo] | None = checksums
        found = self._newest_of(("protocol", "metaData"))
        if missing := [kind for kind in ("protocol", "metaData") if kind not in found]:
            raise self._without(missing)
        self.protocol: Protocol = parse_protocol(found["protocol"], self.location)
        self.metadata: Metadata = parse_metadata(found["metaData"], self.location)

    def __getstate__(self) -> dict[str, object]:
        """What was read is left behind when a snapshot travels; a worker reads what it needs."""
        kept = ("place", "log", "hint", "_checksums", "protocol", "metadata")
        return {name: self.__dict__[name] for name in kept}

    @property
    def location(self) -> str:
        return self.place.url

    @property
    def version(self) -> int:
        return self.log.version

    @property
    def schema(self) -> Struct:
        return self.metadata.schema

    @property
    def checksum_file(self) -> FileInfo | None:
        """The version checksum file of this version, where there is one."""
        if self._checksums is not None:
            return self._checksums.get(self.version)
        try:
            return self.place.storage.head(checksum_path(self.version))
        except NotFound:
            return None

    @cached_property
    def summary(self) -> Summary | None:
        """The state as the version's checksum file sums it up; None where there is none that can be built on."""
        try:
            # It may have been written since the log was listed: a writer leaves it after the commit.
            data = self.place.storage.read(checksum_path(self.version))
        except EskerError:
            return None
        return parse_summary(data, self.protocol, self.metadata)

    @cached_property
    def mapping(self) -> column_mapping.Mode:
        honoured = is_supported(self.protocol, "columnMapping")
        return column_mapping.mode(self.metadata.configuration, honoured, self.location)

    @cached_property
    def partition_fields(self) -> tuple[Field, ...]:
        """The partition columns in the order of the metadata, as the schema spells them."""
        found = (self.schema.find(name) for name in self.metadata.partition_columns)
        return tuple(f for f in found if f is not None)

    def gate(self, operation: Operation, excused: frozenset[str] = frozenset()) -> None:
        """Refuse the operation, naming every feature that stands against it; `excused` are those about to be taken out."""
        protocol = without(self.protocol, excused) if excused else self.protocol
        if operation is Operation.READ:
            check_readable(protocol, self.location)
        else:
            check_writable(protocol, self.location)

    @cached_property
    def txns(self) -> Mapping[str, Txn]:
        """How far each application has come, by its id."""
        found = {txn.app_id: txn for txn in (parse_txn(body, self.location) for body in self._actions_of("txn"))}
        return found

    @cached_property
    def domains(self) -> Mapping[str, DomainMetadata]:
        """The domain metadata by domain, tombstones left out."""
        parsed = (parse_domain_metadata(body, self.location) for body in self._actions_of("domainMetadata"))
        newest = {domain.domain: domain for domain in parsed}
        return {name: domain for name, domain in newest.items() if not domain.removed}

    @cached_property
    def sidecars(self) -> tuple[Sidecar, ...]:
        return checkpoints.sidecars_of(self._checkpoint_actions, self.location)

    @property
    def checkpoint_is_v2(self) -> bool:
        """Whether the snapshot rests on a checkpoint of the V2 spec."""
        return any(kind == "checkpointMetadata" for kind, _ in self._checkpoint_actions)

    @cached_property
    def files(self) -> LiveFiles:
        """The live files with their statistics."""
        return self._replay(with_stats=True)

    @cached_property
    def bare_files(self) -> LiveFiles:
        """The live files; their statistics, the bulk of a log, may be missing."""
        # Whoever filters asks for the statistics next: a small log is not replayed twice.
        is_whole = "files" in self.__dict__ or self.log.size <= _SMALL_LOG
        return self.files if is_whole else self._replay(with_stats=False)

    @cached_property
    def statistics(self) -> FileStatistics:
        return FileStatistics(self.files)

    @cached_property
    def paths(self) -> pa.StringArray:
        """The URLs of the live files."""
        return absolute_paths(self.bare_files.table.column("path").combine_chunks(), self.place)

    def placed(self, place: Place) -> "Snapshot":
        """The same snapshot, of a table that is opened in another way."""
        return _told({**self.__dict__, "place": place})

    def pinned(self, files: LiveFiles) -> "Snapshot":
        """The same snapshot with its files given rather than replayed."""
        known = {name: value for name, value in self.__dict__.items() if name != "paths"}
        return _told(known | {"files": files, "bare_files": files, "statistics": FileStatistics(files)})

    def followed_by(self, made: Committed) -> "Snapshot":
        """The snapshot after one more commit. What was read of this one and can be told of the next is not read again."""
        entries = (*self.log.entries, made.commit)
        log = replace(self.log, version=made.commit.version, entries=entries, commit=made.commit)
        known = _facts(self.place, log, self.hint, made.protocol, made.metadata)
        if "_checkpoint_actions" in self.__dict__:
            known["_checkpoint_actions"] = self._checkpoint_actions
        if "txns" in self.__dict__:
            known["txns"] = {**self.txns, **{txn.app_id: txn for txn in made.txns}}
        if "domains" in self.__dict__:
            newest = {**self.domains, **{domain.domain: domain for domain in made.domains}}
            known["domains"] = {name: domain for name, domain in newest.items() if not domain.removed}
        return _told(known)

    def overtaken(
        self, log: LogSegment, checksums: Mapping[int, FileInfo], hint: LastCheckpoint, commits: Sequence[Commit]
    ) -> "Snapshot":
        """The snapshot after commits of others, of which nothing but protocol and metadata is read."""
        found: dict[str, JsonObject] = {}
        for commit in commits:
            found |= dict(self._found(commit, ("protocol", "metaData")))
        protocol = parse_protocol(found["protocol"], self.location) if "protocol" in found else self.protocol
        metadata = parse_metadata(found["metaData"], self.location) if "metaData" in found else self.metadata
        return _told({**_facts(self.place, log, hint, protocol, metadata), "_checksums": checksums})

    def resting_on(self, checkpoint: Checkpoint) -> "Snapshot":
        """The same snapshot read from a checkpoint of its own version."""
        # applications may have expired since their progress was read, and are then not in the checkpoint
        unsure = {"sidecars", "_checkpoint_actions", "txns"}
        known = {name: value for name, value in self.__dict__.items() if name not in unsure}
        if transaction_retention(self.metadata.configuration) is None and "txns" in self.__dict__:
            known["txns"] = self.txns
        log = replace(self.log, checkpoint=checkpoint, entries=())
        return _told(known | {"log": log, "hint": LastCheckpoint(checkpoint.version)})

    def summed_up(self, summary: Summary) -> "Snapshot":
        """The same snapshot with its summary given rather than read."""
        return _told(self.__dict__ | {"summary": summary})

    def as_if(self, protocol: Protocol, metadata: Metadata) -> "Snapshot":
        """The same files under another protocol and other metadata: what a commit is about to make of the table."""
        return _told(_facts(self.place, self.log, self.hint, protocol, metadata))

    def _replay(self, with_stats: bool) -> LiveFiles:
        names = [column_mapping.physical_name(f, self.mapping) for f in self.partition_fields]
        return live_files(self.place.storage, self.log, self.sidecars, names, with_stats)

    @cached_property
    def _checkpoint_actions(self) -> list[tuple[str, JsonObject]]:
        if self.log.checkpoint is None:
            return []
        return checkpoints.table_actions(self.place.storage, self.log.checkpoint)

    def _newest_of(self, kinds: Sequence[str]) -> dict[str, JsonObject]:
        """The newest action of each kind, looked for from the newest entry back, and no further than needed."""
        found: dict[str, JsonObject] = {}
        for entry in reversed(self.log.entries):
            found |= dict(self._found(entry, [kind for kind in kinds if kind not in found]))
            if len(found) == len(kinds):
                return found
        return {kind: body for kind, body in self._checkpoint_actions if kind in kinds} | found

    def _without(self, kinds: Sequence[str]) -> InvalidTable:
        """Why no action of these kinds was found: an entry that is malformed is told of first."""
        for entry in self.log.entries:
            where = f"{self.location}/{entry.file.path}"
            try:
                json_log.actions(self.place.storage.read(entry.file.path), where)
            except InvalidTable as error:
                return error
        return InvalidTable(
            f"the log holds no {' and no '.join(kinds)} action",
            where=self.location,
            hint="Restore the commit or the checkpoint that had it from a copy if there is one.",
        )

    def _actions_of(self, kind: str) -> list[JsonObject]:
        """All actions of a kind, oldest first."""
        bodies = [body for name, body in self._checkpoint_actions if name == kind]
        for entry in self.log.entries:
            bodies += [body for _, body in self._found(entry, [kind])]
        return bodies

    def _found(self, entry: Commit | Compaction, kinds: Sequence[str]) -> list[tuple[str, JsonObject]]:
        """The actions of these kinds, oldest first. A compaction that was not reconciled has the newest first: see `replay`."""
        data, where = self.place.storage.read(entry.file.path), f"{self.location}/{entry.file.path}"
        found = list(json_log.find(data, kinds, where))
        return found if isinstance(entry, Commit) else found[::-1]


_PLAIN = r"^[A-Za-z0-9_=-]+([./][A-Za-z0-9_=-]+)*$"


def absolute_paths(uris: pa.Array, place: Place) -> pa.StringArray:
    """The URLs of many files; names without anything to decode or to climb by take the short way."""
    plain = pc.match_substring_regex(uris, _PLAIN)
    joined = pc.binary_join_element_wise(scalar(place.url, pa.string()), uris, scalar("/", pa.string()))
    if place.moves or not pc.all(plain, min_count=0).as_py():
        simple = plain.to_pylist() if not place.moves else [False] * len(uris)
        texts, easy = uris.to_pylist(), joined.to_pylist()
        joined = array([e if s else place.absolute(u) for s, u, e in zip(simple, texts, easy, strict=True)], pa.string())
    return joined
