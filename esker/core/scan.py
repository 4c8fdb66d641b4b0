"""What is to be read, fully resolved?

A `ScanPlan` is all that an executor (Arrow or Spark) needs to know: which files, which of their columns under which
names, what is constant in each file, which rows are dead. It holds columns of files, not objects, because a table has a
million of them; a `ScanTask` is made only for the files that are read one by one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.bitmap import Bitmap
from esker.core.columns import Mask, Rows, int64, mask_of
from esker.core.predicate import Path, Predicate, Truth
from esker.core.types import LONG, Field, Struct


class Resolution(Enum):
    """How a column of the plan is found in a file."""

    NAME = "name"  # by the physical name; ignoring case where the spelling differs
    ID = "id"  # by the field id in the file's schema


class FileFormat(Enum):
    """What the data files are written in."""

    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"


@dataclass(frozen=True, slots=True)
class MappedField:
    """The id that a field has in files without ids, by the names that it may have there."""

    names: frozenset[str]
    id: int | None
    fields: tuple["MappedField", ...] = ()


@dataclass(frozen=True, slots=True)
class FromFile:
    """Stored in the files under `physical`, which has the shape of the visible type with the files' names and ids.

    A file without the column gives the plan's default for its id, or nulls; one with an older, narrower type is widened.
    """

    physical: Field


@dataclass(frozen=True, slots=True)
class FromConstant:
    """The same in all rows of a file: the column `name` of the plan's constants."""

    name: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored value where there is one, else the constant `name`, to which the row's index may be added.

    This is how row ids and row commit versions are kept.
    """

    physical: Field | None
    name: str
    plus_row_index: bool = False


@dataclass(frozen=True, slots=True)
class Partitioned:
    """The constant `name` in the files where the constant `is_shared` is true, stored in the others.

    Files of one table may be partitioned in different ways. `ScanPlan.settled` gives plans without such columns.
    """

    physical: Field
    name: str
    is_shared: str


@dataclass(frozen=True, slots=True)
class FromConstants:
    """A struct of constants: the columns `names` of the plan's constants, in the order of the struct's members."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowIndex:
    """The position of the row in its file, dead rows counted."""


@dataclass(frozen=True, slots=True)
class Nulls:
    """Never stored: always null."""


Source: TypeAlias = FromFile | FromConstant | FromConstants | Partitioned | Stored | RowIndex | Nulls


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """A column the caller sees, and where its values come from."""

    field: Field
    source: Source


@dataclass(frozen=True, slots=True)
class Positions:
    """Dead rows by their position in the file."""

    bitmap: Bitmap


Deletes: TypeAlias = Positions

SEQUENCE = "sequence"
"""The constant that says how old a file's rows are, where rows are dead by value."""
SCOPE = "scope"
"""The constant that numbers the partition of a file, where rows are dead by value."""


@dataclass(frozen=True)
class EqualityDeletes:
    """Rows that are dead by value: those that equal one of `rows` in all `keys`, null being equal to null.

    A row of `rows` concerns the files whose `SEQUENCE` is less than its own and whose `SCOPE` is its own; without a scope, it
    concerns those of all. `columns` is what has to be read of the data files for that, under names that no visible column has.
    """

    columns: tuple[ScanColumn, ...]
    keys: tuple[Path, ...]
    """Where the values lie in `columns`, and in the columns of the same names in `rows`."""
    rows: "ScanPlan"
    """Has `SEQUENCE` and `SCOPE` among its columns."""


@dataclass(frozen=True, slots=True)
class ScanTask:
    """One file of a plan. `constants` are in the order of the plan's constant fields, as Arrow scalars."""

    ordinal: int
    path: str
    size: int
    constants: Mapping[str, pa.Scalar]
    deletes: Deletes | None
    format: FileFormat = FileFormat.PARQUET


@dataclass(frozen=True)
class ScanPlan:
    """Files and how to read them. `paths` are URLs with nothing percent-encoded: `file:///lake/a b.parquet`."""

    location: str
    columns: tuple[ScanColumn, ...]
    resolution: Resolution
    paths: pa.StringArray
    sizes: pa.Int64Array
    constants: pa.Table
    """One row per file; its columns are the per-file constants, typed."""
    constant_fields: Struct = Struct()
    """The constants' types in our vocabulary, in the order of `constants`."""
    has_deletes: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    load_deletes: Callable[[Sequence[int]], Mapping[int, Deletes]] = field(default=lambda ordinals: {})
    """Reads the deletes of the files with these ordinals; called once, in bulk, so that it can work in parallel."""
    find_deletes: Callable[[], None] = field(default=lambda: None)
    """Raises where the deletes are not to be found; for those who read them only when rows flow."""
    may_match: Callable[[Predicate], Mask] | None = None
    """Which files may hold a row for which the predicate (over visible names) is TRUE. None: no statistics."""
    may_be_narrower: bool = True
    """Whether a file may hold a column in an older, narrower type than the plan has."""
    storage_options: Mapping[str, str] = field(default_factory=dict)
    """What the files' storage is opened with."""
    formats: pa.StringArray | None = None
    """The value of each file's `FileFormat`. None: all are Parquet."""
    mapped_ids: tuple[MappedField, ...] | None = None
    """The ids of the fields of files without ids, where columns are found by them. None: such a file is not read."""
    may_lack_ids: bool = False
    """Whether some files may have no ids and others have them, so that each has to be looked at."""
    has_all_columns: bool = False
    """Whether a file without one of the columns is broken, and not older than the column, as with files of deletes."""
    defaults: Mapping[int, pa.Scalar] = field(default_factory=dict)
    """What a file without the field of an id has in its place."""
    equality: tuple[EqualityDeletes, ...] = ()
    has_equality: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Which files may hold rows that are dead by value."""

    @property
    def schema(self) -> Struct:
        return Struct(tuple(column.field for column in self.columns))

    def __len__(self) -> int:
        return len(self.paths)

    def matching(self, predicate: Predicate) -> Mask:
        """One truth value per file: False only where no row can satisfy the predicate."""
        if self.may_match is None or predicate == Truth(True):
            return np.ones(len(self), dtype=bool)
        return self.may_match(predicate)

    def only(self, keep: Mask | None) -> "ScanPlan":
        """The plan cut down to the files in `keep`."""
        if keep is None or keep.all():
            return self
        kept = np.flatnonzero(keep)
        rows = int64(kept)
        ordinals = kept.tolist()

        def load_deletes(wanted: Sequence[int]) -> Mapping[int, Deletes]:
            found = self.load_deletes([ordinals[i] for i in wanted])
            return {i: found[ordinals[i]] for i in wanted if ordinals[i] in found}

        def may_match(predicate: Predicate) -> Mask:
            return self.matching(predicate)[kept]

        return replace(
            self,
            paths=self.paths.take(rows),
            sizes=self.sizes.take(rows),
            constants=self.constants.take(rows) if self.constants.num_columns else self.constants,
            has_deletes=self.has_deletes[kept],
            load_deletes=load_deletes,
            may_match=may_match,
            formats=None if self.formats is None else self.formats.take(rows),
            has_equality=self.has_equality[kept] if self.equality else self.has_equality,
        )

    def of_format(self, wanted: FileFormat) -> Mask:
        """Which files are written in this format."""
        if self.formats is None:
            return np.full(len(self), wanted is FileFormat.PARQUET)
        return mask_of(pc.equal(self.formats, wanted.value))

    def settled(self) -> "Iterator[ScanPlan]":
        """Plans that together read the same, in each of which a column comes from one place in all files."""
        mixed = [at for at, column in enumerate(self.columns) if isinstance(column.source, Partitioned)]
        if not mixed:
            yield self
            return
        flags = np.stack([self._is_shared(at) for at in mixed])
        for combination in np.unique(flags, axis=1).T if len(self) else [np.ones(len(mixed), dtype=bool)]:
            part = self.only((combination == flags.T).all(axis=1)) if len(self) else self
            columns = list(part.columns)
            for at, is_shared in zip(mixed, combination, strict=True):
                columns[at] = _settled(columns[at], bool(is_shared))
            yield replace(part, columns=tuple(columns))

    def _is_shared(self, column: int) -> Mask:
        source = self.columns[column].source
        assert isinstance(source, Partitioned)
        return mask_of(self.constants.column(source.is_shared))

    def labelled(self, name: str, numbers: Rows) -> "ScanPlan":
        """The plan with one more column, a number that all rows of a file share; `name` must be free."""
        constants = {name: self.constants.column(name) for name in self.constants.column_names}
        return replace(
            self,
            columns=(*self.columns, ScanColumn(Field(name, LONG), FromConstant(name))),
            constants=pa.table({**constants, name: int64(numbers)}),
            constant_fields=Struct((*self.constant_fields, Field(name, LONG))),
        )

    def tasks(self, keep: Mask | None = None) -> Iterator[ScanTask]:
        """The files one by one, with their deletes loaded."""
        ordinals = range(len(self)) if keep is None else [int(i) for i in np.flatnonzero(keep)]
        deletes = self.load_deletes([i for i in ordinals if self.has_deletes[i]])
        for i in ordinals:
            row = {name: self.constants.column(name)[i] for name in self.constants.column_names}
            format = FileFormat.PARQUET if self.formats is None else FileFormat(self.formats[i].as_py())
            yield ScanTask(i, self.paths[i].as_py(), self.sizes[i].as_py(), row, deletes.get(i), format)


def _settled(column: ScanColumn, is_shared: bool) -> ScanColumn:
    match column.source:
        case Partitioned(physical, name, _):
            return ScanColumn(column.field, FromConstant(name) if is_shared else FromFile(physical))
    return column
