"""What lies in a Puffin file?  (Puffin specification; Iceberg specification, "Deletion Vectors")

A file of blobs and a footer that says where they are. The blobs that Esker makes sense of are deletion vectors; others are read
and written as bytes.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
import pyarrow as pa

from esker.core.bitmap import Bitmap
from esker.core.types import Json
from esker.errors import InvalidTable, Unsupported

DELETION_VECTOR = "deletion-vector-v1"
MAGIC = b"PFA1"
_FLAGS = 4
_COMPRESSED = 1
_TAIL = 4 + _FLAGS + len(MAGIC)
_POSITION_COLUMN = 2147483645
"""The field id of `_pos`, which the reference implementation names as the source of a deletion vector."""
_LARGEST = 1 << 31


@dataclass(frozen=True, slots=True)
class Blob:
    """Where a blob lies in its file, and what it is."""

    type: str
    offset: int
    length: int
    fields: tuple[int, ...] = ()
    snapshot_id: int = -1
    sequence_number: int = -1
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class PuffinFile:
    """A whole file: its bytes, what its footer says, and how many bytes the footer has."""

    data: bytes
    blobs: tuple[Blob, ...]
    footer_size: int
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)


def parse_puffin(data: bytes, where: str) -> PuffinFile:
    """The blobs of a file."""
    try:
        return _parse(data)
    except (struct.error, IndexError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise InvalidTable(f"the Puffin file is damaged: {error}", where=where) from error
    except InvalidTable as error:
        raise InvalidTable(f"the Puffin file is damaged: {error.what}", where=where) from error


def _parse(data: bytes) -> PuffinFile:
    if len(data) < 2 * len(MAGIC) + _TAIL or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise InvalidTable("it does not begin and end as one")
    size, flags = struct.unpack("<iI", data[-_TAIL:-4])
    if flags & ~_COMPRESSED:
        raise Unsupported(f"the flags {flags:#x} of a Puffin file")
    start = len(data) - _TAIL - size
    if size < 0 or start < 2 * len(MAGIC) or data[start - 4 : start] != MAGIC:
        raise InvalidTable(f"its footer is to have {size} bytes")
    payload = data[start : start + size]
    footer = orjson.loads(_lz4(payload) if flags & _COMPRESSED else payload)
    blobs = tuple(_blob(one, start - 4) for one in footer["blobs"])
    return PuffinFile(data, blobs, len(data) - start + 4, footer.get("properties") or {})


def _blob(found: Mapping[str, Json], end: int) -> Blob:
    match found:
        case {"type": str() as kind, "offset": int() as offset, "length": int() as length, "fields": list() as fields}:
            pass
        case _:
            raise InvalidTable(f"a blob lacks type, fields, offset or length: {found!r:.200}")
    if offset < len(MAGIC) or length < 0 or offset + length > end:
        raise InvalidTable(f"a blob of {length} bytes at {offset} reaches beyond the blobs of the file")
    codec, properties = found.get("compression-codec"), found.get("properties") or {}
    return Blob(
        kind, offset, length, tuple(int(str(f)) for f in fields), int(str(found.get("snapshot-id", -1))),
        int(str(found.get("sequence-number", -1))), None if codec is None else str(codec),
        {key: str(value) for key, value in properties.items()} if isinstance(properties, dict) else {},
    )  # fmt: skip


def blob_bytes(file: PuffinFile, blob: Blob) -> bytes:
    """What a blob holds, uncompressed."""
    stored = file.data[blob.offset : blob.offset + blob.length]
    match blob.compression_codec:
        case None | "none":
            return stored
        case "lz4":
            return _lz4(stored)
        case "zstd":
            return _expanded(stored, "zstd")
    raise Unsupported(f"the Puffin codec {blob.compression_codec}")


def _lz4(stored: bytes) -> bytes:
    return _expanded(stored, "lz4")


def _expanded(stored: bytes, codec: str) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(stored), codec) as stream:
        expanded: bytes = stream.read(_LARGEST)
    return expanded


def parse_vector(data: bytes, where: str) -> Bitmap:
    """The rows that a blob of the type `deletion-vector-v1` says are deleted. Length and checksum must be right."""
    if len(data) < 12:
        raise InvalidTable(f"a deletion vector has {len(data)} bytes, too few to hold one", where=where)
    (length,) = struct.unpack_from(">I", data)
    # "content_size_in_bytes = L + 8"
    if length + 8 != len(data):
        raise InvalidTable(f"a deletion vector of {len(data)} bytes says that it has {length + 8}", where=where)
    body = data[4:-4]
    if struct.unpack(">I", data[-4:])[0] != zlib.crc32(body):
        raise InvalidTable("a deletion vector has another checksum than it says", where=where)
    try:
        return Bitmap.parse(body)
    except InvalidTable as error:
        raise InvalidTable(error.what, where=where) from error


def vector_bytes(bitmap: Bitmap) -> bytes:
    """The blob of a deletion vector."""
    body = bitmap.serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


@dataclass(frozen=True)
class NewBlob:
    """A blob that is to be written, as it is."""

    data: bytes
    blob: Blob
    """What is to be said of it; offset and length follow."""


def vector_blob(bitmap: Bitmap, data_file: str) -> NewBlob:
    """The blob for the deleted rows of a data file."""
    properties = {"referenced-data-file": data_file, "cardinality": str(len(bitmap))}
    return NewBlob(vector_bytes(bitmap), Blob(DELETION_VECTOR, 0, 0, (_POSITION_COLUMN,), properties=properties))


def puffin_file(blobs: Sequence[NewBlob], created_by: str) -> PuffinFile:
    """A file of these blobs, in their order."""
    data = bytearray(MAGIC)
    placed: list[Blob] = []
    for new in blobs:
        told = new.blob
        placed.append(
            Blob(
                told.type, len(data), len(new.data), told.fields, told.snapshot_id, told.sequence_number,
                told.compression_codec, told.properties,
            )
        )  # fmt: skip
        data += new.data
    payload = orjson.dumps({"blobs": [_blob_json(blob) for blob in placed], "properties": {"created-by": created_by}})
    footer = MAGIC + payload + struct.pack("<iI", len(payload), 0) + MAGIC
    return PuffinFile(bytes(data + footer), tuple(placed), len(footer), {"created-by": created_by})


def _blob_json(blob: Blob) -> dict[str, Json]:
    told: dict[str, Json] = {
        "type": blob.type,
        "fields": list(blob.fields),
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "offset": blob.offset,
        "length": blob.length,
    }
    if blob.compression_codec is not None:
        told["compression-codec"] = blob.compression_codec
    return told | ({"properties": dict(blob.properties)} if blob.properties else {})
