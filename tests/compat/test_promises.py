"""Are promises read, kept in a property, and found broken?"""

import pytest

from esker.compat.promises import breaches, parse_promises, promised, stored
from esker.core.demands import Contract
from esker.delta.demands import contract
from esker.delta.features import Facts
from esker.delta.protocol import Protocol, minimal, presences
from esker.errors import InvalidRequest

VECTORS = Protocol(3, 7, frozenset({"deletionVectors"}), frozenset({"deletionVectors"}))


def asked(protocol: Protocol) -> Contract:
    return contract(protocol, presences(protocol, Facts(has_deletion_vectors=True)))


def test_promises_are_kept_in_a_property_as_they_were_made() -> None:
    made = parse_promises(["duckdb-delta >= 1.2 : read", "delta-spark>=3.2,<5: write", "Trino: read", "trino: read"], "delta")
    assert [str(promise) for promise in made] == ["duckdb>=1.2: read", "delta-spark<5,>=3.2: write", "trino: read"]
    assert parse_promises(promised(stored(made)), "delta") == made
    assert promised(None) == promised("") == ()


@pytest.mark.parametrize(
    "text, problem",
    [("deltalake", "does not name"), ("deltalake: delete", "does not name"), ("deltalake>=x: read", "no range"), ("paper: read", "nothing is known"), ("", "does not name"), ("deltalake===new: read", "no range")],
)
def test_what_is_no_promise_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        parse_promises([text, "trino: read"], "delta")


@pytest.mark.parametrize(
    "text, protocol, kept",
    [
        ("deltalake>=0.10: read", Protocol(1, 2), True), ("deltalake>=0.10: read", VECTORS, False),
        ("deltalake>=1.6.6: read", VECTORS, True), ("deltalake==0.20.0: read", VECTORS, False), ("deltalake>=999: read", Protocol(1, 2), False),
        ("delta-spark>=4: write", VECTORS, True), ("delta-hive: write", Protocol(1, 2), False), ("athena: read", VECTORS, False),
    ],
)  # fmt: skip
def test_a_promise_is_kept_only_where_every_known_release_works(text: str, protocol: Protocol, kept: bool) -> None:
    found = breaches(parse_promises([text], "delta"), asked(protocol))
    assert (found == ()) is kept
    assert all(str(breach).startswith(str(breach.promise)) and breach.judgement.reasons for breach in found)


@pytest.mark.parametrize("versions", [">=2.3", ">2.3", ">2.3.0", ">2.2,<2.4", ">2.3,<2.4", "!=2.3.0", "!=2.3,!=2.3.1", "==2.3.*", "~=2.3.1", "<=2.3", "<2.3.1"])
def test_a_range_that_leaves_out_where_it_begins_holds_the_releases_after_that(versions: str) -> None:
    """delta-spark 2.3.x refuses timestampNtz, be 2.3.0 itself within the promise or not."""
    zoneless = minimal(["timestampNtz", "appendOnly", "invariants"])
    found = breaches(parse_promises([f"delta-spark{versions}: read"], "delta"), contract(zoneless, presences(zoneless, Facts())))
    assert ">=2.3,<2.4" in {breach.versions for breach in found}
    assert ">=2.4,<3.0" not in {breach.versions for breach in found}


@pytest.mark.parametrize("versions", [">=2.4", ">2.4", ">=3", "==2.4.*"])
def test_a_range_does_not_hold_the_releases_before_it(versions: str) -> None:
    zoneless = minimal(["timestampNtz", "appendOnly", "invariants"])
    assert breaches(parse_promises([f"delta-spark{versions}: read"], "delta"), contract(zoneless, presences(zoneless, Facts()))) == ()
