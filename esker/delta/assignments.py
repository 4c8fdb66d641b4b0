"""Which columns may a caller set, and how are they named?"""

from collections.abc import Iterator, Mapping, Sequence

from esker.core.assignments import overlaps, resolved
from esker.core.change import Expression
from esker.core.column_paths import parse_path, spelled
from esker.core.predicate import Path
from esker.delta.column_metadata import numbering
from esker.delta.protocol import is_supported
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest


def assignments(snapshot: Snapshot, values: Mapping[str, Expression]) -> Mapping[Path, Expression]:
    """The values by the columns and struct members that they are for, spelled as the schema has them.

    Raises `InvalidRequest`, with every problem, where a column cannot be set.
    """
    paths = {name: resolved(snapshot.schema, parse_path(name)) for name in values}
    problems = [] if values else ["there is nothing to set"]
    problems += [f"there is no column {name}" for name, path in paths.items() if path is None]
    known = [path for path in paths.values() if path is not None]
    problems += [*overlaps(known), *_numbered(known, snapshot)]
    if problems:
        raise InvalidRequest("these columns cannot be set", where=snapshot.location, problems=problems)
    return {path: values[name] for name, path in paths.items() if path is not None}


def _numbered(paths: Sequence[Path], snapshot: Snapshot) -> Iterator[str]:
    for path in paths:
        field = snapshot.schema.find(path[0])
        if field is not None and numbering(field) is not None and is_supported(snapshot.protocol, "identityColumns"):
            yield f"{spelled(path)} is an identity column, whose numbers stay as they were given out"
