"""The feature model, on a small registry of an invented format."""

from dataclasses import dataclass

import pytest

from esker.core.features import (
    Enabling,
    Feature,
    FeaturePresence,
    Operation,
    Permanent,
    Presence,
    Registry,
    Removable,
    Requirement,
    Scope,
    Section,
    Support,
    always,
    leaves_no_trace,
)
from esker.errors import InvalidRequest, Unsupported


@dataclass(frozen=True)
class Facts:
    is_on: bool = False
    has_marks: bool | None = None


FULL = Support(frozenset(Operation))
READ = Support(frozenset({Operation.READ}), "cannot be written")


def feature(name: str, *, scope: Scope = Scope.WRITE, support: Support = FULL, aliases: tuple[str, ...] = (),
            requires: tuple[str, ...] = (), requires_active: tuple[str, ...] = (), excludes: tuple[str, ...] = (),
            can_be_off: bool = False) -> Feature[Facts]:
    return Feature(
        name=name, summary=f"{name}.", scope=scope, section=Section("spec.md", f"#{name}"), support=support,
        removal=Permanent("for the test"), enabling=Enabling.MANUAL, aliases=aliases, requires=requires,
        requires_active=requires_active, excludes=excludes,
        active=(lambda facts: facts.is_on) if can_be_off else always,
        in_use=(lambda facts: facts.has_marks) if can_be_off else leaves_no_trace,
    )


REGISTRY: Registry[Facts] = Registry((
    feature("ground"),
    feature("marks", scope=Scope.READ_WRITE, aliases=("marks-preview",), can_be_off=True),
    feature("walls", requires=("ground",), support=READ),
    feature("roof", requires=("walls", "marks"), requires_active=("marks",)),
    feature("sky", excludes=("roof",), scope=Scope.READ_WRITE, support=Support(frozenset(), "is out of reach")),
))


def demand(*names: str, scope: Scope = Scope.WRITE) -> tuple[Requirement, ...]:
    return tuple(Requirement(name, scope, "explicit") for name in names)


def names(features: tuple[Feature[Facts], ...]) -> list[str]:
    return [f.name for f in features]


def by_name(*present: str, facts: Facts) -> dict[str, FeaturePresence[Facts]]:
    return {p.name: p for p in REGISTRY.presences(demand(*present), facts)}


def test_presences_are_ordered() -> None:
    assert Presence.ABSENT < Presence.SUPPORTED < Presence.ACTIVE < Presence.IN_USE


@pytest.mark.parametrize("scope, operation, concerned", [
    (Scope.READ_WRITE, Operation.READ, True), (Scope.READ_WRITE, Operation.WRITE, True),
    (Scope.WRITE, Operation.READ, False), (Scope.WRITE, Operation.WRITE, True),
])
def test_what_concerns_writers_only_does_not_concern_reading(
    scope: Scope, operation: Operation, concerned: bool
) -> None:
    assert scope.concerns(operation) is concerned


@pytest.mark.parametrize("name", ["marks", "MARKS", "marks-preview", "Marks-Preview"])
def test_a_feature_is_found_by_name_or_alias_in_any_capitals(name: str) -> None:
    found = REGISTRY.get(name)
    assert found is not None
    assert found.name == "marks"


def test_a_name_is_spelled_as_the_registry_spells_it_and_an_alias_stays_an_alias() -> None:
    assert [REGISTRY.spelled(n) for n in ("MARKS", "Marks-PREVIEW", "Other")] == ["marks", "marks-preview", "Other"]


def test_iteration_is_in_catalogue_order() -> None:
    assert [f.name for f in REGISTRY] == ["ground", "marks", "walls", "roof", "sky"]
    assert len(REGISTRY) == 5
    assert "roof" in REGISTRY
    assert "cellar" not in REGISTRY


def test_two_features_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="two features are called A"):
        Registry((feature("a"), feature("b", aliases=("A",))))


@pytest.mark.parametrize("wanted, closed", [
    ([], []), (["ground"], ["ground"]), (["walls"], ["ground", "walls"]),
    (["roof"], ["ground", "marks", "walls", "roof"]), (["marks-preview", "walls"], ["ground", "marks", "walls"]),
])
def test_the_closure_has_all_that_is_required(wanted: list[str], closed: list[str]) -> None:
    assert names(REGISTRY.closure(wanted)) == closed


def test_the_closure_of_unknown_names_names_them_all() -> None:
    with pytest.raises(InvalidRequest, match="cellar, tower"):
        REGISTRY.closure(["tower", "ground", "cellar"])


@pytest.mark.parametrize("present, operation, told", [
    (demand("ground", "marks"), Operation.WRITE, []),
    (demand("walls"), Operation.READ, []),
    (demand("walls"), Operation.WRITE, ["walls: cannot be written"]),
    (demand("cellar"), Operation.READ, []),
    (demand("cellar"), Operation.WRITE, ["cellar: unknown to this version of Esker"]),
    (demand("sky", "cellar", scope=Scope.READ_WRITE), Operation.READ,
     ["sky: is out of reach", "cellar: unknown to this version of Esker"]),
])
def test_problems_are_what_is_unknown_or_unsupported(
    present: tuple[Requirement, ...], operation: Operation, told: list[str]
) -> None:
    assert list(REGISTRY.problems(present, operation)) == told


def test_the_gate_names_the_table_and_every_feature_at_once() -> None:
    with pytest.raises(Unsupported) as caught:
        REGISTRY.gate(demand("sky", "cellar", scope=Scope.READ_WRITE), Operation.READ, "lake/t")
    assert caught.value.where == "lake/t"
    assert len(caught.value.problems) == 2
    REGISTRY.gate(demand("ground"), Operation.WRITE, "lake/t")


@pytest.mark.parametrize("facts, presence", [
    (Facts(), Presence.SUPPORTED), (Facts(is_on=True), Presence.ACTIVE),
    (Facts(is_on=True, has_marks=False), Presence.ACTIVE), (Facts(is_on=True, has_marks=True), Presence.IN_USE),
    (Facts(is_on=False, has_marks=True), Presence.IN_USE),
])
def test_presence_is_the_highest_that_the_facts_prove(facts: Facts, presence: Presence) -> None:
    found = by_name("marks", facts=facts)["marks"]
    assert found.presence is presence
    assert found.in_use is facts.has_marks


def test_every_feature_appears_and_unknown_names_come_last() -> None:
    found = REGISTRY.presences(demand("cellar", "walls"), Facts())
    assert [p.name for p in found] == ["ground", "marks", "walls", "roof", "sky", "cellar"]
    assert [p.presence for p in found if p.name in ("roof", "cellar")] == [Presence.ABSENT, Presence.SUPPORTED]
    assert found[-1].feature is None
    assert not found[-1].support.allows(Operation.READ)
    assert isinstance(found[-1].removal, Permanent)


def test_a_feature_under_two_names_appears_twice() -> None:
    found = by_name("marks", "marks-preview", facts=Facts())
    assert found["marks"].feature is found["marks-preview"].feature


def test_a_presence_tells_who_requires_it() -> None:
    assert by_name("ground", "walls", "roof", facts=Facts())["ground"].required_by == ("walls",)


@pytest.mark.parametrize("present, facts, told", [
    (["ground", "walls"], Facts(), []),
    (["walls"], Facts(), ["walls requires ground, which is absent"]),
    (["ground", "walls", "marks", "roof"], Facts(is_on=True), []),
    (["ground", "walls", "marks-preview", "roof"], Facts(is_on=True), []),
    (["ground", "walls", "marks", "roof"], Facts(), ["roof requires marks to be active"]),
    (["ground", "walls", "marks", "roof", "sky"], Facts(is_on=True), ["sky and roof must not both be active"]),
])
def test_contradictions_are_unmet_requirements_and_ignored_exclusions(
    present: list[str], facts: Facts, told: list[str]
) -> None:
    assert list(REGISTRY.contradictions(REGISTRY.presences(demand(*present), facts))) == told


def test_a_removal_is_a_recipe_or_a_reason() -> None:
    assert Removable("rewrite", "drop the name").history_protected is False
    assert Permanent("no way").why == "no way"
    assert str(Section("spec.md", "#a")) == "spec.md#a"
