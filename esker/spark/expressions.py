"""May Spark evaluate this for a row by itself?

Spark refuses, in the condition of a join, whatever looks at several rows or gives another result each time: so a join that is
analysed, and never run, is the judge.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from esker.core.change import Expression, unused
from esker.core.expressions import check_row_expression
from esker.errors import InvalidRequest

_RANDOM = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"


@contextmanager
def asked(what: str) -> Iterator[None]:
    """What Spark cannot make sense of is the caller's fault."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise InvalidRequest(f"{what}: {reason(error)}") from error


def check_conditions(rows: DataFrame, conditions: Iterable[str | None]) -> None:
    """Raise `InvalidRequest` for a condition that is none, or cannot be told of a row by itself once and for all."""
    for condition in conditions:
        if condition is None:
            continue
        check_row_expression(condition)
        with asked(f"this is no condition on a row: {condition}"):
            _judge(rows, F.expr(condition))


def column_of(rows: DataFrame, expression: Expression) -> Column:
    """The expression as a column of the rows. One that looks at several rows is refused; it may well be random."""
    match expression:
        case str():
            check_row_expression(expression)
            value = F.expr(expression)
        case Column():
            value = expression
        case _:
            raise InvalidRequest(f"a value is a text in SQL or a Spark Column, not a {type(expression).__name__}")
    with asked(f"this is no value of a row: {expression}"):
        try:
            _judge(rows, value.isNull())
        except AnalysisException as error:
            if error.getCondition() != _RANDOM:
                raise
    return value


def _judge(rows: DataFrame, condition: Column) -> None:
    """Have Spark analyse the condition."""
    nothing = rows.sparkSession.range(0).select(F.lit(1).alias(unused("judge", rows.columns)))
    _ = rows.join(nothing, condition).schema


def reason(error: PySparkException) -> str:
    """What Spark says, without the plan that it prints behind it."""
    return str(error).strip().split("\n")[0].split(" SQLSTATE")[0]
