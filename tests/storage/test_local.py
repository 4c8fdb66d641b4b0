"""What does the storage of this machine's folders do beyond the contract?"""

import contextlib
import multiprocessing
import os
import socket
import stat
import subprocess
import sys
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from esker.errors import AlreadyExists, EskerError, InvalidRequest, NotFound, Unsupported
from esker.storage import open_storage
from esker.storage.local import LocalStorage


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


def _create(root: str, rounds: int, ready: Barrier, results: "Queue[tuple[int, list[int]]]") -> None:
    storage, won = LocalStorage(root), []
    for round in range(rounds):
        ready.wait(60)
        try:
            storage.put_if_absent(f"log/{round}", str(os.getpid()).encode())
        except AlreadyExists:
            continue
        won.append(round)
    results.put((os.getpid(), won))


def test_of_many_processes_creating_the_same_file_exactly_one_succeeds(tmp_path: Path) -> None:
    context, writers, rounds = multiprocessing.get_context("spawn"), 4, 50
    ready, results = context.Barrier(writers), context.Queue()
    arguments = (str(tmp_path), rounds, ready, results)
    processes = [context.Process(target=_create, args=arguments) for _ in range(writers)]
    for process in processes:
        process.start()
    won = dict(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(60)
    assert sorted(round for rounds_won in won.values() for round in rounds_won) == list(range(rounds))
    storage = LocalStorage(str(tmp_path))
    assert all(storage.read(f"log/{round}") == str(pid).encode() for pid, mine in won.items() for round in mine)


def test_nothing_but_the_files_is_left_after_writing(storage: LocalStorage, tmp_path: Path) -> None:
    storage.put("log/0", b"x")
    storage.put("log/0", b"y")
    storage.put_if_absent("log/1", b"x")
    with pytest.raises(AlreadyExists):
        storage.put_if_absent("log/1", b"y")
    assert sorted(os.listdir(tmp_path / "log")) == ["0", "1"]


_KILLED_WRITER = """
import os, sys
from esker.storage.local import LocalStorage
os.link = os.replace = lambda *_: os._exit(9)
getattr(LocalStorage(sys.argv[1]), sys.argv[2])("log/0", b"x" * 100_000)
"""


@pytest.mark.parametrize("verb", ["put", "put_if_absent"])
def test_a_writer_that_is_killed_leaves_no_file_that_a_listing_shows(
    storage: LocalStorage, tmp_path: Path, verb: str
) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED_WRITER, str(tmp_path), verb], timeout=60)
    assert killed.returncode == 9
    assert len(os.listdir(tmp_path / "log")) == 1
    assert [*storage.list()] == []
    storage.put_if_absent("log/0", b"after")
    assert storage.read("log/0") == b"after"


def test_a_file_gets_the_mode_that_the_umask_allows(storage: LocalStorage, tmp_path: Path) -> None:
    storage.put_if_absent("a", b"")
    (tmp_path / "b").write_bytes(b"")
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == stat.S_IMODE(os.stat(tmp_path / "b").st_mode)


def test_hidden_files_of_others_are_listed_and_empty_folders_are_not(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "empty" / "folder").mkdir(parents=True)
    (tmp_path / ".0.json.crc").write_bytes(b"")
    assert [file.path for file in storage.list()] == [".0.json.crc"]


def test_links_are_followed_and_broken_or_circular_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(b"123")
    table = tmp_path / "table"
    (table / "deep").mkdir(parents=True)
    (table / "folder").symlink_to(tmp_path / "elsewhere")
    (table / "file").symlink_to(tmp_path / "elsewhere" / "file")
    (table / "broken").symlink_to(tmp_path / "nothing")
    (table / "self").symlink_to(table / "self")
    (table / "deep" / "up").symlink_to(table)
    storage = open_storage(table)
    assert [(file.path, file.size) for file in storage.list()] == [("file", 3), ("folder/file", 3)]
    storage.delete("file")
    assert (tmp_path / "elsewhere" / "file").exists()


def test_the_root_is_not_resolved_when_it_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    storage = open_storage(tmp_path / "link")
    storage.put("a", b"x")
    assert storage.url == f"file://{tmp_path}/link"
    assert (tmp_path / "real" / "a").read_bytes() == b"x"


def test_a_file_that_vanishes_during_a_listing_is_left_out(storage: LocalStorage, tmp_path: Path) -> None:
    for name in ["a", "b", "c/d", "e"]:
        storage.put(name, b"")
    listing = storage.list()
    assert next(listing).path == "a"
    storage.delete("b")
    storage.delete("c/d")
    (tmp_path / "c").rmdir()
    assert [file.path for file in listing] == ["e"]


def test_what_is_neither_a_file_nor_a_folder_is_not_listed(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert [*storage.list()] == []


def test_names_that_object_stores_refuse_are_kept(storage: LocalStorage) -> None:
    storage.put("line\nbreak", b"x")
    assert [file.path for file in storage.list()] == ["line\nbreak"]


def test_a_name_of_the_greatest_length_can_be_written(storage: LocalStorage) -> None:
    storage.put_if_absent("n" * 255, b"x")
    with pytest.raises(EskerError, match="too long"):
        storage.put_if_absent("n" * 256, b"x")


def test_a_name_that_no_encoding_can_write_is_refused(storage: LocalStorage) -> None:
    with pytest.raises(InvalidRequest):
        storage.put("\ud800", b"x")


def test_a_file_below_a_file_cannot_be_written(storage: LocalStorage) -> None:
    storage.put("a", b"")
    with pytest.raises(EskerError) as refused:
        storage.put_if_absent("a/b", b"")
    assert not isinstance(refused.value, AlreadyExists)


def test_a_folder_takes_a_name_too(storage: LocalStorage) -> None:
    storage.put("a/b", b"")
    with pytest.raises(AlreadyExists):
        storage.put_if_absent("a", b"")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser is denied nothing")
def test_denied_access_says_so(storage: LocalStorage, tmp_path: Path) -> None:
    storage.put("closed/a", b"")
    (tmp_path / "closed").chmod(0)
    try:
        for act in (storage.read, storage.head, storage.delete, lambda path: storage.put(path, b"")):
            with pytest.raises(EskerError, match="denies access") as denied:
                act("closed/a")
            assert not isinstance(denied.value, NotFound)
        with pytest.raises(EskerError, match="denies access"):
            list(storage.list())
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_file_system_without_hard_links_is_refused(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(Unsupported, match="hard links"):
        storage.put_if_absent("a", b"")
    assert os.listdir(storage.root) == []


@pytest.mark.parametrize(
    "path, durable, synced",
    [
        ("0", True, ["file", "."]),
        ("new/0", True, ["file", "new", "."]),
        ("new/er/0", True, ["file", "new/er", "new", "."]),
        ("new/0", False, []),
        ("there", True, []),
    ],
)
def test_a_file_and_every_new_name_are_synced_before_the_call_returns(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, durable: bool, synced: list[str]
) -> None:
    storage.put("there", b"x")
    found: list[str] = []

    def sync(file: int) -> None:
        target = os.readlink(f"/proc/self/fd/{file}")
        found.append(os.path.relpath(target, tmp_path) if os.path.isdir(target) else "file")

    monkeypatch.setattr(os, "fsync", sync)
    with contextlib.suppress(AlreadyExists):
        storage.put_if_absent(path, b"y", durable=durable)
    assert found == synced
