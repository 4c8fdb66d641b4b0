"""Which features a table's metadata requires, and what protocol carries them."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.types import Array, Field, Json, Map, Struct, Type
from esker.delta.features import FEATURES
from esker.delta.protocol import Protocol, is_supported, is_upgrade, problems, supported
from esker.delta.required_features import NEW_TABLE, closure, raised, required, unasked, upgraded
from esker.errors import InvalidRequest


def schema(kind: Type = t.LONG, nullable: bool = True, **metadata: Json) -> Struct:
    said = {name.replace("__", "."): value for name, value in metadata.items()}
    return Struct((Field("s", Struct((Field("x", kind, nullable, None, said),))), Field("y", t.LONG)))


PLAIN = schema()
BY_SCHEMA: list[tuple[Struct, set[str]]] = [
    (PLAIN, set()),
    (schema(t.TIMESTAMP_NTZ), {"timestampNtz"}),
    (schema(Map(t.STRING, Array(t.TIMESTAMP_NTZ))), {"timestampNtz"}),
    (schema(Array(t.VARIANT)), {"variantType"}),
    (schema(nullable=False), {"invariants"}),
    (schema(delta__invariants='{"expression":{"expression":"x > 1"}}'), {"invariants"}),
    (schema(delta__generationExpression="y + 1"), {"generatedColumns"}),
    (schema(delta__identity__start=1, delta__identity__step=1), {"identityColumns"}),
    (schema(CURRENT_DEFAULT="1"), {"allowColumnDefaults"}),
    (schema(delta__typeChanges=[]), {"typeWidening"}),
    (Struct((Field("c", t.STRING, metadata={"__COLLATIONS": {"c": "ICU.en_US"}}),)), {"collations", "domainMetadata"}),
    (schema(comment="x"), set()),
]
BY_PROPERTY: list[tuple[str, str, set[str]]] = [
    ("delta.appendOnly", "true", {"appendOnly"}),
    ("delta.constraints.c", "y > 0", {"checkConstraints"}),
    ("delta.enableChangeDataFeed", "true", {"changeDataFeed"}),
    ("delta.enableChangeDataFeed", "false", set()),
    ("delta.columnMapping.mode", "name", {"columnMapping"}),
    ("delta.columnMapping.mode", "id", {"columnMapping"}),
    ("delta.columnMapping.mode", "none", set()),
    ("delta.enableDeletionVectors", "TRUE", {"deletionVectors"}),
    ("delta.enableRowTracking", "true", {"rowTracking", "domainMetadata"}),
    ("delta.checkpointPolicy", "v2", {"v2Checkpoint"}),
    ("delta.checkpointPolicy", "classic", set()),
    ("delta.enableInCommitTimestamps", "true", {"inCommitTimestamp"}),
    ("delta.enableTypeWidening", "true", {"typeWidening"}),
    ("delta.enableVariantShredding", "true", {"variantShredding", "variantType"}),
    ("delta.enableIcebergCompatV1", "true", {"icebergCompatV1", "columnMapping"}),
    ("delta.enableIcebergCompatV2", "true", {"icebergCompatV2", "columnMapping"}),
    ("delta.enableIcebergCompatV3", "true", {"icebergCompatV3", "columnMapping", "rowTracking", "domainMetadata"}),
    ("delta.enableIcebergWriterCompatV1", "true", {"icebergWriterCompatV1", "icebergCompatV2", "columnMapping"}),
    ("delta.enableMaterializePartitionColumnsFeature", "true", {"materializePartitionColumns"}),
    ("delta.requireCheckpointProtectionBeforeVersion", "7", {"checkpointProtection"}),
    ("delta.requireCheckpointProtectionBeforeVersion", "0", set()),
    ("delta.dataSkippingNumIndexedCols", "5", set()),
    ("own", "true", set()),
]


@pytest.mark.parametrize("columns, expected", BY_SCHEMA)
def test_columns_require_features_at_any_depth(columns: Struct, expected: set[str]) -> None:
    """catalogue, 1: "enabled by (property / metadata)" """
    assert required(columns, {}) == expected


@pytest.mark.parametrize("name, text, expected", BY_PROPERTY)
def test_properties_require_features_and_all_that_these_require(name: str, text: str, expected: set[str]) -> None:
    """catalogue, 1: "enabled by", "depends on" """
    assert required(PLAIN, {name: text}) == expected


@pytest.mark.parametrize(
    "domain, expected",
    [
        ("delta.clustering", {"clustering", "domainMetadata"}),
        ("delta.rowTracking", {"domainMetadata"}),
        ("own", {"domainMetadata"}),
    ],
)
def test_domains_require_features(domain: str, expected: set[str]) -> None:
    """ "The feature `domainMetadata` is required in the table `protocol`'s `writerFeatures`."  (Clustered Table)"""
    assert required(PLAIN, {}, [domain]) == expected


def listing(readers: Iterable[str], *writers: str) -> Protocol:
    both = frozenset(readers)
    return Protocol(3 if both else 1, 7, both or None, both | frozenset(writers))


BASIS = ("appendOnly", "invariants")


@pytest.mark.parametrize(
    "names, expected",
    [
        ((), Protocol(1, 2)),
        (("appendOnly",), Protocol(1, 2)),
        (("checkConstraints",), Protocol(1, 3)),
        (("changeDataFeed",), listing((), *BASIS, "changeDataFeed")),
        (("changeDataFeed", "generatedColumns", "checkConstraints"), Protocol(1, 4)),
        (("columnMapping",), Protocol(2, 7, None, frozenset({*BASIS, "columnMapping"}))),
        (("deletionVectors",), listing(["deletionVectors"], *BASIS)),
        (("timestampNtz", "rowTracking"), listing(["timestampNtz"], *BASIS, "rowTracking", "domainMetadata")),
        (("clustering",), listing((), *BASIS, "clustering", "domainMetadata")),
    ],
)
def test_a_fresh_table_gets_the_lowest_protocol_that_carries_what_it_uses(
    names: tuple[str, ...], expected: Protocol
) -> None:
    """newest text, 4: "New-table default is (1,2)."; Table Features for New and Existing Tables"""
    assert upgraded(NEW_TABLE, names) == expected


def test_an_upgrade_to_listed_features_keeps_all_that_the_versions_implied() -> None:
    """ "The client must assume a feature has been used"  (Table Features for New and Existing Tables)"""
    assert upgraded(Protocol(1, 4), ["deletionVectors"]) == listing(
        ["deletionVectors"], *BASIS, "checkConstraints", "changeDataFeed", "generatedColumns"
    )


def test_column_mapping_that_reader_version_2_alone_stands_for_is_listed_with_the_others() -> None:
    """ "If the table is on Reader Version 2 [...] readers and writers must read the table property
    `delta.columnMapping.mode`"  (Reader Requirements for Column Mapping)"""
    found = upgraded(Protocol(2, 3), ["deletionVectors", "columnMapping"])
    assert found == listing(["columnMapping", "deletionVectors"], *BASIS, "checkConstraints")
    assert upgraded(Protocol(2, 3), ["columnMapping"]) == Protocol(2, 3)


def test_a_protocol_that_has_all_of_it_stays_as_it_is_written() -> None:
    clumsy = Protocol(3, 7, frozenset(), frozenset({"appendOnly", "invariants"}))
    assert upgraded(clumsy, ["appendOnly"]) is clumsy
    assert upgraded(Protocol(2, 6), ["columnMapping", "identityColumns"]) == Protocol(2, 6)


@pytest.mark.parametrize(
    "preview, final", [("variantType-preview", "variantType"), ("typeWidening-preview", "typeWidening")]
)
def test_a_final_name_is_not_added_beside_a_preview_name(preview: str, final: str) -> None:
    """newest text, 1: "an implementation must not silently add the final name (older clients would break)" """
    protocol = listing([preview])
    assert upgraded(protocol, [final]) == protocol


def test_a_feature_asked_for_by_its_preview_name_gets_that_name() -> None:
    assert closure(["variantShredding-preview"]) == {"variantShredding-preview", "variantType"}
    assert "variantShredding-preview" in supported(upgraded(NEW_TABLE, ["variantShredding-preview"]))


def test_unknown_features_are_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match="flyingCarpets"):
        upgraded(NEW_TABLE, ["flyingCarpets"])


@given(
    st.lists(st.sampled_from([f.name for f in FEATURES]), max_size=4),
    st.lists(st.sampled_from([f.name for f in FEATURES]), max_size=4),
)
def test_an_upgrade_is_one_and_is_legal(before: list[str], names: list[str]) -> None:
    """ "Clients must not remove the feature from the `protocol` action."  (Supported Features)"""
    old = upgraded(NEW_TABLE, before)
    new = upgraded(old, names)
    assert is_upgrade(old, new)
    assert not problems(new)
    assert all(is_supported(new, name) for name in closure(names))


@pytest.mark.parametrize(
    "protocol, reader, writer, expected",
    [
        (NEW_TABLE, None, None, NEW_TABLE), (NEW_TABLE, None, 4, Protocol(1, 4)), (NEW_TABLE, 2, 5, Protocol(2, 5)),
        (Protocol(2, 5), 1, 2, Protocol(2, 5)), (NEW_TABLE, 3, 7, NEW_TABLE), (NEW_TABLE, None, 5, Protocol(1, 4)),
        (listing((), "appendOnly"), None, 3, Protocol(1, 3)), (listing((), "rowTracking", "domainMetadata"), 1, 2, listing((), "rowTracking", "domainMetadata", *BASIS)),
    ],
)  # fmt: skip
def test_versions_that_are_asked_for_add_what_they_imply(
    protocol: Protocol, reader: int | None, writer: int | None, expected: Protocol
) -> None:
    """newest text, 4: "Setting versions on a feature table adds the features that version bundles" """
    assert raised(protocol, reader, writer) == expected


def test_reader_version_3_goes_with_writer_version_7() -> None:
    """ "Creating a table with a Reader Version 3 and Writer Version less than 7 is not allowed." """
    with pytest.raises(InvalidRequest, match="writer version 7"):
        raised(NEW_TABLE, 3, 6)


def test_some_features_come_to_an_existing_table_only_by_name() -> None:
    """newest text, 4: "`timestampNtz` is the notable exception: on an existing table the user must add it explicitly" """
    assert unasked(NEW_TABLE, ["timestampNtz", "allowColumnDefaults", "deletionVectors", "rowTracking", "variantType"]) == (
        "allowColumnDefaults", "timestampNtz",
    )  # fmt: skip
    assert unasked(listing(["timestampNtz"]), ["timestampNtz"]) == ()
