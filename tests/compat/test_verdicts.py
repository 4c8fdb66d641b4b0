"""Does the advice follow from the evidence, and only from it?"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from esker.compat.clients import Access, Evidence, Hazard, Others, Release, clients
from esker.compat.verdicts import WORKS, Verdict, judged
from esker.core.demands import Contract, Demand
from esker.core.features import Operation, Presence
from esker.delta.demands import contract
from esker.delta.features import Facts
from esker.delta.protocol import Protocol, presences

R, W = Operation.READ, Operation.WRITE
YES, LIMITED, UNKNOWN, REFUSES, HARMS = Verdict
BASIS = ("reader version 1", "reader version 3")
WRITING = ("writer version 2", "writer version 7", "a")


def release(**told: Any) -> Release:
    """A release that reads and writes the basis, but for what is told."""
    plain = {"reads": (access(*BASIS),), "writes": access(*WRITING)}
    return Release(">=1", SpecifierSet(">=1"), Evidence.RUN, "here", "2026-01", **{**plain, **told})


def access(*accepts: str, **told: Any) -> Access:
    return Access(frozenset(accepts), others=told.pop("others", Others.REFUSED), **told)


def table(*features: str, used: bool = True, reads: bool = True) -> Contract:
    """A table with these features in its lists, checked by readers too unless `reads` is False."""
    presence = Presence.IN_USE if used else Presence.SUPPORTED
    checked = frozenset({R, W}) if reads else frozenset({W})
    demands = [Demand("reader version 3", frozenset({R}), Presence.SUPPORTED)]
    demands += [Demand("writer version 7", frozenset({W}), Presence.SUPPORTED)]
    return Contract("delta", (*demands, *(Demand(f, checked, presence) for f in features)), dict.fromkeys(features, presence))


CASES: list[tuple[str, Release, Contract, Operation, Verdict]] = [
    ("every demand is accepted", release(), table(), R, YES),
    ("a demand is not", release(), table("b"), R, REFUSES),
    ("only writers check it", release(), table("a", reads=False), R, YES),
    ("writers accept it", release(), table("a", reads=False), W, YES),
    ("a writer that cannot read cannot write", release(), table("a"), W, REFUSES),
    ("nothing is known", release(reads=(access(*BASIS, others=Others.UNKNOWN),)), table("b"), R, UNKNOWN),
    ("a refusal outweighs what is not known", release(reads=(access(*BASIS, refuses=frozenset({"b"}), others=Others.UNKNOWN),)), table("b", "c"), R, REFUSES),
    ("one demand is said to be unknown", release(reads=(access(*BASIS, unknown=frozenset({"b"})),)), table("b"), R, UNKNOWN),
    ("it goes on where it knows nothing", release(reads=(access(*BASIS, others=Others.IGNORED),)), table("b"), R, HARMS),
    ("listed and not used", release(reads=(access(*BASIS, unused=frozenset({"b"})),)), table("b", used=False), R, YES),
    ("listed and used", release(reads=(access(*BASIS, unused=frozenset({"b"})),)), table("b"), R, REFUSES),
    ("a hazard of the feature", release(reads=(access(*BASIS, "b"),), hazards=(Hazard("b", "read", "wrong rows"),)), table("b"), R, HARMS),
    ("a hazard of a feature that is only listed", release(reads=(access(*BASIS, "b"),), hazards=(Hazard("b", "read", "wrong rows"),)), table("b", used=False), R, YES),
    ("a hazard of another operation", release(reads=(access(*BASIS, "b"),), hazards=(Hazard("b", "append", "lost"),)), table("b"), R, YES),
    ("a hazard of whatever it does not know", release(hazards=(Hazard("*", "delete", "does not check"),)), table("x", reads=False), W, HARMS),
    ("what is refused at the door does no harm behind it", release(hazards=(Hazard("x", "append", "wrong rows"),)), table("x", reads=False), W, REFUSES),
    ("what is let in unused does harm once it is used", release(writes=access(*WRITING, unused=frozenset({"x"})), hazards=(Hazard("x", "append", "wrong rows"),)), table("x", reads=False), W, HARMS),
    ("it goes on with one and refuses another", release(writes=access(*WRITING, refuses=frozenset({"x"}), others=Others.IGNORED)), table("x", "y", reads=False), W, REFUSES),
    ("it writes by other means than it reads", release(writes=access(*WRITING, stands_alone=True)), table("a"), W, YES),
    ("a hazard of whatever it does not know, which is nothing", release(hazards=(Hazard("*", "write", "drops names"),)), table("a", reads=False), W, YES),
    ("it works in part", release(reads=(access(*BASIS, "b", limits={"b": "mode name only"}),)), table("b"), R, LIMITED),
    ("the second way works", release(reads=(access(*BASIS, path="one"), access(*BASIS, "b", path="two"))), table("b"), R, YES),
    ("one way misreads, another reads", release(reads=(access(*BASIS, "b", path="one"), access(*BASIS, "b", path="two")), hazards=(Hazard("b", "read", "nulls", "one"),)), table("b"), R, HARMS),
    ("it cannot open such a table", release(reads=(access(*BASIS, "b"),), refusals=(Hazard("b", "read", "cannot be opened"),)), table("b"), R, REFUSES),
    ("one operation of many is refused", release(refusals=(Hazard("a", "optimize", "refused"),)), table("a", reads=False), W, LIMITED),
    ("nothing stands for what the table holds", release(), replace(table(), unproven=("type void",)), R, UNKNOWN),
    ("what nothing stands for is known all the same", release(reads=(access(*BASIS, "type void"),)), replace(table(), unproven=("type void",)), R, YES),
    ("a refusal outweighs what nothing stands for", release(), replace(table("b"), unproven=("type void",)), R, REFUSES),
    ("it never writes", release(writes=None), table(), W, REFUSES),
    ("it never reads", release(reads=()), table(), R, REFUSES),
    ("a sink that never reads", release(reads=()), table("a", reads=False), W, YES),
]  # fmt: skip


@pytest.mark.parametrize("client, asked, operation, expected", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_verdict_follows_from_the_answers(client: Release, asked: Contract, operation: Operation, expected: Verdict) -> None:
    found = judged(client, asked, operation)
    assert found.verdict is expected
    assert bool(found.reasons) is (expected is not YES)


def test_every_refused_demand_is_named() -> None:
    assert judged(release(), table("b", "c"), R).features == ("b", "c")


@pytest.mark.parametrize(
    "protocol, properties, read, write",
    [
        (Protocol(1, 2), {}, {"reader version 1"}, {"writer version 2"}),
        (Protocol(2, 5), {"delta.columnMapping.mode": "name"}, {"reader version 2"}, {"writer version 5"}),
        (
            Protocol(3, 7, frozenset({"deletionVectors"}), frozenset({"deletionVectors", "rowTracking"})), {},
            {"reader version 3", "deletionVectors"}, {"writer version 7", "deletionVectors", "rowTracking"},
        ),
        (Protocol(1, 7, None, frozenset({"rowTracking"})), {}, {"reader version 1"}, {"writer version 7", "rowTracking"}),
    ],
)  # fmt: skip
def test_a_delta_table_demands_what_its_protocol_lists(
    protocol: Protocol, properties: Mapping[str, str], read: set[str], write: set[str]
) -> None:
    """PROTOCOL.md, "Table Features": versions are checked by all, lists by those who know them."""
    found = contract(protocol, presences(protocol, Facts(properties)))
    assert {d.name for d in found.demands if R in d.checked} == read
    assert {d.name for d in found.demands if W in d.checked} == write


def test_what_a_version_implies_counts_for_those_who_stumble_over_it() -> None:
    protocol = Protocol(2, 5)
    mapped = contract(protocol, presences(protocol, Facts({"delta.columnMapping.mode": "name"})))
    assert mapped.features["columnMapping"] >= Presence.ACTIVE
    client = release(reads=(access("reader version 2"),), hazards=(Hazard("columnMapping", "read", "nulls"),))
    assert judged(client, mapped, R).verdict is HARMS
    plain = contract(protocol, presences(protocol, Facts()))
    assert judged(client, plain, R).verdict is YES


@pytest.mark.parametrize("format", ["delta", "iceberg", "lance"])
def test_no_client_is_said_to_work_with_what_it_has_not_been_seen_or_said_to_accept(format: str) -> None:
    ways = [(release, (*release.reads, release.writes)) for client in clients(format) for release in client.releases]
    known = {name for _, all_of in ways for way in all_of if way for name in (*way.accepts, *way.unused, *way.refuses, *way.unknown)}
    for release, name in product((release for release, _ in ways), sorted(known | {"unheardOf", "reader version 99"})):
        asked = Contract(format, (Demand(name, frozenset({R, W}), Presence.IN_USE),), {name: Presence.IN_USE})
        if not any(name in way.accepts for way in release.reads):
            assert judged(release, asked, R).verdict not in WORKS, (release.versions, name)
        if release.writes is None or name not in release.writes.accepts:
            assert judged(release, asked, W).verdict not in WORKS, (release.versions, name)
