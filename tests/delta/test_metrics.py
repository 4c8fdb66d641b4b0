"""What does the history say of a commit's rows and files, and is it so?  (in the vocabulary of Spark's DESCRIBE HISTORY)"""

import json
from typing import Any

import pytest
from pyroaring import BitMap64

from esker.core.merge import DeleteRow, Merge, UpdateRow
from esker.delta.merge_history import merge_operation
from esker.delta.row_commit import Times
from esker.delta.row_edits import Counts, Edited
from esker.storage.port import Storage
from tests.delta.operations import (
    BY_VECTORS,
    Act,
    append,
    delete,
    merge,
    opened,
    overwrite,
    overwrite_where,
    table_with,
    update,
)

FEED = {"delta.enableChangeDataFeed": "true"}
ACTS: dict[str, Act] = {
    "append": append("b", 20, 21),
    "overwrite": overwrite("a", 51),
    "overwrite where": overwrite_where("id = 1", "a", 1),
    "delete": delete("id IN (1, 2, 11)"),
    "delete files": delete("p = 'b'"),
    "update": update("id = 3"),
    "merge": merge("a", 5, 41, 42, updates=True),
}

# Each file of the table has four rows; what is not named is 0.
CASES: list[tuple[str, dict[str, str], dict[str, int]]] = [
    ("append", {}, {"numFiles": 1, "numOutputRows": 2}),
    ("overwrite", {}, {"numFiles": 1, "numOutputRows": 1, "numRemovedFiles": 3}),
    ("overwrite where", {}, {"numFiles": 2, "numOutputRows": 4, "numCopiedRows": 3, "numDeletedRows": 1, "numRemovedFiles": 1}),
    ("overwrite where", BY_VECTORS, {"numFiles": 1, "numOutputRows": 1, "numDeletedRows": 1}),
    ("delete", {}, {"numDeletedRows": 3, "numCopiedRows": 5, "numAddedFiles": 2, "numRemovedFiles": 2}),
    ("delete", FEED, {"numDeletedRows": 3, "numCopiedRows": 5, "numAddedFiles": 2, "numRemovedFiles": 2, "numAddedChangeFiles": 2}),
    ("delete", BY_VECTORS, {"numDeletedRows": 3, "numDeletionVectorsAdded": 2}),
    ("delete files", BY_VECTORS, {"numDeletedRows": 4, "numRemovedFiles": 1}),
    ("update", {}, {"numUpdatedRows": 1, "numCopiedRows": 3, "numAddedFiles": 2, "numRemovedFiles": 1}),
    ("update", BY_VECTORS | FEED, {"numUpdatedRows": 1, "numAddedFiles": 1, "numDeletionVectorsAdded": 1, "numAddedChangeFiles": 1}),
    ("merge", {}, {
        "numSourceRows": 3, "numTargetRowsInserted": 2, "numTargetRowsUpdated": 1, "numTargetRowsMatchedUpdated": 1,
        "numTargetRowsCopied": 3, "numOutputRows": 6, "numTargetFilesAdded": 3, "numTargetFilesRemoved": 1}),
    ("merge", BY_VECTORS | FEED, {
        "numSourceRows": 3, "numTargetRowsInserted": 2, "numTargetRowsUpdated": 1, "numTargetRowsMatchedUpdated": 1,
        "numOutputRows": 3, "numTargetFilesAdded": 2, "numTargetDeletionVectorsAdded": 1, "numTargetChangeFilesAdded": 1}),
]  # fmt: skip


@pytest.mark.parametrize("act, properties, expected", CASES)
def test_the_history_counts_rows_and_files(act: str, properties: dict[str, str], expected: dict[str, int]) -> None:
    storage = table_with(properties)
    ACTS[act](opened(storage))
    told = metrics(storage)
    counts = {name: n for name, n in told.items() if n and not name.endswith(("TimeMs", "Bytes")) and "Bytes" not in name}
    assert counts == expected
    assert {name: n for name, n in told.items() if "Bytes" in name} == bytes_of(storage, told)


def test_a_vector_that_takes_the_place_of_another_is_told_apart_from_a_first_one() -> None:
    storage = table_with(BY_VECTORS)
    delete("id = 1")(opened(storage))
    delete("id IN (2, 5)")(opened(storage))
    told = metrics(storage)
    assert (told["numDeletionVectorsAdded"], told["numDeletionVectorsUpdated"], told["numDeletionVectorsRemoved"]) == (1, 1, 0)
    delete("p = 'a'")(opened(storage))
    told = metrics(storage)
    assert (told["numDeletedRows"], told["numRemovedFiles"], told["numDeletionVectorsRemoved"]) == (5, 2, 2)


def test_a_merge_counts_its_rows_by_their_clauses() -> None:
    wanted = Merge(
        "target.id = source.id",
        (DeleteRow("target.v = 1"), UpdateRow(None, "target.v = 2"), UpdateRow(None)), (),
        (UpdateRow({"v": "0"}, "target.v = 3"), DeleteRow()),
    )  # fmt: skip
    matched = ({0: BitMap64([1])}, {0: BitMap64([2, 3])}, {1: BitMap64([0])})
    by_source = ({0: BitMap64([4, 5, 6, 7])}, {0: BitMap64([8]), 2: BitMap64([0, 1, 2, 3])})
    done = Edited((), (), (), (), (), (), (), Counts(copied=9, updated=7, inserted=0, deleted=6), True)
    told = merge_operation(wanted, done, 4, matched, by_source, Times(0, 1, 3)).metrics
    assert {name: n for name, n in told.items() if n} == {
        "numSourceRows": 4, "numTargetRowsDeleted": 6, "numTargetRowsUpdated": 7, "numTargetRowsCopied": 9,
        "numTargetRowsMatchedDeleted": 1, "numTargetRowsMatchedUpdated": 3,
        "numTargetRowsNotMatchedBySourceDeleted": 5, "numTargetRowsNotMatchedBySourceUpdated": 4,
        "executionTimeMs": 3, "scanTimeMs": 1, "rewriteTimeMs": 2,
    }  # fmt: skip


def test_the_history_tells_how_long_it_took() -> None:
    storage = table_with({})
    update("id = 3")(opened(storage))
    told = metrics(storage)
    assert told["executionTimeMs"] == told["scanTimeMs"] + told["rewriteTimeMs"]


def commit(storage: Storage) -> list[dict[str, Any]]:
    """The actions of the newest version."""
    path = f"_delta_log/{opened(storage).version:020}.json"
    return [json.loads(line) for line in storage.read(path).splitlines()]


def metrics(storage: Storage) -> dict[str, int]:
    [info] = [action["commitInfo"] for action in commit(storage) if "commitInfo" in action]
    return {name: int(text) for name, text in info["operationMetrics"].items()}


def bytes_of(storage: Storage, told: dict[str, int]) -> dict[str, int]:
    """The sums of bytes under the names that were told: of files that came or went for good."""
    actions = commit(storage)
    adds, removes = ({a[kind]["path"]: a[kind]["size"] for a in actions if kind in a} for kind in ("add", "remove"))
    came, went = (sum(size for path, size in one.items() if path not in other) for one, other in ((adds, removes), (removes, adds)))
    return {name: went if "Removed" in name else came for name in told if "Bytes" in name}
