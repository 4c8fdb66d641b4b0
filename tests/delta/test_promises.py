"""Is a change refused that breaks what the table is promised, at whatever door it comes in?

The judge here knows one kind of promise: `no NAME`, that the table never asks clients for the feature.
"""

from collections.abc import Callable

import pytest

from esker.core.demands import PROMISES, Contract
from esker.core.features import Presence
from esker.errors import Conflict, InvalidRequest
from esker.table import Table
from tests.delta.handles import created, ids, rows, with_rival

VECTORS = {"delta.enableDeletionVectors": "true"}


def judge(text: str, contract: Contract) -> tuple[str, ...]:
    names = [promise.strip().removeprefix("no ") for promise in text.split(";")]
    if "?" in names:
        raise InvalidRequest("what is ?")
    return tuple(f"no {name}" for name in names if name in contract.features)


def judged(table: Table) -> Table:
    return Table(table._table.judged_by(judge))


def table(text: str | None = None, **properties: str) -> Table:
    """A table whose changes are judged by the judge above."""
    promised = {} if text is None else {PROMISES: text}
    return judged(created(properties={**promised, **properties}, force=True))


BREAKING: list[tuple[str, str, Callable[[Table], object]]] = [
    ("set_properties", "deletionVectors", lambda t: t.set_properties(VECTORS)),
    ("a feature asked for by name", "domainMetadata", lambda t: t.set_properties({"delta.feature.domainMetadata": "supported"})),
    ("a version asked for", "checkConstraints", lambda t: t.set_properties({"delta.minWriterVersion": "3"})),
    ("what is backfilled", "rowTracking", lambda t: t.set_properties({"delta.enableRowTracking": "true"})),
    ("what requires another", "domainMetadata", lambda t: t.set_properties({"delta.enableRowTracking": "true"})),
    ("a column with a type", "variantType", lambda t: t.add_columns("v VARIANT")),
    ("cluster_by", "clustering", lambda t: t.cluster_by("id")),
]  # fmt: skip
CASES = pytest.mark.parametrize("feature, change", [case[1:] for case in BREAKING], ids=[case[0] for case in BREAKING])


@CASES
def test_a_change_that_breaks_a_promise_is_refused_before_anything_is_written(feature: str, change: Callable[[Table], object]) -> None:
    it = table(f"no {feature}").append(ids(1))
    storage = it._table.snapshot.place.storage  # type: ignore[attr-defined]
    before = [file.path for file in storage.list("")]
    with pytest.raises(InvalidRequest, match=f"(?s)would break what the table is promised.*no {feature}.*unrequire"):
        change(it)
    assert [file.path for file in storage.list("")] == before
    assert it.at().describe() == it.describe()


@CASES
def test_a_change_that_breaks_a_promise_can_be_forced(feature: str, change: Callable[[Table], object]) -> None:
    it = table(f"no {feature}").append(ids(1))
    with it.forced():
        change(it)
    assert feature in {found.name for found in it.features() if found.presence > Presence.ABSENT}


def test_after_forcing_promises_are_kept_again() -> None:
    it = created(properties={PROMISES: "deltalake==0.20.0: read"})
    with it.forced():
        pass
    with pytest.raises(InvalidRequest, match=r"deltalake==0\.20\.0: read"):
        it.set_properties(VECTORS)


def test_what_a_table_breaks_already_does_not_stand_in_the_way_of_other_changes() -> None:
    it = table("no deletionVectors; no rowTracking", **VECTORS)
    it.set_properties({"delta.appendOnly": "true", "delta.feature.domainMetadata": "supported"}).set_comment("a comment")
    with pytest.raises(InvalidRequest, match="no rowTracking") as refused:
        it.set_properties({"delta.enableRowTracking": "true"})
    assert refused.value.problems == ("no rowTracking",)


def test_a_new_promise_must_be_kept() -> None:
    it = table(None, **VECTORS)
    with pytest.raises(InvalidRequest, match="no deletionVectors"):
        it.set_properties({PROMISES: "no deletionVectors; no rowTracking"})
    assert it.set_properties({PROMISES: "no rowTracking"}).describe().properties[PROMISES] == "no rowTracking"


def test_a_promise_that_cannot_be_judged_stops_what_asks_clients_for_more_and_nothing_else() -> None:
    it = table("no ?")
    it.append(ids(1)).set_comment("it does not concern clients")
    with pytest.raises(InvalidRequest, match="what is"):
        it.set_properties(VECTORS)
    it.unset_properties(PROMISES).set_properties(VECTORS)


def test_a_restoration_leaves_promises_as_they_are() -> None:
    it = table(None, **VECTORS)
    then = it.version
    it.set_properties({"delta.enableDeletionVectors": "false", PROMISES: "no rowTracking"}).append(ids(1))
    it.restore(then)
    assert it.describe().properties == {**VECTORS, PROMISES: "no rowTracking"}


def test_what_a_rival_promises_holds_for_a_restoration_that_it_overtakes() -> None:
    """A restoration is made anew on top of whatever rivals commit; so is the look at promises."""
    it = table(None, **VECTORS)
    then = it.version
    it.set_properties({"delta.enableDeletionVectors": "false"})

    def promise(rival: Table) -> None:
        with rival.forced():
            rival.set_properties({PROMISES: "no active vectors"})

    def by_activity(text: str, contract: Contract) -> tuple[str, ...]:
        return (text,) if contract.features["deletionVectors"] >= Presence.ACTIVE else ()

    overtaken = Table(with_rival(it, promise)._table.judged_by(by_activity))
    with pytest.raises(InvalidRequest, match="no active vectors"):
        overtaken.restore(then)
    assert it.at().describe().properties["delta.enableDeletionVectors"] == "false"


@pytest.mark.parametrize("feature, change", [case[1:] for case in BREAKING if case[0] != "what is backfilled"])
def test_no_change_gets_past_what_a_rival_has_promised_meanwhile(feature: str, change: Callable[[Table], object]) -> None:
    it = table().append(ids(1))

    def promise(rival: Table) -> None:
        with rival.forced():
            rival.set_properties({PROMISES: f"no {feature}"})

    with pytest.raises((InvalidRequest, Conflict)):
        change(judged(with_rival(it, promise)))
    newest = it.at()
    assert newest.describe().properties == {PROMISES: f"no {feature}"}
    assert feature not in {found.name for found in newest.features() if found.presence > Presence.ABSENT}
    assert rows(it) == [{"id": 1}]
