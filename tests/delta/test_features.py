"""The registry of Delta features: every record, and what makes each active and in use."""

from collections.abc import Mapping

import pytest

from esker.core.features import Enabling, Feature, Operation, Permanent, Presence, Removable, Scope, Status
from esker.core.types import (
    INTEGER,
    STRING,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NS,
    VARIANT,
    Array,
    Field,
    Json,
    Map,
    Primitive,
    Struct,
    Type,
)
from esker.delta.drop_rules import RECIPES
from esker.delta.drop_steps import STEPS
from esker.delta.features import FEATURES, Facts
from esker.delta.past import NEEDS
from esker.delta.protocol import minimal, presences
from esker.delta.required_features import required

RW, W = Scope.READ_WRITE, Scope.WRITE

CATALOGUE = [
    ("appendOnly", W, (1, 2), ""), ("invariants", W, (1, 2), ""), ("checkConstraints", W, (1, 3), ""),
    ("changeDataFeed", W, (1, 4), ""), ("generatedColumns", W, (1, 4), ""), ("columnMapping", RW, (2, 5), ""),
    ("identityColumns", W, (1, 6), ""), ("allowColumnDefaults", W, None, ""), ("deletionVectors", RW, None, ""),
    ("domainMetadata", W, None, ""), ("rowTracking", W, None, "domainMetadata"), ("timestampNtz", RW, None, ""),
    ("v2Checkpoint", RW, None, ""), ("vacuumProtocolCheck", RW, None, ""), ("inCommitTimestamp", W, None, ""),
    ("clustering", W, None, "domainMetadata"), ("icebergCompatV1", W, None, "columnMapping"),
    ("icebergCompatV2", W, None, "columnMapping"), ("icebergCompatV3", W, None, "columnMapping rowTracking"),
    ("icebergWriterCompatV1", W, None, "icebergCompatV2"), ("icebergWriterCompatV3", W, None, "icebergCompatV3"),
    ("typeWidening", RW, None, ""), ("variantType", RW, None, ""), ("variantShredding", RW, None, "variantType"),
    ("catalogManaged", RW, None, "inCommitTimestamp"), ("checkpointProtection", W, None, ""),
    ("materializePartitionColumns", W, None, ""), ("collations", W, None, "domainMetadata"),
    ("columnMappingUsageTracking", W, None, "columnMapping"), ("timestampNanos", RW, None, "timestampNtz"),
    ("geospatial", RW, None, ""),
    ("adaptiveMetadata", RW, None, "columnMapping rowTracking domainMetadata deletionVectors inCommitTimestamp"),
    ("inCommitTimestamp-preview", W, None, ""),
    ("coordinatedCommits-preview", W, None, "inCommitTimestamp vacuumProtocolCheck"),
    ("redirectReaderWriter-preview", RW, None, ""), ("redirectWriterOnly-preview", W, None, ""),
]


def test_the_registry_is_the_catalogue() -> None:
    """PROTOCOL.md, "Valid Feature Names in Table Features", and what came after."""
    assert [(f.name, f.scope, f.implied_by, " ".join(f.requires)) for f in FEATURES] == CATALOGUE


@pytest.mark.parametrize("alias, name", [
    ("timestampWithoutTimezone", "timestampNtz"), ("inCommitTimestamps", "inCommitTimestamp"),
    ("typeWidening-preview", "typeWidening"), ("variantType-preview", "variantType"),
    ("variantShredding-preview", "variantShredding"), ("catalogOwned-preview", "catalogManaged"),
    ("collations-preview", "collations"), ("geospatial-dev", "geospatial"),
    ("adaptiveMetadata-preview", "adaptiveMetadata"), ("managedCommit", "coordinatedCommits-preview"),
])
def test_old_and_preview_names_are_known(alias: str, name: str) -> None:
    found = FEATURES.get(alias)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("word", ["catalogOwned", "liquid", "uniform", "void", "tableFeatures", "blahabl"])
def test_what_is_no_feature_name_is_unknown(word: str) -> None:
    assert FEATURES.get(word) is None


def test_records_speak_only_of_records() -> None:
    for feature in FEATURES:
        for name in (*feature.requires, *feature.excludes):
            found = FEATURES.get(name)
            assert found is not None
            assert found.name == name
        assert set(feature.requires_active) <= set(feature.requires)


def test_every_record_is_a_sentence_with_a_section() -> None:
    for feature in FEATURES:
        assert feature.summary.endswith(".")
        assert feature.summary[0].isupper()
        assert feature.section.document
        assert (feature.section.anchor or feature.section.document != "PROTOCOL.md")
        if feature.status in (Status.SPEC, Status.ACCEPTED):
            assert feature.section.document == "PROTOCOL.md"


def test_only_a_legacy_feature_is_implied_by_versions() -> None:
    """PROTOCOL.md, "Writer Version Requirements"."""
    assert [f.name for f in FEATURES if f.implied_by] == [name for name, _, versions, _ in CATALOGUE if versions]


WRITTEN = {
    "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping", "identityColumns",
    "allowColumnDefaults", "deletionVectors", "domainMetadata", "rowTracking", "timestampNtz", "v2Checkpoint",
    "vacuumProtocolCheck", "inCommitTimestamp", "clustering", "icebergCompatV1", "icebergCompatV2", "typeWidening",
    "variantType", "variantShredding", "checkpointProtection", "materializePartitionColumns",
}  # fmt: skip


def test_what_esker_supports() -> None:
    unread = {"geospatial", "adaptiveMetadata", "timestampNanos", "redirectReaderWriter-preview", "catalogManaged"}
    assert {f.name for f in FEATURES if not f.support.allows(Operation.READ)} == unread
    written = {f.name for f in FEATURES if f.support.allows(Operation.WRITE)}
    assert written == WRITTEN
    assert all(f.support.reason for f in FEATURES if f.name not in written)


REMOVABLE = {
    "checkConstraints", "columnMapping", "deletionVectors", "domainMetadata", "rowTracking", "v2Checkpoint",
    "vacuumProtocolCheck", "inCommitTimestamp", "typeWidening", "checkpointProtection", "materializePartitionColumns",
    "geospatial", "adaptiveMetadata", "coordinatedCommits-preview", "redirectReaderWriter-preview",
    "redirectWriterOnly-preview",
}


def test_what_can_be_removed_and_what_history_protects() -> None:
    """delta-newest.md, "DROP FEATURE": "History protected" are the features for readers, but for redirections."""
    assert {f.name for f in FEATURES if isinstance(f.removal, Removable)} == REMOVABLE
    for feature in FEATURES:
        match feature.removal:
            case Removable(before=before, downgrade=downgrade, history_protected=is_protected):
                assert before
                assert downgrade
                assert is_protected == (feature.scope is RW and not feature.name.startswith("redirect"))
            case Permanent(why=why, instead=instead):
                assert why
                assert instead


def test_every_removable_feature_has_a_recipe_and_no_other() -> None:
    """features-catalogue.md, "Removal recipes"."""
    assert set(RECIPES) == REMOVABLE
    assert set(STEPS) | set(NEEDS) <= REMOVABLE
    protected = {f.name for f in FEATURES if isinstance(f.removal, Removable) and f.removal.traces}
    assert set(NEEDS) == protected


@pytest.mark.parametrize("feature", [pytest.param(f, id=f.name) for f in FEATURES if f.switch])
def test_a_switch_makes_its_feature_active_and_has_the_protocol_ask_for_it(feature: Feature[Facts]) -> None:
    assert feature.switch is not None
    configuration = dict([feature.switch])
    assert feature.active(Facts(configuration))
    assert feature.name in required(schema(), configuration)
    assert feature.trigger


def test_timestamp_ntz_is_not_added_silently_to_an_existing_table() -> None:
    """delta-newest.md, "Protocol arithmetic": "`timestampNtz` is the notable exception"."""
    feature = FEATURES.get("timestampNtz")
    assert feature is not None
    assert Enabling.EXISTING not in feature.enabling
    assert Enabling.NEW in feature.enabling


def schema(type: Type = INTEGER, metadata: Mapping[str, Json] | None = None) -> Struct:
    return Struct((Field("a", STRING), Field("b", type, metadata=metadata or {})))


def nested(key: str) -> Struct:
    """A schema with the key on a field inside a struct, inside an array, inside a map."""
    inner = Struct((Field("x", INTEGER, metadata={key: "1"}),))
    return Struct((Field("m", Map(STRING, Array(inner))),))


def presence(name: str, facts: Facts) -> Presence:
    return next(p.presence for p in presences(minimal([name]), facts) if p.name == name)


def on(key: str, value: str = "true") -> Facts:
    return Facts(configuration={key: value})


@pytest.mark.parametrize("name, key", [
    ("appendOnly", "delta.appendOnly"), ("changeDataFeed", "delta.enableChangeDataFeed"),
    ("changeDataFeed", "delta.enableChangeDataCapture"), ("deletionVectors", "delta.enableDeletionVectors"),
    ("rowTracking", "delta.enableRowTracking"), ("icebergCompatV1", "delta.enableIcebergCompatV1"),
    ("icebergCompatV2", "delta.enableIcebergCompatV2"), ("icebergCompatV3", "delta.enableIcebergCompatV3"),
    ("icebergWriterCompatV1", "delta.enableIcebergWriterCompatV1"),
    ("icebergWriterCompatV3", "delta.enableIcebergWriterCompatV3"), ("typeWidening", "delta.enableTypeWidening"),
    ("variantShredding", "delta.enableVariantShredding"),
])
def test_a_property_makes_a_supported_feature_active(name: str, key: str) -> None:
    """PROTOCOL.md, "Active Features"."""
    assert presence(name, Facts()) is Presence.SUPPORTED
    assert presence(name, on(key, "false")) is Presence.SUPPORTED
    assert presence(name, on(key)) is Presence.ACTIVE
    assert presence(name, on(key, "TRUE")) is Presence.ACTIVE


def test_a_property_without_the_feature_makes_nothing_active() -> None:
    """PROTOCOL.md, "Active Features": "supported *and* its metadata requirements are satisfied"."""
    found = presences(minimal(["invariants"]), on("delta.enableDeletionVectors"))
    assert [p.presence for p in found if p.name == "deletionVectors"] == [Presence.ABSENT]


@pytest.mark.parametrize("name, key", [
    ("invariants", "delta.invariants"), ("generatedColumns", "delta.generationExpression"),
    ("identityColumns", "delta.identity.start"), ("allowColumnDefaults", "CURRENT_DEFAULT"),
    ("collations", "__COLLATIONS"), ("typeWidening", "delta.typeChanges"),
])
def test_a_key_in_a_column_s_metadata_is_use_however_deep_the_column(name: str, key: str) -> None:
    """PROTOCOL.md, "Column Metadata"."""
    assert presence(name, Facts()) is Presence.SUPPORTED
    assert presence(name, Facts(schema=Struct((Field("a", STRING, metadata={key: "1"}),)))) is Presence.IN_USE
    assert presence(name, Facts(schema=nested(key))) is Presence.IN_USE


@pytest.mark.parametrize("name, type", [
    ("timestampNtz", TIMESTAMP_NTZ), ("variantType", VARIANT), ("timestampNanos", TIMESTAMP_NTZ_NS),
    ("geospatial", Primitive("geometry(OGC:CRS84)")), ("geospatial", Primitive("geography")),
])
def test_a_column_of_the_type_is_use(name: str, type: Type) -> None:
    """PROTOCOL.md, "Timestamp without timezone (TimestampNtz)", and the other features that bring a type."""
    assert presence(name, Facts(schema=schema())) is Presence.ACTIVE
    assert presence(name, Facts(schema=schema(type))) is Presence.IN_USE
    assert presence(name, Facts(schema=schema(Map(STRING, Array(type))))) is Presence.IN_USE


@pytest.mark.parametrize("name, used, unused", [
    ("deletionVectors", Facts(has_deletion_vectors=True), Facts(has_deletion_vectors=False)),
    ("changeDataFeed", Facts(has_change_files=True), Facts(has_change_files=False)),
    ("rowTracking", Facts(has_row_ids=True), Facts(has_row_ids=False)),
    ("v2Checkpoint", Facts(checkpoint_is_v2=True), Facts(checkpoint_is_v2=False)),
    ("domainMetadata", Facts(domains=frozenset({"a"})), Facts(domains=frozenset())),
    ("clustering", Facts(domains=frozenset({"delta.clustering"})), Facts(domains=frozenset({"a"}))),
    ("checkpointProtection", on("delta.requireCheckpointProtectionBeforeVersion", "7"),
     on("delta.requireCheckpointProtectionBeforeVersion", "0")),
    ("checkConstraints", on("delta.constraints.positive", "a > 0"), on("delta.other", "a > 0")),
    ("inCommitTimestamp", on("delta.enableInCommitTimestamps"), on("delta.enableInCommitTimestamps", "false")),
    ("inCommitTimestamp-preview", on("delta.enableInCommitTimestamps-preview"), on("delta.enableInCommitTimestamps")),
    ("columnMappingUsageTracking", on("delta.columnMapping.hasDroppedOrRenamed", "false"), Facts()),
    ("coordinatedCommits-preview", on("delta.coordinatedCommits.commitCoordinator-preview", "dynamodb"), Facts()),
    ("redirectReaderWriter-preview", on("delta.redirectReaderWriter-preview", "{}"), Facts()),
    ("redirectWriterOnly-preview", on("delta.redirectWriterOnly-preview", "{}"), Facts()),
])
def test_what_proves_use(name: str, used: Facts, unused: Facts) -> None:
    """PROTOCOL.md, each feature's own section."""
    assert presence(name, used) is Presence.IN_USE
    assert presence(name, unused) < Presence.IN_USE


@pytest.mark.parametrize("name", ["deletionVectors", "rowTracking", "v2Checkpoint", "domainMetadata", "clustering"])
def test_what_was_not_read_is_not_known(name: str) -> None:
    found = next(p for p in presences(minimal([name]), Facts()) if p.name == name)
    assert found.in_use is None
    assert found.presence < Presence.IN_USE


@pytest.mark.parametrize("mode, expected", [
    ("none", Presence.SUPPORTED), ("name", Presence.ACTIVE), ("id", Presence.ACTIVE), ("ID", Presence.ACTIVE),
])
def test_column_mapping_is_active_in_mode_name_or_id(mode: str, expected: Presence) -> None:
    """PROTOCOL.md, "Column Mapping"."""
    assert presence("columnMapping", on("delta.columnMapping.mode", mode)) is expected


def test_column_mapping_is_in_use_when_columns_have_physical_names() -> None:
    facts = Facts({"delta.columnMapping.mode": "name"}, schema(metadata={"delta.columnMapping.physicalName": "col-1"}))
    assert presence("columnMapping", facts) is Presence.IN_USE


def contradictions(names: str, **configuration: str) -> list[str]:
    facts = Facts({f"delta.{key}": value for key, value in configuration.items()}, has_deletion_vectors=False)
    return list(FEATURES.contradictions(presences(minimal(names.split()), facts)))


@pytest.mark.parametrize("names, properties, told", [
    ("rowTracking", {}, ["rowTracking requires domainMetadata, which is absent"]),
    ("rowTracking domainMetadata", {}, []),
    ("icebergCompatV1 columnMapping", {"enableIcebergCompatV1": "true"},
     ["icebergCompatV1 requires columnMapping to be active"]),
    ("icebergCompatV1 columnMapping", {"enableIcebergCompatV1": "true", "columnMapping.mode": "name"}, []),
    ("icebergCompatV1 columnMapping icebergCompatV2",
     {"enableIcebergCompatV1": "true", "enableIcebergCompatV2": "true", "columnMapping.mode": "name"},
     ["icebergCompatV1 and icebergCompatV2 must not both be active"]),
    ("icebergCompatV2 columnMapping deletionVectors",
     {"enableIcebergCompatV2": "true", "columnMapping.mode": "name"}, []),
    ("icebergCompatV2 columnMapping deletionVectors",
     {"enableIcebergCompatV2": "true", "columnMapping.mode": "id", "enableDeletionVectors": "true"},
     ["icebergCompatV2 and deletionVectors must not both be active"]),
])
def test_features_that_require_or_exclude_each_other(names: str, properties: dict[str, str], told: list[str]) -> None:
    """PROTOCOL.md, "Row Tracking", "Writer Requirements for IcebergCompatV1" and "... IcebergCompatV2"."""
    assert contradictions(names, **properties) == told


def test_the_closure_of_a_feature_has_all_that_it_needs() -> None:
    """PROTOCOL.md, "Row Tracking": "The feature `domainMetadata` is required"."""
    assert [f.name for f in FEATURES.closure(["icebergCompatV3"])] == [
        "columnMapping", "domainMetadata", "rowTracking", "icebergCompatV3",
    ]
