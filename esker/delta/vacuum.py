"""Which files in a table's storage does nobody need any more?  (PROTOCOL.md, "VACUUM Protocol Check", "Add File and Remove File")

A vacuum is planned, shown if wanted, and then carried out. The full one lists the storage and finds whatever the log does not
need; the lite one goes by the log alone and finds what expired commits took out of the table.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

import pyarrow.compute as pc

from esker.core.features import Operation
from esker.delta import properties
from esker.delta.actions import Metadata
from esker.delta.last_vacuum import read_last_vacuum
from esker.delta.log import LOG_FOLDER, LogListing
from esker.delta.needed_files import current_at, file_uris, inside, named_in, needed_files
from esker.delta.snapshot import Snapshot, list_log, load
from esker.errors import EskerError, InvalidRequest, NotFound
from esker.storage.local import is_temporary
from esker.storage.port import FileInfo, Storage

Mode: TypeAlias = Literal["full", "lite"]

CHANGE_FOLDER = "_change_data"
_THREADS = 16
_SPARK_SCRATCH = "_temporary"
"""Where a job of Spark writes below a folder that it is to fill, until it is done."""


@dataclass(frozen=True, slots=True)
class VacuumPlan:
    """The files that a vacuum deletes, all of them older than `cutoff`, in milliseconds since the epoch.

    `reach` is the newest commit older than the cutoff; None where the log has none.
    """

    location: str
    cutoff: int
    files: tuple[FileInfo, ...]
    reach: int | None

    @property
    def size(self) -> int:
        """The bytes that come free."""
        return sum(file.size for file in self.files)

    @property
    def metrics(self) -> Mapping[str, int]:
        """What the history says when the vacuum starts."""
        return {"numFilesToDelete": len(self.files), "sizeOfDataToDelete": self.size}


def plan_vacuum(
    snapshot: Snapshot, retention: timedelta | None, now: int, mode: Mode = "full", allow_unsafe: bool = False
) -> VacuumPlan:
    """What to delete now, in milliseconds since the epoch, where readers and writers may take as long as `retention`.

    By default that is the table's own retention; less than that is refused unless `allow_unsafe`: it can take files from
    under a reader, and from a writer that has not yet committed them. Whatever version the snapshot is of, the newest counts.
    """
    newest = load(snapshot.place)
    # "Before performing a VACUUM operation, writers must ensure that they check the table's write protocol."
    newest.gate(Operation.WRITE)
    cutoff = max(0, now - _retention(newest, retention, allow_unsafe) // timedelta(milliseconds=1))
    listing = list_log(newest.place.storage)
    last = current_at(newest, cutoff)
    found = _listed(newest) if mode == "full" else _removed(newest, listing, last, cutoff)
    old = [file for file in found if file.modified < cutoff]
    # The log is listed again when the files are known: a commit that brings one of them back meanwhile counts.
    needed = needed_files(newest, cutoff)
    files = tuple(file for file in old if subject(file.path) not in needed)
    return VacuumPlan(newest.location, cutoff, files, last if last in listing.commits else None)


def subject(path: str) -> str:
    """The file that a file is about: Hadoop keeps a checksum, `.NAME.crc`, beside each file of a local folder."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name[1:-4]}" if name.startswith(".") and name.endswith(".crc") else path


def delete_files(storage: Storage, plan: VacuumPlan, progress: Callable[[int], None] = lambda done: None) -> int:
    """Delete the plan's files; how many there were. `progress` hears how many are done.

    A file that has vanished is no error. Where some cannot be deleted the others are, and one `EskerError` names them.
    """

    def attempt(file: FileInfo) -> str | None:
        try:
            storage.delete(file.path)
        except EskerError as error:
            return str(error)
        return None

    problems: list[str] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for done, problem in enumerate(pool.map(attempt, plan.files), 1):
            problems += [] if problem is None else [problem]
            progress(done)
    if problems:
        raise EskerError(
            f"{len(problems)} of {len(plan.files)} files could not be deleted", where=plan.location, problems=problems
        )
    return len(plan.files)


def _retention(newest: Snapshot, wanted: timedelta | None, allow_unsafe: bool) -> timedelta:
    configured = properties.deleted_file_retention(newest.metadata.configuration)
    if wanted is None:
        return configured
    if wanted < timedelta():
        raise InvalidRequest("the retention is below zero", where=newest.location)
    if wanted < configured and not allow_unsafe:
        raise InvalidRequest(
            f"a retention of {wanted} is shorter than the table's own, {configured}: files could vanish under a reader "
            "or before a writer commits them",
            where=newest.location,
            hint=f"Set {properties.DELETED_FILE_RETENTION.name}, or say allow_unsafe where nobody reads or writes the table.",
        )
    return wanted


def _listed(newest: Snapshot) -> Iterator[FileInfo]:
    files = list(newest.place.storage.list())
    # A folder with a log of its own is another table.
    others = {file.path.partition(f"/{LOG_FOLDER}/")[0] + "/" for file in files if f"/{LOG_FOLDER}/" in file.path}
    is_hidden, kept = _hidden(newest.metadata), tuple(others)
    return (file for file in files if not is_hidden(file.path) and not file.path.startswith(kept))


def _removed(newest: Snapshot, listing: LogListing, last: int, cutoff: int) -> Iterator[FileInfo]:
    """What the commits since the last vacuum, up to `last`, took out of the table, and their change data."""
    place = newest.place
    done = read_last_vacuum(place.storage)
    versions = range(0 if done is None else done + 1, last + 1)
    missing = next((version for version in versions if version not in listing.commits), None)
    if missing is not None:
        raise InvalidRequest(
            f"a lite vacuum needs the commit of version {missing}, which the log no longer has",
            where=newest.location,
            hint="Run a full vacuum.",
        )
    entries = [listing.commits[version] for version in versions]
    uris: list[str] = []
    for removes in named_in(place, entries, ("remove",)):
        is_old = pc.fill_null(pc.less(removes.column("deletionTimestamp"), cutoff), True)
        uris += file_uris(removes.filter(is_old))
    for changes in named_in(place, entries, ("cdc",)):
        uris += file_uris(changes)
    is_hidden = _hidden(newest.metadata)
    return _present(place.storage, {path for path in inside(place, uris) if not is_hidden(path)})


def _present(storage: Storage, paths: set[str]) -> Iterator[FileInfo]:
    def look(path: str) -> FileInfo | None:
        try:
            return storage.head(path)
        except NotFound:
            return None

    with ThreadPoolExecutor(_THREADS) as pool:
        yield from (file for file in pool.map(look, sorted(paths)) if file is not None)


def _hidden(metadata: Metadata) -> Callable[[str], bool]:
    """Whether a path is none of the table's data: names that begin with `_` or `.` belong to others.

    Change data does not, nor does a folder of a partition column whose own name begins so. What a job or a process left that
    died while it wrote is ours too.
    """
    ours = tuple(f"{column}=" for column in metadata.partition_columns)
    has_iceberg = "iceberg" in properties.value(properties.UNIFORM_FORMATS, metadata.configuration)

    def is_hidden(path: str) -> bool:
        names = subject(path).removeprefix(f"{CHANGE_FOLDER}/").split("/")
        if has_iceberg and "metadata" in names:
            return True
        if _SPARK_SCRATCH in names[1:]:
            names = names[: names.index(_SPARK_SCRATCH, 1)]
        elif is_temporary(names[-1]):
            names.pop()
        return any(name.startswith(("_", ".")) and not name.startswith(ours) for name in names)

    return is_hidden
