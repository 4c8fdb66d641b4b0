"""Does the state match what its writer said of it?  (PROTOCOL.md, "Version Checksum File", "State Validation")"""

from typing import Any

import pytest

from tests.delta.tables import ID, Log, add, inline, metadata, protocol

A = add("a", size=10, stats={"numRecords": 1})
B = add("b", size=20, dv=inline(0, 1))
RIGHT: dict[str, Any] = {
    "tableSizeBytes": 30, "numFiles": 2, "numMetadata": 1, "numProtocol": 1, "numDeletionVectorsOpt": 1,
    "numDeletedRecordsOpt": 2, "metadata": metadata()["metaData"], "protocol": protocol("deletionVectors")["protocol"],
    "setTransactions": [{"appId": "app", "version": 3, "lastUpdated": 9}],
    "domainMetadata": [{"domain": "d", "configuration": "{}", "removed": False}],
    "allFiles": [B["add"] | {"dataChange": False}, A["add"]], "txnId": "t", "inCommitTimestampOpt": 5,
    "fileSizeHistogram": {"sortedBinBoundaries": [0, 20], "fileCounts": [1, 1], "totalBytes": [10, 20]},
    "histogramOpt": {"sortedBinBoundaries": [0], "fileCounts": [2], "totalBytes": [30]},
    "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]},
}  # fmt: skip


def table() -> Log:
    log = Log().start(ID, A, features=["deletionVectors"])
    log.commit({"commitInfo": {"txnId": "t", "inCommitTimestamp": 5}}, B, {"txn": {"appId": "app", "version": 3}},
               {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}})  # fmt: skip
    return log


def differences(recorded: Any) -> tuple[str, ...]:
    log = table()
    log.put(f"{1:020}.crc", recorded)
    return log.delta().verify()


def test_a_checksum_file_that_is_right_is_confirmed() -> None:
    assert differences(RIGHT) == ()


def test_a_table_without_a_checksum_file_is_read() -> None:
    """ "Readers MUST continue functioning if Version Checksum files are missing"  (Reader Requirements)"""
    assert table().delta().verify() == ()


def test_fields_that_a_checksum_file_does_not_have_are_not_compared() -> None:
    assert differences({"numFiles": 2, "later": [1]}) == ()


WRONG = [
    ("tableSizeBytes", 31), ("numFiles", 3), ("numMetadata", 2), ("numProtocol", 0), ("numDeletionVectorsOpt", 0),
    ("numDeletedRecordsOpt", 1), ("metadata", metadata(id="other")["metaData"]), ("protocol", protocol()["protocol"]),
    ("metadata", metadata(delta__x="y")["metaData"]), ("setTransactions", []), ("domainMetadata", []),
    ("setTransactions", [{"appId": "app", "version": 4}]), ("allFiles", [{"path": "a"}]),
    ("domainMetadata", [{"domain": "d", "configuration": "other"}]), ("metadata", {"schemaString": "{"}),
    ("metadata", metadata()["metaData"] | {"name": "other"}), ("txnId", "other"), ("inCommitTimestampOpt", 6),
    ("allFiles", [A["add"], B["add"] | {"size": 21}]), ("allFiles", [A["add"], B["add"] | {"deletionVector": inline(0)}]),
    ("allFiles", [A["add"] | {"stats": '{"numRecords":2}'}, B["add"]]), ("allFiles", [A["add"], B["add"], B["add"]]),
    ("allFiles", [A["add"] | {"tags": {"k": "v"}}, B["add"]]), ("allFiles", [A["add"], {"path": "b"}]),
    ("fileSizeHistogram", {"sortedBinBoundaries": [0, 20], "fileCounts": [2, 0], "totalBytes": [10, 20]}),
    ("fileSizeHistogram", {"sortedBinBoundaries": [0, 20], "fileCounts": [1, 1], "totalBytes": [11, 19]}),
    ("fileSizeHistogram", {"sortedBinBoundaries": [0, 21], "fileCounts": [1, 1], "totalBytes": [10, 20]}),
    ("fileSizeHistogram", {"sortedBinBoundaries": [20, 0], "fileCounts": [1, 1], "totalBytes": [10, 20]}),
    ("fileSizeHistogram", {"sortedBinBoundaries": [0, "x"], "fileCounts": [1, 1], "totalBytes": [10, 20]}),
    ("fileSizeHistogram", {"sortedBinBoundaries": [0, True], "fileCounts": [1, 1], "totalBytes": [10, 20]}),
    ("fileSizeHistogram", {"sortedBinBoundaries": [0, 2**64 - 1], "fileCounts": [2, 0], "totalBytes": [30, 0]}),
    ("fileSizeHistogram", {"sortedBinBoundaries": [], "fileCounts": [], "totalBytes": []}),
    ("allFiles", [A["add"] | {"stats": "{"}, B["add"]]),
    ("fileSizeHistogram", [1]), ("histogramOpt", {"sortedBinBoundaries": [0], "fileCounts": [1], "totalBytes": [30]}),
    ("deletedRecordCountsHistogramOpt", {"deletedRecordCounts": [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]}),
    ("deletedRecordCountsHistogramOpt", {}), ("numFiles", "2"),
]  # fmt: skip


@pytest.mark.parametrize("field, value", WRONG, ids=lambda value: str(value)[:40])
def test_each_field_that_differs_is_reported_and_reading_goes_on(field: str, value: Any) -> None:
    """ "If validation fails, readers SHOULD surface the discrepancy to users"  (Reader Requirements)"""
    log = table()
    log.put(f"{1:020}.crc", RIGHT | {field: value})
    assert len(log.delta().verify()) == 1
    assert log.paths() == ["a", "b"]


def test_a_file_without_tags_is_the_same_however_that_is_said() -> None:
    """delta-spark writes empty tags for files that had none in the checksum file before."""
    log = table()
    log.put(f"{1:020}.crc", RIGHT | {"allFiles": [A["add"] | {"tags": {}}, B["add"]]})
    assert log.delta().verify() == ()


@pytest.mark.parametrize("data", [b"", b"x", b"[]", b"null", b"\xff", b'{"numFiles":'])
def test_a_checksum_file_that_cannot_be_read_is_reported(data: bytes) -> None:
    assert len(differences(data)) == 1


def test_a_checksum_file_of_another_version_says_nothing() -> None:
    log = table()
    log.put(f"{0:020}.crc", {"numFiles": 99})
    assert log.delta().verify() == ()
    assert len(log.delta(0).verify()) == 1
