"""Which columns does a list of fields make?  (Lance table format, "Field", "logical_type strings")

Each column in the shared vocabulary, and in the Arrow type in which Lance keeps it. A logical type that is not known here stays
in the schema under its own name: a table can be described even where it cannot be read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import pyarrow as pa

from esker.core import types as t
from esker.core.arrow_types import from_arrow
from esker.core.predicate import Path
from esker.core.types import Array, Field, Json, Map, Primitive, Struct, Type
from esker.errors import InvalidTable, Unsupported
from esker.lance.manifest import SchemaField

BLOB = b"true"
_BLOB_KEYS = ("lance-encoding:blob", "lance-schema:blob")
_BLOB_V2 = b"lance.blob.v2"
BLOB_LAYOUT = pa.struct([pa.field("data", pa.large_binary()), pa.field("uri", pa.string())])
"""A blob of the second kind as it is brought: its bytes, or where they lie."""
_EXTENSION = b"ARROW:extension"
_DEEPEST = 100
_BFLOAT16 = "lance.bfloat16"
"""What vectors of such floats name in place of a logical type. Arrow has no such type, and sees two bytes."""
_AS_BFLOAT16 = {"ARROW:extension:name": _BFLOAT16, "ARROW:extension:metadata": ""}


@dataclass(frozen=True)
class Column:
    """A column: as it is seen, and as Arrow has it. `arrow` is None where Esker does not know the type.

    `is_blob` where its values, or those of a part of it, are kept apart from the other columns.
    """

    field: Field
    arrow: pa.Field | None
    is_blob: bool = False
    parts: "tuple[Column, ...]" = ()


@dataclass(frozen=True)
class LanceSchema:
    """The columns of a table."""

    columns: tuple[Column, ...]

    @property
    def struct(self) -> Struct:
        return Struct(tuple(column.field for column in self.columns))

    def find(self, name: str) -> Column | None:
        found = self.struct.find(name)
        return None if found is None else next(c for c in self.columns if c.field is found)

    def arrow(self, names: Sequence[str], where: str) -> pa.Schema:
        """The Arrow schema of these columns. Raises `Unsupported`, naming each whose type is not known."""
        chosen = [column for column in self.columns if column.field.name in names]
        if unknown := [f"{c.field.name}: {c.field.type}" for c in chosen if c.arrow is None]:
            raise Unsupported("columns of these types cannot be read", where=where, problems=unknown, hint="Leave them out.")
        return pa.schema([c.arrow for c in chosen])


def as_written(schema: pa.Schema) -> pa.Schema:
    """The schema in which rows are handed to the library: JSON, of which it stores bytes of its own, as the type of that name;
    blobs of the second kind in the layout from which it lays them down."""
    return pa.schema([_blob_as_written(own) or _as_written(own) for own in schema], schema.metadata)


def _blob_as_written(own: pa.Field) -> pa.Field | None:
    if _extension(own) != _BLOB_V2:
        return None
    return own.with_type(BLOB_LAYOUT).with_metadata({**own.metadata, _EXTENSION + b":metadata": b""})


def _as_written(own: pa.Field) -> pa.Field:
    match _extension(own):
        case b"lance.json":
            return pa.field(own.name, pa.json_(), own.nullable)
        case blob if blob == _BLOB_V2:
            raise Unsupported(f"writing the blob {own.name}, which lies within another column")
    kind = own.type
    if pa.types.is_struct(kind):
        return own.with_type(pa.struct([_as_written(kind.field(i)) for i in range(kind.num_fields)]))
    if pa.types.is_map(kind):
        return own.with_type(pa.map_(kind.key_field, _as_written(kind.item_field)))
    if pa.types.is_list(kind):
        return own.with_type(pa.list_(_as_written(kind.value_field)))
    return own.with_type(pa.large_list(_as_written(kind.value_field))) if pa.types.is_large_list(kind) else own


def _extension(own: pa.Field) -> bytes | None:
    return (own.metadata or {}).get(_EXTENSION + b":name")


def parse_schema(fields: Iterable[SchemaField], where: str) -> LanceSchema:
    """The columns that the flat list stands for, in its order."""
    roots: list[_Node] = []
    newest: dict[int, _Node] = {}
    for own in fields:
        node = _Node(own)
        if own.parent_id < 0:
            roots.append(node)
        elif own.parent_id not in newest:
            raise InvalidTable(f"the field {own.name} comes before its parent {own.parent_id}", where=where)
        else:
            newest[own.parent_id].children.append(node)
        # "flat, pre-order": where an old writer gave an id twice, a field belongs to the nearest one before it
        newest[own.id] = node
    return LanceSchema(tuple(_column(node, where, 1) for node in roots))


def ids_by_path(fields: Iterable[SchemaField]) -> dict[Path, int]:
    """The ids of all fields by where they are."""
    paths: dict[int, Path] = {-1: ()}
    found: dict[Path, int] = {}
    for own in fields:
        paths[own.id] = (*paths.get(own.parent_id, ()), own.name)
        found[paths[own.id]] = own.id
    return found


def is_blob(own: SchemaField) -> bool:
    """Whether the values are kept apart from the other columns."""
    return any(own.metadata.get(key) == BLOB for key in _BLOB_KEYS) or own.logical_type == "blob" or (
        b"lance.blob" in own.metadata.get("ARROW:extension:name", b"") or own.extension.startswith("lance.blob")
    )


def widened(schema: Struct) -> Struct:
    """The columns as filters see them: numbers of a type that only some formats have are those of a wider one."""
    return Struct(tuple(Field(f.name, _widened(f.type), f.nullable) for f in schema))


@dataclass
class _Node:
    own: SchemaField
    children: "list[_Node]" = dataclass_field(default_factory=list)


def _column(node: _Node, where: str, depth: int) -> Column:
    if depth > _DEEPEST:
        raise Unsupported(f"a schema of more than {_DEEPEST} levels", where=where)
    parts = tuple(_column(child, where, depth + 1) for child in node.children)
    own = node.own
    kind, arrow = _types(own, parts, where)
    found = Field(own.name, kind, own.nullable, own.id, dict(_texts(own)))
    kept = None if arrow is None else pa.field(own.name, arrow, own.nullable, dict(own.metadata) or None)
    return Column(found, kept, is_blob(own) or any(part.is_blob for part in parts), parts)


def _types(own: SchemaField, parts: tuple[Column, ...], where: str) -> tuple[Type, pa.DataType | None]:
    match own.logical_type:
        case "struct":
            members = Struct(tuple(part.field for part in parts))
            known = all(part.arrow is not None for part in parts)
            if is_blob(own):
                return t.BINARY, pa.large_binary()
            return members, pa.struct([part.arrow for part in parts]) if known else None
        case "list" | "large_list" | "list.struct" | "large_list.struct":
            element = _only(own, parts, where)
            made = pa.large_list if own.logical_type.startswith("large") else pa.list_
            return Array(element.field.type, element.field.nullable), None if element.arrow is None else made(element.arrow)
        case "map":
            entries = _only(own, parts, where)
            if len(entries.parts) != 2:
                raise InvalidTable(f"the map {own.name} has no keys and values", where=where)
            key, value = entries.parts
            ours = Map(key.field.type, value.field.type, value.field.nullable)
            if key.arrow is None or value.arrow is None:
                return ours, None
            return ours, pa.map_(key.arrow.with_nullable(False), value.arrow)
    if own.logical_type.startswith("fixed_size_list:") and parts:
        return _fixed_list(own.logical_type, parts[0])
    arrow = arrow_type(own.logical_type)
    if arrow is None:
        return Primitive(own.logical_type), None
    if is_blob(own):
        return t.BINARY, pa.large_binary()
    try:
        return from_arrow(arrow), arrow
    except Unsupported:
        return Primitive(own.logical_type), None


def arrow_type(logical: str) -> pa.DataType | None:
    """The Arrow type of a logical type without children; None where it is not known."""
    if logical in _PLAIN:
        return _PLAIN[logical]
    head, _, rest = logical.partition(":")
    try:
        match head:
            case "timestamp":
                unit, _, zone = rest.partition(":")
                return pa.timestamp(unit, None if zone == "-" else zone)
            case "decimal":
                bits, precision, scale = rest.split(":")
                return (pa.decimal128 if bits == "128" else pa.decimal256)(int(precision), int(scale))
            case "fixed_size_binary":
                return pa.binary(int(rest))
            case "fixed_size_list":
                element, _, length = rest.rpartition(":")
                if element == _BFLOAT16:
                    return pa.list_(pa.field("item", pa.binary(2), True, _AS_BFLOAT16), int(length))
                inner = arrow_type(element)
                return None if inner is None else pa.list_(inner, int(length))
            case "dict":
                value, key, ordered = re.split(r":(?=[^:]*:[^:]*$)|:(?=[^:]*$)", rest)
                values, keys = arrow_type(value), arrow_type(key)
                return None if values is None or keys is None else pa.dictionary(keys, values, ordered == "true")
    except (ValueError, OverflowError, pa.ArrowException, TypeError):
        return None
    return None


def logical_type(kind: Type) -> pa.DataType:
    """The Arrow type in which a new column of this type is kept."""
    match kind:
        case Struct():
            return pa.struct([arrow_field(member) for member in kind])
        case Array(element, contains_null, length=length):
            item = pa.field("item", logical_type(element), contains_null)
            return pa.list_(item) if length is None else pa.list_(item, length)
        case Map(key, value, value_contains_null):
            return pa.map_(logical_type(key), pa.field("value", logical_type(value), value_contains_null))
        case t.VARIANT:
            raise Unsupported("Lance has no type variant", hint="Keep it as a string of JSON, or as a struct.")
        case t.UUID:
            return pa.binary(16)
    return _stored(kind)


def arrow_field(own: Field) -> pa.Field:
    """The Arrow field of a new column. Its comment goes along."""
    comment = own.metadata.get("comment")
    metadata = {"comment": comment} if isinstance(comment, str) else None
    return pa.field(own.name, logical_type(own.type), own.nullable, metadata)


_PLAIN: dict[str, pa.DataType] = {
    "null": pa.null(), "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(), "halffloat": pa.float16(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "large_string": pa.large_string(),
    "binary": pa.binary(), "large_binary": pa.large_binary(), "blob": pa.large_binary(), "json": pa.large_string(),
    "date32:day": pa.date32(), "date64:ms": pa.date64(), "time32:s": pa.time32("s"), "time32:ms": pa.time32("ms"),
    "time64:us": pa.time64("us"), "time64:ns": pa.time64("ns"), "duration:s": pa.duration("s"),
    "duration:ms": pa.duration("ms"), "duration:us": pa.duration("us"), "duration:ns": pa.duration("ns"),
}  # fmt: skip


def _only(own: SchemaField, parts: tuple[Column, ...], where: str) -> Column:
    if len(parts) != 1:
        raise InvalidTable(f"the {own.logical_type} {own.name} has {len(parts)} children and not one", where=where)
    return parts[0]


def _fixed_list(logical: str, element: Column) -> tuple[Type, pa.DataType | None]:
    digits = logical.rpartition(":")[2]
    if not digits.isdecimal() or int(digits) >= 1 << 31:
        return Primitive(logical), None
    ours = Array(element.field.type, element.field.nullable, length=int(digits))
    return ours, None if element.arrow is None else pa.list_(element.arrow, int(digits))


def _texts(own: SchemaField) -> Iterator[tuple[str, Json]]:
    for key, value in own.metadata.items():
        yield key, value.decode(errors="replace")


_WIDER: dict[Type, Type] = {t.UINT8: t.SHORT, t.UINT16: t.INTEGER, t.UINT32: t.LONG, t.FLOAT16: t.FLOAT}


def _widened(kind: Type) -> Type:
    return widened(kind) if isinstance(kind, Struct) else _WIDER.get(kind, kind)


def _stored(kind: Type) -> pa.DataType:
    for arrow in _STORED:
        if from_arrow(arrow) == kind:
            return arrow
    match kind:
        case t.Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case t.Fixed(length):
            return pa.binary(length)
    raise Unsupported(f"Lance has no type {kind}")


_STORED = (
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(),
    pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC"),
    pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("ns"), pa.duration("us"), pa.null(),
)  # fmt: skip
