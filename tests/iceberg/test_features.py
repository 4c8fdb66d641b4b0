"""Which features has an Iceberg table, and who gets it right?  (spec, "Format Versioning", "Appendix E")"""

from dataclasses import replace

import pytest

from esker.compat.report import compatibility
from esker.compat.verdicts import Verdict
from esker.core import types as t
from esker.core.features import Operation, Permanent, Presence
from esker.core.types import Field, Geometry, Struct, Type
from esker.errors import Unsupported
from esker.iceberg.demands import contract
from esker.iceberg.features import FEATURES, Facts, gate, presences
from esker.iceberg.metadata import EncryptionKey, PartitionField, PartitionSpec, SnapshotRef, TableMetadata
from esker.iceberg.schema import INITIAL_DEFAULT, Schema
from tests.iceberg.operations import properties, table_with


def _metadata(version: int, kind: Type = t.LONG, default: int | None = None) -> TableMetadata:
    column = Field("id", kind, id=1, metadata={} if default is None else {INITIAL_DEFAULT: default})
    return TableMetadata(version, "memory:///t", "u", 0, 1, (Schema(Struct((column,))),), 0)


def _presence(facts: Facts, name: str) -> Presence:
    return next(found.presence for found in presences(facts) if found.name == name)


@pytest.mark.parametrize(
    "name, first", [(f.name, f.implied_by[0]) for f in FEATURES if f.implied_by is not None], ids=lambda value: str(value)
)
def test_a_feature_is_there_from_the_format_version_on_that_admits_it(name: str, first: int) -> None:
    """Appendix E: what versions 2 and 3 add."""
    for version in (1, 2, 3):
        present = _presence(Facts(_metadata(version)), name) > Presence.ABSENT
        assert present is (version >= first)


@pytest.mark.parametrize("kind, name", [
    (t.VOID, "type_unknown"), (t.TIMESTAMP_NS, "type_timestamp_ns"), (t.TIMESTAMP_NTZ_NS, "type_timestamp_ns"),
    (t.VARIANT, "type_variant"), (Geometry(), "type_geometry"),
])  # fmt: skip
def test_a_column_puts_its_type_in_use(kind: Type, name: str) -> None:
    assert _presence(Facts(_metadata(3, kind)), name) is Presence.IN_USE
    assert _presence(Facts(_metadata(3)), name) is Presence.SUPPORTED


def test_a_default_is_in_use_where_a_column_has_one() -> None:
    assert _presence(Facts(_metadata(3, default=7)), "default_values") is Presence.IN_USE


@pytest.mark.parametrize("version, name", [(2, "position_deletes"), (3, "deletion_vectors")])
def test_merge_on_read_makes_the_versions_own_deletes_active(version: int, name: str) -> None:
    metadata = replace(_metadata(version), properties={"write.merge.mode": "merge-on-read"})
    assert _presence(Facts(metadata), name) is Presence.ACTIVE
    assert _presence(Facts(metadata, True, True, True), name) is Presence.IN_USE


def test_deletes_that_nobody_looked_for_are_not_said_to_be_absent() -> None:
    found = {p.name: p for p in presences(Facts(_metadata(2)))}
    assert found["equality_deletes"].in_use is None
    assert found["equality_deletes"].presence is Presence.SUPPORTED


def test_what_the_version_only_admits_stands_in_nobodys_way() -> None:
    for version in (1, 2, 3):
        for operation in Operation:
            gate(Facts(_metadata(version)), operation, "memory:///t")


def test_an_encrypted_table_is_refused_by_name() -> None:
    facts = Facts(replace(_metadata(3), encryption_keys=(EncryptionKey("k", "AA=="),)))
    with pytest.raises(Unsupported, match="encryption_keys"):
        gate(facts, Operation.READ, "memory:///t")


def test_the_rows_of_an_encrypted_table_are_not_guessed_at() -> None:
    table = table_with(properties(3))
    keys = (EncryptionKey("k", "AA=="),)
    encrypted = table.in_state(replace(table.state, metadata=replace(table.state.metadata, encryption_keys=keys)))
    with pytest.raises(Unsupported, match="encryption_keys"):
        encrypted.plan()


def test_an_unknown_transform_keeps_writers_out_and_no_reader() -> None:
    """Partitioning: "readers should be able to read tables with unknown transforms, ignoring them"."""
    spec = PartitionSpec(0, (PartitionField((1,), 1000, "id_zorder", "zorder[4]"),))
    facts = Facts(replace(_metadata(2), partition_specs=(spec,)))
    gate(facts, Operation.READ, "memory:///t")
    with pytest.raises(Unsupported, match="unknown_transforms"):
        gate(facts, Operation.WRITE, "memory:///t")


def test_branches_concern_writers_alone() -> None:
    metadata = replace(_metadata(2), refs={"audit": SnapshotRef(1, "branch")})
    told = contract(2, presences(Facts(metadata)))
    assert told.features["refs"] is Presence.IN_USE
    assert {demand.name for demand in told.demands} == {"format version 2"}


def test_clients_are_judged_by_the_version_and_by_what_the_table_holds() -> None:
    def verdicts(facts: Facts, client: str) -> tuple[Verdict, Verdict]:
        told = contract(facts.metadata.format_version, presences(facts))
        report = compatibility(told, [client]).clients[0]
        return report.read.verdict, report.write.verdict

    assert verdicts(Facts(_metadata(2)), "pyiceberg==0.8.1") == (Verdict.YES, Verdict.YES)
    assert verdicts(Facts(_metadata(3)), "pyiceberg==0.8.1")[0] is Verdict.REFUSES
    assert verdicts(Facts(_metadata(2), has_equality_deletes=True), "pyiceberg==0.8.1")[0] is Verdict.REFUSES


def test_a_version_is_never_taken_back() -> None:
    kept = {feature.name for feature in FEATURES if isinstance(feature.removal, Permanent)}
    assert kept == {"sequence_numbers", "row_lineage"}
