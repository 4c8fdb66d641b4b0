"""How does Spark leave out rows that equal deleted ones?  By a join that keeps what has no match, null being equal to null."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from pyspark.sql import Column, DataFrame

from esker.arrow.equality import key_names, wider
from esker.core.predicate import Path
from esker.core.scan import SCOPE, SEQUENCE, EqualityDeletes, FromConstant, ScanColumn, ScanPlan
from esker.core.types import LONG, Field
from esker.spark.layout import named

_AGE, _PLACE = "__row_sequence", "__row_scope"


def without_equal_rows(plan: ScanPlan, rows: Callable[[ScanPlan], DataFrame]) -> DataFrame:
    """The plan's rows that equal no deleted row which concerns their file. `rows` reads a plan without such deletes."""
    numbers = tuple(
        ScanColumn(Field(name, LONG), FromConstant(own)) for name, own in ((_AGE, SEQUENCE), (_PLACE, SCOPE))
    )
    whole = wider(plan)
    found = rows(replace(whole, columns=(*whole.columns, *numbers)))
    keys = key_names(plan)
    for number, deletes in enumerate(plan.equality):
        found = _without(found, deletes, rows(deletes.rows), number, keys)
    return found.select(*(named(name) for name in plan.schema.names))


def _without(
    found: DataFrame, deletes: EqualityDeletes, dead: DataFrame, number: int, keys: Mapping[str, str]
) -> DataFrame:
    names = {name: f"__dead_{number}_{at}" for at, name in enumerate(dead.columns)}
    renamed = dead.select(*(named(name).alias(ours) for name, ours in names.items()))
    scope = named(names[SCOPE])
    is_concerned = (named(names[SEQUENCE]) > named(_AGE)) & (scope.isNull() | (scope == named(_PLACE)))
    equal = [_at((keys[key[0]], *key[1:])).eqNullSafe(_at((names[key[0]], *key[1:]))) for key in deletes.keys]
    return found.join(renamed, reduce(Column.__and__, equal) & is_concerned, "left_anti")


def _at(path: Path) -> Column:
    found = named(path[0])
    for member in path[1:]:
        found = found.getField(member)
    return found
