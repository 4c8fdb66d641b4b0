"""Which columns may a caller set, and how are they named?"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from esker.core.change import Expression
from esker.core.column_paths import parse_path, spelled
from esker.core.predicate import Path
from esker.core.row_target import RowTarget
from esker.core.types import Struct
from esker.errors import InvalidRequest


def assignments(target: RowTarget, values: Mapping[str, Expression]) -> Mapping[Path, Expression]:
    """The values by the columns and struct members that they are for, spelled as the schema has them.

    Raises `InvalidRequest`, with every problem, where a column cannot be set.
    """
    paths = {name: resolved(target.schema, parse_path(name)) for name in values}
    problems = [] if values else ["there is nothing to set"]
    problems += [f"there is no column {name}" for name, path in paths.items() if path is None]
    known = [path for path in paths.values() if path is not None]
    problems += [*overlaps(known), *(problem for path in known for problem in target.unsettable(path))]
    if problems:
        raise InvalidRequest("these columns cannot be set", where=target.location, problems=problems)
    return {path: values[name] for name, path in paths.items() if path is not None}


def resolved(schema: Struct, path: Path) -> Path | None:
    """The path as the schema spells it, found ignoring case; None where it leads nowhere, or beyond structs."""
    found = schema.find(path[0])
    if found is None or len(path) == 1:
        return None if found is None else (found.name,)
    rest = resolved(found.type, path[1:]) if isinstance(found.type, Struct) else None
    return None if rest is None else (found.name, *rest)


def overlaps(paths: Sequence[Path]) -> Iterator[str]:
    """What would be set twice."""
    for one, other in combinations(sorted(paths, key=len), 2):
        if other[: len(one)] == one:
            yield f"{spelled(other)} would be set twice"


def shared(table: Struct, source: Struct) -> Iterator[Path]:
    """The columns that both have. Of a struct that has other members in the source, the shared members."""
    for field in table:
        brought = source.find(field.name)
        if brought is None:
            continue
        if isinstance(field.type, Struct) and isinstance(brought.type, Struct) and not _covers(brought.type, field.type):
            yield from ((field.name, *path) for path in shared(field.type, brought.type))
        else:
            yield (field.name,)


def _covers(source: Struct, table: Struct) -> bool:
    """Whether a struct of the source has every member of the table's, at every depth."""
    for field in table:
        brought = source.find(field.name)
        if brought is None:
            return False
        if isinstance(field.type, Struct) and isinstance(brought.type, Struct) and not _covers(brought.type, field.type):
            return False
    return True
