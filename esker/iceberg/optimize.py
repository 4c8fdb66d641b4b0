"""How are files laid out anew, without a change of their rows?  (spec, "Snapshots": `replace`; "Row Lineage")

Small files are packed, files with many dead rows are written anew, or rows are laid along a curve. New files count as being as
old as the snapshot that was read: deletes by value that rivals have added meanwhile still concern them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from esker.core.arrange import Curved, Layout, OptimizePlan, Order, Packed, Rearrangement, RowArranger
from esker.core.column_paths import parse_path
from esker.core.columns import Mask, int64, mask_of
from esker.core.curve import MOST_COLUMNS, CurveKind
from esker.core.expressions import row_condition
from esker.core.nesting import resolved
from esker.core.packing import Choice, FileFacts, gathered, packed, small
from esker.core.predicate import Path
from esker.core.write import WrittenFile
from esker.errors import InvalidRequest, InvalidTable
from esker.iceberg.data_files import Content
from esker.iceberg.delete_files import of_data_files
from esker.iceberg.file_change import REPLACE, FileChange, LiveFile, ReadSet, live_files, numbered
from esker.iceberg.file_plan import RowReader
from esker.iceberg.leftovers import discarding, publish_or_discard
from esker.iceberg.row_specs import RowSpecs
from esker.iceberg.snapshot_writer import publish
from esker.iceberg.state import TableState
from esker.iceberg.writing import data_files

TARGET_SIZE = "write.target-file-size-bytes"
_USUAL_SIZE = 512 << 20
_SMALL = 0.75
"""The share of the target below which a file is small."""


@dataclass(frozen=True)
class _Task:
    specs: RowSpecs
    facts: FileFacts
    choice: Choice
    order: Order | None = None


def optimize(state: TableState, layout: Layout, arranger: RowArranger, read: RowReader) -> TableState:
    """Lay out files anew. Where there is nothing to gain, the table stays at its snapshot."""
    return _rewritten(state, _task(state, layout, arranger, read), arranger)


def plan_optimize(state: TableState, layout: Layout, arranger: RowArranger, read: RowReader) -> OptimizePlan:
    """What `optimize` would rewrite."""
    task = _task(state, layout, arranger, read)
    files = numbered(state, task.choice.files.tolist())
    size = sum(live.file.file_size_in_bytes for live in files)
    paths = tuple(live.file.file_path for live in files)
    return OptimizePlan(state.location, state.version, paths, size, int(task.choice.pieces.sum()))


def purge(state: TableState, where: str | None, arranger: RowArranger, read: RowReader) -> TableState:
    """Rewrite the files of which rows were deleted, and drop the deletes that concern nothing any more."""
    specs = RowSpecs.of(state, read)
    facts = _facts(specs)
    choice = packed(facts, _within(specs, where, arranger) & facts.has_vector, _target(state, Layout()))
    return remove_dangling_deletes(_rewritten(state, _Task(specs, facts, choice), arranger))


def with_deletes(state: TableState, read: RowReader) -> tuple[LiveFile, ...]:
    """The files of which rows were deleted, which `purge` rewrites."""
    specs = RowSpecs.of(state, read)
    return numbered(specs.state, np.flatnonzero(_facts(specs).has_vector).tolist())


def remove_dangling_deletes(state: TableState) -> TableState:
    """Drop the delete files that concern no live data file."""
    live = state.files
    if not len(live.deletes):
        return state
    data_scopes, delete_scopes = live.scopes
    oldest = np.full(int(max(data_scopes.max(initial=-1), delete_scopes.max(initial=-1))) + 1, 2**62, np.int64)
    np.minimum.at(oldest, data_scopes, live.data.numbers("sequence_number"))
    first = int(oldest.min(initial=2**62))
    ages, content = live.deletes.numbers("sequence_number"), live.deletes.numbers("content")
    is_global = np.array([_is_unpartitioned(state, int(number)) for number in live.deletes.spec_ids], dtype=bool)
    before = np.where(is_global & (content == Content.EQUALITY_DELETES), first, oldest[delete_scopes])
    is_dangling = np.where(content == Content.EQUALITY_DELETES, before >= ages, before > ages)
    named = live.deletes.column("referenced_data_file")
    rows = np.flatnonzero(mask_of(pc.is_valid(named)))
    # by their places: what reads as one file has one spelling here
    urls, known = (state.place.absolutes(paths) for paths in (named.take(int64(rows)), live.data.column("file_path")))
    is_dangling[rows] |= ~mask_of(pc.is_in(urls, value_set=known))
    if not is_dangling.any():
        return state
    return publish(state, FileChange(REPLACE, removed=live_files(state, live.deletes, is_dangling)))


def _is_unpartitioned(state: TableState, spec_id: int) -> bool:
    spec = state.metadata.spec_at(spec_id)
    return spec is not None and spec.is_unpartitioned


def _task(state: TableState, layout: Layout, arranger: RowArranger, read: RowReader) -> _Task:
    if layout.is_full:
        raise InvalidRequest("full is for clustered Delta tables", where=state.location)
    specs = RowSpecs.of(state, read)
    facts, target = _facts(specs), _target(state, layout)
    wanted = _within(specs, layout.where, arranger)
    if layout.z_order_by:
        order = Curved(CurveKind.Z_ORDER, _curve(specs, layout.z_order_by))
        return _Task(specs, facts, gathered(facts, wanted, target), order)
    return _Task(specs, facts, packed(facts, wanted & small(facts, int(target * _SMALL)), target))


def _facts(specs: RowSpecs) -> FileFacts:
    """What the manifests say of the live files."""
    live = specs.live
    records = live.data.numbers("record_count")
    dead = np.zeros(len(records), np.int64)
    is_known = np.ones(len(records), dtype=bool)
    plan = specs.rows
    if len(live.deletes):
        vectors = {
            file.file.referenced_data_file: file.file.record_count
            for file in live_files(specs.state, live.deletes, np.ones(len(live.deletes), dtype=bool))
            if file.file.is_deletion_vector
        }
        paths = live.data.column("file_path").to_pylist()
        dead = np.array([vectors.get(path, 0) for path in paths], np.int64)
        is_known = ~plan.has_deletes | (dead > 0)
    has_equality = plan.has_equality if plan.equality else np.zeros(len(records), dtype=bool)
    share: npt.NDArray[np.float64] = dead / np.maximum(records, 1)
    # where nobody counted the dead, there are enough of them to look
    worn = np.where(is_known & ~has_equality, share, 1.0)
    return FileFacts(
        size=(live.data.numbers("file_size_in_bytes") * (1 - share)).astype(np.int64),
        partition=live.scopes[0],
        rows=np.where(is_known & ~has_equality, records - dead, -1),
        dead=worn,
        has_vector=plan.has_deletes | has_equality,
    )


def _target(state: TableState, layout: Layout) -> int:
    if layout.target_size is not None:
        if layout.target_size <= 0:
            raise InvalidRequest(f"files of {layout.target_size} bytes cannot be", where=state.location)
        return layout.target_size
    text = state.metadata.properties.get(TARGET_SIZE, "")
    return int(text) if text.isdecimal() and int(text) else _USUAL_SIZE


def _within(specs: RowSpecs, where: str | None, arranger: RowArranger) -> Mask:
    """The files that may hold a row for which the condition is TRUE."""
    if where is None:
        return np.ones(len(specs.live.data), dtype=bool)
    return specs.pruner(row_condition(where, specs.schema, arranger.zone))


def _curve(specs: RowSpecs, names: Sequence[str]) -> tuple[Path, ...]:
    found = [(name, resolved(specs.schema, parse_path(name))) for name in names]
    problems = [f"there is no column {name}" for name, path in found if path is None]
    if len(names) > MOST_COLUMNS:
        problems.append(f"{len(names)} columns are more than the {MOST_COLUMNS} that a curve can follow")
    if problems:
        raise InvalidRequest("rows cannot be laid out by these columns", where=specs.location, problems=problems)
    return tuple(path for _, path in found if path is not None)


def _rewritten(read_at: TableState, task: _Task, arranger: RowArranger) -> TableState:
    if not len(task.choice):
        return read_at
    specs = task.specs
    rearrangement = _rearrangement(task)
    with discarding(specs.state, (specs.folder,)):
        files = arranger.rearranged(rearrangement)
        _check(files, rearrangement)
    gone = numbered(specs.state, task.choice.files.tolist())
    fresh = data_files(files, specs.state, is_sorted=task.order is None)
    change = FileChange(
        REPLACE, fresh, (*gone, *_dead_records(specs.state, gone)),
        ReadSet(data_files=frozenset(live.file.file_path for live in gone)),
        sequence_number=_sequence(specs.state),
    )  # fmt: skip
    return publish_or_discard(read_at, change, fresh)


def _sequence(state: TableState) -> int | None:
    is_counted = state.metadata.format_version > 1 and state.snapshot is not None
    return state.snapshot.sequence_number if is_counted and state.snapshot is not None else None


def _rearrangement(task: _Task) -> Rearrangement:
    choice, specs = task.choice, task.specs
    keep = np.zeros(len(specs.rows), dtype=bool)
    keep[choice.files] = True
    order = np.argsort(choice.files)  # the plan has its files in the order of the state
    rows = task.facts.rows[choice.files]
    spec = replace(specs.copied, is_arranged=True)
    return Rearrangement(
        plan=specs.rows.only(keep),
        part=choice.part[order],
        pieces=choice.pieces,
        order=task.order or Packed(choice.piece[order]),
        spec=spec if task.order is None else replace(spec, sort_by=()),
        rows=None if (rows < 0).any() else int(rows.sum()),
    )


def _check(files: Sequence[WrittenFile], rearrangement: Rearrangement) -> None:
    """Raise where rows were lost or came twice."""
    written = sum(file.statistics.rows for file in files)
    if rearrangement.rows is not None and written != rearrangement.rows:
        raise InvalidTable(
            f"{rearrangement.rows} rows had to be written, and {written} were", where=rearrangement.plan.location,
            hint="Look whether record_count of the files is right. Nothing was changed.",
        )  # fmt: skip


def _dead_records(state: TableState, gone: Sequence[LiveFile]) -> tuple[LiveFile, ...]:
    deletes = state.files.deletes
    if not len(deletes):
        return ()
    everything = live_files(state, deletes, np.ones(len(deletes), dtype=bool))
    return of_data_files(state.place, everything, (file.file.file_path for file in gone))
