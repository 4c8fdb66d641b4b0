"""Do properties become versions with a protocol that carries them, and no more than that?"""

import json
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.core import types as t
from esker.core.types import Field, Struct
from esker.delta import row_tracking_backfill
from esker.errors import Conflict, EskerError, InvalidRequest, Unsupported
from esker.storage.memory import MemoryStorage
from esker.testing.faults import Died, Dying
from tests.delta.handles import COMMITS, created, ids, last, operations, rows, through, with_rival
from tests.delta.tables import Log, add, inline, metadata, protocol


@pytest.mark.parametrize(
    "properties, protocol",
    [
        ({"delta.appendOnly": True}, "(1, 2)"),
        ({"mine": "anything"}, "(1, 2)"),
        ({"delta.checkpointInterval": 5}, "(1, 2)"),
        ({"delta.enableChangeDataFeed": "true"}, "(1, 7, [appendOnly, changeDataFeed, invariants])"),
        ({"delta.columnMapping.mode": "name"}, "(2, 7, [appendOnly, columnMapping, invariants])"),
        ({"delta.enableDeletionVectors": "true"}, "(3, 7, [deletionVectors], [appendOnly, deletionVectors, invariants])"),
        ({"delta.enableInCommitTimestamps": "true"}, "(1, 7, [appendOnly, inCommitTimestamp, invariants])"),
        ({"delta.checkpointPolicy": "v2"}, "(3, 7, [v2Checkpoint], [appendOnly, invariants, v2Checkpoint])"),
        ({"delta.enableTypeWidening": "true"}, "(3, 7, [typeWidening], [appendOnly, invariants, typeWidening])"),
        ({"delta.enableRowTracking": "true"}, "(1, 7, [appendOnly, domainMetadata, invariants, rowTracking])"),
        ({"delta.feature.vacuumProtocolCheck": "supported"},
         "(3, 7, [vacuumProtocolCheck], [appendOnly, invariants, vacuumProtocolCheck])"),
        ({"delta.minWriterVersion": 4}, "(1, 4)"),
        ({"delta.minReaderVersion": 2, "delta.minWriterVersion": 5}, "(2, 5)"),
    ],
)  # fmt: skip
def test_a_property_raises_the_protocol_by_the_smallest_step(properties: dict[str, Any], protocol: str):
    table = created(rows=ids(1, 2))
    assert table.describe().protocol == "(1, 2)"
    table.set_properties(properties)
    assert esker.open(table.location).describe().protocol == protocol
    assert rows(table.append(ids(3))) == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert table.verify() == ()


def test_features_and_versions_are_asked_for_and_not_stored():
    table = created().set_properties({"delta.feature.changeDataFeed": "supported", "delta.minWriterVersion": "3", "mine": "1"})
    assert table.describe().properties == {"mine": "1"}
    assert last(table)["operation"] == "SET TBLPROPERTIES"


@pytest.mark.parametrize(
    "properties, error, problem",
    [
        ({"delta.enableDeletionVector": "true"}, InvalidRequest, "did you mean delta.enableDeletionVectors"),
        ({"delta.checkpointInterval": "0"}, InvalidRequest, "delta.checkpointInterval"),
        ({"delta.enableChangeDataFeed": "maybe"}, InvalidRequest, "delta.enableChangeDataFeed"),
        ({"delta.columnMapping.maxColumnId": "9"}, InvalidRequest, "kept by writers"),
        ({"delta.constraints.pos": "id > 0"}, InvalidRequest, "is a constraint"),
        ({"delta.columnMapping.mode": "id"}, InvalidRequest, "cannot change from none to id"),
        ({"delta.feature.nonsense": "supported"}, InvalidRequest, "there is no feature nonsense"),
        ({"delta.feature.catalogManaged": "supported"}, Unsupported, "catalogManaged"),
        ({"delta.minReaderVersion": "9"}, InvalidRequest, "a version from 1 to"),
        ({"delta.enableIcebergCompatV2": "true"}, InvalidRequest, "columnMapping"),
        ({"delta.dataSkippingStatsColumns": "id,nope"}, InvalidRequest, "names nope, which is no column"),
        ({"delta.logRetentionDuration": "interval 1 day"}, InvalidRequest, "shorter than"),
        ({"delta.enableRowTracking": "true", "delta.columnMapping.mode": "id"}, InvalidRequest, "cannot change"),
        ({"delta.enableRowTracking": "true", "delta.feature.catalogManaged": "supported"}, Unsupported, "catalogManaged"),
    ],
)  # fmt: skip
def test_what_cannot_be_set_makes_no_version(properties: dict[str, Any], error: type[Exception], problem: str):
    table = created(rows=ids(1))
    with pytest.raises(error, match=problem):
        table.set_properties(properties)
    assert esker.open(table.location).version == 1


def test_what_another_writer_has_broken_keeps_only_itself_from_being_changed():
    table = Log().start(**{"delta.logRetentionDuration": "interval 1 day"}).open()
    assert table.set_comment("all the same").version == 1
    with pytest.raises(InvalidRequest, match="columnMapping"):
        table.set_properties({"delta.enableIcebergCompatV2": "true"})
    nonsense = Log().start(**{"delta.checkpointPolicy": "often"}).open()
    assert nonsense.set_properties({"delta.checkpointPolicy": "classic"}).version == 1


def test_a_table_that_lists_a_missing_column_for_statistics_is_read_written_and_mended():
    """Spark's writer refuses each change of such a table, so none is made; one that is there lives on."""
    with pytest.raises(InvalidRequest, match="names nope, which is no column"):
        created(properties={"delta.dataSkippingStatsColumns": "nope"})
    table = Log().start(**{"delta.dataSkippingStatsColumns": "id,nope"}).open()
    assert rows(table.append(ids(1)).set_comment("as before")) == [{"id": 1}]
    assert table.set_properties({"delta.dataSkippingStatsColumns": "ID"}).describe().properties == {"delta.dataSkippingStatsColumns": "ID"}
    with pytest.raises(InvalidRequest, match="names ID, which is no column"):
        table.overwrite(pa.table({"other": [1]}), overwrite_schema=True)


def test_properties_go_and_the_protocol_stays():
    table = created(properties={"delta.enableDeletionVectors": "true", "mine": "1"})
    before = table.describe().protocol
    table.unset_properties("delta.enabledeletionvectors", "mine")
    assert table.describe().properties == {}
    assert table.describe().protocol == before
    told = last(table)
    assert told["operation"] == "UNSET TBLPROPERTIES"
    assert json.loads(told["operationParameters"]["properties"]) == ["delta.enabledeletionvectors", "mine"]


def test_a_property_goes_under_its_older_name_too():
    table = Log().start(delta__enableChangeDataCapture="true").open()
    assert table.unset_properties("delta.enableChangeDataFeed").describe().properties == {}


def test_metadata_that_is_written_again_keeps_the_options_of_its_format():
    """ "options | A map containing configuration options for the format"  (Format Specification)"""
    about = metadata()
    about["metaData"]["format"]["options"] = {"a": "b"}
    log = Log()
    log.commit(protocol(), about)
    log.open().set_comment("now with a comment").checkpoint()
    assert log.snapshot().metadata.format_options == {"a": "b"}


@pytest.mark.parametrize("name", ["nobody", "MINE", "delta.appendOnly", "delta.columnMapping.mode", "delta.constraints.pos"])
def test_what_is_not_set_or_must_stay_is_not_unset(name: str):
    table = created(properties={"delta.columnMapping.mode": "name", "mine": "1"}, constraints={"pos": "id > 0"})
    with pytest.raises(InvalidRequest):
        table.unset_properties(name)
    assert esker.open(table.location).version == 0


def test_mapping_on_a_table_with_rows_keeps_the_names_that_files_have():
    """ "Files that are there keep the names that they were written with": old and new files read alike."""
    table = created("id bigint, s struct<a bigint>", pa.table({"id": [1], "s": [{"a": 5}]}))
    table.set_properties({"delta.columnMapping.mode": "name"}).rename_column("s.a", "b").add_columns("n bigint")
    table.append(pa.table({"id": [2], "s": [{"b": 6}], "n": [7]}))
    assert rows(table) == [{"id": 1, "s": {"b": 5}, "n": None}, {"id": 2, "s": {"b": 6}, "n": 7}]
    assert table.describe().properties["delta.columnMapping.maxColumnId"] == "4"


@pytest.mark.parametrize("properties", [{"delta.columnMapping.mode": "name"}, {"delta.enableRowTracking": "true"}])
@pytest.mark.parametrize("act", [
    lambda table: table.set_properties({"mine": "1"}),
    lambda table: table.enable("columnMapping", "rowTracking"),
    lambda table: table.add_columns("n bigint"),
    lambda table: table.append(pa.table({"id": [2], "n": [1]}), merge_schema=True),
])  # fmt: skip
def test_what_a_protocol_has_nobody_honour_is_not_honoured_by_the_way(properties: dict[str, str], act: Any):
    """ "The table property should only be honored if the table's protocol [...] support[s]" it  (Column Mapping): the files that
    are there have neither the names nor the row ids that it asks for."""
    log = Log().start(**{name.replace(".", "__"): text for name, text in properties.items()})
    log.commit(log.data("f.parquet", ids(1)))
    (name,) = properties
    with pytest.raises(InvalidRequest, match=f"Unset {name}"):
        act(log.open())
    assert rows(log.open().append(ids(2))) == [{"id": 1}, {"id": 2}]
    assert rows(log.open().unset_properties(name).set_properties(properties)) == [{"id": 1}, {"id": 2}]
    assert log.open().check(deep=True) == ()


def test_a_restoration_does_not_come_to_honour_what_nobody_did():
    log = Log().start(delta__columnMapping__mode="name", delta__enableRowTracking="true")
    log.commit(log.data("f.parquet", ids(1)))
    table = log.open().unset_properties("delta.columnMapping.mode", "delta.enableRowTracking")
    table.enable("columnMapping", "rowTracking").rename_column("id", "k").append(pa.table({"k": [2]})).restore(version=1)
    assert rows(log.open()) == [{"id": 1}]
    assert set(log.open().describe().properties) & {"delta.columnMapping.mode", "delta.enableRowTracking"} == set()


def test_names_that_nobody_went_by_are_not_those_of_files():
    schema = Struct((Field("id", t.LONG, metadata={"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "x"}),))
    log = Log().start(schema)
    log.commit(log.data("f.parquet", ids(1)))
    assert rows(log.open().set_properties({"delta.columnMapping.mode": "name"})) == [{"id": 1}]


def test_timestamps_in_commits_tell_since_when_and_no_longer_once_they_are_off():
    """ "provenance information [...] must be tracked": delta.inCommitTimestampEnablementVersion and -Timestamp"""
    table = created(rows=ids(1)).set_properties({"delta.enableInCommitTimestamps": "true"})
    said = table.describe().properties
    assert said["delta.inCommitTimestampEnablementVersion"] == "2"
    assert int(said["delta.inCommitTimestampEnablementTimestamp"]) == int(table.describe().modified.timestamp() * 1000)
    table.set_properties({"delta.enableInCommitTimestamps": "false"})
    assert table.describe().properties == {"delta.enableInCommitTimestamps": "false"}
    assert table.set_properties({"delta.enableInCommitTimestamps": "true"}).describe().properties[
        "delta.inCommitTimestampEnablementVersion"] == "4"  # fmt: skip


def test_a_property_that_is_set_already_makes_no_version():
    table = created(properties={"delta.columnMapping.mode": "name"})
    assert table.set_properties({"delta.columnMapping.mode": "name"}).version == 0


def test_properties_follow_rivals_that_only_move_rows():
    table = created(rows=ids(1))
    handle = with_rival(table, lambda t: t.append(ids(9))).set_properties({"delta.appendOnly": "true"})
    assert handle.version == 3
    assert handle.describe().properties == {"delta.appendOnly": "true"}


# Row tracking


def tracked_rows(table: esker.Table) -> list[tuple[int, int, int]]:
    """Id, row id and commit version of each row."""
    found = esker.open(table.location).to_arrow(["id", "_row_id", "_row_commit_version"])
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tracking_backfill, "BATCH", 2)


def with_files(count: int) -> esker.Table:
    table = created()
    for number in range(count):
        table.append(ids(2 * number, 2 * number + 1))
    return table


def test_row_tracking_is_supported_then_backfilled_then_enabled(small_batches: None):
    """ "A backfill operation may be required to commit `add` and `remove` actions with the `baseRowId` field set for all data
    files before the table property `delta.enableRowTracking` can be set to `true`."  (Row Tracking)
    """
    table = with_files(5).set_properties({"delta.enableRowTracking": "true", "mine": "1"})
    steps = ["UPGRADE PROTOCOL", *["ROW TRACKING BACKFILL"] * 3, "SET TBLPROPERTIES"]
    assert operations(table)[6:] == steps
    for version in range(6, 10):
        earlier = table.at(version).describe()
        assert "rowTracking" in earlier.protocol
        assert earlier.properties == {}
    found = tracked_rows(table)
    assert [row for row, _, _ in found] == list(range(10))
    assert sorted(number for _, number, _ in found) == list(range(10))
    assert {version for _, _, version in found} == {7, 8, 9}
    assert table.describe().properties["mine"] == "1"


def test_no_file_is_added_again_as_if_its_rows_were_new(small_batches: None):
    """ "re-adding files with dataChange=false": whoever follows the table's changes sees none."""
    table = with_files(3).set_properties({"delta.enableRowTracking": "true"})
    storage = MemoryStorage(table.location)
    for version in (5, 6):
        lines = [json.loads(line) for line in storage.read(f"_delta_log/{version:020}.json").splitlines()]
        adds = [line["add"] for line in lines if "add" in line]
        assert adds
        assert not any(add["dataChange"] for add in adds)
        assert all(add["defaultRowCommitVersion"] == version for add in adds)


def test_a_table_without_rows_needs_no_backfill():
    table = created().set_properties({"delta.enableRowTracking": "true"})
    assert operations(table) == ["CREATE TABLE", "SET TBLPROPERTIES"]
    assert tracked_rows(table.append(ids(5))) == [(5, 0, 2)]


def test_rows_that_a_rival_adds_in_the_midst_of_a_backfill_get_ids_of_their_own(small_batches: None):
    for nth in range(1, 5):  # before the protocol, one of two batches, and the property
        table = with_files(4)
        handle = with_rival(table, lambda rival: rival.append(ids(100, 101)), nth)
        handle.set_properties({"delta.enableRowTracking": "true"})
        found = tracked_rows(table)
        assert [row for row, _, _ in found] == [*range(8), 100, 101]
        assert len({number for _, number, _ in found}) == len(found)


def test_files_that_a_rival_removes_in_the_midst_of_a_backfill_do_not_come_back(small_batches: None):
    for nth in (2, 3, 4):
        table = with_files(4)
        with_rival(table, lambda rival: rival.overwrite(ids(50)), nth).set_properties({"delta.enableRowTracking": "true"})
        assert [row for row, _, _ in tracked_rows(table)] == [50]


def test_a_backfill_that_died_is_picked_up_where_it_was_left(small_batches: None):
    """Whichever commit was the last: the table reads, its rows are there once, and asking again finishes the work."""
    done = 0
    for nth in range(1, 9):
        for after in (False, True):
            table = with_files(3)
            storage = Dying(MemoryStorage(table.location), nth, after=after, verb="put_if_absent", matching=COMMITS)
            try:
                through(storage).set_properties({"delta.enableRowTracking": "true"})
            except Died:
                assert [row["id"] for row in rows(table)] == list(range(6))
            else:
                done += 1
            again = esker.open(table.location).set_properties({"delta.enableRowTracking": "true"})
            found = tracked_rows(again)
            assert [row for row, _, _ in found] == list(range(6))
            assert sorted(number for _, number, _ in found) == list(range(6))
            assert operations(again).count("UPGRADE PROTOCOL") == 1
            assert operations(again).count("ROW TRACKING BACKFILL") == 2
    assert done, "the sweep went past the last commit"


def test_a_rival_that_changes_the_table_in_the_midst_of_a_backfill_is_a_conflict(small_batches: None):
    table = with_files(3)
    with pytest.raises(Conflict, match="changed the"):
        with_rival(table, lambda rival: rival.set_properties({"mine": "1"}), 4).set_properties({"delta.enableRowTracking": "true"})
    assert "delta.enableRowTracking" not in esker.open(table.location).describe().properties
    assert [row["id"] for row in rows(table)] == list(range(6))


@pytest.mark.parametrize("stats", [None, {"minValues": {"id": 1}}])
def test_files_that_do_not_say_how_many_rows_they_have_are_asked(stats: Any):
    """ "the number of [physical] records" of a file is how many row ids it takes, deleted rows counted"""
    log = Log().start(features=["deletionVectors"])
    log.commit(log.data("a.parquet", ids(1, 2, 3), dv=inline(0), stats=stats), log.data("b.parquet", ids(4, 5)))
    found = tracked_rows(log.open().set_properties({"delta.enableRowTracking": "true"}))
    assert [row for row, _, _ in found] == [2, 3, 4, 5]
    assert [number for _, number, _ in found] == [1, 2, 3, 4]


def test_a_file_that_cannot_be_asked_keeps_the_table_as_it_is():
    log = Log().start()
    log.commit(add("gone.parquet"))
    with pytest.raises(EskerError, match=r"gone\.parquet"):
        log.open().set_properties({"delta.enableRowTracking": "true"})
    assert log.open().version == 1


def test_no_ids_are_given_out_while_row_tracking_is_suspended(small_batches: None):
    """ "Suspended: assign neither", and "writers must check that suspension is off before enabling"  (Row tracking changes)"""
    suspended = metadata(**{"delta.rowTrackingSuspended": "true"})
    log = Log().start(features=["rowTracking", "domainMetadata"], **{"delta.rowTrackingSuspended": "true"})
    table = log.open().append(ids(1))
    assert table._table.snapshot.files.table.column("baseRowId").null_count == 1
    with pytest.raises(InvalidRequest, match="both enabled and suspended"):
        table.set_properties({"delta.enableRowTracking": "true"})

    table = with_files(3)
    line = json.dumps(suspended).encode()
    storage = MemoryStorage(table.location)
    handle = with_rival(table, lambda rival: storage.put_if_absent(f"_delta_log/{rival.version + 1:020}.json", line), 2)
    with pytest.raises(Conflict, match="taking row tracking out"):
        handle.set_properties({"delta.enableRowTracking": "true"})


def test_ids_that_rows_have_are_kept_when_tracking_is_turned_off_and_on():
    table = with_files(2).set_properties({"delta.enableRowTracking": "true"})
    before = tracked_rows(table)
    table.set_properties({"delta.enableRowTracking": "false"}).set_properties({"delta.enableRowTracking": "true"})
    assert tracked_rows(table) == before
    assert operations(table).count("ROW TRACKING BACKFILL") == 1


# Constraints


def test_constraints_are_dropped_by_their_names_ignoring_case():
    table = created("id bigint, n bigint", constraints={"Positive": "id > 0", "other": "n > 0"})
    table.drop_constraint("positive")
    assert table.describe().properties == {"delta.constraints.other": "n > 0"}
    assert last(table)["operationParameters"] == {"name": "positive", "expr": "id > 0", "existed": "true"}
    table.append(pa.table({"id": [-1], "n": [1]}))
    with pytest.raises(InvalidRequest, match="other"):
        table.append(pa.table({"id": [1], "n": [-1]}))
    with pytest.raises(InvalidRequest, match="there is no constraint"):
        table.drop_constraint("positive")


# Tables that are to stay convertible


def test_a_table_with_deletion_vectors_does_not_become_convertible():
    log = Log().start(features=["deletionVectors"])
    log.commit(log.data("a.parquet", ids(1, 2), dv=inline(0)))
    table = log.open().set_properties({"delta.columnMapping.mode": "name"})
    with pytest.raises(InvalidRequest, match="1 files have deletion vectors"):
        table.set_properties({"delta.enableIcebergCompatV2": "true"})
    assert log.open().version == 2


def test_files_that_are_not_counted_keep_a_table_from_version_1_of_convertibility():
    """ "Require that all `AddFile`s committed to the table have the `numRecords` statistic populated"  (Writer Requirements for
    IcebergCompatV1)"""
    log = Log().start()
    log.commit(log.data("a.parquet", ids(1), stats=None), log.data("b.parquet", ids(2)))
    table = log.open().set_properties({"delta.columnMapping.mode": "name"})
    with pytest.raises(InvalidRequest, match="1 files do not say how many records they have"):
        table.set_properties({"delta.enableIcebergCompatV1": "true"})
    assert table.set_properties({"delta.enableIcebergCompatV2": "true"}).version == 3


def test_files_without_their_partition_columns_keep_a_table_from_version_1_of_convertibility():
    """ "Require that partition column values are materialized into any Parquet data file that is present in the table" """
    table = created("id bigint, k bigint", partition_by=["k"], properties={"delta.columnMapping.mode": "name"})
    table.append(pa.table({"id": [1], "k": [1]}))
    with pytest.raises(InvalidRequest, match="may lack the partition columns"):
        table.set_properties({"delta.enableIcebergCompatV1": "true"})
    assert table.set_properties({"delta.enableIcebergCompatV2": "true"}).version == 2
