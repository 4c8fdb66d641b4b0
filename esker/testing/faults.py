"""What happens when the world is unkind?

Storages that wrap another one: one lets a rival go first, one loses replies, one fails, one stalls, one dies, one counts.
`matching` is a pattern as in `fnmatch` over the whole path, so `*` also crosses slashes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from threading import Lock
from typing import TypeVar

from esker.errors import AlreadyExists, EskerError
from esker.storage.port import FileInfo, Storage

T = TypeVar("T")


class Wrapping:
    """A storage that does what another does; a subclass says what goes on around each call."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner

    @property
    def url(self) -> str:
        return self.inner.url

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        return self.around("read", path, lambda: self.inner.read(path, start, end))

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        return self.around("list", prefix, lambda: self.inner.list(prefix, after))

    def head(self, path: str) -> FileInfo:
        return self.around("head", path, lambda: self.inner.head(path))

    def put(self, path: str, data: bytes) -> None:
        self.around("put", path, lambda: self.inner.put(path, data))

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.around("put_if_absent", path, lambda: self.inner.put_if_absent(path, data, durable=durable))

    def delete(self, path: str) -> None:
        self.around("delete", path, lambda: self.inner.delete(path))

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        """Makes the call, and whatever else is to happen before and after it."""
        return call()


class Rival(Wrapping):
    """Lets a rival act once, right before the nth `put_if_absent` on a matching path.

    `act` works on the inner storage or on a handle of its own. `acted` says whether its moment came.
    """

    def __init__(self, inner: Storage, act: Callable[[], object], matching: str = "*", nth: int = 1) -> None:
        super().__init__(inner)
        self.acted = False
        self._act = act
        self._turn = _Turn("put_if_absent", matching, nth)

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        if self._turn.comes(verb, path):
            self.acted = True
            self._act()
        return call()


class LostReply(Wrapping):
    """Performs the nth `put_if_absent` on a matching path and then reports a failure that does not say so."""

    def __init__(self, inner: Storage, matching: str = "*", nth: int = 1) -> None:
        super().__init__(inner)
        self._turn = _Turn("put_if_absent", matching, nth)

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        is_lost = self._turn.comes(verb, path)
        result = call()
        if is_lost:
            raise EskerError("the connection broke before the store replied", where=path)
        return result


class Failing(Wrapping):
    """Reports a failure of the nth call, which was not made, or was made all the same where it fails `after` it.

    `verb` narrows which calls count. A sweep over n ends when `has_failed` stays False.
    """

    def __init__(self, inner: Storage, nth: int, *, after: bool = False, verb: str | None = None, matching: str = "*") -> None:
        super().__init__(inner)
        self.has_failed = False
        self._after = after
        self._turn = _Turn(verb, matching, nth)

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        if not self._turn.comes(verb, path):
            return call()
        self.has_failed = True
        if self._after:
            call()
        raise EskerError(f"the store did not answer {verb}", where=path)


class Stalling(Wrapping):
    """Gives up on the nth call that changes something, which is under way all the same and arrives when it is told to.

    A sweep over n ends when `has_stalled` stays False.
    """

    def __init__(self, inner: Storage, nth: int, matching: str = "*") -> None:
        super().__init__(inner)
        self.has_stalled = False
        self._turn = _Turn(_CHANGING, matching, nth)
        self._late: Callable[[], object] = lambda: None

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        if not self._turn.comes(verb, path):
            return call()
        self.has_stalled = True
        self._late = call
        raise EskerError(f"the store took too long over {verb}", where=path)

    def arrive(self) -> None:
        """Make the call that was given up, unless the name was taken meanwhile."""
        with suppress(AlreadyExists):
            self._late()


class Died(BaseException):
    """The process is no more. Not an `Exception`, so that no handler of the code under test tidies up after it."""


class Dying(Wrapping):
    """Dies before the nth call, or `after` it was performed; every later call finds the process dead.

    `verb` narrows which calls count. A sweep over n ends when `has_died` stays False.
    """

    def __init__(
        self, inner: Storage, nth: int, *, after: bool = False, verb: str | None = None, matching: str = "*"
    ) -> None:
        super().__init__(inner)
        self.has_died = False
        self._after = after
        self._turn = _Turn(verb, matching, nth)

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        if self.has_died:
            raise Died(f"{verb} {path}: dead already")
        if not self._turn.comes(verb, path):
            return call()
        self.has_died = True
        if self._after:
            call()
        raise Died(f"died {'after' if self._after else 'before'} {verb} {path}")


class Counting(Wrapping):
    """Counts calls by verb, in `calls`."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.calls: Counter[str] = Counter()
        self._lock = Lock()

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        with self._lock:
            self.calls[verb] += 1
        return call()


_CHANGING = frozenset({"put", "put_if_absent", "delete"})


class _Turn:
    """Comes once: at the nth call that matches, whichever thread makes it."""

    def __init__(self, verb: str | Collection[str] | None, matching: str, nth: int) -> None:
        self._verbs = (verb,) if isinstance(verb, str) else verb
        self._matching = matching
        self._left = nth
        self._lock = Lock()

    def comes(self, verb: str, path: str) -> bool:
        if (self._verbs is not None and verb not in self._verbs) or not fnmatchcase(path, self._matching):
            return False
        with self._lock:
            self._left -= 1
            return self._left == 0
