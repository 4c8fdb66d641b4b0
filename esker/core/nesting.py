"""Where in a schema is a column, and how is it exchanged there?

A path names struct fields from the root on; it goes into an array by `element` and into a map by `key` and `value`.
Names are found ignoring case.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from esker.core.predicate import Path
from esker.core.types import Array, Field, Map, Struct, Type


def walk(root: Type, prefix: Path = ()) -> Iterator[tuple[Path, Field]]:
    """Every struct field at every depth by its path, parents first."""
    match root:
        case Struct():
            for member in root:
                path = (*prefix, member.name)
                yield path, member
                yield from walk(member.type, path)
        case Array():
            yield from walk(root.element, (*prefix, "element"))
        case Map():
            yield from walk(root.key, (*prefix, "key"))
            yield from walk(root.value, (*prefix, "value"))


def types(root: Type, prefix: Path = ()) -> Iterator[tuple[Path, Type]]:
    """The type and all that it is made of, by their paths."""
    yield prefix, root
    match root:
        case Struct():
            for member in root:
                yield from types(member.type, (*prefix, member.name))
        case Array():
            yield from types(root.element, (*prefix, "element"))
        case Map():
            yield from types(root.key, (*prefix, "key"))
            yield from types(root.value, (*prefix, "value"))


def each(root: Struct, change: Callable[[Field], Field]) -> Struct:
    """The schema with every field at every depth exchanged, parents first."""
    return Struct(tuple(_each_below(change(member), change) for member in root))


def resolved(root: Type, path: Path) -> Path | None:
    """The path as the schema spells it; None where it leads nowhere."""
    if not path:
        return ()
    found = _step(root, path[0])
    rest = resolved(found[1], path[1:]) if found else None
    return None if found is None or rest is None else (found[0], *rest)


def type_at(root: Type, path: Path) -> Type | None:
    """The type at the end of a path."""
    for name in path:
        found = _step(root, name)
        if found is None:
            return None
        root = found[1]
    return root


def field_at(root: Type, path: Path) -> Field | None:
    """The struct field at the end of a path; None where the path ends nowhere, or within an array or a map."""
    parent = type_at(root, path[:-1])
    return parent.find(path[-1]) if path and isinstance(parent, Struct) else None


def nearest_field(root: Type, path: Path) -> tuple[Path, Path]:
    """A path in two: to the last struct field that it names, and on from there through arrays and maps."""
    end = len(path)
    while end and field_at(root, path[:end]) is None:
        end -= 1
    return path[:end], path[end:]


def with_members(root: Struct, path: Path, change: Callable[[Struct], Struct]) -> Struct:
    """The schema with the fields of the struct at `path` exchanged. Raises `KeyError` where there is no struct."""
    if not path:
        return change(root)
    return with_type(root, path, lambda kind: change(_struct(kind, path)))


def with_field(root: Struct, path: Path, change: Callable[[Field], Field]) -> Struct:
    """The schema with the struct field at `path` exchanged. Raises `KeyError` where there is none."""
    if (old := field_at(root, path)) is None:
        raise KeyError(path)
    return with_members(
        root, path[:-1], lambda parent: Struct(tuple(change(f) if f is old else f for f in parent))
    )


def with_type(root: Struct, path: Path, change: Callable[[Type], Type]) -> Struct:
    """The schema with the type at a path, which is not empty, exchanged. Raises `KeyError` where it leads nowhere."""
    return _struct(_exchanged(root, path, change), ())


def _each_below(member: Field, change: Callable[[Field], Field]) -> Field:
    return replace(member, type=_each_in(member.type, change))


def _each_in(kind: Type, change: Callable[[Field], Field]) -> Type:
    match kind:
        case Struct():
            return each(kind, change)
        case Array():
            return replace(kind, element=_each_in(kind.element, change))
        case Map():
            return replace(kind, key=_each_in(kind.key, change), value=_each_in(kind.value, change))
    return kind


def _step(kind: Type, name: str) -> tuple[str, Type] | None:
    match kind, name.lower():
        case Struct(), _:
            found = kind.find(name)
            return None if found is None else (found.name, found.type)
        case Array(), "element":
            return "element", kind.element
        case Map(), "key":
            return "key", kind.key
        case Map(), "value":
            return "value", kind.value
    return None


def _exchanged(kind: Type, path: Path, change: Callable[[Type], Type]) -> Type:
    if not path:
        return change(kind)
    name, rest = path[0], path[1:]
    match kind, name.lower():
        case Struct(), _ if (old := kind.find(name)) is not None:
            changed = replace(old, type=_exchanged(old.type, rest, change))
            return Struct(tuple(changed if f is old else f for f in kind))
        case Array(), "element":
            return replace(kind, element=_exchanged(kind.element, rest, change))
        case Map(), "key":
            return replace(kind, key=_exchanged(kind.key, rest, change))
        case Map(), "value":
            return replace(kind, value=_exchanged(kind.value, rest, change))
    raise KeyError(path)


def _struct(kind: Type, path: Path) -> Struct:
    if not isinstance(kind, Struct):
        raise KeyError(path)
    return kind
