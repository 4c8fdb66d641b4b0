"""Which clients read, write, refuse or misread a table, what would help, and what would a change do to them?

Pure but for the data on clients. A remedy is what makes a client work, the cheapest first: a newer release of the client, or a
feature taken out of the table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from esker.compat.clients import Client, Release, client, clients
from esker.compat.promises import doubtful, promised
from esker.compat.verdicts import WORKS, Judgement, Reason, Verdict, judged
from esker.core.demands import Contract
from esker.core.features import Operation


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What one range of a client's releases does with the table."""

    client: Client
    release: Release | None
    """None for a release of which nothing is known."""
    versions: str
    read: Judgement
    write: Judgement
    remedies: tuple[str, ...] = ()

    def judgement(self, operation: Operation) -> Judgement:
        return self.read if operation is Operation.READ else self.write


@dataclass(frozen=True, slots=True)
class Shift:
    """What a change of the table does to a range of a client's releases, in one operation."""

    client: Client
    versions: str
    operation: Operation
    before: Judgement
    after: Judgement
    remedies: tuple[str, ...] = ()

    @property
    def is_lost(self) -> bool:
        """Whether the client does it no more, or gets it wrong from then on."""
        is_out = self.before.verdict in WORKS and self.after.verdict not in WORKS
        return is_out or (self.after.verdict is Verdict.HARMS and self.before.verdict is not Verdict.HARMS)

    @property
    def is_gained(self) -> bool:
        """Whether the client does it from then on."""
        return self.before.verdict not in WORKS and self.after.verdict in WORKS

    @property
    def deciding(self) -> Judgement:
        """What the change hangs on: what stands in the way after it, or what stood there before."""
        return self.after if self.is_lost else self.before

    def __str__(self) -> str:
        reasons = self.deciding.reasons
        why = f" ({'; '.join(str(reason) for reason in reasons)})" if reasons else ""
        return f"{self.client.name} {self.versions}, to {self.operation.value}{why}"


@dataclass(frozen=True, slots=True)
class Compatibility:
    """The report of a table, client by client, the releases of each from the newest back.

    `breaches` tells which of the table's `promises` are not kept, and why. Where the report is about the table after a change,
    `shifts` has what that changes.
    """

    contract: Contract
    clients: tuple[ClientReport, ...]
    promises: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()
    shifts: tuple[Shift, ...] = ()

    @property
    def lost(self) -> tuple[Shift, ...]:
        """What clients would do no more."""
        return tuple(shift for shift in self.shifts if shift.is_lost)

    @property
    def gained(self) -> tuple[Shift, ...]:
        """What clients would do that they do not do now."""
        return tuple(shift for shift in self.shifts if shift.is_gained)


def compatibility(
    contract: Contract,
    names: Sequence[str] = (),
    removable: Mapping[str, bool] | None = None,
    latest: bool = False,
    promises: str | None = None,
) -> Compatibility:
    """What clients do with a table of this contract.

    `names` picks clients, each with a release or without: `deltalake`, `deltalake==1.2.0`. `latest` shows the newest range of
    each only. `removable` says of features whether they can be taken out of a table, `promises` is the table's property.
    """
    known = removable or {}
    wanted = [_picked(contract.format, name) for name in names] or [(c, None) for c in clients(contract.format)]
    reports = (report for one, version in wanted for report in _reports(one, version, contract, known, latest))
    return Compatibility(contract, tuple(reports), promised(promises), doubtful(promises, contract))


def changed(before: Compatibility, after: Compatibility) -> Compatibility:
    """The report after a change, with what that changes against the report before it on the same clients."""
    return replace(after, shifts=tuple(_shifts(before, after)))


def _shifts(before: Compatibility, after: Compatibility) -> Iterator[Shift]:
    for old, new in zip(before.clients, after.clients, strict=True):
        for operation in Operation:
            was, will_be = old.judgement(operation), new.judgement(operation)
            if was.verdict is not will_be.verdict:
                remedies = tuple(text for text in new.remedies if text.startswith(_to(operation)))
                yield Shift(new.client, new.versions, operation, was, will_be, remedies)


def _to(operation: Operation) -> str:
    return f"to {operation.value}: "


def _picked(format: str, text: str) -> tuple[Client, str | None]:
    name, _, version = text.partition("==")
    return client(format, name.strip()), version.strip() or None


def _reports(
    one: Client, version: str | None, contract: Contract, removable: Mapping[str, bool], latest: bool
) -> Iterator[ClientReport]:
    if version is not None:
        found = one.release(version)
        if found is None:
            nothing = Judgement(Verdict.UNKNOWN, (Reason("*", "nothing is known of this release"),))
            yield ClientReport(one, None, version, nothing, nothing)
        else:
            yield _report(one, found, version, contract, removable)
        return
    newest_first = list(reversed(one.releases))
    for release in newest_first[:1] if latest else newest_first:
        yield _report(one, release, release.versions, contract, removable)


def _report(
    one: Client, release: Release, versions: str, contract: Contract, removable: Mapping[str, bool]
) -> ClientReport:
    read, write = (judged(release, contract, operation) for operation in (Operation.READ, Operation.WRITE))
    remedies = tuple(dict.fromkeys(_remedies(one, release, contract, removable, read, write)))
    return ClientReport(one, release, versions, read, write, remedies)


def _remedies(
    one: Client, release: Release, contract: Contract, removable: Mapping[str, bool], read: Judgement, write: Judgement
) -> Iterator[str]:
    for operation, judgement in ((Operation.READ, read), (Operation.WRITE, write)):
        if judgement.verdict in WORKS:
            continue
        if newer := _newer(one, release, contract, operation):
            yield f"{_to(operation)}{one.name} {newer.versions}"
        if dropped := _dropped(judgement.reasons, removable):
            yield f"{_to(operation)}drop {', '.join(dropped)} from the table"


def _newer(one: Client, release: Release, contract: Contract, operation: Operation) -> Release | None:
    """The first later release that works."""
    later = one.releases[one.releases.index(release) + 1 :]
    return next((other for other in later if judged(other, contract, operation).verdict in WORKS), None)


def _dropped(reasons: Iterable[Reason], removable: Mapping[str, bool]) -> tuple[str, ...]:
    """The features whose removal would help; nothing where one of the reasons is no removable feature."""
    names = tuple(dict.fromkeys(reason.feature for reason in reasons))
    versions = tuple(name for name in names if " version " in name)
    features = tuple(name for name in names if name not in versions)
    return features if features and all(removable.get(name, False) for name in features) else ()
