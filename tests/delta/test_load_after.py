"""Is the newest snapshot the same, whether it is loaded from nothing or from an older one?"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from esker.delta.snapshot import load, load_after
from esker.errors import InvalidTable
from esker.storage.port import FileInfo
from esker.testing.faults import Wrapping
from tests.delta.tables import Log, add, metadata, protocol

_CHANGES = {
    "rows": [[add("b")], [add("c")]],
    "the metadata, twice": [[metadata(owner="a")], [add("b")], [metadata(owner="b")]],
    "the protocol": [[protocol("deletionVectors", "appendOnly")], [add("b")]],
    "nothing": [],
}


@pytest.mark.parametrize("has_checkpoint", [False, True])
@pytest.mark.parametrize("commits", _CHANGES.values(), ids=_CHANGES)
def test_reading_on_is_reading_anew(commits, has_checkpoint):
    log = Log().start()
    log.commit(add("a"))
    base = log.snapshot()
    for actions in commits:
        log.commit(*actions)
    if has_checkpoint and log.version > 1:
        log.checkpoint(2, [protocol("deletionVectors"), metadata(owner="c"), add("a")])
        log.put("_last_checkpoint", {"version": 2, "size": 3})
    read_on, anew = load_after(base), load(base.place)
    assert (read_on.version, read_on.log, read_on.hint) == (anew.version, anew.log, anew.hint)
    assert (read_on.protocol, read_on.metadata) == (anew.protocol, anew.metadata)
    assert read_on.files.table == anew.files.table


def test_nothing_older_than_the_base_is_read():
    log = Log().start()
    log.commit(add("a"))
    base = log.snapshot()
    log.commit(add("b"))
    log.put(f"{0:020}.json", "broken")
    assert load_after(base).metadata == base.metadata


class Overlooking(Wrapping):
    """Lists a folder as if the commit of version 2 had come while it was listed."""

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        return (file for file in super().list(prefix, after) if not file.path.endswith("2.json"))


@pytest.mark.parametrize("checkpoint", [None, 1])
def test_a_commit_that_a_listing_overlooked_is_found(checkpoint):
    log = Log().start()
    for name in "abc":
        log.commit(add(name))
    if checkpoint is not None:
        log.checkpoint(checkpoint, [protocol(), metadata(), add("a")])
    place = log.snapshot().place
    found = load(replace(place, storage=Overlooking(place.storage)))
    assert (found.version, found.log) == (3, load(place).log)
    place.storage.delete(f"_delta_log/{2:020}.json")
    with pytest.raises(InvalidTable, match="the commits of version 2 are missing"):
        load(place)
