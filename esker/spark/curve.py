"""Where on a curve does a row lie, and in which piece of it?

A sample of the rows tells how the values of each column are spread, and where the curve is to be cut so that its pieces have
equally many rows. Then every row finds its rank in each column, its place, and its piece, by constants of the plan.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from esker.core import types as t
from esker.core.arrange import Curved, Rearrangement
from esker.core.change import unused
from esker.core.column_paths import quoted
from esker.core.columns import rows_of
from esker.core.curve import CURVE_BITS, CurveKind, bits_per_column, interleaved, turns
from esker.core.predicate import Path
from esker.core.scan import ScanPlan
from esker.core.spread import Spread, cuts, places, spread
from esker.errors import InvalidRequest
from esker.spark.layout import named
from esker.spark.lookup import looked_up, with_ranks

TELLING = 32
"""Characters of a text that count: no more of them are kept in statistics."""
_SAMPLE = 100_000
_SAMPLE_PER_PIECE = 200


@dataclass(frozen=True)
class Laid:
    """Rows with two columns that say where they lie: on the curve, and in which piece, counted part by part."""

    rows: DataFrame
    place: str
    piece: str


def along_curve(what: Rearrangement, curve: Curved, read: Callable[[ScanPlan], DataFrame]) -> Laid:
    """The rows of the plan with their places and pieces."""
    taken = what.plan.schema.names
    part, place, piece, turn = (unused(name, taken) for name in ("part", "place", "piece", "turn"))
    values = [unused(f"value_{i}", taken) for i in range(len(curve.columns))]
    shown = {value: _ordered(what.plan, path) for value, path in zip(values, curve.columns, strict=True)}
    rows = read(what.plan.labelled(part, what.part)).withColumns(shown)
    sample = _sample(rows.select(*(named(name) for name in (part, *values))), what)
    columns = [sample.column(value).combine_chunks() for value in values]
    spreads = [spread(column) for column in columns]
    begins = cuts(rows_of(sample.column(part)), places(columns, spreads, curve.kind), what.pieces)
    rows = _interleaved(rows, values, spreads, place)
    if curve.kind is CurveKind.HILBERT:
        rows = _turned(rows, place, turn, len(values))
    rows = rows.withColumn(part, F.shiftleft(named(part), CURVE_BITS) + named(place))
    return Laid(with_ranks(rows, {piece: (part, begins)}), place, piece)


def _ordered(plan: ScanPlan, path: Path) -> Column:
    """A number, or a text of ASCII, in the order of the column's values; some that differ may become the same."""
    field = plan.schema.at(path)
    if field is None:
        raise InvalidRequest(f"there is no column {quoted(path)}", where=plan.location)
    value = F.col(quoted(path))
    match field.type:
        case t.STRING:
            return F.hex(F.substring(value, 1, TELLING))
        case t.DATE:
            return F.unix_date(value).cast("long")
        case t.TIMESTAMP | t.TIMESTAMP_NTZ:
            return F.unix_micros(value.cast("timestamp"))
    return value.cast("long" if field.type in t.INTEGRAL else "double")


def _sample(rows: DataFrame, what: Rearrangement) -> pa.Table:
    wanted = max(_SAMPLE, _SAMPLE_PER_PIECE * int(what.pieces.sum()))
    count = rows.count() if what.rows is None else what.rows
    return (rows if count <= wanted else rows.sample(wanted / count)).toArrow()


def _interleaved(rows: DataFrame, values: Sequence[str], spreads: Sequence[Spread], place: str) -> DataFrame:
    """The rows with their places on the Z-order curve, in the stead of the values."""
    ranks = [unused(f"rank_{i}", rows.columns) for i in range(len(values))]
    searches = {rank: (value, column.bounds) for rank, value, column in zip(ranks, values, spreads, strict=True)}
    rows = with_ranks(rows, searches)
    found = F.lit(0).cast("long")
    for i, (rank, value, column) in enumerate(zip(ranks, values, spreads, strict=True)):
        number = F.when(named(value).isNull(), F.lit(0)).otherwise(named(rank) + 1)
        found = found + looked_up(interleaved(column.ranks, i, len(spreads)), number)
    return rows.withColumn(place, found).drop(*values, *ranks)


def _turned(rows: DataFrame, place: str, turn: str, columns: int) -> DataFrame:
    """The rows with their places on the Hilbert curve: the walk of `along_hilbert`, a projection for each step."""
    table = turns(columns)
    if table is None:
        return rows
    digits = (1 << columns) - 1
    start = unused("start", rows.columns)
    nothing = F.lit(0).cast("long")
    rows = rows.withColumnRenamed(place, start).withColumns({place: nothing, turn: nothing})
    for level in reversed(range(bits_per_column(columns))):
        state = F.shiftleft(F.shiftright(named(turn), columns), columns)
        digit = F.shiftright(named(start), level * columns).bitwiseAND(digits)
        rows = rows.withColumn(turn, looked_up(table, state.bitwiseOR(digit)))
        rows = rows.withColumn(place, F.shiftleft(named(place), columns).bitwiseOR(named(turn).bitwiseAND(digits)))
    return rows.drop(start, turn)
