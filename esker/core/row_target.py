"""What must be known of a table to change its rows?

The port between what is the same for all formats, how clauses are resolved and rows are found, and a format.
"""

from collections.abc import Collection, Iterator
from typing import Protocol

from esker.core.change import AddressedPlan
from esker.core.predicate import Path, Predicate
from esker.core.types import Field, Struct
from esker.core.write import WriteSpec


class RowTarget(Protocol):
    """A table whose rows are to change."""

    @property
    def schema(self) -> Struct:
        """The columns."""

    @property
    def filterable(self) -> Struct:
        """What a condition may name."""

    @property
    def location(self) -> str:
        """The table's URL."""

    @property
    def target(self) -> AddressedPlan:
        """The live rows with all that is needed to change them."""

    def candidates(self, predicate: Predicate) -> list[int]:
        """The numbers of the files that may hold a row for which the predicate is TRUE."""

    def updated(self, assigned: Collection[Path]) -> WriteSpec:
        """How rows are written in which columns or struct members were set."""

    def inserted(self, given: Struct) -> WriteSpec:
        """How rows are written that bring these columns and were not there before."""

    def unsettable(self, path: Path) -> Iterator[str]:
        """Why a column cannot be set."""

    def is_generated(self, field: Field) -> bool:
        """Whether the column follows from others."""

    def is_filled(self, field: Field) -> bool:
        """Whether the column gets a value in rows that do not bring it."""
