"""How does Arrow read a file of a storage at random?"""

import io
import os

import pyarrow as pa

from esker.errors import InvalidRequest
from esker.storage.local import LocalStorage, os_errors
from esker.storage.port import Storage


def open_input(storage: Storage, path: str, size: int | None = None) -> pa.NativeFile:
    """The file as Arrow's readers want it; the caller closes it. With `size`, it is not asked for."""
    if isinstance(storage, LocalStorage):
        full = storage.local_path(path)
        with os_errors(full):
            return pa.OSFile(full)
    return pa.PythonFile(_RangeReader(storage, path, storage.head(path).size if size is None else size), mode="r")


class _RangeReader(io.RawIOBase):
    """A file that asks its storage for each range that is read."""

    def __init__(self, storage: Storage, path: str, size: int) -> None:
        self._storage = storage
        self._path = path
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        if origin + offset < 0:
            raise InvalidRequest(f"there is no byte {origin + offset}", where=self._path)
        self._position = origin + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        if end <= self._position:
            return b""
        data = self._storage.read(self._path, self._position, end)
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()
