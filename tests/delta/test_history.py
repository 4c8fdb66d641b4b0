"""When versions were made, and which was there at a moment.  (PROTOCOL.md, "In-Commit Timestamps")"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from esker.delta.history import commits, first_version_since, version_at
from esker.delta.snapshot import Place, Snapshot, load
from esker.errors import InvalidRequest, InvalidTable
from esker.storage.port import FileInfo, Storage
from esker.testing.faults import Wrapping
from tests.delta.tables import ID, Action, Log, add, metadata, protocol

ENABLED = {"delta__enableInCommitTimestamps": "true"}


class Clock(Wrapping):
    """A storage whose commits were written at the times given, in milliseconds, by version."""

    def __init__(self, inner: Storage, times: list[int]) -> None:
        super().__init__(inner)
        self.times = times

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        for file in self.inner.list(prefix, after):
            version = file.path.removeprefix("_delta_log/").removesuffix(".json")
            yield replace(file, modified=self.times[int(version)]) if version.isdigit() else file


def written(times: list[int]) -> Snapshot:
    """A table whose commits were written at these times."""
    log = Log().start()
    for i in range(1, len(times)):
        log.commit(add(f"f{i}"))
    return load(Place(Clock(log.storage, times)))


def moment(millis: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)


def times(snapshot: Snapshot) -> list[int]:
    return [c.timestamp for c in commits(snapshot)]


@pytest.mark.parametrize("modified, adjusted", [
    ([10, 20, 30], [10, 20, 30]), ([10, 10, 10], [10, 11, 12]), ([30, 20, 10], [30, 31, 32]),
    ([10, 50, 20, 60], [10, 50, 51, 60]), ([5], [5]),
])  # fmt: skip
def test_file_times_are_moved_forward_until_they_rise_with_versions(modified: list[int], adjusted: list[int]) -> None:
    assert times(written(modified)) == adjusted


@pytest.mark.parametrize("at, version", [(10, 0), (10.999, 0), (19, 0), (20, 1), (29.5, 1), (30, 2), (10**12, 2)])
def test_the_version_at_a_moment_is_the_newest_that_was_there(at: float, version: int) -> None:
    assert version_at(written([10, 20, 30]), moment(at)) == version


@pytest.mark.parametrize("at, version", [(0, 0), (10, 0), (10.001, 1), (11, 1), (20, 1), (21, 2), (30, 2)])
def test_the_first_version_since_a_moment_is_the_oldest_made_then_or_later(at: float, version: int) -> None:
    assert first_version_since(written([10, 20, 30]), moment(at)) == version


@pytest.mark.parametrize("millis", [1767225600123, 1700000000001, 1431655765999, 946684800007])
def test_a_moment_is_compared_to_the_millisecond(millis: int) -> None:
    snapshot = written([millis, millis + 1000])
    assert version_at(snapshot, moment(millis)) == 0
    assert first_version_since(snapshot, moment(millis)) == 0
    with pytest.raises(InvalidRequest):
        version_at(snapshot, moment(millis - 1))


def test_a_moment_before_the_oldest_version_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no version"):
        version_at(written([10, 20]), moment(9))


def test_a_moment_in_the_future_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="future"):
        version_at(written([10, 20]), datetime.now(UTC) + timedelta(days=1))


def test_nothing_since_the_newest_version_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="nothing was committed"):
        first_version_since(written([10, 20]), moment(21))


def test_a_moment_without_a_zone_is_in_utc_and_one_with_a_zone_is_in_it() -> None:
    hour = 3_600_000
    snapshot = written([0, hour])
    assert version_at(snapshot, datetime(1970, 1, 1, 1)) == 1
    assert version_at(snapshot, datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0


def tracked(*stamps: int | None, since: int | None = None) -> Log:
    """A table whose commits say their times themselves, from the version `since` on, or from the start."""
    log = Log()
    provenance = {} if since is None else {"delta__inCommitTimestampEnablementVersion": str(since),
                                           "delta__inCommitTimestampEnablementTimestamp": str(stamps[since])}  # fmt: skip
    for version, stamp in enumerate(stamps):
        actions: list[Action] = [] if stamp is None else [{"commitInfo": {"inCommitTimestamp": stamp, "operation": "X"}}]
        if version == 0:
            actions += [protocol("inCommitTimestamp"), metadata(ID, **(ENABLED if since is None else {}))]
        if since is not None and version == since:
            actions.append(metadata(ID, **ENABLED, **provenance))
        log.commit(*actions)
    return log


def with_times(log: Log, modified: list[int]) -> Snapshot:
    return load(Place(Clock(log.storage, modified)))


def test_commits_that_say_their_time_are_believed() -> None:
    """ "readers should use the `inCommitTimestamp` as the commit timestamp"  (Recommendations for Readers)"""
    snapshot = with_times(tracked(100, 200, 300), [9, 8, 7])
    assert times(snapshot) == [100, 200, 300]
    assert [version_at(snapshot, moment(at)) for at in (100, 199, 200, 300, 999)] == [0, 0, 1, 2, 2]
    with pytest.raises(InvalidRequest):
        version_at(snapshot, moment(99))


MIDWAY = [(10, 0), (20, 1), (150, 1), (499, 1), (500, 2), (599, 2), (600, 3), (9999, 3)]


@pytest.mark.parametrize("at, version", MIDWAY)
def test_versions_from_before_the_timestamps_go_by_their_files(at: int, version: int) -> None:
    """ "If `timestamp X` >= `delta.inCommitTimestampEnablementTimestamp`, only table versions >= [...] should be considered";
    "Otherwise, only table versions less than" it.  (Recommendations for Readers)"""
    snapshot = with_times(tracked(None, None, 500, 600, since=2), [10, 20, 30, 40])
    assert times(snapshot) == [10, 20, 500, 600]
    assert version_at(snapshot, moment(at)) == version


def test_files_written_later_than_the_first_timestamp_do_not_hide_it() -> None:
    snapshot = with_times(tracked(None, None, 500, 600, since=2), [10, 900, 30, 40])
    assert [version_at(snapshot, moment(at)) for at in (499, 500, 800, 950)] == [0, 2, 3, 3]


@pytest.mark.parametrize("stamp", [None, "5", 1.5, True, 2**63])
def test_a_commit_that_does_not_say_its_time_where_it_must_is_an_invalid_table(stamp: Any) -> None:
    """ "The `commitInfo` action must include a field named `inCommitTimestamp`"  (Writer Requirements)"""
    log = tracked(100)
    log.commit({"commitInfo": {"inCommitTimestamp": stamp}})
    with pytest.raises(InvalidTable, match="inCommitTimestamp"):
        log.open().history()


def test_timestamps_in_commits_count_only_where_the_table_uses_them() -> None:
    log = Log()
    log.commit({"commitInfo": {"inCommitTimestamp": 100}}, protocol(), metadata(ID, **ENABLED))
    assert times(with_times(log, [7])) == [7]


def test_an_enablement_version_that_is_no_number_is_an_invalid_table() -> None:
    log = Log()
    log.commit(protocol("inCommitTimestamp"), metadata(ID, delta__inCommitTimestampEnablementVersion="x", **ENABLED))
    with pytest.raises(InvalidTable):
        log.open().history()


def test_history_shows_what_each_commit_says_of_itself_newest_first() -> None:
    log = Log().start()
    log.commit({"commitInfo": {"operation": "WRITE", "operationParameters": {"mode": "Append", "n": 1}, "readVersion": 0,
                               "isBlindAppend": True, "userName": None, "later": [1]}})  # fmt: skip
    rows = log.open().history().to_pylist()
    assert [row["version"] for row in rows] == [1, 0]
    assert rows[0]["operation"] == "WRITE"
    assert rows[0]["operationParameters"] == [("mode", "Append"), ("n", "1")]
    assert rows[0]["readVersion"] == 0
    assert rows[1]["operation"] is None


@pytest.mark.parametrize("info", [
    {"operation": 5}, {"operation": [1]}, {"operationParameters": "x"}, {"operationParameters": {"a": {"b": 1}}},
    {"readVersion": True}, {"readVersion": 2**63}, {"readVersion": "1"}, {"isBlindAppend": 1}, {"userMetadata": {"a": None}}, {},
])  # fmt: skip
def test_history_takes_any_commit_info_for_it_is_free_form(info: Action) -> None:
    """PROTOCOL.md, "Commit Provenance Information": "Implementations are free to store any valid JSON". """
    log = Log().start()
    log.commit({"commitInfo": info})
    assert log.open().history().num_rows == 2


def test_history_reaches_back_as_far_as_the_log() -> None:
    log = Log().start()
    log.commit(add("a"))
    log.commit(add("b"))
    log.checkpoint(1, [protocol(), metadata(), add("a")])
    log.storage.delete(f"_delta_log/{0:020}.json")
    assert log.open().history()["version"].to_pylist() == [2, 1]


@pytest.mark.parametrize("limit, versions", [(0, []), (1, [2]), (2, [2, 1]), (9, [2, 1, 0])])
def test_history_can_be_cut_to_the_newest(limit: int, versions: list[int]) -> None:
    log = Log().start()
    log.commit(add("a"))
    log.commit(add("b"))
    assert log.open().history(limit)["version"].to_pylist() == versions


@pytest.mark.parametrize("created", [2**63 - 1, -(2**63), 10**30, "x", 1.5, None])
def test_a_creation_time_that_no_calendar_has_is_left_out(created: Any) -> None:
    log = Log().start()
    body = metadata()["metaData"] | {"createdTime": created}
    log.commit({"metaData": body})
    assert log.open().describe().created is None


def test_a_table_opened_by_a_timestamp_is_the_version_of_that_moment() -> None:
    log = tracked(1_000, 2_000, 3_000)
    assert log.open(timestamp="1970-01-01T00:00:02Z").version == 1
    assert log.open(timestamp=moment(2_999)).version == 1
    with pytest.raises(InvalidRequest):
        log.open(timestamp="yesterday")
    with pytest.raises(InvalidRequest):
        log.open(version=1, timestamp="1970-01-01T00:00:02Z")
