"""Changing what an Iceberg table asks of its clients.  (spec, "Format Versioning", "Row-level Deletes", Appendix E)"""

from collections.abc import Mapping
from itertools import count

import pyarrow as pa
import pytest

import esker
from esker.check.model import Severity
from esker.compat.promises import broken
from esker.core.demands import PROMISES
from esker.core.features import Presence
from esker.core.protocol_changes import Drop, Upgrade
from esker.errors import InvalidRequest
from esker.testing.faults import Rival
from tests.delta.arranging import ArrowArranger
from tests.iceberg.operations import START, delete, opened, properties, seen, table_with

MARKING = {f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "update", "merge")}
OLD = "pyiceberg==0.6.0: read"
NO_MARKS = "clickhouse>=25.5,<25.6: read"
_NAMES = count()


def made(asked: Mapping[str, str] | None = None, **more: object) -> esker.Table:
    where = f"memory://contract-{next(_NAMES)}/table"
    return esker.create(where, "id bigint, name string", format="iceberg", properties=dict(asked or {}), **more)  # type: ignore[arg-type]


def presence(table: esker.Table, name: str) -> Presence:
    (found,) = [feature for feature in table.features() if feature.name == name]
    return found.presence


def test_a_version_is_raised_after_it_was_told_whom_that_loses() -> None:
    table = made()
    plan = table.upgrade(3, dry_run=True)
    assert (plan.foresight.protocol_before, plan.foresight.protocol_after) == ("format version 2", "format version 3")
    assert any("cannot be taken back" in step for step in plan.foresight.steps)
    assert {change.client.name for change in plan.lost} > {"trino", "pyiceberg"}
    assert table.at().describe().protocol == "format version 2"
    assert table.compat(["pyiceberg==0.6.0"], after=esker.upgrade(3)).lost
    assert table.upgrade(3).describe().protocol == "format version 3"
    assert table.upgrade(3, dry_run=True).foresight.changes_nothing
    with pytest.raises(InvalidRequest, match="cannot go back"):
        table.upgrade(2)


@pytest.mark.parametrize("versions", [(), (2, 3)])
def test_readers_and_writers_go_by_one_version(versions: tuple[int, ...]) -> None:
    with pytest.raises(InvalidRequest, match="one format version"):
        made().upgrade(*versions)


@pytest.mark.parametrize(
    "feature, before, after, is_marking",
    [
        ("row-lineage", 2, 3, False), ("type_variant", 1, 3, False), ("deletion_vectors", 2, 3, True), ("position_deletes", 1, 2, True),
        ("equality_deletes", 1, 2, False), ("refs", 1, 1, False), ("deletion_vectors", 3, 3, True),
    ],
)  # fmt: skip
def test_a_feature_is_enabled_by_the_lowest_version_that_admits_it(feature: str, before: int, after: int, is_marking: bool) -> None:
    table = made({"format-version": str(before)})
    plan = table.enable(feature, dry_run=True)
    assert plan.foresight.protocol_after == f"format version {after}"
    table.enable(feature)
    described = table.at().describe()
    assert (described.protocol, dict(described.properties)) == (f"format version {after}", MARKING if is_marking else {})
    assert dict(plan.foresight.properties) == dict(described.properties)


def test_what_is_enabled_counts_as_used() -> None:
    plan = made({"format-version": "3"}).enable("type_variant", dry_run=True)
    assert plan.foresight.after.features["type_variant"] is Presence.IN_USE
    assert "pyiceberg" in {change.client.name for change in plan.lost}


def test_what_cannot_be_enabled_says_why() -> None:
    with pytest.raises(InvalidRequest, match="version 3 add none"):
        made({"format-version": "3"}).enable("position_deletes")
    with pytest.raises(InvalidRequest, match="does not decrypt"):
        made().enable("encryption_keys")
    with pytest.raises(InvalidRequest, match="no such feature"):
        made().enable("teleportation")


@pytest.mark.parametrize("version, feature", [(2, "position_deletes"), (3, "deletion_vectors")])
def test_deletes_are_dropped_with_what_they_delete(version: int, feature: str) -> None:
    table = delete(table_with(properties(version, "merge-on-read")))
    handle = esker.Table(table)
    plan = handle.drop_feature(feature, dry_run=True)
    assert len(plan.foresight.rewriting.files) == 2
    assert dict(plan.foresight.properties) == dict.fromkeys(MARKING)
    done, dropped = table.drop_features(Drop((feature,)), ArrowArranger())
    assert (dropped.features, dropped.is_done) == ((feature,), True)
    assert seen(done) == {key: value for key, value in START.items() if key not in (2, 12)}
    assert presence(esker.Table(done), feature) is Presence.SUPPORTED
    assert seen(delete(done, "id = 3")) == {key: value for key, value in START.items() if key not in (2, 3, 12)}
    assert presence(esker.Table(done), feature) is Presence.SUPPORTED


def test_branches_and_tags_are_dropped() -> None:
    table = made().append(pa.table({"id": [1], "name": ["a"]}))
    table.iceberg.create_tag("then")
    table.iceberg.create_branch("audit")
    assert table.drop_feature("refs").is_done
    assert table.metadata("refs").column("name").to_pylist() == ["main"]


@pytest.mark.parametrize(
    "feature, why",
    [
        ("row_lineage", "never lowered"), ("deletion_vectors", "is not used"), ("type_geometry", "is not used"),
        ("default_values", "drop the columns"), ("teleportation", "no such feature"),
    ],
)
def test_what_cannot_be_dropped_says_why(feature: str, why: str) -> None:
    table = made({"format-version": "3"}).add_columns("stars int DEFAULT 5")
    with pytest.raises(InvalidRequest, match=why):
        table.drop_feature(feature, dry_run=True)
    with pytest.raises(InvalidRequest, match="go by vacuum"):
        table.drop_feature(feature, truncate_history=True)


def test_what_a_version_does_not_admit_is_not_there_to_be_dropped() -> None:
    with pytest.raises(InvalidRequest, match="not in the table"):
        made().drop_feature("deletion_vectors")


def test_a_promise_is_kept_in_the_commit() -> None:
    table = made().require([OLD])
    assert table.at().describe().properties == {PROMISES: OLD}
    with pytest.raises(InvalidRequest, match=r"pyiceberg==0\.6\.0: read"):
        table.upgrade(3)
    assert table.at().describe().protocol == "format version 2"
    assert table.append(pa.table({"id": [1], "name": ["a"]})).to_arrow().num_rows == 1
    with table.forced():
        table.upgrade(3)
    (breach,) = table.compat(["trino"]).breaches
    assert breach.startswith(OLD)
    assert table.unrequire().promises == ()


def test_deletes_that_break_a_promise_do_not_come_from_a_branch() -> None:
    table = table_with(properties(2, "merge-on-read"))
    handle = esker.Table(table)
    handle.iceberg.create_branch("audit")
    delete(handle.at(ref="audit")._table)  # type: ignore[arg-type]
    handle.at().unset_properties(*MARKING)
    promising = handle.at()
    with promising.forced():
        promising.set_properties({PROMISES: NO_MARKS})
    with pytest.raises(InvalidRequest, match="position_deletes"):
        promising.iceberg.fast_forward("main", to="audit")
    assert promising.at().to_arrow().num_rows == len(START)
    with promising.forced():
        promising.iceberg.fast_forward("main", to="audit")
    assert promising.at().to_arrow().num_rows == len(START) - 2


def test_a_promise_that_a_rival_has_made_meanwhile_is_kept() -> None:
    storage = table_with(properties(2)).state.place.storage
    rival = Rival(storage, lambda: opened(storage).set_properties({PROMISES: OLD}), "metadata/v*.metadata.json")
    with pytest.raises(InvalidRequest, match="promised"):
        opened(rival).judged_by(broken).upgrade(Upgrade(3))
    assert opened(storage).state.metadata.format_version == 2


def test_a_table_that_would_break_its_own_promise_is_not_created() -> None:
    with pytest.raises(InvalidRequest, match="promised"):
        made({"format-version": "3", PROMISES: OLD})
    table = made({"format-version": "3", PROMISES: OLD}, force=True)
    assert table.promises == (OLD,)


def test_a_promise_that_is_broken_already_does_not_stand_in_the_way() -> None:
    table = table_with(properties(3, **{PROMISES: OLD})).judged_by(broken)
    assert seen(delete(table)) == {key: value for key, value in START.items() if key not in (2, 12)}


@pytest.mark.parametrize("before, after", [("1", "2"), ("1", "3"), ("2", "3")])
def test_a_table_may_be_replaced_by_one_of_a_higher_version(before: str, after: str) -> None:
    table = made({"format-version": before}).append(pa.table({"id": [1], "name": ["a"]}))
    fresh = esker.create(table.location, pa.table({"n": [7]}), format="iceberg", properties={"format-version": after}, if_exists="replace")
    assert fresh.at().to_arrow().to_pylist() == [{"n": 7}]
    assert fresh.at().describe().protocol == f"format version {after}"
    assert not [finding for finding in fresh.check(deep=True) if finding.severity is Severity.ERROR]


def test_a_table_in_the_place_of_another_keeps_its_promises() -> None:
    table = made().require([OLD])
    with pytest.raises(InvalidRequest, match="promised"):
        esker.create(table.location, "id bigint", format="iceberg", properties={"format-version": "3"}, if_exists="replace")
    assert esker.create(table.location, "id bigint", format="iceberg", if_exists="replace").promises == (OLD,)
