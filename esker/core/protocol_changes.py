"""How may what a table asks of its clients be changed, and what would come of it?

A change of the protocol is wished for, foreseen, and then carried out. What is foreseen is a value: nothing was touched for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from esker.core.demands import Contract


@dataclass(frozen=True, slots=True)
class Enable:
    """Have the table support these features, and turn on those that have a switch."""

    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """Take these features out. With `truncates_history` old versions go too, else clients are told to keep what they need."""

    features: tuple[str, ...]
    truncates_history: bool = False


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Have the table support all that these versions imply; None where one is to stay."""

    reader: int | None = None
    writer: int | None = None


ProtocolChange: TypeAlias = Enable | Drop | Upgrade


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Files, by the paths that the table knows them by, whose rows are to be written again, and their bytes."""

    files: tuple[str, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a change makes of a table: its protocol as people write it, its contract, its properties, its files.

    `properties` has what is set, and None for what is taken out. `steps` are what is done, in order.
    """

    location: str
    version: int
    protocol_before: str
    protocol_after: str
    before: Contract
    after: Contract
    properties: Mapping[str, str | None] = field(default_factory=dict, hash=False)
    rewriting: Rewriting = Rewriting()
    steps: tuple[str, ...] = ()

    @property
    def changes_nothing(self) -> bool:
        return self.protocol_before == self.protocol_after and not self.properties and not self.rewriting.files


@dataclass(frozen=True, slots=True)
class Dropped:
    """How far features have been taken out of a table: `features` are out, `remaining` wait until `come_back`."""

    location: str
    version: int
    protocol: str
    features: tuple[str, ...]
    remaining: tuple[str, ...] = ()
    why: str = ""
    come_back: datetime | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing remains."""
        return not self.remaining
