"""What does a table's protocol action demand?  (PROTOCOL.md, "Protocol Evolution", "Table Features")

Pure: a `Protocol` is four values; all else is decided from them and the registry. Legality is strict, reading is not:
every rule that a protocol breaks is a `Problem`, and a problem stops only those whom it leaves in doubt. A reader is in
doubt when its version makes no sense or its list is missing, never because of what is said to writers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from esker.core.features import FeaturePresence, Operation, Requirement, Scope, Section
from esker.delta.features import FEATURES, Facts
from esker.errors import InvalidTable, Unsupported

LAST_READER = 3
LAST_WRITER = 7
_KEPT = 256
"""Protocols whose answers are kept: a writer asks the same several times for each commit."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a client must understand to touch the table."""

    min_reader: int
    min_writer: int
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None

    def __str__(self) -> str:
        lists = (names for names in (self.reader_features, self.writer_features) if names is not None)
        parts = [str(self.min_reader), str(self.min_writer), *(f"[{', '.join(sorted(names))}]" for names in lists)]
        return f"({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that a protocol breaks, and whom that leaves in doubt."""

    what: str
    section: Section
    scope: Scope

    def __str__(self) -> str:
        return f"{self.what} ({self.section})"


def parse_protocol(action: Mapping[str, Any], where: str | None = None) -> Protocol:
    """The protocol of a `protocol` action, with feature names in the registry's capitals.

    A list may be null or absent, which is the same; an empty one below the version that has lists says nothing. Raises
    `InvalidTable`, with every problem, where a value has the wrong type.
    """
    problems: list[str] = []
    reader = _version(action, "minReaderVersion", problems)
    writer = _version(action, "minWriterVersion", problems)
    reader_features = _names(action, "readerFeatures", problems)
    writer_features = _names(action, "writerFeatures", problems)
    if problems:
        raise InvalidTable("the protocol action is malformed", where=where, problems=problems)
    return Protocol(
        reader,
        writer,
        reader_features or (None if reader < LAST_READER else reader_features),
        writer_features or (None if writer < LAST_WRITER else writer_features),
    )


@lru_cache(_KEPT)
def problems(protocol: Protocol) -> tuple[Problem, ...]:
    """Every rule on protocols that this one breaks."""
    return (*_version_problems(protocol), *_list_problems(protocol), *_name_problems(protocol))


def implicit(protocol: Protocol) -> tuple[str, ...]:
    """The features that the versions alone imply. From writer version 7 on there are none."""
    if protocol.min_writer >= LAST_WRITER:
        return ()
    return tuple(f.name for f in FEATURES if f.implied_by and _reaches(protocol, f.implied_by))


@lru_cache(_KEPT)
def supported(protocol: Protocol) -> frozenset[str]:
    """The names of all features that the table supports, listed or implied, as the protocol spells them."""
    return frozenset(_scopes(protocol))


def is_supported(protocol: Protocol, name: str) -> bool:
    """Whether clients must respect the feature, under whichever of its names the table has it."""
    feature = FEATURES.get(name)
    names = set(feature.names if feature else (name,))
    # "If the table is on Reader Version 2 [...] readers and writers must read the table property
    # `delta.columnMapping.mode`": whatever the writer version.  PROTOCOL.md, Reader Requirements for Column Mapping
    reader_2 = {"columnMapping"} if protocol.min_reader == 2 else set()
    return not names.isdisjoint(supported(protocol) | reader_2)


@lru_cache(_KEPT)
def requirements(protocol: Protocol) -> tuple[Requirement, ...]:
    """What the table demands of its clients, in catalogue order, unknown names last."""
    listed = (protocol.reader_features or frozenset()) | (protocol.writer_features or frozenset())
    scopes = _scopes(protocol)
    order = {name: index for index, name in enumerate(name for f in FEATURES for name in f.names)}
    return tuple(
        Requirement(name, scopes[name], "explicit" if name in listed else _implied_by(protocol, scopes[name]))
        for name in sorted(scopes, key=lambda name: (order.get(name, len(order)), name))
    )


def presences(protocol: Protocol, facts: Facts) -> tuple[FeaturePresence[Facts], ...]:
    """How far each feature has come in the table; names that Esker does not know come last."""
    return FEATURES.presences(requirements(protocol), facts)


def check_readable(protocol: Protocol, location: str) -> None:
    """Raise `Unsupported` or `InvalidTable` when Esker must not read the table."""
    _check(protocol, Operation.READ, location)


def check_writable(protocol: Protocol, location: str) -> None:
    """Raise `Unsupported` or `InvalidTable` when Esker must not write the table; who writes must be able to read."""
    check_readable(protocol, location)
    _check(protocol, Operation.WRITE, location)


def minimal(names: Iterable[str]) -> Protocol:
    """The lowest protocol that supports exactly these features. Raises `InvalidRequest` for unknown names."""
    spelled = tuple(FEATURES.spelled(name) for name in names)
    FEATURES.named(spelled)
    return _lowest({name: _known_scope(name) or Scope.WRITE for name in spelled})


def merge(*protocols: Protocol) -> Protocol:
    """The lowest protocol that supports whatever one of these supports, without lists where plain versions say the same.

    The invalid pair (2, 3) becomes (1, 3).
    """
    scopes: dict[str, Scope] = {}
    for protocol in protocols:
        for name, scope in _countable(protocol).items():
            scopes[name] = scope if scopes.get(name) is not Scope.READ_WRITE else Scope.READ_WRITE
    return _lowest(scopes)


def without(protocol: Protocol, names: Iterable[str], is_protected: bool = False) -> Protocol:
    """The lowest protocol that supports what is left when these names are taken out.

    Where it `is_protected`, checkpoints of older versions stay, and `checkpointProtection` comes in.
    """
    gone = {FEATURES.spelled(name) for name in names}
    left = {name: scope for name, scope in _countable(protocol).items() if name not in gone}
    return _lowest(left | {"checkpointProtection": Scope.WRITE} if is_protected else left)


def is_upgrade(old: Protocol, new: Protocol) -> bool:
    """Whether the new protocol keeps each feature of the old one, and excuses no reader."""
    return _countable(old).items() <= _countable(new).items()


_EVOLUTION = Section("PROTOCOL.md", "#protocol-evolution")
_FEATURES = Section("PROTOCOL.md", "#table-features")
_FOR_NEW_TABLES = Section("PROTOCOL.md", "#table-features-for-new-and-existing-tables")
_SUPPORTED = Section("PROTOCOL.md", "#supported-features")
_READER_VERSIONS = Section("PROTOCOL.md", "#reader-version-requirements")


def _version(action: Mapping[str, Any], key: str, problems: list[str]) -> int:
    value = action.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    problems.append(f"{key} is missing" if value is None else f"{key} is {value!r}, not an integer")
    return 0


def _names(action: Mapping[str, Any], key: str, problems: list[str]) -> frozenset[str] | None:
    value = action.get(key)
    if value is None:
        return None
    if not isinstance(value, list | tuple | set | frozenset):
        problems.append(f"{key} is {value!r}, not a list")
        return None
    names = frozenset(FEATURES.spelled(name) for name in value if isinstance(name, str))
    problems += [f"{key} holds {name!r}, not a feature name" for name in value if not isinstance(name, str) or not name]
    return names


def _version_problems(protocol: Protocol) -> Iterator[Problem]:
    if protocol.min_reader < 1:
        yield Problem(f"minReaderVersion is {protocol.min_reader}, below 1", _EVOLUTION, Scope.READ_WRITE)
    if protocol.min_writer < 1:
        yield Problem(f"minWriterVersion is {protocol.min_writer}, below 1", _EVOLUTION, Scope.WRITE)
    # The reader's list is whole whatever the writer version is, so this leaves no reader in doubt.
    if protocol.min_reader == LAST_READER and protocol.min_writer < LAST_WRITER:
        yield Problem(
            f"reader version 3 needs writer version 7, not {protocol.min_writer}", _READER_VERSIONS, Scope.WRITE
        )


def _list_problems(protocol: Protocol) -> Iterator[Problem]:
    # "When the table's Reader Version is 3, `readerFeatures` must exist in the `protocol` action, and when the Writer
    # Version is 7, `writerFeatures` must exist in the `protocol` action."  PROTOCOL.md, Table Features
    if protocol.min_reader == LAST_READER and protocol.reader_features is None:
        yield Problem("reader version 3 without readerFeatures", _FEATURES, Scope.READ_WRITE)
    if protocol.min_writer == LAST_WRITER and protocol.writer_features is None:
        yield Problem("writer version 7 without writerFeatures", _FEATURES, Scope.WRITE)
    # A client of reader version 1 or 2 knows no lists and would pass over this one. Who honours the names reads the
    # table at least as carefully, so it stays readable where all of them are supported.
    if protocol.min_reader < LAST_READER and protocol.reader_features:
        yield Problem(f"readerFeatures on reader version {protocol.min_reader}", _FOR_NEW_TABLES, Scope.WRITE)
    if protocol.min_writer < LAST_WRITER and protocol.writer_features:
        yield Problem(f"writerFeatures on writer version {protocol.min_writer}", _EVOLUTION, Scope.WRITE)


def _name_problems(protocol: Protocol) -> Iterator[Problem]:
    readers = protocol.reader_features or frozenset()
    writers = protocol.writer_features or frozenset()
    # "It is not allowed to list a feature only in `readerFeatures` but not in `writerFeatures`."  Supported Features
    for name in sorted(readers - writers):
        yield Problem(f"{name} is in readerFeatures only", _SUPPORTED, Scope.WRITE)
    # Writers have followed the feature, so the files must be read by its rules; `_scopes` sees to that.
    for name in sorted(writers - readers):
        feature = FEATURES.get(name)
        if feature is None or feature.scope is Scope.WRITE:
            continue
        if not _is_reader_version_enough(protocol, feature.implied_by):
            yield Problem(f"{name} concerns readers and is in writerFeatures only", _SUPPORTED, Scope.WRITE)


def _is_reader_version_enough(protocol: Protocol, implied_by: tuple[int, ...] | None) -> bool:
    # "Reader version 2 [...] does not support listing reader features but supports Column Mapping."  Protocol Evolution
    return implied_by is not None and implied_by[0] <= protocol.min_reader < LAST_READER


def _reaches(protocol: Protocol, versions: tuple[int, ...]) -> bool:
    reader, writer = versions
    by_version = reader == 1 or _is_reader_version_enough(protocol, versions)
    return by_version and writer <= protocol.min_writer < LAST_WRITER


def _implied_by(protocol: Protocol, scope: Scope) -> str:
    writer = f"implied by writer version {protocol.min_writer}"
    return writer if scope is Scope.WRITE else f"{writer} and reader version {protocol.min_reader}"


def _known_scope(name: str) -> Scope | None:
    feature = FEATURES.get(name)
    return feature.scope if feature else None


def _scopes(protocol: Protocol) -> dict[str, Scope]:
    """The supported names, and of whom each is demanded: of readers if a list or the registry says so."""
    readers = protocol.reader_features or frozenset()
    names = readers | (protocol.writer_features or frozenset()) | frozenset(implicit(protocol))
    demanded = {name: _known_scope(name) for name in names}
    return {
        name: Scope.READ_WRITE if name in readers or scope is Scope.READ_WRITE else Scope.WRITE
        for name, scope in demanded.items()
    }


def _countable(protocol: Protocol) -> dict[str, Scope]:
    if protocol.min_reader > LAST_READER or protocol.min_writer > LAST_WRITER:
        raise Unsupported(f"protocol {protocol} is newer than (3, 7), so what it implies is not known")
    return _scopes(protocol)


def _versions(name: str, scope: Scope) -> tuple[int, int]:
    feature = FEATURES.get(name)
    if feature and feature.implied_by and feature.scope is scope:
        reader, writer = feature.implied_by
        return reader, writer
    return (LAST_READER if scope is Scope.READ_WRITE else 1), LAST_WRITER


def _lowest(scopes: Mapping[str, Scope]) -> Protocol:
    needed = [_versions(name, scope) for name, scope in scopes.items()]
    plain = Protocol(max((r for r, _ in needed), default=1), max((w for _, w in needed), default=1))
    return plain if frozenset(implicit(plain)) == scopes.keys() else _listing(scopes)


def _listing(scopes: Mapping[str, Scope]) -> Protocol:
    reader = max((_versions(name, scope)[0] for name, scope in scopes.items()), default=1)
    readers = frozenset(name for name, scope in scopes.items() if scope is Scope.READ_WRITE)
    return Protocol(reader, LAST_WRITER, readers if reader == LAST_READER else None, frozenset(scopes))


def _check(protocol: Protocol, operation: Operation, location: str) -> None:
    _check_versions(protocol, operation, location)
    if broken := [str(problem) for problem in problems(protocol) if problem.scope.concerns(operation)]:
        raise InvalidTable(f"protocol {protocol} breaks the specification", where=location, problems=broken)
    FEATURES.gate(requirements(protocol), operation, location)


def _check_versions(protocol: Protocol, operation: Operation, location: str) -> None:
    newer = []
    if protocol.min_reader > LAST_READER:
        newer.append(f"reader version {protocol.min_reader}; Esker knows up to {LAST_READER}")
    if protocol.min_writer > LAST_WRITER and operation is Operation.WRITE:
        newer.append(f"writer version {protocol.min_writer}; Esker knows up to {LAST_WRITER}")
    if newer:
        raise Unsupported(
            f"Esker cannot {operation.value} a table of a newer protocol",
            where=location, problems=(*newer, *FEATURES.problems(requirements(protocol), operation)),
            hint="Use a newer Esker.",
        )
