"""What must written files look like, and what was written?

A `WriteSpec` is all that an executor (Spark or Arrow) needs to know to write rows as a format wants them; what it wrote comes
back as `WrittenFile`s. Who writes does not know the format, and the format does not know who writes.
"""

import copyreg
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import pyarrow as pa

from esker.core.footers import Bound, FileStatistics
from esker.core.predicate import Path
from esker.core.types import Field, Struct, Type
from esker.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Given:
    """The rows have the column, under this name; it is brought to the table's type without loss."""

    name: str


@dataclass(frozen=True, slots=True)
class Computed:
    """A Spark SQL expression over the columns that the rows have."""

    sql: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """Unique numbers: the first is beyond `after` where there is one, else `start`; each is `start` plus a multiple of `step`."""

    start: int
    step: int
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value in all rows."""

    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class Absent:
    """Always null."""


# pyarrow pickles a list of a fixed length by the type of its elements, and forgets what else their field says: that they are an
# extension's, for one. A schema that goes to workers has to say it there, too. To end when pyarrow itself hands on the field.
copyreg.pickle(pa.FixedSizeListType, lambda kind: (pa.list_, (kind.value_field, kind.list_size)))

ColumnValue: TypeAlias = Given | Computed | Numbered | Constant | Absent


@dataclass(frozen=True, slots=True)
class WriteColumn:
    """A column of the table: how it is seen, how files store it, and where its values come from."""

    field: Field
    physical: Field
    value: ColumnValue


@dataclass(frozen=True, slots=True)
class Check:
    """A condition over the table's columns that must be TRUE for each row; `what` names it in the error."""

    what: str
    sql: str


@dataclass(frozen=True)
class Derived:
    """A value that is computed of a column, by which rows are kept apart or sorted."""

    name: str
    source: Path
    type: Type
    compute: Callable[[pa.Array], pa.Array]
    """Gives the values for those of the column; can be sent to another process."""
    sql: str | None = None
    """The same in Spark SQL, where it has a way to say it; `{}` stands for the column."""


@dataclass(frozen=True)
class SortKey:
    """What the rows of a file are sorted by."""

    value: Derived
    is_descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class FragmentForm:
    """How rows become fragments, which the format's own library writes.

    `row_ids` names a column of the spec that is not stored: it holds the ids that rows keep, or null for those to come.
    """

    schema: pa.Schema
    """The columns as they are stored."""
    file_version: str
    version: int | None = None
    """The version whose fields the fragments have the ids of; None where they are to be all that the table has."""
    branch: str | None = None
    row_ids: str | None = None


@dataclass(frozen=True)
class WriteSpec:
    """How rows become files. The files lie in `folder`, which is fresh, below the table's `location`."""

    location: str
    folder: str
    columns: tuple[WriteColumn, ...]
    partition_by: tuple[str, ...] = ()
    """Names of columns as they are seen. Their values are texts in the files' folders, by physical names."""
    partition_values: tuple[Derived, ...] = ()
    """Values of which each file has one; they are told exactly. The files hold the columns that they are computed of."""
    sort_by: tuple[SortKey, ...] = ()
    is_arranged: bool = False
    """Whether rows that are to share a file come together already."""
    stores_partitions: bool = False
    """Whether the files hold the partition columns too."""
    checks: tuple[Check, ...] = ()
    rows_per_file: int | None = None
    compression: str | None = None
    """The codec, where the table asks for one."""
    has_v2_pages: bool = False
    """Whether data pages are of Parquet's version 2."""
    nested_ids: Mapping[Path, int] = field(default_factory=dict)
    """Ids of what lies in arrays and maps, by paths of physical names that go on with `element`, `key` and `value`."""
    storage_options: Mapping[str, str] = field(default_factory=dict)
    fragments: FragmentForm | None = None
    """None where the rows become Parquet files."""

    @property
    def schema(self) -> Struct:
        return Struct(tuple(column.field for column in self.columns))

    @property
    def stored(self) -> tuple[WriteColumn, ...]:
        """The columns that the files hold; those of partitions, where files hold them, come last."""
        data = tuple(c for c in self.columns if c.field.name not in self.partition_by)
        return (*data, *(c for c in self.columns if c.field.name in self.partition_by)) if self.stores_partitions else data


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written. `path` is literal, below the table; `partition` has texts by physical names."""

    path: str
    size: int
    modified: int
    partition: Mapping[str, str | None] = field(hash=False)
    statistics: FileStatistics
    values: tuple[Bound | None, ...] = ()
    """The file's `partition_values`, in their order, as plain values."""
    record: str = ""
    """What the format's own library says of it, where that wrote it."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a caller may ask of any write of rows."""

    merge_schema: bool = False
    """Columns that the table lacks are added to it."""
    transaction: tuple[str, int] | None = None
    """An application's id and a number that it raises: what was written under this number or a later one is not written again."""
    user_metadata: str | None = None
    """A text for the history."""
    overwrite_schema: bool = False
    """The columns of the rows take the place of the table's."""
    partition_by: tuple[str, ...] | None = None
    """What the table is then partitioned by; None for what it was."""

    def __post_init__(self) -> None:
        match self.transaction:
            case None | (str(), int()):
                return
        raise InvalidRequest(f"a transaction is an application's id and a whole number, not {self.transaction!r}")


class RowSource(Protocol):
    """Rows that somebody holds, a Spark frame or an Arrow table, and can write."""

    @property
    def schema(self) -> Struct:
        """The columns of the rows."""

    def write(self, spec: WriteSpec) -> tuple[WrittenFile, ...]:
        """Write all rows, or raise and leave nothing that a reader would see. Files without rows are not among the result."""
