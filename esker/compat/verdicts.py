"""Does a client get a table right?

Pure. A client is asked for every demand of the table's contract; one demand that is refused, or of which nothing is known,
decides. A hazard is worse than a refusal, because nobody notices. Never does the answer become yes without evidence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from esker.compat.clients import Access, Hazard, Others, Release
from esker.core.demands import Contract, Demand
from esker.core.features import Operation, Presence


class Verdict(Enum):
    """What a client does with a table, the best first."""

    YES = "yes"
    LIMITED = "with limits"
    UNKNOWN = "unknown"
    REFUSES = "refuses"
    HARMS = "gets it wrong"


WORKS = (Verdict.YES, Verdict.LIMITED)
"""The verdicts with which a client works."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A demand or feature that decides, and how."""

    feature: str
    what: str

    def __str__(self) -> str:
        return f"{self.feature}: {self.what}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reasons; `path` is the way of reading it is about, where the client has several."""

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    path: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reason.feature for reason in self.reasons))


def judged(release: Release, contract: Contract, operation: Operation) -> Judgement:
    """What the release does with a table of this contract."""
    reading = _reading(release, contract)
    return reading if operation is Operation.READ else _writing(release, contract, reading)


def _reading(release: Release, contract: Contract) -> Judgement:
    """By the best way that the client has, unless one of its ways gets it wrong."""
    if not release.reads:
        return Judgement(Verdict.REFUSES, (Reason("*", "it does not read this format"),))
    found = [_through(access, release, contract, Operation.READ) for access in release.reads]
    wrong = [judgement for judgement in found if judgement.verdict is Verdict.HARMS]
    order = list(Verdict)
    return wrong[0] if wrong else min(found, key=lambda judgement: order.index(judgement.verdict))


def _writing(release: Release, contract: Contract, reading: Judgement) -> Judgement:
    if release.writes is None:
        return Judgement(Verdict.REFUSES, (Reason("*", "it does not write this format"),))
    own = _through(release.writes, release, contract, Operation.WRITE)
    if release.writes.stands_alone:
        return own
    # "writers must implement and respect all reader features as well": who cannot read cannot write, but for a sink that
    # never reads
    ways = [_through(access, release, contract, Operation.READ) for access in release.reads]
    can_read = not ways or any(way.verdict in WORKS for way in ways)
    return own if can_read or own.verdict not in WORKS else reading


def _through(access: Access, release: Release, contract: Contract, operation: Operation) -> Judgement:
    demands = [demand for demand in contract.demands if operation in demand.checked]
    answers = [(demand, _answer(demand, access)) for demand in demands]
    unheard = {demand.name for demand, answer in answers if answer is not Verdict.YES}
    refused = [_reason(demand, Verdict.REFUSES) for demand, answer in answers if answer is Verdict.REFUSES]
    # What is refused at the door does no harm behind it, but for operations that do not come by the door.
    is_kept_out = any(answer is Verdict.REFUSES and demand.name not in access.unused for demand, answer in answers)
    hazards = [hazard for hazard in release.hazards if not (is_kept_out and hazard.operation in _WHOLE)]
    wrong = [*(() if is_kept_out else _ignored(answers, access)), *_hazards(hazards, access, contract, operation, unheard)]
    if wrong:
        return Judgement(Verdict.HARMS, tuple(wrong), access.path)
    refused += _stumbled(access, contract, operation)
    whole, partial = _refusals(release, access, contract, operation)
    if refused or whole:
        return Judgement(Verdict.REFUSES, (*refused, *whole), access.path)
    unknown = [_reason(demand, Verdict.UNKNOWN) for demand, answer in answers if answer is Verdict.UNKNOWN]
    unknown += [Reason(name, _NOTHING) for name in contract.unproven if name not in access.accepts]
    if unknown:
        return Judgement(Verdict.UNKNOWN, tuple(unknown), access.path)
    limits = (*_limits(access, contract), *partial)
    return Judgement(Verdict.LIMITED if limits else Verdict.YES, limits, access.path)


def _answer(demand: Demand, access: Access) -> Verdict:
    name = demand.name
    if name in access.accepts:
        return Verdict.YES
    if name in access.unused:
        return Verdict.YES if demand.presence < Presence.IN_USE else Verdict.REFUSES
    if name in access.refuses:
        return Verdict.REFUSES
    if name in access.unknown:
        return Verdict.UNKNOWN
    return {Others.REFUSED: Verdict.REFUSES, Others.IGNORED: Verdict.HARMS, Others.UNKNOWN: Verdict.UNKNOWN}[access.others]


def _ignored(answers: Iterable[tuple[Demand, Verdict]], access: Access) -> Iterator[Reason]:
    for demand, answer in answers:
        if answer is Verdict.HARMS:
            yield Reason(demand.feature or demand.name, access.remark or "it does not know this, and goes on all the same")


def _hazards(
    hazards: Sequence[Hazard], access: Access, contract: Contract, operation: Operation, unheard: set[str]
) -> Iterator[Reason]:
    for hazard in hazards:
        is_about_reading = "read" in hazard.operation
        if is_about_reading is not (operation is Operation.READ) or (hazard.path and access.path not in ("", hazard.path)):
            continue
        if hazard.feature == "*":
            yield from (Reason(name, f"{hazard.operation}: {hazard.effect}") for name in sorted(unheard))
        elif contract.features.get(hazard.feature, Presence.ABSENT) >= Presence.ACTIVE or hazard.feature in unheard:
            yield Reason(hazard.feature, f"{hazard.operation}: {hazard.effect}")


def _stumbled(access: Access, contract: Contract, operation: Operation) -> Iterator[Reason]:
    """Features that a version implies: the client accepts the version, and refuses when it comes to the feature."""
    if operation is Operation.WRITE:
        by_name = {demand.name for demand in contract.demands}
        for name, presence in contract.features.items():
            if presence is Presence.IN_USE and name in access.unused and name not in by_name:
                yield Reason(name, "it refuses this once it is used")


def _refusals(
    release: Release, access: Access, contract: Contract, operation: Operation
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """What the client refuses altogether, and what in some operations only."""
    whole = [refusal for refusal in release.refusals if refusal.operation in _WHOLE]
    partial = [refusal for refusal in release.refusals if refusal.operation not in _WHOLE]
    found = [tuple(_hazards(part, access, contract, operation, set())) for part in (whole, partial)]
    return found[0], found[1]


_WHOLE = ("read", "append", "write")


def _limits(access: Access, contract: Contract) -> Iterator[Reason]:
    asked = {demand.name for demand in contract.demands}
    for name, limit in access.limits.items():
        if name in asked or contract.features.get(name, Presence.ABSENT) >= Presence.ACTIVE:
            yield Reason(name, limit)


def _reason(demand: Demand, verdict: Verdict) -> Reason:
    what = "it refuses this" if verdict is Verdict.REFUSES else _NOTHING
    return Reason(demand.feature or demand.name, what if demand.feature is None else f"{what} ({demand.name})")


_NOTHING = "nothing is known of how it takes this"
