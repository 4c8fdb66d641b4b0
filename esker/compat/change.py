"""Which clients does a change of a table's protocol gain, and which does it lose?

Pure but for the data on clients: every release of which something is known is asked twice, for the table as it is and for what it
would be.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from esker.compat.report import ClientReport, compatibility
from esker.compat.verdicts import Reason, Verdict
from esker.core.features import Operation
from esker.core.protocol_changes import Foresight
from esker.errors import InvalidRequest

_WORKS = (Verdict.YES, Verdict.LIMITED)


@dataclass(frozen=True, slots=True)
class ClientChange:
    """Releases of a client that come to work with a table, or cease to; `reasons` is why they do not, before or after."""

    client: str
    versions: str
    operation: Operation
    before: Verdict
    after: Verdict
    reasons: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        why = f" ({'; '.join(str(reason) for reason in self.reasons)})" if self.reasons else ""
        return f"{self.client} {self.versions}, to {self.operation.value}{why}"


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """What a change makes of a table, and of its clients; nothing was touched for it. Printed, it is a text for people."""

    foresight: Foresight
    gained: tuple[ClientChange, ...]
    lost: tuple[ClientChange, ...]

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def change_plan(foresight: Foresight) -> ChangePlan:
    """The plan, with the clients that it concerns."""
    changes = tuple(_changes(foresight))
    return ChangePlan(
        foresight,
        gained=tuple(change for change in changes if change.after in _WORKS),
        lost=tuple(change for change in changes if change.after not in _WORKS),
    )


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
    wrong = [one for one in judged if one.verdict not in _WORKS]
    return tuple(dict.fromkeys(reason for one in wrong for reason in one.reasons or (Reason("*", one.verdict.value),)))


def _changes(foresight: Foresight) -> Iterator[ClientChange]:
    before, after = (compatibility(contract).clients for contract in (foresight.before, foresight.after))
    for old, new in zip(before, after, strict=True):
        for operation in Operation:
            if (change := _change(old, new, operation)) is not None:
                yield change


def _change(old: ClientReport, new: ClientReport, operation: Operation) -> ClientChange | None:
    was, is_now = old.judgement(operation), new.judgement(operation)
    if (was.verdict in _WORKS) == (is_now.verdict in _WORKS):
        return None
    reasons = was.reasons if is_now.verdict in _WORKS else is_now.reasons
    return ClientChange(old.client.name, old.versions, operation, was.verdict, is_now.verdict, reasons)


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
