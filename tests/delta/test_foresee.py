"""What a change of features or versions would make of a table, without touching it."""

from collections.abc import Mapping

import pytest

from esker.core.features import Presence
from esker.core.protocol_changes import Drop, Enable, ProtocolChange, Upgrade
from esker.core.types import INTEGER, Field, Struct
from esker.delta.actions import Metadata, with_schema
from esker.delta.features import Facts
from esker.delta.foresee import foreseen, foreseen_contract, property_differences
from esker.delta.protocol import Protocol, minimal
from esker.delta.required_features import NEW_TABLE
from esker.delta.settled import Settled
from esker.errors import InvalidRequest, Unsupported
from tests.delta.test_protocol import WRITER_2, WRITER_4, p

PLAIN = with_schema(Metadata("id", "", Struct()), Struct((Field("a", INTEGER), Field("b", INTEGER))))
ON = "true"


def table(protocol: Protocol = NEW_TABLE, configuration: Mapping[str, str] | None = None) -> Settled:
    return Settled(Metadata("id", PLAIN.schema_string, PLAIN.schema, configuration=configuration or {}), protocol)


# Enabling


@pytest.mark.parametrize("before, names, after, stored", [
    # no version implies just these three; the bundle of (1, 4) comes only when it is asked for
    (p(1, 2), "changeDataFeed", p(1, 7, f"{WRITER_2} changeDataFeed"), {"delta.enableChangeDataFeed": ON}),
    (p(1, 2), "changeDataFeed checkConstraints generatedColumns", p(1, 4), {"delta.enableChangeDataFeed": ON}),
    (p(1, 4), "changeDataFeed", p(1, 4), {"delta.enableChangeDataFeed": ON}),
    # delta-table-features.md, "As a user of Delta Spark": from (1, 4) to (3, 7), with all that (1, 4) bundles
    (p(1, 4), "deletionVectors", p(3, 7, f"{WRITER_4} deletionVectors", "deletionVectors"),
     {"delta.enableDeletionVectors": ON}),
    (p(1, 2), "checkConstraints", p(1, 3), {}),
    (p(1, 2), "CHECKCONSTRAINTS", p(1, 3), {}),
    (p(1, 2), "vacuumProtocolCheck", p(3, 7, f"{WRITER_2} vacuumProtocolCheck", "vacuumProtocolCheck"), {}),
    (p(1, 2), "rowTracking", p(1, 7, f"{WRITER_2} rowTracking domainMetadata"), {"delta.enableRowTracking": ON}),
    (p(1, 2), "domainMetadata", p(1, 7, f"{WRITER_2} domainMetadata"), {}),
    (p(1, 2), "timestampNtz", p(3, 7, f"{WRITER_2} timestampNtz", "timestampNtz"), {}),
    (p(1, 2), "v2Checkpoint", p(3, 7, f"{WRITER_2} v2Checkpoint", "v2Checkpoint"), {"delta.checkpointPolicy": "v2"}),
    (p(1, 2), "inCommitTimestamp appendOnly", p(1, 7, f"{WRITER_2} inCommitTimestamp"),
     {"delta.enableInCommitTimestamps": ON, "delta.appendOnly": ON}),
    (p(1, 2), "variantShredding", p(3, 7, f"{WRITER_2} variantType variantShredding", "variantType variantShredding"),
     {"delta.enableVariantShredding": ON}),
])  # fmt: skip
def test_enabling_raises_the_protocol_by_no_more_than_it_must(
    before: Protocol, names: str, after: Protocol, stored: Mapping[str, str]
) -> None:
    """databricks-table-features.md, "Lowest possible protocol", "What triggers a protocol upgrade"."""
    found = foreseen(table(before), Enable(tuple(names.split())), 3)
    assert found.protocol == after
    own = {key: text for key, text in property_differences(PLAIN, found.metadata).items() if "materialized" not in key}
    assert own == stored


def test_what_a_feature_requires_to_be_active_is_turned_on_with_it() -> None:
    """PROTOCOL.md, "Iceberg Compatibility V2": column mapping must be enabled."""
    found = foreseen(table(), Enable(("icebergCompatV2",)), 0)
    assert found.metadata.configuration["delta.columnMapping.mode"] == "name"
    assert found.metadata.configuration["delta.enableIcebergCompatV2"] == ON
    assert found.protocol == p(2, 7, f"{WRITER_2} icebergCompatV2 columnMapping")


def test_a_mode_that_is_active_already_stays() -> None:
    mapped = foreseen(table(), Enable(("columnMapping",)), 0)
    assert foreseen(mapped, Enable(("columnMapping",)), 1) == mapped


@pytest.mark.parametrize("preview", ["typeWidening-preview", "variantShredding-preview"])
def test_a_preview_name_keeps_the_final_one_out(preview: str) -> None:
    """delta-newest.md: "an implementation must not silently add the final name (older clients would break)"."""
    before = table(minimal([preview, "variantType"]))
    assert foreseen(before, Enable((preview.removesuffix("-preview"),)), 0).protocol == before.protocol


@pytest.mark.parametrize("name, told", [
    ("catalogManaged", "only be given to a table when it is created"),
    ("icebergWriterCompatV1", "only be given to a table when it is created"),
    ("clustering", "cluster_by"), ("coordinatedCommits-preview", "retired"), ("neverHeardOf", "no such feature"),
])
def test_what_cannot_be_enabled_is_refused_with_the_reason(name: str, told: str) -> None:
    """features-catalogue.md, "auto": N, and "new tables only"."""
    with pytest.raises(InvalidRequest, match=told):
        foreseen(table(), Enable((name,)), 0)


def test_features_that_exclude_one_another_are_refused() -> None:
    """features-catalogue.md, "Mutual exclusions and cross conditions"."""
    before = foreseen(table(), Enable(("deletionVectors",)), 0)
    with pytest.raises(InvalidRequest, match="icebergCompatV2 and deletionVectors must not both be active"):
        foreseen(before, Enable(("icebergCompatV2",)), 0)


# Upgrading


@pytest.mark.parametrize("before, change, after", [
    (p(1, 2), Upgrade(writer=4), p(1, 4)), (p(1, 2), Upgrade(2, 5), p(2, 5)), (p(1, 4), Upgrade(1, 2), p(1, 4)),
    (p(1, 2), Upgrade(writer=5), p(1, 4)), (p(1, 2), Upgrade(3, 7), p(1, 2)),
    (p(1, 7, "appendOnly"), Upgrade(writer=3), p(1, 3)),
    (p(1, 7, f"{WRITER_2} domainMetadata"), Upgrade(writer=4), p(1, 7, f"{WRITER_4} domainMetadata")),
])
def test_an_upgrade_adds_what_the_versions_imply_and_takes_nothing_out(
    before: Protocol, change: Upgrade, after: Protocol
) -> None:
    """PROTOCOL.md, "Writer Version Requirements"; delta-newest.md: "Setting lower versions [...] is a silent no-op"."""
    assert foreseen(table(before), change, 0).protocol == after


def test_reader_version_3_goes_with_writer_version_7() -> None:
    """PROTOCOL.md, "Table Features for New and Existing Tables"."""
    with pytest.raises(InvalidRequest, match="reader version 3 goes with writer version 7"):
        foreseen(table(), Upgrade(reader=3), 0)


# Dropping


@pytest.mark.parametrize("before, names, truncates, after", [
    (p(1, 3), "checkConstraints", False, p(1, 2)),
    (p(1, 4), "checkConstraints", False, p(1, 7, f"{WRITER_2} changeDataFeed generatedColumns")),
    (p(3, 7, f"{WRITER_2} deletionVectors", "deletionVectors"), "deletionVectors", True, p(1, 2)),
    (p(3, 7, f"{WRITER_2} deletionVectors", "deletionVectors"), "deletionVectors", False,
     p(1, 7, f"{WRITER_2} checkpointProtection")),
    (p(2, 5), "columnMapping", True, p(1, 4)),
    (p(2, 6), "columnMapping", True, p(1, 6)),
    (p(2, 5), "columnMapping", False, p(1, 7, f"{WRITER_4} checkpointProtection")),
    (p(1, 7, "rowTracking domainMetadata"), "rowTracking", False, p(1, 7, "domainMetadata")),
    (p(1, 7, "rowTracking domainMetadata"), "domainMetadata rowTracking", False, p(1, 1)),
    (p(3, 7, "typeWidening-preview", "typeWidening-preview"), "typeWidening", True, p(1, 1)),
    (p(3, 7, "typeWidening typeWidening-preview", "typeWidening typeWidening-preview"), "typeWidening-preview", True,
     p(3, 7, "typeWidening", "typeWidening")),
    (p(1, 7, f"{WRITER_2} checkpointProtection"), "checkpointProtection", True, p(1, 2)),
    (p(3, 7, "deletionVectors odd", "deletionVectors odd"), "deletionVectors", True, p(3, 7, "odd", "odd")),
])  # fmt: skip
def test_dropping_leaves_the_lowest_protocol_for_what_remains(
    before: Protocol, names: str, truncates: bool, after: Protocol
) -> None:
    """delta-newest.md, "DROP FEATURE": "protocol - f, normalised"; fast, "add `checkpointProtection`"."""
    assert foreseen(table(before), Drop(tuple(names.split()), truncates), 4).protocol == after


def test_a_fast_drop_has_older_checkpoints_protected() -> None:
    """delta-newest.md, "checkpointProtection": "set `delta.requireCheckpointProtectionBeforeVersion` = this commit's version"."""
    before = table(minimal(["v2Checkpoint"]), {"delta.checkpointPolicy": "v2"})
    after = foreseen(before, Drop(("v2Checkpoint",)), 8).metadata.configuration
    assert after == {"delta.checkpointPolicy": "classic", "delta.requireCheckpointProtectionBeforeVersion": "9"}


@pytest.mark.parametrize("protocol, configuration, names, told", [
    (p(1, 2), {}, "deletionVectors", "not in the table's protocol"),
    (p(1, 2), {}, "neverHeardOf", "no feature neverHeardOf"),
    (p(1, 2), {}, "delta.appendOnly", "is a property, not a feature"),
    (p(1, 2), {}, "appendOnly", "appendOnly stays: Delta defines no way(.|\n)*set delta.appendOnly=false"),
    (p(1, 4), {}, "changeDataFeed", "set delta.enableChangeDataFeed=false"),
    (p(1, 3), {"delta.constraints.c": "a > 1"}, "checkConstraints", "the constraint c is there; drop_constraint first"),
    (p(1, 7, "rowTracking domainMetadata"), {}, "domainMetadata", "required by rowTracking; drop that too"),
    (p(2, 7, "columnMapping icebergCompatV2"), {}, "columnMapping", "icebergCompatV2, which cannot be dropped either"),
    (p(1, 7, "checkpointProtection"), {}, "checkpointProtection", "truncate the history"),
    (p(1, 7, "coordinatedCommits-preview"), {"delta.coordinatedCommits.commitCoordinator-preview": "x"},
     "coordinatedCommits-preview", "the coordinator x"),
    (p(3, 7, "adaptiveMetadata", "adaptiveMetadata"), {}, "adaptiveMetadata", "manifest trees"),
])  # fmt: skip
def test_what_cannot_be_dropped_is_refused_with_the_reason(
    protocol: Protocol, configuration: Mapping[str, str], names: str, told: str
) -> None:
    """delta-newest.md, "DROP FEATURE": the checks in their order."""
    with pytest.raises(InvalidRequest, match=told):
        foreseen(table(protocol, configuration), Drop(tuple(names.split())), 0)


def test_history_is_truncated_only_for_features_that_it_needs() -> None:
    """delta-newest.md: "TRUNCATE HISTORY on a feature that does not need it -> [...]HISTORY_TRUNCATION_NOT_ALLOWED"."""
    with pytest.raises(InvalidRequest, match="no history has to be truncated"):
        foreseen(table(p(1, 3)), Drop(("checkConstraints",), truncates_history=True), 0)


def test_what_is_out_already_is_no_reason_to_refuse_the_rest() -> None:
    before = table(p(1, 7, f"{WRITER_2} domainMetadata"))
    assert foreseen(before, Drop(("rowTracking", "domainMetadata")), 0).protocol == p(1, 2)


def test_a_feature_that_esker_does_not_know_is_not_dropped() -> None:
    with pytest.raises(Unsupported, match="odd"):
        foreseen(table(p(1, 7, "odd")), Drop(("odd",)), 0)


# What clients would be asked for


def presence(before: Settled, change: ProtocolChange) -> Mapping[str, Presence]:
    facts = Facts(before.metadata.configuration, before.metadata.schema, frozenset(), False, False, False, False)
    return foreseen_contract(foreseen(before, change, 0), facts, change).features


def test_a_feature_that_is_enabled_is_counted_as_used() -> None:
    assert presence(table(), Enable(("rowTracking",))) == {
        "appendOnly": Presence.SUPPORTED, "invariants": Presence.SUPPORTED, "domainMetadata": Presence.IN_USE,
        "rowTracking": Presence.IN_USE,
    }  # fmt: skip


def test_a_feature_that_is_dropped_asks_nothing_of_clients() -> None:
    before = table(minimal(["deletionVectors"]), {"delta.enableDeletionVectors": ON})
    assert presence(before, Drop(("deletionVectors",), truncates_history=True)) == {}
    assert presence(before, Drop(("deletionVectors",))) == {"checkpointProtection": Presence.IN_USE}
