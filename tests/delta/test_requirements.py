"""Does every commit keep what the protocol demands of writers, whatever was done to the table and whatever features it has?

Each rule is the specification read a second time: it looks at nothing but the actions of the commits, as JSON, and the files that
they name.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.arrow.read import read_table
from tests.delta.mixed_histories import MIXES, UNKNOWN, Body, Commit, State, history
from tests.delta.operations import opened

Rule = Callable[[Commit], bool]


def _each(commit: Commit, kind: str, holds: Callable[[Body], bool]) -> bool:
    return all(holds(body) for body in commit.of(kind))


def _physical(field: Body) -> str:
    return str(field["metadata"].get("delta.columnMapping.physicalName", field["name"]))


def _partitions(state: State) -> list[str]:
    by_name = {field["name"]: _physical(field) for field in state.fields}
    return [by_name[name] for name in state.metadata["partitionColumns"]]


def _columns(fields: list[Body]) -> Iterator[Body]:
    """All fields, at every depth."""
    for one in fields:
        yield one
        kind = one["type"]
        while isinstance(kind, dict) and kind["type"] == "array":
            kind = kind["elementType"]
        if isinstance(kind, dict) and kind["type"] == "struct":
            yield from _columns(kind["fields"])


def _file(commit: Commit, body: Body) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(commit.storage.read(unquote(body["path"]))))


def _fresh(commit: Commit) -> list[Body]:
    """The adds of files that were written for this commit."""
    return [body for body in commit.of("add") if body["path"] not in commit.before.known]


def _stats(body: Body) -> Body:
    return dict(orjson.loads(body["stats"]))


def _no_two_reconcile(commit: Commit) -> bool:
    keys = [
        *((kind,) for kind, _ in commit.actions if kind in ("metaData", "protocol")),
        *(("txn", body["appId"]) for body in commit.of("txn")),
        *(("domain", body["domain"]) for body in commit.of("domainMetadata")),
        *(("file", body["path"], str(body.get("deletionVector"))) for body in commit.of("add", "remove")),
    ]
    return max(Counter(keys).values(), default=1) == 1


def _one_of_a_type(commit: Commit) -> bool:
    return all(len({b["path"] for b in commit.of(kind)}) == len(commit.of(kind)) for kind in ("add", "remove"))


def _vectors_replace(commit: Commit) -> bool:
    gone = {(body["path"], str(body.get("deletionVector"))) for body in commit.of("remove")}
    return _each(commit, "add", lambda body: (
        (live := commit.before.adds.get(body["path"])) is None
        or live.get("deletionVector") == body.get("deletionVector")
        or (body["path"], str(live.get("deletionVector"))) in gone
    ))  # fmt: skip


def _rearranges(commit: Commit) -> bool:
    """Files that change nothing are there already, or take the place of others that change nothing."""
    quiet = [[body for body in commit.of(kind) if not body["dataChange"]] for kind in ("add", "remove")]
    fresh = [body for body in quiet[0] if body["path"] not in commit.before.adds]
    return bool(quiet[1]) if fresh else not [b for b in quiet[1] if b["path"] in commit.before.adds]


def _columns_of_files(commit: Commit) -> bool:
    """In files the table's own columns, and those in which it keeps row ids."""
    configuration = commit.after.metadata["configuration"]
    hidden = {v for k, v in configuration.items() if k.startswith("delta.rowTracking.materialized")}
    allowed = {_physical(field) for field in commit.after.fields} | hidden
    return all(set(_file(commit, body).schema_arrow.names) <= allowed for body in _fresh(commit))


def _stores_by_physical_names(commit: Commit) -> bool:
    if commit.after.metadata["configuration"].get("delta.columnMapping.mode", "none") == "none":
        return True
    names = {_physical(field) for field in commit.after.fields}
    stated = (_stats(body) for body in _fresh(commit))
    has_ids = all(
        b"PARQUET:field_id" in (column.metadata or {})
        for body in _fresh(commit)
        for column in _file(commit, body).schema_arrow
        if column.name in names
    )
    return has_ids and all(set(s["nullCount"]) | set(s["minValues"]) <= names for s in stated)


def _ids_only_grow(commit: Commit) -> bool:
    old, new = (int(s.metadata.get("configuration", {}).get(_MAX_ID, 0)) for s in (commit.before, commit.after))
    ids = [field["metadata"].get("delta.columnMapping.id", 0) for field in _columns(commit.after.fields)]
    if not any(ids):
        return True
    return old <= new and max(ids) <= new and len(set(ids)) == len(ids)


_MAX_ID = "delta.columnMapping.maxColumnId"


def _vectors_are_wanted(commit: Commit) -> bool:
    had = {str(body["deletionVector"]) for body in commit.before.known.values() if body.get("deletionVector")}
    new = [body for body in commit.of("add") if body.get("deletionVector") and str(body["deletionVector"]) not in had]
    return not new or (commit.after.is_on("delta.enableDeletionVectors") and commit.after.supports("deletionVectors"))


def _vectors_are_counted(commit: Commit) -> bool:
    return _each(commit, "add", lambda body: not body.get("deletionVector") or (
        _stats(body)["numRecords"] == _file(commit, body).metadata.num_rows
        and _stats(body)["tightBounds"] is False
        and 0 < body["deletionVector"]["cardinality"] < _stats(body)["numRecords"]
    ))  # fmt: skip


def _gives_ids(state: State) -> bool:
    return state.supports("rowTracking") and not state.is_on("delta.rowTrackingSuspended")


def _row_ids_are_set(commit: Commit) -> bool:
    if not _gives_ids(commit.after):
        return True
    return _each(
        commit,
        "add",
        lambda body: body.get("baseRowId") is not None and body.get("defaultRowCommitVersion") is not None,
    )


def _row_ids_are_fresh(commit: Commit) -> bool:
    """Of files that have none yet, beyond the mark before; and the mark after is no lower than any."""
    if not _gives_ids(commit.after):
        return True
    spans = sorted((body["baseRowId"], body["baseRowId"] + _stats(body)["numRecords"]) for body in _fresh(commit))
    apart = all(one[1] <= other[0] for one, other in pairwise(spans))
    beyond = not spans or spans[0][0] > commit.before.mark
    return apart and beyond and all(end <= commit.after.mark + 1 for _, end in spans)


def _row_ids_stay(commit: Commit) -> bool:
    """In files that are added again or removed, whatever the newest `add` of the path said."""
    if not (_gives_ids(commit.before) and _gives_ids(commit.after)):
        return True
    said = [(body, commit.before.known.get(body["path"])) for body in commit.of("add", "remove")]
    return all(old is None or all(body.get(name) == old.get(name) for name in _ROW_IDS) for body, old in said)


_ROW_IDS = ("baseRowId", "defaultRowCommitVersion")


def _rows_stay_themselves(commit: Commit) -> bool:
    """Rows are told apart by their ids, which they keep; those that are copied keep the version that wrote them as well."""
    (operation,) = [body["operation"] for body in commit.of("commitInfo")]
    if not all(state.is_on("delta.enableRowTracking") and state.supports("rowTracking") for state in (commit.before, commit.after)):
        return True
    old, new = (_tracked(commit, version) for version in (commit.version - 1, commit.version))
    are_apart = len({row_id for row_id, _, _ in new.values()}) == len(new)
    return are_apart and all(
        old[key][0] == row_id and version == (old[key][1] if old[key][2] == row else commit.version)
        for key, (row_id, version, row) in new.items()
        if key in old and operation in _KEEPING
    )


_KEEPING = ("DELETE", "UPDATE", "MERGE", "OPTIMIZE", "REORG")


def _tracked(commit: Commit, version: int) -> dict[int, tuple[int, int, Any]]:
    """The id of each row, the version that wrote it, and its values, by the column `id`, which no two rows share."""
    table = opened(commit.storage).at(version)
    found = read_table(table.plan([*table.schema.names, "_row_id", "_row_commit_version"])).to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: (row.pop("_row_id"), row.pop("_row_commit_version"), _row(row, ["v", "p", "new"])) for row in found}


def _says_when(commit: Commit) -> bool:
    if not (commit.after.is_on("delta.enableInCommitTimestamps") and commit.after.supports("inCommitTimestamp")):
        return True
    kind, info = commit.actions[0]
    later = commit.before.time is None or info["inCommitTimestamp"] > commit.before.time
    return kind == "commitInfo" and later


def _tells_changes(commit: Commit) -> bool:
    """Where the feed is on, the rows of a version are those of the one before with its changes made to them."""
    if not (commit.before.is_on(_FEED) and commit.after.is_on(_FEED)):
        return not commit.of("cdc")
    table = opened(commit.storage)
    columns = [field["name"] for field in commit.after.fields]
    old, new = (
        _rows(read_table(table.at(version).plan()), columns) for version in (commit.version - 1, commit.version)
    )
    for plan in table.at(commit.version).changes(commit.version, commit.version, None):
        for row in read_table(plan).to_pylist():
            step = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}[row["_change_type"]]
            old[_row(row, columns)] += step
    return old.total() == new.total() and +old == new


_FEED = "delta.enableChangeDataFeed"


def _rows(table: pa.Table, columns: list[str]) -> Counter[Any]:
    return Counter(_row(row, columns) for row in table.to_pylist())


def _row(row: Body, columns: list[str]) -> Any:
    """The columns that the table has in the end; those that came after the row are null in it."""
    return tuple(str(row.get(name)) for name in columns)


def _clusters(commit: Commit) -> bool:
    if "delta.clustering" not in commit.after.domains:
        return True
    paths = orjson.loads(commit.after.domains["delta.clustering"]["configuration"])["clusteringColumns"]
    tops = {_physical(field) for field in commit.after.fields}
    has_stats = all(_at(_stats(body)["nullCount"], path) is not None for body in _fresh(commit) for path in paths)
    return has_stats and all(path[0] in tops for path in paths) and not commit.after.metadata["partitionColumns"]


def _at(tree: Any, path: list[str]) -> Any:
    for name in path:
        tree = (tree or {}).get(name)
    return tree


def _stays_convertible(commit: Commit) -> bool:
    if not commit.after.is_on("delta.enableIcebergCompatV2"):
        return True
    partitions = _partitions(commit.after)
    has_partitions = all(
        [n for n in _file(commit, body).schema_arrow.names if n in partitions] == partitions for body in _fresh(commit)
    )
    return has_partitions and all("numRecords" in _stats(body) for body in commit.of("add"))


def _keeps_features(commit: Commit) -> bool:
    if any(body["operation"] == "DROP FEATURE" for body in commit.of("commitInfo")):
        return True
    old, new = (s.protocol for s in (commit.before, commit.after))
    names = [set(p.get("writerFeatures") or ()) | set(p.get("readerFeatures") or ()) for p in (old, new)]
    both = {*(new.get("readerFeatures") or ())} <= {*(new.get("writerFeatures") or ())}
    return both and names[0] <= names[1] and old.get("minReaderVersion", 0) <= new["minReaderVersion"]


def _sums_up(commit: Commit) -> bool:
    body = orjson.loads(commit.storage.read(f"_delta_log/{commit.version:020}.crc"))
    histogram = body["fileSizeHistogram"]
    starts = histogram["sortedBinBoundaries"]
    sizes = [add["size"] for add in commit.after.adds.values()]
    bins = Counter(sum(size >= start for start in starts) - 1 for size in sizes)
    return (
        (body["numFiles"], body["tableSizeBytes"], body["numMetadata"], body["numProtocol"])
        == (len(sizes), sum(sizes), 1, 1)
        and (body["metadata"], body["protocol"]) == (commit.after.metadata, commit.after.protocol)
        and starts[0] == 0
        and starts == sorted(starts)
        and histogram["fileCounts"] == [bins[at] for at in range(len(starts))]
        and len(histogram["totalBytes"]) == len(starts)
        and body.get("inCommitTimestampOpt") == commit.after.time
        and {one["domain"] for one in body["domainMetadata"]} == set(commit.after.domains)
    )


RULES: dict[str, Rule] = {
    # "A single log entry MUST NOT include more than one action that reconciles with each other."
    "Delta Log Entries": _no_two_reconcile,
    # "it is required that there is at most one file action of the same type for any `path`"
    "Add File and Remove File: one of a type": _one_of_a_type,
    # "a commit may not add `path` with a DV that differs from the live entry [...] unless the same commit removes" it
    "Add File and Remove File: another vector": _vectors_replace,
    # "When `false` the logical file must already be present in the table or the records in the added file must be contained in
    # one or more `remove` actions in the same version"
    "Add File and Remove File: dataChange": _rearranges,
    # "path [...] partitionValues [...] size [...] modificationTime [...] dataChange: required"
    "Add File and Remove File: required fields": lambda c: _each(c, "add", lambda body: {
        "path", "partitionValues", "size", "modificationTime", "dataChange"} <= set(body)),
    # "When `true` the fields `partitionValues`, `size` [...] are present"
    "Add File and Remove File: extendedFileMetadata": lambda c: _each(c, "remove", lambda body: (
        not body["extendedFileMetadata"] or {"partitionValues", "size"} <= set(body))),
    # "Data files MUST be uniquely named and MUST NOT be overwritten."
    "Data Files": lambda c: _each(c, "add", lambda body: body["size"] == c.before.known.get(body["path"], body)["size"]
                                  == c.storage.head(unquote(body["path"])).size),
    # "Every metadata action must include required fields at a minimum."
    "Change Metadata": lambda c: _each(c, "metaData", lambda body: {
        "id", "format", "schemaString", "partitionColumns", "configuration"} <= set(body)) and bool(c.after.metadata),
    # "Any column that exists in a data file present in the table MUST also be present in the metadata of the table."
    "Consistency Between Table Metadata and Data Files: columns": _columns_of_files,
    # "Values for all partition columns present in the schema MUST be present for all files in the table."
    "Consistency Between Table Metadata and Data Files: partitions": lambda c: all(
        set(body["partitionValues"]) == set(_partitions(c.after)) for body in c.after.adds.values()),
    # "Track partition values and column level statistics with the physical name of the column in the transaction log."
    "Writer Requirements for Column Mapping: names": _stores_by_physical_names,
    # "This value must increase monotonically as new columns are introduced"
    "Writer Requirements for Column Mapping: ids": _ids_only_grow,
    # "Writers must only write new Deletion Vectors (DVs) when this property is set to `true`."
    "Deletion Vectors": _vectors_are_wanted,
    # "that logical file must have correct `numRecords` information for the data file in the `stats` field"
    "Writer Requirement for Deletion Vectors": _vectors_are_counted,
    # "Writers must set the `baseRowId` field in all `add` actions that they commit"
    "Writer Requirements for Row Tracking: all adds": _row_ids_are_set,
    # "Writers must set the `baseRowId` field to a value that is higher than the row id high water mark."
    "Writer Requirements for Row Tracking: fresh ids": _row_ids_are_fresh,
    # "Writers must set the `baseRowId` field in recommitted and checkpointed `add` actions and `remove` actions to the
    # `baseRowId` value (if present) of the last committed `add` action with the same `path`."
    "Writer Requirements for Row Tracking: the same path": _row_ids_stay,
    # "Stable Row IDs must be unique within a version of the table"; "Writers should preserve the stable Row IDs of rows that are
    # updated or copied"; "Row Commit Versions of rows that are copied (but not updated)"
    "Writer Requirements for Row Tracking: stable ids": _rows_stay_themselves,
    # "One millisecond later than the previous commit's `inCommitTimestamp`"; "must be the first action in the commit"
    "Writer Requirements for In-Commit Timestamps": _says_when,
    # "writers must produce the relevant `AddCDCFile`'s for any operation that changes data"
    "Writer Requirements for AddCDCFile": _tells_changes,
    # "Should always be set to `false` for `cdc` actions because they do not change the underlying data of the table"
    "Add CDC File": lambda c: _each(c, "cdc", lambda body: body["dataChange"] is False and body["path"].startswith("_change_data/")),
    # "Writers must preserve all domains even if they don't understand them."
    "Writer Requirements for Domain Metadata": lambda c: UNKNOWN not in c.before.domains or UNKNOWN in c.after.domains,
    # "Writers must write out [...] per-column statistics for clustering columns"; "the physical column names should be used"
    "Writer Requirements for Clustered Table": _clusters,
    # "Require that partition column values be materialized"; "all new `AddFile`s [...] have the `numRecords` statistic populated"
    "Writer Requirements for IcebergCompatV2": _stays_convertible,
    # "Clients must not remove the feature from the `protocol` action."; "Reader features should be listed in both"
    "Supported Features": _keeps_features,
    # "Writers MUST ensure all metrics in the Version Checksum accurately reflect table state"; "The first element must be 0."
    "Version Checksum File, File Size Histogram Schema": _sums_up,
}  # fmt: skip


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("section", RULES)
def test_every_commit_keeps_the_requirement(section: str, mix: str) -> None:
    broken = [
        f"version {commit.version}: {[body['operation'] for body in commit.of('commitInfo')]}"
        for commit in history(mix)
        if not RULES[section](commit)
    ]
    assert broken == []


@pytest.mark.parametrize("mix", MIXES)
def test_the_histories_have_what_the_rules_are_about(mix: str) -> None:
    commits = history(mix)
    wanted = MIXES[mix].properties
    said = [body["operation"] for commit in commits for body in commit.of("commitInfo")]
    assert {"WRITE", "DELETE", "UPDATE", "MERGE", "RESTORE", "OPTIMIZE", "REPLACE TABLE AS SELECT"} <= set(said)
    assert bool([b for c in commits for b in c.of("add") if "deletionVector" in b]) is (
        "delta.enableDeletionVectors" in wanted
    )
    assert bool([b for c in commits for b in c.of("cdc")]) is (_FEED in wanted)
    assert bool([b for c in commits for b in c.of("add") if "baseRowId" in b]) is ("delta.enableRowTracking" in wanted)
