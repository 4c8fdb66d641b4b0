"""Which files of a log make up a version: segments, gaps, checkpoints and the hint.  (PROTOCOL.md, "Delta Log Entries")"""

import hashlib
from collections.abc import Callable, Iterable

import pytest

from esker.delta.checkpoint import json_checksum, parse_last_checkpoint
from esker.delta.log import Commit, Compaction, segment, sort_out
from esker.errors import InvalidRequest, InvalidTable, NotFound
from esker.storage.port import FileInfo, Storage
from esker.testing.faults import Counting, T, Wrapping
from tests.delta.tables import ID, Log, add, lines, metadata, protocol, remove

WHERE = "memory://t"


def listed(names: Iterable[str]) -> list[FileInfo]:
    return [FileInfo(f"_delta_log/{name}", 1, 1) for name in names]


def commit(version: int) -> str:
    return f"{version:020}.json"


def classic(version: int) -> str:
    return f"{version:020}.checkpoint.parquet"


def part(version: int, number: int, of: int) -> str:
    return f"{version:020}.checkpoint.{number:010}.{of:010}.parquet"


def compaction(first: int, last: int) -> str:
    return f"{first:020}.{last:020}.compacted.json"


def read(names: Iterable[str], at: int | None = None) -> tuple[int | None, list[int | tuple[int, int]]]:
    """The checkpoint's version, and the versions or ranges of the entries."""
    found = segment(sort_out(listed(names)), at, WHERE)
    entries = [e.version if isinstance(e, Commit) else (e.first, e.last) for e in found.entries]
    return found.checkpoint and found.checkpoint.version, entries


C = [commit(v) for v in range(12)]
SEGMENTS = [
    ("commits alone", C[:3], None, (None, [0, 1, 2])),
    ("an older version", C[:3], 1, (None, [0, 1])),
    ("a checkpoint and what follows", [*C[:5], classic(2)], None, (2, [3, 4])),
    ("a checkpoint without older commits", [*C[3:5], classic(2)], None, (2, [3, 4])),
    ("a checkpoint alone", [classic(2)], None, (2, [])),
    ("the newest checkpoint", [*C[:8], classic(2), classic(5)], None, (5, [6, 7])),
    ("not a checkpoint after the version asked for", [*C[:8], classic(2), classic(5)], 4, (2, [3, 4])),
    ("the checkpoint of the version itself", [*C[:8], classic(5)], 5, (5, [])),
    ("all parts of a checkpoint", [*C[:4], part(2, 1, 2), part(2, 2, 2)], None, (2, [3])),
    ("no checkpoint that lacks a part", [*C[:4], part(2, 1, 2)], None, (None, [0, 1, 2, 3])),
    ("no checkpoint of parts from two", [*C[:4], part(2, 1, 2), part(2, 2, 3)], None, (None, [0, 1, 2, 3])),
    ("no checkpoint with a part too many", [*C[:2], part(1, 1, 1), part(1, 2, 1)], None, (None, [0, 1])),
    ("no checkpoint that counts from zero", [*C[:2], part(1, 0, 2), part(1, 1, 2)], None, (None, [0, 1])),
    ("no checkpoint of ten thousand million parts", [*C[:2], part(1, 1, 9_999_999_999)], None, (None, [0, 1])),
    ("a whole checkpoint beside one that is not", [*C[:3], part(2, 1, 2), part(1, 1, 1)], None, (1, [2])),
    ("a checkpoint named by a UUID", [*C[:3], f"{1:020}.checkpoint.80a083e8-7026.json"], None, (1, [2])),
    ("a compaction in place of commits", [*C[:6], compaction(1, 3)], None, (None, [0, (1, 3), 4, 5])),
    ("the widest compaction", [*C[:6], compaction(1, 3), compaction(1, 4)], None, (None, [0, (1, 4), 5])),
    ("no compaction past the version", [*C[:6], compaction(1, 4)], 3, (None, [0, 1, 2, 3])),
    ("no compaction from before the checkpoint", [*C[:6], compaction(1, 4), classic(2)], None, (2, [3, 4, 5])),
    ("no compaction of one commit", [*C[:3], compaction(1, 1)], None, (None, [0, 1, 2])),
    ("no compaction that runs backwards", [*C[:3], compaction(2, 1)], None, (None, [0, 1, 2])),
    ("names that mean nothing passed over", [*C[:2], "x.json", "0.json", f"{5:020}.json.tmp", f"{7:019}.json"], None,
     (None, [0, 1])),
]  # fmt: skip


@pytest.mark.parametrize("names, at, expected", [case[1:] for case in SEGMENTS], ids=[case[0] for case in SEGMENTS])
def test_a_version_is_read_from_the_newest_whole_checkpoint_and_the_commits_after_it(
    names: list[str], at: int | None, expected: tuple[int | None, list[int]]
) -> None:
    """ "readers must ignore multi-part checkpoints with missing parts"; "the checkpoint used must not be newer than the time
    travel version".  (PROTOCOL.md, "Checkpoints"); `y` > `x`  ("Log Compaction Files", C5)"""
    assert read(names, at) == expected


REFUSED = [
    ("an empty log", [], None, NotFound),
    ("only files that mean nothing", ["x.json"], None, NotFound),
    ("a gap", [C[0], C[2]], None, InvalidTable),
    ("a gap after a checkpoint", [classic(2), C[4]], None, InvalidTable),
    ("no start", C[1:3], None, InvalidTable),
    ("a version past the newest", C[:3], 3, InvalidRequest),
    ("a version below zero", C[:3], -1, InvalidRequest),
    ("a version before the oldest kept", [*C[5:8], classic(4)], 2, InvalidRequest),
    ("a version between a checkpoint that is gone and one that is kept", [*C[5:8], classic(5)], 4, InvalidRequest),
    ("a name that claims an absurd version", [*C[:2], "9" * 20 + ".json"], None, InvalidTable),
    ("an absurd version asked for", C[:2], 10**25, InvalidRequest),
]


@pytest.mark.parametrize("names, at, error", [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_version_that_the_files_do_not_make_up_is_refused(names: list[str], at: int | None, error: type[Exception]) -> None:
    """ "Delta files are the unit of atomicity", numbered without gaps.  (PROTOCOL.md, "Delta Log Entries")"""
    with pytest.raises(error):
        read(names, at)


def test_an_older_version_in_front_of_a_gap_can_still_be_read() -> None:
    assert read([C[0], C[1], C[3]], 1) == (None, [0, 1])


def test_a_gap_is_named_by_its_first_versions() -> None:
    with pytest.raises(InvalidTable, match=r"1, 2, 3, 4, 5, \.\.\."):
        read([C[0], C[9]])


def test_a_compaction_is_the_commits_it_stands_for() -> None:
    """ "The compaction replaces the corresponding commits during action reconciliation"  (Log Compaction Files)"""
    log = Log().start(ID, add("a"))
    log.commit(add("b"))
    log.commit(remove("a"), add("c"))
    log.put(f"{1:020}.{2:020}.compacted.json", lines([add("b"), add("c"), remove("a")]))
    assert any(isinstance(e, Compaction) for e in log.snapshot().log.entries)
    assert log.paths() == ["b", "c"]
    assert log.paths(1) == ["a", "b"]


def checkpointed() -> Log:
    """Four versions with a checkpoint at 2 that says something of its own, so that one sees whether it was read."""
    log = Log().start()
    for name in "abc":
        log.commit(add(name))
    log.checkpoint(2, [protocol(), metadata(), add("from-checkpoint")])
    return log


HINTS = [
    ("missing", None, None),
    ("right", {"version": 2, "size": 3}, None),
    ("stale", {"version": 1, "size": 3}, "no complete checkpoint"),
    ("past the end", {"version": 99, "size": 3}, "no complete checkpoint"),
    ("absurd", {"version": 10**18, "size": 3}, "no complete checkpoint"),
    ("negative", {"version": -1}, "names no version"),
    ("a text", {"version": "2"}, "names no version"),
    ("not an object", b"[2]", "names no version"),
    ("cut off", b'{"version":', "not JSON"),
    ("not UTF-8", b'{"version":2,"x":"\xff"}', "not JSON"),
    ("empty", b"", "not JSON"),
    ("with its checksum", {"version": 2, "size": 3, "checksum": json_checksum({"version": 2, "size": 3})}, None),
    ("with another checksum", {"version": 2, "size": 3, "checksum": "0" * 32}, "checksum"),
]


@pytest.mark.parametrize("hint, finding", [case[1:] for case in HINTS], ids=[case[0] for case in HINTS])
def test_the_hint_changes_nothing_but_what_is_reported(hint: bytes | None, finding: str | None) -> None:
    """ "readers are encouraged to validate the checksum, if present"  (PROTOCOL.md, "Last Checkpoint File Schema")"""
    log = checkpointed()
    if hint is not None:
        log.put("_last_checkpoint", hint)
    assert log.paths() == ["c", "from-checkpoint"]
    findings = log.open().describe().findings
    assert any(finding in f for f in findings) if finding else not findings


def test_a_newer_checkpoint_than_the_hint_names_is_used() -> None:
    log = checkpointed()
    log.put("_last_checkpoint", {"version": 2, "size": 3})
    log.checkpoint(3, [protocol(), metadata(), add("newer")])
    assert log.paths() == ["newer"]


class Reads(Wrapping):
    """Remembers what was read."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.read_paths: set[str] = set()

    def around(self, verb: str, path: str, call: Callable[[], T]) -> T:
        if verb == "read":
            self.read_paths.add(path)
        return call()


def test_a_true_hint_saves_reading_the_older_log() -> None:
    log = checkpointed()
    log.put("_last_checkpoint", {"version": 2, "size": 3})
    log.storage = Reads(log.storage)
    log.paths()
    assert log.storage.read_paths.isdisjoint(f"_delta_log/{v:020}.json" for v in (0, 1, 2))


def test_the_json_checksum_is_the_one_of_the_specification() -> None:
    """PROTOCOL.md, "JSON checksum": the test sample."""
    sample = {"k0": "'v 0'", "checksum": "adsaskfljadfkjadfkj",
              "k1": {"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}  # fmt: skip
    assert json_checksum(sample) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


def test_the_json_checksum_spells_octets_as_the_specification_does() -> None:
    """ "All octets except a-z / A-Z / 0-9 / "-" / "." / "_" / "~" are reserved"  (How to URL encode keys and string values)"""


    canonical = '"a%20~%3E%C3%A9"=null,"b"="https%3A%2F%2Fdelta.io","c"=true'
    document = {"b": "https://delta.io", "c": True, "a ~>é": None}
    assert json_checksum(document) == hashlib.md5(canonical.encode()).hexdigest()


def test_a_hint_with_a_right_checksum_is_taken() -> None:
    assert parse_last_checkpoint(b'{"version": 3, "size": 1}').version == 3


def test_staged_commits_are_not_part_of_the_log() -> None:
    """ "Existence proves nothing; only the catalog knows which staged file is ratified."  (Catalog-managed tables)"""
    log = Log().start()
    log.put(f"_staged_commits/{1:020}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json", lines([add("staged")]))
    assert log.snapshot().version == 0


def test_protocol_and_metadata_are_found_without_reading_the_list_of_files() -> None:
    log = Log().start()
    for i in range(20):
        log.commit(add(f"f{i}"))
    log.commit(protocol(), metadata())
    log.storage = Counting(log.storage)
    assert log.snapshot().version == 21
    assert log.storage.calls["read"] <= 2
