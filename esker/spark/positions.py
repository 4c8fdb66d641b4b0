"""Which rows of which files does a frame hold, and which rows of a frame are among some?

Positions are gathered by the workers into one bitmap for each file and task, so that no row comes to the driver; and they go
back to the workers as bits, so that what was found once need not be looked for again.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from esker.core.bitmap import Bitmap
from esker.core.change import AddressedPlan, RowPositions, unused
from esker.core.types import LONG, Array, Field, Struct
from esker.spark.failures import job
from esker.spark.layout import named
from esker.spark.types import to_spark_schema

NOT_CONCERNED = -1
"""The clause of a row that no clause is for."""

_GATHERED = "file long, clause int, rows long, positions binary"


@dataclass(frozen=True)
class Gathered:
    """The rows of each clause, and how many there were, each counted as often as it came."""

    clauses: dict[int, dict[int, Bitmap]]
    rows: int

    def clause(self, number: int) -> RowPositions:
        return self.clauses.get(number, {})


def gathered(rows: DataFrame, target: AddressedPlan, clause: Column) -> Gathered:
    """Where the rows of a frame lie, by one job. `clause` numbers the clause that a row is for."""
    # Spark 4.0 looks the columns up by their names, which without one is the text of the condition
    shown = rows.select(named(target.file), named(target.position), clause.cast("int").alias("clause"))
    with job("find the rows", target.plan.location):
        parts = shown.mapInArrow(_partial_bitmaps, _GATHERED).toArrow()
    bitmaps: dict[tuple[int, int], BitMap64] = {}
    for part in parts.to_pylist():
        whole = bitmaps.setdefault((part["clause"], part["file"]), BitMap64())
        whole |= BitMap64.deserialize(part["positions"])
    found: dict[int, dict[int, Bitmap]] = {}
    for (number, file), bitmap in bitmaps.items():
        found.setdefault(number, {})[file] = Bitmap(bitmap)
    return Gathered(found, sum(parts.column("rows").to_pylist()))


def first_true(conditions: Sequence[str | None]) -> Column:
    """The number of the first condition that is TRUE; None stands for TRUE."""
    chosen = F.lit(NOT_CONCERNED)
    for number, condition in reversed(list(enumerate(conditions))):
        is_true = F.lit(True) if condition is None else F.expr(condition)
        chosen = F.when(is_true, F.lit(number)).otherwise(chosen)
    return chosen


class Marks:
    """Columns that say of each row whether it is in one of some sets."""

    def __init__(self, rows: DataFrame, target: AddressedPlan, sets: Sequence[RowPositions]) -> None:
        self._names = [unused(f"in_{i}", rows.columns) for i in range(len(sets))]
        self.rows = _joined(rows, target, dict(zip(self._names, sets, strict=True)))

    def __getitem__(self, number: int) -> Column:
        return named(self._names[number])

    @property
    def any(self) -> Column:
        found = F.lit(False)
        for name in self._names:
            found = found | named(name)
        return found


def _partial_bitmaps(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    bitmaps: dict[tuple[int, int], BitMap64] = {}
    counts: dict[tuple[int, int], int] = {}
    for batch in batches:
        for key, positions in _by_file(*(batch.column(i).to_numpy(zero_copy_only=False) for i in range(3))):
            fresh = BitMap64(array("Q", positions.astype(np.uint64).tobytes()))
            bitmaps.setdefault(key, BitMap64()).update(fresh)
            counts[key] = counts.get(key, 0) + len(positions)
    yield pa.record_batch(
        {
            "file": pa.array([file for file, _ in bitmaps], pa.int64()),
            "clause": pa.array([clause for _, clause in bitmaps], pa.int32()),
            "rows": pa.array(list(counts.values()), pa.int64()),
            "positions": pa.array([bytes(bitmap.serialize()) for bitmap in bitmaps.values()], pa.binary()),
        }
    )


_Numbers = npt.NDArray[np.int64]


def _by_file(files: _Numbers, positions: _Numbers, clauses: _Numbers) -> Iterator[tuple[tuple[int, int], _Numbers]]:
    """The positions of each file and clause."""
    order = np.lexsort((clauses, files))
    files, positions, clauses = files[order], positions[order], clauses[order]
    is_next = (files[1:] != files[:-1]) | (clauses[1:] != clauses[:-1])
    for part in np.split(np.arange(len(files)), np.flatnonzero(is_next) + 1):
        if len(part):
            yield (int(files[part[0]]), int(clauses[part[0]])), positions[part]


def _joined(rows: DataFrame, target: AddressedPlan, sets: dict[str, RowPositions]) -> DataFrame:
    """The rows with a truth value for each set. The bits of a file are told once to each worker, not to each row."""
    files = sorted({file for positions in sets.values() for file in positions})
    key = unused("key", [*rows.columns, *sets])
    words = {name: [_words(positions, file) for file in files] for name, positions in sets.items()}
    arrays = {name: pa.array(column, pa.list_(pa.int64())) for name, column in words.items()}
    table = pa.table({key: pa.array(files, pa.int64()), **arrays})
    schema = to_spark_schema(Struct((Field(key, LONG), *(Field(name, Array(LONG)) for name in sets))))
    bits = rows.sparkSession.createDataFrame(table, schema)
    joined = rows.join(F.broadcast(bits), named(target.file) == named(key), "left").drop(key)
    return joined.withColumns({name: _is_set(named(name), named(target.position)) for name in sets})


def _words(positions: RowPositions, file: int) -> npt.NDArray[np.int64] | None:
    return positions[file].words() if file in positions else None


def _is_set(words: Column, position: Column) -> Column:
    word = F.get(words, F.shiftright(position, 6).cast("int"))
    return F.coalesce(F.getbit(word, position.bitwiseAND(63).cast("int")) == 1, F.lit(False))
