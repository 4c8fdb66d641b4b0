"""What is left of an Iceberg table when its storage dies, fails or is raced at any single call of any operation?

The table opens; it holds the rows from before the operation or those from after it, nothing in between, and those from after it
if the operation was acknowledged; and the next write works.
"""

from dataclasses import replace
from datetime import timedelta
from itertools import count
from threading import Thread

import pytest

from esker.arrow.read import read_table
from esker.arrow.write import ArrowRows
from esker.core.table import Creation, VacuumWish
from esker.core.write import WriteOptions
from esker.errors import CommitUnknown, Conflict, EskerError
from esker.iceberg import alter, cleaning, manifest_rewriting, refs
from esker.iceberg.metadata import TAG
from esker.iceberg.refs import Retention
from esker.iceberg.table import create_iceberg, open_iceberg
from esker.testing.faults import Counting, Died, Dying, Failing, LostReply, Rival, Wrapping
from tests.arrow_editor import ArrowEditor
from tests.iceberg.operations import (
    DEFINITION,
    EXPECTED,
    MODES,
    START,
    append,
    created,
    delete,
    empty,
    merge,
    opened,
    properties,
    rows,
    seen,
    table_with,
    update,
)


def expire(table):
    state, _ = cleaning.expire(table.state, VacuumWish(retention=timedelta(0)), lambda done, of: None)
    return table.in_state(state)


ACTS = {
    "append": (append, EXPECTED["append"][1], 2, MODES[0]),
    "overwrite": EXPECTED["overwrite"] + (3, MODES[0]),
    "delete by vector": EXPECTED["delete"] + (3, MODES[1]),
    "delete by positions": EXPECTED["delete"] + (2, MODES[1]),
    "merge": EXPECTED["merge"] + (2, MODES[0]),
    "add a column": (lambda t: t.in_state(alter.set_properties(t.state, {"x": "y"})), START, 2, MODES[0]),
    "tag": (lambda t: t.in_state(refs.create_ref(t.state, "x", TAG, None, Retention())), START, 2, MODES[0]),
    "expire": (expire, START, 2, MODES[0]),
    "rewrite manifests": (lambda t: t.in_state(manifest_rewriting.rewrite_manifests(t.state)), START, 3, MODES[0]),
}


def through(storage):
    return open_iceberg(storage, None, {}, {}, read_table)


@pytest.mark.parametrize("name", ACTS)
def test_a_crash_at_any_call_leaves_the_rows_of_before_or_of_after(name):
    act, expected, version, mode = ACTS[name]
    for nth in count(1):
        storage = table_with(properties(version, mode)).state.place.storage
        is_done = False
        try:
            act(through(Dying(storage, nth)))
            is_done = True
        except Died:
            pass
        found = seen(opened(storage))
        assert found == expected if is_done else found in (START, expected), nth
        table = opened(storage).append(ArrowRows(rows((77,), "z")), WriteOptions())
        assert seen(table) == {**found, 77: 77}
        if is_done:
            return


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["append", "delete by vector", "merge"])
def test_a_call_that_fails_is_told_and_never_breaks_the_table(name, after):
    act, expected, version, mode = ACTS[name]
    counting = Counting(table_with(properties(version, mode)).state.place.storage)
    act(through(counting))
    for nth in range(1, sum(counting.calls.values()) + 1):
        storage = table_with(properties(version, mode)).state.place.storage
        try:
            act(through(Failing(storage, nth, after=after)))
            possible = [expected]
        except CommitUnknown:
            possible = [START, expected]
        except EskerError:
            possible = [START]
        assert seen(opened(storage)) in possible, nth


def test_a_commit_whose_reply_was_lost_is_found_to_be_ours():
    storage = table_with(properties(2)).state.place.storage
    table = append(through(LostReply(storage, "metadata/v4.metadata.json")))
    assert seen(table) == EXPECTED["append"][1]
    assert len(opened(storage).state.metadata.snapshots) == 3


def test_a_table_that_was_created_when_its_writer_was_interrupted_has_all_its_files():
    class Interrupted(Wrapping):
        def around(self, verb, path, call):
            found = call()
            if (verb, path) == ("put_if_absent", "metadata/v1.metadata.json"):
                raise KeyboardInterrupt
            return found

    storage = empty()
    definition = replace(DEFINITION, properties=properties(2))
    with pytest.raises(KeyboardInterrupt):
        create_iceberg(Interrupted(storage), Creation(definition, ArrowRows(rows((1, 2), "a"))), {}, read_table)
    assert seen(opened(storage)) == {1: 1, 2: 2}


@pytest.mark.parametrize(("version", "mode"), [(1, MODES[0]), (2, MODES[1]), (3, MODES[1])])
def test_an_append_that_lost_the_race_is_made_again_on_what_the_rival_left(version, mode):
    storage = table_with(properties(version, mode)).state.place.storage
    rival = Rival(storage, lambda: delete(opened(storage)), "metadata/v*.metadata.json", 1)
    table = append(through(rival))
    assert seen(table) == {**EXPECTED["delete"][1], 21: 21, 22: 22}
    manifests = [file.path for file in storage.list("metadata") if file.path.endswith("-m0.avro")]
    assert len(manifests) == len(set(manifests))


@pytest.mark.parametrize(("version", "mode"), [(2, MODES[0]), (3, MODES[0]), (3, MODES[1])])
@pytest.mark.parametrize("act", [delete, update, merge])
def test_rivals_that_change_the_same_rows_conflict_and_lose_nothing(act, version, mode):
    storage = table_with(properties(version, mode)).state.place.storage
    rival = Rival(storage, lambda: delete(opened(storage), "id = 4 OR id = 3"), "metadata/v*.metadata.json", 1)
    with pytest.raises(Conflict):
        act(through(rival))
    assert seen(opened(storage)) == {key: value for key, value in START.items() if key not in (3, 4)}


def test_a_delete_conflicts_with_rows_that_a_rival_added_unless_the_table_asks_for_less():
    for level, is_conflict in (("serializable", True), ("snapshot", False), ("serialisable", True)):
        storage = table_with(properties(2, **{"write.delete.isolation-level": level})).state.place.storage

        def act(storage=storage):
            opened(storage).append(ArrowRows(rows((2,), "z")), WriteOptions())

        table = through(Rival(storage, act, "metadata/v*.metadata.json", 1))
        if is_conflict:
            with pytest.raises(Conflict):
                delete(table)
        else:
            assert 2 in seen(delete(table))


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_a_rival_added_together_with_deletes_conflict_too(version):
    """Data and delete manifests of one writer have the same Avro schema. ("Commit Conflict Resolution and Retry")"""
    storage = table_with(properties(version, MODES[1])).state.place.storage
    table = through(Rival(storage, lambda: merge(opened(storage)), "metadata/v*.metadata.json", 1))
    with pytest.raises(Conflict):
        table.overwrite_where(ArrowRows(rows((51,), "z")), "id >= 50", WriteOptions(), ArrowEditor())
    assert seen(opened(storage)) == EXPECTED["merge"][1]


def test_every_row_of_many_writers_is_there_exactly_once():
    storage = empty()
    created(storage, properties(3))
    done = []

    def write(writer):
        for step in range(4):
            number = writer * 100 + step
            opened(storage).append(ArrowRows(rows((number,), f"p{writer}")), WriteOptions())
            done.append(number)

    writers = [Thread(target=write, args=(writer,)) for writer in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    table = opened(storage)
    assert seen(table) == {number: number for number in sorted(done)}
    assert len(done) == 16
    ids = read_table(table.plan(["_row_id"])).column(0).to_pylist()
    assert sorted(ids) == list(range(16))
