"""Does the log that Esker leaves keep what PROTOCOL.md asks of writers from one commit to the next?

One table goes through every operation that moves files or rows; each test reads its log, action by action and by nothing of
Esker's own, for one section. What a single commit must keep is tested where that commit is made.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow.parquet as pq
import pytest
from pyarrow import BufferReader

from esker.delta import commit as delta_commit
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.errors import InvalidRequest
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage
from esker.table import Table
from esker.testing.faults import Wrapping
from tests.delta.operations import (
    BY_VECTORS,
    append,
    delete,
    merge,
    opened,
    overwrite,
    overwrite_where,
    rearrange,
    table_with,
    update,
    write_domain,
)

Action = dict[str, Any]
T = TypeVar("T")

STEPS = (
    append("b", 20, 21, 22), write_domain("somebody's notes"), delete("id = 1 OR id = 20"), update("id = 2"),
    merge("b", 21, 40, updates=True), rearrange("b"), overwrite_where("p = 'a'", "a", 50, 51), append("a", 52),
    overwrite("b", 60, 61, is_dynamic=True), delete("id = 60"), lambda table: table.restore(6, None, False), delete("p = 'b'"), append("c", 70),
    overwrite("a", 80, 81),
)  # fmt: skip
FEED = {"delta.enableChangeDataFeed": "true"}


def history(properties: Mapping[str, str]) -> MemoryStorage:
    storage = table_with(properties)
    for step in STEPS:
        step(opened(storage))
    return storage


def commits(storage: Storage) -> list[list[Action]]:
    names = [file.path for file in storage.list("_delta_log") if file.path.endswith(".json") and file.path[-6].isdigit()]
    return [[json.loads(line) for line in storage.read(name).splitlines()] for name in sorted(names)]


def found(storage: Storage, kind: str) -> Iterator[tuple[int, Action]]:
    """The actions of a kind, each with its version."""
    for version, actions in enumerate(commits(storage)):
        yield from ((version, action[kind]) for action in actions if kind in action)


@pytest.fixture(scope="module")
def tracked() -> MemoryStorage:
    return history({**BY_VECTORS, **FEED, "delta.enableRowTracking": "true"})


def test_fresh_row_ids_lie_above_the_mark_that_was_and_below_the_one_that_comes_with_them(tracked: MemoryStorage) -> None:
    """ "Writers must set the `baseRowId` field to a value that is higher than the row id high water mark." "Writers must include a
    `domainMetadata` for `delta.rowTracking` whenever they assign new fresh Row IDs"  (Writer Requirements for Row Tracking)"""
    mark, known = -1, set()
    for version, actions in enumerate(commits(tracked)):
        told = [a["domainMetadata"] for a in actions if a.get("domainMetadata", {}).get("domain") == "delta.rowTracking"]
        fresh = [a["add"] for a in actions if "add" in a and a["add"]["path"] not in known]
        spans = sorted((add["baseRowId"], add["baseRowId"] + json.loads(add["stats"])["numRecords"]) for add in fresh)
        assert all(start > mark for start, _ in spans), version
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), version
        assert len(told) == 1 if spans else not told, version
        if told:
            mark, before = json.loads(told[0]["configuration"])["rowIdHighWaterMark"], mark
            assert mark > before
            assert mark >= spans[-1][1] - 1
        known |= {add["path"] for add in fresh}
    assert mark > 20


def test_what_is_committed_again_or_removed_keeps_its_first_row_id_and_commit_version(tracked: MemoryStorage) -> None:
    """ "Writers must set the `baseRowId` field in recommitted and checkpointed `add` actions and `remove` actions to the `baseRowId`
    value (if present) of the last committed `add` action with the same `path`", and so `defaultRowCommitVersion`, which new ones set
    "to the version number of the log enty containing the `add` action"  (Writer Requirements for Row Tracking)"""
    first: dict[str, tuple[int, int]] = {}
    again = 0
    for version, actions in enumerate(commits(tracked)):
        for file in (action.get("add") or action.get("remove") for action in actions):
            if file is None:
                continue
            known = first.setdefault(file["path"], (file["baseRowId"], version))
            assert (file["baseRowId"], file["defaultRowCommitVersion"]) == known, (version, file["path"])
            again += known[1] != version
    assert again > 10
    opened(tracked).checkpoint()
    [checkpoint] = [file.path for file in tracked.list("_delta_log") if file.path.endswith(".checkpoint.parquet")][-1:]
    for row in pq.read_table(BufferReader(tracked.read(checkpoint))).to_pylist():
        for file in filter(None, (row["add"], row["remove"])):
            assert (file["baseRowId"], file["defaultRowCommitVersion"]) == first[file["path"]]


def test_the_columns_of_row_tracking_have_names_that_no_other_column_will_get(tracked: MemoryStorage) -> None:
    """ "The assigned column names must be unique. They must not be equal to the name of any other column in the table's schema."
    (Writer Requirements for Row Tracking)"""
    [name] = {
        about["configuration"]["delta.rowTracking.materializedRowIdColumnName"] for _, about in found(tracked, "metaData")
    }
    with pytest.raises(InvalidRequest, match="row"):
        Table(opened(tracked)).add_columns(f"`{name}` long")


def test_a_domain_that_nobody_here_knows_is_kept(tracked: MemoryStorage) -> None:
    """ "Writers must preserve all domains even if they don't understand them."  (Writer Requirements for Domain Metadata)"""
    told = [version for version, domain in found(tracked, "domainMetadata") if domain["domain"] == "somebody's notes"]
    assert len(told) == 1
    opened(tracked).checkpoint()
    assert "somebody's notes" in opened(tracked).snapshot.domains


def test_change_files_are_written_where_files_are_written_anew_for_some_of_their_rows() -> None:
    """ "When `delta.enableChangeDataFeed` is `true`, writers must produce the relevant `AddCDCFile`'s for any operation that changes
    data", where the files that come and go do not tell by themselves.  (Writer Requirements for AddCDCFile)"""
    log = commits(history({**FEED, "delta.enableRowTracking": "true"}))
    for actions in log:
        kinds = {kind for action in actions for kind in action}
        operation = next(action["commitInfo"]["operation"] for action in actions if "commitInfo" in action)
        assert ("cdc" in kinds) == (operation in ("DELETE", "UPDATE", "MERGE") and {"add", "remove"} <= kinds), operation
    assert sum(any("cdc" in action for action in actions) for actions in log) >= 4


def test_without_the_feature_its_property_makes_no_change_files() -> None:
    """ "For Writer Version 7, all writers must respect the `delta.enableChangeDataFeed` configuration flag in the metadata of the table
    only if the feature `changeDataFeed` exists in the table `protocol`'s `writerFeatures`."  (Writer Requirements for AddCDCFile)"""
    storage = table_with(BY_VECTORS)
    path = f"_delta_log/{0:020}.json"
    actions = [json.loads(line) for line in storage.read(path).splitlines()]
    for action in actions:
        if "metaData" in action:
            action["metaData"]["configuration"]["delta.enableChangeDataFeed"] = "true"
    fresh = MemoryStorage(storage.url)
    fresh.delete(path)
    fresh.put(path, "\n".join(json.dumps(action) for action in actions).encode())
    fresh.delete(f"_delta_log/{0:020}.crc")
    for step in (append("b", 20, 21), update("id = 20"), delete("id = 21")):
        step(DeltaTable(load(Place(fresh))))
    assert not list(found(fresh, "cdc"))


def test_each_file_states_a_value_for_each_partition_column(tracked: MemoryStorage) -> None:
    """ "Values for all partition columns present in the schema MUST be present for all files in the table."
    (Consistency Between Table Metadata and Data Files)"""
    files = [file for kind in ("add", "remove", "cdc") for _, file in found(tracked, kind)]
    assert {tuple(file["partitionValues"]) for file in files} == {("p",)}


def test_checkpoints_of_a_table_with_v2_checkpoints_are_one_file_with_sidecars_of_their_own() -> None:
    """ "A table must not use multi-part checkpoints"; uuid-named ones "must have checkpoint metadata"  (V2 Checkpoint Table Feature).
    Sidecars "must have unique names"  (Sidecar Files)"""
    storage = history({"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2", "delta.enableRowTracking": "true"})
    tops = [file.path for file in storage.list("_delta_log") if ".checkpoint." in file.path]
    assert len(tops) > 4
    assert not [path for path in tops if path.count(".") > 3]
    named: list[str] = []
    for path in tops:
        rows = pq.read_table(BufferReader(storage.read(path))).to_pylist()
        assert len([row for row in rows if row["checkpointMetadata"]]) == 1, path
        named += [row["sidecar"]["path"] for row in rows if row["sidecar"]]
    assert len(set(named)) == len(named)


def test_the_histogram_of_each_version_has_a_count_and_a_sum_for_each_bin_from_zero_on(tracked: MemoryStorage) -> None:
    """ "A sorted array of bin boundaries", of which "the first element must be 0"; the counts and sums: "Length must match
    `sortedBinBoundaries`."  (File Size Histogram Schema)"""
    paths = [file.path for file in tracked.list("_delta_log") if file.path.endswith(".crc")]
    assert len(paths) == len(commits(tracked))
    for path in paths:
        told = json.loads(tracked.read(path))
        histogram = told.get("fileSizeHistogram") or told["histogramOpt"]
        bounds = histogram["sortedBinBoundaries"]
        assert bounds == sorted(bounds)
        assert bounds[0] == 0
        assert len(histogram["fileCounts"]) == len(histogram["totalBytes"]) == len(bounds)
        assert sum(histogram["fileCounts"]) == told["numFiles"]
        assert sum(histogram["totalBytes"]) == told["tableSizeBytes"]


EAGER = {"delta.checkpointInterval": "1", "delta.feature.domainMetadata": "supported"}


class Watching(Wrapping):
    """Notes whatever changes the log: the verb, the name, and whether the version that it is about was there already."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.changes: list[tuple[str, str, bool]] = []

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        if path.startswith("_delta_log/") and verb in ("put", "put_if_absent", "delete"):
            version = max((int(number) for number in re.findall(r"\d{20}", path)), default=0)
            known = {file.path for file in self.inner.list("_delta_log")}
            self.changes.append((verb, path.removeprefix("_delta_log/"), f"_delta_log/{version:020}.json" in known))
        return call()


@pytest.mark.parametrize("more", [{}, {"delta.checkpointPolicy": "v2"}], ids=["classic", "v2"])
def test_a_version_is_written_once_and_before_all_that_sums_it_up(more: dict[str, str]) -> None:
    """ "Checkpoints for a given version must only be created after the associated delta file has been successfully written"
    (Checkpoints). "Writers MUST write the Version Checksum file only after successfully writing the corresponding Delta log entry"
    (Version Checksum File). "Writers MUST never overwrite an existing log entry."  (Creation of New Log Entries)"""
    storage = Watching(table_with({**EAGER, **more}))
    for step in STEPS:
        step(opened(storage))
    opened(storage).compact_log(0, 5)
    kinds = {name.split(".", 1)[1].split(".")[0] for _, name, _ in storage.changes if re.match(r"\d{20}\.", name)}
    assert kinds >= {"json", "checkpoint", "crc"}
    for verb, name, is_there in storage.changes:
        is_commit = re.fullmatch(r"\d{20}\.json", name) is not None
        assert is_there is not is_commit or not re.match(r"\d{20}", name), name
        assert not is_commit or verb == "put_if_absent", name


@pytest.mark.parametrize("more", [{}, {"delta.checkpointPolicy": "v2"}], ids=["classic", "v2"])
def test_the_files_of_the_log_have_the_names_of_the_specification(more: dict[str, str]) -> None:
    """ "`n` must be zero padded to have length 20"  (Checkpoints, UUID-named checkpoint, Classic checkpoint)"""
    storage = history({**EAGER, **more})
    found = {file.path.removeprefix("_delta_log/") for file in storage.list("_delta_log")}
    uuid = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    checkpoint = rf"checkpoint\.{uuid}\.parquet" if more else r"checkpoint\.parquet"
    shapes = [r"\d{20}\.json", r"\d{20}\.crc", rf"\d{{20}}\.{checkpoint}", "_last_checkpoint", *([rf"_sidecars/{uuid}\.parquet"] if more else [])]
    hits = {shape: {name for name in found if re.fullmatch(shape, name)} for shape in shapes}
    assert all(hits.values()), hits
    assert found == set().union(*hits.values())


@pytest.mark.parametrize(
    "more, lists",
    [
        ({}, ()),
        ({"delta.feature.domainMetadata": "supported"}, ("writerFeatures",)),
        ({"delta.feature.deletionVectors": "supported"}, ("readerFeatures", "writerFeatures")),
    ],
)
def test_a_checkpoint_has_the_lists_of_features_that_the_protocol_has(more: dict[str, str], lists: tuple[str, ...]) -> None:
    """ "If a table has Reader Version 3, then a writer must write checkpoints with a not-null `readerFeatures` in the schema"; so with
    Writer Version 7 and `writerFeatures`; else "their values must be null"  (Checkpoint Schema)"""
    storage = table_with(more)
    opened(storage).checkpoint()
    [path] = [file.path for file in storage.list("_delta_log") if ".checkpoint." in file.path]
    [told] = [row["protocol"] for row in pq.read_table(BufferReader(storage.read(path))).to_pylist() if row["protocol"]]
    assert tuple(name for name in ("readerFeatures", "writerFeatures") if told.get(name) is not None) == lists


def test_the_commit_that_enables_timestamps_is_later_than_the_file_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "The `inCommitTimestamp` of the commit that enables this feature must be greater than the file modification time of the
    immediately preceding commit", whatever the clock says.  (Writer Requirements for In-Commit Timestamps)"""
    storage = table_with({})
    before = storage.head(f"_delta_log/{2:020}.json").modified
    monkeypatch.setattr(delta_commit, "now", lambda: before - 1000)
    Table(opened(storage)).set_properties({"delta.enableInCommitTimestamps": "true"})
    *_, (version, info) = found(storage, "commitInfo")
    assert (version, info["inCommitTimestamp"]) == (3, before + 1)
