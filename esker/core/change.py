"""Which rows of live files change, and who writes what comes in their place?

The port between a format, which decides, and an executor, which moves rows. A format knows files by their numbers in a plan
and rows by their positions in the files; the executor finds positions and writes rows, and knows no format.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Protocol, TypeAlias

import numpy as np

from esker.core.bitmap import Bitmap
from esker.core.fragments import FragmentScan, Scan
from esker.core.predicate import Path, Value
from esker.core.scan import RowIndex, ScanColumn, ScanPlan
from esker.core.types import LONG, Field, Struct
from esker.core.write import WriteSpec, WrittenFile

RowPositions: TypeAlias = Mapping[int, Bitmap]
"""Rows by the numbers of their files and their positions in them."""
Expression: TypeAlias = object
"""A value of a row: a text in SQL, or an expression of the executor's own that a format only hands on."""


@dataclass(frozen=True)
class AddressedPlan:
    """A plan whose rows tell where they lie: by the number of the file, in column `file`, and the row's `position` in it."""

    plan: Scan
    file: str
    position: str

    @property
    def files(self) -> ScanPlan:
        """The plan, for those whose tables have files."""
        assert isinstance(self.plan, ScanPlan)
        return self.plan

    def only(self, numbers: Collection[int]) -> "AddressedPlan":
        """The plan cut down to some files, which keep their numbers."""
        if isinstance(self.plan, FragmentScan):
            return replace(self, plan=self.plan.of(numbers))
        wanted = np.fromiter(numbers, np.int64, len(numbers))
        keep = np.isin(self.plan.constants.column(self.file).to_numpy(), wanted)
        return replace(self, plan=self.plan.only(keep))


def addressed(plan: Scan, taken: Collection[str] = ()) -> AddressedPlan:
    """The plan with both columns added, under names that neither it nor `taken` has.

    Files are numbered in the plan's order; fragments have numbers of their own.
    """
    file, position = (unused(name, (*plan.schema.names, *taken)) for name in ("file", "position"))
    if isinstance(plan, FragmentScan):
        return AddressedPlan(plan.addressed(file, position), file, position)
    labelled = plan.labelled(file, np.arange(len(plan), dtype=np.int64))
    columns = (*labelled.columns, ScanColumn(Field(position, LONG), RowIndex()))
    return AddressedPlan(replace(labelled, columns=columns), file, position)


def unused(name: str, taken: Collection[str]) -> str:
    """A name for a column of our own."""
    found = f"__row_{name}"
    while any(found.lower() == other.lower() for other in taken):
        found = f"_{found}"
    return found


def union(*sets: RowPositions) -> dict[int, Bitmap]:
    """The rows that are in any of the sets."""
    found: dict[int, Bitmap] = {}
    for positions in sets:
        for file, bitmap in positions.items():
            found[file] = found[file].union(bitmap) if file in found else bitmap
    return found


def count(positions: RowPositions) -> int:
    """How many rows these are."""
    return sum(len(bitmap) for bitmap in positions.values())


@dataclass(frozen=True)
class RowUpdate:
    """Rows that get other values: some of their columns or struct members, by path, are set to expressions.

    `spec` says how the rows are then written. Where it `is_joined`, expressions may name columns of the source row that
    matches the row.
    """

    positions: RowPositions
    values: Mapping[Path, Expression]
    spec: WriteSpec
    is_joined: bool = False


@dataclass(frozen=True)
class RowInsert:
    """Source rows that are added: those that meet the condition and none of the inserts before. Values go by column."""

    values: Mapping[str, Expression]
    spec: WriteSpec
    condition: str | None = None


@dataclass(frozen=True)
class RowInserts:
    """What becomes of source rows that match no row of `against`, where `rows` says which of its rows count."""

    clauses: tuple[RowInsert, ...]
    against: AddressedPlan
    rows: RowPositions | None = None


@dataclass(frozen=True)
class Rewrite:
    """What is to be written. All specs have one folder and the same columns."""

    target: AddressedPlan
    """The files whose rows change."""
    deleted: RowPositions = field(default_factory=dict)
    updates: tuple[RowUpdate, ...] = ()
    inserts: RowInserts | None = None
    copied: WriteSpec | None = None
    """How the other rows of the files are written again; None where they stay in their files."""
    feed: "ChangeFeed | None" = None


@dataclass(frozen=True)
class ChangeFeed:
    """The changed rows themselves, before and after, with a column that says which they are."""

    spec: WriteSpec
    kind: str
    """The column of the kind, whose values are the names of the fields below."""
    inserted: str = "insert"
    deleted: str = "delete"
    before: str = "update_preimage"
    after: str = "update_postimage"
    removed_files: ScanPlan | None = None
    """Files all of whose rows are deleted besides."""
    added_files: ScanPlan | None = None
    """Files all of whose rows are inserted besides."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """What was written: data files, and files of changed rows."""

    written: tuple[WrittenFile, ...] = ()
    feed: tuple[WrittenFile, ...] = ()


class RowEditor(Protocol):
    """Finds rows and writes others in their place."""

    @property
    def zone(self) -> tzinfo | None:
        """The zone of times that are written without one; None where it is not known."""

    def matching(
        self, target: AddressedPlan, conditions: Sequence[str | None], skipped: RowPositions | None = None
    ) -> tuple[RowPositions, ...]:
        """For each condition in SQL the rows for which it, and none before it, is TRUE; None stands for TRUE.

        `skipped` rows are not looked at. Raises `InvalidRequest` for a condition that cannot be told of a row by itself.
        """

    def rewritten(self, rewrite: Rewrite) -> RowChange:
        """Write what is to be written, or raise and leave nothing that a reader would see."""


@dataclass(frozen=True)
class Matches:
    """The rows of a target that a source row matches, and those of them that each clause is for."""

    rows: RowPositions
    pairs: int
    """How many pairs of a target row and a source row there are."""
    by_clause: tuple[RowPositions, ...]


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """How many source rows there are, and the least and the greatest value of some of their columns."""

    rows: int
    bounds: Mapping[Path, tuple[Value, Value] | None] = field(hash=False)
    """None for a column that is null in all rows; a column that nothing can be told of is missing."""


class RowMerger(RowEditor, Protocol):
    """A row editor with a source of rows at hand. Its conditions and values may name the target's and the source's columns."""

    @property
    def source(self) -> Struct:
        """The columns of the source."""

    def keys(self, columns: Sequence[Path]) -> SourceKeys:
        """What is known of these columns of the source."""

    def matches(self, target: AddressedPlan, conditions: Sequence[str | None]) -> Matches:
        """The matches, each for the first condition that is TRUE for it; None stands for TRUE."""
