"""Which parts of the log go, and that no version goes with them that was to stay.  (PROTOCOL.md, "Metadata Cleanup")"""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from time import sleep
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.delta.checkpoint_writer import write_checkpoint
from esker.delta.log_cleanup import clean_by_the_way, clean_log, expired
from esker.delta.log_compaction import write_compaction
from esker.delta.snapshot import Place, Snapshot, list_log, load
from esker.errors import EskerError, InvalidRequest
from esker.storage.port import FileInfo, Storage
from esker.testing.faults import Died, Dying, Wrapping
from tests.delta.clocked import DAY, Clocked
from tests.delta.committed import appended, created, reopened
from tests.delta.histories import FEATURES, STEPS, live_files, state
from tests.delta.tables import Log, add, metadata, protocol

MIDNIGHT = int(datetime(2024, 3, 4, tzinfo=UTC).timestamp() * 1000)
KEEP = {"delta__logRetentionDuration": "interval 3 days", "delta__checkpointInterval": "1000"}


def names(table: Snapshot) -> list[str]:
    return [file.path.removeprefix("_delta_log/") for file in table.place.storage.list("_delta_log")]


def history(clock: Clocked, days: list[float], checkpoints: tuple[int, ...], **settings: Any) -> Snapshot:
    """A table created at midnight, with a commit after each of these days, and checkpoints of these versions."""
    clock.now = MIDNIGHT
    table = created(clock, **{**KEEP, **settings})
    for day in days:
        clock.pass_days(day)
        table = appended(table, f"f{table.version}")
    for version in checkpoints:
        write_checkpoint(reopened(table, version), clock.now)
    return reopened(table)


def test_what_is_older_than_the_retention_goes_up_to_the_checkpoint_before_it() -> None:
    """ "We need to preserve the `cutOffCheckpoint` and all commits after it", and "the JSON commit *at* the checkpoint
    version" with its checksum (C20)."""
    clock = Clocked()
    table = history(clock, [1, 1, 1, 1, 1, 1], checkpoints=(1, 2, 5))
    # at day 6, history from day 3 on is kept; version 2 has the newest checkpoint that is not newer than version 3
    assert clean_log(table, clock.now) > 0
    kept = sorted(name for name in names(table) if not name.startswith("_"))
    assert kept == sorted(
        [*(f"{v:020}.{kind}" for v in range(2, 7) for kind in ("json", "crc")),
         f"{2:020}.checkpoint.parquet", f"{5:020}.checkpoint.parquet"]
    )  # fmt: skip
    assert [len(state(reopened(table, version))["adds"]) for version in range(2, 7)] == [2, 3, 4, 5, 6]
    assert clean_log(reopened(table), clock.now) == 0


@pytest.mark.parametrize("hours, oldest", [(0, 2), (23.9, 2), (24, 3)])
def test_history_is_cut_at_midnight_and_a_commit_at_that_moment_is_the_cut(hours: float, oldest: int) -> None:
    """ "Let's refer to midnight UTC of that day as `cutOffTimestamp` [...] a commit exactly at midnight is an acceptable
    cutoff" """
    clock = Clocked()
    table = history(clock, [1, 1, 1, 1, 1], checkpoints=(1, 2, 3, 4))
    clean_log(table, clock.now + int(hours * 3600_000))
    assert min(list_log(clock).commits) == oldest


def test_without_a_checkpoint_to_start_from_nothing_goes() -> None:
    """ "do nothing if no cut-off checkpoint exists"  (C20)"""
    clock = Clocked()
    table = history(clock, [1, 1, 1, 10], checkpoints=(4,))
    before = names(table)
    assert clean_log(table, clock.now) == 0
    assert names(table) == before


def test_a_multi_part_checkpoint_with_missing_parts_is_none_to_start_from() -> None:
    clock = Clocked()
    table = history(clock, [1, 1, 1, 10], checkpoints=(1,))
    part = f"_delta_log/{3:020}.checkpoint.{1:010}.{2:010}.parquet"
    clock.put(part, clock.read(f"_delta_log/{1:020}.checkpoint.parquet"))
    clean_log(table, clock.now)
    assert min(list_log(clock).commits) == 1
    assert reopened(table, 3).version == 3


def test_compactions_that_start_no_later_than_the_checkpoint_go() -> None:
    """ "Also delete all the log compaction files having startVersion <= `cutOffCheckpoint`'s version." """
    clock = Clocked()
    table = history(clock, [1] * 6, checkpoints=(2,))
    for first, last in ((0, 1), (1, 4), (2, 3), (3, 5)):
        write_compaction(table, first, last)
    clock.put(f"_delta_log/_staged_commits/{2:020}.x.json", b"")
    clock.put(f"_delta_log/_staged_commits/{3:020}.x.json", b"")
    clean_log(table, clock.now)
    assert [name for name in names(table) if "compacted" in name] == [f"{3:020}.{5:020}.compacted.json"]
    assert [name for name in names(table) if "staged" in name] == [f"_staged_commits/{3:020}.x.json"]


def test_files_that_mean_nothing_to_the_protocol_stay() -> None:
    oldest = 5
    told = ["_last_checkpoint", "x.json", f"{1:020}.txt", f"{1:019}.json", f"{1:020}.json.tmp", f".{1:020}.json", "sub/x.crc"]
    assert expired([FileInfo(f"_delta_log/{name}", 1, 0) for name in told], oldest) == []


def test_commits_go_before_their_checkpoints_and_the_oldest_first() -> None:
    """ "within a cleanup delete commits before their checkpoints"  (checkpointProtection)"""
    told = [f"{v:020}.{kind}" for v in (2, 1) for kind in ("checkpoint.parquet", "json", "crc", "checkpoint.u-u.json")]
    gone = [file.path for file in expired([FileInfo(f"_delta_log/{name}", 1, 0) for name in told], 3)]
    assert [path[11:] for path in gone[:2]] == [f"{1:020}.json", f"{2:020}.json"]
    assert all("checkpoint" in path for path in gone[4:])


def test_no_checkpoint_goes_while_a_commit_that_is_to_go_is_there() -> None:
    """The same, though many files are deleted at a time."""
    clock = Clocked(now=MIDNIGHT)
    table = history(clock, [1] * 40, checkpoints=(3, 30, 36))
    deleting = Deleting(clock)
    clean_log(load(Place(deleting)), clock.now)
    assert [kind for kind, _ in groupby(deleting.kinds)] == ["json", "crc", "checkpoint.parquet"]
    assert min(list_log(clock).commits) == 36
    assert reopened(table).version == 40


class Deleting(Wrapping):
    """Notes the kind of each file that is deleted, when its deletion begins and when it ends."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.kinds: list[str] = []

    def delete(self, path: str) -> None:
        self.kinds.append(path.partition(".")[2])
        sleep(0.001)
        self.inner.delete(path)
        self.kinds.append(path.partition(".")[2])


@pytest.mark.parametrize("protected, oldest", [(1, 2), (2, 2), (3, 0), (5, 0)])
def test_a_protected_checkpoint_goes_only_with_everything_below(protected: int, oldest: int) -> None:
    """ "history cleanup is allowed only if [...] one single cleanup removes everything below V"  (checkpointProtection)"""
    clock = Clocked()
    table = history(clock, [1] * 6, checkpoints=(1, 2), features=["checkpointProtection"],
                    delta__requireCheckpointProtectionBeforeVersion=str(protected))  # fmt: skip
    clean_log(table, clock.now)
    assert min(list_log(clock).commits) == oldest


def test_a_table_that_keeps_its_whole_log_is_left_alone() -> None:
    clock = Clocked()
    table = history(clock, [1] * 6, checkpoints=(1, 2), delta__enableExpiredLogCleanup="false")
    with pytest.raises(InvalidRequest, match="keeps its whole log"):
        clean_log(table, clock.now)
    assert clean_by_the_way(table, clock.now) == 0
    assert min(list_log(clock).commits) == 0


def test_commits_that_state_their_time_are_as_old_as_they_say() -> None:
    """ "Readers [...] should use the `inCommitTimestamp`": when files were copied says nothing.  (In-Commit Timestamps)"""
    log = Log(Clocked(now=MIDNIGHT))
    log.commit({"commitInfo": {"inCommitTimestamp": MIDNIGHT - 50 * DAY}}, protocol("inCommitTimestamp"),
               metadata(**KEEP, delta__enableInCommitTimestamps="true"))  # fmt: skip
    for days in (20, 10, 5):
        log.commit({"commitInfo": {"inCommitTimestamp": MIDNIGHT - days * DAY}}, add(f"f{days}"))
    write_checkpoint(log.snapshot(2), MIDNIGHT)
    clean_log(log.snapshot(), MIDNIGHT)
    assert min(list_log(log.storage).commits) == 2


def sidecars(table: Snapshot) -> list[str]:
    return [name for name in names(table) if name.startswith("_sidecars/")]


def test_sidecars_go_when_no_checkpoint_names_them_and_they_are_a_day_old() -> None:
    """ "preserve files that are less than a day old (as of midnight UTC), to not break in-progress checkpoints. Also preserve
    the referenced sidecar files" """
    clock = Clocked()
    clock.now = MIDNIGHT
    table = created(clock, features=["v2Checkpoint"], delta__checkpointPolicy="v2", **KEEP)
    for _ in range(6):
        clock.pass_days(1)
        table = appended(table, f"f{table.version}")
        write_checkpoint(table, clock.now)
    clock.put("_delta_log/_sidecars/orphan.parquet", b"x")
    assert len(sidecars(table)) == 7
    clean_log(table, clock.now + DAY // 2)
    # the checkpoint of version 3 is the oldest that stays
    assert (len(sidecars(table)), "_sidecars/orphan.parquet" in sidecars(table)) == (5, True)
    clean_log(table, clock.now + 2 * DAY)
    assert "_sidecars/orphan.parquet" not in sidecars(table)
    assert len(live_files(table)) == 6


def test_sidecars_stay_where_a_checkpoint_cannot_be_read() -> None:
    clock = Clocked()
    table = history(clock, [1, 1], checkpoints=())
    clock.put("_delta_log/_sidecars/needed.parquet", b"x")
    clock.put(f"_delta_log/{1:020}.checkpoint.u-u.json", b"{")
    with pytest.raises(EskerError):
        clean_log(table, clock.now + 9 * DAY)
    assert sidecars(table) == ["_sidecars/needed.parquet"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11), st.floats(0, 2)), min_size=3, max_size=10),
    st.sets(st.integers(0, 10), max_size=4),
    st.sampled_from(["classic", "v2"]),
    st.floats(0, 4),
    st.integers(1, 60),
)
def test_no_version_that_is_to_stay_becomes_unreadable_wherever_the_clean_up_stops(
    steps: list[tuple[Any, int, float]], checkpoints: set[int], policy: str, later: float, calls: int
) -> None:
    clock = Clocked(now=MIDNIGHT)
    table = created(clock, features=FEATURES, delta__checkpointPolicy=policy, **KEEP)
    times = [clock.now]
    for step, pick, days in steps:
        clock.pass_days(days)
        table = step(table, live_files(table), pick)
        times += [clock.now] * (table.version + 1 - len(times))
        if table.version in checkpoints:
            write_checkpoint(table, clock.now)
    clock.pass_days(later)
    before = [_visible(reopened(table, version)) for version in range(table.version + 1)]
    cut = (clock.now - 3 * DAY) // DAY * DAY
    first = max((version for version, time in enumerate(times) if time <= cut), default=0)
    _until_death(Dying(clock, calls), lambda storage: clean_log(load(Place(storage)), clock.now))
    assert [_visible(reopened(table, version)) for version in range(first, table.version + 1)] == before[first:]
    clean_log(reopened(table), clock.now)
    assert [_visible(reopened(table, version)) for version in range(first, table.version + 1)] == before[first:]
    bases = [version for version in checkpoints if version <= min(first, table.version)]
    assert min(list_log(clock).commits) == max(bases, default=0)


def _visible(table: Snapshot) -> dict[str, Any]:
    return {name: value for name, value in state(table).items() if name != "removes"}


def _until_death(storage: Dying, act: Callable[[Dying], object]) -> None:
    try:
        act(storage)
    except Died:
        assert storage.has_died


def test_a_commit_cleans_up_when_it_makes_a_checkpoint() -> None:
    clock = Clocked(now=MIDNIGHT - 40 * DAY)
    table = created(clock, delta__checkpointInterval="2")
    for _ in range(3):
        table = appended(table, f"f{table.version}")
    # the clock of commits is the machine's, and to it the files above are years old
    clock.now = 0
    for path in [file.path for file in clock.inner.list("_delta_log")]:
        clock.put(path, clock.read(path))
    clock.now = int(datetime.now(UTC).timestamp() * 1000)
    table = appended(table, "last")
    assert min(list_log(clock).commits) == 2
    assert len(live_files(table)) == 4


def test_the_handle_cleans_its_log_whatever_version_it_is_at() -> None:
    clock = Clocked()
    history(clock, [1] * 6, checkpoints=(2,))
    assert Log(clock).delta(1).clean_log() > 0
    # by the clock of the machine, all of it is long ago
    assert min(list_log(clock).commits) == 2
