"""Which columns does an expression use?"""

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from esker.core.predicate import Path

_SPARK = sqlglot.Dialect.get_or_raise("spark")


def references(expression: str) -> frozenset[Path] | None:
    """The paths of the columns that a Spark SQL expression names, as far as they lead; None where it cannot be read."""
    try:
        tree = sqlglot.parse_one(expression, dialect=_SPARK)
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Condition) or isinstance(tree, exp.Query | exp.Alias | exp.Star):
        return None
    return frozenset(tuple(part.name for part in column.parts) for column in tree.find_all(exp.Column))


def may_use(expression: str, path: Path) -> bool:
    """Whether the expression uses the column, something within it or something that holds it, or cannot be read."""
    found = references(expression)
    return found is None or any(_overlap(used, path) for used in found)


def _overlap(one: Path, other: Path) -> bool:
    return all(a.lower() == b.lower() for a, b in zip(one, other, strict=False))
