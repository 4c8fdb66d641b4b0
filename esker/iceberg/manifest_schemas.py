"""How do the Avro schemas of manifests and their lists look?  (Iceberg specification, "Manifests", "Manifest Lists", Appendix A)

Declared once, with the format versions that write each field. Names of records and the order of fields are those that the
reference implementation writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from esker.core import types as t
from esker.core.types import Decimal, Fixed, Json, Struct, Type
from esker.errors import Unsupported

BLOCK_SIZE = 64 * 1024 * 1024
"""What version 1 asks to be written for a field that nobody reads."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A field: its Avro type, the versions that require it and those where it is optional."""

    id: int
    name: str
    type: Json
    required: tuple[int, ...]
    optional: tuple[int, ...] = ()

    def avro(self, version: int) -> Json:
        if version in self.required:
            return {"name": self.name, "type": self.type, "field-id": self.id}
        return {"name": self.name, "type": ["null", self.type], "default": None, "field-id": self.id}


ALL, NEWER = (1, 2, 3), (2, 3)


def _map(key: int, value: int, kind: str) -> Json:
    fields: Json = [
        {"name": "key", "type": "int", "field-id": key},
        {"name": "value", "type": kind, "field-id": value},
    ]
    return {"type": "array", "logicalType": "map", "items": {"type": "record", "name": f"k{key}_v{value}", "fields": fields}}


def _list(element: int, kind: Json) -> Json:
    return {"type": "array", "element-id": element, "items": kind}


_DATA_FILE: tuple[_Column, ...] = (
    _Column(134, "content", "int", NEWER),
    _Column(100, "file_path", "string", ALL),
    _Column(101, "file_format", "string", ALL),
    _Column(102, "partition", None, ALL),
    _Column(103, "record_count", "long", ALL),
    _Column(104, "file_size_in_bytes", "long", ALL),
    _Column(105, "block_size_in_bytes", "long", (1,)),
    _Column(108, "column_sizes", _map(117, 118, "long"), (), ALL),
    _Column(109, "value_counts", _map(119, 120, "long"), (), ALL),
    _Column(110, "null_value_counts", _map(121, 122, "long"), (), ALL),
    _Column(137, "nan_value_counts", _map(138, 139, "long"), (), ALL),
    _Column(125, "lower_bounds", _map(126, 127, "bytes"), (), ALL),
    _Column(128, "upper_bounds", _map(129, 130, "bytes"), (), ALL),
    _Column(131, "key_metadata", "bytes", (), ALL),
    _Column(132, "split_offsets", _list(133, "long"), (), ALL),
    _Column(135, "equality_ids", _list(136, "int"), (), NEWER),
    _Column(140, "sort_order_id", "int", (), ALL),
    _Column(142, "first_row_id", "long", (), (3,)),
    _Column(143, "referenced_data_file", "string", (), NEWER),
    _Column(144, "content_offset", "long", (), (3,)),
    _Column(145, "content_size_in_bytes", "long", (), (3,)),
)

_ENTRY: tuple[_Column, ...] = (
    _Column(0, "status", "int", ALL),
    _Column(1, "snapshot_id", "long", (1,), NEWER),
    _Column(3, "sequence_number", "long", (), NEWER),
    _Column(4, "file_sequence_number", "long", (), NEWER),
)

_FIELD_SUMMARY: Json = {
    "type": "record",
    "name": "r508",
    "fields": [
        {"name": "contains_null", "type": "boolean", "field-id": 509},
        {"name": "contains_nan", "type": ["null", "boolean"], "default": None, "field-id": 518},
        {"name": "lower_bound", "type": ["null", "bytes"], "default": None, "field-id": 510},
        {"name": "upper_bound", "type": ["null", "bytes"], "default": None, "field-id": 511},
    ],
}

_MANIFEST_FILE: tuple[_Column, ...] = (
    _Column(500, "manifest_path", "string", ALL),
    _Column(501, "manifest_length", "long", ALL),
    _Column(502, "partition_spec_id", "int", ALL),
    _Column(517, "content", "int", NEWER),
    _Column(515, "sequence_number", "long", NEWER),
    _Column(516, "min_sequence_number", "long", NEWER),
    _Column(503, "added_snapshot_id", "long", ALL),
    _Column(504, "added_files_count", "int", NEWER, (1,)),
    _Column(505, "existing_files_count", "int", NEWER, (1,)),
    _Column(506, "deleted_files_count", "int", NEWER, (1,)),
    _Column(512, "added_rows_count", "long", NEWER, (1,)),
    _Column(513, "existing_rows_count", "long", NEWER, (1,)),
    _Column(514, "deleted_rows_count", "long", NEWER, (1,)),
    _Column(507, "partitions", _list(508, _FIELD_SUMMARY), (), ALL),
    _Column(519, "key_metadata", "bytes", (), ALL),
    _Column(520, "first_row_id", "long", (), (3,)),
)


def manifest_schema(version: int, partition: Struct) -> dict[str, Json]:
    """The schema of a manifest whose partition tuples have these fields, with their ids."""
    tuples: Json = {"type": "record", "name": "r102", "fields": _avro_fields(partition)}
    members = _fields(_DATA_FILE, version)
    for member in members:
        if isinstance(member, dict) and member["field-id"] == 102:
            member["type"] = tuples
    file: Json = {"name": "data_file", "type": {"type": "record", "name": "r2", "fields": members}, "field-id": 2}
    return {"type": "record", "name": "manifest_entry", "fields": [*_fields(_ENTRY, version), file]}


def manifest_list_schema(version: int) -> dict[str, Json]:
    """The schema of a manifest list."""
    return {"type": "record", "name": "manifest_file", "fields": _fields(_MANIFEST_FILE, version)}


def _fields(columns: Sequence[_Column], version: int) -> list[Json]:
    return [c.avro(version) for c in columns if version in c.required or version in c.optional]


def _avro_fields(partition: Struct) -> list[Json]:
    fields: list[Json] = []
    named: set[Json] = set()
    for field in partition:
        kind = _avro_type(field.type)
        # "A schema or protocol may not contain multiple definitions of a fullname."  Apache Avro, Names
        # A reference to the first would do, but PyIceberg knows none.
        if isinstance(kind, dict) and "name" in kind:
            if kind["name"] in named:
                kind = {**kind, "name": f"{kind['name']}_{field.id}"}
            named.add(kind["name"])
        name = avro_name(field.name)
        spelled: dict[str, Json] = {"name": name, "type": ["null", kind], "default": None, "field-id": field.id}
        fields.append(spelled if name == field.name else {**spelled, "iceberg-field-name": field.name})
    return fields


def avro_name(name: str) -> str:
    """A name that Avro admits, as the reference implementation spells it."""
    spelled = "".join(char if char == "_" or (char.isascii() and char.isalnum()) else f"_x{ord(char):X}" for char in name)
    return f"_{spelled}" if spelled[:1].isdigit() else spelled


_PRIMITIVES: dict[Type, Json] = {
    t.BOOLEAN: "boolean", t.INTEGER: "int", t.LONG: "long", t.FLOAT: "float", t.DOUBLE: "double", t.STRING: "string",
    t.BINARY: "bytes", t.DATE: {"type": "int", "logicalType": "date"}, t.TIME: {"type": "long", "logicalType": "time-micros"},
    t.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    t.TIMESTAMP_NTZ: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    t.TIMESTAMP_NS: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    t.TIMESTAMP_NTZ_NS: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    t.UUID: {"type": "fixed", "size": 16, "logicalType": "uuid", "name": "uuid_fixed"}, t.VOID: "null",
}  # fmt: skip


def _avro_type(kind: Type) -> Json:
    match kind:
        case Decimal(precision, scale):
            size = next(n for n in range(1, 17) if 10**precision <= 1 << (8 * n - 1))
            return {
                "type": "fixed", "size": size, "logicalType": "decimal", "precision": precision, "scale": scale,
                "name": f"decimal_{precision}_{scale}",
            }  # fmt: skip
        case Fixed(length):
            return {"type": "fixed", "size": length, "name": f"fixed_{length}"}
    if kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
    raise Unsupported(f"partition values of the type {kind}")
