"""Which type does a text name?

Spark SQL's words for types. Texts of a declared length, intervals and collations are not among them.
"""

from collections.abc import Mapping
from dataclasses import replace

from esker.core import types as t
from esker.core.sql_tokens import Cursor, TokenKind
from esker.core.types import Array, Decimal, Field, Json, Map, Primitive, Struct, Type

_TYPES: Mapping[str, Primitive] = {
    "BOOLEAN": t.BOOLEAN, "TINYINT": t.BYTE, "BYTE": t.BYTE, "SMALLINT": t.SHORT, "SHORT": t.SHORT, "INT": t.INTEGER,
    "INTEGER": t.INTEGER, "BIGINT": t.LONG, "LONG": t.LONG, "FLOAT": t.FLOAT, "REAL": t.FLOAT, "DOUBLE": t.DOUBLE,
    "STRING": t.STRING, "BINARY": t.BINARY, "DATE": t.DATE, "TIMESTAMP": t.TIMESTAMP, "TIMESTAMP_LTZ": t.TIMESTAMP,
    "TIMESTAMP_NTZ": t.TIMESTAMP_NTZ, "VARIANT": t.VARIANT, "VOID": t.VOID,
}  # fmt: skip
_WIDEST = 38


def read_type(cursor: Cursor) -> Type:
    """Move past a type. Raises `InvalidRequest`, with the position, where none follows."""
    start = cursor.next()
    match start.text.upper() if start.kind is TokenKind.WORD else "":
        case word if word in _TYPES:
            if cursor.token.says("COLLATE"):
                raise cursor.refused("collations are not supported: another word is expected")
            return _TYPES[word]
        case "DECIMAL" | "DEC" | "NUMERIC":
            return _decimal(cursor)
        case "ARRAY":
            cursor.expect("<")
            array = Array(read_type(cursor))
            cursor.expect(">")
            return array
        case "MAP":
            cursor.expect("<")
            key = read_type(cursor)
            cursor.expect(",")
            value = read_type(cursor)
            cursor.expect(">")
            return Map(key, value)
        case "STRUCT":
            return _struct(cursor)
        case "CHAR" | "CHARACTER" | "VARCHAR":
            raise cursor.refused("a type is expected, and texts have no declared length here: STRING", start)
    raise cursor.refused("a type is expected", start)


def read_field_option(cursor: Cursor, field: Field) -> tuple[str, Field] | None:
    """Move past NOT NULL or a COMMENT, which columns and members of structs can both have; None where neither follows."""
    if cursor.takes("NOT", "NULL"):
        return "NOT NULL", replace(field, nullable=False)
    if cursor.takes("COMMENT"):
        metadata: dict[str, Json] = {**field.metadata, "comment": cursor.string()}
        return "COMMENT", replace(field, metadata=metadata)
    return None


def _decimal(cursor: Cursor) -> Decimal:
    at = cursor.token
    precision, scale = 10, 0
    if cursor.takes("("):
        precision = cursor.integer()
        scale = cursor.integer() if cursor.takes(",") else 0
        cursor.expect(")")
    if not (1 <= precision <= _WIDEST and 0 <= scale <= precision):
        raise cursor.refused(f"1 to {_WIDEST} digits are expected, and no more of them behind the point", at)
    return Decimal(precision, scale)


def _struct(cursor: Cursor) -> Struct:
    cursor.expect("<")
    fields: list[Field] = []
    while not cursor.takes(">"):
        if fields:
            cursor.expect(",")
        fields.append(_member(cursor))
    return Struct(tuple(fields))


def _member(cursor: Cursor) -> Field:
    name = cursor.name()
    cursor.takes(":")
    field = Field(name, read_type(cursor))
    while (declared := read_field_option(cursor, field)) is not None:
        field = declared[1]
    return field
