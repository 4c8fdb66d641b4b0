"""Branches, tags, expiry, orphans and manifests.  (spec, "Snapshot Reference", "Snapshot Retention Policy", "Partition Evolution")"""

from dataclasses import replace
from datetime import date, datetime, timedelta
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

import esker
from esker.arrow.read import read_table
from esker.arrow.write import ArrowRows
from esker.check.model import Severity
from esker.core.ddl import parse_ddl
from esker.core.protocol_changes import Upgrade
from esker.core.schema_changes import AddColumn, ChangeType
from esker.core.table import Creation, TableDefinition, VacuumWish
from esker.core.types import LONG, TIMESTAMP_NTZ, Field, Struct
from esker.core.write import WriteOptions
from esker.errors import Conflict, InvalidRequest, NotFound
from esker.iceberg import alter, cleaning, manifest_rewriting, optimize, refs
from esker.iceberg.commit import Change, commit
from esker.iceberg.expiry import Expiry, expiry
from esker.iceberg.file_change import FileChange, live_files
from esker.iceberg.metadata import BRANCH, MAIN, TAG, Snapshot, SnapshotRef, StatisticsFile, TableMetadata
from esker.iceberg.metadata_json import write_metadata
from esker.iceberg.metadata_tables import differences
from esker.iceberg.puffin import puffin_file
from esker.iceberg.refs import Retention
from esker.iceberg.schema import Schema
from esker.iceberg.snapshot_writer import publish
from esker.iceberg.table import create_iceberg
from esker.iceberg.updates import AddSnapshot, RemoveRef, RemoveSnapshots, SetStatistics
from esker.testing.faults import Rival
from tests.arrow_editor import ArrowEditor
from tests.iceberg.operations import (
    EXPECTED,
    MODES,
    START,
    append,
    created,
    delete,
    empty,
    filled,
    opened,
    properties,
    rows,
    seen,
    table_with,
)

NONE = Retention()
UNSAFE = VacuumWish(timedelta(0), allow_unsafe=True)


def quiet(done, of):
    pass


def add(table, *ids):
    return table.append(ArrowRows(rows(ids, "a")), WriteOptions())


def on(table, ref):
    return table.in_state(table.state.at_ref(ref))


def files(table):
    return {file.path for file in table.state.place.storage.list("")}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_branch_is_written_apart_from_main_and_then_takes_it_along(version):
    table = table_with(properties(version))
    table = table.in_state(refs.create_ref(table.state, "audit", BRANCH, None, NONE))
    branch = append(on(table, "audit"))
    assert seen(branch) == {**START, 21: 21, 22: 22}
    assert seen(opened(table.state.place.storage)) == START
    moved = table.in_state(refs.fast_forward(branch.in_state(branch.state).state, MAIN, "audit"))
    assert seen(on(moved, MAIN)) == {**START, 21: 21, 22: 22}


def test_a_branch_that_is_not_ahead_cannot_be_moved_to():
    table = table_with(properties(2))
    table = table.in_state(refs.create_ref(table.state, "old", BRANCH, None, NONE))
    table = add(table, 91)
    with pytest.raises(InvalidRequest, match="not ahead"):
        refs.fast_forward(table.state, MAIN, "old")


def test_a_tag_names_a_snapshot_and_cannot_be_made_twice():
    table = table_with(properties(2))
    table = table.in_state(refs.create_ref(table.state, "then", TAG, None, NONE))
    table = add(table, 91)
    assert seen(on(table, "then")) == START
    with pytest.raises(InvalidRequest, match="there is a branch or tag"):
        refs.create_ref(table.state, "then", TAG, None, NONE)
    table = table.in_state(refs.drop_ref(table.state, "then"))
    assert set(table.state.metadata.refs) == {MAIN}


def test_a_tag_is_not_written_to():
    table = table_with(properties(2))
    table = table.in_state(refs.create_ref(table.state, "then", TAG, None, NONE))
    with pytest.raises(InvalidRequest, match="is a tag"):
        add(on(table, "then"), 91)


def test_position_deletes_of_a_table_that_was_upgraded_meanwhile_are_a_conflict():
    storage = table_with(properties(2, MODES[1])).state.place.storage
    rival = Rival(storage, lambda: opened(storage).upgrade(Upgrade(3)), "metadata/v*.metadata.json")
    with pytest.raises(Conflict, match="version 3"):
        delete(opened(rival))
    assert seen(opened(storage)) == START


def test_columns_that_a_rival_added_meanwhile_keep_rows_from_bringing_others():
    storage = table_with(properties(2)).state.place.storage
    rival = Rival(storage, lambda: opened(storage).change_columns([AddColumn(Field("x", LONG))], None), "metadata/v*.metadata.json")
    wider = rows((91,), "a").append_column("y", pa.array([1], pa.int64()))
    with pytest.raises(Conflict, match="another writer"):
        opened(rival).append(ArrowRows(wider), WriteOptions(merge_schema=True))
    assert seen(opened(storage)) == START
    assert opened(storage).schema.names == ("id", "v", "p", "x")


def test_main_cannot_be_dropped():
    with pytest.raises(InvalidRequest, match="main"):
        refs.drop_ref(table_with(properties(2)).state, MAIN)


def test_a_picked_append_is_made_again_where_main_has_moved_on():
    table = table_with(properties(3))
    table = table.in_state(refs.create_ref(table.state, "audit", BRANCH, None, NONE))
    picked = add(on(table, "audit"), 71)
    table = add(on(picked, MAIN), 72)
    table = table.in_state(refs.cherry_pick(table.state, picked.version))
    assert seen(table) == {**START, 71: 71, 72: 72}
    assert table.state.snapshot.summary["source-snapshot-id"] == str(picked.version)


def test_what_is_there_already_is_not_picked_again():
    """Its files would be live twice."""
    table = table_with(properties(3))
    table = table.in_state(refs.create_ref(table.state, "audit", BRANCH, None, NONE))
    picked = add(on(table, "audit"), 71)
    table = add(on(picked, MAIN), 72)
    once = table.in_state(refs.cherry_pick(table.state, picked.version))
    for snapshot_id in (picked.version, table.version, once.version):
        with pytest.raises(InvalidRequest, match="has the changes of the snapshot"):
            refs.cherry_pick(once.state, snapshot_id)
    with pytest.raises(InvalidRequest, match="already"):  # by a handle that does not know that it was picked
        refs.cherry_pick(table.state, picked.version)
    assert seen(opened(table.state.place.storage)) == {**START, 71: 71, 72: 72}


@pytest.mark.parametrize("has_moved_on", [False, True])
def test_what_was_staged_is_published_by_its_id_and_once(has_moved_on):
    """Write, audit, publish: a snapshot that no branch leads to, with a `wap.id`."""
    table = table_with(properties(2))
    table = table.in_state(refs.create_ref(table.state, "audit", BRANCH, None, NONE))
    staged = add(on(table, "audit"), 71).state.snapshot
    told = replace(staged, summary={**staged.summary, "wap.id": "w1"}, sequence_number=staged.sequence_number + 1)
    updates = (RemoveRef("audit"), RemoveSnapshots((staged.snapshot_id,)), AddSnapshot(told))
    table = table.in_state(commit(table.state, lambda base: Change(updates)))
    assert seen(table) == START
    if has_moved_on:
        table = add(on(table, MAIN), 72)
    expected = {**seen(table), 71: 71}
    with pytest.raises(InvalidRequest, match="0 snapshots"):
        refs.publish_staged(table.state, "w2")
    published = table.in_state(refs.publish_staged(table.state, "w1"))
    assert seen(published) == expected
    for state in (published.state, table.state):
        with pytest.raises((InvalidRequest, Conflict)):
            refs.publish_staged(state, "w1")
    assert seen(opened(table.state.place.storage)) == expected


def test_a_table_is_rolled_back_to_a_snapshot_of_its_own_history():
    table = filled(created(empty(), properties(2)))
    before = table.version
    table = add(table, 91).restore(before, None, False)
    assert table.version == before
    assert seen(table) == START
    with pytest.raises(InvalidRequest):
        refs.rollback(table.state, 1)


def test_expired_snapshots_take_only_files_that_nobody_else_has():
    table = delete(add(table_with(properties(2, MODES[1])), 91), "id < 5")
    kept = files(table)
    state, gone = cleaning.expire(table.state, VacuumWish(timedelta(0)), quiet)
    table = table.in_state(state)
    assert len(state.metadata.snapshots) == 1
    assert gone.files
    assert seen(opened(table.state.place.storage)) == {k: v for k, v in {**START, 91: 91}.items() if k > 4}
    assert files(table) - kept == {state.metadata_file}
    assert {path.removeprefix(f"{table.location}/") for path in gone.files} == kept - files(table)


def test_statistics_of_a_snapshot_are_kept_until_it_expires():
    """Table Statistics: "may be used by readers", and go with the snapshot that they are of."""
    table = table_with(properties(2))
    state, storage, path = table.state, table.state.place.storage, "metadata/stats.puffin"
    puffin = puffin_file([], "a test").data
    storage.put(path, puffin)
    told = StatisticsFile(state.version, f"{state.location}/{path}", len(puffin), len(puffin) - 4)
    table = table.in_state(commit(state, lambda base: Change((SetStatistics(told),))))
    table = add(table, 91).set_properties({"x": "y"})
    assert table.state.metadata.statistics == (told,)
    assert [f for f in esker.Table(table).check(deep=True) if f.severity is Severity.ERROR] == []
    state, _ = cleaning.expire(table.state, UNSAFE, quiet)
    assert state.metadata.statistics == ()
    assert path not in files(table)


def test_what_a_tag_or_branch_leads_to_never_expires_with_the_rest():
    table = table_with(properties(2))
    table = table.in_state(refs.create_ref(table.state, "then", TAG, None, NONE))
    table = table.overwrite(ArrowRows(rows((31,), "a")), WriteOptions(), is_dynamic=False)
    table = add(table, 32)
    state, _ = cleaning.expire(table.state, VacuumWish(timedelta(0)), quiet)
    assert seen(on(table.in_state(state), "then")) == START
    assert seen(table.in_state(state)) == {31: 31, 32: 32}


def test_a_snapshot_that_has_lost_files_expires_with_what_is_left_of_the_others():
    table = add(add(table_with(properties(2)), 91), 92)
    table = table.overwrite(ArrowRows(rows((31,), "a")), WriteOptions(), is_dynamic=False)
    lost = table.state.metadata.snapshots[1].manifest_list.removeprefix(f"{table.location}/")
    table.state.place.storage.delete(lost)
    state, gone = cleaning.expire(table.state, VacuumWish(timedelta(0)), quiet)
    assert len(state.metadata.snapshots) == 1
    assert seen(table.in_state(state)) == {31: 31}
    assert len([path for path in gone.files if path.endswith(".parquet")]) == 5
    assert [path for path in files(table) if path.endswith(".parquet")] == [
        path.removeprefix(f"{table.location}/") for path in state.files_of(state.manifests).data.column("file_path").to_pylist()
    ]


def test_a_dry_run_tells_and_does_nothing():
    table = add(table_with(properties(2)), 91)
    before = files(table)
    state, gone = cleaning.expire(table.state, VacuumWish(timedelta(0), is_dry_run=True), quiet)
    assert gone.files
    assert gone.is_dry_run
    assert files(table) == before
    assert len(state.metadata.snapshots) == 3
    done = cleaning.expire(table.state, VacuumWish(timedelta(0)), quiet)[1]
    assert (sorted(done.files), done.size) == (sorted(gone.files), gone.size)
    assert gone.size > 0


def history(ages, refs_=None, **asked):
    snapshots = tuple(
        Snapshot(i + 1, 1_000_000 - age, f"l{i}", parent_snapshot_id=i or None) for i, age in enumerate(ages)
    )
    known = refs_ or {MAIN: SnapshotRef(len(ages), BRANCH)}
    return TableMetadata(
        2, "memory://x/t", None, 0, 0, (Schema(Struct()),), 0, snapshots=snapshots, refs=known, properties=asked
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ages", "refs_", "asked", "gone"),
    [
        ([500, 300, 100], None, {"history.expire.max-snapshot-age-ms": "200"}, (1, 2)),
        ([500, 300, 100], None, {"history.expire.max-snapshot-age-ms": "0", "history.expire.min-snapshots-to-keep": "2"}, (1,)),
        ([500, 300, 100], {MAIN: SnapshotRef(3, BRANCH), "t": SnapshotRef(1, TAG)}, {"history.expire.max-snapshot-age-ms": "0"}, (2,)),
        ([500, 300, 100], {MAIN: SnapshotRef(3, BRANCH, min_snapshots_to_keep=3)}, {"history.expire.max-snapshot-age-ms": "0"}, ()),
        ([500, 300, 100], {MAIN: SnapshotRef(2, BRANCH)}, {"history.expire.max-snapshot-age-ms": "400"}, (1,)),
        ([500, 300, 100], {MAIN: SnapshotRef(2, BRANCH)}, {"history.expire.max-snapshot-age-ms": "50"}, (1, 3)),
    ],
)  # fmt: skip
def test_the_retention_policy_says_what_expires(ages, refs_, asked, gone):
    assert expiry(history(ages, refs_, **asked), 1_000_000).snapshot_ids == gone


def test_an_age_that_is_asked_for_leaves_a_branch_what_it_asks_for_itself():
    """("Snapshot Retention Policy", 4: the branch's own `max-snapshot-age-ms`, which defaults to the table's)"""
    own = SnapshotRef(3, BRANCH, max_snapshot_age_ms=10**6)
    ages = [500, 300, 100]
    assert expiry(history(ages, {MAIN: SnapshotRef(3, BRANCH)}), 1_000_000, max_age=0).snapshot_ids == (1, 2)
    assert expiry(history(ages, {MAIN: SnapshotRef(3, BRANCH), "audit": own}), 1_000_000, max_age=0).is_nothing


def test_a_reference_that_is_too_old_goes_and_main_stays():
    known = {MAIN: SnapshotRef(3, BRANCH, max_ref_age_ms=1), "t": SnapshotRef(1, TAG, max_ref_age_ms=100)}
    found = expiry(history([500, 300, 100], known), 1_000_000, max_age=0)
    assert found.refs == ("t",)
    assert found.snapshot_ids == (1, 2)


def test_orphans_are_deleted_and_nothing_that_the_table_names():
    table = delete(add(table_with(properties(3, MODES[1])), 91))
    storage = table.state.place.storage
    storage.put("data/lost.parquet", b"x")
    storage.put("metadata/lost.avro", b"x")
    told = cleaning.remove_orphans(table.state, replace(UNSAFE, is_dry_run=True), quiet)
    assert {path.rpartition("/")[2] for path in told.files} == {"lost.parquet", "lost.avro"}
    assert {"data/lost.parquet", "metadata/lost.avro"} <= files(table)
    cleaning.remove_orphans(table.state, UNSAFE, quiet)
    assert not {"data/lost.parquet", "metadata/lost.avro"} & files(table)
    assert seen(opened(storage)) == {k: v for k, v in {**START, 91: 91}.items() if k not in (2, 12)}


def test_young_files_are_no_orphans():
    table = table_with(properties(2))
    table.state.place.storage.put("data/lost.parquet", b"x")
    assert cleaning.remove_orphans(table.state, VacuumWish(), quiet).files == ()
    assert cleaning.remove_orphans(table.state, VacuumWish(timedelta(hours=1)), quiet).files == ()


def test_a_file_of_the_same_path_under_another_scheme_stops_the_search_for_orphans():
    table = table_with(properties(2))
    other = table.state.metadata.snapshots[0].manifest_list.replace("memory://", "s3a://")
    needed = cleaning._Needed(frozenset({other}), frozenset({cleaning._PLACE.sub("", other)}))
    with pytest.raises(InvalidRequest, match="another scheme"):
        cleaning._is_orphan(other.replace("s3a://", "memory://"), needed)


def test_manifests_are_rewritten_and_every_row_stays():
    table = table_with(properties(3))
    for i in range(5):
        table = add(table, 100 + i)
    state = manifest_rewriting.rewrite_manifests(table.state)
    assert len(state.manifests) == 1
    assert state.snapshot.operation == "replace"
    assert seen(table.in_state(state)) == {**START, **{100 + i: 100 + i for i in range(5)}}


def test_many_small_manifests_are_merged_by_appends():
    table = created(empty(), properties(2, **{"commit.manifest.min-count-to-merge": "4"}))
    for i in range(9):
        table = add(table, i)
    assert len(table.state.manifests) < 5
    assert seen(table) == {i: i for i in range(9)}


def test_deletes_that_concern_nothing_are_dropped():
    table = delete(table_with(properties(2, MODES[1])), "id = 2 OR id = 6")
    table = delete(table, "p = 'a'")
    state = optimize.remove_dangling_deletes(table.state)
    assert len(state.files.deletes) == 0
    assert seen(table.in_state(state)) == {k: v for k, v in START.items() if k > 10}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_partition_spec_evolves_and_old_files_stay_readable(version):
    table = table_with(properties(version))
    table = table.in_state(alter.change_partitioning(table.state, ["bucket(4, id)"], ["p"]))
    table = add(table, 61, 62, 63)
    assert seen(table) == {**START, 61: 61, 62: 62, 63: 63}
    fields = table.state.metadata.spec.fields
    assert [f.transform for f in fields] == (["void", "bucket[4]"] if version == 1 else ["bucket[4]"])
    again = alter.change_partitioning(table.state, ["p"], ["bucket(4, id)"])
    if version > 1:
        assert again.metadata.default_spec_id == 0


def test_a_field_that_version_1_dropped_leaves_its_id_to_nobody():
    """ "Partition Evolution": the field stays in the spec as `void`, whatever the table is upgraded to later."""
    table = table_with(properties(1))
    for add, drop in ((["bucket(4, id)"], ["p"]), (["p"], ["bucket(4, id)"]), (["bucket(4, id)"], ["p"])):
        table = table.in_state(alter.change_partitioning(table.state, add, drop))
    table = table.upgrade(Upgrade(2))
    table = append(table.in_state(alter.change_partitioning(table.state, ["p"], [])))
    fields = opened(table.state.place.storage).state.metadata.spec.fields
    assert len({f.field_id for f in fields}) == len(fields)
    assert seen(opened(table.state.place.storage)) == {**START, 21: 21, 22: 22}


def test_upgrades_go_up_and_never_down():
    table = table_with(properties(1))
    assert any("cannot be taken back" in line for line in alter.plan_upgrade(table.state, 3))
    table = table.upgrade(Upgrade(2)).upgrade(Upgrade(3))
    assert table.state.metadata.format_version == 3
    assert seen(append(table)) == {**START, 21: 21, 22: 22}
    with pytest.raises(InvalidRequest, match="cannot go back"):
        table.upgrade(Upgrade(2))


def test_old_metadata_files_are_deleted_where_the_table_asks_for_it():
    asked = {"write.metadata.previous-versions-max": "2", "write.metadata.delete-after-commit.enabled": "true"}
    table = created(empty(), properties(2, **asked))
    for i in range(5):
        table = add(table, i)
    left = sorted(path for path in files(table) if path.endswith(".metadata.json"))
    assert left == [f"metadata/v{n}.metadata.json" for n in (4, 5, 6)]
    assert seen(opened(table.state.place.storage)) == {i: i for i in range(5)}


def test_the_hint_is_only_a_hint():
    table = add(table_with(properties(2)), 91)
    storage = table.state.place.storage
    for text in (b"1", b"99", b"", b"\xff"):
        storage.put("metadata/version-hint.text", text)
        assert seen(opened(storage)) == {**START, 91: 91}
    storage.delete("metadata/version-hint.text")
    assert seen(opened(storage)) == {**START, 91: 91}


def test_the_handle_has_what_is_icebergs_own(tmp_path):
    table = esker.create(tmp_path / "t", "id bigint not null, name string", format="iceberg")
    table.append(rows((1, 2), "x").select(["id"]))
    table.iceberg.create_tag("first")
    table.iceberg.set_identifier_fields("id")
    table.iceberg.sort_by("name DESC")
    table.iceberg.change_partitioning(add=["bucket(2, id)"])
    table.upgrade(3)
    table.append(rows((3,), "x").select(["id"]))
    assert table.at(ref="first").to_arrow().num_rows == 2
    assert table.to_arrow().num_rows == 3
    with pytest.raises(InvalidRequest, match="not an Iceberg table"):
        esker.create(tmp_path / "d", "id bigint").iceberg  # noqa: B018


def test_a_delta_table_is_not_made_into_an_iceberg_table(tmp_path):
    esker.create(tmp_path / "d", "id bigint")
    with pytest.raises(InvalidRequest, match="delta"):
        esker.create(tmp_path / "d", "id bigint", format="iceberg")
    with pytest.raises(NotFound):
        esker.open(tmp_path / "nothing")


def test_orphans_of_less_than_a_day_are_looked_for_only_where_nobody_else_is_at_the_table(tmp_path):
    table = esker.create(tmp_path / "t", "id bigint", format="iceberg")
    (tmp_path / "t" / "metadata" / "lost.avro").write_bytes(b"x")
    with pytest.raises(InvalidRequest, match="have not committed yet"):
        table.iceberg.remove_orphans(timedelta(hours=1))
    assert len(table.iceberg.remove_orphans(timedelta(0), allow_unsafe=True).files) == 1


def test_files_that_may_be_those_of_another_table_are_not_deleted(tmp_path):
    """`gc.enabled=false` is what a snapshot of another table has."""
    table = esker.create(tmp_path / "t", "id bigint", format="iceberg", properties={"gc.enabled": "false"})
    for act in (table.iceberg.expire_snapshots, table.iceberg.remove_orphans, table.vacuum):
        with pytest.raises(InvalidRequest, match="another one too"):
            act()


@pytest.mark.parametrize(("spelled", "is_kept"), [("s3a://b/t", True), ("S3://b/t", True), ("s3://other/t", True), ("s3://b/u", False)])
def test_expiry_keeps_what_is_needed_under_another_scheme_or_host(monkeypatch, spelled, is_kept):
    table = table_with(properties(2))
    dead, kept = table.state.metadata.snapshots[:1], table.state.metadata.snapshots[1:]
    paths = {dead[0].snapshot_id: "s3://b/t/data/x.parquet", kept[0].snapshot_id: f"{spelled}/data/x.parquet"}
    monkeypatch.setattr(cleaning, "reached", lambda state, snapshots: {paths[s.snapshot_id] for s in snapshots})
    found = cleaning._only_in(table.state, Expiry((dead[0].snapshot_id,), ()))
    assert found == (set() if is_kept else {paths[dead[0].snapshot_id]})


@pytest.mark.parametrize("spelled", ["file:/{}", "file:///{}", "file://localhost/{}", "/{}"])
def test_one_scheme_in_several_spellings_is_one_place(tmp_path, spelled):
    folder = tmp_path / "t"
    table = esker.create(folder, rows((1,), "a"), format="iceberg")
    place = table.iceberg._state.place
    assert place.absolute(spelled.format(f"{folder}/data/x".lstrip("/"))) == f"{table.location}/data/x"


def test_a_table_without_a_uuid_gets_one_by_the_first_commit():
    """Optional in version 1, and required from 2 on. ("Table Metadata")"""
    table = table_with(properties(1))
    storage = table.state.place.storage
    storage.put(table.state.metadata_file, write_metadata(replace(table.state.metadata, table_uuid=None)))
    early, late = opened(storage), opened(storage)
    found = append(early).state.metadata.table_uuid
    assert str(UUID(found)) == found
    assert late.at(version=late.version).version == late.version
    upgraded = late.set_properties({"format-version": "2"})
    assert upgraded.state.metadata.table_uuid == found
    assert esker.Table(upgraded).check() == ()


def test_values_of_a_partition_go_along_when_their_column_is_promoted():
    """A date is a number of days, and a timestamp one of microseconds. ("Schema Evolution": promotion; "Manifests")"""
    definition = TableDefinition(parse_ddl("id bigint, d date"), ("d",), properties={"format-version": "3"})
    table = create_iceberg(empty(), Creation(definition), {}, read_table)
    for number in (1, 2):
        table = table.append(ArrowRows(pa.table({"id": [number], "d": [date(1960, 1, number)]})), WriteOptions())
    table = table.change_columns([ChangeType(("d",), TIMESTAMP_NTZ)], None)
    wanted = [{"id": 1, "d": datetime(1960, 1, 1)}, {"id": 2, "d": datetime(1960, 1, 2)}]
    table = table.in_state(manifest_rewriting.rewrite_manifests(table.state))
    assert read_table(table.plan()).sort_by("id").to_pylist() == wanted
    table = table.delete("id = 1", ArrowEditor())
    assert read_table(table.plan()).to_pylist() == wanted[1:]
    assert differences(table.state) == ()


def test_a_write_that_began_before_its_partition_column_was_promoted_keeps_its_values():
    definition = TableDefinition(parse_ddl("id bigint, d date"), ("d",), properties={"format-version": "3"})
    table = create_iceberg(empty(), Creation(definition), {}, read_table)
    table.change_columns([ChangeType(("d",), TIMESTAMP_NTZ)], None)
    table = table.append(ArrowRows(pa.table({"id": [1], "d": [date(1960, 1, 1)]})), WriteOptions())
    assert table.schema.find("d").type == TIMESTAMP_NTZ
    assert read_table(table.plan()).to_pylist() == [{"id": 1, "d": datetime(1960, 1, 1)}]


def test_a_vector_that_spells_its_data_file_otherwise_is_not_dangling():
    """As with relocate, two spellings may mean one file: what the reader takes for it, the clean-up does too."""
    table = delete(table_with(properties(3, MODES[1])))
    vectors = live_files(table.state, table.state.files.deletes, np.ones(len(table.state.files.deletes), bool))
    location = table.location
    other = [replace(v.file, referenced_data_file=v.file.referenced_data_file.replace(location, f"{location}/")) for v in vectors]
    for vector in other:  # what the Puffin file says of it is spelled as before
        assert vector.referenced_data_file != vectors[0].file.referenced_data_file
    table = table.in_state(publish(table.state, FileChange("delete", tuple(other), vectors)))
    alive = seen(table)
    assert alive == EXPECTED["delete"][1]
    assert seen(table.in_state(optimize.remove_dangling_deletes(table.state))) == alive
    again = delete(table, "id = 1")
    assert seen(again) == {key: value for key, value in alive.items() if key != 1}
    assert len(again.state.files.deletes) == len(vectors)
