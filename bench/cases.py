"""What is compared with what, and which ratio is to be reached?"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.scale import Scale
from bench.targets import copied

Measure = Literal["cpu", "wall", "memory"]
How = Literal["process", "session", "sessions", "rivals"]
"""A fresh process for each call; a Spark session that all sides share; one for each side; processes that commit at once."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The greatest ratio to a peer that is good enough."""

    measure: Measure
    at_most: float


@dataclass(frozen=True, slots=True)
class Contender:
    """One side: a function `module.name` of this package, and the same in words. Bars are for Esker's ratio to it."""

    name: str
    call: str
    does: str
    bars: tuple[Bar, ...] = ()
    table: str = "target"
    """The table to write to, among those made for the case."""
    source: str = "source"
    """The rows that go into it, among those made for the case."""


@dataclass(frozen=True, slots=True)
class Case:
    """A comparison of Esker with its peers on one table."""

    name: str
    title: str
    table: Callable[[Path, Scale], Path]
    ours: Contender
    peers: tuple[Contender, ...]
    how: How
    live: float = 1.0
    """The part of the peers' rows that is live for Esker."""
    turns: int = 1
    """How many calls in turn make up one measurement, each going on where the last one ended."""
    processes: int = 1
    """How many processes commit at once."""
    copied: Callable[[Path, Path], Path] = copied
    """How each call gets a table of its own."""
    heap: str = "4g"
    """What a session's JVM may take."""
    note: str = ""
    """What a reader should know to judge the ratio."""

    @property
    def contenders(self) -> tuple[Contender, ...]:
        return self.ours, *self.peers

    @property
    def on_spark(self) -> bool:
        return self.how in ("session", "sessions")
