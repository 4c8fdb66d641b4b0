"""What is to be read of a table whose rows only its format's own library can read?

The plan for such a table names fragments, groups of rows that lie together, instead of files: who reads it hands the fragments,
the columns and a filter to the library. Like a `ScanPlan` it is a value, and travels to where the rows are read.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

import pyarrow as pa

from esker.core.arrow_types import to_arrow_schema
from esker.core.predicate import Predicate
from esker.core.scan import ScanPlan
from esker.core.types import LONG, Field, Struct


class RowFact(Enum):
    """What a library tells of a row besides its columns."""

    FRAGMENT = "the number of its fragment"
    POSITION = "its position in the fragment, dead rows counted"
    ID = "its id"


@dataclass(frozen=True, slots=True)
class FragmentColumn:
    """A column the caller sees: a column of the table by its name, or a fact. `arrow` is the type that its values have."""

    field: Field
    arrow: pa.DataType
    source: str | RowFact
    is_blob: bool = False


def _nothing(predicate: Predicate) -> None:
    """No filter is left to the library."""


@dataclass(frozen=True)
class FragmentScan:
    """Fragments of one version of a table, and how to read them."""

    location: str
    """The table's URL."""
    version: int
    branch: str | None
    columns: tuple[FragmentColumn, ...]
    fragments: tuple[int, ...]
    sizes: tuple[int, ...]
    """How many bytes each fragment has, about."""
    is_whole: bool = True
    """Whether these are all fragments of the version."""
    filterable: Struct = Struct()
    """The columns that a filter may name, of the table and not only of the scan."""
    push: Callable[[Predicate], str | None] = field(default=_nothing, repr=False)
    """How a filter over `filterable` is said to the library, or None where it cannot be."""
    pushed: str | None = None
    """A condition in the library's own SQL. It is TRUE for every row that is wanted, and may be TRUE for others."""
    goes_by_indices: bool = True
    """Whether the library may find rows by the table's indices."""
    manifest: bytes | None = field(default=None, repr=False)
    """The version's manifest with paths as they are now, where files were moved."""
    storage_options: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> Struct:
        return Struct(tuple(column.field for column in self.columns))

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema([pa.field(c.field.name, c.arrow, c.field.nullable) for c in self.columns])

    def __len__(self) -> int:
        return len(self.fragments)

    def of(self, fragments: Collection[int]) -> "FragmentScan":
        """The scan cut down to some fragments."""
        wanted = set(fragments)
        kept = [i for i, number in enumerate(self.fragments) if number in wanted]
        return replace(
            self,
            fragments=tuple(self.fragments[i] for i in kept),
            sizes=tuple(self.sizes[i] for i in kept),
            is_whole=self.is_whole and len(kept) == len(self.fragments),
        )

    def filtered(self, predicate: Predicate | None) -> "FragmentScan":
        """The scan with as much of a filter left to the library as it can take."""
        texts = [text for text in (self.pushed, None if predicate is None else self.push(predicate)) if text is not None]
        return replace(self, pushed=" AND ".join(f"({text})" for text in texts) if len(texts) > 1 else "".join(texts) or None)

    def showing(self, names: Sequence[str]) -> "FragmentScan":
        """The scan cut down to some columns, by their names."""
        return replace(self, columns=tuple(c for c in self.columns if c.field.name in names))

    def addressed(self, file: str, position: str) -> "FragmentScan":
        """The scan with two columns more, which tell where a row lies."""
        facts = (
            FragmentColumn(Field(file, LONG), pa.int64(), RowFact.FRAGMENT),
            FragmentColumn(Field(position, LONG), pa.int64(), RowFact.POSITION),
        )
        return replace(self, columns=(*self.columns, *facts))

    def groups(self, size: int) -> "Iterator[FragmentScan]":
        """The scan in parts of whole fragments, each of about so many bytes."""
        if len(set(self.fragments)) < len(self):  # an old writer gave a number twice, so that it tells no fragment
            yield self
            return
        group: list[int] = []
        held = 0
        for number, own in zip(self.fragments, self.sizes, strict=True):
            if group and held + own > size:
                yield self.of(group)
                group, held = [], 0
            group.append(number)
            held += own
        if group:
            yield self.of(group)


Scan: TypeAlias = ScanPlan | FragmentScan
"""How rows are read: as files, or through a library."""


def arrow_schema(scan: Scan) -> pa.Schema:
    """The Arrow types of the rows that are read."""
    return scan.arrow_schema if isinstance(scan, FragmentScan) else to_arrow_schema(scan.schema)
