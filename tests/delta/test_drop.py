"""Taking features out of tables, in memory and without Spark: what is left, what waits, what rivals can do."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pyarrow as pa
import pytest

import esker
from esker.arrow.write import ArrowRows
from esker.check.model import Severity
from esker.core.features import Presence
from esker.core.protocol_changes import Drop, Dropped
from esker.core.write import WriteOptions
from esker.delta import drop_steps, row_tracking
from esker.delta.actions import DomainMetadata, action_json
from esker.delta.commit import commit
from esker.delta.deletion_vectors import file_uri
from esker.delta.live_adds import live_adds
from esker.delta.protocol import merge, minimal
from esker.delta.snapshot import Place, list_log, load
from esker.delta.table import DeltaTable
from esker.delta.transaction import Change, Operation
from esker.errors import Conflict, InvalidRequest, Unsupported
from esker.storage.memory import MemoryStorage
from esker.testing.faults import Rival
from tests.arrow_editor import ArrowEditor
from tests.delta.arranging import ArrowArranger, Clock
from tests.delta.handles import COMMITS, created, operations, rows

COLUMNS = "id bigint, v int, p string"
ON = "true"
HISTORY = {"deletionVectors", "columnMapping", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"}


def some(*ids: int, partition: str = "a") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array(ids, pa.int32()), "p": [partition] * len(ids)})


def table(properties: dict[str, Any] | None = None, features: tuple[str, ...] = ()) -> esker.Table:
    """A table of three files in two partitions."""
    made = created(COLUMNS, None, partition_by=["p"], properties=properties or {}, features=features)
    return made.append(some(1, 2, 3)).append(some(4, 5)).append(some(6, 7, partition="b"))


def edited(table: esker.Table, where: str) -> esker.Table:
    return esker.Table(delta(table).delete(where, ArrowEditor()))


def delta(table: esker.Table) -> DeltaTable:
    return DeltaTable(load(Place(MemoryStorage(table.location))))


def dropped(table: esker.Table, *names: str, truncates: bool = False) -> Dropped:
    return delta(table).drop_features(Drop(names, truncates), ArrowArranger())[1]


def with_vectors() -> esker.Table:
    return edited(table({"delta.enableDeletionVectors": ON}), "id = 2 OR id = 6")


def with_mapping(mode: str = "name") -> esker.Table:
    made = table({"delta.columnMapping.mode": mode, "delta.enableRowTracking": ON})
    return made.rename_column("v", "w").rename_column("p", "q").drop_columns("w").add_columns("w string")


def with_wider_types() -> esker.Table:
    made = table({"delta.enableTypeWidening": ON})
    made.change_type("v", "bigint")
    fresh = some(8, partition="b")
    return made.append(fresh.set_column(1, "v", pa.array([2**40], pa.int64())))


def with_row_ids() -> esker.Table:
    return table({"delta.enableRowTracking": ON})


def with_v2_checkpoints() -> esker.Table:
    return table({"delta.checkpointPolicy": "v2"}).checkpoint()


def with_timestamps() -> esker.Table:
    return table().set_properties({"delta.enableInCommitTimestamps": True})


def with_constraint() -> esker.Table:
    made = table(features=("checkConstraints",))
    return esker.Table(delta(made).add_constraint("small", "id < 100", ArrowEditor())).drop_constraint("small")


def with_domain(name: str = "mine") -> esker.Table:
    made = table(features=("domainMetadata",))
    note = Change(Operation("SET DOMAIN"), domains=(DomainMetadata(name, '{"a":1}'),))
    commit(delta(made).snapshot, lambda base: note)
    return esker.open(made.location)


def with_stored_partitions() -> esker.Table:
    return table({"delta.enableMaterializePartitionColumnsFeature": ON})


USED: dict[str, Callable[[], esker.Table]] = {
    "deletionVectors": with_vectors, "columnMapping": with_mapping, "typeWidening": with_wider_types,
    "rowTracking": with_row_ids, "v2Checkpoint": with_v2_checkpoints, "inCommitTimestamp": with_timestamps,
    "checkConstraints": with_constraint, "domainMetadata": with_domain,
    "materializePartitionColumns": with_stored_partitions,
    "vacuumProtocolCheck": lambda: table(features=("vacuumProtocolCheck",)),
}  # fmt: skip


# Fast


@pytest.mark.parametrize("name", USED)
def test_a_dropped_feature_leaves_the_rows_and_nothing_of_itself(name: str) -> None:
    """features-catalogue.md, "Removal recipes"."""
    used = USED[name]()
    before, expected = used.describe(), rows(used)
    done = dropped(used, name)
    after = esker.open(used.location)
    assert done.is_done
    assert done.features == (name,)
    assert rows(after) == expected
    assert name not in after.describe().protocol
    assert ("checkpointProtection" in after.describe().protocol) == (name in HISTORY)
    assert operations(after)[-1] == "DROP FEATURE"
    assert {f.name for f in after.features() if f.presence > Presence.ABSENT} <= {
        *(f.name for f in used.features() if f.presence > Presence.ABSENT), "checkpointProtection",
    }  # fmt: skip
    assert [finding for finding in after.check(deep=True) if finding.severity >= Severity.WARNING] == []
    assert after.at(before.version).to_arrow().num_rows == len(expected)
    after.append(pa.table({"id": pa.array([90], pa.int64())}))
    assert len(rows(after)) == len(expected) + 1


def test_several_features_go_at_once_those_that_others_require_last() -> None:
    """features-catalogue.md: "A feature another listed feature depends on cannot be dropped first"."""
    used = table({"delta.enableRowTracking": ON, "delta.enableDeletionVectors": ON, "delta.columnMapping.mode": "id",
                  "delta.checkpointPolicy": "v2", "delta.enableInCommitTimestamps": ON})  # fmt: skip
    used = edited(used, "id = 1")
    expected = rows(used)
    names = ("domainMetadata", "rowTracking", "deletionVectors", "columnMapping", "v2Checkpoint", "inCommitTimestamp")
    done = dropped(used, *names)
    assert set(done.features) == set(names)
    assert done.features[-1] == "domainMetadata"
    assert done.protocol == "(1, 7, [appendOnly, checkpointProtection, invariants])"
    assert operations(esker.open(used.location)).count("DROP FEATURE") == 2
    assert rows(used) == expected
    left = set(esker.open(used.location).describe().properties)
    assert left == {
        "delta.checkpointPolicy", "delta.enableInCommitTimestamps", "delta.requireCheckpointProtectionBeforeVersion",
    }  # fmt: skip


def test_checkpoints_stand_between_the_versions_that_need_the_feature_and_the_newest() -> None:
    """delta-newest.md, "Fast mode": "three times { empty commit; checkpoint at it }", "one more checkpoint"."""
    used = with_vectors()
    done = dropped(used, "deletionVectors")
    after = esker.open(used.location)
    assert operations(after)[-4:] == ["Empty Commit", "Empty Commit", "Empty Commit", "DROP FEATURE"]
    listing = list_log(MemoryStorage(used.location))
    assert {done.version - 3, done.version - 2, done.version - 1, done.version} <= set(listing.checkpoints)
    assert after.describe().properties["delta.requireCheckpointProtectionBeforeVersion"] == str(done.version)
    assert last_parameters(after) == {"featureName": "deletionVectors", "truncateHistory": "false"}


def last_parameters(table: esker.Table) -> dict[str, str]:
    return dict(table.history(limit=1).to_pylist()[0]["operationParameters"])


def test_files_of_deletion_vectors_get_tombstones_of_their_own() -> None:
    """delta-newest.md, "DV specifics": so "that DV-unaware VACUUM does not delete it"."""
    used = with_vectors()
    kept = {file_uri(add.deletion_vector) for add in live_adds(delta(used).snapshot) if add.deletion_vector is not None}
    dropped(used, "deletionVectors")
    removed = [line for version in range(used.version + 1, delta(used).version + 1) for line in log_lines(used, version, "remove")]
    bare = {line["path"] for line in removed if not line["extendedFileMetadata"]}
    assert bare == kept
    assert all(line["dataChange"] is False for line in removed)


def log_lines(table: esker.Table, version: int, kind: str) -> list[dict[str, Any]]:
    data = MemoryStorage(table.location).read(f"_delta_log/{version:020}.json")
    return [action[kind] for line in data.splitlines() if kind in (action := orjson.loads(line))]


def test_rows_keep_their_ids_when_column_mapping_goes() -> None:
    """features-catalogue.md, D2: "dataChange=false, row ids preserved"."""
    used = with_mapping()
    ids = sorted(used.to_arrow(["id", "_row_id"]).to_pylist(), key=lambda row: row["id"])
    dropped(used, "columnMapping")
    after = esker.open(used.location)
    assert sorted(after.to_arrow(["id", "_row_id"]).to_pylist(), key=lambda row: row["id"]) == ids
    assert all("delta.columnMapping.id" not in field.metadata for field in after.schema)


def test_clustering_columns_are_named_as_the_files_name_them_when_column_mapping_goes() -> None:
    """delta-newest.md, C18: physical names in `delta.clustering` too."""
    made = created("id bigint, v int", properties={"delta.columnMapping.mode": "name"}, cluster_by=["v"])
    made.append(pa.table({"id": pa.array([1], pa.int64()), "v": pa.array([1], pa.int32())}))
    made.rename_column("v", "w")
    dropped(made, "columnMapping")
    assert delta(made).snapshot.domains["delta.clustering"].configuration == '{"clusteringColumns":[["w"]]}'


def test_domains_go_with_what_they_said() -> None:
    """ "Writers should preserve an accurate pre-image of the configuration."  (Domain Metadata)"""
    for used, name, said in ((with_domain(), "domainMetadata", {"a": 1}), (with_row_ids(), "rowTracking", {"rowIdHighWaterMark": 6})):
        dropped(used, name)
        after = delta(esker.open(used.location))
        gone = [line for v in range(used.version, after.version + 1) for line in log_lines(used, v, "domainMetadata") if line["removed"]]
        assert [orjson.loads(line["configuration"]) for line in gone] == [said]


def test_a_domain_of_a_feature_that_esker_does_not_know_stays() -> None:
    """ "Writers must only modify or delete system-controlled domains they understand."  (Writer Requirements for Domain
    Metadata)"""
    used = with_domain("delta.fromTheFuture")
    with pytest.raises(Unsupported, match="that Esker does not know stay"):
        dropped(used, "domainMetadata")
    assert "delta.fromTheFuture" in delta(esker.open(used.location)).snapshot.domains


def test_a_dropped_column_does_not_come_back_under_its_old_name() -> None:
    used = table({"delta.columnMapping.mode": "name"}).drop_columns("v")
    dropped(used, "columnMapping")
    after = esker.open(used.location).add_columns("v int")
    assert {row["v"] for row in rows(after)} == {None}


def test_only_files_with_older_types_are_rewritten_when_type_widening_goes() -> None:
    """delta-newest.md, 3.1: "rewrite every file whose physical types differ from the schema"."""
    used = with_wider_types()
    before = set(used.files().column("path").to_pylist())
    plan = used.drop_feature("typeWidening", dry_run=True)
    dropped(used, "typeWidening")
    after = set(esker.open(used.location).files().column("path").to_pylist())
    assert len(before & after) == 1
    assert set(plan.foresight.rewriting.files) == before - after
    assert "delta.typeChanges" not in delta(used).snapshot.metadata.schema_string


def test_a_column_that_became_a_time_has_its_partitions_written_as_times() -> None:
    made = created("id bigint, d date", properties={"delta.enableTypeWidening": ON}, partition_by=["d"],
                   features=("timestampNtz",))  # fmt: skip
    made.append(pa.table({"id": pa.array([1], pa.int64()), "d": pa.array([datetime(2024, 5, 6)]).cast(pa.date32())}))
    made.change_type("d", "timestamp_ntz")
    expected = rows(made)
    dropped(made, "typeWidening")
    assert rows(made) == expected
    (add,) = live_adds(delta(made).snapshot)
    assert add.partition_values == {"d": "2024-05-06 00:00:00.000000"}


def test_the_last_name_of_a_feature_takes_what_it_left_with_it() -> None:
    """features-catalogue.md: typeWidening and its preview are dropped "each name separately"."""
    used = table({"delta.enableTypeWidening": ON}, features=("typeWidening-preview",))
    protocol = delta(used).snapshot.protocol
    both = replace(
        protocol,
        reader_features=frozenset({"typeWidening", "typeWidening-preview"}),
        writer_features=(protocol.writer_features or frozenset()) | {"typeWidening", "typeWidening-preview"},
    )
    commit(delta(used).snapshot, lambda base: Change(Operation("UPGRADE PROTOCOL"), protocol=both))
    used = esker.open(used.location).change_type("v", "bigint")
    dropped(used, "typeWidening-preview")
    assert "delta.typeChanges" in delta(used).snapshot.metadata.schema_string
    dropped(used, "typeWidening")
    assert "delta.typeChanges" not in delta(used).snapshot.metadata.schema_string
    assert delta(used).snapshot.protocol.min_reader == 1


def test_an_empty_table_can_do_without_features_too() -> None:
    made = created(COLUMNS, properties={"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": ON})
    assert dropped(made, "columnMapping", "deletionVectors").is_done
    assert delta(made).snapshot.protocol.min_reader == 1


def test_a_reader_of_an_older_snapshot_is_not_disturbed() -> None:
    """features-catalogue.md: the versions before stay, and so do their files."""
    used = with_vectors()
    reader = esker.open(used.location)
    expected = sorted(row["id"] for row in reader.to_arrow().to_pylist())
    dropped(used, "deletionVectors")
    assert sorted(row["id"] for row in reader.to_arrow().to_pylist()) == expected


def test_row_ids_that_were_suspended_can_be_enabled_again() -> None:
    """delta-newest.md, 3.5: "enabled + suspended is illegal"."""
    used = with_row_ids()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("esker.delta.drop._downgraded", lambda *args: pytest.fail("not so far"))
        patch.setattr(drop_steps, "BATCH", 1)
        with pytest.raises(pytest.fail.Exception):
            dropped(used, "rowTracking")
    halfway = esker.open(used.location)
    assert halfway.describe().properties["delta.rowTrackingSuspended"] == ON
    ids = [row["_row_id"] for row in halfway.enable("rowTracking").to_arrow(["_row_id"]).to_pylist()]
    assert len(set(ids)) == 7
    assert row_tracking.high_water_mark(delta(used).snapshot.domains, "") == max(ids)


# With history


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("name", ["deletionVectors", "columnMapping", "typeWidening", "v2Checkpoint"])
def test_truncation_says_when_to_come_back_and_then_goes_on(name: str, clock: Clock) -> None:
    """delta-newest.md, "Truncation mode"; `delta.dropFeatureTruncateHistory.retentionDuration` is 24 hours."""
    used = USED[name]()
    expected = rows(used)
    first = dropped(used, name, truncates=True)
    assert not first.is_done
    assert first.remaining == (name,)
    assert first.come_back is not None
    assert timedelta(hours=24) <= first.come_back - datetime.now(UTC) <= timedelta(hours=24, minutes=2)
    version = delta(used).version
    again = dropped(used, name, truncates=True)
    assert (again.is_done, again.come_back, delta(used).version) == (False, first.come_back, version)
    clock.late = timedelta(hours=24, minutes=1, seconds=30)
    last = dropped(used, name, truncates=True)
    assert last.is_done
    after = esker.open(used.location)
    assert "checkpointProtection" not in last.protocol
    assert name not in last.protocol
    assert rows(after) == expected
    assert last_parameters(after) == {"featureName": name, "truncateHistory": "true"}
    assert min(list_log(MemoryStorage(used.location)).commits) == version
    assert not any(f.in_past for f in after.features(history=True) if f.name == name)


def test_a_feature_that_was_never_used_need_not_wait() -> None:
    done = dropped(table(features=("deletionVectors",)), "deletionVectors", truncates=True)
    assert done.is_done
    assert done.protocol == "(1, 2)"


def test_protection_goes_with_the_versions_that_it_protects(clock: Clock) -> None:
    """delta-newest.md, 3.6: "only `DROP FEATURE checkpointProtection TRUNCATE HISTORY`"."""
    used = with_vectors()
    expected = rows(used)
    guarded = dropped(used, "deletionVectors").version
    first = dropped(used, "checkpointProtection", truncates=True)
    assert first.remaining == ("checkpointProtection",)
    assert min(list_log(MemoryStorage(used.location)).commits) == 0
    clock.late = timedelta(days=2)
    assert dropped(used, "checkpointProtection", truncates=True).protocol == "(1, 2)"
    assert min(list_log(MemoryStorage(used.location)).commits) == guarded
    assert "delta.requireCheckpointProtectionBeforeVersion" not in esker.open(used.location).describe().properties
    assert rows(used) == expected


def test_features_in_older_versions_are_told_of() -> None:
    used = with_vectors()
    dropped(used, "deletionVectors")
    found = {f.name: f for f in esker.open(used.location).features(history=True)}
    assert found["deletionVectors"].presence is Presence.ABSENT
    assert found["deletionVectors"].in_past
    assert found["columnMapping"].in_past is False
    assert all(f.in_past is None for f in esker.open(used.location).features())


# Rivals


def rivalled(table: esker.Table, act: Callable[[esker.Table], object], nth: int) -> DeltaTable:
    storage = Rival(MemoryStorage(table.location), lambda: act(esker.open(table.location)), COMMITS, nth)
    return DeltaTable(load(Place(storage)))


@pytest.mark.parametrize("nth", range(1, 7))
def test_rows_that_a_rival_appends_at_any_moment_are_kept(nth: int) -> None:
    used = with_vectors()
    expected = rows(used)
    rival = rivalled(used, lambda other: other.append(some(70)), nth)
    assert rival.drop_features(Drop(("deletionVectors",)), ArrowArranger())[1].is_done
    assert sorted(row["id"] for row in rows(used)) == sorted([*(row["id"] for row in expected), 70])
    assert "deletionVectors" not in esker.open(used.location).describe().protocol


def last_commit(name: str) -> int:
    """Which commit of a drop takes the name out."""
    used = USED[name]()
    return dropped(used, name).version - used.version


def set_again(table: esker.Table) -> object:
    return table.set_properties({"delta.enableDeletionVectors": True})


def marked_again(table: esker.Table) -> object:
    return edited(table.set_properties({"delta.enableDeletionVectors": True}), "id = 4")


@pytest.mark.parametrize("act", [set_again, marked_again, lambda table: table.upgrade(writer=4)])
def test_a_rival_that_changes_metadata_or_protocol_right_before_the_last_commit_is_a_conflict(
    act: Callable[[esker.Table], object],
) -> None:
    """databricks-table-features.md: "All protocol change operations conflict with concurrent writes"."""
    used = with_vectors()
    rival = rivalled(used, act, last_commit("deletionVectors"))
    with pytest.raises(Conflict):
        rival.drop_features(Drop(("deletionVectors",)), ArrowArranger())
    assert "deletionVectors" in esker.open(used.location).describe().protocol
    assert dropped(used, "deletionVectors").is_done


def test_files_that_a_rival_marks_right_before_the_last_commit_are_found() -> None:
    """delta-newest.md: "re-validate invariants on the latest snapshot (again on every conflicting commit)"."""
    used = with_vectors()
    marked = next(add for add in live_adds(delta(used).snapshot) if add.deletion_vector is not None)
    back = Change(Operation("RESTORE"), adds=(marked,))
    rival = rivalled(
        used, lambda other: commit(delta(other).snapshot, lambda base: back), last_commit("deletionVectors")
    )
    with pytest.raises(Conflict, match="have deletion vectors"):
        rival.drop_features(Drop(("deletionVectors",)), ArrowArranger())


def test_files_that_a_rival_appends_while_all_are_rewritten_are_a_conflict() -> None:
    """A file under physical names would not be understood without column mapping."""
    used = table({"delta.columnMapping.mode": "name"}).rename_column("v", "w")
    fresh = some(70).rename_columns(["id", "w", "p"])
    rival = rivalled(used, lambda other: other.append(fresh), 1)
    with pytest.raises(Conflict, match="added rows"):
        rival.drop_features(Drop(("columnMapping",)), ArrowArranger())
    assert len(rows(used)) == 8
    assert dropped(used, "columnMapping").is_done
    assert len(rows(used)) == 8


def test_a_writer_that_started_before_the_drop_conflicts_with_it() -> None:
    used = table(features=("checkConstraints",))
    slow = rivalled(used, lambda other: dropped(other, "checkConstraints"), 1)
    with pytest.raises(Conflict, match="changed the protocol"):
        slow.append(ArrowRows(some(70)), WriteOptions())


# Features that Esker does not write


@pytest.mark.parametrize("name, property, protocol", [
    ("geospatial", None, "(1, 7, [appendOnly, checkpointProtection, invariants])"),
    ("redirectReaderWriter-preview", "delta.redirectReaderWriter-preview", "(1, 2)"),
    ("redirectWriterOnly-preview", "delta.redirectWriterOnly-preview", "(1, 2)"),
    ("coordinatedCommits-preview", "delta.coordinatedCommits.tableConf-preview", "(1, 2)"),
])  # fmt: skip
def test_a_feature_that_esker_does_not_write_can_go_all_the_same(name: str, property: str | None, protocol: str) -> None:
    """features-catalogue.md, D12 to D14."""
    used = table()
    before = delta(used).snapshot
    configuration = {} if property is None else {property: "{}"}
    listed = merge(before.protocol, minimal([name]))
    lines = [action_json(listed), action_json(replace(before.metadata, configuration=configuration))]
    data = b"\n".join(orjson.dumps(line) for line in lines)
    MemoryStorage(used.location).put(f"_delta_log/{before.version + 1:020}.json", data)
    with pytest.raises(Unsupported):
        esker.open(used.location).append(some(9))
    assert dropped(used, name).protocol == protocol
    assert property not in esker.open(used.location).describe().properties
    assert len(rows(esker.open(used.location).append(some(9)))) == 8


# Refused


def test_nothing_is_changed_where_one_of_the_features_cannot_be_dropped() -> None:
    used = with_vectors()
    with pytest.raises(InvalidRequest, match="appendOnly stays"):
        dropped(used, "deletionVectors", "appendOnly")
    assert delta(used).version == used.version


def test_names_that_only_column_mapping_allows_keep_it_in() -> None:
    """features-catalogue.md, D2: refuse "if a logical name has characters ` ,;{}()\\n\\t=`"."""
    used = table({"delta.columnMapping.mode": "name"}).rename_column("v", "a b")
    with pytest.raises(InvalidRequest, match="rename it first"):
        dropped(used, "columnMapping")
