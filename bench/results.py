"""What do the rounds of a case come to?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from bench.cases import Bar, Case, Contender, Measure
from bench.measure import Cost

MEASURES: tuple[Measure, ...] = ("cpu", "wall", "memory")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A ratio to a peer, and the bar that was set for it, if one was."""

    peer: str
    measure: Measure
    ours: float
    theirs: float
    bar: Bar | None

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def is_met(self) -> bool | None:
        # what is printed decides: two digits
        return None if self.bar is None else round(self.ratio, 2) <= self.bar.at_most


@dataclass(frozen=True, slots=True)
class Result:
    """All measured rounds of a case, for each of its contenders."""

    case: Case
    costs: tuple[tuple[Cost, ...], ...]
    load: float | None = None
    """What else the processors had to do when it began, as runnable processes for each core."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each peer and measure, from the medians."""
        ours, *others = self.costs
        return tuple(
            Verdict(peer.name, measure, mine, middle(theirs, measure), _bar(peer, measure))
            for peer, theirs in zip(self.case.peers, others, strict=True)
            for measure in MEASURES
            if (mine := middle(ours, measure)) is not None
        )

    def to_json(self) -> Mapping[str, Any]:
        sides = zip(self.case.contenders, self.costs, strict=True)
        samples = {side.name: [asdict(cost) for cost in costs] for side, costs in sides}
        return {"case": self.case.name, "load": self.load, "samples": samples}

    @staticmethod
    def from_json(case: Case, stored: Mapping[str, Any]) -> "Result":
        costs = tuple(tuple(Cost(**cost) for cost in stored["samples"][c.name]) for c in case.contenders)
        return Result(case, costs, stored.get("load"))


def _bar(peer: Contender, measure: Measure) -> Bar | None:
    return next((bar for bar in peer.bars if bar.measure == measure), None)


def middle(costs: tuple[Cost, ...], measure: Measure) -> Any:
    """The median; None where nothing was measured."""
    values = [value for cost in costs if (value := getattr(cost, measure)) is not None]
    return median(values) if values else None


def shown(measure: Measure, value: float) -> str:
    """A cost with its unit."""
    if measure == "memory":
        return f"{value / 2**20:,.0f} MiB"
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.2f} s"
