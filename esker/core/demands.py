"""What does a table demand of any client, said so that what is known of a client can answer?

A client checks versions and names before it looks at anything else, and refuses those that it does not know: these are the
demands. What it then makes of what it accepted depends on the features that the table really uses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from esker.core.features import Operation, Presence


@dataclass(frozen=True, slots=True)
class Demand:
    """A version, a feature or a flag that clients check when they read, when they write, or both.

    `feature` is what a version stands for, if it stands for one thing.
    """

    name: str
    checked: frozenset[Operation]
    presence: Presence
    feature: str | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """What a table asks of its clients: the demands, and how far each feature has come that its clients may stumble over."""

    format: str
    demands: tuple[Demand, ...]
    features: Mapping[str, Presence] = field(default_factory=dict, hash=False)
