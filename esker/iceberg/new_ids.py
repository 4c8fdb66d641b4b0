"""Which ids do new columns get?  (spec, "Schemas and Data Types", "Schema Evolution": ids are never used again)

A struct's members get theirs before what lies within them, as the reference implementation does it.
"""

from collections.abc import Iterator
from dataclasses import replace

from esker.core import types as t
from esker.core.types import Array, Field, Map, Struct, Type
from esker.errors import Unsupported

_NARROW = (t.BYTE, t.SHORT)


def with_ids(kind: Type, ids: Iterator[int]) -> Type:
    """The type with a fresh id for everything in it, in the types that Iceberg has."""
    match kind:
        case Struct():
            numbered = [replace(field, id=next(ids)) for field in kind]
            return Struct(tuple(replace(field, type=with_ids(field.type, ids)) for field in numbered))
        case Array():
            element = next(ids)
            return Array(with_ids(kind.element, ids), kind.contains_null, element)
        case Map():
            key, value = next(ids), next(ids)
            return Map(with_ids(kind.key, ids), with_ids(kind.value, ids), kind.value_contains_null, key, value)
    return t.INTEGER if kind in _NARROW else kind


def new_struct(columns: Struct, ids: Iterator[int]) -> Struct:
    """The columns of a table, with ids."""
    made = with_ids(columns, ids)
    if not isinstance(made, Struct):
        raise Unsupported(f"a table of the type {made}")
    return made


def new_field(field: Field, ids: Iterator[int]) -> Field:
    """A column with ids, its own first."""
    numbered = replace(field, id=next(ids))
    return replace(numbered, type=with_ids(field.type, ids))
