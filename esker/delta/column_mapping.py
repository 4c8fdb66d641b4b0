"""Under which names and ids do the files keep the columns?  (PROTOCOL.md, "Column Mapping")"""

from collections.abc import Iterator, Mapping
from enum import Enum

from esker.core.scan import Resolution
from esker.core.types import Array, Field, Map, Struct, Type, structs
from esker.errors import InvalidTable

MODE = "delta.columnMapping.mode"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
ID = "delta.columnMapping.id"


class Mode(Enum):
    """How columns are found in files: by their visible names, by physical ones, or by ids."""
    NONE = "none"
    NAME = "name"
    ID = "id"

    @property
    def resolution(self) -> Resolution:
        return Resolution.ID if self is Mode.ID else Resolution.NAME


def mode(configuration: Mapping[str, str], honoured: bool, where: str) -> Mode:
    """The mode in force. "The table property should only be honored if the table's protocol [...] support[s]" it."""
    text = configuration.get(MODE, "none")
    if not honoured:
        return Mode.NONE
    try:
        return Mode(text.lower())
    except ValueError:
        raise InvalidTable(f"{MODE} is {text!r}, not none, name or id", where=where) from None


def physical(field: Field, mapping: Mode) -> Field:
    """The field as the files have it: physical names at every level, ids where they are known."""
    return Field(physical_name(field, mapping), _physical_type(field.type, mapping), True, field.id, field.metadata)


def physical_name(field: Field, mapping: Mode) -> str:
    """The name that files, partition values and statistics have for the column."""
    if mapping is Mode.NONE:
        return field.name
    name = field.metadata.get(PHYSICAL_NAME)
    return name if isinstance(name, str) else field.name


def physical_path(schema: Struct, path: tuple[str, ...], mapping: Mode) -> tuple[str, ...]:
    """The path of a column, by visible names, as statistics and partition values spell it."""
    names: list[str] = []
    members: Type = schema
    for name in path:
        found = members.find(name) if isinstance(members, Struct) else None
        if found is None:
            raise KeyError(path)
        names.append(physical_name(found, mapping))
        members = found.type
    return tuple(names)


def problems(schema: Struct, mapping: Mode, path: str = "") -> Iterator[str]:
    """Fields without the names or ids that the mode needs, and physical names used twice."""
    if mapping is Mode.NONE:
        return
    seen: dict[str, str] = {}
    for field in schema:
        here = f"{path}.{field.name}" if path else field.name
        if not isinstance(field.metadata.get(PHYSICAL_NAME), str):
            yield f"the column {here} has no {PHYSICAL_NAME}"
        if mapping is Mode.ID and not isinstance(field.metadata.get(ID), int):
            yield f"the column {here} has no {ID}"
        name = physical_name(field, mapping)
        if (other := seen.setdefault(name, here)) != here:
            yield f"the columns {other} and {here} have the same physical name {name}"
        for child in structs(field.type):
            yield from problems(child, mapping, here)


def _physical_type(kind: Type, mapping: Mode) -> Type:
    match kind:
        case Struct():
            return Struct(tuple(physical(f, mapping) for f in kind))
        case Array():
            return Array(_physical_type(kind.element, mapping))
        case Map():
            return Map(_physical_type(kind.key, mapping), _physical_type(kind.value, mapping))
    return kind
