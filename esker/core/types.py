"""Which types can a column have?

The union of what Delta, Iceberg and Lance can say. Each format's codec maps its own spelling to these values and refuses
what it cannot say; nothing here knows a format.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parameters."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number with `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Fixed:
    """Binary of exactly `length` bytes."""

    length: int

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True, slots=True)
class Geometry:
    """Shapes on a plane, as well-known binary, in the coordinates of a reference system."""

    crs: str = "OGC:CRS84"

    def __str__(self) -> str:
        return f"geometry({self.crs})"


@dataclass(frozen=True, slots=True)
class Geography:
    """Shapes on a globe, as well-known binary; `algorithm` says how the edges run."""

    crs: str = "OGC:CRS84"
    algorithm: str = "spherical"

    def __str__(self) -> str:
        return f"geography({self.crs}, {self.algorithm})"


@dataclass(frozen=True, slots=True)
class Array:
    """A list of elements of one type."""

    element: "Type"
    contains_null: bool = True
    element_id: int | None = None
    length: int | None = field(default=None, compare=False)
    """How many elements each list has, where that is known; formats that cannot say it have the same lists without it."""

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Keys, never null, and their values."""

    key: "Type"
    value: "Type"
    value_contains_null: bool = True
    key_id: int | None = None
    value_id: int | None = None

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A named column or struct member. `metadata` is what the format keeps about it, as JSON."""

    name: str
    type: "Type"
    nullable: bool = True
    id: int | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict, hash=False)

    def renamed(self, name: str) -> "Field":
        return replace(self, name=name)


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields in order. A table's schema is one."""

    fields: tuple[Field, ...] = ()

    def __str__(self) -> str:
        return "struct<" + ",".join(f"{f.name}:{f.type}" for f in self.fields) + ">"

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    def find(self, name: str) -> Field | None:
        """The field of this name: spelled exactly so if there is one, else ignoring case."""
        same = [f for f in self.fields if f.name.lower() == name.lower()]
        exact = [f for f in same if f.name == name]
        return exact[0] if exact else same[0] if same else None

    def at(self, path: tuple[str, ...]) -> Field | None:
        """The field at the end of a path of struct fields."""
        found = self.find(path[0])
        for name in path[1:]:
            if found is None or not isinstance(found.type, Struct):
                return None
            found = found.type.find(name)
        return found


Type: TypeAlias = Primitive | Decimal | Fixed | Geometry | Geography | Array | Map | Struct

BOOLEAN = Primitive("boolean")
BYTE = Primitive("byte")
SHORT = Primitive("short")
INTEGER = Primitive("integer")
LONG = Primitive("long")
FLOAT = Primitive("float")
DOUBLE = Primitive("double")
STRING = Primitive("string")
BINARY = Primitive("binary")
DATE = Primitive("date")
TIME = Primitive("time")
TIMESTAMP = Primitive("timestamp")  # an instant; microseconds since the epoch in UTC
TIMESTAMP_NTZ = Primitive("timestamp_ntz")  # a wall clock reading; microseconds
TIMESTAMP_NS = Primitive("timestamp_ns")
TIMESTAMP_NTZ_NS = Primitive("timestamp_ntz_ns")
UUID = Primitive("uuid")
VARIANT = Primitive("variant")
VOID = Primitive("void")  # only ever null
UINT8 = Primitive("uint8")
UINT16 = Primitive("uint16")
UINT32 = Primitive("uint32")
UINT64 = Primitive("uint64")
FLOAT16 = Primitive("float16")
DURATION = Primitive("duration")  # a length of time

INTEGRAL = (BYTE, SHORT, INTEGER, LONG)
FRACTIONAL = (FLOAT, DOUBLE)


def leaves(schema: Struct, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Every field that is not itself a struct, by its path. Arrays and maps are leaves: no path leads into them."""
    for member in schema:
        path = (*prefix, member.name)
        if isinstance(member.type, Struct):
            yield from leaves(member.type, path)
        else:
            yield path, member


def structs(kind: Type) -> Iterator[Struct]:
    """The outermost structs of a type: itself, or those of its elements, keys and values."""
    match kind:
        case Struct():
            yield kind
        case Array():
            yield from structs(kind.element)
        case Map():
            yield from structs(kind.key)
            yield from structs(kind.value)


def depth(kind: Type) -> int:
    """How many types are within one another."""
    match kind:
        case Struct():
            return 1 + max((depth(f.type) for f in kind), default=0)
        case Array():
            return 1 + depth(kind.element)
        case Map():
            return 1 + max(depth(kind.key), depth(kind.value))
    return 0


def any_type(root: Type, wanted: "Type") -> bool:
    """Whether `wanted` occurs anywhere in `root`."""
    match root:
        case Struct():
            return any(any_type(f.type, wanted) for f in root)
        case Array():
            return any_type(root.element, wanted)
        case Map():
            return any_type(root.key, wanted) or any_type(root.value, wanted)
    return root == wanted


def without_members(root: Type, unwanted: Type) -> Type:
    """The type without the struct members of an unwanted type. Elements, keys and values stay what they are."""
    match root:
        case Struct():
            kept = (f for f in root if f.type != unwanted)
            return Struct(tuple(replace(f, type=without_members(f.type, unwanted)) for f in kept))
        case Array():
            return replace(root, element=without_members(root.element, unwanted))
        case Map():
            return replace(root, key=without_members(root.key, unwanted), value=without_members(root.value, unwanted))
    return root


def relaxed(root: Type) -> Type:
    """The type with everything in it nullable: what a reader may count on whatever the files hold."""
    match root:
        case Struct():
            return Struct(tuple(replace(f, type=relaxed(f.type), nullable=True) for f in root))
        case Array():
            return Array(relaxed(root.element))
        case Map():
            return Map(relaxed(root.key), relaxed(root.value))
    return root
