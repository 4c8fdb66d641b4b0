"""Enabling features and raising versions, on tables in memory."""

from pathlib import Path

import pyarrow as pa
import pytest

import esker
from esker.compat.change import ChangePlan
from esker.core.features import Presence
from esker.errors import Conflict, InvalidRequest, Unsupported
from esker.testing.builders import DeltaTableBuilder, column, metadata
from tests.delta.handles import created, ids, last, operations, rows, with_rival


def presence(table: esker.Table, name: str) -> Presence:
    return next(found.presence for found in table.features() if found.name == name)


def test_a_feature_is_supported_and_turned_on_in_one_version() -> None:
    """databricks-table-features.md, "What triggers a protocol upgrade"."""
    table = created(rows=ids(1)).enable("deletionVectors", "changeDataFeed")
    assert table.version == 2
    assert presence(table, "deletionVectors") is Presence.ACTIVE
    assert presence(table, "changeDataFeed") is Presence.ACTIVE
    assert last(table)["operation"] == "SET TBLPROPERTIES"
    assert rows(table) == [{"id": 1}]


def test_a_feature_without_a_switch_only_raises_the_protocol() -> None:
    table = created().enable("domainMetadata", "checkConstraints")
    assert table.describe().protocol == "(1, 7, [appendOnly, checkConstraints, domainMetadata, invariants])"
    assert last(table)["operation"] == "UPGRADE PROTOCOL"
    assert not table.describe().properties


def test_what_is_so_already_makes_no_version() -> None:
    table = created().enable("deletionVectors")
    assert table.enable("deletionVectors").version == 1
    assert table.upgrade(1, 2).version == 1


def test_rows_get_their_ids_before_they_are_tracked() -> None:
    """PROTOCOL.md, "Row Tracking": a backfill before the property is set."""
    table = created(rows=ids(1, 2)).append(ids(3)).enable("rowTracking")
    assert operations(table)[-3:] == ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL", "SET TBLPROPERTIES"]
    assert sorted(table.to_arrow(["_row_id"]).column(0).to_pylist()) == [0, 1, 2]


@pytest.mark.parametrize("before, reader, writer, after", [
    ("(1, 2)", None, 4, "(1, 4)"), ("(1, 2)", 2, 5, "(2, 5)"), ("(1, 2)", 3, 7, "(1, 2)"), ("(1, 2)", None, 1, "(1, 2)"),
])  # fmt: skip
def test_versions_bring_their_bundles(before: str, reader: int | None, writer: int | None, after: str) -> None:
    """delta-table-features.md: (1, 2) to (1, 4)."""
    table = created()
    assert table.describe().protocol == before
    assert table.upgrade(reader, writer).describe().protocol == after


def test_versions_bring_their_bundles_to_tables_with_features_too() -> None:
    """delta-newest.md: "Setting versions on a feature table adds the features that version bundles"."""
    table = created().enable("deletionVectors").upgrade(writer=3)
    assert "checkConstraints" in table.describe().protocol
    assert "changeDataFeed" not in table.describe().protocol


@pytest.mark.parametrize("names, error", [
    ((), InvalidRequest), (("neverHeardOf",), InvalidRequest), (("clustering",), InvalidRequest),
    (("catalogManaged",), InvalidRequest), (("icebergCompatV3",), Unsupported), (("geospatial",), Unsupported),
    (("deletionVectors", "geospatial"), Unsupported),
])  # fmt: skip
def test_what_is_refused_leaves_the_table_as_it_was(names: tuple[str, ...], error: type[Exception]) -> None:
    table = created(rows=ids(1))
    with pytest.raises(error):
        table.enable(*names)
    assert esker.open(table.location).version == 1


@pytest.mark.parametrize("is_dry", [False, True])
@pytest.mark.parametrize("versions, problem", [
    ((), "neither a reader nor a writer version"), ((4, 7), "no reader version 4: they are 1 to 3"),
    ((None, 8), "no writer version 8"), ((0,), "no reader version 0"), ((3, 5), "goes with writer version 7"),
])  # fmt: skip
def test_an_upgrade_to_what_there_is_not_is_refused(versions: tuple[int | None, ...], problem: str, is_dry: bool) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        created().upgrade(*versions, dry_run=is_dry)


def test_a_dry_run_tells_the_change_and_its_clients_and_touches_nothing() -> None:
    table = created(rows=ids(1))
    plan = table.enable("deletionVectors", dry_run=True)
    assert isinstance(plan, ChangePlan)
    assert plan.foresight.protocol_before == "(1, 2)"
    assert plan.foresight.protocol_after.startswith("(3, 7, [deletionVectors]")
    assert plan.foresight.properties == {"delta.enableDeletionVectors": "true"}
    assert plan.lost
    assert not plan.gained
    assert "protocol: (1, 2) -> (3, 7" in str(plan)
    assert esker.open(table.location).version == table.version == 1
    table.enable("deletionVectors")
    assert table.describe().protocol == plan.foresight.protocol_after
    assert "is so already" in str(table.enable("deletionVectors", dry_run=True))


def test_what_a_drop_would_do_is_what_it_does() -> None:
    table = created(rows=ids(1, 2), properties={"delta.enableInCommitTimestamps": "true"})
    plan = table.drop_feature("inCommitTimestamp", dry_run=True)
    done = table.drop_feature("inCommitTimestamp")
    assert done.protocol == plan.foresight.protocol_after == table.describe().protocol
    changed = {name: text for name, text in plan.foresight.properties.items() if text is not None}
    assert changed.items() <= table.describe().properties.items()
    assert plan.gained


def test_a_protocol_change_conflicts_with_a_rival_that_changes_it_too() -> None:
    """databricks-table-features.md: "All protocol change operations conflict with concurrent writes"."""
    table = created(rows=ids(1))
    slow = with_rival(table, lambda other: other.enable("domainMetadata"))
    with pytest.raises(Conflict, match="changed the protocol"):
        slow.enable("deletionVectors")
    assert esker.open(table.location).enable("deletionVectors").version == 3


def test_a_write_that_was_under_way_conflicts_with_the_change_of_the_protocol() -> None:
    table = created(rows=ids(1))
    slow = with_rival(table, lambda other: other.enable("deletionVectors"))
    with pytest.raises(Conflict, match="changed the protocol"):
        slow.append(ids(2))


def test_the_way_is_chosen_that_keeps_a_client() -> None:
    """A client that does not know checkpointProtection writes only where history was truncated."""
    table = created(rows=ids(1), features=["vacuumProtocolCheck"])
    fast = table.drop_feature("vacuumProtocolCheck", dry_run=True)
    assert "checkpointProtection" in fast.foresight.protocol_after
    kept = table.drop_feature("vacuumProtocolCheck", keep_client="deltalake==1.6.6", dry_run=True)
    assert kept.foresight.protocol_after == "(1, 2)"
    newest = table.drop_feature("vacuumProtocolCheck", keep_client="delta-spark==4.0.0", dry_run=True)
    assert newest.foresight.protocol_after == fast.foresight.protocol_after


def test_protection_goes_the_only_way_there_is_for_a_client() -> None:
    table = created(rows=ids(1), features=["checkpointProtection"])
    plan = table.drop_feature("checkpointProtection", keep_client="deltalake==1.6.6", dry_run=True)
    assert plan.foresight.protocol_after == "(1, 2)"
    with pytest.raises(InvalidRequest, match="not in the table's protocol"):
        table.drop_feature("deletionVectors", keep_client="deltalake==1.6.6", dry_run=True)


def test_a_client_that_neither_way_keeps_is_told_why() -> None:
    table = created(rows=ids(1), features=["vacuumProtocolCheck", "icebergCompatV2", "columnMapping"])
    with pytest.raises(InvalidRequest, match=r"would not work(.|\n)*with the history truncated: icebergCompatV2"):
        table.drop_feature("vacuumProtocolCheck", keep_client="deltalake==1.6.6")
    assert esker.open(table.location).version == table.version


def test_features_of_a_table_that_cannot_be_read_are_told_and_foreseen(tmp_path: Path) -> None:
    built = DeltaTableBuilder(tmp_path)
    names = ["odd", "deletionVectors"]
    listed = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    built.commit({"protocol": listed}, {"metaData": metadata([column("id", "long")])})
    table = esker.open(built.storage.url)
    found = {f.name: f for f in table.features(history=True)}
    assert found["odd"].presence is Presence.SUPPORTED
    assert found["odd"].in_past is None
    assert found["deletionVectors"].in_past is False
    with pytest.raises(Unsupported):
        table.append(pa.table({"id": [1]}))
    plan = table.drop_feature("deletionVectors", truncate_history=True, dry_run=True)
    assert plan.foresight.protocol_after == "(3, 7, [odd], [odd])"
    with pytest.raises(Unsupported, match="odd"):
        table.drop_feature("deletionVectors")


def test_a_dry_run_is_refused_where_files_that_are_there_stand_against_the_change() -> None:
    """Iceberg Compatibility V1: files must have the partition columns, which those that are there may lack."""
    table = created("id BIGINT, p STRING", pa.table({"id": [1], "p": ["a"]}), partition_by=["p"])
    for is_dry in (True, False):
        with pytest.raises(InvalidRequest, match="1 files may lack the partition columns"):
            table.enable("icebergCompatV1", dry_run=is_dry)
    with pytest.raises(InvalidRequest, match="1 files may lack the partition columns"):
        table.compat(["trino"], after=esker.enable("icebergCompatV1"))
