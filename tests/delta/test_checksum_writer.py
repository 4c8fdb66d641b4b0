"""What is said of every version that is written, and what that costs.  (PROTOCOL.md, "Version Checksum File")"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.delta import after_commit, summary
from esker.delta.actions import Add, DomainMetadata, Txn
from esker.delta.checksum import differences
from esker.delta.log import checksum_path
from esker.delta.snapshot import Snapshot
from esker.delta.summary import parse_summary
from esker.delta.tally import SIZE_BINS
from esker.storage.memory import MemoryStorage
from esker.testing.faults import Counting
from tests.delta.committed import a_file, a_vector, appended, changed, created, gone, reopened, unsound
from tests.delta.histories import FEATURES, STEPS, live_files
from tests.delta.tables import Log, add, metadata, remove


def recorded(snapshot: Snapshot) -> dict[str, Any]:
    said: dict[str, Any] = orjson.loads(snapshot.place.storage.read(checksum_path(snapshot.version)))
    return said


def test_a_commit_leaves_all_that_the_protocol_asks_for() -> None:
    """PROTOCOL.md, "Version Checksum File Schema": each field that is required, and each that is optional."""
    table = created(features=["deletionVectors", "domainMetadata", "inCommitTimestamp"],
                    delta__enableInCommitTimestamps="true")  # fmt: skip
    files = (a_file("a", size=100), a_file("b", size=9000, deletion_vector=a_vector(1, 2)))
    domain = DomainMetadata("d", "{}")
    table = changed(table, adds=files, txns=(Txn("app", 3, 9),), domains=(domain,))
    said = recorded(table)
    assert {"tableSizeBytes": 9100, "numFiles": 2, "numMetadata": 1, "numProtocol": 1}.items() <= said.items()
    assert said["setTransactions"] == [{"appId": "app", "version": 3, "lastUpdated": 9}]
    assert said["domainMetadata"] == [{"domain": "d", "configuration": "{}", "removed": False}]
    assert said["metadata"]["id"] == "an-id"
    assert said["protocol"]["writerFeatures"] == ["deletionVectors", "domainMetadata", "inCommitTimestamp"]
    histogram = said["fileSizeHistogram"]
    assert (histogram["sortedBinBoundaries"], histogram["fileCounts"][:3]) == ([*SIZE_BINS], [1, 1, 0])
    assert histogram["totalBytes"][:3] == [100, 9000, 0]
    assert (said["numDeletionVectorsOpt"], said["numDeletedRecordsOpt"]) == (1, 2)
    assert said["deletedRecordCountsHistogramOpt"] == {"deletedRecordCounts": [1, 1, *[0] * 8]}
    assert [file["path"] for file in said["allFiles"]] == ["a", "b"]
    assert isinstance(said["inCommitTimestampOpt"], int)
    assert unsound(table) == []


def test_a_handle_that_wrote_a_version_can_verify_it() -> None:
    table = appended(created(), "a")
    assert table.checksum_file is not None
    assert differences(table) == ()
    table.place.storage.put(checksum_path(1), orjson.dumps(recorded(table) | {"numFiles": 2}))
    assert len(differences(table)) == 1


def lose_checksum(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    table = changed(table, "NOTHING")
    table.place.storage.delete(checksum_path(table.version))
    return reopened(table)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([*STEPS, lose_checksum]), st.integers(0, 11)), max_size=14),
    st.sampled_from([0, 2, 50]),
    st.sampled_from([3, 100]),
)
def test_after_any_history_every_version_sums_up_to_what_was_said_of_it(
    steps: list[tuple[Any, int]], most: int, interval: int
) -> None:
    """ "Writers MUST ensure all metrics in the Version Checksum accurately reflect table state" """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("esker.delta.summary.MOST_FILES", "esker.delta.checksum_writer.MOST_FILES"):
            patch.setattr(name, most)
        table = created(features=FEATURES, delta__checkpointInterval=str(interval))
        lost = set()
        for step, pick in steps:
            table = step(table, live_files(table), pick)
            lost |= {table.version} if step is lose_checksum else set()
        assert unsound(table) == ["there is none"] * len(lost)


@pytest.fixture
def nothing_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state counts as a large one."""
    monkeypatch.setattr(after_commit, "SMALL_STATE", -1)


@pytest.mark.usefixtures("nothing_is_replayed")
def test_where_a_sum_cannot_be_told_no_checksum_is_written_until_the_next_checkpoint(monkeypatch: Any) -> None:
    monkeypatch.setattr(summary, "MOST_FILES", 0)
    table = appended(created(delta__checkpointInterval="5"), "a", "b")
    again = changed(table, "COMPUTE STATS", adds=(a_file("a"),))
    later = appended(again, "c")
    assert [v for v in range(4) if reopened(later, v).checksum_file is None] == [2, 3]
    table = appended(appended(appended(later, "d"), "e"), "f")
    assert [v for v in range(7) if reopened(table, v).checksum_file is None] == [2, 3, 4]
    assert [difference for v in (5, 6) for difference in differences(reopened(table, v))] == []
    assert recorded(table)["numFiles"] == 6


@pytest.mark.usefixtures("nothing_is_replayed")
def test_a_checksum_follows_from_the_file_of_the_version_before() -> None:
    table = appended(created(), "a")
    fresh = reopened(table)
    assert recorded(appended(fresh, "b"))["numFiles"] == 2
    assert unsound(reopened(table)) == []


@pytest.mark.usefixtures("nothing_is_replayed")
@pytest.mark.parametrize("lists", [True, False])
def test_a_checksum_that_a_rival_has_yet_to_write_is_made_up_for(monkeypatch: pytest.MonkeyPatch, lists: bool) -> None:
    if not lists:
        monkeypatch.setattr(summary, "MOST_FILES", 0)
    table = changed(appended(created(features=FEATURES), "a", "b"), txns=(Txn("app", 1),))
    table = changed(table, "DELETE", removes=gone([a_file("a")]), domains=(DomainMetadata("d", "{}"),))
    for version in (2, 3):
        table.place.storage.delete(checksum_path(version))
    table = appended(reopened(table), "c")
    assert recorded(table)["numFiles"] == 2
    assert differences(table) == ()
    assert len(recorded(table)["setTransactions"]) == len(recorded(table)["domainMetadata"]) == 1


FOREIGN: list[list[dict[str, Any]]] = [
    [{"commitInfo": {"engineInfo": "Other/1", "operation": "WRITE"}}, add("b")],
    [add("b")],
    [{"commitInfo": {"engineInfo": "Esker/1", "operation": "WRITE"}}, add("b"), metadata()],
    [{"commitInfo": {"engineInfo": "Esker/1", "operation": "DELETE"}}, remove("a")],
    [{"commitInfo": {"engineInfo": "Esker/1", "operation": "COMPUTE STATS"}}, add("a")],
]


@pytest.mark.usefixtures("nothing_is_replayed")
@pytest.mark.parametrize("actions", FOREIGN, ids=["other", "unknown", "metadata", "no size", "added again"])
def test_commits_that_do_not_say_enough_are_not_summed_up(actions: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_FILES", 0)
    table = appended(created(), "a")
    log = Log(table.place.storage)
    log.commit(*actions, version=2)
    assert appended(log.snapshot(), "c").checksum_file is None


BROKEN = [
    b"", b"{", b"[]", {}, {"numFiles": None}, {"tableSizeBytes": "10"}, {"numFiles": 7}, {"tableSizeBytes": -1},
    {"metadata": None}, {"protocol": None}, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}},
    {"metadata": {"id": "other", "schemaString": '{"type":"struct","fields":[]}'}}, {"allFiles": []},
    {"allFiles": [{"path": "a"}]}, {"setTransactions": [{}]}, {"domainMetadata": [{}]},
]  # fmt: skip


@pytest.mark.usefixtures("nothing_is_replayed")
@pytest.mark.parametrize("spoilt", BROKEN, ids=lambda case: str(case)[:40])
def test_a_checksum_file_that_is_not_whole_or_not_of_this_table_is_not_built_on(spoilt: bytes | dict[str, Any]) -> None:
    table = appended(created(), "a")
    whole = recorded(table)
    data = spoilt if isinstance(spoilt, bytes) else orjson.dumps({**whole, **spoilt} if spoilt else {})
    table.place.storage.put(checksum_path(1), data)
    assert reopened(table).summary is None
    # the one before it is
    table = appended(reopened(table), "b")
    assert table.checksum_file is not None
    assert differences(table) == ()


def test_the_histogram_of_other_writers_is_understood_under_their_name() -> None:
    table = appended(created(), "a")
    said = recorded(table)
    named = {"histogramOpt" if name == "fileSizeHistogram" else name: value for name, value in said.items()}
    assert parse_summary(orjson.dumps(named), table.protocol, table.metadata) == reopened(table).summary
    unusual = said | {"fileSizeHistogram": {"sortedBinBoundaries": [0], "fileCounts": [1], "totalBytes": [10]}}
    found = parse_summary(orjson.dumps(unusual), table.protocol, table.metadata)
    assert found is not None
    assert found.tally.file_counts is None


def test_what_an_earlier_checksum_got_wrong_is_set_right_at_the_next_checkpoint(caplog: pytest.LogCaptureFixture) -> None:
    table = appended(created(delta__checkpointInterval="3"), "a")
    said = {name: value for name, value in recorded(table).items() if "istogram" not in name and name != "allFiles"}
    table.place.storage.put(checksum_path(1), orjson.dumps(said | {"tableSizeBytes": 99}))
    with caplog.at_level(logging.WARNING, "esker"):
        table = appended(appended(reopened(table), "b"), "c")
    assert "the checksum files before version 3 sum up to" in caplog.text
    assert (len(differences(reopened(table, 2))), differences(reopened(table, 3))) == (1, ())


@pytest.mark.parametrize("lists", ["txns", "domains"])
def test_lists_that_grow_long_are_left_out(lists: str) -> None:
    table = created(features=FEATURES)
    many = {
        "txns": tuple(Txn(f"app{i}", i) for i in range(101)), "domains": tuple(DomainMetadata(f"d{i}", "") for i in range(11))
    }  # fmt: skip
    table = changed(table, **{lists: many[lists]})
    assert ("setTransactions" in recorded(table), "domainMetadata" in recorded(table)) == (lists != "txns", lists != "domains")
    assert unsound(table) == []


def test_applications_that_expire_are_left_out() -> None:
    """Whether they are still there goes by the clock, so nobody could confirm them."""
    table = changed(created(delta__setTransactionRetentionDuration="interval 1 days"), txns=(Txn("app", 1),))
    assert "setTransactions" not in recorded(table)


def test_an_application_that_expired_with_a_checkpoint_is_not_told_of_later() -> None:
    expiring = {"delta__setTransactionRetentionDuration": "interval 1 days"}
    table = changed(created(delta__checkpointInterval="2", **expiring), txns=(Txn("app", 1, 5),))
    table = appended(table, "a")
    assert table.txns == reopened(table).txns == {}
    for _ in range(3):
        table = changed(table, "SET TBLPROPERTIES", metadata=replace(table.metadata, configuration={}))
    assert unsound(table) == []


def test_a_checksum_file_that_is_there_is_not_written_over() -> None:
    """ "Writers MUST NOT overwrite existing Version Checksum files" """
    table = created()
    table.place.storage.put(checksum_path(1), b"mine")
    assert appended(table, "a").version == 1
    assert table.place.storage.read(checksum_path(1)) == b"mine"


@pytest.mark.parametrize(
    "features, settings", [([], {}), (["rowTracking", "domainMetadata"], {"delta__enableRowTracking": "true"})],
    ids=["plain", "row tracking"],
)  # fmt: skip
def test_two_hundred_small_appends_by_one_handle_cost_as_many_small_calls(features: list[str], settings: dict[str, str]) -> None:
    storage = Counting(MemoryStorage(f"memory://appends-{len(features)}/table"))
    table = created(storage, features=features, **settings)
    each = list(_calls(storage, table, 200))
    plain = [calls for version, calls in each if version % 10]
    # the commit, a look at when it was written, its checksum; the first row ids ask whether files have any
    assert plain[0] <= 4
    assert max(plain[1:]) <= 3
    # and with a checkpoint: the one before and ten commits are read
    assert max(calls for version, calls in each if version % 10 == 0) <= 35
    assert sum(calls for _, calls in each) <= 200 * 7


def _calls(storage: Counting, table: Snapshot, times: int) -> Iterator[tuple[int, int]]:
    """What each append costs, by version."""
    for _ in range(times):
        before = sum(storage.calls.values())
        table = appended(table, f"f{table.version}")
        yield table.version, sum(storage.calls.values()) - before
    assert len(table.log.entries) < 10


def test_what_an_append_by_a_fresh_handle_reads_does_not_grow_with_the_table() -> None:
    storage = Counting(MemoryStorage("memory://fresh-handles/table"))
    table = created(storage)
    spent = []
    for _ in range(45):
        before = sum(storage.calls.values())
        table = appended(reopened(table), f"f{table.version}")
        spent.append(sum(storage.calls.values()) - before)
    assert max(spent[20:]) <= max(spent[:20])
    assert unsound(table) == []
