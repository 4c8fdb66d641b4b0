"""What blocks does an Avro file consist of?  (Apache Avro specification, "Object Container Files")"""

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from esker.errors import InvalidTable, Unsupported

_MAGIC = b"Obj\x01"
_SYNC = 16
_LARGEST_BLOCK = 1 << 30


@dataclass(frozen=True, slots=True)
class AvroBlock:
    """Some rows of a file, as they are stored."""

    rows: int
    body: bytes
    codec: str
    where: str

    def expanded(self) -> bytes:
        """The bytes of the rows. Raises `InvalidTable` where the block does not hold what it says."""
        with _damaged(self.where):
            return _CODECS[self.codec](self.body)


@dataclass(frozen=True)
class AvroFile:
    """A file's header and its blocks."""

    schema: str
    """The writer's schema, in JSON."""
    metadata: Mapping[str, bytes] = field(hash=False)
    blocks: tuple[AvroBlock, ...] = ()

    def text(self, key: str) -> str | None:
        """An entry of the header; None where there is none."""
        found = self.metadata.get(key)
        return None if found is None else found.decode()

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self.blocks)


def parse_avro(data: bytes, where: str) -> AvroFile:
    """Take a file apart. Raises `InvalidTable` where it is not whole."""
    with _damaged(where):
        return _parse(data, where)


@contextmanager
def _damaged(where: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGES as error:
        raise InvalidTable(f"the Avro file is damaged: {error}", where=where) from error
    except InvalidTable as error:
        raise InvalidTable(f"the Avro file is damaged: {error.what}", where=where) from error


_DAMAGES = (
    IndexError, struct.error, UnicodeDecodeError, zlib.error, OSError, EOFError, lzma.LZMAError, pa.ArrowException,
)  # fmt: skip


def _parse(data: bytes, where: str) -> AvroFile:
    if data[:4] != _MAGIC:
        raise InvalidTable(f"it starts with {data[:4]!r}, not with {_MAGIC!r}")
    metadata, at = _header(data, 4)
    sync = data[at : at + _SYNC]
    if len(sync) < _SYNC:
        raise InvalidTable("it ends within its header")
    if "avro.schema" not in metadata:
        raise InvalidTable("it has no schema")
    codec = metadata.get("avro.codec", b"null").decode()
    if codec not in _CODECS:
        raise Unsupported(f"the Avro codec {codec}")
    blocks = tuple(AvroBlock(rows, body, codec, where) for rows, body in _blocks(data, at + _SYNC, sync))
    return AvroFile(metadata["avro.schema"].decode(), metadata, blocks)


def _header(data: bytes, at: int) -> tuple[dict[str, bytes], int]:
    metadata: dict[str, bytes] = {}
    while True:
        count, at = _long(data, at)
        if not count:
            return metadata, at
        if count < 0:  # then its size in bytes follows
            _, at = _long(data, at)
        for _ in range(abs(count)):
            key, at = _bytes(data, at)
            metadata[key.decode()], at = _bytes(data, at)


def _blocks(data: bytes, at: int, sync: bytes) -> Iterator[tuple[int, bytes]]:
    while at < len(data):
        rows, at = _long(data, at)
        body, at = _bytes(data, at)
        if rows < 0:
            raise InvalidTable(f"a block claims {rows} rows")
        if data[at : at + _SYNC] != sync:
            raise InvalidTable(f"the block that ends at byte {at} is not followed by the marker of the file")
        at += _SYNC
        yield rows, body


def _long(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
        if shift > 63:
            raise InvalidTable("a number has more than ten bytes")


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _long(data, at)
    if size < 0 or at + size > len(data):
        raise InvalidTable(f"{size} bytes are to follow byte {at}, and there are {len(data) - at}")
    return data[at : at + size], at + size


def _inflate(body: bytes) -> bytes:
    expander = zlib.decompressobj(-zlib.MAX_WBITS)
    expanded = expander.decompress(body, _LARGEST_BLOCK)
    if not expander.eof:
        raise InvalidTable("a block is cut off, or larger than 1 GiB")
    return expanded


def _snappy(body: bytes) -> bytes:
    compressed, checksum = body[:-4], body[-4:]
    size = shift = at = 0
    while True:  # snappy's own length is not zigzagged
        size |= (compressed[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if compressed[at - 1] < 0x80:
            break
    if size > _LARGEST_BLOCK:
        raise InvalidTable("a block is larger than 1 GiB")
    expanded: bytes = pa.decompress(compressed, size, "snappy", asbytes=True)
    if struct.pack(">I", zlib.crc32(expanded)) != checksum:
        raise InvalidTable("a block has another checksum than it says")
    return expanded


def _zstandard(body: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(body), "zstd") as stream:
        expanded: bytes = stream.read(_LARGEST_BLOCK)
    return expanded


_CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda body: body, "deflate": _inflate, "snappy": _snappy, "zstandard": _zstandard,
    "bzip2": bz2.decompress, "xz": lzma.decompress,
}  # fmt: skip
