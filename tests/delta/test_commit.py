"""How does a version come about where the store is slow to say, or says nothing?  (PROTOCOL.md, "Creation of New Log Entries")"""

from collections.abc import Callable

import pytest

from esker.delta import commit as commits
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.errors import AlreadyExists, CommitUnknown, Conflict, EskerError, Unsupported
from esker.storage.port import Storage
from esker.testing.faults import Counting, Failing, LostReply, Rival, Wrapping
from tests.delta.operations import Act, append, opened, overwrite, overwrite_where, seen, table_with, unnamed

LOG = "_delta_log/*.json"


def on(storage: Storage) -> DeltaTable:
    return DeltaTable(load(Place(storage)))


def ids(storage: Storage) -> list[int]:
    return [dict(row)["id"] for row in seen(opened(storage))]


def test_a_commit_whose_reply_was_lost_is_found_in_the_log() -> None:
    storage = table_with({})
    assert append("a", 41)(on(LostReply(storage, LOG))).version == 3
    assert ids(storage).count(41) == 1


class Repeating(Wrapping):
    """A client that repeats a request whose reply was lost, and so finds its own file."""

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.put_if_absent(path, data, durable=durable)
        if path.endswith(".json"):
            raise AlreadyExists("the file is already there", where=path)


def test_a_request_that_the_client_repeated_by_itself_is_no_conflict() -> None:
    storage = table_with({})
    assert append("a", 41)(on(Repeating(storage))).version == 3
    assert ids(storage).count(41) == 1


class Blind(Repeating):
    """And then cannot read what is there."""

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        if path.endswith("3.json"):
            raise EskerError("the connection broke", where=path)
        return self.inner.read(path, start, end)


def test_where_nobody_can_tell_whose_the_version_is_that_is_said_and_nothing_is_cleared_up() -> None:
    storage = table_with({})
    with pytest.raises(CommitUnknown, match="txnId") as unknown:
        append("a", 41)(on(Blind(storage)))
    transaction = str(unknown.value).split("txnId ")[1].split(" ")[0]
    assert transaction.encode() in storage.read(commits.commit_path(3))
    assert ids(storage).count(41) == 1


def test_a_commit_that_never_arrived_may_yet_arrive() -> None:
    storage = table_with({})
    with pytest.raises(CommitUnknown):
        append("a", 41)(on(Failing(storage, 1, verb="put_if_absent", matching=LOG)))
    assert opened(storage).version == 2


class Refusing(Wrapping):
    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        raise Unsupported("this file system has no hard links", where=path)


def test_a_store_that_cannot_create_files_safely_is_named() -> None:
    with pytest.raises(Unsupported, match="hard links"):
        append("a", 41)(on(Refusing(table_with({}))))


def test_a_version_stands_although_the_store_fails_right_after_it() -> None:
    storage = table_with({})
    done = append("a", 41)(on(Failing(storage, 1, verb="head", matching=commits.commit_path(3))))
    assert seen(done) == seen(opened(storage))
    assert append("a", 42)(done).version == 4


def test_a_handle_whose_next_commits_were_cleaned_up_does_not_take_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = table_with({})
    old = opened(storage)
    append("a", 42)(append("a", 41)(old))
    cut_off_before(storage, opened(storage))
    an_hour_later = commits.now() + 3_600_000
    monkeypatch.setattr(commits, "now", lambda: an_hour_later)
    with pytest.raises(Conflict, match="the commit of version 3 is gone"):
        append("a", 43)(old)
    assert ids(storage)[-2:] == [41, 42]
    assert append("a", 43)(opened(storage)).version == 5


def cut_off_before(storage: Storage, table: DeltaTable) -> None:
    """Clean up the log as if it were old."""
    table.checkpoint()
    for file in list(storage.list("_delta_log")):
        if file.path < f"_delta_log/{table.version:020}.":
            storage.delete(file.path)


def test_who_loses_every_race_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "ATTEMPTS", 3)
    storage = table_with({})

    class Racing(Wrapping):
        def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
            append("b", 1)(opened(storage))
            self.inner.put_if_absent(path, data, durable=durable)

    with pytest.raises(Conflict, match="first 3 times"):
        append("a", 41)(on(Racing(storage)))
    assert opened(storage).version == 5
    assert 41 not in ids(storage)


@pytest.mark.parametrize("again", [append("a", 41, transaction=("app", 7)), append("a", 41, transaction=("app", 6))])
def test_what_was_written_under_a_number_is_not_written_again(again: Callable[[DeltaTable], DeltaTable]) -> None:
    """"delta transaction identifiers [...] idempotent": a `txn` with this version or a later one says it was done."""
    storage = table_with({})
    append("a", 41, transaction=("app", 7))(opened(storage))
    assert again(opened(storage)).version == 3


WRITES_UNDER_A_NUMBER = {
    "append": append("a", 41, transaction=("app", 7)),
    "overwrite": overwrite("a", 41, transaction=("app", 7)),
    "overwrite partitions": overwrite("a", 41, is_dynamic=True, transaction=("app", 7)),
    "overwrite where": overwrite_where("p = 'a'", "a", 41, transaction=("app", 7)),
}


@pytest.mark.parametrize("write", WRITES_UNDER_A_NUMBER.values(), ids=WRITES_UNDER_A_NUMBER)
def test_two_who_write_under_the_same_number_at_once_write_once(write: Act) -> None:
    """The one who comes late finds it done, and the files that it wrote are gone."""
    storage = table_with({})
    late = Rival(storage, lambda: write(opened(storage)), LOG)
    done = write(on(late))
    assert done.version == opened(storage).version == 3
    assert seen(done) == seen(opened(storage))
    assert ids(storage).count(41) == 1
    assert not unnamed(storage)


@pytest.mark.parametrize("write", WRITES_UNDER_A_NUMBER.values(), ids=WRITES_UNDER_A_NUMBER)
def test_what_was_written_under_a_number_is_not_written_again_by_who_has_not_seen_it(write: Act) -> None:
    storage = table_with({})
    stale = opened(storage).version
    write(opened(storage))
    append("b", 42)(opened(storage))
    calls = Counting(storage)
    done = write(DeltaTable(load(Place(calls), stale)))
    assert done.version == 4
    assert not calls.calls.keys() & {"put", "put_if_absent"}
    assert ids(storage).count(41) == 1


def test_another_number_of_the_same_application_is_a_conflict() -> None:
    """What comes between may be what the writer goes on from."""
    storage = table_with({})
    late = Rival(storage, lambda: append("a", 41, transaction=("app", 6))(opened(storage)), LOG)
    with pytest.raises(Conflict, match="recorded progress of the same application: app"):
        append("a", 42, transaction=("app", 7))(on(late))
    assert 42 not in ids(storage)


@pytest.mark.parametrize("write", WRITES_UNDER_A_NUMBER.values(), ids=WRITES_UNDER_A_NUMBER)
def test_an_earlier_number_that_a_handle_has_not_seen_is_no_conflict(write: Act) -> None:
    """ "atomic recording of progress": what counts is how far the application had come when it was asked.  (Transaction Identifiers)"""
    storage = table_with({"delta.isolationLevel": "WriteSerializable"})
    stale = opened(storage)
    append("b", 40, transaction=("app", 6))(opened(storage))
    assert write(stale).snapshot.txns["app"].version == 7
    assert {40, 41} <= {*ids(storage)}


def test_a_number_that_comes_after_the_question_is_a_conflict_on_a_stale_handle_too() -> None:
    storage = table_with({})
    stale = opened(storage).version
    append("b", 40, transaction=("app", 5))(opened(storage))
    late = Rival(storage, lambda: append("a", 41, transaction=("app", 6))(opened(storage)), LOG)
    with pytest.raises(Conflict, match=r"version 4 \(WRITE\) recorded progress of the same application: app") as refused:
        append("a", 42, transaction=("app", 7))(DeltaTable(load(Place(late), stale)))
    assert len(refused.value.problems) == 1


def test_the_handle_follows_its_own_commits_and_those_of_rivals_in_between() -> None:
    storage = table_with({})
    table = opened(storage)
    for number in range(3):
        append("b", 100 + number)(opened(storage))
        table = append("a", 200 + number)(table)
    assert table.version == 8
    assert seen(table) == seen(opened(storage))
