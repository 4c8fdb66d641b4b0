"""Which clients does a change of a table's protocol gain, and which does it lose?

Pure but for the data on clients: every release of which something is known is asked twice, for the table as it is and for what it
would be.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from esker.compat.report import Shift, changed, compatibility
from esker.compat.verdicts import WORKS, Reason
from esker.core.protocol_changes import Foresight
from esker.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """What a change makes of a table, and of its clients; nothing was touched for it. Printed, it is a text for people."""

    foresight: Foresight
    gained: tuple[Shift, ...]
    lost: tuple[Shift, ...]

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def change_plan(foresight: Foresight) -> ChangePlan:
    """The plan, with the clients that it concerns."""
    report = changed(compatibility(foresight.before), compatibility(foresight.after))
    return ChangePlan(foresight, report.gained, report.lost)


def keeps_working(foresight: Foresight, client: str) -> tuple[Reason, ...]:
    """Why the client would not work with the table after the change; nothing where it would.

    It is named with a release, `deltalake==1.2.0`, or without for its newest. A client that can write has to write.
    """
    found = compatibility(foresight.after, [client], latest=True).clients
    if not found:
        raise InvalidRequest(f"nothing is known of {client}")
    (report,) = found
    writes = report.release is not None and report.release.writes is not None
    judged = [report.read, report.write] if writes else [report.read]
    wrong = [one for one in judged if one.verdict not in WORKS]
    return tuple(dict.fromkeys(reason for one in wrong for reason in one.reasons or (Reason("*", one.verdict.value),)))


def _lines(plan: ChangePlan) -> Iterator[str]:
    told = plan.foresight
    if told.changes_nothing:
        yield f"{told.location} is so already: {told.protocol_before}"
        return
    yield f"{told.location} at version {told.version}"
    yield f"protocol: {told.protocol_before} -> {told.protocol_after}"
    for name, text in told.properties.items():
        yield f"property: {name} is taken out" if text is None else f"property: {name}={text}"
    if told.rewriting.files:
        yield f"rewritten: {len(told.rewriting.files)} files, {told.rewriting.size} bytes"
    yield from (f"step: {step}" for step in told.steps)
    for title, changes in (("gains", plan.gained), ("loses", plan.lost)):
        yield from (f"{title}: {change}" for change in changes)
