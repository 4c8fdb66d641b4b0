"""Which clients a change of the protocol gains and loses."""

from esker.compat.change import change_plan, keeps_working
from esker.core.demands import Contract, Demand
from esker.core.features import Operation, Presence
from esker.core.protocol_changes import Foresight, Rewriting

READ, WRITE = frozenset({Operation.READ}), frozenset({Operation.WRITE})


def contract(reader: int, writer: int, *features: str) -> Contract:
    demands = (
        Demand(f"reader version {reader}", READ, Presence.SUPPORTED), Demand(f"writer version {writer}", WRITE, Presence.SUPPORTED),
        *(Demand(name, READ | WRITE, Presence.IN_USE) for name in features),
    )  # fmt: skip
    return Contract("delta", demands, dict.fromkeys(features, Presence.IN_USE))


def foresight(before: Contract, after: Contract) -> Foresight:
    rewriting = Rewriting(("a", "b"), 10)
    return Foresight("t", 3, "(1, 2)", "(3, 7)", before, after, {"a": "1", "b": None}, rewriting, ("first",))


PLAIN, ODD = contract(1, 2), contract(3, 7, "neverHeardOf")


def test_what_a_change_takes_from_clients_its_reverse_gives_back() -> None:
    lost, gained = change_plan(foresight(PLAIN, ODD)), change_plan(foresight(ODD, PLAIN))
    assert lost.lost
    assert not lost.gained
    were = {(shift.client.name, shift.versions, shift.operation) for shift in gained.gained}
    assert were <= {(shift.client.name, shift.versions, shift.operation) for shift in lost.lost}
    assert were
    assert all(shift.after.reasons for shift in lost.lost)


def test_a_change_that_asks_for_nothing_concerns_no_client() -> None:
    plan = change_plan(foresight(PLAIN, PLAIN))
    assert (plan.gained, plan.lost) == ((), ())


def test_a_plan_prints_as_a_text_for_people() -> None:
    lines = str(change_plan(foresight(PLAIN, ODD))).splitlines()
    assert lines[:6] == [
        "t at version 3", "protocol: (1, 2) -> (3, 7)", "property: a=1", "property: b is taken out", "rewritten: 2 files, 10 bytes",
        "step: first",
    ]  # fmt: skip
    assert all(line.startswith("loses: ") for line in lines[6:])


def test_a_client_keeps_working_or_it_is_told_why_not() -> None:
    assert keeps_working(foresight(ODD, PLAIN), "deltalake") == ()
    assert "neverHeardOf" in {reason.feature for reason in keeps_working(foresight(PLAIN, ODD), "deltalake")}
