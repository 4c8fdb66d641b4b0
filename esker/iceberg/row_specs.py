"""How are rows written that take the place of others?  (spec, "Row Lineage"; "Writer requirements")

From format version 3 on, copied and updated rows keep their ids, and copied ones also the sequence number of the snapshot that
changed them last; both are stored in columns that no reader of the table sees.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from esker.core.change import AddressedPlan, addressed, unused
from esker.core.predicate import Path, Predicate
from esker.core.scan import ScanColumn, ScanPlan
from esker.core.types import Field, Struct
from esker.core.write import Absent, ColumnValue, Given, WriteColumn, WriteSpec
from esker.iceberg.file_plan import RowReader
from esker.iceberg.live_files import LiveFiles
from esker.iceberg.plan import LAST_UPDATED, ROW_ID, STORED_LAST_UPDATED, STORED_ROW_ID, check, filterable, plan_files
from esker.iceberg.pruning import FilePruner
from esker.iceberg.schema import WRITE_DEFAULT
from esker.iceberg.state import TableState
from esker.iceberg.writing import check_rows_writable, fresh_folder, write_spec


@dataclass(frozen=True)
class RowSpecs:
    """How the rows of one change are written. `taken` are names that columns of our own must not have."""

    state: TableState
    read: RowReader
    folder: str
    taken: tuple[str, ...] = ()

    @staticmethod
    def of(state: TableState, read: RowReader, taken: Collection[str] = ()) -> "RowSpecs":
        """Raises where rows of the table cannot be changed."""
        check(state)
        check_rows_writable(state)
        return RowSpecs(state, read, fresh_folder(state), (*state.schema.struct.names, *taken))

    @property
    def schema(self) -> Struct:
        return self.state.schema.struct

    @property
    def filterable(self) -> Struct:
        return filterable(self.state)

    @property
    def location(self) -> str:
        return self.state.location

    @cached_property
    def live(self) -> LiveFiles:
        """The live files, in the order in which they are numbered."""
        return self.state.files

    @cached_property
    def pruner(self) -> FilePruner:
        """What the statistics say of the live data files."""
        files = self.state.files_of(self.state.manifests, statistics_of=None).data
        return FilePruner(files, self.filterable)

    @cached_property
    def target(self) -> AddressedPlan:
        """The live rows with all that is needed to change them; files are numbered in the order of the state's."""
        return addressed(self.rows, self.taken)

    @cached_property
    def rows(self) -> ScanPlan:
        """The live rows with all that is needed to write them again."""
        names = [*self.schema.names, *(stored.name for stored in self._tracked)]
        whole = plan_files(self.state, self.live, names, self.read)
        own = len(self.schema)
        hidden = (ScanColumn(c.field.renamed(self._hidden(c.field.name)), c.source) for c in whole.columns[own:])
        return replace(whole, columns=(*whole.columns[:own], *hidden))

    def candidates(self, predicate: Predicate) -> list[int]:
        """The numbers of the files that may hold a row for which the predicate is TRUE."""
        numbers: list[int] = np.flatnonzero(self.pruner(predicate)).tolist()
        return numbers

    @cached_property
    def copied(self) -> WriteSpec:
        """Rows as they are. They were rows of the table before, so that no rule is asked again."""
        return replace(self._spec(self.schema, (ROW_ID, LAST_UPDATED)), checks=())

    def updated(self, assigned: Collection[Path]) -> WriteSpec:
        """Rows in which columns or struct members were set."""
        return self._spec(self.schema, (ROW_ID,))

    def inserted(self, given: Struct) -> WriteSpec:
        """Rows that bring these columns and were not there before."""
        return self._spec(given, ())

    def unsettable(self, path: Path) -> Iterator[str]:
        """Why a column cannot be set: any can."""
        yield from ()

    def is_generated(self, field: Field) -> bool:
        return False

    def is_filled(self, field: Field) -> bool:
        """Whether the column gets a value in rows that do not bring it."""
        return WRITE_DEFAULT in field.metadata

    @property
    def _tracked(self) -> tuple[Field, ...]:
        return (STORED_ROW_ID, STORED_LAST_UPDATED) if self.state.metadata.format_version >= 3 else ()

    def _hidden(self, name: str) -> str:
        return unused("id" if name == ROW_ID else "sequence", self.taken)

    def _spec(self, given: Struct, kept: Collection[str]) -> WriteSpec:
        """`kept` are the hidden columns that rows bring; others are null.

        "always copy a non-null `_row_id`; `_last_updated_sequence_number` is copied if the row is unchanged, null if modified"
        """
        return write_spec(self.state, given, self.folder, [self._tracked_column(f, f.name in kept) for f in self._tracked])

    def _tracked_column(self, stored: Field, is_kept: bool) -> WriteColumn:
        name = self._hidden(stored.name)
        value: ColumnValue = Given(name) if is_kept else Absent()
        return WriteColumn(replace(stored, name=name), stored, value)
