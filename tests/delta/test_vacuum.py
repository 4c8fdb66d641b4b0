"""Which files a vacuum takes, and which it leaves.  (PROTOCOL.md, "VACUUM Protocol Check", "Add File and Remove File")"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from esker.core import types as t
from esker.core.types import Field, Struct
from esker.delta.deletion_vectors import z85_encode
from esker.delta.last_vacuum import LAST_VACUUM, read_last_vacuum, write_last_vacuum
from esker.delta.vacuum import Mode, VacuumPlan, delete_files, plan_vacuum
from esker.errors import EskerError, InvalidRequest, InvalidTable, Unsupported
from esker.storage.local import LocalStorage
from esker.storage.port import FileInfo
from esker.testing.faults import Died, Dying, Wrapping
from tests.delta.clocked import DAY, Clocked
from tests.delta.tables import ID, Action, Log, add, inline, metadata, protocol, remove

WEEK = timedelta(days=7)
BOTH: list[Mode] = ["full", "lite"]


class Table(Log):
    """A table whose files and commits are as old as the test says."""

    def __init__(self) -> None:
        self.clock = Clocked()
        super().__init__(self.clock)

    @property
    def now(self) -> int:
        return self.clock.now

    def file(self, *paths: str) -> None:
        for path in paths:
            self.clock.put(path, path.encode())

    def remove(self, path: str, **fields: Any) -> None:
        self.commit(remove(path, **{"deletionTimestamp": self.now} | fields))

    def plan(self, mode: Mode = "full", retention: timedelta | None = None, **options: Any) -> VacuumPlan:
        return plan_vacuum(self.snapshot(), retention, self.now, mode, **options)

    def planned(self, mode: Mode = "full", **options: Any) -> list[str]:
        return [file.path for file in self.plan(mode, **options).files]

    def vacuumed(self, mode: Mode = "full") -> set[str]:
        """What is left."""
        delete_files(self.clock, self.plan(mode))
        return self.clock.paths()


@pytest.fixture
def table() -> Table:
    return Table()


def started(table: Table, *paths: str, schema: Struct = ID, **settings: Any) -> Table:
    """Created a hundred days ago with these files, of which some were lost and one was never committed."""
    table.file("orphan", *paths)
    table.start(schema, *(add(path) for path in paths), **settings)
    table.clock.pass_days(100)
    return table


def vector(name: int, prefix: str = "") -> tuple[str, Action]:
    """The path of a file of vectors, and a descriptor of one in it."""
    identity = UUID(int=name)
    path = f"{prefix}/deletion_vector_{identity}.bin" if prefix else f"deletion_vector_{identity}.bin"
    return path, {"storageType": "u", "pathOrInlineDv": prefix + z85_encode(identity.bytes), "offset": 1, "sizeInBytes": 34,
                  "cardinality": 2}  # fmt: skip


def test_what_the_log_never_named_goes_and_live_files_stay(table: Table) -> None:
    started(table, "a", "b")
    plan = table.plan()
    assert plan.files == (FileInfo("orphan", 6, table.now - 100 * DAY),)
    assert plan.metrics == {"numFilesToDelete": 1, "sizeOfDataToDelete": 6}
    assert table.vacuumed() == {"a", "b"}


def test_a_file_younger_than_the_retention_stays_whoever_wrote_it(table: Table) -> None:
    started(table)
    table.file("uncommitted")
    table.clock.pass_days(7)
    assert table.vacuumed() == {"uncommitted"}
    table.clock.now += 1
    assert table.vacuumed() == set()


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("days, is_left", [(1, True), (6.9, True), (7, True), (7.1, False), (30, False)])
def test_a_removed_file_stays_until_its_tombstone_expires(table: Table, mode: Mode, days: float, is_left: bool) -> None:
    """ "A tombstone expires when *current time* [...] exceeds the expiration threshold added to the `remove` action
    timestamp."  (Add File and Remove File)"""
    started(table, "a", "b").remove("a")
    table.clock.pass_days(days)
    assert ("a" in table.vacuumed(mode)) is is_left


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("days, is_left", [(6, True), (8, False)])
def test_a_tombstone_without_a_time_is_as_old_as_its_commit(
    table: Table, mode: Mode, days: float, is_left: bool
) -> None:
    started(table, "a")
    table.commit({"remove": {"path": "a", "dataChange": True}})
    table.clock.pass_days(days)
    assert ("a" in table.vacuumed(mode)) is is_left


@pytest.mark.parametrize("mode", BOTH)
def test_a_tombstone_that_claims_to_be_old_does_not_take_a_file_from_a_version_in_the_retention(
    table: Table, mode: Mode
) -> None:
    started(table, "a").remove("a", deletionTimestamp=1)
    table.clock.pass_days(6)
    assert "a" in table.vacuumed(mode)


@pytest.mark.parametrize("mode", BOTH)
def test_a_tombstone_that_claims_to_be_young_keeps_its_file(table: Table, mode: Mode) -> None:
    started(table, "a").remove("a", deletionTimestamp=table.now + 20 * DAY)
    table.clock.pass_days(20)
    assert "a" in table.vacuumed(mode)


@pytest.mark.parametrize("mode", BOTH)
def test_a_file_that_was_added_again_stays(table: Table, mode: Mode) -> None:
    started(table, "a").remove("a")
    table.commit(add("a"))
    table.clock.pass_days(30)
    assert "a" in table.vacuumed(mode)


def test_a_file_that_came_and_went_within_the_retention_stays(table: Table) -> None:
    started(table)
    table.file("a")  # long before it was committed
    table.clock.pass_days(10)
    table.commit(add("a"))
    table.clock.pass_days(1)
    table.remove("a", deletionTimestamp=1)
    assert table.vacuumed() == {"a"}


@pytest.mark.parametrize("days, left", [(6, {"a"}), (7, {"a"}), (7.1, set())])
def test_the_tombstones_of_a_checkpoint_count(table: Table, days: float, left: set[str]) -> None:
    started(table, "a", "b", "c")
    buried = [remove("a", deletionTimestamp=table.now), remove("b", deletionTimestamp=1), {"remove": {"path": "c"}}]
    table.checkpoint(5, [protocol(), metadata(), *buried])
    table.clock.delete(f"_delta_log/{0:020}.json")
    table.clock.pass_days(days)
    assert table.vacuumed() == left


def test_the_tombstones_of_sidecars_count(table: Table) -> None:
    started(table, "a", "b")
    from_sidecar = [remove("a", deletionTimestamp=table.now), remove("b")]
    table.checkpoint(0, from_sidecar, "x.parquet")
    table.clock.put("_delta_log/_sidecars/s.parquet", table.clock.read(f"_delta_log/{0:020}.x.parquet"))
    side = {"sidecar": {"path": "s.parquet", "sizeInBytes": 9999, "modificationTime": 1}}
    size = table.clock.head("_delta_log/_sidecars/s.parquet").size
    side["sidecar"]["sizeInBytes"] = size
    top = [protocol("v2Checkpoint"), metadata(), {"checkpointMetadata": {"version": 0}}, side]
    table.checkpoint(0, top, "checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet")
    table.clock.delete(f"_delta_log/{0:020}.json")
    table.clock.pass_days(6)
    assert table.vacuumed() == {"a"}


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("prefix", ["", "ab"])
def test_a_file_of_vectors_stays_as_long_as_one_of_them_is_needed(table: Table, mode: Mode, prefix: str) -> None:
    """ "a DV file contains one or more serialised DV"  (Deletion Vector Files)"""
    shared, dv = vector(1, prefix)
    table.file("a", "b", shared)
    table.start(ID, add("a", dv=dv), add("b", dv=dv | {"offset": 43}), features=["deletionVectors"])
    table.remove("a", dv=dv)
    table.clock.pass_days(30)
    assert table.vacuumed(mode) == {"b", shared}
    table.remove("b", dv=dv | {"offset": 43})
    table.clock.pass_days(6)
    assert table.vacuumed(mode) == {"b", shared}
    table.clock.pass_days(6)
    assert table.vacuumed(mode) == set()


@pytest.mark.parametrize("mode", BOTH)
def test_the_vector_that_another_replaced_goes_and_the_data_stays(table: Table, mode: Mode) -> None:
    (old, old_dv), (new, new_dv) = vector(1), vector(2)
    table.file("a", old, new)
    table.start(ID, add("a", dv=old_dv), features=["deletionVectors"])
    table.commit(remove("a", dv=old_dv, deletionTimestamp=table.now), add("a", dv=new_dv))
    assert table.vacuumed(mode) == {"a", old, new}
    table.clock.pass_days(8)
    assert table.vacuumed(mode) == {"a", new}


@pytest.mark.parametrize("mode", BOTH)
def test_a_vector_with_an_absolute_path_into_the_table_counts(table: Table, mode: Mode) -> None:
    (path, dv), (gone, gone_dv) = vector(1), vector(2)
    absolute = [
        d | {"storageType": "p", "pathOrInlineDv": f"{table.url}/{p}"} for p, d in ((path, dv), (gone, gone_dv))
    ]
    table.file("a", "b", path, gone)
    table.start(
        ID, add("a", dv=absolute[0]), add("b", dv=absolute[1]), add("c", dv=inline(1)), features=["deletionVectors"]
    )
    table.remove("b", dv=absolute[1])
    table.clock.pass_days(8)
    assert table.vacuumed(mode) == {"a", path}


def test_change_data_goes_by_its_age_and_by_that_of_its_commit(table: Table) -> None:
    """ "Change data files [...] represent the changes for the table version they are in."  (Change Data Files)"""
    started(table)
    table.file("_change_data/old", "_change_data/p=1/early")
    table.commit({"cdc": {"path": "_change_data/old", "partitionValues": {}, "size": 1, "dataChange": False}})
    table.clock.pass_days(8)
    table.commit({"cdc": {"path": "_change_data/p=1/early", "partitionValues": {}, "size": 1, "dataChange": False}})
    table.file("_change_data/young")
    assert table.vacuumed() == {"_change_data/p=1/early", "_change_data/young"}


HIDDEN = [
    "_SUCCESS", ".hidden", "_temporary/0/a", "x/_hidden/a", "x/.b", "_delta_index/a", "_changes/a", "x/_change_data/a",
    "_q=1/a", "p=1/_started_1",
]  # fmt: skip


@pytest.mark.parametrize("path", HIDDEN)
def test_hidden_files_are_not_the_tables_own_and_stay(table: Table, path: str) -> None:
    started(table, schema=Struct((Field("id", t.LONG), Field("p", t.LONG))), partition_by=["p"])
    table.file(path)
    table.clock.pass_days(8)
    assert table.vacuumed() == {path}


def test_a_partition_folder_may_begin_with_an_underscore(table: Table) -> None:
    started(table, schema=Struct((Field("id", t.LONG), Field("_p", t.LONG))), partition_by=["_p"])
    table.file("_p=1/a", "x/_p=2/b")
    table.clock.pass_days(8)
    assert table.vacuumed() == set()


@pytest.mark.parametrize("formats, left", [("iceberg", {"metadata/v1.metadata.json"}), ("", set())])
def test_the_metadata_that_uniform_keeps_for_iceberg_stays(table: Table, formats: str, left: set[str]) -> None:
    started(table, delta__universalFormat__enabledFormats=formats)
    table.file("metadata/v1.metadata.json")
    table.clock.pass_days(8)
    assert table.vacuumed() == left


def test_a_table_inside_the_table_is_left_alone(table: Table) -> None:
    started(table)
    table.file("inner/_delta_log/00000000000000000000.json", "inner/a", "inner/p=1/b", "inners", "other/a")
    table.clock.pass_days(8)
    assert table.vacuumed() == {"inner/_delta_log/00000000000000000000.json", "inner/a", "inner/p=1/b"}


@pytest.mark.parametrize("mode", BOTH)
def test_the_log_is_never_touched_whatever_it_says_of_itself(table: Table, mode: Mode) -> None:
    started(table)
    victims = [f"_delta_log/{0:020}.json", LAST_VACUUM, "_delta_log/_sidecars/x.parquet"]
    table.file(*victims[1:])
    for victim in victims:
        table.remove(victim)
    table.clock.pass_days(30)
    assert not [path for path in table.planned(mode) if path.startswith("_delta_log")]


NAMES = ["a b.parquet", "a%20b.parquet", "ü😀.parquet", "p=x%2Fy/f.parquet", "a+b&c.parquet", "a#b?c.parquet", "%zz"]


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("root", ["", "{}/"])
@pytest.mark.parametrize("name", NAMES)
def test_names_are_decoded_once(table: Table, mode: Mode, root: str, name: str) -> None:
    """ "The path is a URI as specified by RFC 2396 [...], which needs to be decoded to get the data file path." """
    encoded = name.replace("%", "%25").replace(" ", "%20").replace("#", "%23").replace("?", "%3F")
    table.file(name)
    table.start(ID, add(root.format(table.url) + encoded))
    table.clock.pass_days(30)
    assert table.vacuumed(mode) == {name}
    table.remove(root.format(table.url) + encoded)
    table.clock.pass_days(30)
    assert table.vacuumed(mode) == set()


def test_the_file_of_a_writer_that_forgot_to_encode_its_name_stays(table: Table) -> None:
    table.file("p=a%2Fb/f.parquet")
    table.start(ID, add("p=a%2Fb/f.parquet"))
    table.clock.pass_days(30)
    assert table.vacuumed() == {"p=a%2Fb/f.parquet"}


@pytest.mark.parametrize(
    "uri", ["s3a://clocked/table/p=1/a", "file:///link/to/table/p=1/a", "/elsewhere/p=1/a", "gs://b/p%3D1/a"]
)
def test_the_table_may_be_named_by_another_spelling_of_its_place(table: Table, uri: str) -> None:
    table.file("p=1/a", "p=2/a")
    table.start(ID, add(uri) if not uri.startswith("/") else add(f"memory://other{uri}"))
    table.clock.pass_days(30)
    assert table.vacuumed() == {"p=1/a"}


HOSTILE = ["../canary", "a/../../canary", "%2e%2e/canary", "..%2fcanary", "%2E%2E%2Fcanary", "..\\canary", "a/..\\..\\canary",
           "./../canary", "a//canary", "a/./canary", "canary%00", ""]  # fmt: skip
OUTSIDE = ["{}/canary", "file://{}/canary", "file:{}/canary", "{}/tab%6ce2/canary", "{}/table%2F..%2Fcanary"]


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("kind", ["remove", "cdc", "vector"])
@pytest.mark.parametrize("uri", HOSTILE + OUTSIDE)
def test_no_name_leads_a_vacuum_out_of_the_table(uri: str, kind: str, mode: Mode, tmp_path: Path) -> None:
    (tmp_path / "table2").mkdir()
    for canary in (tmp_path / "canary", tmp_path / "table2" / "canary"):
        canary.write_bytes(b"x")
    clock = Clocked(LocalStorage(str(tmp_path / "table")))
    log = Log(clock).start()
    path = uri.format(tmp_path)
    dv: Action = {"storageType": "p", "pathOrInlineDv": path, "offset": 1, "sizeInBytes": 1, "cardinality": 1}
    log.commit({"remove": remove(path), "cdc": {"cdc": {"path": path}}, "vector": remove("x", dv=dv)}[kind])
    clock.pass_days(30)
    try:
        plan = plan_vacuum(log.snapshot(), None, clock.now, mode)
        assert plan.files == ()
        delete_files(clock, plan)
    except InvalidTable:
        pass
    assert (tmp_path / "canary").exists()
    assert (tmp_path / "table2" / "canary").exists()


@pytest.mark.parametrize("path", HOSTILE)
def test_a_live_file_whose_name_makes_no_sense_stops_the_vacuum(table: Table, path: str) -> None:
    started(table).commit(add(path))
    with pytest.raises(InvalidTable):
        table.plan()


@pytest.mark.parametrize("body", [{"path": None}, {"path": "a", "deletionTimestamp": "x"}, {"path": "a", "deletionVector": 3},
                                  {"path": "a", "deletionVector": {"storageType": "z", "pathOrInlineDv": "x"}}])  # fmt: skip
def test_a_tombstone_that_makes_no_sense_stops_the_vacuum(table: Table, body: Action) -> None:
    started(table).commit({"remove": {"deletionTimestamp": table.now} | body})
    with pytest.raises(InvalidTable):
        table.plan()


def test_whatever_snapshot_it_is_asked_from_the_newest_version_counts(table: Table) -> None:
    started(table)
    first = table.snapshot()
    table.file("a")
    table.commit(add("a"))
    table.clock.pass_days(30)
    assert [f.path for f in plan_vacuum(first, None, table.now).files] == ["orphan"]
    table.commit(protocol("fromTheFuture"))
    with pytest.raises(Unsupported, match="fromTheFuture"):
        plan_vacuum(first, None, table.now)


def test_versions_that_only_an_old_checkpoint_rebuilds_are_kept_within_the_retention(table: Table) -> None:
    started(table)
    table.file("a", "b")
    table.clock.pass_days(20)
    table.commit(version=4)
    table.checkpoint(4, [protocol(), metadata(), add("a")])
    table.clock.pass_days(1)
    table.checkpoint(9, [protocol(), metadata(), add("b")])
    table.commit(version=9)
    table.clock.pass_days(1)
    table.commit()
    assert table.vacuumed() == {"a", "b"}  # version 4 can be rebuilt, though the commits up to 9 are gone
    table.clock.pass_days(8)
    assert table.vacuumed() == {"b"}


def test_in_commit_timestamps_tell_which_versions_are_in_the_retention(table: Table) -> None:
    """ "readers should use the `inCommitTimestamp` as the commit timestamp for operations like time travel" """
    stamp = table.now
    table.file("a", "b")
    settings = {"delta__enableInCommitTimestamps": "true"}
    table.commit({"commitInfo": {"inCommitTimestamp": stamp}}, protocol("inCommitTimestamp"), metadata(**settings), add("a"),
                 add("b"))  # fmt: skip
    table.commit({"commitInfo": {"inCommitTimestamp": stamp + 1}}, {"remove": {"path": "a"}})
    table.commit({"commitInfo": {"inCommitTimestamp": stamp + 90 * DAY}}, {"remove": {"path": "b"}})
    table.clock.pass_days(95)
    assert table.vacuumed() == {"b"}


def test_nothing_written_while_it_runs_is_taken_even_without_retention(table: Table) -> None:
    started(table)
    table.clock.when_listed = lambda: table.file("late")
    plan = table.plan(retention=timedelta(), allow_unsafe=True)
    table.file("later")
    delete_files(table.clock, plan)
    assert table.clock.paths() == {"late", "later"}


@pytest.mark.parametrize("mode", BOTH)
def test_a_file_that_is_brought_back_while_it_runs_stays(table: Table, mode: Mode) -> None:
    started(table, "a").remove("a")
    table.clock.pass_days(30)

    class Restoring(Wrapping):
        """Lets a rival restore the file once it was looked at."""

        def around(self, verb: str, path: str, call: Callable[[], Any]) -> Any:
            found = call()
            if (verb, path) in (("list", ""), ("head", "a")) and table.version == 1:
                table.commit(add("a"))
            return found

    log = Log(Restoring(table.clock))
    plan = plan_vacuum(log.snapshot(), None, table.now, mode)
    assert table.version == 2
    assert "a" not in [file.path for file in plan.files]


@pytest.mark.parametrize(
    "retention, configured, is_safe",
    [
        (timedelta(days=7), None, True), (timedelta(days=6, hours=23), None, False), (timedelta(), None, False),
        (timedelta(hours=2), "interval 1 hour", True), (timedelta(days=13), "interval 2 weeks", False),
    ],
)  # fmt: skip
def test_less_than_the_tables_own_retention_is_refused(
    table: Table, retention: timedelta, configured: str | None, is_safe: bool
) -> None:
    started(table, **({} if configured is None else {"delta__deletedFileRetentionDuration": configured}))
    if is_safe:
        assert table.planned(retention=retention) == ["orphan"]
        return
    with pytest.raises(InvalidRequest, match="shorter than the table's own"):
        table.plan(retention=retention)
    assert table.planned(retention=retention, allow_unsafe=True) == ["orphan"]


def test_without_a_retention_the_tables_own_holds(table: Table) -> None:
    started(table, delta__deletedFileRetentionDuration="interval 101 days")
    assert table.planned() == []
    table.clock.pass_days(2)
    assert table.planned() == ["orphan"]


def test_a_retention_that_makes_no_sense_is_refused(table: Table) -> None:
    started(table)
    with pytest.raises(InvalidRequest, match="below zero"):
        table.plan(retention=timedelta(days=-1), allow_unsafe=True)
    assert table.planned(retention=timedelta.max) == []
    table.commit(metadata(delta__deletedFileRetentionDuration="soon"))
    with pytest.raises(InvalidTable, match="deletedFileRetentionDuration"):
        table.plan()


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("features", [["fromTheFuture"], ["vacuumProtocolCheck", "fromTheFuture"], ["unheardOf"]])
def test_a_table_that_may_not_be_written_is_not_vacuumed(table: Table, mode: Mode, features: list[str]) -> None:
    """ "Before performing a VACUUM operation, writers must ensure that they check the table's write protocol."  (Writer
    Requirements for Vacuum Protocol Check)"""
    started(table).commit(protocol(*features))
    with pytest.raises(Unsupported, match=features[-1]):
        table.plan(mode)


def test_a_lite_vacuum_does_not_look_for_what_the_log_never_named(table: Table) -> None:
    class Blind(Wrapping):
        def around(self, verb: str, path: str, call: Callable[[], Any]) -> Any:
            assert (verb, path) != ("list", "")
            return call()

    started(table, "a").remove("a")
    table.clock.pass_days(30)
    plan = plan_vacuum(Log(Blind(table.clock)).snapshot(), None, table.now, "lite")
    assert [file.path for file in plan.files] == ["a"]
    assert table.vacuumed("lite") == {"orphan"}


def test_a_lite_vacuum_takes_the_change_data_of_expired_commits(table: Table) -> None:
    started(table)
    for name in ("old", "young"):
        table.file(f"_change_data/{name}")
        table.commit({"cdc": {"path": f"_change_data/{name}", "partitionValues": {}, "size": 1, "dataChange": False}})
        table.clock.pass_days(5)
    assert table.planned("lite") == ["_change_data/old"]


def test_a_lite_vacuum_starts_after_the_last_one(table: Table) -> None:
    started(table, "a", "b").remove("a")
    table.clock.pass_days(10)
    plan = table.plan("lite")
    assert plan.reach == 1
    write_last_vacuum(table.clock, plan.reach)
    assert table.planned("lite") == []
    table.remove("b")
    table.clock.pass_days(10)
    assert table.planned("lite") == ["b"]


@pytest.mark.parametrize("done, is_enough", [(None, False), (0, False), (1, True), (2, True), (7, True)])
def test_a_lite_vacuum_is_refused_where_the_log_does_not_reach_back_to_the_last_one(
    table: Table, done: int | None, is_enough: bool
) -> None:
    started(table, "a", "b").remove("a")
    table.remove("b")
    table.checkpoint(2, [protocol(), metadata()])
    for version in (0, 1):
        table.clock.delete(f"_delta_log/{version:020}.json")
    table.clock.pass_days(30)
    if done is not None:
        write_last_vacuum(table.clock, done)
    if is_enough:
        assert table.planned("lite") == (["b"] if done == 1 else [])
    else:
        with pytest.raises(InvalidRequest, match="full vacuum"):
            table.plan("lite")
    assert table.planned() == ["a", "b", "orphan"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"latestCommitVersionOutsideOfRetentionWindow":null}',
                                  '{"latestCommitVersionOutsideOfRetentionWindow":"3"}'])  # fmt: skip
def test_a_record_of_the_last_vacuum_that_says_nothing_is_none(table: Table, text: str) -> None:
    assert read_last_vacuum(table.clock) is None
    table.clock.put(LAST_VACUUM, text.encode())
    assert read_last_vacuum(table.clock) is None


def test_the_record_of_the_last_vacuum_is_written_as_spark_reads_it_and_never_goes_back(table: Table) -> None:
    write_last_vacuum(table.clock, 5)
    assert table.clock.read(LAST_VACUUM) == b'{"latestCommitVersionOutsideOfRetentionWindow":5}\n'
    write_last_vacuum(table.clock, 3)
    assert read_last_vacuum(table.clock) == 5


@pytest.mark.parametrize("age, reach", [(0, None), (7.5, 0), (9, 1)])
def test_a_plan_says_how_far_it_reaches(table: Table, age: float, reach: int | None) -> None:
    table.start()
    table.clock.pass_days(1)
    table.commit()
    table.clock.pass_days(age - 1 if age else 0)
    assert table.plan().reach == reach


def test_deleting_reports_progress_and_does_not_mind_files_that_vanished(table: Table) -> None:
    started(table)
    table.file(*(f"f{n}" for n in range(40)))
    table.clock.pass_days(30)
    plan = table.plan()
    table.clock.delete("f3")
    heard: list[int] = []
    assert delete_files(table.clock, plan, heard.append) == 41
    assert heard == list(range(1, 42))
    assert table.clock.paths() == set()


def test_files_that_cannot_be_deleted_are_named_once_and_the_others_are_gone(table: Table) -> None:
    class Stubborn(Wrapping):
        def around(self, verb: str, path: str, call: Callable[[], Any]) -> Any:
            if verb == "delete" and path.endswith("3"):
                raise EskerError("access denied", where=path)
            return call()

    started(table)
    table.file(*(f"f{n}" for n in range(20)))
    table.clock.pass_days(30)
    heard: list[int] = []
    with pytest.raises(EskerError, match="2 of 21 files") as refused:
        delete_files(Stubborn(table.clock), table.plan(), heard.append)
    assert [problem.split(":")[0] for problem in refused.value.problems] == ["f13", "f3"]
    assert len(heard) == 21
    assert table.clock.paths() == {"f3", "f13"}


@pytest.mark.parametrize("nth", [1, 5, 11])
def test_a_vacuum_that_dies_has_deleted_nothing_but_what_was_planned(table: Table, nth: int) -> None:
    started(table, "a")
    table.file(*(f"f{n}" for n in range(10)))
    table.clock.pass_days(30)
    table.commit(add("b"))
    table.file("b")
    with pytest.raises(Died):
        delete_files(Dying(table.clock, nth, verb="delete"), table.plan())
    assert {"a", "b"} <= table.clock.paths()
    assert table.vacuumed() == {"a", "b"}


LEFT_BEHIND = [
    ("7b0f/_temporary/0/_temporary/attempt_1/part-0.parquet", True),
    ("7b0f/_temporary/0/_temporary/attempt_1/.part-0.parquet.crc", True),
    ("_change_data/7b0f/_temporary/0/part-0.parquet", True),
    (".gone.parquet.crc", True),
    ("7b0f/.gone.parquet.crc", True),
    (".a.parquet.crc", False),  # its file is live
    (".esker-0123.tmp", True),
    ("7b0f/.esker-0123.tmp", True),
    ("_temporary/part-0.parquet", False),  # not below a folder of ours
    ("_other/_temporary/part-0.parquet", False),
    ("_other/.esker-0123.tmp", False),
    (".hidden", False),
]


@pytest.mark.parametrize("path, goes", LEFT_BEHIND)
def test_what_a_writer_that_died_left_behind_is_taken(path: str, goes: bool) -> None:
    log = Log().start()
    log.commit(log.data("a.parquet", pa.table({"id": [1]})))
    log.storage.put(path, b"x")
    plan = plan_vacuum(log.snapshot(), timedelta(), 1 << 50, allow_unsafe=True)
    assert [file.path for file in plan.files] == ([path] if goes else [])
