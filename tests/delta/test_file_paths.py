"""Where the files that a log names are, and that no name leads out of the table.  (PROTOCOL.md, "Add File and Remove File")"""

from pathlib import Path

import pyarrow as pa
import pytest

from esker.errors import EskerError, InvalidTable
from esker.storage.local import LocalStorage
from tests.delta.tables import Action, Log, add, ids, parquet
from tests.delta.test_deletion_vectors import BODY, GOOD, NAME

NAMES = ["a b.parquet", "a%20b.parquet", "ü😀.parquet", "p=x%2Fy/f.parquet", "a+b&c.parquet", "a:b.parquet", "_hidden.parquet",
         "a#b?c.parquet", "[x]{y}*.parquet"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_decoded_once(name: str, tmp_path: Path) -> None:
    """ "The path is a URI as specified by RFC 2396 [...], which needs to be decoded to get the data file path."."""
    for log in (Log(), Log(LocalStorage(str(tmp_path / "my table")))):
        log.start()
        action = log.data(name, ids(1))
        action["add"]["path"] = name.replace("%", "%25").replace(" ", "%20").replace("#", "%23").replace("?", "%3F")
        log.commit(action)
        assert log.open().to_arrow()["id"].to_pylist() == [1]


@pytest.mark.parametrize("spelling", ["file://{}", "file:{}", "{}"])
def test_an_absolute_path_leads_to_another_table_as_shallow_clones_need_it(spelling: str, tmp_path: Path) -> None:
    """ "or an absolute path to a data file"  (PROTOCOL.md, "Add File and Remove File")"""
    source = Log(LocalStorage(str(tmp_path / "source"))).start()
    source.commit(source.data("a%20b.parquet", ids(1, 2)))
    clone = Log(LocalStorage(str(tmp_path / "clone"))).start()
    clone.commit(add(spelling.format(f"{tmp_path}/source/a%2520b.parquet")), clone.data("own.parquet", ids(3)))
    assert clone.open().to_arrow()["id"].to_pylist() == [1, 2, 3]
    where = clone.open().to_arrow(columns=["_file"])["_file"].to_pylist()
    assert where[0] == f"file://{tmp_path}/source/a%20b.parquet"


@pytest.mark.parametrize("old", ["s3://bucket/lake", "s3://bucket/lake/", "s3://bucket"])
def test_absolute_paths_that_point_elsewhere_now_can_be_moved(old: str, tmp_path: Path) -> None:
    target = tmp_path if old.endswith("bucket") else tmp_path / "lake"
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a b.parquet").write_bytes(parquet(ids(7)))
    log = Log().start()
    log.commit(add("s3://bucket/lake/a%20b.parquet"), log.data("own.parquet", ids(8)))
    assert log.open(relocate={old: f"file://{target}"}).to_arrow()["id"].to_pylist() == [7, 8]


def test_the_longest_prefix_that_has_moved_counts_and_ends_at_a_folder() -> None:
    other = Log().start()
    other.data("x/a.parquet", ids(1))
    log = Log().start()
    log.commit(add("s3://b/lake/deep/a.parquet"))
    moves = {"s3://b/lak": "memory://wrong", "s3://b/lake": "memory://wrong", "s3://b/lake/deep": f"{other.url}/x"}
    assert log.open(relocate=moves).to_arrow()["id"].to_pylist() == [1]


def test_a_clone_reads_the_vectors_of_its_source(tmp_path: Path) -> None:
    source = Log(LocalStorage(str(tmp_path / "source"))).start(features=["deletionVectors"])
    source.storage.put(NAME, BODY)
    source.data("a.parquet", ids(1, 2, 3))
    clone = Log().start(features=["deletionVectors"])
    vector: Action = GOOD | {"storageType": "p", "pathOrInlineDv": f"file://{tmp_path}/source/{NAME}"}
    clone.commit(add(f"file://{tmp_path}/source/a.parquet", dv=vector, stats={"numRecords": 3}))
    assert clone.open().to_arrow()["id"].to_pylist() == [2]


HOSTILE = ["../canary.parquet", "a/../../canary.parquet", "%2e%2e/canary.parquet", "..%2fcanary.parquet",
           "%2E%2E%2Fcanary.parquet",
           "./../canary.parquet", "..\\canary.parquet", "a/..\\..\\canary.parquet", "//canary.parquet", "",
           "a//canary.parquet", "a/./canary.parquet", "canary.parquet%00"]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_a_relative_path_never_leads_out_of_the_table(path: str, tmp_path: Path) -> None:
    (tmp_path / "canary.parquet").write_bytes(parquet(ids(666)))
    log = Log(LocalStorage(str(tmp_path / "table"))).start()
    log.data("a/x.parquet", ids(1))
    log.commit(add(path))
    with pytest.raises(EskerError):
        log.open().to_arrow()
    log.commit(add("plain.parquet"), add(path), version=1)
    with pytest.raises(EskerError):
        log.open().to_arrow(columns=["_file"])


def test_a_path_that_is_encoded_twice_is_decoded_once_and_names_nothing(tmp_path: Path) -> None:
    log = Log(LocalStorage(str(tmp_path / "table"))).start()
    log.commit(add("%252e%252e/canary.parquet"))
    (tmp_path / "canary.parquet").write_bytes(parquet(ids(666)))
    with pytest.raises(InvalidTable, match="missing"):
        log.open().to_arrow()


@pytest.mark.parametrize("data", [b"", b"PAR1", b"x" * 50, parquet(ids(1))[:-9]])
def test_a_data_file_that_cannot_be_read_is_an_invalid_table(data: bytes) -> None:
    log = Log().start()
    log.storage.put("a.parquet", data)
    log.commit(add("a.parquet"))
    with pytest.raises(InvalidTable):
        log.open().to_arrow()


def test_a_file_of_no_rows_gives_none() -> None:
    log = Log().start()
    log.commit(log.data("a.parquet", pa.table({"id": pa.array([], pa.int64())})))
    assert log.open().to_arrow().num_rows == 0
    assert log.open().to_arrow(columns=[]).num_rows == 0
