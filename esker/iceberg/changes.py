"""Which rows changed from one snapshot to another?  (spec, "Snapshots": operations; "Row-level Deletes")

Each snapshot is compared with its parent: rows of files that it added are inserted, rows of files that it removed are deleted,
and so are rows of files of both that only its own deletes kill. A snapshot that replaces files without changing rows changes
nothing. A file that was rewritten counts whole: rows that it kept are deleted and inserted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.bitmap import Bitmap
from esker.core.columns import Mask, mask_of, rows_of
from esker.core.scan import Deletes, FromConstant, Positions, ScanColumn, ScanPlan
from esker.core.types import Field, Struct
from esker.errors import InvalidRequest, Unsupported
from esker.iceberg.file_plan import RowReader
from esker.iceberg.live_files import Files, LiveFiles
from esker.iceberg.metadata import Snapshot
from esker.iceberg.plan import POSITION, check, plan_files
from esker.iceberg.state import TableState

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"


def plans(
    state: TableState, first: int | datetime, columns: Sequence[str] | None, read: RowReader
) -> tuple[ScanPlan, ...]:
    """How to read the rows that changed from the first snapshot to the state's own, both counted, with the state's columns."""
    check(state)
    wanted = [s for s in _snapshots(state, first) if s.operation != "replace" or s.parent_snapshot_id is None]
    found = [plan for snapshot in wanted for plan in _Step(state, snapshot, columns, read).plans()]
    nothing = LiveFiles(Files(state.metadata, ()), Files(state.metadata, ()))
    empty = state.snapshot
    if not found and empty is not None:
        return (_told(plan_files(state, nothing, columns, read), "insert", empty),)
    return tuple(found)


def _snapshots(state: TableState, first: int | datetime) -> list[Snapshot]:
    """The snapshots from the first to the state's own, in the order in which they were committed."""
    chain: list[Snapshot] = []
    at = state.snapshot
    while at is not None and at not in chain:
        chain.append(at)
        at = None if at.parent_snapshot_id is None else state.metadata.snapshot(at.parent_snapshot_id)
    chain.reverse()
    ids = [s.snapshot_id for s in chain]
    if isinstance(first, int):
        if first not in ids:
            raise InvalidRequest(
                f"the snapshot {first} is not among those that led to {state.version}", where=state.location
            )
        return chain[ids.index(first) :]
    millis = first.timestamp() * 1000
    found = [s for s in chain if s.timestamp_ms >= millis]
    if not found:
        raise InvalidRequest(f"there is no snapshot at {first.isoformat()} or later", where=state.location)
    return found


class _Step:
    """What one snapshot changed."""

    def __init__(self, state: TableState, snapshot: Snapshot, columns: Sequence[str] | None, read: RowReader) -> None:
        self._after = replace(state, snapshot=snapshot)
        self._before = replace(state, snapshot=_parent(state, snapshot))
        self._snapshot = snapshot
        self._columns = columns
        self._read = read

    def plans(self) -> Iterator[ScanPlan]:
        old, new = self._before.files, self._after.files
        is_kept, was_kept = (_among(a.data, b.data) for a, b in ((new, old), (old, new)))
        if not is_kept.all():
            added = LiveFiles(new.data.only(~is_kept), new.deletes)
            yield _told(plan_files(self._after, added, self._columns, self._read), "insert", self._snapshot)
        if not was_kept.all():
            removed = LiveFiles(old.data.only(~was_kept), old.deletes)
            yield _told(plan_files(self._before, removed, self._columns, self._read), "delete", self._snapshot)
        fresh = ~_among(new.deletes, old.deletes)
        if is_kept.any() and fresh.any():
            yield from self._killed(new.data.only(is_kept), new.deletes.only(fresh))

    def _killed(self, kept: Files, fresh: Files) -> Iterator[ScanPlan]:
        """The rows of files that stayed which only the snapshot's own deletes kill."""
        reached = plan_files(self._after, LiveFiles(kept, fresh), [POSITION], self._read)
        touched = reached.has_deletes | reached.has_equality
        if not touched.any():
            return
        data = kept.only(touched)
        shown = plan_files(self._before, LiveFiles(data, self._before.files.deletes), self._columns, self._read)
        dead = self._newly_dead(data)
        everything = data.numbers("record_count")

        def load(ordinals: Sequence[int]) -> Mapping[int, Deletes]:
            return {i: Positions(Bitmap.of(range(int(everything[i]))).minus(dead[i])) for i in ordinals}

        is_changed = np.array([len(bitmap) > 0 for bitmap in dead], dtype=bool)
        only_dead = replace(
            shown,
            has_deletes=np.ones(len(shown), dtype=bool),
            load_deletes=load,
            equality=(),
            find_deletes=lambda: None,
        )
        if is_changed.any():
            yield _told(only_dead.only(is_changed), "delete", self._snapshot)

    def _newly_dead(self, data: Files) -> list[Bitmap]:
        before = self._alive(self._before, data)
        after = self._alive(self._after, data)
        return [a.minus(b) for a, b in zip(before, after, strict=True)]

    def _alive(self, state: TableState, data: Files) -> list[Bitmap]:
        """The positions of the rows that live, file by file."""
        plan = plan_files(state, LiveFiles(data, state.files.deletes), [POSITION], self._read)
        number = "file number"
        rows = self._read(plan.labelled(number, np.arange(len(plan), dtype=np.int64)))
        files, positions = rows_of(rows.column(number)), rows_of(rows.column(POSITION))
        return [Bitmap.of(positions[files == at].tolist()) for at in range(len(plan))]


def _parent(state: TableState, snapshot: Snapshot) -> Snapshot | None:
    if snapshot.parent_snapshot_id is None:
        return None
    found = state.metadata.snapshot(snapshot.parent_snapshot_id)
    if found is None:
        raise InvalidRequest(
            f"the snapshot before {snapshot.snapshot_id} has expired, so what it changed is not known",
            where=state.location,
        )
    return found


def _among(files: Files, others: Files) -> Mask:
    """Which of the files are among the others. Deletion vectors share files, and are told apart by their places."""
    one, other = (
        pc.binary_join_element_wise(f.column("file_path"), f.column("content_offset").cast(pa.string()), "\n",
                                    null_handling="replace", null_replacement="")
        for f in (files, others)
    )  # fmt: skip
    return mask_of(pc.is_in(one, value_set=other))


def _told(plan: ScanPlan, change: str, snapshot: Snapshot) -> ScanPlan:
    """The plan with columns that say what happened to its rows, and when."""
    if snapshot.snapshot_id >= 2**63:  # the specification has longs, some writers do not
        raise Unsupported(f"changes of the snapshot {snapshot.snapshot_id}, whose id is no long", where=plan.location)
    values: dict[str, tuple[t.Type, pa.Scalar]] = {
        CHANGE_TYPE: (t.STRING, pa.scalar(change)),
        COMMIT_VERSION: (t.LONG, pa.scalar(snapshot.snapshot_id, pa.int64())),
        COMMIT_TIMESTAMP: (t.TIMESTAMP, pa.scalar(snapshot.timestamp_ms * 1000, pa.timestamp("us", "UTC"))),
    }
    constants = {name: plan.constants.column(name) for name in plan.constants.column_names}
    fields = tuple(Field(name, kind) for name, (kind, _) in values.items())
    return replace(
        plan,
        columns=(*plan.columns, *(ScanColumn(f, FromConstant(f.name)) for f in fields)),
        constants=pa.table(constants | {name: pa.repeat(value, len(plan)) for name, (_, value) in values.items()}),
        constant_fields=Struct((*plan.constant_fields, *fields)),
    )
