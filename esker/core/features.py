"""What does a table ask of its clients, and what can be done about it?

The model that the registries of all formats share: Delta table features, Iceberg format versions and what each admits,
Lance flag bits. A registry is data, one `Feature` a record; a table states `Requirement`s; everything here follows from
the two. Nothing here knows a format.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, IntEnum, auto
from typing import Generic, TypeAlias, TypeVar

from esker.errors import InvalidRequest, Unsupported

F = TypeVar("F")
"""The facts about a snapshot that a format's predicates look at."""


class Presence(IntEnum):
    """How far a feature has come in a table."""

    ABSENT = 0
    SUPPORTED = 1  # clients must know it
    ACTIVE = 2  # and its metadata turns it on
    IN_USE = 3  # and the table holds something that only it explains


class Operation(Enum):
    """What a client wants to do. To write is also to read."""

    READ = "read"
    WRITE = "write"


class Scope(Enum):
    """Whom something concerns: readers and writers, or writers alone."""

    READ_WRITE = "read and write"
    WRITE = "write"

    def concerns(self, operation: Operation) -> bool:
        return self is Scope.READ_WRITE or operation is Operation.WRITE


class Status(Enum):
    """How official a feature is."""

    SPEC = "in the specification"
    ACCEPTED = "accepted proposal, now in the specification"
    PROPOSED = "proposed"
    IMPLEMENTATION = "in implementations only"
    RETIRED = "retired"


class Enabling(Flag):
    """How a feature comes into a table. The empty flag: not described."""

    NEW = auto()  # silently, when a table is created with what needs it
    EXISTING = auto()  # silently, also when an existing table comes to need it
    DEPENDENCY = auto()  # because another feature requires it
    MANUAL = auto()  # by name
    CREATION = auto()  # by name, and only when the table is created
    DROP = auto()  # as what remains when another feature is dropped


@dataclass(frozen=True, slots=True)
class Section:
    """Where a rule is written."""

    document: str
    anchor: str = ""

    def __str__(self) -> str:
        return self.document + self.anchor


@dataclass(frozen=True, slots=True)
class Support:
    """What Esker can do with tables that have the feature; `reason` tells why not the rest."""

    operations: frozenset[Operation]
    reason: str = ""

    def allows(self, operation: Operation) -> bool:
        return operation in self.operations


@dataclass(frozen=True, slots=True)
class Removable:
    """The feature can be taken out: first `before`, then, once no `traces` are left, `downgrade` in one commit.

    When `history_protected`, older versions that need the feature must be cut off or protected first. When `only_truncating`,
    they must be cut off.
    """

    before: str
    downgrade: str
    traces: str = ""
    history_protected: bool = False
    only_truncating: bool = False


@dataclass(frozen=True, slots=True)
class Permanent:
    """The feature stays for good. `instead` is the nearest thing that can be done."""

    why: str
    instead: str = ""


Removal: TypeAlias = Removable | Permanent


def always(facts: object) -> bool:
    """The predicate of a feature that is active, or in use, wherever it is supported."""
    return True


def leaves_no_trace(facts: object) -> bool:
    """The predicate of a feature whose use nothing in a table can prove."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature(Generic[F]):
    """One entry of a specification's list of features.

    `implied_by` are the smallest versions that imply the feature, in the order in which the format states versions.
    `requires` must be supported too, and active too where `requires_active` repeats the name. Two features of which one
    `excludes` the other are never both active. `in_use` gives None where the facts do not tell. `switch` is the property, and
    its value, that makes the feature active, where one does.
    """

    name: str
    summary: str
    scope: Scope
    section: Section
    support: Support
    removal: Removal
    active: Callable[[F], bool]
    in_use: Callable[[F], bool | None]
    enabling: Enabling
    enabled_by: str = ""
    switch: tuple[str, str] | None = None
    status: Status = Status.SPEC
    aliases: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    requires_active: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    implied_by: tuple[int, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The name to write, then the others that mean the same."""
        return (self.name, *self.aliases)

    @property
    def trigger(self) -> str:
        """What enables the feature, in words."""
        return self.enabled_by or ("=".join(self.switch) if self.switch else "")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A feature that a table demands: the name as the table spells it, of whom it is demanded, and how that is said."""

    name: str
    scope: Scope
    why: str


@dataclass(frozen=True, slots=True)
class FeaturePresence(Generic[F]):
    """A feature in a table. `feature` is None for a name that the registry does not have.

    `in_use` is None where the facts do not tell; `presence` is then the least that is certain. `in_past` tells whether an older
    version that can still be read holds a trace of it, None where nobody looked.
    """

    name: str
    feature: Feature[F] | None
    presence: Presence
    scope: Scope
    why: str
    in_use: bool | None = None
    required_by: tuple[str, ...] = ()
    in_past: bool | None = None

    @property
    def support(self) -> Support:
        return self.feature.support if self.feature else UNKNOWN

    @property
    def removal(self) -> Removal:
        return self.feature.removal if self.feature else Permanent("Esker does not know what the feature left behind")


UNKNOWN = Support(frozenset(), "unknown to this version of Esker")


@dataclass(frozen=True)
class Registry(Generic[F]):
    """The features of a format, in the order of its catalogue. Names are looked up ignoring case."""

    features: tuple[Feature[F], ...]
    _by_name: dict[str, Feature[F]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[str, Feature[F]] = {}
        for feature in self.features:
            for name in feature.names:
                if by_name.setdefault(name.lower(), feature) is not feature:
                    raise ValueError(f"two features are called {name}")
        object.__setattr__(self, "_by_name", by_name)

    def __iter__(self) -> Iterator[Feature[F]]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def get(self, name: str) -> Feature[F] | None:
        """The feature of this name or alias."""
        return self._by_name.get(name.lower())

    def named(self, names: Iterable[str]) -> tuple[Feature[F], ...]:
        """The features of these names, each once, in catalogue order. Raises `InvalidRequest` for unknown names."""
        wanted = tuple(names)
        if unknown := sorted(name for name in wanted if name not in self):
            raise InvalidRequest(f"no such feature: {', '.join(unknown)}")
        return tuple(feature for feature in self if any(self.get(name) is feature for name in wanted))

    def spelled(self, name: str) -> str:
        """The name, with the registry's capitals where it is known."""
        feature = self.get(name)
        return next((known for known in feature.names if known.lower() == name.lower()), name) if feature else name

    def closure(self, names: Iterable[str]) -> tuple[Feature[F], ...]:
        """These features and all that they require, in catalogue order."""
        found = self.named(names)
        wider = self.named(name for feature in found for name in (feature.name, *feature.requires))
        return found if wider == found else self.closure(feature.name for feature in wider)

    def problems(self, present: Iterable[Requirement], operation: Operation) -> tuple[str, ...]:
        """Every reason for which Esker must not carry out the operation."""
        return tuple(
            f"{requirement.name}: {support.reason}"
            for requirement in present
            if requirement.scope.concerns(operation)
            and not (support := self._support(requirement.name)).allows(operation)
        )

    def gate(self, present: Iterable[Requirement], operation: Operation, location: str) -> None:
        """Raise `Unsupported`, naming each feature that stands in the way of the operation, if one does."""
        if problems := self.problems(present, operation):
            raise Unsupported(
                f"Esker cannot {operation.value} a table with these features",
                where=location, problems=problems, hint="Use a newer Esker, or a client that knows the features.",
            )

    def presences(self, present: Iterable[Requirement], facts: F) -> tuple[FeaturePresence[F], ...]:
        """Every feature of the registry, and after them the names that a table demands and the registry lacks."""
        known: dict[str, list[Requirement]] = {}
        unknown: list[FeaturePresence[F]] = []
        requiring: dict[str, list[str]] = {}
        for requirement in present:
            feature = self.get(requirement.name)
            if feature is None:
                told = requirement.scope, requirement.why
                unknown.append(FeaturePresence(requirement.name, None, Presence.SUPPORTED, *told))
                continue
            known.setdefault(feature.name, []).append(requirement)
            for name in feature.requires:
                requiring.setdefault(name, []).append(requirement.name)
        found: list[FeaturePresence[F]] = []
        for feature in self:
            others = tuple(requiring.get(feature.name, ()))
            matching = known.get(feature.name, ())
            found += [_present(feature, r, others, facts) for r in matching] or [_absent(feature)]
        return (*found, *unknown)

    def contradictions(self, presences: Iterable[FeaturePresence[F]]) -> tuple[str, ...]:
        """Every requirement between features that is not met, and every exclusion that is ignored."""
        highest = {feature.name: Presence.ABSENT for feature in self}
        for p in presences:
            if p.feature is not None:
                highest[p.feature.name] = max(p.presence, highest[p.feature.name])
        supported = [feature for feature in self if highest[feature.name] >= Presence.SUPPORTED]
        return (*_unmet(supported, highest), *_clashes(supported, highest))

    def _support(self, name: str) -> Support:
        feature = self.get(name)
        return feature.support if feature else UNKNOWN


def _present(feature: Feature[F], requirement: Requirement, others: tuple[str, ...], facts: F) -> FeaturePresence[F]:
    """How far a required feature has come; `others` are those that require it in turn."""
    in_use = feature.in_use(facts)
    if in_use:
        presence = Presence.IN_USE
    else:
        presence = Presence.ACTIVE if feature.active(facts) else Presence.SUPPORTED
    return FeaturePresence(requirement.name, feature, presence, requirement.scope, requirement.why, in_use, others)


def _absent(feature: Feature[F]) -> FeaturePresence[F]:
    return FeaturePresence(feature.name, feature, Presence.ABSENT, feature.scope, "not required by the table", False)


def _unmet(supported: Iterable[Feature[F]], highest: Mapping[str, Presence]) -> Iterator[str]:
    for feature in supported:
        for name in feature.requires:
            if highest[name] is Presence.ABSENT:
                yield f"{feature.name} requires {name}, which is absent"
            elif name in feature.requires_active and highest[name] < Presence.ACTIVE <= highest[feature.name]:
                yield f"{feature.name} requires {name} to be active"


def _clashes(supported: Iterable[Feature[F]], highest: Mapping[str, Presence]) -> Iterator[str]:
    told: set[frozenset[str]] = set()
    for feature in supported:
        for name in feature.excludes:
            pair = frozenset({feature.name, name})
            if min(highest[feature.name], highest[name]) >= Presence.ACTIVE and pair not in told:
                told.add(pair)
                yield f"{feature.name} and {name} must not both be active"
