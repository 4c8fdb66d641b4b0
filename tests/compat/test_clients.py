"""Is what the project keeps about clients well-formed, and does each claim say where it comes from?"""

import re
from itertools import pairwise

import pytest
from packaging.version import Version

from esker.compat.clients import Access, Client, Evidence, Release, client, clients, parse_client
from esker.delta.features import FEATURES
from esker.errors import InvalidRequest

ALL = [(one, release) for format in ("delta", "iceberg", "lance") for one in clients(format) for release in one.releases]
DEMANDS = {
    "delta": re.compile(r"(reader|writer) version \d+|[A-Za-z0-9]+(-preview|-dev)?"),
    "iceberg": re.compile(r"format version \d+|[a-z_]+"),
    "lance": re.compile(r"(reader|writer) flag \d+|data file version [\d.]+|V2 manifest names|flag \d+ in one word|no _latest\.manifest"),
}


def ids(case: object) -> str:
    return case.name if isinstance(case, Client) else case.versions if isinstance(case, Release) else ""


def accesses(release: Release) -> list[Access]:
    return [*release.reads, *([release.writes] if release.writes else [])]


def test_there_are_clients_of_each_format() -> None:
    assert {format: len(clients(format)) > 0 for format in ("delta", "iceberg", "lance")} == dict.fromkeys(DEMANDS, True)
    assert clients("paper") == ()


@pytest.mark.parametrize("one, release", ALL, ids=ids)
def test_each_claim_says_where_it_comes_from(one: Client, release: Release) -> None:
    assert release.source
    assert re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", release.date)
    if release.evidence is Evidence.RUN:
        assert release.run
        if release.specifier is not None:
            assert all(release.holds(Version(run.split()[0])) for run in release.run)  # `1.9.0 with deltalake 0.20.2`


@pytest.mark.parametrize("one, release", ALL, ids=ids)
def test_demands_are_spelled_as_tables_state_them(one: Client, release: Release) -> None:
    named = {name for a in accesses(release) for name in (*a.accepts, *a.unused, *a.refuses, *a.unknown, *a.limits)}
    assert all(DEMANDS[one.format].fullmatch(name) for name in named)
    if one.format == "delta":
        features = {name for name in named if " version " not in name}
        assert features - {"geospatial-dev"} <= {name for feature in FEATURES for name in feature.names}


@pytest.mark.parametrize("one, release", ALL, ids=ids)
def test_no_demand_is_answered_twice(one: Client, release: Release) -> None:
    for access in accesses(release):
        answers = [*access.accepts, *access.unused, *access.refuses, *access.unknown]
        assert len(answers) == len(set(answers))


@pytest.mark.parametrize("one, release", ALL, ids=ids)
def test_what_a_client_misreads_it_does_not_refuse(one: Client, release: Release) -> None:
    """A refusal keeps a client out, so that the harm would never be told."""
    for hazard in release.hazards:
        if hazard.operation == "read" and not hazard.path:
            assert not any(hazard.feature in access.refuses for access in release.reads)


@pytest.mark.parametrize("one", [one for format in DEMANDS for one in clients(format)], ids=ids)
def test_ranges_of_releases_rise_and_do_not_overlap(one: Client) -> None:
    numbered = [release for release in one.releases if release.specifier is not None]
    assert all(old.oldest <= new.oldest for old, new in pairwise(numbered))
    for release in numbered:
        assert one.release(str(release.oldest)) in (release, None)


def test_a_release_is_found_by_its_version() -> None:
    deltalake = client("delta", "DeltaLake")
    assert deltalake.release("1.6.6") is deltalake.releases[-1]
    assert deltalake.release("999") is None
    assert client("delta", "athena").release("current (2026)") is not None


def test_an_unknown_client_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidRequest, match=r"(?s)no-such.*deltalake"):
        client("delta", "no-such")


def test_a_claim_without_evidence_is_malformed() -> None:
    with pytest.raises(KeyError):
        parse_client({"client": "x", "title": "X", "kind": "library", "format": "delta", "release": [{"versions": ">=1"}]})
