"""What do the rules for Delta tables look at?

The log as it is written, commit by commit and line by line, whether or not it makes sense; and the snapshot that it makes, where
it makes one. Everything is read once, when the first rule asks for it.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from esker.check.model import Sighting
from esker.core.features import Operation
from esker.delta import json_log
from esker.delta.actions import Add, JsonObject
from esker.delta.checkpoint import LastCheckpoint, read_last_checkpoint
from esker.delta.live_adds import live_adds
from esker.delta.log import LOG_FOLDER, LogListing, sort_out
from esker.delta.snapshot import Place, Snapshot, load
from esker.errors import EskerError, NotFound
from esker.storage.port import FileInfo
from esker.storage.source import open_input

KINDS = (
    "commitInfo", "protocol", "metaData", "add", "remove", "cdc", "txn", "domainMetadata", "checkpointMetadata", "sidecar",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """One action of a commit, as it is written."""

    version: int
    number: int
    kind: str
    body: JsonObject = field(hash=False)

    @property
    def where(self) -> str:
        return f"version {self.version}, action {self.number}"


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A commit file: its actions, or what is wrong with it. `odd` are the actions that are not one object with one body."""

    version: int
    file: FileInfo
    actions: tuple[LoggedAction, ...] = ()
    odd: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def where(self) -> str:
        return f"version {self.version}"

    def of(self, *kinds: str) -> Iterator[LoggedAction]:
        return (action for action in self.actions if action.kind in kinds)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A live file as it lies in storage. `info` is None where it is missing; `problem` says why it has no footer."""

    add: Add
    info: FileInfo | None = None
    footer: pq.FileMetaData | None = None
    problem: str | None = None


class Evidence:
    """A table in the eyes of the rules."""

    def __init__(self, place: Place, version: int | None = None) -> None:
        self.place = place
        self._version = version

    @cached_property
    def log_files(self) -> tuple[FileInfo, ...]:
        """All that lies in the log's folder."""
        return tuple(self.place.storage.list(LOG_FOLDER))

    @cached_property
    def listing(self) -> LogListing:
        return sort_out(file for file in self.log_files if not file.path.startswith(f"{LOG_FOLDER}/_"))

    @cached_property
    def commits(self) -> tuple[LoggedCommit, ...]:
        """The commits that the log still has, oldest first."""
        found = (commit for version, commit in sorted(self.listing.commits.items()) if self._is_asked(version))
        return tuple(self._commit(commit.version, commit.file) for commit in found)

    @cached_property
    def hint(self) -> LastCheckpoint:
        return read_last_checkpoint(self.place.storage)

    @cached_property
    def _opened(self) -> Snapshot | EskerError:
        try:
            return load(self.place, self._version)
        except EskerError as error:
            return error

    @property
    def refusal(self) -> EskerError | None:
        """Why the table cannot be opened."""
        return self._opened if isinstance(self._opened, EskerError) else None

    @property
    def snapshot(self) -> Snapshot | None:
        return None if isinstance(self._opened, EskerError) else self._opened

    @cached_property
    def unlisted(self) -> EskerError | None:
        """Why the live files cannot be told, where the table can be opened and Esker knows what it asks of a reader."""
        try:
            if self.snapshot is not None and self._is_gated:
                _ = self.snapshot.files, self.snapshot.domains, self.snapshot.txns
        except EskerError as error:
            return error
        return None

    @property
    def readable(self) -> Snapshot | None:
        """The snapshot, where its files can be told."""
        return self.snapshot if self._is_gated and self.unlisted is None else None

    @cached_property
    def _is_gated(self) -> bool:
        try:
            if self.snapshot is not None:
                self.snapshot.gate(Operation.READ)
        except EskerError:
            return False
        return True

    @cached_property
    def live(self) -> tuple[Add, ...]:
        """The live files, in the order of the snapshot; none where they cannot be told."""
        return () if self.readable is None else tuple(live_adds(self.readable))

    @cached_property
    def data_files(self) -> tuple[DataFile, ...]:
        """The live files with their footers."""
        with ThreadPoolExecutor(8) as pool:
            return tuple(pool.map(self._data_file, self.live))

    @cached_property
    def configuration(self) -> Mapping[str, str]:
        return {} if self.snapshot is None else self.snapshot.metadata.configuration

    def actions(self, *kinds: str) -> Iterator[LoggedAction]:
        """The actions of these kinds in all commits, oldest first."""
        return (action for commit in self.commits for action in commit.of(*kinds))

    def _data_file(self, add: Add) -> DataFile:
        storage, path = self.place.locate(add.path)
        try:
            info = storage.head(path)
        except NotFound:
            return DataFile(add)
        try:
            with open_input(storage, path, info.size) as source:
                return DataFile(add, info, pq.read_metadata(source))
        except (pa.ArrowException, OSError, EskerError) as error:
            return DataFile(add, info, problem=f"it is no Parquet file: {error}")

    def _is_asked(self, version: int) -> bool:
        return self._version is None or version <= self._version

    def _commit(self, version: int, file: FileInfo) -> LoggedCommit:
        where = f"{self.place.url}/{file.path}"
        try:
            lines = json_log.actions(self.place.storage.read(file.path), where)
        except EskerError as error:
            return LoggedCommit(version, file, problem=error.what)
        actions: list[LoggedAction] = []
        odd: list[str] = []
        for number, line in enumerate(lines):
            bodies = {kind: body for kind, body in line.items() if body is not None}
            for kind, body in bodies.items():
                if isinstance(body, dict):
                    actions.append(LoggedAction(version, number, kind, body))
                else:
                    odd.append(f"the {kind} of action {number} is no object")
            if len(bodies) != 1:
                odd.append(f"action {number} has {len(bodies)} bodies: {', '.join(bodies) or 'none'}")
        return LoggedCommit(version, file, tuple(actions), tuple(odd))


def logical_file(body: JsonObject) -> tuple[object, object]:
    """What tells logical files apart: the path, and the unique id of the deletion vector."""
    vector = body.get("deletionVector")
    if not isinstance(vector, dict):
        return body.get("path"), None
    offset = "" if vector.get("offset") is None else f"@{vector['offset']}"
    return body.get("path"), f"{vector.get('storageType')}{vector.get('pathOrInlineDv')}{offset}"


TAKEN_OVER = frozenset({"CLONE", "CONVERT", "RESTORE"})
"""Operations that bring files of other tables and versions."""

Look: TypeAlias = Callable[[Evidence], Iterator[Sighting]]
"""How a rule is looked into."""
