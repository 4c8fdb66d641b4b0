"""What is known of the clients that read and write tables?

One file a client and format, below `clients`. Each states, for ranges of releases, which demands of a table the client accepts
and what it is known to get wrong, with the evidence: the client was run, its source was read, or its documentation says so.
Nothing is concluded from silence.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from esker.errors import InvalidRequest


class Others(Enum):
    """What a client does with a demand that nothing is said of."""

    REFUSED = "refused"
    IGNORED = "ignored"  # it goes on as if the demand were not there
    UNKNOWN = "unknown"


class Evidence(Enum):
    """How something came to be known, the surest first."""

    RUN = "run"
    SOURCE = "source code"
    DOCUMENTATION = "documentation"


@dataclass(frozen=True, slots=True)
class Access:
    """One way in which a client reads, or writes."""

    accepts: frozenset[str]
    unused: frozenset[str] = frozenset()
    """Accepted as long as the table only lists it and holds nothing of it."""
    refuses: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    limits: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What is accepted in part, and how far."""
    others: Others = Others.UNKNOWN
    path: str = ""
    remark: str = ""
    stands_alone: bool = False
    """Whether the client writes by other means than it reads, so that it may write what it does not read."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """What a client gets wrong, or refuses, beyond its answers to demands.

    `feature` is `*` where that is about every demand that it does not know.
    """

    feature: str
    operation: str
    effect: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """A range of releases that behave alike. `specifier` is None for a service, which has dates instead of releases."""

    versions: str
    specifier: SpecifierSet | None
    evidence: Evidence
    source: str
    date: str
    reads: tuple[Access, ...]
    writes: Access | None
    hazards: tuple[Hazard, ...] = ()
    refusals: tuple[Hazard, ...] = ()
    """What it refuses although it accepts the demands, once the feature is used."""
    run: tuple[str, ...] = ()
    notes: str = ""

    @property
    def oldest(self) -> Version:
        """The lower end of the range."""
        found = [Version(s.version.removesuffix(".*")) for s in self.specifier or () if s.operator in (">=", "==", ">")]
        return max(found, default=Version("0"))

    def holds(self, version: Version) -> bool:
        return self.specifier is not None and self.specifier.contains(version, prereleases=True)


@dataclass(frozen=True, slots=True)
class Client:
    """A client of one format, with what is known of its releases, oldest first."""

    name: str
    title: str
    kind: str
    format: str
    releases: tuple[Release, ...]
    package: str | None = None
    """What to install in order to run it."""

    def release(self, version: str) -> Release | None:
        """What is known of one release; None where nothing is."""
        try:
            wanted = Version(version)
        except InvalidVersion:
            return next((release for release in self.releases if release.versions == version), None)
        return next((release for release in self.releases if release.holds(wanted)), None)


@cache
def clients(format: str) -> tuple[Client, ...]:
    """The clients of a format, by name."""
    folder = files("esker.compat").joinpath("clients", format)
    found = [_read(file) for file in folder.iterdir() if file.name.endswith(".toml")] if folder.is_dir() else []
    return tuple(sorted(found, key=lambda client: client.name))


def client(format: str, name: str) -> Client:
    """The client of this name, which may end in the format, as `duckdb-delta`. Raises `InvalidRequest` where there is none."""
    said = (name.lower(), name.lower().removesuffix(f"-{format}"))
    for known in clients(format):
        if known.name.lower() in said or known.title.lower() in said:
            return known
    names = ", ".join(known.name for known in clients(format))
    raise InvalidRequest(f"nothing is known of a client {name} for {format} tables", hint=f"Known are: {names}.")


def _read(file: Traversable) -> Client:
    try:
        return parse_client(tomllib.loads(file.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError, InvalidSpecifier) as error:
        raise ValueError(f"{file.name} is malformed: {error!r}") from error


def parse_client(said: Mapping[str, Any]) -> Client:
    """A client as its file states it."""
    releases = tuple(_release(release) for release in said["release"])
    return Client(said["client"], said["title"], said["kind"], said["format"], releases, said.get("package"))


def _release(said: Mapping[str, Any]) -> Release:
    return Release(
        versions=said["versions"],
        specifier=None if said.get("dated", False) else SpecifierSet(said["versions"]),
        evidence=Evidence(said["evidence"]),
        source=said["source"],
        date=said["date"],
        reads=tuple(_access(access) for access in said.get("read", ())),
        writes=_access(said["write"]) if "write" in said else None,
        hazards=tuple(Hazard(**hazard) for hazard in said.get("hazard", ())),
        refusals=tuple(Hazard(**refusal) for refusal in said.get("refusal", ())),
        run=tuple(said.get("run", ())),
        notes=said.get("notes", ""),
    )


def _access(said: Mapping[str, Any]) -> Access:
    names = {key: frozenset(said.get(key, ())) for key in ("accepts", "unused", "refuses", "unknown")}
    return Access(
        **names,
        limits=dict(said.get("limits", {})),
        others=Others(said["others"]),
        path=said.get("path", ""),
        remark=said.get("remark", ""),
        stands_alone=said.get("stands_alone", False),
    )
