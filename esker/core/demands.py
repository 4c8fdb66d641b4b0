"""What does a table demand of any client, said so that what is known of a client can answer?

A client checks versions and names before it looks at anything else, and refuses those that it does not know: these are the
demands. What it then makes of what it accepted depends on the features that the table really uses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from esker.core.features import Operation, Presence

PROMISES = "esker.requires"
"""The property in which a table states with which clients it is promised to work."""


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
    """What a table asks of its clients: the demands, and how far each feature has come that its clients may stumble over.

    `unproven` is what it holds that no feature stands for, so that nothing is known of how a client takes it.
    """

    format: str
    demands: tuple[Demand, ...]
    features: Mapping[str, Presence] = field(default_factory=dict, hash=False)
    unproven: tuple[str, ...] = ()


Judge: TypeAlias = Callable[[str, Contract], tuple[str, ...]]
"""Tells which of the promises in a text a table of this contract breaks, and why. Raises where it cannot tell.

Formats do not know clients; who opens a table brings somebody who does.
"""
