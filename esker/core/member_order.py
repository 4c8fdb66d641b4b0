"""Where among the members of a struct does one come?"""

from typing import assert_never

from esker.core.schema_changes import After, First, Last, Position
from esker.core.types import Field, Struct


def placed(struct: Struct, field: Field, position: Position) -> Struct:
    """The struct with one more member."""
    others = struct.fields
    match position:
        case First():
            index = 0
        case After(name):
            found = struct.find(name)
            index = next(i for i, f in enumerate(others, 1) if f is found)
        case Last():
            index = len(others)
        case _:
            assert_never(position)
    return Struct((*others[:index], field, *others[index:]))


def without(struct: Struct, name: str) -> Struct:
    """The struct without a member."""
    gone = struct.find(name)
    return Struct(tuple(f for f in struct if f is not gone))


def moved(struct: Struct, name: str, position: Position) -> Struct:
    """The struct with a member in another place."""
    moving = struct.find(name)
    if moving is None or (isinstance(position, After) and struct.find(position.name) is moving):
        return struct
    return placed(without(struct, name), moving, position)
