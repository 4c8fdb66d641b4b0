"""Which rows changed between two versions.  (PROTOCOL.md, "Reader Requirements for AddCDCFile")"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.types import Array, Field, Map, Struct, Type
from esker.delta.column_mapping import PHYSICAL_NAME
from esker.errors import InvalidRequest, InvalidTable, Unsupported
from tests.delta.tables import ID, Action, Log, ids, inline, metadata, remove

FEATURES = ["changeDataFeed", "deletionVectors"]
ON = {"delta__enableChangeDataFeed": "true"}


def started(schema: Struct = ID, **settings: Any) -> Log:
    return Log().start(schema, features=FEATURES, **ON | settings)


def changes(log: Log, first: int = 0, last: int | None = None, **options: Any) -> list[tuple[Any, ...]]:
    """The rows with kind and version, without the time, in order."""
    found = log.open().changes(from_version=first, to_version=last, **options).to_arrow().to_pylist()
    return sorted((row["_commit_version"], row["_change_type"], row["id"]) for row in found)


def with_vector(action: Action, *positions: int) -> Action:
    return {"add": action["add"] | {"deletionVector": inline(*positions)}}


def test_files_added_are_inserts_and_files_removed_are_deletes() -> None:
    """ "treat all the rows in the `add` and `remove` actions as inserted and deleted rows, respectively"."""
    log = started()
    log.commit(log.data("a.parquet", ids(1, 2)))
    log.commit(remove("a.parquet"), log.data("b.parquet", ids(3)))
    assert changes(log) == [(1, "insert", 1), (1, "insert", 2), (2, "delete", 1), (2, "delete", 2), (2, "insert", 3)]
    assert changes(log, 2, 2) == [(2, "delete", 1), (2, "delete", 2), (2, "insert", 3)]
    assert changes(log, 1, 1) == [(1, "insert", 1), (1, "insert", 2)]


def test_change_files_are_read_alone_where_a_version_has_them() -> None:
    """ "read only those [...] and skip the remaining `add` and `remove` actions in this version"."""
    log = started()
    log.commit(log.data("a.parquet", ids(1, 2)))
    stored = pa.table({"id": [2, 9], "_change_type": ["update_preimage", "update_postimage"]})
    cdc = log.data("_change_data/c.parquet", stored)
    log.commit({"cdc": cdc["add"]}, remove("a.parquet"), log.data("b.parquet", ids(1, 9)))
    log.commit(log.data("c.parquet", ids(5)))
    assert changes(log, 2) == [(2, "update_postimage", 9), (2, "update_preimage", 2), (3, "insert", 5)]


VECTORS = [
    ("rows deleted", (), (1,), [("delete", 2)]),
    ("more rows deleted", (0,), (0, 2), [("delete", 3)]),
    ("rows brought back", (0, 1), (1,), [("insert", 1)]),
    ("all rows brought back", (0, 1), (), [("insert", 1), ("insert", 2)]),
    ("some deleted and some brought back", (0,), (2,), [("delete", 3), ("insert", 1)]),
    ("nothing", (0,), (0,), []),
]


@pytest.mark.parametrize("old, new, expected", [case[1:] for case in VECTORS], ids=[case[0] for case in VECTORS])
def test_where_only_the_vector_of_a_file_changed_the_difference_changed(
    old: tuple[int, ...], new: tuple[int, ...], expected: list[tuple[str, int]]
) -> None:
    log = started()
    action = log.data("a.parquet", ids(1, 2, 3, 4), row_group_size=2)
    log.commit(with_vector(action, *old) if old else action)
    log.commit(remove("a.parquet", dv=inline(*old) if old else None), with_vector(action, *new) if new else action)
    assert changes(log, 2) == [(2, kind, value) for kind, value in expected]


def test_a_file_that_comes_or_goes_with_a_vector_brings_only_its_live_rows() -> None:
    log = started()
    action = log.data("a.parquet", ids(1, 2, 3))
    log.commit(with_vector(action, 0))
    log.commit(remove("a.parquet", dv=inline(0)))
    assert changes(log) == [(1, "insert", 2), (1, "insert", 3), (2, "delete", 2), (2, "delete", 3)]


def test_what_changes_no_data_is_no_change() -> None:
    """ "`dataChange`: When `false` the logical file must already be present [...] or the records [...] contained in others"."""
    log = started()
    log.commit(log.data("a.parquet", ids(1)), log.data("b.parquet", ids(2)))
    log.commit(remove("a.parquet", dataChange=False), remove("b.parquet", dataChange=False),
               log.data("ab.parquet", ids(1, 2), dataChange=False))  # fmt: skip
    assert changes(log, 2) == []


def test_changes_carry_version_and_time_and_can_be_cut_to_columns() -> None:
    log = started(Struct((Field("id", t.LONG), Field("x", t.LONG))))
    log.commit(log.data("a.parquet", pa.table({"id": [1], "x": [2]})))
    found = log.open().changes(from_version=0).to_arrow()
    assert found.column_names == ["id", "x", "_change_type", "_commit_version", "_commit_timestamp"]
    assert found["_commit_timestamp"].to_pylist()[0] == log.open().history()["timestamp"].to_pylist()[0]
    only = log.open().changes(from_version=0, columns=["_change_type", "x"]).to_arrow()
    assert only.column_names == ["x", "_change_type"]
    assert log.open().changes(from_version=0, columns=["_change_type"]).to_arrow().to_pylist() == [{"_change_type": "insert"}]


@pytest.mark.parametrize("name", ["_row_id", "_row_commit_version", "_file", "_pos"])
def test_changes_do_not_say_which_row_of_which_file_they_were(name: str) -> None:
    """ "Readers cannot read Row IDs and Row Commit Versions while reading change data files"  (Reader Requirements for Row
    Tracking)"""
    log = Log().start(features=["rowTracking", "domainMetadata", "changeDataFeed"],
                      delta__enableRowTracking="true", delta__enableChangeDataFeed="true")  # fmt: skip
    with pytest.raises(InvalidRequest, match=f"have no {name}"):
        log.open().changes(0, columns=["id", name]).to_arrow()


def test_the_feed_may_be_on_by_the_older_name_of_its_property() -> None:
    log = Log().start(delta__enableChangeDataCapture="true")
    log.commit(log.data("f.parquet", ids(1)))
    assert changes(log, 0) == [(1, "insert", 1)]


def test_changes_in_partitions_have_the_partition_values_of_their_files() -> None:
    schema = Struct((Field("id", t.LONG), Field("p", t.LONG)))
    log = started(schema, partition_by=["p"])
    log.commit(log.data("p=1/a.parquet", ids(1), partition={"p": "1"}))
    log.commit(remove("p=1/a.parquet", partitionValues={"p": "1"}, extendedFileMetadata=True, size=1))
    rows = log.open().changes(from_version=0, columns=["p", "_change_type"]).to_arrow().to_pylist()
    assert rows == [{"p": 1, "_change_type": "insert"}, {"p": 1, "_change_type": "delete"}]


@pytest.mark.parametrize("path", ["p=1/a.parquet", "a.parquet"])
def test_a_remove_that_does_not_say_its_partition_is_not_guessed_at(path: str) -> None:
    schema = Struct((Field("id", t.LONG), Field("p", t.LONG)))
    log = started(schema, partition_by=["p"])
    log.commit(log.data(path, ids(1), partition={"p": "1"}))
    log.commit(remove(path))
    with pytest.raises(Unsupported, match="partition values"):
        changes(log)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("before, after", [([], ["p"]), (["p"], [])], ids=["from none", "to none"])
def test_rows_keep_their_values_where_the_partitioning_changes(before: list[str], after: list[str], first: int) -> None:
    """PROTOCOL.md, "Partition Value Serialization": what a file was written with is in its own values or in the file."""
    schema = Struct((Field("id", t.LONG), Field("p", t.LONG)))

    def file(log: Log, partition_by: list[str], number: int) -> Action:
        values = {"id": [number], "p": [number]}
        kept = {name: column for name, column in values.items() if name not in partition_by}
        return log.data(f"{number}.parquet", pa.table(kept), partition={name: str(number) for name in partition_by})

    log = Log()
    old = file(log, before, 1)
    log.start(schema, old, features=FEATURES, partition_by=before, **ON)
    gone = remove("1.parquet", partitionValues=old["add"]["partitionValues"], extendedFileMetadata=True, size=1)
    log.commit(metadata(schema, after, **ON), gone, file(log, after, 2))
    rows = log.open().changes(from_version=first, columns=["id", "p", "_change_type"]).to_arrow().to_pylist()
    expected = [(1, 1, "delete"), (1, 1, "insert"), (2, 2, "insert")] if first == 0 else [(1, 1, "delete"), (2, 2, "insert")]
    assert sorted((row["id"], row["p"], row["_change_type"]) for row in rows) == expected


def test_a_remove_without_a_partition_is_read_where_the_table_has_none() -> None:
    log = started()
    log.commit(log.data("x=1/a.parquet", ids(1)))
    log.commit(remove("x%3D1/a.parquet"))
    assert (2, "delete", 1) in changes(log)


def test_a_range_in_which_the_feed_was_off_is_refused() -> None:
    log = Log().start(ID, features=FEATURES)
    log.commit(metadata(ID, **ON))
    log.commit(log.data("a.parquet", ids(1)))
    log.commit(metadata(ID))
    log.commit(metadata(ID, **ON))
    assert changes(log, 1, 2) == [(2, "insert", 1)]
    for first, last in ((0, 2), (1, 3), (2, 4), (3, 3)):
        with pytest.raises(InvalidRequest, match="not recorded"):
            changes(log, first, last)


LATER = {
    "another column": (Struct((Field("id", t.LONG), Field("more", t.STRING))), True),
    "a wider type": (Struct((Field("id", t.Decimal(20, 0)),)), True),
    "no such column": (Struct((Field("other", t.LONG),)), False),
    "another type": (Struct((Field("id", t.STRING),)), False),
    "a narrower type": (Struct((Field("id", t.INTEGER),)), False),
}


@pytest.mark.parametrize("schema, is_read", LATER.values(), ids=LATER)
def test_a_schema_that_changed_in_the_range_is_read_where_nothing_is_lost(schema: Struct, is_read: bool) -> None:
    log = started()
    log.commit(log.data("a.parquet", ids(1)))
    log.commit(metadata(schema, **ON))
    if is_read:
        assert [row["id"] for row in log.open().changes(from_version=0).to_arrow().to_pylist()] == [1]
        return
    with pytest.raises(InvalidRequest, match="not recorded"):
        changes(log)


def member(name: str, number: int) -> Field:
    mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return Field(name, t.LONG, id=number, metadata=mapping)


@pytest.mark.parametrize("mode", ["none", "name"])
@pytest.mark.parametrize("nested", [Array, lambda kind: Map(t.STRING, kind), lambda kind: Array(Array(kind))])
def test_what_lists_and_maps_hold_changes_as_columns_do(nested: Callable[[Type], Type], mode: str) -> None:
    """A member that came in is null before; one that came in for another of its name is not the same.  (Column Mapping)"""

    def schema(*members: Field) -> Struct:
        return Struct((replace(member("s", 1), type=nested(Struct(members))),))

    def table(*later: Field) -> esker.Table:
        settings = ON | {"delta__columnMapping__mode": mode}
        log = Log().start(schema(member("x", 2)), features=[*FEATURES, "columnMapping"], **settings)
        log.commit(metadata(schema(*later), **settings))
        return log.open()

    assert table(member("x", 2), member("y", 3)).changes(from_version=0).to_arrow().num_rows == 0
    refused = [(member("y", 3),), *([(member("x", 3),)] if mode == "name" else [])]
    for later in refused:
        with pytest.raises(InvalidRequest, match=r"the column s\.(element|value).*(no longer there|another one)"):
            table(*later).changes(from_version=0)


@pytest.mark.parametrize("later, rows", [
    (Field("id", t.STRING, metadata=member("id", 1).metadata), None), (member("id", 2), None),
    (member("id", 1), [(2, "delete", 1), (2, "insert", 2)]),
], ids=["another type", "another column", "the same"])  # fmt: skip
def test_rows_that_go_with_their_schema_are_not_read_under_another(later: Field, rows: list[tuple[Any, ...]] | None) -> None:
    """What the first version of a range removes came in before the range began."""
    settings = ON | {"delta__columnMapping__mode": "name"}
    before, after = Struct((member("id", 1), member("gone", 9))), Struct((later,))
    log = Log().start(before, features=[*FEATURES, "columnMapping"], **settings)
    log.commit(log.data("a.parquet", pa.table({"col-1": [1]})))
    fresh = log.data("b.parquet", pa.table({str(later.metadata[PHYSICAL_NAME]): pa.array([2]).cast(to_arrow(later.type))}))
    log.commit(metadata(after, **settings), remove("a.parquet", partitionValues={}, extendedFileMetadata=True, size=1), fresh)
    if rows is not None:
        assert changes(log, 2) == rows
        return
    with pytest.raises(InvalidRequest, match="removes rows that were written under another schema"):
        changes(log, 2)


@pytest.mark.parametrize("first, last", [(-1, None), (2, None), (1, 0), (0, 9)])
def test_a_range_that_is_not_there_is_refused(first: int, last: int | None) -> None:
    log = started()
    log.commit(log.data("a.parquet", ids(1)))
    with pytest.raises(InvalidRequest):
        changes(log, first, last)


def test_changes_that_are_no_longer_in_the_log_are_refused() -> None:
    log = started()
    log.commit(log.data("a.parquet", ids(1)))
    log.commit(log.data("b.parquet", ids(2)))
    snapshot = log.snapshot(0)
    top = [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                         "writerFeatures": FEATURES}},
           {"metaData": {"id": "x", "schemaString": snapshot.metadata.schema_string, "partitionColumns": [],
                         "configuration": {"delta.enableChangeDataFeed": "true"}}}]  # fmt: skip
    log.checkpoint(1, [*top, log.data("a.parquet", ids(1))])
    for version in (0, 1):
        log.storage.delete(f"_delta_log/{version:020}.json")
    assert changes(log, 2) == [(2, "insert", 2)]
    with pytest.raises(InvalidRequest):
        changes(log, 0)
    with pytest.raises(InvalidRequest, match="no longer in the log"):
        changes(log, 1)


def test_rows_that_go_are_refused_where_the_log_no_longer_tells_their_schema() -> None:
    log = started()
    log.commit(log.data("a.parquet", ids(1)))
    fresh = log.data("b.parquet", ids(2))
    log.commit(metadata(ID, **ON), remove("a.parquet"), fresh)
    top = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, metadata(ID, **ON)]
    log.checkpoint(2, [*top, fresh])
    assert changes(log, 2) == [(2, "delete", 1), (2, "insert", 2)]
    for version in (0, 1):
        log.storage.delete(f"_delta_log/{version:020}.json")
    with pytest.raises(InvalidRequest, match="no longer tells what schema"):
        changes(log, 2)


def test_an_absurd_version_does_not_make_the_search_for_changes_endless() -> None:
    log = started()
    log.checkpoint(10**15, [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, metadata(ID, **ON)])
    with pytest.raises(InvalidRequest, match="version 1 are no longer"):
        changes(log)


BROKEN: list[Action] = [
    {"add": {"size": 1}}, {"add": {"path": 1}}, {"add": {"path": "a", "partitionValues": "x"}}, {"remove": {"path": None}},
    {"add": {"path": "a", "partitionValues": {"p": 1}}}, {"add": {"path": "a", "deletionVector": "x"}},
    {"add": {"path": "a", "deletionVector": {}}}, {"cdc": "x"}, {"cdc": {"path": ["x"]}}, {"add": [1]},
]  # fmt: skip


@pytest.mark.parametrize("action", BROKEN, ids=str)
def test_a_malformed_file_action_is_an_invalid_table(action: Action) -> None:
    log = started()
    log.commit(action)
    with pytest.raises(InvalidTable):
        changes(log)


@pytest.mark.parametrize("records", [None, -1, 10**18, "4", True])
def test_a_vector_that_changed_needs_the_number_of_rows(records: Any) -> None:
    """ "For any logical file where `deletionVector` is not `null`, the `numRecords` statistic *must* be present"."""
    log = started()
    action = log.data("a.parquet", ids(1, 2), stats={"numRecords": records} if records is not None else None)
    log.commit(action)
    log.commit(remove("a.parquet"), with_vector(action, 0))
    with pytest.raises(InvalidTable):
        changes(log)
