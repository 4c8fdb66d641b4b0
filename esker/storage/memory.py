"""How are files kept in this process, for tests and trials?

`memory://name/folder` is a folder in the space `name`; all storages of a process that say the same name share it.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock

from esker.errors import AlreadyExists, InvalidRequest, NotFound
from esker.storage.paths import checked, join_url, trimmed, url_parts
from esker.storage.port import FileInfo
from esker.storage.ranges import checked_range


class MemoryStorage:
    """A folder in a space of this process."""

    def __init__(self, url: str) -> None:
        scheme, name, folder = url_parts(url)
        if scheme != "memory" or not name:
            raise InvalidRequest("a storage in memory has a name", where=url, hint="Write memory://name.")
        self._url = trimmed(url)
        self._prefix = checked(folder) + "/" if folder else ""
        # setdefault is atomic, so two threads that open the same name get the same space.
        self._space = _SPACES.setdefault(name, _Space())

    @property
    def url(self) -> str:
        return self._url

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        checked_range(path, start, end)
        return self._file(path).data[start:end]

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        below = self._prefix + (checked(prefix) + "/" if prefix else "")
        with self._space.lock:
            files = [(key, file) for key, file in self._space.files.items() if key.startswith(below)]
        found = sorted((_info(key.removeprefix(self._prefix), file) for key, file in files), key=lambda info: info.path)
        return (info for info in found if after is None or info.path > after)

    def head(self, path: str) -> FileInfo:
        return _info(path, self._file(path))

    def put(self, path: str, data: bytes) -> None:
        key = self._prefix + checked(path)
        with self._space.lock:
            self._space.files[key] = _stored(data)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        key = self._prefix + checked(path)
        with self._space.lock:
            if key in self._space.files:
                raise AlreadyExists("the file is already there", where=join_url(self.url, path))
            self._space.files[key] = _stored(data)

    def delete(self, path: str) -> None:
        key = self._prefix + checked(path)
        with self._space.lock:
            self._space.files.pop(key, None)

    def _file(self, path: str) -> "_File":
        with self._space.lock:
            file = self._space.files.get(self._prefix + checked(path))
        if file is None:
            raise NotFound("there is no such file", where=join_url(self.url, path))
        return file


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    modified: int


@dataclass
class _Space:
    files: dict[str, _File] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


_SPACES: dict[str, _Space] = {}


def _stored(data: bytes) -> _File:
    return _File(bytes(data), time.time_ns() // 1_000_000)


def _info(path: str, file: _File) -> FileInfo:
    return FileInfo(path, len(file.data), file.modified)
