"""Which files lose rows, and what is said of them afterwards?  (PROTOCOL.md, "Deletion Vectors", "Per-file Statistics")"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import orjson

from esker.core.bitmap import Bitmap
from esker.core.change import AddressedPlan, RowEditor, RowPositions
from esker.delta.actions import Add
from esker.delta.deletion_vectors import DeletionVector
from esker.delta.live_adds import live_adds
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidTable


@dataclass(frozen=True)
class TouchedFile:
    """A live file that loses rows: how many records it has, which of them are dead already, and which go now."""

    number: int
    add: Add
    records: int
    dead: Bitmap
    gone: Bitmap

    @property
    def hidden(self) -> Bitmap:
        """All rows that are dead afterwards."""
        return self.dead.union(self.gone)

    @property
    def rows_left(self) -> int:
        return self.records - len(self.hidden)


def touched_files(
    snapshot: Snapshot, target: AddressedPlan, gone: RowPositions, editor: RowEditor
) -> tuple[TouchedFile, ...]:
    """The files that lose these rows. Raises `InvalidTable` where a file cannot have had them."""
    numbers = sorted(number for number, rows in gone.items() if len(rows))
    loaded = target.files.load_deletes([number for number in numbers if target.files.has_deletes[number]])
    records = record_counts(snapshot, target, numbers, editor)
    found = tuple(
        TouchedFile(number, add, records[number], loaded[number].bitmap if number in loaded else Bitmap.of(()), gone[number])
        for number, add in zip(numbers, live_adds(snapshot, numbers), strict=True)
    )
    for file in found:
        is_alive = len(file.hidden) == len(file.dead) + len(file.gone)
        if not is_alive or (file.hidden.greatest or 0) >= file.records:
            raise InvalidTable(f"the rows are not those that numRecords, {file.records}, stands for", where=file.add.path)
    return found


def record_counts(
    snapshot: Snapshot, target: AddressedPlan, numbers: Collection[int], editor: RowEditor
) -> Mapping[int, int]:
    """How many rows files have, dead ones counted: from the statistics, else by counting them."""
    stated = snapshot.statistics.num_records()
    known = {number: stated[number].as_py() for number in numbers}
    unknown = [number for number, records in known.items() if records is None]
    if not unknown:
        return known
    nothing = np.zeros(len(target.plan), dtype=bool)
    whole = replace(target, plan=replace(target.files, has_deletes=nothing)).only(unknown)
    (rows,) = editor.matching(whole, [None])
    return known | {number: len(rows.get(number, ())) for number in unknown}


def with_vector(file: TouchedFile, vector: DeletionVector) -> Add:
    """The file as it is added again, with its vector.

    "When adding a logical file with a deletion vector, then that logical file must have correct `numRecords` information for
    the data file in the `stats` field."  (Writer Requirement for Deletion Vectors)
    """
    stats = wide_stats(file.add.stats, file.records)
    return replace(file.add, deletion_vector=vector, stats=stats, data_change=True)


def wide_stats(stats: str | None, records: int) -> str:
    """The statistics of a file of which rows died: bounds hold, but may be wide. Numbers keep every digit they are written in."""
    try:
        found = json.loads(stats or "{}", parse_float=_as_written, parse_int=_as_written)
    except (ValueError, RecursionError):
        found = None  # what cannot be read promises nothing
    kept = found if isinstance(found, dict) else {}
    return orjson.dumps({**kept, "numRecords": records, "tightBounds": False}).decode()


def _as_written(number: str) -> orjson.Fragment:
    return orjson.Fragment(number)
