"""How are rows of live files found, and written anew?

Two passes. The first finds the positions of the rows that change; the second, in `rewrite`, goes by those positions alone: a
condition that holds for other rows by then cannot make it lose a row or keep one twice.
"""

from collections.abc import Callable, Sequence
from datetime import tzinfo
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession

from esker.core.arrange import Rearrangement
from esker.core.change import AddressedPlan, Rewrite, RowChange, RowPositions
from esker.core.fragments import Scan
from esker.core.write import WrittenFile
from esker.spark import Relation, session_zone
from esker.spark.arrange import rearranged
from esker.spark.expressions import check_conditions
from esker.spark.job import spread
from esker.spark.positions import NOT_CONCERNED, Marks, first_true, gathered
from esker.spark.read import read
from esker.spark.rewrite import rewritten
from esker.spark.session import session


class SparkEditor:
    """Finds and writes rows by Spark. The session is started when it is first needed."""

    def __init__(self, spark: SparkSession | None = None, relation: Relation = "auto", name: str = "target") -> None:
        self._given = spark
        self._relation: Relation = relation
        self.name = name

    @cached_property
    def spark(self) -> SparkSession:
        return self._given or session()

    @property
    def zone(self) -> tzinfo | None:
        return session_zone(self.spark)

    def rows(self, plan: Scan) -> DataFrame:
        """The rows of a plan, whose columns can be told from others by the target's name."""
        return read(self.spark, plan, relation=self._relation).alias(self.name)

    def matching(
        self, target: AddressedPlan, conditions: Sequence[str | None], skipped: RowPositions | None = None
    ) -> tuple[RowPositions, ...]:
        """For each condition the rows for which it, and none before it, is TRUE."""
        rows = self.rows(target.plan)
        check_conditions(rows, conditions)
        if skipped:
            marks = Marks(rows, target, [skipped])
            rows = marks.rows.where(~marks[0])
        clause = first_true(conditions)
        found = gathered(rows.where(clause != NOT_CONCERNED), target, clause)
        return tuple(found.clause(number) for number in range(len(conditions)))

    def rewritten(self, rewrite: Rewrite) -> RowChange:
        """Write the rows that a rewrite asks for."""
        return rewritten(rewrite, self.rows, self.name)

    def rearranged(self, rearrangement: Rearrangement) -> tuple[WrittenFile, ...]:
        """Write all rows of some files, in another order or to other files."""
        return rearranged(rearrangement, self.rows, self.spark)

    def spread(self, work: Callable[[int], bytes], count: int) -> tuple[bytes, ...]:
        """Have the workers of a session do it; on the driver where it is one piece, or no session is there."""
        if count < 2 or (self._given is None and SparkSession.getActiveSession() is None):
            return tuple(work(number) for number in range(count))
        return spread(self.spark, work, count)
