"""What else in a table depends on a column?"""

from collections.abc import Iterable, Iterator

from esker.core.column_paths import spelled
from esker.core.nesting import walk
from esker.core.predicate import Path
from esker.core.references import may_use
from esker.delta.actions import Metadata
from esker.delta.column_metadata import generation_expression, invariant
from esker.delta.constraints import constraints


def expressions_on(metadata: Metadata, path: Path) -> Iterator[str]:
    """The constraints, and the generated columns and invariants of other columns, whose expressions use the column."""
    for name, condition in constraints(metadata.configuration).items():
        if may_use(condition, path):
            yield f"the constraint {name} ({condition})"
    for other, field in walk(metadata.schema):
        if is_within(other, path):
            continue
        expression = generation_expression(field)
        if expression is not None and may_use(expression, path):
            yield f"the generated column {spelled(other)} ({expression})"
        condition_of_other = invariant(field)
        if condition_of_other is not None and may_use(condition_of_other, path):
            yield f"the invariant of {spelled(other)} ({condition_of_other})"


def roles(metadata: Metadata, path: Path, clustering: Iterable[Path]) -> Iterator[str]:
    """What the layout of the table uses the column for."""
    if any(is_within((name,), path) for name in metadata.partition_columns):
        yield "a partition column"
    if any(is_within(column, path) for column in clustering):
        yield "a clustering column"


def is_within(path: Path, outer: Path) -> bool:
    """Whether a path is the other one, or goes on from it; names are compared ignoring case."""
    return tuple(n.lower() for n in path[: len(outer)]) == tuple(n.lower() for n in outer)
