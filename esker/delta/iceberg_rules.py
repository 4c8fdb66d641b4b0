"""What must hold so that a table stays convertible to Iceberg?  (PROTOCOL.md, "Iceberg Compatibility V1" and "V2";
protocol_rfcs/iceberg-compat-v3.md; UniForm)

What concerns data files (partition columns in them, int64 timestamps, `numRecords`) is asked of those who write them.
"""

from collections.abc import Iterator

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.ddl import parse_type
from esker.core.nesting import types, walk
from esker.core.sql_tokens import TokenKind, tokens
from esker.core.types import Array, Decimal, Map, Primitive, Struct, Type
from esker.delta.actions import Metadata
from esker.delta.column_mapping import PHYSICAL_NAME
from esker.delta.column_mapping_ids import NESTED_IDS, nested_positions
from esker.delta.column_metadata import default
from esker.delta.intended import Intended
from esker.delta.properties import (
    DELETION_VECTORS,
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3,
    UNIFORM_FORMATS,
    value,
)
from esker.delta.protocol import Protocol, is_supported
from esker.delta.type_changes import is_known_to_iceberg
from esker.delta.type_widening import TYPE_CHANGES
from esker.errors import InvalidRequest

_SIMPLE = (
    t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.BOOLEAN, t.TIMESTAMP, t.TIMESTAMP_NTZ,
    t.DATE,
)  # fmt: skip
_NOT_FOR_HUDI = (t.VOID, t.BYTE, t.SHORT, t.TIMESTAMP_NTZ)
_VERSIONS = (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3)


def v1_problems(intended: Intended) -> Iterator[str]:
    """What breaks the writer requirements of version 1."""
    if not intended.is_active(ICEBERG_COMPAT_V1):
        return
    # "Require that Deletion Vectors are not supported": not even listed
    if is_supported(intended.protocol, DELETION_VECTORS.feature):
        yield "icebergCompatV1 is active and deletionVectors is in the protocol"
    # "Block adding `Map`/`Array`/`Void` types to the table schema"
    for path, kind in types(intended.schema):
        if isinstance(kind, Array | Map) or kind == t.VOID:
            yield f"icebergCompatV1 is active and {spelled(path)} is of type {kind}"
    yield from _type_change_problems(intended, ICEBERG_COMPAT_V1.feature)


def v2_problems(intended: Intended) -> Iterator[str]:
    """What breaks the writer requirements of version 2."""
    if intended.is_active(ICEBERG_COMPAT_V2):
        yield from _type_problems(intended.schema, ICEBERG_COMPAT_V2.feature)
        yield from _nested_id_problems(intended.schema, ICEBERG_COMPAT_V2.feature)
        yield from _type_change_problems(intended, ICEBERG_COMPAT_V2.feature)


def v3_problems(intended: Intended) -> Iterator[str]:
    """What breaks the writer requirements of version 3."""
    if not intended.is_active(ICEBERG_COMPAT_V3):
        return
    yield from _type_problems(intended.schema, ICEBERG_COMPAT_V3.feature, t.VARIANT)
    yield from _nested_id_problems(intended.schema, ICEBERG_COMPAT_V3.feature)
    yield from _type_change_problems(intended, ICEBERG_COMPAT_V3.feature)
    for field in intended.schema:
        if (expression := default(field)) is not None and not _is_literal(expression):
            yield f"icebergCompatV3 is active and the default of {spelled((field.name,))} is no literal: {expression}"


def uniform_problems(intended: Intended) -> Iterator[str]:
    """What keeps the table from being converted to the formats that it names."""
    formats = value(UNIFORM_FORMATS, intended.configuration)
    if "iceberg" in formats and not any(intended.is_active(version) for version in _VERSIONS):
        yield f"{UNIFORM_FORMATS.name} has iceberg, and no icebergCompat feature is active"
    if "hudi" not in formats:
        return
    if intended.is_active(DELETION_VECTORS):
        yield f"{UNIFORM_FORMATS.name} has hudi, and deletionVectors is active"
    for path, kind in types(intended.schema):
        if kind in _NOT_FOR_HUDI:
            yield f"{UNIFORM_FORMATS.name} has hudi, and {spelled(path)} is of type {kind}"


def replacement_problems(old: Metadata, new: Metadata, protocol: Protocol) -> tuple[str, ...]:
    """ "Block replacing partitioned tables with a differently-named partition spec" """
    intended = Intended(new, protocol)
    if not old.partition_columns or old.partition_columns == new.partition_columns:
        return ()
    change = f"from {', '.join(old.partition_columns)} to {', '.join(new.partition_columns) or 'none'}"
    active = (version.feature for version in _VERSIONS if intended.is_active(version))
    return tuple(f"{feature} is active, and the partition columns would change {change}" for feature in active)


def _type_problems(schema: Struct, feature: str, *more: Type) -> Iterator[str]:
    # "Require that the table schema contains only data types in the following allow-list"
    for path, kind in types(schema):
        if not (isinstance(kind, Struct | Array | Map | Decimal) or kind in (*_SIMPLE, *more)):
            yield f"{feature} is active and {spelled(path)} is of type {kind}"


def _nested_id_problems(schema: Struct, feature: str) -> Iterator[str]:
    # "Require that the nested `element` field of ArrayTypes and the nested `key` and `value` fields of MapTypes be assigned 32
    # bit integer identifiers."
    for path, field in walk(schema):
        given = field.metadata.get(NESTED_IDS)
        wanted = nested_positions(field.type, str(field.metadata.get(PHYSICAL_NAME)))
        if missing := [key for key in wanted if not isinstance(given, dict) or not isinstance(given.get(key), int)]:
            yield f"{feature} is active and {spelled(path)} has no id in {NESTED_IDS} for {', '.join(missing)}"


def _type_change_problems(intended: Intended, feature: str) -> Iterator[str]:
    for path, field in walk(intended.schema):
        changes = field.metadata.get(TYPE_CHANGES)
        for change in changes if isinstance(changes, list) else ():
            match change:
                case {"fromType": str(old), "toType": str(new)} if not is_known_to_iceberg(_type(old), _type(new)):
                    yield f"{feature} is active and {spelled(path)} was changed from {old} to {new}"


def _type(text: str) -> Type:
    try:
        return parse_type(text)
    except InvalidRequest:
        return Primitive(text)


def _is_literal(expression: str) -> bool:
    *said, _ = tokens(expression)
    match said:
        case [token]:
            return token.kind in (TokenKind.NUMBER, TokenKind.STRING) or token.says("TRUE", "FALSE", "NULL")
        case [sign, number] if sign.says("-", "+"):
            return number.kind is TokenKind.NUMBER
        case [word, text] if word.says("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "X"):
            return text.kind is TokenKind.STRING
    return False
