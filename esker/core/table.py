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
from esker.core.demands import Contract, Judge
from esker.core.features import FeaturePresence
from esker.core.fragments import Scan
from esker.core.job import Job
from esker.core.merge import Merge
from esker.core.predicate import Predicate
from esker.core.protocol_changes import Drop, Dropped, Foresight, ProtocolChange, Upgrade
from esker.core.schema_changes import SchemaChange
from esker.core.types import Struct
from esker.core.write import RowSource, WriteOptions
from esker.errors import InvalidRequest, Unsupported

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
class Creation:
    """How a table is wanted: what it is to be, its first rows, and what is done where there is one."""

    definition: TableDefinition
    rows: RowSource | None = None
    if_exists: IfExists = "error"
    judge: Judge | None = None
    """Who tells whether the table that it takes the place of is promised otherwise; None lets it break promises."""


def taken(where: str) -> InvalidRequest:
    """That a table is to be created where there is one."""
    hint = "Open it, or pass if_exists='ignore' or if_exists='replace'."
    return InvalidRequest("there is a table here", where=where, hint=hint)


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


FILE_COLUMNS = ("path", "size", "records", "deleted")
"""What every format tells of its files. `deleted` is how many of the rows are dead, null where the metadata does not say."""
HISTORY_COLUMNS = (
    "version", "timestamp", "operation", "operationParameters", "readVersion", "operationMetrics", "userMetadata", "engineInfo",
)  # fmt: skip
"""What every format tells of its versions; null where its writers do not record it. Parameters and metrics are maps of texts."""


class FormatTable(Protocol):
    """A table of some format, pinned to one version. What changes the table gives it at its new version.

    A format has what it overrides; the rest is refused, by name.
    """

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

    def features(self, with_history: bool = False) -> tuple[FeaturePresence[Any], ...]:
        """Every feature that the format or the table knows, with its presence; if wanted, also in older versions."""

    def contract(self) -> Contract:
        """What the table asks of any client."""

    def foresee(self, change: ProtocolChange) -> Foresight:
        """What a change of features or versions would make of the table; nothing is touched."""
        raise self._refusal("foresee")

    def plan(self, columns: Sequence[str] | None = None, where: Predicate | None = None) -> Scan:
        """How to read the rows; refuses a table that cannot be read right. `where` may leave out files without a match."""

    def changes(
        self, first: int | datetime, last: int | datetime | None, columns: Sequence[str] | None
    ) -> tuple[Scan, ...]:
        """How to read the rows that changed from one version to another, both counted."""
        raise self._refusal("changes")

    @property
    def state_size(self) -> int:
        """How many bytes of metadata have to be read to list the live files."""

    def replayed(self, run: Callable[[Job], pa.Table], where: Predicate | None) -> "FormatTable":
        """The same table with its live files found by a job that `run` spreads; `where` leaves out those without a match."""
        raise self._refusal("replayed")

    def files(self) -> pa.Table:
        """A row for each live file: `FILE_COLUMNS` and what else the format tells."""

    def history(self, limit: int | None = None) -> pa.Table:
        """A row for each version, newest first, at most `limit` of them: `HISTORY_COLUMNS` and what else the format tells."""

    def verify(self) -> tuple[str, ...]:
        """Where the state differs from what its writer recorded of it."""
        raise self._refusal("verify")

    def append(self, rows: RowSource, options: WriteOptions) -> "FormatTable":
        """Add the rows."""
        raise self._refusal("append")

    def overwrite(self, rows: RowSource, options: WriteOptions, is_dynamic: bool) -> "FormatTable":
        """Put the rows in the place of all others; `is_dynamic`, of those in the same partitions."""
        raise self._refusal("overwrite")

    def overwrite_where(self, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor) -> "FormatTable":
        """Put the rows in the place of those for which the condition is TRUE, as it must be for each of them."""
        raise self._refusal("overwrite_where")

    def delete(self, where: str | None, editor: RowEditor) -> "FormatTable":
        """Delete the rows for which the condition is TRUE, or all."""
        raise self._refusal("delete")

    def update(self, values: Mapping[str, Expression], where: str | None, editor: RowEditor) -> "FormatTable":
        """Set columns in the rows for which the condition is TRUE, or in all."""
        raise self._refusal("update")

    def merge(self, merge: Merge, merger: RowMerger) -> "FormatTable":
        """Merge the rows that the merger has at hand."""
        raise self._refusal("merge")

    def change_columns(self, changes: Sequence[SchemaChange], editor: RowEditor | None) -> "FormatTable":
        """Change the columns, by changes of one kind. The editor is for those that ask something of rows."""
        raise self._refusal("change_columns")

    def set_properties(self, properties: Mapping[str, str]) -> "FormatTable":
        """Set properties, and whatever they need."""
        raise self._refusal("set_properties")

    def unset_properties(self, names: Sequence[str]) -> "FormatTable":
        """Take properties out."""
        raise self._refusal("unset_properties")

    def set_comment(self, comment: str | None) -> "FormatTable":
        """Say what the table is for."""
        raise self._refusal("set_comment")

    def enable(self, features: Sequence[str]) -> "FormatTable":
        """Have the table support features, and turn on those that have a switch."""
        raise self._refusal("enable")

    def upgrade(self, wanted: Upgrade) -> "FormatTable":
        """Have the table support what versions of the protocol imply."""
        raise self._refusal("upgrade")

    def drop_features(self, wanted: Drop, arranger: RowArranger) -> "tuple[FormatTable, Dropped]":
        """Take features out of the table, as far as that can be done now."""
        raise self._refusal("drop_features")

    def add_constraint(self, name: str, condition: str, editor: RowEditor) -> "FormatTable":
        """Have each row fulfil a condition."""
        raise self._refusal("add_constraint")

    def drop_constraint(self, name: str) -> "FormatTable":
        """Ask a condition of rows no more."""
        raise self._refusal("drop_constraint")

    def restore(self, version: int | None, timestamp: datetime | None, ignore_missing: bool) -> "FormatTable":
        """Take the table back to an earlier version."""
        raise self._refusal("restore")

    def clone(self, location: str, options: Mapping[str, str] | None) -> "FormatTable":
        """A table of its own elsewhere, with the files of this one where they lie; `options` are by default this one's."""
        raise self._refusal("clone")

    def vacuum(self, wish: VacuumWish, progress: Callable[[int, int], None]) -> "tuple[FormatTable, Vacuumed]":
        """Delete the files that nobody needs."""
        raise self._refusal("vacuum")

    def optimize(self, layout: Layout, arranger: RowArranger) -> "FormatTable":
        """Lay out files anew, where that gains something."""
        raise self._refusal("optimize")

    def plan_optimize(self, layout: Layout, arranger: RowArranger) -> OptimizePlan:
        """What `optimize` would rewrite."""
        raise self._refusal("plan_optimize")

    def purge(self, where: str | None, arranger: RowArranger) -> "FormatTable":
        """Rewrite the files of which rows were deleted."""
        raise self._refusal("purge")

    def cluster_by(self, columns: Sequence[str]) -> "FormatTable":
        """Have rows that are near one another in these columns kept together; none to keep none together."""
        raise self._refusal("cluster_by")

    def checkpoint(self) -> "FormatTable":
        """Write the state of this version down in one piece, so that opening it reads little."""
        raise self._refusal("checkpoint")

    def clean_log(self) -> int:
        """Delete the history that is older than the table keeps it; how many files that were."""
        raise self._refusal("clean_log")

    def compact_log(self, first: int, last: int) -> None:
        """Write the changes from one version to another, both counted, down as one."""
        raise self._refusal("compact_log")

    def judged_by(self, judge: Judge | None) -> "FormatTable":
        """The same table, whose changes are asked of another judge; None where promises need not be kept."""
        raise self._refusal("promises to clients")

    def create_tag(self, name: str) -> None:
        """Name this version."""
        raise self._refusal("create_tag")

    def delete_tag(self, name: str) -> None:
        """Take a tag away."""
        raise self._refusal("delete_tag")

    def create_branch(self, name: str) -> "FormatTable":
        """Begin a history of its own at this version."""
        raise self._refusal("create_branch")

    def delete_branch(self, name: str) -> None:
        """Take a branch away."""
        raise self._refusal("delete_branch")

    def metadata(self, name: str) -> pa.Table:
        """The format's own metadata, as the table of this name."""
        raise self._refusal("metadata")

    def at(
        self, version: int | None = None, timestamp: datetime | None = None, ref: str | None = None
    ) -> "FormatTable":
        """The same table at another version, by default the newest. `ref` is a branch or tag."""

    def _refusal(self, what: str) -> Unsupported:
        return Unsupported(f"{what}: tables of the format {self.format} do not have it", where=self.location)
