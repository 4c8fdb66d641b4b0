"""How does Delta spell a schema?  (PROTOCOL.md, "Schema Serialization Format")

A type name that is not known here stays in the schema under its own name: a table can be described even where it cannot
be read. `problems` finds what keeps it from being read.
"""

import re
from collections.abc import Iterator, Mapping

import orjson

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Fixed, Geography, Geometry, Json, Map, Primitive, Struct, Type
from esker.errors import InvalidTable, Unsupported

PRIMITIVES: Mapping[str, Primitive] = {
    p.name: p
    for p in (
        t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.DATE, t.TIMESTAMP,
        t.TIMESTAMP_NTZ, t.VARIANT, t.VOID,
    )
}  # fmt: skip
_DEEPEST = 100  # levels of nesting: what is walked by recursion must end before the stack does
_TOO_DEEP = f"a schema of more than {_DEEPEST} levels"
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(-?\d+)\s*\)")


def parse_schema(text: str, where: str) -> Struct:
    """The schema in a `schemaString`."""
    try:
        root = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidTable(f"schemaString is not JSON: {error}", where=where) from error
    try:
        parsed = _type(root, where)
    except RecursionError as error:
        raise Unsupported(_TOO_DEEP, where=where) from error
    if t.depth(parsed) > _DEEPEST:
        raise Unsupported(_TOO_DEEP, where=where)
    if not isinstance(parsed, Struct):
        raise InvalidTable(f"schemaString is of type {parsed}, not struct", where=where)
    return parsed


def schema_json(schema: Struct) -> Json:
    """The JSON form of a schema, as a `schemaString` has it."""
    return _json(schema)


def problems(schema: Struct, path: str = "") -> Iterator[str]:
    """What keeps a reader from making sense of the schema."""
    seen: dict[str, str] = {}
    for member in schema:
        here = f"{path}.{member.name}" if path else member.name
        # "Column names must be unique ignoring case"
        if (other := seen.get(member.name.lower())) is not None:
            yield f"the columns {other} and {member.name} differ in case alone" if other != member.name else (
                f"the column {here} is there twice"
            )
        seen.setdefault(member.name.lower(), member.name)
        yield from _type_problems(member.type, here)


def _type_problems(kind: Type, here: str) -> Iterator[str]:
    match kind:
        case Struct():
            yield from problems(kind, here)
        case Array():
            yield from _type_problems(kind.element, f"{here}.element")
        case Map():
            yield from _type_problems(kind.key, f"{here}.key")
            yield from _type_problems(kind.value, f"{here}.value")
        case Primitive() if kind.name not in PRIMITIVES:
            yield f"the column {here} has the unknown type {kind.name}"
        case Fixed() | Geometry() | Geography():
            yield f"the column {here} has the unknown type {kind}"
        case Decimal() if not (1 <= kind.precision <= 38 and 0 <= kind.scale <= kind.precision):
            yield f"the column {here} has the impossible type {kind}"


def _type(node: Json, where: str) -> Type:
    match node:
        case str():
            return _primitive(node)
        case {"type": "struct", "fields": list(fields)}:
            return Struct(tuple(_field(f, where) for f in fields))
        case {"type": "array", "elementType": element, **rest}:
            return Array(_type(element, where), bool(rest.get("containsNull", True)))
        case {"type": "map", "keyType": key, "valueType": value, **rest}:
            return Map(_type(key, where), _type(value, where), bool(rest.get("valueContainsNull", True)))
        case {"type": "udt", "sqlType": storage}:
            return _type(storage, where)  # Spark's user-defined types are stored as what they are made of
        case {"type": str(name)} if name not in ("struct", "array", "map"):
            return _primitive(name)  # the specification's own example of a variant element
    raise InvalidTable(f"schemaString has {node!r:.80} where a type should be", where=where)


def _primitive(name: str) -> Type:
    if name in PRIMITIVES:
        return PRIMITIVES[name]
    if name == "null":
        return t.VOID
    if name == "decimal":
        return Decimal(10, 0)
    if match := _DECIMAL.fullmatch(name):
        return Decimal(int(match[1]), int(match[2]))
    return Primitive(name)


def _field(node: Json, where: str) -> Field:
    match node:
        case {"name": str(name), "type": kind, **rest}:
            metadata = rest.get("metadata") or {}
            if not isinstance(metadata, dict):
                raise InvalidTable(f"the metadata of column {name} is not an object", where=where)
            column_id = metadata.get("delta.columnMapping.id")
            return Field(
                name,
                _type(kind, where),
                bool(rest.get("nullable", True)),
                column_id if isinstance(column_id, int) else None,
                metadata,
            )
    raise InvalidTable(f"schemaString has {node!r:.80} where a field should be", where=where)


def _json(kind: Type) -> Json:
    match kind:
        case Struct():
            return {
                "type": "struct",
                "fields": [
                    {"name": f.name, "type": _json(f.type), "nullable": f.nullable, "metadata": dict(f.metadata)}
                    for f in kind
                ],
            }
        case Array():
            return {"type": "array", "elementType": _json(kind.element), "containsNull": kind.contains_null}
        case Map():
            return {
                "type": "map",
                "keyType": _json(kind.key),
                "valueType": _json(kind.value),
                "valueContainsNull": kind.value_contains_null,
            }
    return str(kind)
