"""What is about to be committed, as far as the rules on metadata look at it?"""

from collections.abc import Mapping
from dataclasses import dataclass

from esker.core.predicate import Path
from esker.core.types import Struct
from esker.delta.actions import Metadata
from esker.delta.column_mapping import Mode
from esker.delta.properties import Property, column_mapping_mode, value
from esker.delta.protocol import Protocol, is_supported


@dataclass(frozen=True, slots=True)
class Intended:
    """The metadata and protocol that a version is to have.

    `clustering` are the visible paths of the clustering columns, None for a table that has no clustering at all.
    """

    metadata: Metadata
    protocol: Protocol
    domains: frozenset[str] = frozenset()
    clustering: tuple[Path, ...] | None = None

    @property
    def schema(self) -> Struct:
        return self.metadata.schema

    @property
    def configuration(self) -> Mapping[str, str]:
        return self.metadata.configuration

    @property
    def mode(self) -> Mode:
        return column_mapping_mode(self.configuration)

    def is_active(self, switch: Property[bool]) -> bool:
        """Whether the switch is on and the protocol has clients honour it."""
        return value(switch, self.configuration) and is_supported(self.protocol, switch.feature)
