"""What does a manifest say?  (Lance table format, "Manifest file container", "Protobuf messages")

The container, and the messages in it as records. Fragments are turned into records when they are first asked for: flags, schema
and configuration can be had of a table with a million of them at little cost.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import cached_property
from typing import Any

from esker.errors import InvalidTable, Unsupported
from esker.lance.messages import parse_message, unknown_numbers

MAGIC = b"LANC"
_FOOTER = struct.Struct("<qhh4s")
_LENGTH = struct.Struct("<I")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field of the flat list that a schema is. `parent_id` is -1 at the top."""

    id: int
    parent_id: int
    name: str
    logical_type: str
    nullable: bool
    metadata: Mapping[str, bytes] = field(default_factory=dict, hash=False)
    extension: str = ""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file with some columns of a fragment. A field id below zero stands for no column of the table."""

    path: str
    fields: tuple[int, ...]
    column_indices: tuple[int, ...]
    major: int
    minor: int
    size: int | None = None
    base_id: int | None = None

    @property
    def version(self) -> str:
        """The file format's version, as a manifest's data format spells it."""
        if self.major == 0:
            return "2.0" if self.minor == 3 else "0.1"
        return f"{self.major}.{self.minor}"


class DeletionKind(IntEnum):
    """How the deleted rows of a fragment are written down."""

    ARROW_ARRAY = 0
    BITMAP = 1


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The deleted rows of a fragment. `rows` is None where older writers did not say how many."""

    kind: DeletionKind
    read_version: int
    id: int
    rows: int | None
    base_id: int | None = None

    def name(self, fragment: int) -> str:
        """The file's name in the folder of deletions: derived, not stored."""
        suffix = "arrow" if self.kind is DeletionKind.ARROW_ARRAY else "bin"
        return f"{fragment}-{self.read_version}-{self.id}.{suffix}"


@dataclass(frozen=True, slots=True)
class ExternalFile:
    """A part of a file that holds what was too large for the manifest."""

    path: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """Rows that lie together. `physical_rows` counts the deleted ones; None where older writers did not say."""

    id: int
    files: tuple[DataFile, ...]
    physical_rows: int | None
    deletion: DeletionFile | None = None
    row_ids: bytes | ExternalFile | None = None
    created_at: bytes | ExternalFile | None = None
    updated_at: bytes | ExternalFile | None = None
    overlays: int = 0
    unknown: frozenset[int] = frozenset()

    @property
    def live_rows(self) -> int | None:
        dead = 0 if self.deletion is None else self.deletion.rows
        return None if self.physical_rows is None or dead is None else self.physical_rows - dead


@dataclass(frozen=True, slots=True)
class BasePath:
    """Another place where files of the table lie."""

    id: int
    path: str
    is_dataset_root: bool
    name: str | None = None


@dataclass(frozen=True, slots=True)
class WriterVersion:
    """Who wrote the version."""

    library: str
    version: str
    prerelease: str | None = None

    def __str__(self) -> str:
        return f"{self.library} {self.version}" + (f"-{self.prerelease}" if self.prerelease else "")


@dataclass(frozen=True, slots=True)
class IndexMetadata:
    """An index, or a segment of one: those of one name belong together."""

    uuid: str
    name: str
    fields: tuple[int, ...]
    dataset_version: int
    fragment_bitmap: bytes
    details: str
    index_version: int | None = None
    created_at: int | None = None
    base_id: int | None = None
    covering_fields: tuple[int, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """One version of a table."""

    version: int
    reader_flags: int
    writer_flags: int
    fields: tuple[SchemaField, ...]
    timestamp: datetime | None
    writer: WriterVersion | None
    data_format: tuple[str, str] | None
    """The file format and its version, where the writer said it."""
    config: Mapping[str, str]
    table_metadata: Mapping[str, str]
    schema_metadata: Mapping[str, bytes]
    base_paths: tuple[BasePath, ...]
    max_fragment_id: int | None
    next_row_id: int
    branch: str | None
    transaction_file: str
    tag: str
    container: "Container" = field(repr=False)
    message: Any = field(repr=False, compare=False)

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        where = self.container.where
        return tuple(_fragment(fragment, where) for fragment in self.message.fragments)

    @cached_property
    def indices(self) -> tuple[IndexMetadata, ...]:
        if not self.message.HasField("index_section"):
            return ()
        section = self.container.section("IndexSection", self.message.index_section)
        return tuple(_index(index) for index in section.indices)

    @cached_property
    def inline_transaction(self) -> Any | None:
        """The transaction that made the version, where the manifest holds it: since Lance 14 another field tells where."""
        for name in ("transaction_section", "transaction_before"):
            if self.message.HasField(name):
                return self.container.section("Transaction", getattr(self.message, name))
        return None

    @property
    def has_tree(self) -> bool:
        """Whether fragments are listed in files of their own. Releases know the field, and none of them writes it."""
        return bool(self.message.HasField("fragment_tree"))

    @property
    def unknown_fields(self) -> frozenset[int]:
        """Numbers of fields of the manifest that Esker does not know."""
        return unknown_numbers(self.message)

    @property
    def file_version(self) -> str:
        """The version of the data files: as stated, else as the files have it, else by the deprecated flag."""
        if self.data_format is not None:
            return self.data_format[1]
        for fragment in self.fragments:
            for file in fragment.files:
                return file.version
        return "2.0" if self.writer_flags & 4 else "0.1"


@dataclass(frozen=True)
class Container:
    """The bytes of a manifest file, and where in them its parts lie."""

    data: bytes = field(repr=False)
    position: int
    major: int
    minor: int
    where: str

    def section(self, name: str, position: int) -> Any:
        """The message of this name whose length stands at a position."""
        return parse_message(name, self.body(position, len(self.data) - _FOOTER.size), self.where)

    def body(self, position: int, end: int) -> bytes:
        if not 0 <= position <= end - _LENGTH.size:
            raise InvalidTable(f"the manifest points at byte {position} of {len(self.data)}", where=self.where)
        (length,) = _LENGTH.unpack_from(self.data, position)
        start = position + _LENGTH.size
        if start + length > end:
            raise InvalidTable(f"the manifest claims {length} bytes at {start}, and ends at {end}", where=self.where)
        return self.data[start : start + length]


def parse_container(data: bytes, where: str) -> Container:
    """The container in the bytes of a manifest file."""
    if len(data) < _FOOTER.size + _LENGTH.size:
        raise InvalidTable(f"a manifest of {len(data)} bytes is cut short", where=where)
    position, major, minor, magic = _FOOTER.unpack(data[-_FOOTER.size :])
    if magic != MAGIC:
        raise InvalidTable(f"the file ends with {magic!r} and not with {MAGIC!r}: it is no manifest", where=where)
    if major != 0:
        raise Unsupported(f"a manifest container of version {major}.{minor}", where=where, hint="Use a newer Esker.")
    return Container(data, position, major, minor, where)


def parse_manifest(data: bytes, where: str) -> Manifest:
    """The manifest in the bytes of its file."""
    container = parse_container(data, where)
    end = len(data) - _FOOTER.size
    body = container.body(container.position, end)
    # "check length = (file size - 16) - (P + 4)": the manifest directly precedes the footer
    if container.position + _LENGTH.size + len(body) != end:
        raise InvalidTable("the manifest does not reach the footer of its file", where=where)
    message = parse_message("Manifest", body, where)
    return Manifest(
        version=message.version,
        reader_flags=message.reader_feature_flags,
        writer_flags=message.writer_feature_flags,
        fields=tuple(_schema_field(f) for f in message.fields),
        timestamp=_timestamp(message),
        writer=_writer(message),
        data_format=_data_format(message),
        config=dict(message.config),
        table_metadata=dict(message.table_metadata),
        schema_metadata=dict(message.schema_metadata),
        base_paths=tuple(
            BasePath(b.id, b.path, b.is_dataset_root, b.name if b.HasField("name") else None) for b in message.base_paths
        ),
        max_fragment_id=message.max_fragment_id if message.HasField("max_fragment_id") else None,
        next_row_id=message.next_row_id,
        branch=message.branch if message.HasField("branch") else None,
        transaction_file=message.transaction_file,
        tag=message.tag,
        container=container,
        message=message,
    )


def check_list(manifest: Manifest, where: str) -> None:
    """Refuse a manifest that may not list all of its fragments, which no flag tells."""
    if manifest.has_tree:
        raise Unsupported("the fragments are listed outside of the manifest, in a tree", where=where, hint="Use a newer Esker.")


def check_texts(manifest: Manifest, where: str) -> None:
    """Refuse names, types and paths with a NUL, which ends a text for the library: it would end the process with it."""
    fields = (text for own in manifest.fields for text in (own.name, own.logical_type))
    paths = (base.path.replace("%00", "\0") for base in manifest.base_paths)
    if bad := [repr(text) for text in (*fields, *paths, manifest.transaction_file) if "\0" in text]:
        raise InvalidTable(f"names, types or paths have a NUL: {', '.join(bad)}", where=where)


def _schema_field(message: Any) -> SchemaField:
    return SchemaField(
        message.id, message.parent_id, message.name, message.logical_type, message.nullable, dict(message.metadata),
        message.extension_name,
    )  # fmt: skip


def _timestamp(message: Any) -> datetime | None:
    if not message.HasField("timestamp"):
        return None
    try:
        return _EPOCH + timedelta(seconds=message.timestamp.seconds, microseconds=message.timestamp.nanos // 1000)
    except OverflowError:  # a year that Python does not know
        return None


def _writer(message: Any) -> WriterVersion | None:
    if not message.HasField("writer_version"):
        return None
    said = message.writer_version
    return WriterVersion(said.library, said.version, said.prerelease if said.HasField("prerelease") else None)


def _data_format(message: Any) -> tuple[str, str] | None:
    if not message.HasField("data_format"):
        return None
    said = message.data_format
    return said.file_format, "2.0" if said.version == "0.3" else said.version


def _fragment(message: Any, where: str) -> Fragment:
    return Fragment(
        id=_number(message.id, "a fragment's number", where),
        files=tuple(_data_file(file, where) for file in message.files),
        physical_rows=_number(message.physical_rows, "a fragment's number of rows", where) or None,
        deletion=_deletion(message.deletion_file, message.id, where) if message.HasField("deletion_file") else None,
        row_ids=_spilled(message, "row_ids"),
        created_at=_spilled(message, "created_at"),
        updated_at=_spilled(message, "updated_at"),
        overlays=len(message.overlays),
        unknown=unknown_numbers(message),
    )


def _data_file(message: Any, where: str) -> DataFile:
    return DataFile(
        path=message.path,
        fields=tuple(message.fields),
        column_indices=tuple(message.column_indices),
        major=message.file_major_version,
        minor=message.file_minor_version,
        size=_number(message.file_size_bytes, "a file's size", where) or None,
        base_id=message.base_id if message.HasField("base_id") else None,
    )


def _deletion(message: Any, fragment: int, where: str) -> DeletionFile:
    try:
        kind = DeletionKind(message.file_type)
    except ValueError:
        what = f"fragment {fragment} has a deletion file of the unknown kind {message.file_type}"
        raise Unsupported(what, where=where) from None
    base = message.base_id if message.HasField("base_id") else None
    rows = _number(message.num_deleted_rows, "a number of deleted rows", where)
    return DeletionFile(kind, message.read_version, message.id, rows or None, base)


def _number(value: int, what: str, where: str) -> int:
    """A number of rows, bytes or fragments, of which no table has as many as do not fit 63 bits."""
    if value >= 1 << 63:
        raise InvalidTable(f"{what} cannot be {value}", where=where)
    return value


def _spilled(message: Any, oneof: str) -> bytes | ExternalFile | None:
    which = message.WhichOneof(oneof)
    if which is None:
        return None
    value = getattr(message, which)
    return value if isinstance(value, bytes) else ExternalFile(value.path, value.offset, value.size)


def _index(message: Any) -> IndexMetadata:
    return IndexMetadata(
        uuid=_uuid(message.uuid.uuid),
        name=message.name,
        fields=tuple(message.fields),
        dataset_version=message.dataset_version,
        fragment_bitmap=message.fragment_bitmap,
        details=message.index_details.type_url.rpartition("/")[2].rpartition(".")[2],
        index_version=message.index_version if message.HasField("index_version") else None,
        created_at=message.created_at if message.HasField("created_at") else None,
        base_id=message.base_id if message.HasField("base_id") else None,
        covering_fields=tuple(message.covering_fields),
    )


def _uuid(data: bytes) -> str:
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
