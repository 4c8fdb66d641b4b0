"""Do the data files hold what the log says of them?  (PROTOCOL.md, "Data Files", "Per-file Statistics", "Deletion Vectors")

These rules open every data file and every deletion vector, so they are looked into on demand only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.arrow.read import read_task
from esker.check.delta.evidence import Evidence, Look
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.core import types as t
from esker.core.bitmap import Bitmap
from esker.core.scan import ScanPlan
from esker.core.types import Type, leaves
from esker.delta.actions import Add
from esker.delta.column_mapping import Mode, physical_path
from esker.delta.deletion_vectors import load as load_vectors
from esker.delta.plan import Pruner, plan
from esker.delta.snapshot import Snapshot
from esker.errors import EskerError, NotFound


def _missing(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(file.add.path, "the file is missing") for file in evidence.data_files if file.info is None)


def _missing_changes(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("cdc"):
        path = action.body.get("path")
        try:
            if isinstance(path, str) and path:
                storage, name = evidence.place.locate(path)
                storage.head(name)
        except NotFound:
            yield Sighting(action.where, f"the change file {path} is missing: the changes of the version cannot be read")


def _sizes(evidence: Evidence) -> Iterator[Sighting]:
    for file in evidence.data_files:
        if file.info is not None and file.info.size != file.add.size:
            yield Sighting(file.add.path, f"the file has {file.info.size} bytes, and the log says {file.add.size}")


def _footers(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(file.add.path, file.problem) for file in evidence.data_files if file.problem is not None)


def _records(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    stated = [] if snapshot is None else snapshot.statistics.num_records().to_pylist()
    for file, records in zip(evidence.data_files, stated, strict=True):
        if file.footer is not None and records is not None and file.footer.num_rows != records:
            yield Sighting(file.add.path, f"the file has {file.footer.num_rows} rows, and numRecords is {records}")


def _field_ids(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is None or snapshot.mapping is not Mode.ID:
        return
    for file in evidence.data_files:
        if file.footer is not None:
            stored = file.footer.schema.to_arrow_schema()
            if len(stored) and not any((f.metadata or {}).get(b"PARQUET:field_id") for f in stored):
                yield Sighting(file.add.path, "the file has no field ids, and the table finds its columns by them")


def _rows(evidence: Evidence) -> Iterator[Sighting]:
    """Whether the rows can be read as the table's schema says."""
    planned = _plan(evidence)
    if isinstance(planned, EskerError):
        yield Sighting("table", "; ".join((planned.what, *planned.problems)))
    yield from (Sighting(file.path, what) for file, what, _ in _read(evidence) if what is not None)


def _bounds(evidence: Evidence) -> Iterator[Sighting]:
    yield from _compared(evidence, _outside)


def _null_counts(evidence: Evidence) -> Iterator[Sighting]:
    yield from _compared(evidence, _miscounted)


Compare = Callable[[Snapshot, tuple[str, ...], int, pa.ChunkedArray], str | None]
"""What the statistics of the column at a path get wrong of the file of a number, which has these values."""


def _compared(evidence: Evidence, compare: Compare) -> Iterator[Sighting]:
    """The statistics against the valid rows: of what a deletion vector deletes they need not tell."""
    snapshot = evidence.readable
    for number, (file, _, rows) in enumerate(_read(evidence)):
        valid = None if snapshot is None or rows is None else _valid(rows, file, snapshot)
        if snapshot is None or valid is None:
            continue
        for path, _ in leaves(snapshot.schema):
            values = _values(valid, path)
            if values is None or pa.types.is_nested(values.type) or pa.types.is_null(values.type):
                continue
            if wrong := compare(snapshot, path, number, values):
                yield Sighting(file.path, f"{'.'.join(path)}: {wrong}")


def _valid(rows: pa.Table, add: Add, snapshot: Snapshot) -> pa.Table | None:
    """The rows that are not deleted; None where that cannot be told."""
    if add.deletion_vector is None:
        return rows
    dead = _bitmap(add, snapshot)
    if isinstance(dead, str):
        return None
    keep, positions = np.ones(rows.num_rows, dtype=bool), dead.to_numpy()
    keep[positions[positions < len(keep)]] = False
    return rows.filter(pa.array(keep))


def _values(rows: pa.Table, path: Sequence[str]) -> pa.ChunkedArray | None:
    values = rows.column(path[0]) if path[0] in rows.column_names else None
    for name in path[1:]:
        values = None if values is None else pc.struct_field(values, name)
    return values


def _outside(snapshot: Snapshot, path: tuple[str, ...], number: int, values: pa.ChunkedArray) -> str | None:
    stats = Pruner(snapshot).column(path)
    bounds = () if stats is None else ((stats.lower, pc.less, "below"), (stats.upper, pc.greater, "above"))
    for bound, is_beyond, word in bounds:
        limit = None if bound is None else bound[number]
        if limit is None or not limit.is_valid:
            continue
        plain, against = (values.cast(pa.binary()), limit.cast(pa.binary())) if pa.types.is_string(values.type) else (values, limit)
        # NaN lies in no bounds and above all of them: a writer that has some states none
        if pc.any(is_beyond(plain, against)).as_py():
            return f"a value lies {word} the bound {limit.as_py()!r:.60}"
    return None


def _miscounted(snapshot: Snapshot, path: tuple[str, ...], number: int, values: pa.ChunkedArray) -> str | None:
    stored, field = physical_path(snapshot.schema, path, snapshot.mapping), snapshot.schema.at(path)
    assert field is not None
    stated = snapshot.statistics.bounds(stored, field.type)[2][number].as_py()
    records, is_tight = (found[number].as_py() for found in snapshot.statistics.recorded(_ABOUT_COUNTS).values())
    # "If the `nullCount` for a column is any value other than these two special cases, the value carries no information": wide
    means = {records: len(values), 0: 0} if is_tight is False else {stated: stated}
    if stated is None or stated not in means or means[stated] == values.null_count:
        return None
    return f"nullCount is {stated}, and {values.null_count} values are null"


_ABOUT_COUNTS: Mapping[tuple[str, ...], Type] = {("numRecords",): t.LONG, ("tightBounds",): t.BOOLEAN}


def _read(evidence: Evidence) -> Iterator[tuple[Add, str | None, pa.Table | None]]:
    """Each live file with all its rows, dead ones too, or with what keeps them from being read. One file at a time."""
    whole = _plan(evidence)
    if whole is None or isinstance(whole, EskerError):
        return
    for add, task in zip(evidence.live, whole.tasks(), strict=True):
        try:
            batches = list(read_task(whole, task))
        except EskerError as error:
            yield add, error.what, None
            continue
        yield add, None, pa.Table.from_batches(batches) if batches else None


def _plan(evidence: Evidence) -> ScanPlan | EskerError | None:
    """How to read all columns that files hold, dead rows too; the error where the table cannot be read at all."""
    snapshot = evidence.readable
    if snapshot is None:
        return None
    partitions = {field.name for field in snapshot.partition_fields}
    try:
        whole = plan(snapshot, [name for name in snapshot.schema.names if name not in partitions])
    except EskerError as error:
        return error
    return replace(whole, has_deletes=np.zeros(len(whole), dtype=bool))


def _vectors(look: Callable[[Add, Bitmap, int | None], str | None]) -> Look:
    """What is wrong with deletion vectors that can be read."""

    def each(evidence: Evidence) -> Iterator[Sighting]:
        records = [] if evidence.readable is None else evidence.readable.statistics.num_records().to_pylist()
        for number, add, found in _loaded(evidence):
            if isinstance(found, Bitmap) and (wrong := look(add, found, records[number])):
                yield Sighting(add.path, wrong)

    return each


def _unreadable(evidence: Evidence) -> Iterator[Sighting]:
    for _, add, found in _loaded(evidence):
        if isinstance(found, str):
            yield Sighting(add.path, found)


def _loaded(evidence: Evidence) -> Iterator[tuple[int, Add, Bitmap | str]]:
    snapshot = evidence.readable
    for number, add in enumerate(evidence.live):
        if add.deletion_vector is not None and snapshot is not None:
            yield number, add, _bitmap(add, snapshot)


def _bitmap(add: Add, snapshot: Snapshot) -> Bitmap | str:
    assert add.deletion_vector is not None
    try:
        return load_vectors({0: add.deletion_vector}, snapshot.place.locate, snapshot.location)[0]
    except EskerError as error:
        return error.what


def _beyond(add: Add, bitmap: Bitmap, records: int | None) -> str | None:
    if records is None or bitmap.greatest is None or bitmap.greatest < records:
        return None
    return f"its deletion vector deletes row {bitmap.greatest}, and there are {records}"


def _all_dead(add: Add, bitmap: Bitmap, records: int | None) -> str | None:
    return "all its rows are deleted, and it is still there" if records and len(bitmap) == records else None


_LOST = "Restore the file from a copy, or delete its rows from the table."
_REWRITE = "Rewrite the file."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("data.there", Severity.ERROR, protocol("#data-files"), "Every live file is there.", _LOST, _missing, is_deep=True),
    Rule("data.change-files", Severity.NOTICE, protocol("#add-cdc-file"), "Change files are there until they are vacuumed.", "Nothing, if nobody needs the changes of these versions.", _missing_changes, is_deep=True),
    Rule("data.size", Severity.ERROR, protocol("#add-file-and-remove-file"), "A file is as large as the log says.", _LOST, _sizes, is_deep=True),
    Rule("data.parquet", Severity.ERROR, protocol("#data-files"), "A file is Parquet.", _LOST, _footers, is_deep=True),
    Rule("data.records", Severity.ERROR, protocol("#per-file-statistics"), "numRecords is the number of rows.", _REWRITE, _records, is_deep=True),
    Rule("data.field-ids", Severity.ERROR, protocol("#column-mapping"), "Files have field ids where columns go by them.", _REWRITE, _field_ids, is_deep=True),
    Rule("data.rows", Severity.ERROR, protocol("#data-files"), "Rows are of the table's types.", _REWRITE, _rows, is_deep=True),
    Rule("data.bounds", Severity.ERROR, protocol("#per-file-statistics"), "Every value lies within the bounds.", _REWRITE, _bounds, is_deep=True),
    Rule("data.null-count", Severity.WARNING, protocol("#per-file-statistics"), "nullCount is the number of nulls.", _REWRITE, _null_counts, is_deep=True),
    Rule("data.vector", Severity.ERROR, protocol("#deletion-vector-format"), "A deletion vector is there and whole.", _LOST, _unreadable, is_deep=True),
    Rule("data.vector-positions", Severity.ERROR, protocol("#deletion-vectors"), "A deletion vector deletes rows that are there.", _LOST, _vectors(_beyond), is_deep=True),
    Rule("data.vector-all", Severity.NOTICE, protocol("#deletion-vectors"), "A file has a live row.", "Optimize or purge the table.", _vectors(_all_dead), is_deep=True),
)  # fmt: skip
