"""How is the path of a column written as text?

As in SQL: names joined by dots, in backticks where a name is more than letters, digits and underscores. A path goes into
an array by `element` and into a map by `key` and `value`.
"""

import re
from collections.abc import Iterable

from esker.core.predicate import Path
from esker.errors import InvalidRequest

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<bare>[^`.,]*[^`.,\s]))\s*(?P<next>[.,]|$)", re.DOTALL)


def quoted(path: Iterable[str]) -> str:
    """The path for SQL, every name in backticks: whatever a name holds, it stays a name."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


def spelled(path: Iterable[str]) -> str:
    """The path for people and properties, with backticks where they are needed."""
    return ".".join(name if _PLAIN.fullmatch(name) else quoted((name,)) for name in path)


def parse_path(text: str) -> Path:
    """The path that a text spells. Raises `InvalidRequest` where it spells none, or more than one."""
    found = parse_paths(text)
    if len(found) != 1:
        raise InvalidRequest(f"{text!r} is not one column; a name with a comma or a dot goes in backticks")
    return found[0]


def parse_paths(text: str) -> tuple[Path, ...]:
    """The paths that a text spells, with commas between them; none for an empty text."""
    paths: list[Path] = []
    names: list[str] = []
    position = 0
    while text.strip():
        part = _PART.match(text, position)
        if part is None:
            raise InvalidRequest(f"{text!r} is not a list of columns; see position {position + 1}")
        names.append(part["quoted"].replace("``", "`") if part["quoted"] else part["bare"])
        position = part.end()
        if part["next"] != ".":
            paths.append(tuple(names))
            names = []
        if not part["next"]:
            break
    return tuple(paths)
