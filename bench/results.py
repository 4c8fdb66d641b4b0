"""What do the rounds of a case come to?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from bench.cases import Bar, Case, Measure
from bench.measure import Cost

MEASURES: tuple[Measure, ...] = ("cpu", "wall", "memory")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A ratio to the peer, and the bar that was set for it, if one was."""

    measure: Measure
    ours: float
    peer: float
    bar: Bar | None

    @property
    def ratio(self) -> float:
        return self.ours / self.peer

    @property
    def is_met(self) -> bool | None:
        # what is printed decides: two digits
        return None if self.bar is None else round(self.ratio, 2) <= self.bar.at_most


@dataclass(frozen=True, slots=True)
class Result:
    """All measured rounds of a case, of Esker and of the peer."""

    case: Case
    ours: tuple[Cost, ...]
    peer: tuple[Cost, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each measure, from the medians."""
        bars = {bar.measure: bar for bar in self.case.bars}
        return tuple(
            Verdict(measure, middle(self.ours, measure), middle(self.peer, measure), bars.get(measure))
            for measure in MEASURES
        )

    def to_json(self) -> Mapping[str, Any]:
        return {
            "case": self.case.name,
            "samples": {"esker": [asdict(c) for c in self.ours], self.case.peer.name: [asdict(c) for c in self.peer]},
            "verdicts": [
                {"measure": v.measure, "esker": v.ours, self.case.peer.name: v.peer, "ratio": v.ratio,
                 "bar": v.bar.at_most if v.bar else None, "is_met": v.is_met}
                for v in self.verdicts
            ],
        }  # fmt: skip


def middle(costs: tuple[Cost, ...], measure: Measure) -> float:
    return float(median(value for cost in costs if (value := getattr(cost, measure)) is not None))


def shown(measure: Measure, value: float) -> str:
    """A cost with its unit."""
    if measure == "memory":
        return f"{value / 2**20:,.0f} MiB"
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.2f} s"
