"""What is found out about many tables?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from esker.auditing.clients import Standing
from esker.auditing.find import Skipped
from esker.check.model import Severity
from esker.core.demands import Contract
from esker.core.features import Presence


def legible(text: str) -> str:
    """The text with what is no character, such as a byte of a file's name that is not UTF-8, written as an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about a table."""

    severity: Severity
    what: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "what", legible(self.what))


@dataclass(frozen=True, slots=True)
class AuditedTable:
    """One table. What is not known, because it was not cheap to tell or the table cannot be opened, is None."""

    folder: str
    """Where, relative to the root; empty for the root itself."""
    location: str
    format: str
    name: str | None = None
    version: int | None = None
    protocol: str | None = None
    contract: Contract | None = None
    columns: int | None = None
    files: int | None = None
    size: int | None = None
    modified: datetime | None = None
    remarks: tuple[Remark, ...] = ()

    @property
    def features(self) -> Mapping[str, Presence]:
        """The features that the table has, and how far each has come."""
        return {} if self.contract is None else self.contract.features

    @property
    def worst(self) -> Severity | None:
        return max((remark.severity for remark in self.remarks), default=None)


@dataclass(frozen=True, slots=True)
class FeatureTotal:
    """In how many tables of a format a feature has come how far; each table counts once."""

    format: str
    feature: str
    supported: int
    active: int
    in_use: int

    @property
    def tables(self) -> int:
        return self.supported + self.active + self.in_use


@dataclass(frozen=True, slots=True)
class Audit:
    """All tables below a root, at one time."""

    root: str
    at: datetime
    tables: tuple[AuditedTable, ...]
    features: tuple[FeatureTotal, ...]
    clients: tuple[Standing, ...]
    """What each known range of releases makes of the tables of its format."""
    skipped: tuple[Skipped, ...] = ()
    folders: int = 0
    """How many folders were looked into."""
    judgements: Mapping[Contract, str] = field(default_factory=dict, hash=False, repr=False)
    """For each contract a letter for each standing of its format, reading and writing: see `clients`."""
