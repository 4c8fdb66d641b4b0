"""What does an Iceberg table demand of any client?  (spec, "Format Versioning")

A client checks the format version. What else the version admits it meets only where the table holds it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from esker.core.demands import Contract, Demand
from esker.core.features import FeaturePresence, Operation, Presence, Scope

_READ_WRITE = frozenset({Operation.READ, Operation.WRITE})
_WRITE = frozenset({Operation.WRITE})
_CHECKED_BY_VERSION = frozenset({"sequence_numbers", "refs", "statistics", "partition_statistics"})
"""What nobody is known to stumble over who accepts the version."""


def contract(format_version: int, presences: Iterable[FeaturePresence[Any]]) -> Contract:
    """The contract of a table of this version, in which features have come as far as `presences` say."""
    found = tuple(presence for presence in presences if presence.presence > Presence.ABSENT)
    return Contract("iceberg", tuple(_demands(format_version, found)), {p.name: p.presence for p in found})


def _demands(format_version: int, found: Iterable[FeaturePresence[Any]]) -> Iterator[Demand]:
    yield Demand(f"format version {format_version}", _READ_WRITE, Presence.SUPPORTED)
    for presence in found:
        if presence.presence >= Presence.ACTIVE and presence.name not in _CHECKED_BY_VERSION:
            yield Demand(presence.name, _WRITE if presence.scope is Scope.WRITE else _READ_WRITE, presence.presence)
