"""What is asked of Lance's own library?

The port between the format, which decides, and whoever has pylance at hand. A change is a value; the library turns it into a
transaction on top of the newest version, by Lance's rules for rivals. What it does at the side (references, clean-up) it does by
itself. Every table that is handed over has passed the gate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeAlias

import pyarrow as pa

from esker.core.arrange import Spread
from esker.core.table import Vacuumed
from esker.errors import Conflict
from esker.lance.manifest import DeletionFile
from esker.lance.snapshot import Snapshot


class Overtaken(Conflict):
    """Another writer was first, and the change has to be worked out anew on top of theirs."""


@dataclass(frozen=True, slots=True)
class Append:
    """Fragments are added; each is what the library said of it when it was written."""

    fragments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Fragments take the place of all that are there, with columns of their own."""

    fragments: tuple[str, ...]
    schema: pa.Schema = field(hash=False)
    file_version: str


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """Rows are deleted from fragments, fragments are taken out, others are added."""

    deletions: Mapping[int, DeletionFile] = field(hash=False)
    """The deletion file that each of some fragments gets."""
    removed: tuple[int, ...]
    added: tuple[str, ...] = ()
    predicate: str = "true"
    modified: tuple[int, ...] = ()
    """The fields that have other values where rows were written again: indices on other fields go on covering those rows."""


Change: TypeAlias = Append | Overwrite | ChangeRows


@dataclass(frozen=True, slots=True)
class NewTable:
    """How a table is to be created."""

    schema: pa.Schema = field(hash=False)
    file_version: str
    has_stable_row_ids: bool
    has_v2_names: bool
    fragments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterColumn:
    """What becomes of a column: None leaves it as it is."""

    path: str
    name: str | None = None
    nullable: bool | None = None
    type: pa.DataType | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Compaction:
    """Which fragments are rewritten: small ones, and those of which so large a part is deleted."""

    target_rows: int
    deleted_part: float
    defers_indices: bool = False
    """Whether indices keep naming rows where they were, and the fragment reuse index tells where those are then."""


class Library(Protocol):
    """Lance's own library. What makes a version gives its number."""

    def create(self, location: str, options: Mapping[str, str], table: NewTable) -> int:
        """Create a table where there is none; `Conflict` where there is one."""

    def commit(self, snapshot: Snapshot, change: Change, message: str | None) -> int:
        """Commit a change that was worked out on a snapshot; `Overtaken` where it has to be worked out anew."""

    def add_columns(self, snapshot: Snapshot, fields: Sequence[pa.Field]) -> int:
        """Add columns, which are null in all rows."""

    def drop_columns(self, snapshot: Snapshot, paths: Sequence[str]) -> int:
        """Drop columns."""

    def alter_columns(self, snapshot: Snapshot, changes: Sequence[AlterColumn]) -> int:
        """Call columns otherwise, cast them, let them be null."""

    def set_config(self, snapshot: Snapshot, values: Mapping[str, str | None]) -> int:
        """Set keys of the configuration, and delete those without a value."""

    def set_metadata(self, snapshot: Snapshot, values: Mapping[str, str | None]) -> int:
        """Set what is said of the table, and delete keys without a value."""

    def compact(self, snapshot: Snapshot, wanted: Compaction, spread: Spread) -> int:
        """Rewrite fragments, a group at a time, and commit all at once; `Overtaken` where a rival changed one of them."""

    def planned_compaction(self, snapshot: Snapshot, wanted: Compaction) -> tuple[tuple[int, ...], int]:
        """The fragments that would be rewritten, and how many groups they make."""

    def clean_up(self, snapshot: Snapshot, older_than: timedelta, is_dry_run: bool) -> Vacuumed:
        """Delete versions but for tagged ones, and files that no version needs then; those that none ever named after a week."""

    def restore(self, snapshot: Snapshot) -> int:
        """Make the snapshot the newest version."""

    def clone(self, snapshot: Snapshot, location: str, options: Mapping[str, str]) -> None:
        """Make a table elsewhere with the files of the snapshot where they lie."""

    def create_tag(self, snapshot: Snapshot, name: str) -> None:
        """Name the snapshot."""

    def delete_tag(self, snapshot: Snapshot, name: str) -> None:
        """Take a name away."""

    def create_branch(self, snapshot: Snapshot, name: str) -> None:
        """Begin a history of its own at the snapshot."""

    def delete_branch(self, snapshot: Snapshot, name: str) -> None:
        """Take a branch away."""
