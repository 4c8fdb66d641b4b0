"""What does a process leave in a folder when it is killed while it writes a file?"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from esker.errors import AlreadyExists
from esker.storage.local import LocalStorage
from tests.conftest import ROOT

# The process kills itself before or after the nth call of a function of the operating system.
KILLED = """
import os, signal, sys
from esker.storage.local import LocalStorage

root, verb, name, nth, after = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "True"
calls, original = 0, getattr(os, name)

def dying(*arguments, **options):
    global calls
    calls += 1
    if calls == nth and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(*arguments, **options)
    if calls == nth:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(os, name, dying)
getattr(LocalStorage(root), verb)("log/0.json", b"whole" * 1000)
"""

MOMENTS = [("write", 1), ("fsync", 1), ("fsync", 2), ("fsync", 3), ("link", 1), ("replace", 1), ("unlink", 1), ("mkdir", 1)]
"""The folder is made durable first, then the file, then its name."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("verb", ["put", "put_if_absent"])
@pytest.mark.parametrize("call, nth", MOMENTS)
def test_a_killed_process_leaves_the_whole_file_or_none(tmp_path: Path, call: str, nth: int, verb: str, after: bool) -> None:
    if call == ("link" if verb == "put" else "replace"):
        pytest.skip(f"{verb} does without {call}")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), verb, call, str(nth), str(after)], cwd=ROOT, check=False)
    assert ended.returncode in (-signal.SIGKILL, 0)
    storage = LocalStorage(str(tmp_path))
    listed = [file.path for file in storage.list()]
    assert listed in ([], ["log/0.json"])
    if listed:
        assert storage.read("log/0.json") == b"whole" * 1000
        with pytest.raises(AlreadyExists):
            storage.put_if_absent("log/0.json", b"second")
    else:
        assert ended.returncode == -signal.SIGKILL
        storage.put_if_absent("log/0.json", b"second")
        assert storage.read("log/0.json") == b"second"


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
