"""Which rows are to lie together, and who brings them there?

The port for whatever writes rows again as they are, only elsewhere. A format says which files these are and how many come in
their place; an executor moves the rows, and knows no format.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from typing import Protocol, TypeAlias

from esker.core.columns import Rows
from esker.core.curve import CurveKind
from esker.core.predicate import Path
from esker.core.scan import ScanPlan
from esker.core.write import WriteSpec, WrittenFile


@dataclass(frozen=True, slots=True)
class Layout:
    """What a caller may ask of the files of a table."""

    where: str | None = None
    """The partitions, by a condition on their values."""
    z_order_by: tuple[str, ...] = ()
    is_full: bool = False
    """Whether what is clustered is clustered again."""
    target_size: int | None = None
    """How large files should be, in bytes."""


@dataclass(frozen=True, slots=True)
class OptimizePlan:
    """The files, by the paths that the table knows them by, whose rows are to be written again."""

    location: str
    version: int
    files: tuple[str, ...]
    size: int
    """The bytes of these files."""
    pieces: int
    """How many files come in their place, about."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows stay together with those of their file; `piece` says, for each file, in which of its part's pieces."""

    piece: Rows


@dataclass(frozen=True, slots=True)
class Curved:
    """Rows lie along a curve through these columns, which have an order, and the curve is cut into pieces of a size."""

    kind: CurveKind
    columns: tuple[Path, ...]


Order: TypeAlias = Packed | Curved


@dataclass(frozen=True)
class Rearrangement:
    """Files whose rows are written again. Each belongs to a part of the table, and rows of two parts share no file."""

    plan: ScanPlan
    part: Rows
    """The number of each file's part."""
    pieces: Rows
    """How many files each part becomes."""
    order: Order
    spec: WriteSpec
    rows: int | None
    """How many rows there are; None where it is not known."""


Spread: TypeAlias = Callable[[Callable[[int], bytes], int], tuple[bytes, ...]]
"""Has some work done for each number below a count, and gives what it made of each. The work can be pickled."""


class RowArranger(Protocol):
    """Brings rows together."""

    @property
    def zone(self) -> tzinfo | None:
        """The zone of times that are written without one; None where it is not known."""

    def rearranged(self, rearrangement: Rearrangement) -> tuple[WrittenFile, ...]:
        """Write every row once, or raise and leave nothing that a reader would see."""

    def spread(self, work: Callable[[int], bytes], count: int) -> tuple[bytes, ...]:
        """What the work gives for each number below the count, shared out among as many as there are to do it."""
