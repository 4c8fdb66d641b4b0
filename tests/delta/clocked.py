"""A storage in memory whose files are as old as a test says."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count

from esker.storage.memory import MemoryStorage
from esker.storage.port import FileInfo, Storage
from esker.testing.faults import Wrapping

DAY = 24 * 3600 * 1000
"""Milliseconds."""
_NAMES = count()


class Clocked(Wrapping):
    """A storage with a clock of its own, `now`, that only the test moves; what is written is written then."""

    def __init__(self, inner: Storage | None = None, now: int = 1_700_000_000_000) -> None:
        super().__init__(inner or MemoryStorage(f"memory://clocked-{next(_NAMES)}/table"))
        self.now = now
        self.when_listed: Callable[[], object] = lambda: None
        """Happens once, when the whole storage has been listed."""
        self._times: dict[str, int] = {}

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days) // timedelta(milliseconds=1)

    def put(self, path: str, data: bytes) -> None:
        super().put(path, data)
        self._times[path] = self.now

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        super().put_if_absent(path, data, durable=durable)
        self._times[path] = self.now

    def head(self, path: str) -> FileInfo:
        return self._dated(super().head(path))

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        files = [self._dated(file) for file in super().list(prefix, after)]
        if not prefix:
            act, self.when_listed = self.when_listed, lambda: None
            act()
        return iter(files)

    def paths(self) -> set[str]:
        """All files but those of the log."""
        return {file.path for file in self.inner.list() if not file.path.startswith("_delta_log/")}

    def _dated(self, file: FileInfo) -> FileInfo:
        return replace(file, modified=self._times[file.path])
