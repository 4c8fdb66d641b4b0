"""What can a user change about a table besides its rows?

The part of the handle that governs: columns, properties, constraints, and the table as a whole. Columns are named by paths as
SQL spells them, `address.city`, into arrays by `element` and into maps by `key` and `value`.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from esker.compat.promises import broken, parse_promises, promised, stored
from esker.core.calendar import moment
from esker.core.column_paths import parse_path
from esker.core.ddl import ColumnDefinition, parse_type
from esker.core.demands import PROMISES
from esker.core.protocol_changes import Drop, Enable, Upgrade
from esker.core.schema_changes import (
    AddColumn,
    After,
    ChangeType,
    DropColumn,
    DropNotNull,
    First,
    Last,
    MoveColumn,
    Position,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetDefault,
    SetNotNull,
)
from esker.core.table import FormatTable, Vacuumed, VacuumWish
from esker.core.types import Type
from esker.errors import InvalidRequest
from esker.rows import Schema, column_definitions
from esker.spark import row_editor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def enable(*features: str) -> Enable:
    """That features be enabled, as a thing to think about: `table.compat(after=esker.enable("deletionVectors"))`."""
    return Enable(features)


def drop(*features: str, truncate_history: bool = False) -> Drop:
    """That features be dropped, as a thing to think about; with `truncate_history` old versions would go too."""
    return Drop(features, truncate_history)


def upgrade(reader: int | None = None, writer: int | None = None) -> Upgrade:
    """That a table support what these versions imply, as a thing to think about."""
    return Upgrade(reader, writer)


class Governing:
    """What changes a table as a whole; each method moves the handle to the version that it made."""

    def __init__(self, table: FormatTable) -> None:
        self._table = table

    def add_columns(
        self, columns: Schema, *, parent: str | None = None, first: bool = False, after: str | None = None
    ) -> Self:
        """Add columns, which are null in the rows that are there; to the struct `parent`, or to the table.

        They are declared as in `create`. They come last, or `first`, or `after` another one.
        """
        changes = _added(column_definitions(columns), parent, _position(first, after))
        return self._altered(*changes)

    def rename_column(self, name: str, new_name: str) -> Self:
        """Call a column otherwise, within the struct that it is in. The table needs column mapping."""
        path = parse_path(new_name)
        if len(path) != 1:
            raise InvalidRequest(f"{new_name} is a path, and a column is renamed by its last name alone")
        return self._altered(RenameColumn(parse_path(name), path[0]))

    def drop_columns(self, *names: str) -> Self:
        """Drop columns; their values can no longer be read. The table needs column mapping."""
        return self._altered(*(DropColumn(parse_path(name)) for name in names))

    def move_column(self, name: str, *, first: bool = False, after: str | None = None) -> Self:
        """Move a column to another place in its struct: `first`, `after` another one, or else last."""
        return self._altered(MoveColumn(parse_path(name), _position(first, after)))

    def change_type(self, name: str, type: str | Type) -> Self:
        """Give a column, an element, a key or a value a wider type. The table needs type widening."""
        return self._altered(ChangeType(parse_path(name), parse_type(type) if isinstance(type, str) else type))

    def set_column_comment(self, name: str, comment: str | None) -> Self:
        """Say what a column is for, or nothing where `comment` is None."""
        return self._altered(SetComment(parse_path(name), comment))

    def set_not_null(self, name: str, *, spark: "SparkSession | None" = None) -> Self:
        """Have a column never be null. Spark looks whether it is so in the rows that are there."""
        return self._moved(self._table.change_columns([SetNotNull(parse_path(name))], row_editor(spark)))

    def drop_not_null(self, name: str) -> Self:
        """Let a column be null from now on."""
        return self._altered(DropNotNull(parse_path(name)))

    def set_default(self, name: str, default: str | None) -> Self:
        """Give a column an SQL expression for rows that do not bring it, or take it away where `default` is None."""
        return self._altered(SetDefault(parse_path(name), default))

    def set_comment(self, comment: str | None) -> Self:
        """Say what the table is for, or nothing where `comment` is None."""
        return self._moved(self._table.set_comment(comment))

    def set_properties(self, properties: Mapping[str, str | bool | int]) -> Self:
        """Set properties of the table. What they enable raises the protocol by no more than it must.

        A feature is asked for by name as `delta.feature.NAME` with the value `supported`. To enable row tracking, all files get
        row ids first, in commits of their own.
        """
        return self._moved(self._table.set_properties({name: _text(value) for name, value in properties.items()}))

    def unset_properties(self, *names: str) -> Self:
        """Take properties out of the table. The protocol stays."""
        return self._moved(self._table.unset_properties(names))

    @property
    def promises(self) -> tuple[str, ...]:
        """With which clients the table is promised to work, such as `delta-spark>=3.2: write`."""
        return promised(self._table.describe().properties.get(PROMISES))

    def require(self, promises: Sequence[str]) -> Self:
        """Promise that clients go on working with the table: `["duckdb-delta>=1.2: read", "delta-spark>=3.2: write"]`.

        A promise that the table does not keep now is refused. From then on Esker refuses its own changes that would break one,
        other than within `forced`. Other software does not know of promises.
        """
        return self._promised((*self.promises, *promises))

    def unrequire(self, promises: Sequence[str] | None = None) -> Self:
        """Take promises back, by default all."""
        gone = set(self.promises if promises is None else _spelled(promises, self._table.format))
        if unknown := sorted(gone - {*self.promises}):
            raise InvalidRequest(f"this was not promised: {'; '.join(unknown)}", where=self._table.location)
        left = [promise for promise in self.promises if promise not in gone]
        if not gone:
            return self
        return self._promised(left) if left else self.unset_properties(PROMISES)

    @contextmanager
    def forced(self) -> Iterator[Self]:
        """Let what is done within break the table's promises."""
        self._table = self._table.judged_by(None)
        try:
            yield self
        finally:
            self._table = self._table.judged_by(broken)

    def add_constraint(self, name: str, condition: str, *, spark: "SparkSession | None" = None) -> Self:
        """Have each row fulfil a condition in SQL. Spark looks whether those that are there do."""
        return self._moved(self._table.add_constraint(name, condition, row_editor(spark)))

    def drop_constraint(self, name: str) -> Self:
        """Ask a condition of rows no more."""
        return self._moved(self._table.drop_constraint(name))

    def restore(
        self, version: int | None = None, timestamp: datetime | str | None = None, *, ignore_missing: bool = False
    ) -> Self:
        """Take the table back to an earlier version, or to the one that was there at a moment, by a new version.

        Where files of it are gone that is refused; with `ignore_missing` they are left out, and their rows are lost.
        """
        if (version is None) == (timestamp is None):
            raise InvalidRequest("restore needs a version or a timestamp, and not both")
        then = None if timestamp is None else moment(timestamp)
        return self._moved(self._table.restore(version, then, ignore_missing))

    def create_tag(self, name: str) -> Self:
        """Give this version a name, by which `ref=` opens it. A tagged version is not cleaned up."""
        self._table.create_tag(name)
        return self

    def delete_tag(self, name: str) -> Self:
        """Take a tag away; its version stays."""
        self._table.delete_tag(name)
        return self

    def create_branch(self, name: str) -> Self:
        """A handle on a new branch, a history of its own that begins at this version; `ref=` opens it."""
        return type(self)(self._table.create_branch(name))

    def delete_branch(self, name: str) -> Self:
        """Take a branch away, with all that only it has."""
        self._table.delete_branch(name)
        return self

    def clone(self, location: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None) -> Self:
        """A table of its own at another location, with the files that this version has, where they lie.

        None is copied: a vacuum of this table may take files that the clone needs. `storage_options` are by default those
        that this table was opened with.
        """
        # A path is literal, whatever it begins with.
        place = location if isinstance(location, str) else os.path.abspath(os.path.expanduser(location))
        return type(self)(self._table.clone(place, storage_options))

    def vacuum(
        self,
        retention: timedelta | float | None = None,
        *,
        lite: bool = False,
        dry_run: bool = False,
        allow_unsafe: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Vacuumed:
        """Delete the files that no version needs which was current within `retention`, a timedelta or hours.

        By default that is what the table says; less needs `allow_unsafe`. `lite` goes by the log and does not list the
        storage. A `dry_run` only tells what would go. `progress` hears how many files are done, and of how many.
        """
        kept = timedelta(hours=retention) if isinstance(retention, int | float) else retention
        table, vacuumed = self._table.vacuum(VacuumWish(kept, lite, dry_run, allow_unsafe), progress or _unheard)
        self._moved(table)
        return vacuumed

    def _promised(self, promises: Sequence[str]) -> Self:
        self._table.judged_by(None)  # a format that keeps no promises refuses this, rather than state what nobody looks at
        return self.set_properties({PROMISES: stored(parse_promises(promises, self._table.format))})

    def _altered(self, *changes: SchemaChange) -> Self:
        return self._moved(self._table.change_columns(changes, None))

    def _moved(self, table: FormatTable) -> Self:
        self._table = table
        return self


def _spelled(promises: Sequence[str], format: str) -> Iterator[str]:
    """The promises as a table states them."""
    return (str(promise) for promise in parse_promises(promises, format))


def _added(columns: Sequence[ColumnDefinition], parent: str | None, position: Position) -> Iterator[AddColumn]:
    """Columns that are not to come last follow one another."""
    above = () if parent is None else parse_path(parent)
    if sourced := [
        c.field.name for c in columns if c.generated is not None or c.identity is not None
    ]:
        raise InvalidRequest(f"columns that are generated or numbered cannot be added: {', '.join(sourced)}")
    for column in columns:
        yield AddColumn(column.field, above, position, column.default)
        if not isinstance(position, Last):
            position = After(column.field.name)


def _position(first: bool, after: str | None) -> Position:
    if first and after is not None:
        raise InvalidRequest("first or after, not both")
    return First() if first else Last() if after is None else After(parse_path(after)[-1])


def _text(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unheard(done: int, of: int) -> None:
    """Nobody listens."""
