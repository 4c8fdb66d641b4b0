"""What do clients make of many tables?

Tables with the same contract are one to a client, so each distinct contract is judged once. A judgement is kept as two letters a
range of releases, for reading and for writing: ten thousand tables then take no more room than their contracts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from esker.compat.clients import Client, Release, clients
from esker.compat.verdicts import Verdict, judged
from esker.core.demands import Contract
from esker.core.features import Operation

LETTERS = {Verdict.YES: "y", Verdict.LIMITED: "l", Verdict.UNKNOWN: "u", Verdict.REFUSES: "r", Verdict.HARMS: "h"}
NEVER = "n"
"""The letter of a client that does not read, or does not write, this format at all: no table locks it out."""
_VERDICTS = {letter: verdict for verdict, letter in LETTERS.items()}


@dataclass(frozen=True, slots=True)
class Standing:
    """Of how many tables a range of releases makes what."""

    client: Client
    release: Release
    is_newest: bool
    read: Mapping[Verdict, int]
    write: Mapping[Verdict, int]

    @property
    def locked_out(self) -> int:
        """How many tables it refuses to read."""
        return self.read.get(Verdict.REFUSES, 0)

    @property
    def harmed(self) -> int:
        """How many tables it gets wrong, reading or writing."""
        return max(self.read.get(Verdict.HARMS, 0), self.write.get(Verdict.HARMS, 0))


def releases(format: str) -> tuple[tuple[Client, Release], ...]:
    """All ranges of releases that something is known of, by client, newest first."""
    return tuple((client, release) for client in clients(format) for release in reversed(client.releases))


def judgement(contract: Contract) -> str:
    """Two letters for each of `releases`: what it makes of reading and of writing a table of this contract."""
    return "".join(
        _letter(release, contract, operation)
        for _, release in releases(contract.format)
        for operation in (Operation.READ, Operation.WRITE)
    )


def _letter(release: Release, contract: Contract, operation: Operation) -> str:
    does = release.reads if operation is Operation.READ else release.writes
    return LETTERS[judged(release, contract, operation).verdict] if does else NEVER


def standings(counted: Mapping[Contract, int], judgements: Mapping[Contract, str]) -> tuple[Standing, ...]:
    """The standing of each range of releases, given how many tables have each contract."""
    found: list[Standing] = []
    for format in sorted({contract.format for contract in counted}):
        own = [(judgements[contract], count) for contract, count in counted.items() if contract.format == format]
        seen: set[str] = set()
        for number, (client, release) in enumerate(releases(format)):
            read, write = (_sum((told[2 * number + shift], count) for told, count in own) for shift in (0, 1))
            found.append(Standing(client, release, client.name not in seen, read, write))
            seen.add(client.name)
    return tuple(found)


def _sum(told: Iterable[tuple[str, int]]) -> dict[Verdict, int]:
    counted: Counter[Verdict] = Counter()
    for letter, count in told:
        if letter != NEVER:
            counted[_VERDICTS[letter]] += count
    return dict(counted)
