"""Commits that are written down once more as one file.  (PROTOCOL.md, "Log Compaction Files")"""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.delta.log import Compaction
from esker.delta.log_compaction import compacted, write_compaction
from esker.errors import InvalidRequest, InvalidTable, Unsupported
from tests.delta.committed import appended, created, reopened
from tests.delta.histories import FEATURES, STEPS, live_files, state
from tests.delta.tables import ID, Log, add, inline, metadata, protocol, remove


def test_the_example_of_the_protocol() -> None:
    """PROTOCOL.md, "Log Compaction Files": versions 4 to 6."""
    commits: list[list[dict[str, Any]]] = [
        [{"commitInfo": {}}, add("f2"), remove("f1")],
        [{"commitInfo": {}}, add("f3"), add("f4"), {"txn": {"appId": "app", "version": 4389}}],
        [{"commitInfo": {}}, remove("f3"), {"txn": {"appId": "app", "version": 4390}}],
    ]
    found = compacted(commits, "")
    expected = [add("f2"), add("f4"), remove("f1"), remove("f3"), {"txn": {"appId": "app", "version": 4390}}]
    assert sorted(map(orjson.dumps, found)) == sorted(map(orjson.dumps, expected))


CASES = [
    ("a file that comes back", [[remove("a")], [add("a")]], [add("a")]),
    ("a file with another vector", [[add("a")], [remove("a"), add("a", dv=inline(1))]], [remove("a"), add("a", dv=inline(1))]),
    ("one that says more", [[add("a")], [add("a", stats={"numRecords": 1})]], [add("a", stats={"numRecords": 1})]),
    ("a domain that went", [[{"domainMetadata": {"domain": "d", "configuration": "", "removed": True}}]],
     [{"domainMetadata": {"domain": "d", "configuration": "", "removed": True}}]),
    ("the latest metadata", [[protocol(), metadata(id="1")], [metadata(id="2")]], [protocol(), metadata(id="2")]),
    ("what is of one commit only", [[{"commitInfo": {}}, {"cdc": {"path": "x"}}, {"unheardOf": {"x": 1}}]], []),
]  # fmt: skip


@pytest.mark.parametrize("commits, expected", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_actions_of_a_range_are_reconciled_with_one_another(commits: Any, expected: list[dict[str, Any]]) -> None:
    """ "created by doing Action Reconciliation of the corresponding commits" """
    assert compacted(commits, "") == expected


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), min_size=2, max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=1, max_size=3),
)
def test_every_version_is_the_same_with_compactions_as_without(
    steps: list[tuple[Any, int]], ranges: list[tuple[int, int]]
) -> None:
    """ "The compaction replaces the corresponding commits during action reconciliation" """
    table = created(features=FEATURES, delta__checkpointInterval="100")
    for step, pick in steps:
        table = step(table, live_files(table), pick)
    before = [state(reopened(table, version)) for version in range(table.version + 1)]
    for first, length in ranges:
        if first + length <= table.version:
            write_compaction(table, first, first + length)
            assert any(isinstance(e, Compaction) for e in reopened(table, first + length).log.entries)
    assert [state(reopened(table, version)) for version in range(table.version + 1)] == before


@pytest.mark.parametrize("first, last", [(0, 0), (2, 1), (-1, 1), (1, 4), (3, 3)])
def test_a_range_that_is_none_is_refused(first: int, last: int) -> None:
    """ "`y` must be strictly greater than `x`"  (C5)"""
    table = appended(appended(appended(created(), "a"), "b"), "c")
    with pytest.raises(InvalidRequest, match="cannot be compacted"):
        write_compaction(table, first, last)


def test_commits_that_are_gone_cannot_be_compacted() -> None:
    table = appended(appended(created(), "a"), "b")
    table.place.storage.delete("_delta_log/00000000000000000001.json")
    with pytest.raises(InvalidRequest, match="no longer has the commit of version 1"):
        write_compaction(table, 0, 2)


def test_a_compaction_that_is_there_is_left_as_it_is() -> None:
    table = appended(appended(created(), "a"), "b")
    path = write_compaction(table, 1, 2).file.path
    table.place.storage.put(path, b"mine")
    write_compaction(table, 1, 2)
    assert table.place.storage.read(path) == b"mine"


def test_commits_of_a_table_that_cannot_be_written_are_not_compacted() -> None:
    log = Log().start(ID, features=["unheardOf"])
    log.commit(add("a"))
    with pytest.raises(Unsupported):
        write_compaction(log.snapshot(), 0, 1)


def test_a_file_action_without_a_path_is_an_invalid_table() -> None:
    with pytest.raises(InvalidTable, match="has no path"):
        compacted([[{"add": {"size": 1}}]], "")


def test_the_handle_compacts_its_log() -> None:
    log = Log().start(ID, add("a"))
    log.commit(add("b"))
    log.open().compact_log(0, 1)
    assert log.storage.head("_delta_log/00000000000000000000.00000000000000000001.compacted.json").size > 0
    assert log.paths() == ["a", "b"]
