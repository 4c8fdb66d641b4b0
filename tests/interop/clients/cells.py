"""Does what is known of a client agree with what it did?

Pure. A cell is one release of a client, one table and one operation: what the data predicts, and what was seen. A prediction may
be more careful than the client, and never bolder.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from esker.compat.verdicts import Judgement, Verdict
from esker.core.features import Operation


class Seen(Enum):
    """What a client did with a table."""

    WORKED = "worked"
    REFUSED = "refused"
    WRONG = "got it wrong"


class Agreement(Enum):
    """How prediction and outcome stand to each other, the worst first."""

    FALSE_YES = "false yes"  # it was said to work, and does not
    MISSED = "missed"  # it was said to refuse, and gets it wrong
    CAREFUL = "too careful"  # it was said to refuse, and works
    WARNED = "warned"  # it was said to get such tables wrong, and this one came out well or was refused
    OPEN = "open"  # nothing is known
    EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen, by each way that the client has; `why` is what it said, or what was wrong."""

    seen: Seen
    why: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A prediction and what was seen."""

    client: str
    release: str
    table: str
    operation: Operation
    predicted: Judgement
    ways: Mapping[str, Outcome]

    def __str__(self) -> str:
        seen = ", ".join(f"{way}: {outcome.seen.value} {outcome.why}".strip() for way, outcome in self.ways.items())
        verdict = self.predicted.verdict.value
        return f"{self.client} {self.release}, {self.operation.value} {self.table}: said {verdict}, seen {seen}"

    @property
    def seen(self) -> Seen:
        """By the best way, unless one of them gets it wrong: a user does not choose the way by the table."""
        found = {outcome.seen for outcome in self.ways.values()}
        return next(seen for seen in (Seen.WRONG, Seen.WORKED, Seen.REFUSED) if seen in found)

    @property
    def agreement(self) -> Agreement:
        return _AGREEMENTS[self.predicted.verdict][self.seen]


_WORKS = {Seen.WORKED: Agreement.EQUAL, Seen.REFUSED: Agreement.FALSE_YES, Seen.WRONG: Agreement.FALSE_YES}
_AGREEMENTS: Mapping[Verdict, Mapping[Seen, Agreement]] = {
    Verdict.YES: _WORKS,
    Verdict.LIMITED: _WORKS,
    Verdict.UNKNOWN: dict.fromkeys(Seen, Agreement.OPEN),
    Verdict.REFUSES: {Seen.WORKED: Agreement.CAREFUL, Seen.REFUSED: Agreement.EQUAL, Seen.WRONG: Agreement.MISSED},
    Verdict.HARMS: {Seen.WORKED: Agreement.WARNED, Seen.REFUSED: Agreement.WARNED, Seen.WRONG: Agreement.EQUAL},
}


def counted(cells: Iterable[Cell]) -> Mapping[Agreement, int]:
    """How many cells there are of each kind."""
    found = Counter(cell.agreement for cell in cells)
    return {agreement: found[agreement] for agreement in Agreement}
