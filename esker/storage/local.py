"""How are files kept in a folder of this machine?

Written by hand, because obstore's local store refuses names that end in `#` and digits, leaves them out of listings,
and lists in no order. A file appears by linking or renaming a complete, synced temporary file, so neither a reader nor
a crash ever shows a part of one.
"""

import contextlib
import errno
import os
import stat
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from esker.errors import AlreadyExists, EskerError, InvalidRequest, NotFound, Unsupported
from esker.storage.paths import checked
from esker.storage.port import FileInfo
from esker.storage.ranges import checked_range


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """The folder `root`: an absolute path, literal, without a trailing slash; the first write creates it."""

    root: str

    @property
    def url(self) -> str:
        return f"file://{self.root}"

    def local_path(self, path: str) -> str:
        """The path as the operating system knows it."""
        return f"{self.root}/{checked(path)}"

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        full = self.local_path(path)
        checked_range(path, start, end)
        with os_errors(full):
            file = os.open(full, os.O_RDONLY | os.O_CLOEXEC)
            try:
                found = os.fstat(file)
                if stat.S_ISDIR(found.st_mode):
                    raise NotFound("there is a folder, not a file", where=full)
                return _read_range(file, start, found.st_size if end is None else end)
            finally:
                os.close(file)

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        folder = self.local_path(prefix) if prefix else self.root or "/"
        return _listing(folder, f"{prefix}/" if prefix else "", after)

    def head(self, path: str) -> FileInfo:
        full = self.local_path(path)
        with os_errors(full):
            found = os.stat(full)
        if stat.S_ISDIR(found.st_mode):
            raise NotFound("there is a folder, not a file", where=full)
        return _info(path, found)

    def put(self, path: str, data: bytes) -> None:
        full = self.local_path(path)
        with os_errors(full), _temporary(full, data, durable=True) as temporary:
            os.replace(temporary, full)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        full = self.local_path(path)
        if os.path.lexists(full):  # who is late need not write and sync a file to learn it
            raise AlreadyExists("the file is already there", where=full)
        with os_errors(full), _temporary(full, data, durable) as temporary:
            try:
                # link() creates the name or fails when it is taken, in one step: rename() would replace it.
                os.link(temporary, full)
            except FileExistsError:
                raise AlreadyExists("the file is already there", where=full) from None
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise Unsupported(
                        "this file system has no hard links, so a file cannot be created atomically",
                        where=full,
                        hint="Keep the table on a file system with hard links, or in an object store.",
                    ) from error
                raise

    def delete(self, path: str) -> None:
        full = self.local_path(path)
        with os_errors(full), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISDIR(os.lstat(full).st_mode):
                os.unlink(full)


@contextlib.contextmanager
def os_errors(where: str) -> Iterator[None]:
    """Turns what the operating system raises into Esker's errors."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise NotFound("there is no such file", where=where) from error
    except PermissionError as error:
        raise EskerError(
            "the operating system denies access",
            where=where,
            hint="Check the owner and the mode of the file and of its folder.",
        ) from error
    except OSError as error:
        raise EskerError(f"the operating system says: {error.strerror or error}", where=where) from error
    except UnicodeEncodeError as error:
        raise InvalidRequest("the name cannot be written in this file system's encoding", where=repr(where)) from error


_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_TEMPORARY_PREFIX, _TEMPORARY_SUFFIX = ".esker-", ".tmp"
_A_DAY = 24 * 3600


def _read_range(file: int, start: int, end: int) -> bytes:
    # One pread gives at most some 2 GB, and may give less than was asked for.
    pieces = []
    while start < end and (piece := os.pread(file, end - start, start)):
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _listing(folder: str, prefix: str, after: str | None) -> Iterator[FileInfo]:
    with os_errors(folder):
        yield from _walk(folder, prefix, after, frozenset())


def _walk(folder: str, prefix: str, after: str | None, above: frozenset[tuple[int, int]]) -> Iterator[FileInfo]:
    """The files below `folder`, links followed; `above` are the folders we are in, so that a link to one ends there."""
    try:
        found = os.stat(folder)
        with os.scandir(folder) as scan:
            entries = [(entry.name + "/" if _is_folder(entry) else entry.name, entry) for entry in scan]
    except (FileNotFoundError, NotADirectoryError):
        return
    identity = (found.st_dev, found.st_ino)
    if identity in above:
        return
    # A folder sorts as its name and a slash, which is how the paths of its files compare with its neighbours'.
    entries.sort(key=lambda named: named[0])
    for name, entry in entries:
        path = prefix + name
        if name.endswith("/"):
            if after is None or path > after or after.startswith(path):
                yield from _walk(entry.path, path, after, above | {identity})
        elif (after is None or path > after) and (info := _entry_info(path, entry)) and not _is_in_the_making(name, info):
            yield info


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def is_temporary(name: str) -> bool:
    """Whether a file was in the making when its writer died, or still is."""
    return name.startswith(_TEMPORARY_PREFIX) and name.endswith(_TEMPORARY_SUFFIX)


def _is_in_the_making(name: str, info: FileInfo) -> bool:
    """What has lain for a day is nobody's any more, and is listed for those who clear up."""
    return is_temporary(name) and info.modified > (time.time() - _A_DAY) * 1000


def _entry_info(path: str, entry: os.DirEntry[str]) -> FileInfo | None:
    """None for what is not a file, or is none any more."""
    try:
        found = entry.stat()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return None
        raise
    return _info(path, found) if stat.S_ISREG(found.st_mode) else None


def _info(path: str, found: os.stat_result) -> FileInfo:
    return FileInfo(path, found.st_size, found.st_mtime_ns // 1_000_000)


@contextlib.contextmanager
def _temporary(full: str, data: bytes, durable: bool) -> Iterator[str]:
    """A file with the data next to `full`; on leaving it is gone. If it is to be durable, it is synced before it gets its
    name, and the folders that hold new names are when all went well.
    """
    folder = os.path.dirname(full)
    changed = [folder, *_make_folder(folder)]
    temporary = f"{folder}/{_TEMPORARY_PREFIX}{uuid.uuid4().hex}{_TEMPORARY_SUFFIX}"
    try:
        with open(temporary, "xb", buffering=0) as file:
            _write_all(file.fileno(), data)
            if durable:
                os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    if durable:
        for name in changed:
            _sync_folder(name)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _make_folder(folder: str) -> list[str]:
    """Creates the folder and those above it; the folders that got a new one."""
    if os.path.isdir(folder):
        return []
    parent = os.path.dirname(folder)
    above = _make_folder(parent)
    try:
        os.mkdir(folder)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    return [parent, *above]


def _sync_folder(folder: str) -> None:
    handle = os.open(folder or "/", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(handle)
