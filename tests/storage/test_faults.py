"""Do the unkind storages do what they threaten?"""

from collections.abc import Callable
from uuid import uuid4

import pytest

from esker.errors import AlreadyExists, EskerError
from esker.storage import Storage, open_storage
from esker.testing.faults import Counting, Died, Dying, Failing, LostReply, Rival, Stalling


@pytest.fixture
def inner() -> Storage:
    return open_storage(f"memory://{uuid4()}")


def test_a_rival_acts_once_right_before_the_nth_matching_create(inner: Storage) -> None:
    storage = Rival(inner, lambda: inner.put("log/1.json", b"rival"), matching="log/*.json", nth=2)
    storage.put_if_absent("log/0.json", b"ours")
    storage.put_if_absent("log/0.crc", b"ours")
    assert not storage.acted
    with pytest.raises(AlreadyExists):
        storage.put_if_absent("log/1.json", b"ours")
    assert storage.acted
    storage.put_if_absent("log/2.json", b"ours")
    assert (inner.read("log/1.json"), inner.read("log/2.json")) == (b"rival", b"ours")


def test_a_lost_reply_fails_although_the_file_was_written(inner: Storage) -> None:
    storage = LostReply(inner, matching="log/*")
    storage.put_if_absent("data", b"x")
    with pytest.raises(EskerError) as lost:
        storage.put_if_absent("log/0", b"ours")
    assert type(lost.value) is EskerError
    assert inner.read("log/0") == b"ours"
    storage.put_if_absent("log/1", b"ours")


def test_a_lost_reply_does_not_hide_that_another_was_first(inner: Storage) -> None:
    inner.put("log/0", b"rival")
    with pytest.raises(AlreadyExists):
        LostReply(inner).put_if_absent("log/0", b"ours")


@pytest.mark.parametrize("after", [False, True])
def test_a_failing_storage_fails_once_before_or_after_the_call(inner: Storage, after: bool) -> None:
    storage = Failing(inner, 2, after=after)
    storage.put("a", b"1")
    with pytest.raises(EskerError):
        storage.put("b", b"2")
    storage.put("c", b"3")
    assert storage.has_failed
    assert [file.path for file in inner.list()] == (["a", "b", "c"] if after else ["a", "c"])


def test_a_call_that_stalls_arrives_later_if_its_name_is_still_free(inner: Storage) -> None:
    for taken in (False, True):
        storage = Stalling(inner, 1, matching=f"{taken}/*")
        assert [*storage.list(f"{taken}")] == []
        with pytest.raises(EskerError):
            storage.put_if_absent(f"{taken}/a", b"late")
        assert storage.has_stalled
        assert [*inner.list(f"{taken}")] == []
        if taken:
            storage.put_if_absent(f"{taken}/a", b"rival")
        storage.arrive()
        assert inner.read(f"{taken}/a") == (b"rival" if taken else b"late")


STEPS: tuple[Callable[[Storage], object], ...] = (
    lambda storage: storage.put("a", b"1"),
    lambda storage: storage.put_if_absent("b", b"2"),
    lambda storage: storage.read("a"),
    lambda storage: storage.head("a"),
    lambda storage: [*storage.list()],
    lambda storage: storage.delete("a"),
)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("nth", range(1, len(STEPS) + 1))
def test_a_dying_storage_stops_at_the_nth_call_and_stays_dead(inner: Storage, nth: int, after: bool) -> None:
    storage, reference = Dying(inner, nth, after=after), open_storage(f"memory://{uuid4()}")
    for step in STEPS[: nth - 1]:
        step(storage)
    with pytest.raises(Died):
        STEPS[nth - 1](storage)
    for step in STEPS[: nth if after else nth - 1]:
        step(reference)
    assert storage.has_died
    assert [file.path for file in inner.list()] == [file.path for file in reference.list()]
    with pytest.raises(Died):
        storage.read("b")


def test_a_storage_that_dies_later_than_the_work_ends_lives(inner: Storage) -> None:
    storage = Dying(inner, len(STEPS) + 1)
    for step in STEPS:
        step(storage)
    assert not storage.has_died


def test_a_storage_can_die_at_a_given_verb_and_path(inner: Storage) -> None:
    storage = Dying(inner, 1, verb="put", matching="log/*")
    storage.put("data", b"")
    storage.put_if_absent("log/0", b"")
    with pytest.raises(Died):
        storage.put("log/1", b"")


def test_calls_are_counted_by_verb(inner: Storage) -> None:
    storage = Counting(inner)
    for step in (*STEPS, *STEPS[:1]):
        step(storage)
    assert storage.calls == {"put": 2, "put_if_absent": 1, "read": 1, "head": 1, "list": 1, "delete": 1}
    assert storage.url == inner.url
