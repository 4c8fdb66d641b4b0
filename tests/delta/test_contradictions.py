"""Which rules of the specification a table's metadata would break."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Fixed, Json, Map, Struct, Type
from esker.delta.actions import Metadata, with_schema
from esker.delta.column_mapping_ids import with_mapping
from esker.delta.contradictions import contradictions
from esker.delta.iceberg_rules import replacement_problems
from esker.delta.intended import Intended
from esker.delta.protocol import Protocol
from esker.delta.required_features import NEW_TABLE, required, upgraded
from esker.errors import InvalidTable
from tests.core.schemas import schemas

Path = tuple[str, ...]


def column(name: str, kind: Type = t.LONG, **metadata: Json) -> Field:
    return Field(name, kind, True, None, {key.replace("__", "."): found for key, found in metadata.items()})


def intended(
    *fields: Field,
    partition_by: tuple[str, ...] = (),
    clustering: tuple[Path, ...] | None = None,
    features: Iterable[str] = (),
    properties: Mapping[str, str] | None = None,
) -> Intended:
    """A table that supports what it needs, with ids where columns are mapped."""
    schema = Struct(fields or (column("a"), column("b")))
    metadata = with_schema(Metadata("id", "", schema, partition_by, properties or {}), schema)
    metadata = with_mapping(metadata, None)
    domains = frozenset() if clustering is None else frozenset({"delta.clustering"})
    protocol = upgraded(NEW_TABLE, required(metadata.schema, metadata.configuration, domains) | set(features))
    return Intended(metadata, protocol, domains, clustering)


def problems(**kinds: object) -> str:
    fields = kinds.pop("fields", ())
    return "\n".join(contradictions(intended(*fields, **kinds)))


@given(schemas(nullable=True))
def test_a_table_that_supports_what_it_needs_breaks_no_rule(schema: Struct) -> None:
    assert contradictions(intended(*schema, properties={"delta.columnMapping.mode": "name"})) == ()


def test_a_feature_that_metadata_needs_must_be_in_the_protocol() -> None:
    """ "To have a column of TimestampNtz type in a table [...] `timestampNtz` must exist in the table's `readerFeatures`" """
    table = intended(
        column("ts", t.TIMESTAMP_NTZ),
        column("a"),
        clustering=(("a",),),
        properties={"delta.enableDeletionVectors": "true"},
    )
    found = contradictions(replace(table, protocol=Protocol(1, 2)))
    assert [problem.split(" ")[3].strip(",") for problem in found] == [
        "clustering",
        "deletionVectors",
        "domainMetadata",
        "timestampNtz",
    ]
    assert all(problem.endswith("(PROTOCOL.md#table-features)") for problem in found)


MAPPED = {"delta.columnMapping.mode": "name"}
BROKEN: list[tuple[str, dict[str, object], str]] = [
    ("#schema-serialization-format", {"fields": (column("a b"),)}, "needs column mapping"),
    ("#schema-serialization-format", {"fields": (column("a", t.TIME), column("b"))}, "of type time"),
    ("#schema-serialization-format", {"fields": (column("a", Array(Fixed(3))), column("b"))}, "of type fixed[3]"),
    ("#schema-serialization-format", {"fields": (column("a", Decimal(39, 0)), column("b"))}, "of type decimal(39,0)"),
    ("#schema-serialization-format", {"fields": (column("a"), column("A"))}, "twice"),
    ("#change-metadata", {"partition_by": ("a", "b")}, "all columns are partition columns"),
    ("#change-metadata", {"partition_by": ("nope",)}, "nope is not in the schema"),
    ("#change-metadata", {"partition_by": ("a", "A"), "fields": (column("a"), column("b"), column("c"))}, "named twice"),
    ("#change-metadata", {"partition_by": ("a",), "fields": (column("a", t.VARIANT), column("b"))}, "of type variant"),
    ("#change-metadata", {"partition_by": ("a",), "fields": (column("a", Array(t.LONG)), column("b"))}, "of type array"),
    ("#change-metadata", {"partition_by": ("a",), "fields": (column("a", delta__identity__start=1, delta__identity__step=1), column("b"))}, "identity column"),
    ("#writer-requirements-for-clustered-table", {"partition_by": ("a",), "clustering": (("b",),)}, "both clustered and partitioned"),
    ("#writer-requirements-for-clustered-table", {"clustering": (("nope",),)}, "no simple column"),
    ("#writer-requirements-for-clustered-table", {"clustering": (("a",),), "fields": (column("a", t.VARIANT),)}, "no statistics"),
    ("#per-file-statistics", {"properties": {"delta.dataSkippingStatsColumns": "a,nope"}}, "names nope, which is no column"),
    ("#per-file-statistics", {"fields": (column("a", Array(Struct((column("x"),)))),), "properties": {"delta.dataSkippingStatsColumns": "a.element.x"}}, "names a.element.x, which is no column"),
    ("#per-file-statistics", {"partition_by": ("a",), "properties": {"delta.dataSkippingStatsColumns": "A"}}, "names A, which is a partition column"),
    ("#per-file-statistics", {"fields": (column("a", t.BOOLEAN),), "properties": {"delta.dataSkippingStatsColumns": "a"}}, "names a, which is of type boolean"),
    ("#per-file-statistics", {"properties": {"delta.dataSkippingStatsColumns": "a,A"}}, "names A twice"),
    ("#generated-columns", {"fields": (column("a"), column("g", delta__generationExpression="nope + 1"))}, "uses nope"),
    ("#generated-columns", {"fields": (column("a"), column("g", delta__generationExpression="h + 1"), column("h", delta__generationExpression="a"))}, "uses the generated column h"),
    ("#generated-columns", {"fields": (column("a"), column("g", delta__generationExpression="G + 1"))}, "uses the generated column G"),
    ("#generated-columns", {"fields": (column("a"), column("g", t.VARIANT, delta__generationExpression="a"))}, "is a variant"),
    ("#generated-columns", {"fields": (column("a"), column("s", Struct((column("g", delta__generationExpression="a"),))))}, "within another column"),
    ("#default-columns", {"fields": (column("v", t.VARIANT, CURRENT_DEFAULT="1"), column("b"))}, "other than NULL"),
    ("#default-columns", {"fields": (column("a", CURRENT_DEFAULT="1", delta__generationExpression="b"), column("b"))}, "another source"),
    ("#identity-columns", {"fields": (column("a", t.INTEGER, delta__identity__start=1, delta__identity__step=1),)}, "no bigint"),
    ("#identity-columns", {"fields": (column("s", Struct((column("a", delta__identity__start=1, delta__identity__step=1),))),)}, "no bigint"),
    ("#check-constraints", {"properties": {"delta.constraints.c": "s.x > 1"}}, "uses s.x, which is not in the schema"),
    ("#check-constraints", {"properties": {"delta.constraints.c": "(a + 1)"}}, "the constraint c is no condition: (a + 1)"),
    ("#check-constraints", {"properties": {"delta.constraints.c": "A"}}, "the constraint c is no condition: A"),
    ("#add-cdc-file", {"fields": (column("_Change_Type"), column("b")), "properties": {"delta.enableChangeDataFeed": "true"}}, "_change_type"),
    ("#deletion-vectors", {"properties": {"delta.enableDeletionVectors": "true", "delta.compatibility.symlinkFormatManifest.enabled": "true"}}, "symlink"),
    ("#metadata-cleanup", {"properties": {"delta.logRetentionDuration": "1 day"}}, "shorter than"),
    ("#writer-requirements-for-in-commit-timestamps", {"properties": {"delta.inCommitTimestampEnablementVersion": "3"}}, "only one is set"),
    ("#table-features", {"properties": {"delta.enableIcebergCompatV2": "true"}}, "icebergCompatV2 requires columnMapping to be active"),
    ("#table-features", {"properties": {**MAPPED, "delta.enableIcebergCompatV2": "true", "delta.enableIcebergCompatV1": "true"}}, "must not both be active"),
    ("#table-features", {"properties": {**MAPPED, "delta.enableIcebergCompatV2": "true", "delta.enableDeletionVectors": "true"}}, "must not both be active"),
    ("#table-features", {"properties": {**MAPPED, "delta.enableIcebergCompatV3": "true"}}, "icebergCompatV3 requires rowTracking to be active"),
    ("UniForm", {"properties": {"delta.universalFormat.enabledFormats": "iceberg"}}, "no icebergCompat feature is active"),
    ("UniForm", {"fields": (column("a", t.SHORT),), "properties": {"delta.universalFormat.enabledFormats": "hudi"}}, "a is of type short"),
    ("UniForm", {"properties": {"delta.universalFormat.enabledFormats": "hudi", "delta.enableDeletionVectors": "true"}}, "deletionVectors is active"),
]  # fmt: skip


@pytest.mark.parametrize("section, table, expected", BROKEN)
def test_a_broken_rule_is_told_with_its_section(section: str, table: dict[str, object], expected: str) -> None:
    """catalogue, 4: "Mutual exclusions and cross conditions"; the section that each case names"""
    found = [problem for problem in problems(**table).split("\n") if expected in problem]
    assert found
    assert all(problem.endswith(f"{section})") for problem in found)


@pytest.mark.parametrize("condition", ["a > 0", "flag", "NOT flag", "f(a)", "CASE WHEN flag THEN true END", "s.flag", "(a IS NULL)", "true"])
def test_what_may_be_a_condition_is_taken_for_one(condition: str) -> None:
    """ "a SQL expression string whose return type must be `Boolean`": of the rest Spark knows.  (CHECK Constraints)"""
    flag = column("flag", t.BOOLEAN)
    fields = (column("a"), flag, column("s", Struct((flag,))))
    assert problems(fields=fields, properties={"delta.constraints.c": condition}) == ""


V1 = {**MAPPED, "delta.enableIcebergCompatV1": "true"}
V2 = {**MAPPED, "delta.enableIcebergCompatV2": "true"}
ROWS = {
    "delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
}  # fmt: skip
V3 = {**MAPPED, **ROWS, "delta.enableIcebergCompatV3": "true"}
WIDENED = [{"fromType": "integer", "toType": "double"}]


@pytest.mark.parametrize("properties", [V1, V2, V3])
def test_a_table_that_stays_convertible_breaks_no_rule(properties: dict[str, str]) -> None:
    assert problems(properties=properties, partition_by=("a",)) == ""


@pytest.mark.parametrize("kind", [Array(t.LONG), Map(t.STRING, t.LONG), t.VOID, Struct((column("x", Array(t.LONG)),))])
def test_version_1_has_no_arrays_maps_and_void_columns(kind: Type) -> None:
    """ "Block adding `Map`/`Array`/`Void` types to the table schema"  (Writer Requirements for IcebergCompatV1)"""
    assert "#writer-requirements-for-icebergcompatv1)" in problems(
        fields=(column("a", kind), column("b")), properties=V1
    )


def test_version_1_does_not_even_list_deletion_vectors() -> None:
    """ "the `deletionVectors` table feature is not present in the table `protocol`"  (Writer Requirements for IcebergCompatV1)"""
    assert "deletionVectors is in the protocol" in problems(properties=V1, features=["deletionVectors"])
    assert problems(properties=V2, features=["deletionVectors"]) == ""


@pytest.mark.parametrize(
    "properties, kind, fine",
    [(V2, Array(Map(t.STRING, t.TIMESTAMP_NTZ)), True), (V2, t.VARIANT, False), (V2, Array(t.VOID), False), (V3, t.VARIANT, True), (V3, t.VOID, False)],
)  # fmt: skip
def test_versions_2_and_3_have_the_types_of_their_lists(properties: dict[str, str], kind: Type, fine: bool) -> None:
    """ "contains only data types in the following allow-list"  (Writer Requirements for IcebergCompatV2)"""
    assert (problems(fields=(column("a", kind), column("b")), properties=properties) == "") == fine


def test_versions_2_and_3_have_ids_within_arrays_and_maps() -> None:
    """ "Require that the nested `element` field of ArrayTypes [...] be assigned 32 bit integer identifiers" (IcebergCompatV2)"""
    for properties in (V2, V3):
        table = intended(column("a", Map(t.STRING, Array(t.LONG))), column("b"), properties=properties)
        bare = {k: v for k, v in table.schema.fields[0].metadata.items() if "nested" not in k}
        schema = Struct((replace(table.schema.fields[0], metadata=bare), table.schema.fields[1]))
        (problem,) = contradictions(replace(table, metadata=with_schema(table.metadata, schema)))
        assert all(place in problem for place in (".key", ".value", ".value.element"))


@pytest.mark.parametrize("properties", [V1, V2, V3])
def test_types_have_changed_only_as_iceberg_knows(properties: dict[str, str]) -> None:
    """newest text, C19: "every recorded type change must be one Iceberg V2 allows" """
    spoiled = (column("a", t.DOUBLE, delta__typeChanges=WIDENED), column("b"))
    assert "a was changed from integer to double" in problems(fields=spoiled, properties=properties)
    fine = (column("a", t.LONG, delta__typeChanges=[{"fromType": "byte", "toType": "long"}]), column("b"))
    assert problems(fields=fine, properties=properties) == ""


@pytest.mark.parametrize(
    "default, fine",
    [
        ("1", True),
        ("-1.5", True),
        ("'x'", True),
        ("DATE '2020-01-01'", True),
        ("NULL", True),
        ("now()", False),
        ("1 + 1", False),
    ],
)
def test_version_3_has_literal_defaults(default: str, fine: bool) -> None:
    """newest text, 3.7: "column defaults are literals" """
    assert (problems(fields=(column("a", CURRENT_DEFAULT=default), column("b")), properties=V3) == "") == fine


@pytest.mark.parametrize("properties", [V1, V2, V3])
def test_a_replaced_table_keeps_the_names_of_its_partition_columns(properties: dict[str, str]) -> None:
    """ "Block replacing partitioned tables with a differently-named partition spec"  (IcebergCompatV1, V2)"""
    old = intended(column("part_a", t.INTEGER), column("b"), partition_by=("part_a",), properties=properties)
    other = intended(column("part_b", t.INTEGER), column("b"), partition_by=("part_b",), properties=properties)
    wider = intended(column("part_a", t.LONG), column("b"), partition_by=("part_a",), properties=properties)
    plain = intended(column("b"), properties=properties)
    assert len(replacement_problems(old.metadata, other.metadata, other.protocol)) == 1
    assert len(replacement_problems(old.metadata, plain.metadata, plain.protocol)) == 1
    assert replacement_problems(old.metadata, wider.metadata, wider.protocol) == ()
    assert replacement_problems(plain.metadata, other.metadata, other.protocol) == ()
    assert replacement_problems(old.metadata, replace(other.metadata, configuration={}), other.protocol) == ()


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, ""), ({"delta.rowTrackingSuspended": "true"}, "both enabled and suspended"),
        ({"delta.rowTracking.materializedRowIdColumnName": "B"}, "the name of another column"),
        ({"delta.rowTracking.materializedRowCommitVersionColumnName": "_ROW-id-col-1"}, "the name of another column"),
        ({"delta.enableRowTracking": "false"}, ""),
    ],
)  # fmt: skip
def test_enabled_row_tracking_has_columns_of_its_own(changes: dict[str, str], expected: str) -> None:
    """ "The assigned column names must be unique."  (Writer Requirements for Row Tracking); newest text, 3.5"""
    found = problems(properties={**ROWS, **changes})
    assert (found == "") if not expected else (expected in found)


def test_enabled_row_tracking_needs_both_names() -> None:
    """ "The column name for the materialized Row IDs and Row Commit Versions have been assigned" """
    assert problems(properties={"delta.enableRowTracking": "true"}).count("row tracking is enabled without") == 2


def test_row_tracking_columns_differ_from_physical_names_too() -> None:
    """ "the assigned column name must be distinct from the physical column names of the table" """
    table = intended(properties={**MAPPED, **ROWS})
    physical = str(table.schema.fields[0].metadata["delta.columnMapping.physicalName"])
    configuration = {**table.configuration, "delta.rowTracking.materializedRowIdColumnName": physical}
    assert len(contradictions(replace(table, metadata=replace(table.metadata, configuration=configuration)))) == 1


def test_ids_and_physical_names_are_whole() -> None:
    """ "every column - nested or leaf - is assigned a unique _physical_ name, and a unique 32-bit integer as an id" """
    table = intended(properties=MAPPED)
    bare = with_schema(table.metadata, Struct((column("a"), table.schema.fields[1])))
    found = contradictions(replace(table, metadata=bare))
    assert len(found) == 2
    assert all("#writer-requirements-for-column-mapping" in problem for problem in found)


@pytest.mark.parametrize(
    "condition",
    [
        "s.x > 1",
        "S.X > 1 AND m['k'] > 0 AND m.k > 0",
        "exists(l, e -> e.y > s.x)",
        "l.y[0] > 1",
        "`odd ``name` > 0",
        "(((",
    ],
)
def test_a_constraint_may_use_what_is_there_at_any_depth(condition: str) -> None:
    """ "Columns referred by the SQL expression must exist in the table schema."; what cannot be read is left to Spark"""
    fields = (
        column("s", Struct((column("x"),))),
        column("m", Map(t.STRING, t.LONG)),
        column("l", Array(Struct((column("y"),)))),
        column("odd `name"),
    )
    assert problems(fields=fields, properties={**MAPPED, "delta.constraints.c": condition}) == ""


def test_a_property_that_makes_no_sense_is_the_tables_fault() -> None:
    table = intended()
    spoiled = replace(table.metadata, configuration={"delta.logRetentionDuration": "for ever"})
    with pytest.raises(InvalidTable, match="logRetentionDuration"):
        contradictions(replace(table, metadata=spoiled))
