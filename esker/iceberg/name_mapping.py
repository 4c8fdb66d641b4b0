"""Which ids have the columns of a file that holds none?  (spec, "Column Projection", "Name Mapping Serialization")"""

from collections.abc import Iterator

import orjson

from esker.core.scan import MappedField
from esker.core.types import Array, Field, Json, Map, Struct, Type
from esker.errors import InvalidTable
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.schema import Schema

PROPERTY = "schema.name-mapping.default"


def mapped_ids(metadata: TableMetadata, schema: Schema) -> tuple[MappedField, ...]:
    """What the table says, or else the names that its columns have now.

    Some writers number the fields of the mapping in another order than those of the schema. Such a mapping says nothing.
    """
    text = metadata.properties.get(PROPERTY)
    told = None if text is None else parse_mapping(text, metadata.location)
    return told if told is not None and _fits(told, schema) else mapping_of(schema.struct)


def parse_mapping(text: str, where: str) -> tuple[MappedField, ...]:
    """The mapping in a table property."""
    try:
        node = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidTable(f"{PROPERTY} is not JSON: {error}", where=where) from error
    return _mapped(node, where)


def mapping_of(struct: Struct) -> tuple[MappedField, ...]:
    """The mapping in which each field has its own name."""
    return tuple(_named(field) for field in struct)


def _fits(mapped: tuple[MappedField, ...], schema: Schema) -> bool:
    """Whether fields that are in one another by the mapping are so in the schema."""
    above = dict(_parents(mapping_of(schema.struct), None))
    return all(above[i] == parent for i, parent in _parents(mapped, None) if i in above)


def _parents(mapped: tuple[MappedField, ...], above: int | None) -> Iterator[tuple[int, int | None]]:
    for field in mapped:
        if field.id is not None:
            yield field.id, above
        yield from _parents(field.fields, field.id)


def _mapped(node: Json, where: str) -> tuple[MappedField, ...]:
    if not isinstance(node, list):
        raise InvalidTable(f"{PROPERTY} has {node!r:.80} where a list of fields should be", where=where)
    return tuple(_mapped_field(item, where) for item in node)


def _mapped_field(node: Json, where: str) -> MappedField:
    match node:
        case {"names": list(names), **rest}:
            # "Fields that exist in imported files but not in the Iceberg schema may omit field-id"
            number = rest.get("field-id", rest.get("field_id"))
            inner = rest.get("fields")
            if number is None or isinstance(number, int):
                found = _mapped(inner, where) if isinstance(inner, list) else ()
                return MappedField(frozenset(str(n) for n in names), number, found)
    raise InvalidTable(f"{PROPERTY} has {node!r:.80} where a field should be", where=where)


def _named(field: Field) -> MappedField:
    return MappedField(frozenset((field.name,)), field.id, tuple(_inner(field.type)))


def _inner(kind: Type) -> Iterator[MappedField]:
    match kind:
        case Struct():
            yield from mapping_of(kind)
        case Array():
            yield _named(Field("element", kind.element, id=kind.element_id))
        case Map():
            yield _named(Field("key", kind.key, id=kind.key_id))
            yield _named(Field("value", kind.value, id=kind.value_id))
