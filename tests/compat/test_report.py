"""Does a report tell of each client what it does, and what would help?"""

import json
from dataclasses import replace

import pytest

import esker
from esker.compat.clients import clients
from esker.compat.report import changed, compatibility
from esker.compat.verdicts import WORKS, Judgement, Verdict
from esker.core.demands import Contract
from esker.core.features import Operation
from esker.core.types import Json
from esker.delta.demands import contract
from esker.delta.features import Facts
from esker.delta.glance import glance
from esker.delta.protocol import Protocol, presences
from esker.delta.snapshot import Place
from esker.errors import InvalidRequest
from tests.delta.handles import created
from tests.delta.tables import Log, metadata, protocol

VECTORS = Protocol(3, 7, frozenset({"deletionVectors"}), frozenset({"deletionVectors", "appendOnly", "invariants"}))


def asked(protocol: Protocol, facts: Facts) -> Contract:
    return contract(protocol, presences(protocol, facts))


USED = asked(VECTORS, Facts({"delta.enableDeletionVectors": "true"}, has_deletion_vectors=True))


def test_every_client_is_reported_the_newest_release_first() -> None:
    found = compatibility(USED)
    assert {report.client for report in found.clients} == set(clients("delta"))
    deltalake = [report for report in found.clients if report.client.name == "deltalake"]
    assert [report.release for report in deltalake] == list(reversed(deltalake[0].client.releases))
    assert len(compatibility(USED, latest=True).clients) == len(clients("delta"))


def test_a_client_can_be_picked_with_its_release() -> None:
    old, new = compatibility(USED, ["deltalake==0.20.0", "deltalake==1.6.6"]).clients
    assert (old.read.verdict, new.read.verdict) == (Verdict.REFUSES, Verdict.YES)
    (unknown,) = compatibility(USED, ["deltalake==999"]).clients
    assert (unknown.release, unknown.read.verdict, unknown.write.verdict) == (None, Verdict.UNKNOWN, Verdict.UNKNOWN)
    with pytest.raises(InvalidRequest, match="paper"):
        compatibility(USED, ["paper"])


def test_a_newer_release_or_a_dropped_feature_is_the_remedy() -> None:
    (old,) = compatibility(USED, ["deltalake==0.20.0"], {"deletionVectors": True}).clients
    assert any(remedy.startswith("to read: deltalake >=") for remedy in old.remedies)
    assert "to read: drop deletionVectors from the table" in old.remedies
    (old,) = compatibility(USED, ["deltalake==0.20.0"], {"deletionVectors": False}).clients
    assert not any("drop" in remedy for remedy in old.remedies)
    (new,) = compatibility(USED, ["deltalake==1.6.6"], {"deletionVectors": True}).clients
    assert new.remedies == ()


PLAIN = asked(Protocol(1, 2), Facts())


def test_what_a_change_would_do_to_clients_is_told() -> None:
    names = ["deltalake==0.20.0", "deltalake==1.6.6"]
    report = changed(compatibility(PLAIN, names), compatibility(USED, names))
    lost = [(shift.versions, shift.operation, shift.after.verdict, shift.deciding.features) for shift in report.lost]
    assert lost == [("0.20.0", operation, Verdict.REFUSES, ("deletionVectors",)) for operation in Operation]
    assert all(any(remedy.startswith(f"to {shift.operation.value}: deltalake >=") for remedy in shift.remedies) for shift in report.lost)
    back = changed(compatibility(USED, names), compatibility(PLAIN, names))
    assert (back.lost, [(shift.versions, shift.deciding.features) for shift in back.gained]) == ((), [("0.20.0", ("deletionVectors",))] * 2)
    assert changed(compatibility(USED), compatibility(USED)).shifts == ()


def test_a_client_that_gets_it_wrong_from_then_on_is_lost_even_if_it_refused_before() -> None:
    misled = [shift for shift in changed(compatibility(PLAIN), compatibility(USED)).lost if shift.after.verdict is Verdict.HARMS]
    assert misled
    refused = replace(misled[0], before=Judgement(Verdict.REFUSES, misled[0].after.reasons))
    assert (refused.is_lost, refused.is_gained) == (True, False)


def test_a_table_is_asked_about_a_change_and_stays_as_it_is() -> None:
    table = created().require(["deltalake==0.20.0: read"])
    report = table.compat(["deltalake==0.20.0"], after=esker.enable("deletionVectors"))
    assert [(shift.operation, shift.deciding.features) for shift in report.lost] == [(operation, ("deletionVectors",)) for operation in Operation]
    assert not any("drop" in remedy for shift in report.lost for remedy in shift.remedies)  # it is not there yet
    assert len(report.breaches) == 1
    assert table.at().describe() == table.describe()
    table.unrequire().set_properties({"delta.enableDeletionVectors": "true"})
    report = table.compat(["deltalake==0.20.0"], after=esker.drop("deletionVectors", truncate_history=True))
    assert [shift.operation for shift in report.gained] == [*Operation]
    kept = table.compat(["deltalake==0.20.0"], after=esker.drop("deletionVectors"))
    assert [shift.operation for shift in kept.gained] == [Operation.READ]  # its writers do not know checkpointProtection
    assert created().compat(["deltalake==0.17.0"], after=esker.upgrade(2, 5)).lost


@pytest.mark.parametrize(
    "kind, is_proven", [("long", True), ("timestamp_ntz", True), ("decimal(3,1)", True), ("void", False), ("interval year to month", False)]
)
def test_nobody_is_said_to_work_with_a_type_that_no_feature_stands_for(kind: str, is_proven: bool) -> None:
    """Schema Serialization Format: "Behavior is undefined for `void` data type columns"; intervals are a proposal."""
    named: Json = {"name": "x", "type": kind, "nullable": True, "metadata": {}}
    inner: Json = {"type": "array", "elementType": {"type": "struct", "fields": [named]}, "containsNull": True}
    schema: Json = {"type": "struct", "fields": [{"name": "l", "type": inner, "nullable": True, "metadata": {}}]}
    log = Log()
    body = metadata()["metaData"] | {"schemaString": json.dumps(schema)}
    log.commit(protocol(), {"metaData": body})
    report = log.open().compat()
    works = [client for client in report.clients if client.read.verdict in WORKS or client.write.verdict in WORKS]
    assert bool(works) is is_proven
    assert glance(Place(log.storage)).contract == report.contract


@pytest.mark.parametrize("name", ["duckdb", "DuckDB-Delta", "duckdb-delta==1.5.3"])
def test_a_client_is_found_by_the_name_of_its_extension_too(name: str) -> None:
    assert {report.client.name for report in compatibility(USED, [name]).clients} == {"duckdb"}
