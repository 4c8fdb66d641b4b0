"""What does a process leave in a folder when it is killed while it writes a file?"""

import os
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from esker.errors import AlreadyExists
from esker.storage.local import LocalStorage

MOMENTS = [("write", 1), ("fsync", 1), ("fsync", 2), ("fsync", 3), ("link", 1), ("replace", 1), ("unlink", 1), ("mkdir", 1)]
"""The file is made durable first, then its name, then that of its folder."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("verb", ["put", "put_if_absent"])
@pytest.mark.parametrize("call, nth", MOMENTS)
def test_a_killed_process_leaves_the_whole_file_or_none(tmp_path: Path, call: str, nth: int, verb: str, after: bool) -> None:
    if call == ("link" if verb == "put" else "replace"):
        pytest.skip(f"{verb} does without {call}")
    if (call, verb, after) == ("unlink", "put", True):
        pytest.skip("what was renamed is not there to be unlinked")
    storage = LocalStorage(str(tmp_path))
    write = storage.put if verb == "put" else storage.put_if_absent
    assert killed(lambda: write("log/0.json", b"whole" * 1000), call, nth, after)
    listed = [file.path for file in storage.list()]
    assert listed in ([], ["log/0.json"])
    if listed:
        assert storage.read("log/0.json") == b"whole" * 1000
        with pytest.raises(AlreadyExists):
            storage.put_if_absent("log/0.json", b"second")
    else:
        storage.put_if_absent("log/0.json", b"second")
        assert storage.read("log/0.json") == b"second"


def killed(work: Callable[[], None], call: str, nth: int, after: bool) -> bool:
    """Whether a process that does the work kills itself before or after the nth call of a function of the operating system."""
    original, calls = getattr(os, call), count(1)

    def dying(*arguments: Any, **options: Any) -> Any:
        is_last = next(calls) == nth
        if is_last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    process = os.fork()
    if process == 0:
        try:
            setattr(os, call, dying)
            work()
        finally:
            os._exit(0)  # whatever happens, there must not be two of these tests
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_what_a_killed_process_left_is_listed_when_it_has_lain_for_a_day(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    left = tmp_path / ".esker-0123.tmp"
    left.write_bytes(b"a part")
    assert [*storage.list()] == []
    yesterday = time.time() - 25 * 3600
    os.utime(left, (yesterday, yesterday))
    assert [file.path for file in storage.list()] == [left.name]
    storage.delete(left.name)
    assert not left.exists()
