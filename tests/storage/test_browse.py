"""Does every storage tell one level at a time, and the same?"""

from pathlib import Path

import pytest
from obstore.store import MemoryStore

from esker.errors import NotFound
from esker.storage import Storage, open_storage
from esker.storage.browse import Level, below, level, real_path
from esker.storage.cloud import CloudStorage
from esker.testing.faults import Wrapping

FILES = ("a.txt", "b/c.txt", "b/d/e.txt", "b-/f.txt", "b0", "x y/100%/z#1", "ü/ö.txt")


def _cloud(tmp_path: Path) -> Storage:
    return CloudStorage(MemoryStore(), "s3://bucket/pre fix")


STORAGES = {
    "local": lambda tmp_path: open_storage(tmp_path),
    "memory": lambda tmp_path: open_storage(f"memory://browse{tmp_path.name}/lake"),
    "cloud": _cloud,
    "another": lambda tmp_path: Wrapping(open_storage(f"memory://wrapped{tmp_path.name}/lake")),
}


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    made: Storage = STORAGES[request.param](tmp_path)
    for path in FILES:
        made.put(path, b"x")
    return made


def test_a_level_has_the_names_right_in_a_folder(storage: Storage) -> None:
    assert level(storage) == Level(("b", "b-", "x y", "ü"), (), ("a.txt", "b0"))
    assert level(storage, "b") == Level(("d",), (), ("c.txt",))
    assert level(storage, "x y/100%") == Level((), (), ("z#1",))


def test_a_folder_of_a_storage_is_a_storage(storage: Storage) -> None:
    inner = below(storage, "x y/100%")
    assert inner.url == f"{storage.url}/x y/100%"
    assert [file.path for file in below(storage, "b").list()] == ["c.txt", "d/e.txt"]
    assert below(storage, "") is storage


def test_what_is_no_folder_has_no_level(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        level(open_storage(tmp_path / "nowhere"))
    assert level(open_storage(f"memory://{tmp_path.name}/nowhere")) == Level()


def test_links_are_told_from_folders(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    storage = open_storage(tmp_path)
    assert level(storage) == Level(("real",), ("link",), ("broken", "self"))
    assert real_path(storage, "link") == str((tmp_path / "real").resolve())
    assert real_path(open_storage("memory://links/here")) is None
