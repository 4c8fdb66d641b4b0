"""Does a vacuum delete what nobody needs, tell of it in the history, and leave all else alone?"""

from collections.abc import Callable
from datetime import timedelta
from time import sleep
from typing import Any, TypeVar

import pytest

import esker
from esker.delta.last_vacuum import read_last_vacuum
from esker.errors import EskerError, InvalidRequest, Unsupported
from esker.storage.memory import MemoryStorage
from esker.testing.faults import Died, Dying, Wrapping
from tests.delta.handles import created, ids, last, operations, rows, through, with_rival
from tests.delta.tables import Log

T = TypeVar("T")
UNSAFE: dict[str, Any] = {"retention": 0, "allow_unsafe": True}


def overwritten() -> tuple[esker.Table, list[str]]:
    """A table of one row with files of no use: two that were overwritten, one that nobody committed."""
    table = created(rows=ids(1)).append(ids(2))
    old = esker.open(table.location).files().column("path").to_pylist()
    MemoryStorage(table.location).put("left/behind.parquet", b"nothing")
    table.overwrite(ids(3))
    sleep(0.005)  # a retention of nothing still keeps what was done in this very millisecond
    return table, sorted([*old, "left/behind.parquet"])


def data_files(table: esker.Table) -> set[str]:
    return {f.path for f in MemoryStorage(table.location).list() if not f.path.startswith("_delta_log/")}


def test_a_vacuum_deletes_what_no_version_within_the_retention_needs():
    table, useless = overwritten()
    kept = data_files(table) - set(useless)
    done = table.vacuum(**UNSAFE)
    assert sorted(done.files) == useless
    assert done.size > 0
    assert data_files(table) == kept
    assert rows(table) == [{"id": 3}]


def test_the_history_tells_of_start_and_end():
    table, _ = overwritten()
    done = table.vacuum(timedelta(0), allow_unsafe=True)
    assert operations(table)[-2:] == ["VACUUM START", "VACUUM END"]
    assert table.version == esker.open(table.location).version == 5
    end, start = last(table), last(table.at(4))
    assert start["operationParameters"] == {
        "retentionCheckEnabled": "false", "defaultRetentionMillis": "604800000", "specifiedRetentionMillis": "0"}  # fmt: skip
    assert start["operationMetrics"] == {"numFilesToDelete": "3", "sizeOfDataToDelete": str(done.size)}
    assert end["operationParameters"] == {"status": "COMPLETED"}
    assert end["operationMetrics"] == {"numDeletedFiles": "3", "numVacuumedDirectories": "3"}


@pytest.mark.parametrize("lite", [False, True])
def test_a_dry_run_tells_the_same_and_changes_nothing(lite: bool):
    table, _ = overwritten()
    before = {(f.path, f.modified) for f in MemoryStorage(table.location).list()}
    planned = table.vacuum(**UNSAFE, lite=lite, dry_run=True)
    assert planned.is_dry_run
    assert {(f.path, f.modified) for f in MemoryStorage(table.location).list()} == before
    done = table.vacuum(**UNSAFE, lite=lite)
    assert (done.files, done.size, done.is_dry_run) == (planned.files, planned.size, False)


def test_a_lite_vacuum_goes_by_the_log_and_remembers_how_far_it_went():
    table, useless = overwritten()
    assert sorted(table.vacuum(**UNSAFE, lite=True).files) == [f for f in useless if f != "left/behind.parquet"]
    assert "left/behind.parquet" in data_files(table)
    assert read_last_vacuum(MemoryStorage(table.location)) == 3
    assert table.vacuum(**UNSAFE, lite=True).files == ()


def test_files_within_the_retention_stay():
    table, _ = overwritten()
    before = data_files(table)
    assert table.vacuum().files == ()
    assert table.vacuum(24 * 365).files == ()
    assert data_files(table) == before


@pytest.mark.parametrize("asked, problem", [({"retention": 1}, "shorter than the table's own"), ({"retention": -1, "allow_unsafe": True}, "below zero")])
def test_a_retention_that_endangers_others_is_refused(asked: dict[str, Any], problem: str):
    table, useless = overwritten()
    with pytest.raises(InvalidRequest, match=problem):
        table.vacuum(**asked)
    assert data_files(table) >= set(useless)
    assert esker.open(table.location).version == 3


def test_a_table_that_cannot_be_written_is_not_vacuumed():
    """ "Before performing a VACUUM operation, writers must ensure that they check the table's write protocol."  (VACUUM Protocol
    Check)
    """
    log = Log().start(features=["vacuumProtocolCheck", "unheardOf"])
    log.storage.put("useless.parquet", b"")
    with pytest.raises(Unsupported, match="unheardOf"):
        log.open().vacuum(**UNSAFE)
    assert log.storage.read("useless.parquet") == b""
    assert log.open().version == 0


def test_progress_is_heard_of_to_the_end():
    table, useless = overwritten()
    heard: list[tuple[int, int]] = []
    table.vacuum(**UNSAFE, progress=lambda done, of: heard.append((done, of)))
    assert heard == [(n, len(useless)) for n in (1, 2, 3)]


def test_a_file_that_a_rival_brings_back_after_the_plan_stays():
    """The plan is looked at again once the start is in the log: a restore in between needs the old files."""
    table, _ = overwritten()
    handle = with_rival(table, lambda rival: rival.restore(2))
    done = handle.vacuum(**UNSAFE)
    assert done.files == ("left/behind.parquet",)
    assert rows(table) == [{"id": 1}, {"id": 2}]


class Stubborn(Wrapping):
    """Does not delete what lies in `left`."""

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        if verb == "delete" and path.startswith("left/"):
            raise EskerError("not allowed", where=path)
        return call()


def test_a_vacuum_that_fails_says_so_and_has_done_what_it_could():
    table, useless = overwritten()
    with pytest.raises(EskerError, match="1 of 3 files"):
        through(Stubborn(MemoryStorage(table.location))).vacuum(**UNSAFE)
    assert last(esker.open(table.location))["operationParameters"] == {"status": "FAILED"}
    assert data_files(table) & set(useless) == {"left/behind.parquet"}
    assert read_last_vacuum(MemoryStorage(table.location)) is None
    assert rows(table) == [{"id": 3}]
    assert esker.open(table.location).vacuum(**UNSAFE).files == ("left/behind.parquet",)


def test_wherever_a_vacuum_dies_the_table_reads_and_the_next_one_finishes():
    for verb, calls in (("put_if_absent", 2), ("delete", 3), ("put", 1)):
        for nth in range(1, calls + 1):
            table, useless = overwritten()
            with pytest.raises(Died):
                through(Dying(MemoryStorage(table.location), nth, verb=verb)).vacuum(**UNSAFE)
            assert rows(table) == [{"id": 3}]
            esker.open(table.location).vacuum(**UNSAFE)
            assert not data_files(table) & set(useless)
            assert rows(table) == [{"id": 3}]
