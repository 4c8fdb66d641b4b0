"""How does Iceberg spell a schema?  (spec, "Schemas and Data Types", "Appendix C: JSON serialization", "Default values")

A field's comment and its two defaults are kept in its `metadata`, the defaults as their JSON. A type name that is not known here
stays in the schema under its own name: a table can be described even where it cannot be read. `problems` finds what keeps it
from being read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Fixed, Geography, Geometry, Json, Map, Primitive, Struct, Type
from esker.errors import InvalidTable, Unsupported

COMMENT = "comment"
INITIAL_DEFAULT = "initial-default"
WRITE_DEFAULT = "write-default"
_KEPT = {"doc": COMMENT, INITIAL_DEFAULT: INITIAL_DEFAULT, WRITE_DEFAULT: WRITE_DEFAULT}
LAST_COLUMN_ID = 2147483447
"""The last id that a column may have: "tables must not use field ids greater than 2147483447"."""

PRIMITIVES: Mapping[str, Primitive] = {
    "boolean": t.BOOLEAN, "int": t.INTEGER, "long": t.LONG, "float": t.FLOAT, "double": t.DOUBLE, "date": t.DATE,
    "time": t.TIME, "timestamp": t.TIMESTAMP_NTZ, "timestamptz": t.TIMESTAMP, "timestamp_ns": t.TIMESTAMP_NTZ_NS,
    "timestamptz_ns": t.TIMESTAMP_NS, "string": t.STRING, "uuid": t.UUID, "binary": t.BINARY, "unknown": t.VOID,
    "variant": t.VARIANT,
}  # fmt: skip
_NAMES = {kind: name for name, kind in PRIMITIVES.items()}


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table under one of its schema ids."""

    struct: Struct
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    def by_id(self) -> Mapping[int, tuple[tuple[str, ...], Field]]:
        """Every field by its id, with its path; elements, keys and values are fields too."""
        return {field.id: (path, field) for path, field in all_fields(self.struct) if field.id is not None}


def parse_schema(node: Json, where: str) -> Schema:
    """The schema in a JSON object; one without a schema id has the id 0."""
    try:
        struct = _type(node, where)
    except RecursionError as error:
        raise Unsupported(_TOO_DEEP, where=where) from error
    if not isinstance(struct, Struct) or not isinstance(node, dict):
        raise InvalidTable(f"a schema is of type {struct}, not struct", where=where)
    if t.depth(struct) > _DEEPEST:
        raise Unsupported(_TOO_DEEP, where=where)
    schema_id, identifiers = node.get("schema-id", 0), node.get("identifier-field-ids") or []
    if not _is_int(schema_id) or not isinstance(identifiers, list) or not all(_is_int(i) for i in identifiers):
        raise InvalidTable("a schema has ids that are no whole numbers", where=where)
    return Schema(struct, _int(schema_id), tuple(_int(i) for i in identifiers))


def parse_type(node: Json, where: str) -> Type:
    """The type that a JSON value says."""
    return _type(node, where)


def schema_json(schema: Schema) -> dict[str, Json]:
    """The JSON object of a schema, as table metadata has it."""
    told: dict[str, Json] = {"type": "struct", "schema-id": schema.schema_id}
    if schema.identifier_field_ids:
        told["identifier-field-ids"] = list(schema.identifier_field_ids)
    return told | {"fields": [_field_json(f) for f in schema.struct]}


def type_json(kind: Type) -> Json:
    """The JSON value that says a type; `Unsupported` where Iceberg has no such type."""
    match kind:
        case Struct():
            return {"type": "struct", "fields": [_field_json(f) for f in kind]}
        case Array():
            return {
                "type": "list",
                "element-id": kind.element_id,
                "element": type_json(kind.element),
                "element-required": not kind.contains_null,
            }
        case Map():
            return {
                "type": "map",
                "key-id": kind.key_id,
                "key": type_json(kind.key),
                "value-id": kind.value_id,
                "value": type_json(kind.value),
                "value-required": not kind.value_contains_null,
            }
        case Decimal():
            return f"decimal({kind.precision}, {kind.scale})"
        case Fixed() | Geometry() | Geography():
            return str(kind)
        case Primitive() if kind in _NAMES:
            return _NAMES[kind]
    raise Unsupported(f"Iceberg has no type {kind}")


def minimum_version(kind: Type) -> int:
    """The first format version that has this type and everything in it."""
    match kind:
        case Struct():
            return max((minimum_version(f.type) for f in kind), default=1)
        case Array():
            return minimum_version(kind.element)
        case Map():
            return max(minimum_version(kind.key), minimum_version(kind.value))
        case Geometry() | Geography() | t.TIMESTAMP_NS | t.TIMESTAMP_NTZ_NS | t.VARIANT | t.VOID:
            return 3
    return 1


def all_fields(struct: Struct, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Every field at any depth with its path; elements, keys and values are fields of those names."""
    for field in struct:
        path = (*above, field.name)
        yield path, field
        yield from _inner_fields(field.type, path)


def without_ids(field: Field) -> Iterator[str]:
    """The fields at and below this one that have no id, by their names."""
    if field.id is None:
        yield field.name
    yield from (".".join(path) for path, inner in _inner_fields(field.type, (field.name,)) if inner.id is None)


def unknown_types(schema: Schema) -> Iterator[str]:
    """The columns of types that are not known here."""
    for path, field in all_fields(schema.struct):
        if isinstance(field.type, Primitive) and field.type not in _NAMES:
            yield f"the column {'.'.join(path)} has the unknown type {field.type}"


def problems(schema: Schema) -> Iterator[str]:
    """Which rules the schema breaks."""
    seen: dict[int, str] = {}
    for path, field in all_fields(schema.struct):
        here = ".".join(path)
        if field.id is None:
            yield f"the column {here} has no id"
        elif (other := seen.setdefault(field.id, here)) != here:
            yield f"the columns {other} and {here} have the same id {field.id}"
        match field.type:
            case Decimal() as kind if not (1 <= kind.precision <= 38 and 0 <= kind.scale <= kind.precision):
                yield f"the column {here} has the impossible type {kind}"
    yield from _repeated_names(schema.struct, "")


_DEEPEST = 100  # levels of nesting: what is walked by recursion must end before the stack does
_TOO_DEEP = f"a schema of more than {_DEEPEST} levels"
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d{1,9})\s*\]")
_GEOMETRY = re.compile(r"geometry(?:\(\s*([^,()]+?)\s*\))?")
_GEOGRAPHY = re.compile(r"geography(?:\(\s*([^,()]+?)\s*(?:,\s*([a-z]+)\s*)?\))?")


def _type(node: Json, where: str) -> Type:
    match node:
        case str():
            return _primitive(node)
        case {"type": "struct", "fields": list(fields)}:
            return Struct(tuple(_field(f, where) for f in fields))
        case {"type": "list", "element-id": int(element_id), "element": element, **rest}:
            return Array(_type(element, where), not rest.get("element-required", False), element_id)
        case {"type": "map", "key-id": int(key_id), "key": key, "value-id": int(value_id), "value": value, **rest}:
            is_optional = not rest.get("value-required", False)
            return Map(_type(key, where), _type(value, where), is_optional, key_id, value_id)
    raise InvalidTable(f"a schema has {node!r:.80} where a type should be", where=where)


def _primitive(text: str) -> Type:
    if text in PRIMITIVES:
        return PRIMITIVES[text]
    if match := _DECIMAL.fullmatch(text):
        return Decimal(int(match[1]), int(match[2]))
    if match := _FIXED.fullmatch(text):
        return Fixed(int(match[1]))
    if match := _GEOMETRY.fullmatch(text):
        return Geometry(match[1]) if match[1] else Geometry()
    if match := _GEOGRAPHY.fullmatch(text):
        return Geography(match[1] or Geography().crs, match[2] or Geography().algorithm)
    return Primitive(text)


def _field(node: Json, where: str) -> Field:
    match node:
        case {"id": int(field_id), "name": str(name), "type": kind} if isinstance(node, dict):
            kept = {ours: node[key] for key, ours in _KEPT.items() if node.get(key) is not None}
            return Field(name, _type(kind, where), not node.get("required", False), field_id, kept)
    raise InvalidTable(f"a schema has {node!r:.80} where a field should be", where=where)


def _is_int(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _int(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _field_json(field: Field) -> Json:
    told: dict[str, Json] = {
        "id": field.id,
        "name": field.name,
        "required": not field.nullable,
        "type": type_json(field.type),
    }
    return told | {key: field.metadata[ours] for key, ours in _KEPT.items() if ours in field.metadata}


def _inner_fields(kind: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Field]]:
    match kind:
        case Struct():
            yield from all_fields(kind, path)
        case Array():
            inner = Field("element", kind.element, kind.contains_null, kind.element_id)
            yield from all_fields(Struct((inner,)), path)
        case Map():
            key = Field("key", kind.key, False, kind.key_id)
            value = Field("value", kind.value, kind.value_contains_null, kind.value_id)
            yield from all_fields(Struct((key, value)), path)


def _repeated_names(kind: Type, above: str) -> Iterator[str]:
    match kind:
        case Struct():
            seen: set[str] = set()
            for field in kind:
                here = f"{above}{field.name}"
                if field.name in seen:
                    yield f"the column {here} is there twice"
                seen.add(field.name)
                yield from _repeated_names(field.type, f"{here}.")
        case Array():
            yield from _repeated_names(kind.element, f"{above}element.")
        case Map():
            yield from _repeated_names(kind.key, f"{above}key.")
            yield from _repeated_names(kind.value, f"{above}value.")
