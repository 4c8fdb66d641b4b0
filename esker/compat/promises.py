"""Which clients is a table promised to work with, and is the promise kept?

A promise is a text such as `delta-spark>=3.2: write`; a table keeps its promises in a property. A promise is broken by each known
range of releases within it that does not do what is promised, and by nothing being known of any.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from esker.compat.clients import Client, Release, client
from esker.compat.verdicts import WORKS, Judgement, Reason, Verdict, judged
from esker.core.demands import Contract
from esker.core.features import Operation
from esker.errors import InvalidRequest

_FORM = re.compile(r"\s*([A-Za-z][\w .()/-]*?)\s*((?:[<>=!~]=?|===)[^:]*)?:\s*(read|write)\s*")


@dataclass(frozen=True, slots=True)
class Promise:
    """That releases of a client, all where `versions` is empty, read or write the table."""

    client: Client
    versions: SpecifierSet
    operation: Operation

    def __str__(self) -> str:
        return f"{self.client.name}{self.versions}: {self.operation.value}"


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that is not kept, by which releases, and why."""

    promise: Promise
    versions: str
    judgement: Judgement

    def __str__(self) -> str:
        why = "; ".join(str(reason) for reason in self.judgement.reasons)
        return f"{self.promise}: {self.promise.client.name} {self.versions} {self.judgement.verdict.value} ({why})"


def parse_promises(texts: Iterable[str], format: str) -> tuple[Promise, ...]:
    """The promises. Raises `InvalidRequest`, with every problem, where a text is none."""
    found: list[Promise] = []
    problems: list[str] = []
    for text in texts:
        try:
            found.append(_parse(text, format))
        except InvalidRequest as error:
            problems.append(error.what)
    if problems:
        raise InvalidRequest(
            "these are no promises", problems=problems, hint="A promise is a text such as 'delta-spark>=3.2: write'."
        )
    return tuple(dict.fromkeys(found))


def stored(promises: Iterable[Promise]) -> str:
    """The promises as the table's property has them."""
    return "; ".join(str(promise) for promise in promises)


def promised(text: str | None) -> tuple[str, ...]:
    """The promises that the table's property states, as they stand there."""
    return tuple(part.strip() for part in (text or "").split(";") if part.strip())


def broken(text: str, contract: Contract) -> tuple[str, ...]:
    """Which of the promises in a text a table of this contract does not keep, each with why."""
    return tuple(str(breach) for breach in breaches(parse_promises(promised(text), contract.format), contract))


def doubtful(text: str | None, contract: Contract) -> tuple[str, ...]:
    """The same; and of what is no promise, that nobody can tell."""
    found: list[str] = []
    for part in promised(text):
        try:
            found += broken(part, contract)
        except InvalidRequest as error:
            found.append(f"{part}: whether this is kept cannot be told ({'; '.join(error.problems) or error.what})")
    return tuple(found)


def breaches(promises: Iterable[Promise], contract: Contract) -> tuple[Breach, ...]:
    """Every promise that a table of this contract does not keep."""
    return tuple(breach for promise in promises for breach in _breaches(promise, contract))


def _parse(text: str, format: str) -> Promise:
    form = _FORM.fullmatch(text)
    if form is None:
        raise InvalidRequest(f"{text!r} does not name a client and `: read` or `: write`")
    name, versions, operation = form.groups()
    try:
        wanted = SpecifierSet((versions or "").strip())
        _named(wanted)
    except (InvalidSpecifier, InvalidVersion) as error:
        raise InvalidRequest(f"{text!r}: {versions} is no range of versions") from error
    return Promise(client(format, name), wanted, Operation(operation))


def _breaches(promise: Promise, contract: Contract) -> Iterator[Breach]:
    concerned = [release for release in promise.client.releases if _overlaps(release, promise.versions)]
    if not concerned:
        nothing = Judgement(Verdict.UNKNOWN, (Reason("*", "nothing is known of these releases"),))
        yield Breach(promise, str(promise.versions), nothing)
    for release in concerned:
        found = judged(release, contract, promise.operation)
        if found.verdict not in WORKS:
            yield Breach(promise, release.versions, found)


def _overlaps(release: Release, wanted: SpecifierSet) -> bool:
    """Whether some release is in both ranges: what two that meet have in common begins at a version that one of them names.

    Where that version itself is left out, as by `>3.2`, it begins with the next.
    """
    if not len(wanted) or release.specifier is None:
        return True
    named = [release.oldest, *_named(wanted), *(Version(run.split()[0]) for run in release.run)]
    points = [point for version in named for point in (version, _next(version))]
    return any(release.holds(point) and wanted.contains(point, prereleases=True) for point in points)


def _named(versions: SpecifierSet) -> list[Version]:
    return [Version(specifier.version.removesuffix(".*")) for specifier in versions]


def _next(version: Version) -> Version:
    return Version(f"{version.major}.{version.minor}.{version.micro + 1}")
