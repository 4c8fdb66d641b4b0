"""How do the rows of a source meet those of a target?

Everything is a join that Spark spreads. The source is read once and held while the merge lasts, unless it lies in memory
already; which target rows match is found by one join over the columns that the condition needs, and only rows that change
are joined again, with all their columns.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from esker.arrow.write import ArrowRows
from esker.core.change import (
    AddressedPlan,
    Matches,
    Rewrite,
    RowChange,
    RowInsert,
    RowInserts,
    SourceKeys,
    union,
    unused,
)
from esker.core.column_paths import quoted
from esker.core.expressions import check_row_expression
from esker.core.merge import Merge
from esker.core.predicate import Path, Value
from esker.core.types import Struct
from esker.core.write import Given, Numbered, RowSource
from esker.errors import Unsupported
from esker.spark import Relation
from esker.spark.assign import inserted
from esker.spark.edit import SparkEditor
from esker.spark.expressions import asked, check_conditions
from esker.spark.failures import job
from esker.spark.identity import numbered
from esker.spark.layout import named
from esker.spark.positions import Marks, first_true, gathered
from esker.spark.rewrite import Join, persisted, rewritten
from esker.spark.session import session
from esker.spark.types import from_spark_schema, to_spark_schema
from esker.spark.write import SparkRows, table_rows


def merging(spark: SparkSession | None, source: RowSource, merge: Merge) -> "SparkMerger":
    """The merger of rows that a caller brought."""
    match source:
        case SparkRows(frame=frame):
            return SparkMerger(frame, merge)
        case ArrowRows(plain=rows):
            return SparkMerger((spark or session()).createDataFrame(rows, to_spark_schema(source.schema)), merge)
    raise Unsupported(f"rows of a {type(source).__name__} cannot be merged")


class SparkMerger(SparkEditor):
    """Merges the rows of a frame. To be used in a `with`, which holds the source."""

    def __init__(self, frame: DataFrame, merge: Merge, relation: Relation = "auto") -> None:
        super().__init__(frame.sparkSession, relation, merge.target)
        self._frame = frame.alias(merge.source)
        self._merge = merge
        self._held = ExitStack()

    def __enter__(self) -> "SparkMerger":
        if not self._frame.isLocal():
            self._held.enter_context(persisted(self._frame))
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    @property
    def source(self) -> Struct:
        return from_spark_schema(self._frame.schema)

    def keys(self, columns: Sequence[Path]) -> SourceKeys:
        """How many rows the source has, and the bounds of these columns, by one job."""
        wanted = [F.col(quoted(path)) for path in columns]
        lows = [F.min(column).alias(f"low {i}") for i, column in enumerate(wanted)]
        highs = [F.max(column).alias(f"high {i}") for i, column in enumerate(wanted)]
        with job("read the source"):
            found = self._frame.agg(F.count(F.lit(1)).alias("rows"), *lows, *highs).toArrow()
        return SourceKeys(found.column("rows")[0].as_py(), _bounds(found, columns))

    def matches(self, target: AddressedPlan, conditions: Sequence[str | None]) -> Matches:
        """The matches, each for the first condition that is TRUE for it."""
        joined = self._matched(self.rows(target.plan))
        check_conditions(joined, conditions)
        found = gathered(joined, target, first_true(conditions))
        clauses = tuple(found.clause(number) for number in range(len(conditions)))
        return Matches(union(*found.clauses.values()), found.rows, clauses)

    def rewritten(self, rewrite: Rewrite) -> RowChange:
        """Write the rows that a rewrite asks for."""
        return rewritten(rewrite, self.rows, self.name, Join(self._matched, self._inserted))

    def _matched(self, rows: DataFrame) -> DataFrame:
        return self._joined(rows, self._frame, "inner")

    def _inserted(self, inserts: RowInserts, held: ExitStack) -> DataFrame:
        rows = self._unmatched(inserts)
        conditions = [clause.condition for clause in inserts.clauses]
        check_conditions(rows, conditions)
        rules = {name: rule for clause in inserts.clauses for name, rule in _rules(clause).items()}
        numbers = {name: unused(f"number_{i}", rows.columns) for i, name in enumerate(rules)}
        if rules:
            rows = numbered(rows, {numbers[name]: rule for name, rule in rules.items()}).alias(self._merge.source)
            if len(inserts.clauses) > 1:  # each of them reads the rows, and must find the same numbers
                held.enter_context(persisted(rows))
        chosen = first_true(conditions)
        parts = [_added(rows.where(chosen == i), clause, numbers) for i, clause in enumerate(inserts.clauses)]
        return reduce(DataFrame.union, parts)

    def _unmatched(self, inserts: RowInserts) -> DataFrame:
        """The source rows without a match."""
        if not len(inserts.against.plan):
            return self._frame
        against = self.rows(inserts.against.plan)
        if inserts.rows is not None:
            marks = Marks(against, inserts.against, [inserts.rows])
            against = marks.rows.where(marks[0]).alias(self.name)
        return self._joined(self._frame, against, "left_anti").alias(self._merge.source)

    def _joined(self, left: DataFrame, right: DataFrame, how: str) -> DataFrame:
        check_row_expression(self._merge.on)
        with asked(f"rows cannot be matched by: {self._merge.on}"):
            joined = left.join(right, F.expr(self._merge.on), how)
            _ = joined.schema
            return joined


def _bounds(found: pa.Table, columns: Sequence[Path]) -> Mapping[Path, tuple[Value, Value] | None]:
    bounds: dict[Path, tuple[Value, Value] | None] = {}
    for i, path in enumerate(columns):
        try:
            low, high = (found.column(f"{end} {i}")[0].as_py() for end in ("low", "high"))
        except (ValueError, OverflowError):  # a time that Python cannot say
            continue
        bounds[path] = None if low is None else (low, high)
    return bounds


def _rules(clause: RowInsert) -> dict[str, Numbered]:
    return {c.field.name: c.value for c in clause.spec.columns if isinstance(c.value, Numbered)}


def _added(rows: DataFrame, clause: RowInsert, numbers: Mapping[str, str]) -> DataFrame:
    """The rows of one clause as they are written; `numbers` has the columns of the rows that number others."""
    fields = {column.field.name: column.field for column in clause.spec.columns}
    values = [inserted(rows, fields[name], value, clause.spec.location) for name, value in clause.values.items()]
    columns = tuple(
        replace(c, value=Given(numbers[c.field.name])) if isinstance(c.value, Numbered) else c for c in clause.spec.columns
    )
    kept = [named(numbers[name]) for name in _rules(clause)]
    return table_rows(rows.select(*values, *kept), replace(clause.spec, columns=columns))
