"""How are rows written that take the place of others?  (PROTOCOL.md, "Row Tracking", "Change Data Files")

Copied and updated rows keep their ids, copied ones also the version that wrote them; both are stored in columns that no
reader of the table sees. Rows of the change feed have the table's columns and their kind.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import uuid4

import numpy as np

from esker.core import types as t
from esker.core.change import AddressedPlan, ChangeFeed, addressed, unused
from esker.core.column_paths import spelled
from esker.core.predicate import Path, Predicate
from esker.core.references import may_use
from esker.core.scan import ScanColumn, ScanPlan, Stored
from esker.core.types import Field, Struct
from esker.core.write import Absent, ColumnValue, Given, WriteColumn, WriteSpec
from esker.delta import properties, row_tracking
from esker.delta.column_metadata import default, generation_expression, numbering
from esker.delta.plan import Pruner, constant_fields, constants, filterable, plan
from esker.delta.protocol import is_supported
from esker.delta.row_tracking import ROW_COMMIT_VERSION, ROW_ID
from esker.delta.snapshot import Snapshot
from esker.delta.writing import write_spec
from esker.errors import InvalidTable

CHANGE_FOLDER = "_change_data"
CHANGE_TYPE = "_change_type"


@dataclass(frozen=True)
class RowSpecs:
    """How the rows of one change are written. `taken` are names that columns of our own must not have."""

    snapshot: Snapshot
    folder: str
    feed_folder: str
    taken: tuple[str, ...] = ()

    @staticmethod
    def of(snapshot: Snapshot, taken: Iterable[str] = ()) -> "RowSpecs":
        return RowSpecs(snapshot, str(uuid4()), f"{CHANGE_FOLDER}/{uuid4()}", (*snapshot.schema.names, *taken))

    @property
    def schema(self) -> Struct:
        return self.snapshot.schema

    @property
    def filterable(self) -> Struct:
        return filterable(self.snapshot.schema)

    @property
    def location(self) -> str:
        return self.snapshot.location

    def candidates(self, predicate: Predicate) -> list[int]:
        """The numbers of the files that may hold a row for which the predicate is TRUE."""
        numbers: list[int] = np.flatnonzero(Pruner(self.snapshot)(predicate)).tolist()
        return numbers

    def unsettable(self, path: Path) -> Iterator[str]:
        """Why a column cannot be set."""
        field = self.snapshot.schema.find(path[0])
        if field is not None and self._is_numbered(field):
            yield f"{spelled(path)} is an identity column, whose numbers stay as they were given out"

    def is_generated(self, field: Field) -> bool:
        """Whether the column follows from others."""
        return generation_expression(field) is not None

    def is_filled(self, field: Field) -> bool:
        """Whether the column gets a value in rows that do not bring it."""
        return default(field) is not None or generation_expression(field) is not None or numbering(field) is not None

    @cached_property
    def target(self) -> AddressedPlan:
        """The live rows with all that is needed to change them; files are numbered in the order of the snapshot's."""
        return addressed(self.rows, self.taken)

    @cached_property
    def rows(self) -> ScanPlan:
        """The live rows with all that is needed to write them again."""
        whole = plan(self.snapshot)
        columns = (*whole.columns, *(tracked.read for tracked in self._tracked))
        return replace(
            whole,
            columns=columns,
            constants=constants(self.snapshot, self.snapshot.bare_files, columns),
            constant_fields=constant_fields(self.snapshot, columns),
        )

    @cached_property
    def copied(self) -> WriteSpec:
        """Rows as they are. They were rows of the table before, so that no rule is asked again."""
        whole = self.updated(())
        columns = tuple(replace(column, value=Given(column.field.name)) for column in whole.columns)
        return replace(whole, columns=columns, checks=())

    def updated(self, assigned: Collection[Path]) -> WriteSpec:
        """Rows in which columns or struct members were set; what is generated from them is generated anew."""
        stale = {f.name for f in self.snapshot.schema if self._is_stale(f, assigned)}
        given = Struct(tuple(f for f in self.snapshot.schema if f.name not in stale and not self._is_numbered(f)))
        tracked = [tracked.written(is_kept=tracked.is_id) for tracked in self._tracked]
        spec = write_spec(self.snapshot, given, self.folder, tracked)
        columns = (replace(c, value=Given(c.field.name)) if self._is_numbered(c.field) else c for c in spec.columns)
        return replace(spec, columns=tuple(columns))

    def inserted(self, given: Struct) -> WriteSpec:
        """Rows that bring these columns and were not there before."""
        return write_spec(self.snapshot, given, self.folder, [tracked.written(is_kept=False) for tracked in self._tracked])

    def feed(self, removed_files: ScanPlan | None = None, added_files: ScanPlan | None = None) -> ChangeFeed:
        """Rows of the change feed."""
        own = tuple(c for c in self.copied.columns if self.snapshot.schema.find(c.field.name) is not None)
        kind = Field(CHANGE_TYPE, t.STRING)
        columns = (*own, WriteColumn(kind, kind, Given(CHANGE_TYPE)))
        spec = replace(self.copied, folder=self.feed_folder, columns=columns)
        return ChangeFeed(spec, CHANGE_TYPE, removed_files=removed_files, added_files=added_files)

    @property
    def keeps_row_ids(self) -> bool:
        """Whether rows that move to other files stay the same rows."""
        return bool(self._tracked)

    @cached_property
    def _tracked(self) -> "tuple[_Tracked, ...]":
        configuration = self.snapshot.metadata.configuration
        is_enabled = properties.row_tracking_enabled(configuration) and is_supported(self.snapshot.protocol, "rowTracking")
        if not is_enabled:
            return ()
        names = {ROW_ID: unused("id", self.taken), ROW_COMMIT_VERSION: unused("version", self.taken)}
        where = self.snapshot.location
        return tuple(_tracked(name, row_tracking.column(ours, configuration, where), where) for ours, name in names.items())

    def _is_stale(self, field: Field, assigned: Collection[Path]) -> bool:
        """Whether a generated column has to be generated again."""
        expression = generation_expression(field)
        if expression is None or not is_supported(self.snapshot.protocol, "generatedColumns"):
            return False
        is_set = any(path[0] == field.name for path in assigned)
        return not is_set and any(may_use(expression, path) for path in assigned)

    def _is_numbered(self, field: Field) -> bool:
        return numbering(field) is not None and is_supported(self.snapshot.protocol, "identityColumns")


@dataclass(frozen=True, slots=True)
class _Tracked:
    """A hidden column that tells rows apart: how it is read, and how files keep it."""

    read: ScanColumn
    physical: Field
    is_id: bool

    def written(self, is_kept: bool) -> WriteColumn:
        # "The value in this column must be set to `NULL` for stable Row IDs that are not preserved."  Row Tracking
        value: ColumnValue = Given(self.read.field.name) if is_kept else Absent()
        return WriteColumn(self.read.field, self.physical, value)


def _tracked(name: str, column: ScanColumn, where: str) -> _Tracked:
    if not isinstance(column.source, Stored) or column.source.physical is None:
        # "The column name for the materialized Row IDs and Row Commit Versions have been assigned"  Row Tracking
        raise InvalidTable(f"row tracking is enabled, and no column is named that keeps {column.field.name}", where=where)
    return _Tracked(ScanColumn(Field(name, t.LONG), column.source), column.source.physical, column.source.plus_row_index)
