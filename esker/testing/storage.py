"""Does a storage keep what the port promises?

Inherit `StorageContract` in a test module and override the fixture `storage` with an empty storage of your kind:

    class TestMine(StorageContract):
        @pytest.fixture
        def storage(self) -> Storage: return MyStorage(...)
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from esker.errors import AlreadyExists, InvalidRequest, NotFound, Unsupported
from esker.storage.port import FileInfo, Storage

LITERAL_NAMES = (
    *("a b", "a%20b", "100%", "%zz", "%2e%2e", "a%2Fb", "a+b", "a&b", "a;b", "a=b", "a:b", "a,b", "a@b", "a'b", 'a"b'),
    *("a#b", "a#1", "a?b", "a*b", "[x]", "{x}", "~x", "$x", "a\\b", ".hidden", "..x", "x.", "_x"),
    *("é", "e\u0301", "日本", "😀"),
)

UNSAFE_PATHS = (
    *("", "/a", "a/", "a//b", ".", "..", "./a", "a/./b", "../a", "a/..", "a/../b"),
    *("\\a", "..\\a", "a/..\\b", "a\0b"),
)

VERBS: tuple[Callable[[Storage, str], object], ...] = (
    lambda storage, path: storage.read(path),
    lambda storage, path: storage.head(path),
    lambda storage, path: storage.put(path, b""),
    lambda storage, path: storage.put_if_absent(path, b""),
    lambda storage, path: storage.delete(path),
    lambda storage, path: list(storage.list(path)) if path else storage.head(path),
)


class StorageContract:
    """What every implementation of `Storage` passes."""

    refused_names: tuple[str, ...] = ()
    """Names that the store itself would change, and that are `Unsupported` for that."""

    @pytest.fixture
    def storage(self) -> Storage:
        raise NotImplementedError("override this fixture with an empty storage")

    def test_the_url_has_a_scheme_and_no_trailing_slash(self, storage: Storage) -> None:
        assert "://" in storage.url
        assert not storage.url.endswith("/")

    @pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 4, b"large" * 1_500_000], ids=len)
    def test_what_was_put_is_read_back_whole(self, storage: Storage, data: bytes) -> None:
        storage.put("a", data)
        storage.put_if_absent("b", data)
        assert storage.read("a") == data
        assert storage.read("b") == data

    @pytest.mark.parametrize("start", [0, 3, 9, 10, 50])
    @pytest.mark.parametrize("length", [0, 1, 4, 99, None])
    def test_a_range_is_read_as_a_slice(self, storage: Storage, start: int, length: int | None) -> None:
        end = None if length is None else start + length
        storage.put("a", b"0123456789")
        assert storage.read("a", start, end) == b"0123456789"[start:end]

    @pytest.mark.parametrize("start, end", [(-1, None), (-3, -1), (5, 4), (0, -1)])
    def test_a_range_that_runs_backwards_is_refused(self, storage: Storage, start: int, end: int | None) -> None:
        storage.put("a", b"0123456789")
        with pytest.raises(InvalidRequest):
            storage.read("a", start, end)

    @pytest.mark.parametrize("path", ["nothing", "folder", "folder/nothing", "no/such/folder"])
    @pytest.mark.parametrize("start, end", [(0, None), (0, 0), (2, None), (2, 3)])
    def test_reading_what_is_not_a_file_is_not_found(
        self, storage: Storage, path: str, start: int, end: int | None
    ) -> None:
        storage.put("folder/file", b"x")
        with pytest.raises(NotFound):
            storage.read(path, start, end)

    @pytest.mark.parametrize("path", ["nothing", "folder", "folder/nothing", "no/such/folder", "folder/file/below"])
    def test_asking_after_what_is_not_a_file_is_not_found(self, storage: Storage, path: str) -> None:
        storage.put("folder/file", b"x")
        with pytest.raises(NotFound):
            storage.head(path)

    def test_head_gives_size_and_time_as_the_listing_does(self, storage: Storage) -> None:
        storage.put("folder/file", b"12345")
        found = storage.head("folder/file")
        assert (found.path, found.size) == ("folder/file", 5)
        assert abs(found.modified - time.time() * 1000) < 60_000
        assert [*storage.list()] == [found]

    def test_put_replaces_what_was_there(self, storage: Storage) -> None:
        storage.put("a", b"a longer first content")
        storage.put("a", b"second")
        assert storage.read("a") == b"second"
        assert storage.head("a").size == 6

    def test_put_if_absent_refuses_a_taken_name_and_leaves_the_file_alone(self, storage: Storage) -> None:
        storage.put_if_absent("log/0", b"first")
        with pytest.raises(AlreadyExists):
            storage.put_if_absent("log/0", b"second")
        assert storage.read("log/0") == b"first"
        assert _paths(storage) == ["log/0"]

    def test_of_many_writers_creating_the_same_file_exactly_one_succeeds(self, storage: Storage) -> None:
        writers = 8
        together = Barrier(writers)

        def create(round: int, writer: int) -> bool:
            together.wait()
            try:
                storage.put_if_absent(f"log/{round}", f"writer {writer}".encode())
            except AlreadyExists:
                return False
            return True

        with ThreadPoolExecutor(writers) as pool:
            for round in range(10):
                won = list(pool.map(create, [round] * writers, range(writers)))
                assert won.count(True) == 1
                assert storage.read(f"log/{round}") == f"writer {won.index(True)}".encode()

    def test_a_reader_never_sees_a_part_of_a_file(self, storage: Storage) -> None:
        contents = [bytes([n]) * 100_000 for n in range(20)]
        storage.put("a", contents[0])
        with ThreadPoolExecutor(1) as pool:
            writing = [pool.submit(storage.put, "a", content) for content in contents]
            while not writing[-1].done():
                assert storage.read("a") in contents
            for written in writing:
                written.result()

    def test_a_deleted_file_is_gone_and_its_name_is_free(self, storage: Storage) -> None:
        storage.put("folder/a", b"x")
        storage.delete("folder/a")
        assert _paths(storage) == []
        with pytest.raises(NotFound):
            storage.head("folder/a")
        storage.put_if_absent("folder/a", b"y")

    @pytest.mark.parametrize("path", ["nothing", "no/such/folder", "folder", "folder/file/below"])
    def test_deleting_what_is_not_a_file_changes_nothing(self, storage: Storage, path: str) -> None:
        storage.put("folder/file", b"x")
        storage.delete(path)
        assert _paths(storage) == ["folder/file"]

    def test_a_listing_is_in_the_order_of_code_points_of_whole_paths(self, storage: Storage) -> None:
        paths = ["a/b", "a.b", "a-b", "a!", "a0", "a/b0/c", "a/b-c", "B", "a/z", "é", "z", "😀", "\uffee", "a b/c"]
        for path in paths:
            storage.put(path, b"")
        assert _paths(storage) == sorted(paths)

    def test_a_listing_takes_the_prefix_as_a_folder(self, storage: Storage) -> None:
        for path in ["log/0", "log/1", "log/sub/2", "log.json", "logs/3", "lo"]:
            storage.put(path, b"")
        assert _paths(storage, "log") == ["log/0", "log/1", "log/sub/2"]
        assert _paths(storage, "log/sub") == ["log/sub/2"]

    @pytest.mark.parametrize("prefix", ["nothing", "no/such/folder", "log/0"])
    def test_what_is_not_a_folder_has_no_files(self, storage: Storage, prefix: str) -> None:
        storage.put("log/0", b"")
        assert _paths(storage, prefix) == []

    def test_an_empty_storage_has_no_files(self, storage: Storage) -> None:
        assert _paths(storage) == []

    @pytest.mark.parametrize("after", ["", "a", "a/", "a/1", "a/1/x", "a/15", "a/2", "a0", "b/1", "b/~", "z"])
    @pytest.mark.parametrize("prefix", ["", "a", "b"])
    def test_a_listing_after_a_path_has_only_greater_ones(self, storage: Storage, prefix: str, after: str) -> None:
        paths = ["a/1", "a/10/x", "a/15/y", "a/2", "a/2.json", "a.b", "b/1", "b/2"]
        for path in paths:
            storage.put(path, b"")
        below = [path for path in sorted(paths) if not prefix or path.startswith(prefix + "/")]
        assert _paths(storage, prefix, after) == [path for path in below if path > after]

    def test_names_are_taken_literally(self, storage: Storage) -> None:
        names = [name for name in LITERAL_NAMES if name not in self.refused_names]
        paths = [path for name in names for path in (name, f"in {name}/{name}")]
        for path in paths:
            storage.put_if_absent(path, path.encode())
        assert _paths(storage) == sorted(paths)
        for path in paths:
            assert storage.read(path) == path.encode()
            assert storage.head(path).path == path
            assert storage.read(path, 1, 2) == path.encode()[1:2]
        for name in names:
            assert _paths(storage, f"in {name}") == [f"in {name}/{name}"]
            assert _paths(storage, after=name) == [path for path in sorted(paths) if path > name]
        for name in names:
            storage.delete(name)
        assert _paths(storage) == sorted(f"in {name}/{name}" for name in names)

    def test_names_that_the_store_would_change_are_refused_by_every_verb(self, storage: Storage) -> None:
        for name in self.refused_names:
            for verb in VERBS:
                with pytest.raises(Unsupported):
                    verb(storage, name)

    @pytest.mark.parametrize("path", UNSAFE_PATHS)
    def test_a_path_that_could_lead_out_of_the_root_is_refused_by_every_verb(self, storage: Storage, path: str) -> None:
        for verb in VERBS:
            with pytest.raises(InvalidRequest) as refused:
                verb(storage, path)
            assert not isinstance(refused.value, NotFound)

    def test_a_listing_of_an_unsafe_prefix_is_refused_before_it_is_walked(self, storage: Storage) -> None:
        with pytest.raises(InvalidRequest):
            storage.list("../elsewhere")


def _paths(storage: Storage, prefix: str = "", after: str | None = None) -> list[str]:
    files: list[FileInfo] = list(storage.list(prefix, after))
    return [file.path for file in files]
