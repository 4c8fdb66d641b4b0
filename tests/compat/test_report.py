"""Does a report tell of each client what it does, and what would help?"""

import pytest

from esker.compat.clients import clients
from esker.compat.report import compatibility
from esker.compat.verdicts import Verdict
from esker.core.demands import Contract
from esker.delta.demands import contract
from esker.delta.features import Facts
from esker.delta.protocol import Protocol, presences
from esker.errors import InvalidRequest

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
