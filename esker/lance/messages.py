"""How do Lance's protobuf messages look?  (Lance table format, "Protobuf messages")

The messages as data, from which descriptors are built when the module is loaded: no generated code, nothing to compile. A field
that is not listed here is kept by the runtime as unknown, so that `unknown_fields` can tell of it.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
from google.protobuf.message import DecodeError, Message

from esker.errors import InvalidTable

_Rows: TypeAlias = Mapping[str, tuple[tuple[int, str, str], ...]]

# A type ends in `*` where it is repeated and in `?` where it may be absent; `a>b` is a map, `|x` belongs to the oneof x.
_MESSAGES: _Rows = {
    "Timestamp": ((1, "seconds", "int64"), (2, "nanos", "int32")),
    "Any": ((1, "type_url", "string"), (2, "value", "bytes")),
    "Uuid": ((1, "uuid", "bytes"),),
    "Field": (
        (1, "type", "int32"), (2, "name", "string"), (3, "id", "int32"), (4, "parent_id", "int32"),
        (5, "logical_type", "string"), (6, "nullable", "bool"), (9, "extension_name", "string"),
        (10, "metadata", "string>bytes"), (12, "unenforced_primary_key", "bool"),
    ),
    "Manifest": (
        (1, "fields", "Field*"), (2, "fragments", "DataFragment*"), (3, "version", "uint64"),
        (4, "version_aux_data", "uint64"), (5, "schema_metadata", "string>bytes"), (6, "index_section", "uint64?"),
        (7, "timestamp", "Timestamp"), (8, "tag", "string"), (9, "reader_feature_flags", "uint64"),
        (10, "writer_feature_flags", "uint64"), (11, "max_fragment_id", "uint32?"), (12, "transaction_file", "string"),
        (13, "writer_version", "WriterVersion"), (14, "next_row_id", "uint64"), (15, "data_format", "DataStorageFormat"),
        (16, "config", "string>string"), (18, "base_paths", "BasePath*"), (19, "table_metadata", "string>string"),
        (20, "branch", "string?"), (21, "transaction_before", "uint64?"), (22, "fragment_tree", "Anything"),
        (23, "transaction_section", "uint64?"),
    ),
    "WriterVersion": (
        (1, "library", "string"), (2, "version", "string"), (3, "prerelease", "string?"), (4, "build_metadata", "string?"),
    ),
    "DataStorageFormat": ((1, "file_format", "string"), (2, "version", "string")),
    "BasePath": ((1, "id", "uint32"), (2, "name", "string?"), (3, "is_dataset_root", "bool"), (4, "path", "string")),
    "DataFragment": (
        (1, "id", "uint64"), (2, "files", "DataFile*"), (3, "deletion_file", "DeletionFile"), (4, "physical_rows", "uint64"),
        (5, "inline_row_ids", "bytes|row_ids"), (6, "external_row_ids", "ExternalFile|row_ids"),
        (7, "inline_updated_at", "bytes|updated_at"), (8, "external_updated_at", "ExternalFile|updated_at"),
        (9, "inline_created_at", "bytes|created_at"), (10, "external_created_at", "ExternalFile|created_at"),
        (11, "overlays", "Anything*"),
    ),
    "Anything": (),
    "DataFile": (
        (1, "path", "string"), (2, "fields", "int32*"), (3, "column_indices", "int32*"), (4, "file_major_version", "uint32"),
        (5, "file_minor_version", "uint32"), (6, "file_size_bytes", "uint64"), (7, "base_id", "uint32?"),
    ),
    "DeletionFile": (
        (1, "file_type", "int32"), (2, "read_version", "uint64"), (3, "id", "uint64"), (4, "num_deleted_rows", "uint64"),
        (7, "base_id", "uint32?"),
    ),
    "ExternalFile": ((1, "path", "string"), (2, "offset", "uint64"), (3, "size", "uint64")),
    "IndexSection": ((1, "indices", "IndexMetadata*"),),
    "IndexMetadata": (
        (1, "uuid", "Uuid"), (2, "fields", "int32*"), (3, "name", "string"), (4, "dataset_version", "uint64"),
        (5, "fragment_bitmap", "bytes"), (6, "index_details", "Any"), (7, "index_version", "int32?"),
        (8, "created_at", "uint64?"), (9, "base_id", "uint32?"), (11, "covering_fields", "int32*"),
    ),
    "RowIdSequence": ((1, "segments", "U64Segment*"),),
    "U64Segment": (
        (1, "range", "Range|segment"), (2, "range_with_holes", "RangeWithHoles|segment"),
        (3, "range_with_bitmap", "RangeWithBitmap|segment"), (4, "sorted_array", "EncodedU64Array|segment"),
        (5, "array", "EncodedU64Array|segment"),
    ),
    "Range": ((1, "start", "uint64"), (2, "end", "uint64")),
    "RangeWithHoles": ((1, "start", "uint64"), (2, "end", "uint64"), (3, "holes", "EncodedU64Array")),
    "RangeWithBitmap": ((1, "start", "uint64"), (2, "end", "uint64"), (3, "bitmap", "bytes")),
    "EncodedU64Array": (
        (1, "u16_array", "U16Array|array"), (2, "u32_array", "U32Array|array"), (3, "u64_array", "U64Array|array"),
    ),
    "U16Array": ((1, "base", "uint64"), (2, "offsets", "bytes")),
    "U32Array": ((1, "base", "uint64"), (2, "offsets", "bytes")),
    "U64Array": ((2, "values", "bytes"),),
    "RowDatasetVersionSequence": ((1, "runs", "RowDatasetVersionRun*"),),
    "RowDatasetVersionRun": ((1, "span", "U64Segment"), (2, "version", "uint64")),
    "Transaction": (
        (1, "read_version", "uint64"), (2, "uuid", "string"), (3, "tag", "string"),
        (4, "transaction_properties", "string>string"),
        (100, "append", "Append|operation"), (101, "delete", "Delete|operation"), (102, "overwrite", "Overwrite|operation"),
        (103, "create_index", "CreateIndex|operation"), (104, "rewrite", "Rewrite|operation"),
        (105, "merge", "FragmentList|operation"), (106, "restore", "Restore|operation"),
        (107, "reserve_fragments", "ReserveFragments|operation"), (108, "update", "Update|operation"),
        (109, "project", "Anything|operation"), (110, "update_config", "Anything|operation"),
        (111, "data_replacement", "Anything|operation"), (112, "update_mem_wal_state", "Anything|operation"),
        (113, "clone", "Clone|operation"), (114, "update_bases", "Anything|operation"),
        (115, "data_overlay", "Anything|operation"), (116, "append_fragment_reuse_transitions", "Anything|operation"),
    ),
    "FragmentList": ((1, "fragments", "DataFragment*"),),
    "Append": ((1, "fragments", "DataFragment*"),),
    "Delete": ((1, "updated_fragments", "DataFragment*"), (2, "deleted_fragment_ids", "uint64*"), (3, "predicate", "string")),
    "Overwrite": ((1, "fragments", "DataFragment*"),),
    "CreateIndex": ((1, "new_indices", "IndexMetadata*"), (2, "removed_indices", "IndexMetadata*")),
    "Rewrite": ((3, "groups", "RewriteGroup*"),),
    "RewriteGroup": ((1, "old_fragments", "DataFragment*"), (2, "new_fragments", "DataFragment*")),
    "Restore": ((1, "version", "uint64"),),
    "ReserveFragments": ((1, "num_fragments", "uint32"),),
    "Update": (
        (1, "removed_fragment_ids", "uint64*"), (2, "updated_fragments", "DataFragment*"),
        (3, "new_fragments", "DataFragment*"), (4, "fields_modified", "uint32*"),
    ),
    "Clone": (
        (1, "is_shallow", "bool"), (2, "ref_name", "string?"), (3, "ref_version", "uint64"), (4, "ref_path", "string"),
        (5, "branch_name", "string?"),
    ),
}  # fmt: skip

OPERATIONS: tuple[str, ...] = tuple(
    name for _, name, kind in _MESSAGES["Transaction"] if kind.endswith("|operation")
)
"""The operations that a transaction may be, by the names of its fields."""


def parse_message(name: str, data: bytes, where: str) -> Any:
    """The message in these bytes."""
    message = _CLASSES[name]()
    try:
        message.ParseFromString(data)
    except (DecodeError, ValueError) as error:
        raise InvalidTable(f"this is no {name} message: {error}", where=where) from error
    return message


def new_message(name: str, /, **values: object) -> Any:
    """A message of ours with these fields."""
    return _CLASSES[name](**values)


def unknown_numbers(message: Message) -> frozenset[int]:
    """The numbers of the fields that the message has and that are not described here."""
    return frozenset(field.field_number for field in unknown_fields.UnknownFieldSet(message))


_PACKAGE = "esker.lance"
_Kinds: TypeAlias = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "int32": _Kinds.TYPE_INT32, "int64": _Kinds.TYPE_INT64, "uint32": _Kinds.TYPE_UINT32, "uint64": _Kinds.TYPE_UINT64,
    "bool": _Kinds.TYPE_BOOL, "string": _Kinds.TYPE_STRING, "bytes": _Kinds.TYPE_BYTES,
}  # fmt: skip


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="esker_lance.proto", package=_PACKAGE, syntax="proto3")
    for name, rows in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind in rows:
            _add_field(message, number, field, kind)
        # The oneofs that stand for optional fields come last, as the descriptor's rules have it.
        for own in [f for f in message.field if f.proto3_optional]:
            own.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{own.name}")
    return file


def _add_field(message: descriptor_pb2.DescriptorProto, number: int, name: str, kind: str) -> None:
    base, _, oneof = kind.partition("|")
    own = message.field.add(name=name, number=number, label=_Kinds.LABEL_OPTIONAL)
    if ">" in base:
        base = f"{message.name}.{_add_entry(message, name, *base.split('>'))}*"
    if base.endswith("*"):
        own.label = _Kinds.LABEL_REPEATED
    own.proto3_optional = base.endswith("?")
    _set_type(own, base.rstrip("*?"))
    if oneof:
        own.oneof_index = _oneof(message, oneof)


def _add_entry(message: descriptor_pb2.DescriptorProto, name: str, key: str, value: str) -> str:
    """The nested message that a map's entries are."""
    entry = message.nested_type.add(name="".join(part.capitalize() for part in name.split("_")) + "Entry")
    entry.options.map_entry = True
    for number, (field, kind) in enumerate((("key", key), ("value", value)), 1):
        _set_type(entry.field.add(name=field, number=number, label=_Kinds.LABEL_OPTIONAL), kind)
    return str(entry.name)


def _set_type(own: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS:
        own.type = _SCALARS[kind]
    else:
        own.type, own.type_name = _Kinds.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"


def _oneof(message: descriptor_pb2.DescriptorProto, name: str) -> int:
    names = [oneof.name for oneof in message.oneof_decl]
    if name not in names:
        message.oneof_decl.add(name=name)
        return len(names)
    return names.index(name)


def _classes() -> dict[str, type[Message]]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES
    }


_CLASSES: dict[str, Any] = dict(_classes())
