"""What are the rows of a scan plan, without Spark?

Reads the planned files with pyarrow, a row group at a time, and gives record batches of the plan's schema.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.arrow.conform import Lookup, conform, find, has_ids, with_mapped_ids
from esker.arrow.equality import DeadKeys, key_names, wider
from esker.arrow.files import StoredFile, open_file
from esker.arrow.int96 import in_type
from esker.core.arrow_types import to_arrow, to_arrow_schema
from esker.core.binding import bind
from esker.core.columns import Mask, int64
from esker.core.filtering import mask
from esker.core.predicate import Predicate
from esker.core.scan import (
    FromConstant,
    FromConstants,
    FromFile,
    Nulls,
    Partitioned,
    Positions,
    Resolution,
    RowIndex,
    ScanColumn,
    ScanPlan,
    ScanTask,
    Stored,
)
from esker.core.types import VOID, Field
from esker.errors import InvalidTable, NotFound, Unsupported


def read_batches(plan: ScanPlan, where: Predicate | None = None, keep: Mask | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of the plan's files, or of those in `keep`, for which `where` is TRUE."""
    bound = None if where is None else bind(where, plan.schema)
    for batch in _living(plan.only(keep)):
        if bound is not None:
            batch = batch.filter(mask(bound, batch))
        if batch.num_rows:
            yield batch


def read_table(plan: ScanPlan, where: Predicate | None = None, keep: Mask | None = None) -> pa.Table:
    """The same rows as one table."""
    return pa.Table.from_batches(read_batches(plan, where, keep), to_arrow_schema(plan.schema))


def read_task(plan: ScanPlan, task: ScanTask) -> Iterator[pa.RecordBatch]:
    """The rows of one file without those that are dead by position. The plan must be settled."""
    try:
        with open_file(plan, task) as file:
            yield from _read_file(plan, task, file)
    except NotFound as error:
        raise InvalidTable("the data file is missing", where=task.path) from error
    except (pa.ArrowException, OSError) as error:
        if _BEYOND_NANOSECONDS in str(error):
            raise Unsupported(
                "a timestamp in an ORC file before 1677 or after 2262, which Arrow's reader of ORC cannot hold", where=task.path,
                hint="Have the software that wrote the file write it as Parquet, or leave the column out.",
            ) from error  # fmt: skip
        raise InvalidTable(f"the data file cannot be read: {error}", where=task.path) from error
    except InvalidTable as error:
        raise error if error.where else type(error)(error.what, where=task.path, hint=error.hint) from error


_BEYOND_NANOSECONDS = "out of range for nanosecond resolution"


def _living(plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The rows of the plan's files without the dead ones."""
    compared = plan.equality if plan.has_equality.any() else ()
    dead = [DeadKeys(deletes, read_table(deletes.rows), key_names(plan)) for deletes in compared]
    for part in (wider(plan) if dead else plan).settled():
        for task in part.tasks():
            for batch in read_task(part, task):
                for keys in dead:
                    batch = batch.filter(keys.alive(batch, task)) if batch.num_rows else batch
                yield batch.select(plan.schema.names) if dead else batch


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows of a file, from the row `start` on; no columns where none is asked for."""

    plan: ScanPlan
    task: ScanTask
    stored: Mapping[Field, pa.Field | None]
    """The file's field for each column of the plan that is looked for in files."""
    start: int
    count: int
    rows: pa.Table | None


def _read_file(plan: ScanPlan, task: ScanTask, file: StoredFile) -> Iterator[pa.RecordBatch]:
    schema = to_arrow_schema(plan.schema)
    fields = _identified(file.fields, plan, task)
    found = {f: find(fields, f, plan.resolution) for f in _physical_fields(plan)}
    stored = {f: None if at is None else fields[at] for f, at in found.items()}
    if plan.has_all_columns and (missing := [f.name for f, at in stored.items() if at is None and f.type != VOID]):
        raise InvalidTable(f"the file has no column {', '.join(missing)}", where=task.path)
    names = [field.name for field in stored.values() if field is not None]
    times = Counter(field.name for field in fields)
    if repeated := {name for name in names if times[name] > 1}:
        # Arrow gives columns by their names, so that it cannot be told which of them is meant
        raise Unsupported(f"a data file with two columns {', '.join(sorted(repeated))}", where=task.path)
    alive = _alive(task, file.count)
    start = 0
    for count, rows in file.pieces(list(dict.fromkeys(names))):
        piece = _Piece(plan, task, stored, start, count, rows)
        batch = _batch([_array(piece, column) for column in plan.columns], schema, count)
        if alive is not None:
            batch = batch.filter(pa.array(alive[start : start + count]))
        yield batch
        start += count


def _identified(fields: list[pa.Field], plan: ScanPlan, task: ScanTask) -> list[pa.Field]:
    """The file's fields with ids, where columns are found by them."""
    if plan.resolution is not Resolution.ID or not fields or has_ids(fields):
        return fields
    if plan.mapped_ids is None:
        # "If a data file does not contain field ids, readers must refuse to read that file or return nulls"
        raise InvalidTable("the data file has no field ids, and the table finds its columns by them", where=task.path)
    return with_mapped_ids(fields, plan.mapped_ids)


def _batch(arrays: list[pa.Array], schema: pa.Schema, count: int) -> pa.RecordBatch:
    if not arrays:
        present = pa.array([False] * count, pa.bool_())
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_arrays([], fields=[], mask=present))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _alive(task: ScanTask, count: int) -> Mask | None:
    """Which rows of the file live; None where all do."""
    dead = task.deletes.bitmap if isinstance(task.deletes, Positions) else None
    if dead is None:
        return None
    if dead.greatest is not None and dead.greatest >= count:
        raise InvalidTable(f"a deletion vector deletes row {dead.greatest} of a file with {count} rows", where=task.path)
    alive = np.ones(count, dtype=bool)
    alive[dead.to_numpy().astype(np.int64)] = False
    return alive


def _physical_fields(plan: ScanPlan) -> Iterator[Field]:
    for column in plan.columns:
        match column.source:
            case FromFile(physical) | Stored(Field() as physical, _, _):
                yield physical


def _array(piece: _Piece, column: ScanColumn) -> pa.Array:
    count, constants = piece.count, piece.task.constants
    match column.source:
        case FromFile(physical):
            return _from_file(piece, physical, column.field)
        case FromConstant(name):
            return _repeated(constants[name], count)
        case FromConstants(names):
            members = [_repeated(constants[name], count) for name in names]
            return pa.StructArray.from_arrays(members, fields=list(to_arrow(column.field.type)))
        case Partitioned():
            raise AssertionError("the plan is not settled")
        case Stored(physical, name, plus_row_index):
            default = _repeated(constants[name], count)
            if plus_row_index:
                default = pc.add(default, _row_index(piece))
            return default if physical is None else pc.coalesce(_from_file(piece, physical, column.field), default)
        case RowIndex():
            return _row_index(piece)
        case Nulls():
            return pa.nulls(count, to_arrow(column.field.type))
    assert_never(column.source)


def _from_file(piece: _Piece, physical: Field, visible: Field) -> pa.Array:
    by = Lookup(piece.plan.resolution, piece.plan.defaults)
    stored = piece.stored[physical]
    if stored is None or piece.rows is None:
        return by.missing(physical, visible.type, piece.count)
    values = piece.rows.column(stored.name)
    whole = values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
    return conform(in_type(whole, stored.type), stored, physical, visible.type, by)


def _row_index(piece: _Piece) -> pa.Array:
    return int64(np.arange(piece.start, piece.start + piece.count))


def _repeated(value: pa.Scalar, count: int) -> pa.Array:
    return pa.nulls(count, value.type) if not value.is_valid else pa.repeat(value, count)
