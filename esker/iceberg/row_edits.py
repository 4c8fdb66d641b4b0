"""What does a change of rows do to the files of a table?  (spec, "Row-level Deletes"; `write.delete.mode`, `.update.`, `.merge.`)

Copy-on-write: the other rows of a file are written again, and the file goes. Merge-on-read: rows that go are recorded as dead.
A file without a row left is removed either way, and what recorded its dead rows with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from esker.core.bitmap import Bitmap
from esker.core.change import Rewrite, RowChange, RowEditor, RowInserts, RowPositions, RowUpdate, count, union
from esker.core.scan import ScanPlan
from esker.errors import InvalidRequest, InvalidTable
from esker.iceberg.data_files import DataFile
from esker.iceberg.delete_files import DeadRows, check_dead, of_data_files, write_deletes
from esker.iceberg.file_change import LiveFile, live_files, numbered
from esker.iceberg.leftovers import discarding
from esker.iceberg.row_specs import RowSpecs
from esker.iceberg.state import TableState
from esker.iceberg.writing import data_files

COPY_ON_WRITE, MERGE_ON_READ = "copy-on-write", "merge-on-read"
_NOTHING = Bitmap.of(())


@dataclass(frozen=True)
class Edits:
    """What is to become of rows."""

    deleted: RowPositions = field(default_factory=dict)
    updates: tuple[RowUpdate, ...] = ()
    inserts: RowInserts | None = None
    whole: tuple[int, ...] = ()
    """Files all of whose rows are deleted, by their numbers."""


@dataclass(frozen=True)
class Edited:
    """What was written, and which files go."""

    added: tuple[DataFile, ...]
    """Data files, and files of deletes."""
    removed: tuple[LiveFile, ...]
    touched: frozenset[str]
    """The paths of the data files that lose rows."""

    @property
    def is_nothing(self) -> bool:
        return not self.added and not self.removed


def mode(state: TableState, operation: str) -> str:
    """How `delete`, `update` or `merge` changes rows. Version 1 has no delete files."""
    name = f"write.{operation}.mode"
    asked = state.metadata.properties.get(name, COPY_ON_WRITE).lower()
    if asked not in (COPY_ON_WRITE, MERGE_ON_READ):
        raise InvalidRequest(f"{name} is {asked!r}, not {COPY_ON_WRITE} or {MERGE_ON_READ}", where=state.location)
    return asked if state.metadata.format_version > 1 else COPY_ON_WRITE


def edited(specs: RowSpecs, edits: Edits, editor: RowEditor, how: str) -> Edited:
    """Write what the edits ask for. Where that fails, what was written is taken back."""
    gone = union(edits.deleted, *(update.positions for update in edits.updates))
    touched = tuple(_touched(specs, gone))
    surviving = [file for file in touched if len(file.dead) < file.live.file.record_count]
    is_copied = how == COPY_ON_WRITE
    rewrite = _rewrite(specs, edits, gone, surviving if is_copied else [])
    with discarding(specs.state, (specs.folder,)):
        change = RowChange() if rewrite is None else editor.rewritten(rewrite)
        _check_counts(specs, edits, change, surviving if is_copied else [])
        deletes = () if is_copied or not surviving else write_deletes(specs.state, surviving, specs.folder)
    removed = [file.live for file in touched if is_copied or file not in surviving] + list(numbered(specs.state, edits.whole))
    replaced = _dead_records(specs, removed, [] if is_copied else surviving)
    return Edited(
        (*data_files(change.written, specs.state), *deletes),
        (*removed, *replaced),
        frozenset(live.file.file_path for live in (*removed, *(file.live for file in touched))),
    )


def _touched(specs: RowSpecs, gone: RowPositions) -> Iterator[DeadRows]:
    """The files that lose these rows."""
    numbers = sorted(number for number, rows in gone.items() if len(rows))
    plan = specs.target.plan
    assert isinstance(plan, ScanPlan)  # fragments are of another format
    loaded = plan.load_deletes([number for number in numbers if plan.has_deletes[number]])
    for number, live in zip(numbers, numbered(specs.state, numbers), strict=True):
        before = loaded[number].bitmap if number in loaded else _NOTHING
        file = DeadRows(live, gone[number], before.union(gone[number]))
        check_dead(file, before)
        yield file


def _rewrite(specs: RowSpecs, edits: Edits, gone: RowPositions, copied: Sequence[DeadRows]) -> Rewrite | None:
    """What has to be written; None for nothing. `copied` are the files whose other rows are written again."""
    if not copied and not edits.updates and edits.inserts is None:
        return None
    paths = {file.live.file.file_path for file in copied}
    needed = {number for number, path in _paths(specs, gone).items() if path in paths}
    needed = needed.union(*(update.positions for update in edits.updates))
    return Rewrite(
        target=specs.target.only(needed),
        deleted={number: rows for number, rows in edits.deleted.items() if number in needed},
        updates=edits.updates,
        inserts=edits.inserts,
        copied=specs.copied if copied else None,
    )


def _paths(specs: RowSpecs, gone: RowPositions) -> Mapping[int, str]:
    paths = specs.live.data.column("file_path")
    return {number: paths[number].as_py() for number in gone}


def _check_counts(specs: RowSpecs, edits: Edits, change: RowChange, copied: Sequence[DeadRows]) -> None:
    """Raise where the files that were written cannot be right. Rows that are dead by value are not counted anywhere."""
    updated = sum(count(update.positions) for update in edits.updates)
    stayed = sum(file.live.file.record_count - len(file.dead) for file in copied)
    written = sum(file.statistics.rows for file in change.written)
    may_lack = bool(specs.rows.equality)
    is_wrong = written < updated if may_lack else written < updated + stayed
    if is_wrong or (edits.inserts is None and written > updated + stayed):
        raise InvalidTable(
            f"{stayed + updated} rows had to be written, and {written} were", where=specs.location,
            hint="Look whether record_count of the files is right. Nothing was changed.",
        )  # fmt: skip


def _dead_records(specs: RowSpecs, removed: Sequence[LiveFile], vectored: Sequence[DeadRows]) -> tuple[LiveFile, ...]:
    """The delete files that have nothing left to say: those of files that go, and those that a deletion vector replaces.

    "Removing a data file must also remove its DV entry"; "Writing a DV must merge the previous DV and all position deletes".
    """
    deletes = specs.live.deletes
    if not len(deletes):
        return ()
    gone = {live.file.file_path for live in removed}
    if specs.state.metadata.format_version >= 3:
        gone |= {file.live.file.file_path for file in vectored}
    everything = live_files(specs.state, deletes, np.ones(len(deletes), dtype=bool))
    return of_data_files(specs.state.place, everything, sorted(gone))
