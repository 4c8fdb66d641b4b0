"""Who knows which metadata file is a table's newest, and puts another in its place?  (spec, "Metastore Tables")

The port between commits and catalogs: load what is current, and swap it for a successor if nobody was faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from esker.iceberg.metadata import TableMetadata
from esker.iceberg.updates import Requirement, Update


@dataclass(frozen=True)
class Swap:
    """What is to follow on what. `metadata` is `base` after the updates, for catalogs that do not apply them on their own."""

    base_file: str
    base: TableMetadata
    metadata: TableMetadata
    updates: Sequence[Update]
    requirements: Sequence[Requirement]


class LostRace(Exception):
    """Another writer was first: load again, and try again."""


class Catalog(Protocol):
    """Where one table's newest metadata is known."""

    def load(self) -> tuple[str, TableMetadata]:
        """The path of the newest metadata file below the table, and what it says."""

    def create(self, metadata: TableMetadata) -> tuple[str, TableMetadata]:
        """Make the metadata that of a new table; `LostRace` where there is one."""

    def swap(self, swap: Swap) -> tuple[str, TableMetadata]:
        """Put the successor in the place of the base; what is current then.

        Raises `LostRace` where the base is not the newest any more and nothing was changed, and `CommitUnknown` where it cannot
        be told whether the swap happened.
        """
