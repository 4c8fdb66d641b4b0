"""What is a rule of a specification, and what is it to find one broken?

The model that the rules of all formats share. A rule is data: what it says and where, how bad it is to break it, how that is
mended, and a function that looks. Nothing here knows a format.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

from esker.core.features import Section
from esker.errors import EskerError

S = TypeVar("S")
"""What the rules of a format look at."""


class Severity(IntEnum):
    """How bad it is."""

    NOTICE = 1  # odd, and allowed
    WARNING = 2  # breaks a recommendation, or harms some clients
    ERROR = 3  # breaks the specification: clients may refuse the table, or read it wrong


@dataclass(frozen=True, slots=True)
class Sighting:
    """A place at which a rule is broken, and how."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """One rule. A deep one reads data files, or whole states twice; it is looked into on demand only."""

    id: str
    severity: Severity
    section: Section
    says: str
    mend: str
    look: Callable[[S], Iterable[Sighting]]
    is_deep: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a table breaks at some place."""

    rule: str
    severity: Severity
    section: str
    where: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.rule}, {self.section}]"


MOST = 20
"""As many places are told of each rule; of the others only how many there are."""


def findings(rules: Iterable[Rule[S]], subject: S, *, deep: bool = False) -> Iterator[Finding]:
    """Every rule that the subject breaks. What keeps a rule from being looked into is a finding too."""
    for rule in rules:
        if rule.is_deep and not deep:
            continue
        try:
            seen = list(rule.look(subject))
        except EskerError as error:
            yield _finding(rule, Sighting(error.where or "table", f"cannot be looked into: {error.what}"))
            continue
        yield from (_finding(rule, sighting) for sighting in seen[:MOST])
        if len(seen) > MOST:
            yield _finding(rule, Sighting("table", f"and at {len(seen) - MOST:,} more places"))


def worst(found: Sequence[Finding]) -> Severity | None:
    """How bad it is on the whole; None where nothing was found."""
    return max((finding.severity for finding in found), default=None)


def _finding(rule: Rule[S], seen: Sighting) -> Finding:
    return Finding(rule.id, rule.severity, str(rule.section), seen.where, seen.what, rule.mend)
