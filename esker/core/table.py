"""What does every format's table offer?

The port between the handle that users hold and the formats. A format answers with values: Arrow tables, scan plans, feature
presences; who asked decides how rows are read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypeAlias

import pyarrow as pa

from esker.core.arrange import Layout, OptimizePlan, RowArranger
from esker.core.change import Expression, RowEditor, RowMerger
from esker.core.ddl import ColumnDefinition
from esker.core.demands import Contract
from esker.core.features import FeaturePresence
from esker.core.fragments import Scan
from esker.core.job import Job
from esker.core.merge import Merge
from esker.core.predicate import Predicate
from esker.core.schema_changes import SchemaChange
from esker.core.types import Struct
from esker.core.write import RowSource, WriteOptions

IfExists: TypeAlias = Literal["error", "ignore", "replace"]
"""What to do where a table that is to be created is there."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a table says of itself, without its files having been looked at."""

    format: str
    location: str
    version: int
    protocol: str
    schema: Struct
    partition_columns: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    id: str | None = None
    name: str | None = None
    comment: str | None = None
    created: datetime | None = None
    modified: datetime | None = None
    findings: tuple[str, ...] = ()
    """What is odd about the table and did not keep it from being opened."""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table that is to be created."""

    columns: tuple[ColumnDefinition, ...]
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    features: tuple[str, ...] = ()
    constraints: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Conditions in SQL, by name, that each row must fulfil."""
    name: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class VacuumWish:
    """How a vacuum is wanted."""

    retention: timedelta | None = None
    """How long readers and writers may take; by default what the table says."""
    is_lite: bool = False
    """Whether it goes by the log alone, and does not list the storage."""
    is_dry_run: bool = False
    allow_unsafe: bool = False
    """Whether the retention may be shorter than the table's own."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The files that a vacuum has deleted, or would delete where it is a dry run, and how many bytes they have."""

    files: tuple[str, ...]
    size: int
    is_dry_run: bool = False


class FormatTable(Protocol):
    """A table of some format, pinned to one version. What changes the table gives it at its new version."""

    @property
    def format(self) -> str:
        """The format's name: `delta`, `iceberg` or `lance`."""

    @property
    def location(self) -> str:
        """The table's URL."""

    @property
    def version(self) -> int:
        """The version this table is pinned to."""

    @property
    def schema(self) -> Struct:
        """The columns at this version."""

    @property
    def filterable(self) -> Struct:
        """What a filter may name: the columns, and the format's metadata columns that none of them hides."""

    def describe(self) -> Description:
        """Everything that can be told without reading the list of files."""

    def features(self) -> tuple[FeaturePresence[Any], ...]:
        """Every feature that the format or the table knows, with its presence."""

    def contract(self) -> Contract:
        """What the table asks of any client."""

    def plan(self, columns: Sequence[str] | None = None) -> Scan:
        """How to read the rows; refuses a table that cannot be read right."""

    def changes(
        self, first: int | datetime, last: int | datetime | None, columns: Sequence[str] | None
    ) -> tuple[Scan, ...]:
        """How to read the rows that changed from one version to another, both counted."""

    @property
    def state_size(self) -> int:
        """How many bytes of metadata have to be read to list the live files."""

    def replayed(self, run: Callable[[Job], pa.Table], where: Predicate | None) -> "FormatTable":
        """The same table with its live files found by a job that `run` spreads; `where` leaves out those without a match."""

    def files(self) -> pa.Table:
        """A row for each live file."""

    def history(self, limit: int | None = None) -> pa.Table:
        """A row for each version, newest first; at most `limit` of them."""

    def verify(self) -> tuple[str, ...]:
        """Where the state differs from what its writer recorded of it."""

    def append(self, rows: RowSource, options: WriteOptions) -> "FormatTable":
        """Add the rows."""

    def overwrite(self, rows: RowSource, options: WriteOptions, is_dynamic: bool) -> "FormatTable":
        """Put the rows in the place of all others; `is_dynamic`, of those in the same partitions."""

    def overwrite_where(self, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor) -> "FormatTable":
        """Put the rows in the place of those for which the condition is TRUE, as it must be for each of them."""

    def delete(self, where: str | None, editor: RowEditor) -> "FormatTable":
        """Delete the rows for which the condition is TRUE, or all."""

    def update(self, values: Mapping[str, Expression], where: str | None, editor: RowEditor) -> "FormatTable":
        """Set columns in the rows for which the condition is TRUE, or in all."""

    def merge(self, merge: Merge, merger: RowMerger) -> "FormatTable":
        """Merge the rows that the merger has at hand."""

    def change_columns(self, changes: Sequence[SchemaChange], editor: RowEditor | None) -> "FormatTable":
        """Change the columns, by changes of one kind. The editor is for those that ask something of rows."""

    def set_properties(self, properties: Mapping[str, str]) -> "FormatTable":
        """Set properties, and whatever they need."""

    def unset_properties(self, names: Sequence[str]) -> "FormatTable":
        """Take properties out."""

    def set_comment(self, comment: str | None) -> "FormatTable":
        """Say what the table is for."""

    def add_constraint(self, name: str, condition: str, editor: RowEditor) -> "FormatTable":
        """Have each row fulfil a condition."""

    def drop_constraint(self, name: str) -> "FormatTable":
        """Ask a condition of rows no more."""

    def restore(self, version: int | None, timestamp: datetime | None, ignore_missing: bool) -> "FormatTable":
        """Take the table back to an earlier version."""

    def clone(self, location: str, options: Mapping[str, str] | None) -> "FormatTable":
        """A table of its own elsewhere, with the files of this one where they lie; `options` are by default this one's."""

    def vacuum(self, wish: VacuumWish, progress: Callable[[int, int], None]) -> "tuple[FormatTable, Vacuumed]":
        """Delete the files that nobody needs."""

    def optimize(self, layout: Layout, arranger: RowArranger) -> "FormatTable":
        """Lay out files anew, where that gains something."""

    def plan_optimize(self, layout: Layout, arranger: RowArranger) -> OptimizePlan:
        """What `optimize` would rewrite."""

    def purge(self, where: str | None, arranger: RowArranger) -> "FormatTable":
        """Rewrite the files of which rows were deleted."""

    def cluster_by(self, columns: Sequence[str]) -> "FormatTable":
        """Have rows that are near one another in these columns kept together; none to keep none together."""

    def checkpoint(self) -> "FormatTable":
        """Write the state of this version down in one piece, so that opening it reads little."""

    def clean_log(self) -> int:
        """Delete the history that is older than the table keeps it; how many files that were."""

    def compact_log(self, first: int, last: int) -> None:
        """Write the changes from one version to another, both counted, down as one."""

    def at(self, version: int | None = None, timestamp: datetime | None = None) -> "FormatTable":
        """The same table at another version, by default the newest."""
