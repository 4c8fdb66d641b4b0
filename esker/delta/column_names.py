"""How may columns be called?  (PROTOCOL.md, "Column Mapping"; Parquet's own names without it)"""

from collections.abc import Iterator

from esker.core.column_paths import spelled
from esker.core.nesting import types
from esker.core.predicate import Path
from esker.core.types import Struct
from esker.delta.column_mapping import Mode

FORBIDDEN = " ,;{}()\n\t="
"""What a name may hold only where column mapping keeps it out of the files."""


def problems(schema: Struct, mode: Mode) -> Iterator[str]:
    """Names that are empty, twice in one place, or not to be written to files as they are."""
    for path, kind in types(schema):
        if isinstance(kind, Struct):
            yield from _member_problems(kind, path, mode)


def _member_problems(struct: Struct, path: Path, mode: Mode) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name in struct.names:
        here = spelled((*path, name))
        if not name:
            yield f"a column{f' of {spelled(path)}' if path else ''} has an empty name"
        elif name.lower() in seen:
            # "Column names must be unique ignoring case"
            yield f"the column {here} is there twice, also as {seen[name.lower()]}"
        elif mode is Mode.NONE and (found := sorted(set(name) & set(FORBIDDEN))):
            yield f"the name {here} holds {', '.join(map(repr, found))}, which needs column mapping"
        seen.setdefault(name.lower(), name)
