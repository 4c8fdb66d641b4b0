"""Does the check find what is done to a valid log?

`make test` tries some mutations of each kind on each table; `make fuzz` tries all of them.
"""

from collections import Counter
from collections.abc import Iterable
from random import Random

import pytest

from tests.check.delta.harm import Outcome, found, judged, reading
from tests.check.delta.mutations import Mutation, mutations
from tests.check.delta.valid import VALID, files_of

SHARE = 0.95


def outcomes(name: str, each: int | None) -> list[Outcome]:
    """What becomes of the mutations of a table, of at most so many of each kind."""
    table = VALID[name]()
    files = files_of(table)
    before = [*reading(files, table.version)]
    return [judged(mutation, table.version, before) for mutation in picked(mutations(files), each)]


def picked(made: Iterable[Mutation], each: int | None) -> list[Mutation]:
    by_kind: dict[str, list[Mutation]] = {}
    for mutation in made:
        by_kind.setdefault(mutation.kind, []).append(mutation)
    random = Random(1)
    return [mutation for kind in by_kind.values() for mutation in (kind if each is None else random.sample(kind, min(each, len(kind))))]


def told(seen: list[Outcome]) -> str:
    """The share found of each kind, and each that was missed."""
    harmful = [outcome for outcome in seen if outcome.harm]
    every = Counter(outcome.mutation.kind for outcome in harmful)
    hit = Counter(outcome.mutation.kind for outcome in harmful if outcome.found)
    lines = [f"{kind}: {hit[kind]} of {count}" for kind, count in sorted(every.items())]
    lines += [f"missed: {o.mutation.kind}, {o.mutation.what}: {o.harm}" for o in harmful if not o.found]
    return "\n".join([f"{sum(hit.values())} of {sum(every.values())} harmful mutations found, of {len(seen)}", *lines])


def share(seen: list[Outcome]) -> float:
    harmful = [outcome for outcome in seen if outcome.harm]
    return sum(bool(outcome.found) for outcome in harmful) / len(harmful)


@pytest.mark.parametrize("name", VALID)
def test_a_table_that_is_left_alone_breaks_no_rule_and_reads_the_same_twice(name: str) -> None:
    table = VALID[name]()
    files = files_of(table)
    assert found(files) == ()
    seen = [*reading(files, table.version)]
    assert seen == [*reading(files, table.version)]
    assert not any("cannot be read" in one or "refused" in one for one in seen)


@pytest.mark.parametrize("name", VALID)
def test_harmful_mutations_are_found(name: str) -> None:
    seen = outcomes(name, each=8)
    assert sum(outcome.harm is not None for outcome in seen) > 50
    assert share(seen) >= SHARE, told(seen)


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", VALID)
def test_all_harmful_mutations_are_found(name: str) -> None:
    seen = outcomes(name, each=None)
    print(f"\n{name}: {told(seen)}")
    assert share(seen) >= SHARE, told(seen)
