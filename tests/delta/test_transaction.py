"""What are the lines of a version?  (PROTOCOL.md, "Actions", "Row Tracking", "In-Commit Timestamps")"""

import json
from dataclasses import replace
from typing import Any

import pytest

from esker.delta.actions import Add, AddCdc, DomainMetadata, Metadata, Remove, Txn
from esker.delta.protocol import Protocol
from esker.delta.transaction import Base, Change, Finished, Operation, ReadSet, finished
from esker.errors import InvalidTable
from tests.delta.tables import ID

PLAIN = Protocol(1, 2)
TRACKED = Protocol(1, 7, None, frozenset({"rowTracking", "domainMetadata"}))
STAMPED = Protocol(1, 7, None, frozenset({"inCommitTimestamp"}))
METADATA = Metadata("id", "{}", ID)
WITH_STAMPS = replace(METADATA, configuration={"delta.enableInCommitTimestamps": "true"})
NOW = 1_000_000


def base(protocol: Protocol = PLAIN, metadata: Metadata = METADATA, timestamp: int | None = NOW - 10, mark: int = -1) -> Base:
    return Base(6, protocol, metadata, timestamp, lambda: mark)


def add(name: str = "f", records: int | None = 3, **more: Any) -> Add:
    return Add(name, {}, 10, 0, stats=None if records is None else json.dumps({"numRecords": records}), **more)


def finish(on: Base, isolation: str = "Serializable", **change: Any) -> Finished:
    return finished(Change(change.pop("operation", Operation("WRITE")), **change), on, NOW, "a-transaction", isolation, "Esker/x")


def lines(done: Finished) -> list[tuple[str, Any]]:
    return [item for line in done.data.splitlines() for item in json.loads(line).items()]


def info(done: Finished) -> dict[str, Any]:
    return dict(lines(done))["commitInfo"]


def test_the_commit_info_comes_first_and_each_action_has_a_line() -> None:
    """"The `commitInfo` action must be the first action in the commit."  Writer Requirements for In-Commit Timestamps"""
    done = finish(
        base(), adds=(add(),), removes=(Remove("g", {}, 1, 0),), changed_rows=(AddCdc("c", {}, 1),), metadata=METADATA,
        protocol=TRACKED, txns=(Txn("app", 1),), domains=(DomainMetadata("d", "{}"),),
    )  # fmt: skip
    kinds = [kind for kind, _ in lines(done)]
    assert kinds == ["commitInfo", "protocol", "metaData", "txn", *["domainMetadata"] * 2, "remove", "add", "cdc"]
    assert done.data.endswith(b"\n")
    assert (done.version, done.protocol, done.metadata) == (7, TRACKED, METADATA)


def test_the_commit_info_says_what_the_history_shows() -> None:
    operation = Operation("WRITE", {"mode": "Append", "partitionBy": ["p"]}, {"numFiles": 1}, "a note")
    assert info(finish(base(), operation=operation, adds=(add(),))) == {
        "timestamp": NOW, "operation": "WRITE", "operationParameters": {"mode": "Append", "partitionBy": '["p"]'},
        "readVersion": 6, "isolationLevel": "Serializable", "isBlindAppend": True, "operationMetrics": {"numFiles": "1"},
        "tags": {"delta.rowTracking.preserved": "true"}, "engineInfo": "Esker/x", "txnId": "a-transaction", "userMetadata": "a note",
    }  # fmt: skip


def test_the_first_version_of_a_table_has_read_none() -> None:
    done = finish(replace(base(), version=-1), metadata=METADATA, protocol=PLAIN)
    assert done.version == 0
    assert "readVersion" not in info(done)


REARRANGED = {"adds": (add(data_change=False),), "removes": (Remove("g", {}, 1, 0, data_change=False),)}


@pytest.mark.parametrize(
    "change, level",
    [
        ({"adds": (add(),)}, "WriteSerializable"),
        ({"removes": (Remove("g", {}, 1, 0),)}, "WriteSerializable"),
        ({"metadata": METADATA}, "WriteSerializable"),
        (REARRANGED, "SnapshotIsolation"),
        ({**REARRANGED, "metadata": METADATA}, "WriteSerializable"),
        ({**REARRANGED, "txns": (Txn("app", 1),)}, "WriteSerializable"),
        ({**REARRANGED, "domains": (DomainMetadata("d", "{}"),)}, "WriteSerializable"),
        ({**REARRANGED, "domains": (DomainMetadata("delta.rowTracking", "{}"),)}, "SnapshotIsolation"),
        ({}, "SnapshotIsolation"),
    ],
)
def test_the_isolation_that_was_kept_is_recorded(change: dict[str, Any], level: str) -> None:
    assert info(finish(base(), "WriteSerializable", **change))["isolationLevel"] == level


@pytest.mark.parametrize(
    "change, is_blind",
    [
        ({"adds": (add(),)}, True),
        ({"adds": (add(),), "txns": (Txn("app", 1),)}, True),
        ({"adds": (add(),), "reads": ReadSet(files=frozenset({("f", None)}))}, False),
        ({"adds": (add(),), "removes": (Remove("g", {}, 1, 0),)}, False),
        ({"adds": (add(),), "metadata": METADATA}, False),
        ({}, False),
    ],
)
def test_only_rows_that_were_added_without_a_look_are_a_blind_append(change: dict[str, Any], is_blind: bool) -> None:
    assert info(finish(base(), **change))["isBlindAppend"] is is_blind


@pytest.mark.parametrize("before, stamp", [(NOW - 10, NOW), (NOW, NOW + 1), (NOW + 500, NOW + 501), (None, NOW)])
def test_an_in_commit_timestamp_is_later_than_the_one_before(before: int | None, stamp: int) -> None:
    """"the larger of two values: The time [...] at which the writer attempted the commit; One millisecond later than the
    previous commit's `inCommitTimestamp`"  (In-Commit Timestamps)"""
    done = finish(base(STAMPED, WITH_STAMPS, before), adds=(add(),))
    assert done.in_commit_timestamp == stamp
    assert next(iter(info(done))) == "inCommitTimestamp"
    assert (info(done)["inCommitTimestamp"], info(done)["timestamp"]) == (stamp, stamp)


@pytest.mark.parametrize("protocol, metadata", [(STAMPED, METADATA), (PLAIN, WITH_STAMPS)])
def test_a_table_that_does_not_use_in_commit_timestamps_gets_none(protocol: Protocol, metadata: Metadata) -> None:
    done = finish(base(protocol, metadata), adds=(add(),))
    assert done.in_commit_timestamp is None
    assert "inCommitTimestamp" not in info(done)


def test_a_commit_that_enables_timestamps_in_an_older_table_says_since_when() -> None:
    """"provenance information [...] must be tracked": the enablement version and timestamp.  (In-Commit Timestamps)"""
    done = finish(base(timestamp=NOW + 5), metadata=WITH_STAMPS, protocol=STAMPED)
    assert done.metadata.configuration == {
        "delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "7",
        "delta.inCommitTimestampEnablementTimestamp": str(NOW + 6),
    }  # fmt: skip
    assert dict(lines(done))["metaData"]["configuration"] == done.metadata.configuration


def test_a_protocol_that_comes_to_honour_the_property_says_since_when_as_well() -> None:
    """ "The property `delta.inCommitTimestampEnablementVersion` must be used to track the version of the table when this
    feature was enabled."  (In-Commit Timestamps)"""
    done = finish(base(PLAIN, WITH_STAMPS), protocol=STAMPED)
    assert done.metadata.configuration == {
        **WITH_STAMPS.configuration, "delta.inCommitTimestampEnablementVersion": "7",
        "delta.inCommitTimestampEnablementTimestamp": str(done.in_commit_timestamp),
    }  # fmt: skip


def test_metadata_of_another_origin_does_not_lose_since_when_commits_state_their_time() -> None:
    since = {"delta.inCommitTimestampEnablementVersion": "3", "delta.inCommitTimestampEnablementTimestamp": "99"}
    told = replace(WITH_STAMPS, configuration={**WITH_STAMPS.configuration, **since})
    done = finish(base(STAMPED, told), metadata=replace(WITH_STAMPS, name="other"))
    assert done.metadata == replace(told, name="other")


def test_a_table_that_is_created_with_timestamps_or_has_them_already_needs_no_provenance() -> None:
    created = finish(replace(base(), version=-1, timestamp=None), metadata=WITH_STAMPS, protocol=STAMPED)
    changed = finish(base(STAMPED, WITH_STAMPS), metadata=replace(WITH_STAMPS, name="other"))
    assert created.metadata == WITH_STAMPS
    assert changed.metadata.configuration == WITH_STAMPS.configuration


def test_files_get_row_ids_beyond_the_high_water_mark() -> None:
    """"Writers must set the `baseRowId` field in all `add` actions that they commit"; fresh row ids are beyond the mark, which is
    then moved.  (Writer Requirements for Row Tracking)"""
    done = finish(base(TRACKED, mark=9), adds=(add("f", 3), add("g", 2)))
    written = [body for kind, body in lines(done) if kind == "add"]
    assert [(a["baseRowId"], a["defaultRowCommitVersion"]) for a in written] == [(10, 7), (13, 7)]
    domain = dict(lines(done))["domainMetadata"]
    assert domain == {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":14}', "removed": False}
    assert done.change.domains[0].domain == "delta.rowTracking"


def test_files_that_have_row_ids_keep_them_and_the_mark_stays() -> None:
    done = finish(base(TRACKED, mark=9), adds=(add(base_row_id=4, default_row_commit_version=2),))
    (written,) = [body for kind, body in lines(done) if kind == "add"]
    assert (written["baseRowId"], written["defaultRowCommitVersion"]) == (4, 2)
    assert "domainMetadata" not in dict(lines(done))


def test_a_file_without_a_count_of_rows_cannot_get_row_ids() -> None:
    with pytest.raises(InvalidTable, match="numRecords"):
        finish(base(TRACKED), adds=(add(records=None),))


def test_a_table_without_row_tracking_gives_no_row_ids() -> None:
    (written,) = [body for kind, body in lines(finish(base(), adds=(add(records=None),))) if kind == "add"]
    assert "baseRowId" not in written


def test_the_same_change_is_finished_anew_on_a_later_base() -> None:
    change = Change(Operation("WRITE"), adds=(add("f", 3),))
    ids = [
        finished(change, replace(base(TRACKED, mark=mark), version=version), NOW, "t", "Serializable", "e").change.adds[0]
        for version, mark in ((1, -1), (5, 41))
    ]
    assert [(a.base_row_id, a.default_row_commit_version) for a in ids] == [(0, 2), (42, 6)]
