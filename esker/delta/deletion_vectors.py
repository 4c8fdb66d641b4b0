"""Which rows does a deletion vector delete?  (PROTOCOL.md, "Deletion Vectors", "Deletion Vector Format")"""

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from esker.core.bitmap import Bitmap
from esker.errors import InvalidTable, NotFound
from esker.storage.port import Storage

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_Z85_VALUE = {c: i for i, c in enumerate(_Z85)}
_UUID_LENGTH = 20  # characters of a UUID in base 85
Locate: TypeAlias = Callable[[str], tuple[Storage, str]]
"""Finds the storage and the path in it for a URI that the table names."""
_VERSION = b"\x01"
_READ_WHOLE = 64 << 20  # a file up to this size is fetched once for all its vectors
_SMALL = 64 << 10  # and one up to this size even for a single one


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """The descriptor in an `add` or `remove` action."""

    storage_type: str
    path_or_inline: str
    size: int
    cardinality: int
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline}{suffix}"


def parse_descriptor(body: Mapping[str, object], where: str) -> DeletionVector:
    """The descriptor in an action. Raises `InvalidTable` where it is not whole."""
    match body:
        case {"storageType": ("u" | "i" | "p") as kind, "pathOrInlineDv": str(text), "sizeInBytes": int(size), **rest}:
            offset, cardinality = rest.get("offset"), rest.get("cardinality")
            if isinstance(cardinality, int) and size >= 0 and (offset is None or (isinstance(offset, int) and offset >= 0)):
                return DeletionVector(str(kind), text, size, cardinality, offset if isinstance(offset, int) else None)
    raise InvalidTable(f"a deletion vector's descriptor is malformed: {dict(body)!r:.200}", where=where)


def file_uri(vector: DeletionVector) -> str:
    """Where the vector's file is: a path relative to the table, or an absolute URI."""
    if vector.storage_type == "p":
        return vector.path_or_inline
    # "<parent path>/<random prefix>/deletion_vector_<uuid in canonical textual representation>.bin"
    prefix, encoded = vector.path_or_inline[:-_UUID_LENGTH], vector.path_or_inline[-_UUID_LENGTH:]
    identity = z85_decode(encoded)
    if len(identity) != 16:
        raise InvalidTable(f"a deletion vector is named by {vector.path_or_inline!r:.80}, which ends in no UUID")
    name = f"deletion_vector_{UUID(bytes=identity)}.bin"
    return f"{prefix}/{name}" if prefix else name


def find(vectors: Mapping[int, DeletionVector], locate: Locate) -> None:
    """Refuse where the file of a vector is missing."""
    uris = {file_uri(vector) for vector in vectors.values() if vector.storage_type != "i"}

    def look(uri: str) -> None:
        storage, path = locate(uri)
        try:
            storage.head(path)
        except NotFound as error:
            raise _missing(storage, path) from error

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(look, uris))


def _missing(storage: Storage, path: str) -> InvalidTable:
    return InvalidTable("the file of a deletion vector is missing", where=f"{storage.url}/{path}")


def load(vectors: Mapping[int, DeletionVector], locate: Locate, where: str) -> dict[int, Bitmap]:
    """The bitmaps of many descriptors, read in parallel, those of one file together."""
    loaded = {key: _checked(_inline(v), v, where) for key, v in vectors.items() if v.storage_type == "i"}
    stored: dict[str, list[int]] = {}
    for key, vector in vectors.items():
        if vector.storage_type != "i":
            stored.setdefault(file_uri(vector), []).append(key)

    def read(uri: str) -> list[tuple[int, Bitmap]]:
        storage, path = locate(uri)
        return _read_file(storage, path, {key: vectors[key] for key in stored[uri]})

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(read, stored):
            loaded.update(found)
    return loaded


def _read_file(storage: Storage, path: str, vectors: Mapping[int, DeletionVector]) -> list[tuple[int, Bitmap]]:
    where = f"{storage.url}/{path}"
    try:
        size = storage.head(path).size
        whole = storage.read(path) if size <= (_READ_WHOLE if len(vectors) > 1 else _SMALL) else None
        version = (storage.read(path, 0, 1) if whole is None else whole)[:1]
        if version != _VERSION:
            raise InvalidTable(f"a file of deletion vectors is of version {version.hex()}, not {_VERSION.hex()}", where=where)
        return [(key, _checked(_stored(storage, path, v, whole, size), v, where)) for key, v in vectors.items()]
    except NotFound as error:
        raise _missing(storage, path) from error


def _stored(storage: Storage, path: str, vector: DeletionVector, whole: bytes | None, size: int) -> bytes:
    """One vector of a file: its size, its bytes, their CRC-32, all numbers big-endian."""
    where = f"{storage.url}/{path}"
    start = vector.offset or 0
    end = start + 4 + vector.size + 4
    if end > size:
        raise InvalidTable(f"a deletion vector ends at byte {end} of a file of {size} bytes", where=where)
    record = storage.read(path, start, end) if whole is None else whole[start:end]
    (recorded,) = struct.unpack_from(">i", record)
    if recorded != vector.size:
        raise InvalidTable(f"a deletion vector has {recorded} bytes, its descriptor says {vector.size}", where=where)
    data, (crc,) = record[4:-4], struct.unpack(">I", record[-4:])
    if zlib.crc32(data) != crc:
        raise InvalidTable(f"the deletion vector at byte {start} does not match its CRC-32", where=where)
    return data


def _inline(vector: DeletionVector) -> bytes:
    data = z85_decode(vector.path_or_inline)
    if len(data) < vector.size:
        raise InvalidTable(f"an inline deletion vector has {len(data)} bytes, its descriptor says {vector.size}")
    return data[: vector.size]


def _checked(data: bytes, vector: DeletionVector, where: str) -> Bitmap:
    bitmap = Bitmap.parse(data)
    if len(bitmap) != vector.cardinality:
        raise InvalidTable(
            f"a deletion vector deletes {len(bitmap)} rows, its descriptor says {vector.cardinality}", where=where
        )
    return bitmap


def z85_decode(text: str) -> bytes:
    """Base 85 in the alphabet of Z85; five characters hold four bytes."""
    if len(text) % 5:
        raise InvalidTable(f"a base 85 text of {len(text)} characters is not a multiple of five")
    return b"".join(_z85_group(text[i : i + 5]) for i in range(0, len(text), 5))


def _z85_group(group: str) -> bytes:
    # No four bytes are spelled with a leading `#`. Some writers begin the last group with as many as it lacks bytes.
    lacking = len(group) - len(group.lstrip("#"))
    number = 0
    for character in group[lacking:]:
        digit = _Z85_VALUE.get(character)
        if digit is None:
            raise InvalidTable(f"a base 85 text holds the character {character!r}")
        number = number * 85 + digit
    if lacking > 3 or number >= 1 << 8 * (4 - lacking):
        raise InvalidTable(f"the base 85 group {group!r} stands for no bytes")
    return number.to_bytes(4 - lacking, "big")


def z85_encode(data: bytes) -> str:
    """The inverse of `z85_decode`; the bytes are filled up with zeros to a multiple of four."""
    padded = data + bytes(-len(data) % 4)
    text = []
    for i in range(0, len(padded), 4):
        number = int.from_bytes(padded[i : i + 4], "big")
        text += [_Z85[number // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(text)


def descriptors(rows: Sequence[Mapping[str, object] | None], where: str) -> Iterable[tuple[int, DeletionVector]]:
    """The descriptors among the rows of a `deletionVector` column, by their row number."""
    for i, row in enumerate(rows):
        if row is not None:
            yield i, parse_descriptor(row, where)
