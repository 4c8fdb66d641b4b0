"""How are deletion vectors stored?  (PROTOCOL.md, "Deletion Vector File Storage Format", "Deletion Vector Files")

All vectors of a change go into one file in the root of the table, whose name the descriptors spell by its UUID.
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from esker.core.bitmap import Bitmap
from esker.delta.deletion_vectors import DeletionVector, file_uri, z85_encode
from esker.errors import Unsupported

_VERSION = b"\x01"
_LARGEST_OFFSET = 2**31 - 1


@dataclass(frozen=True, slots=True)
class VectorFile:
    """A file of deletion vectors: where it goes, what it holds, and the descriptors of its vectors."""

    path: str
    data: bytes
    vectors: Mapping[int, DeletionVector]


def vector_file(bitmaps: Mapping[int, Bitmap], identity: UUID) -> VectorFile:
    """The bitmaps as one file; they are told apart by their keys."""
    name = z85_encode(identity.bytes)
    data = bytearray(_VERSION)
    vectors: dict[int, DeletionVector] = {}
    for key, bitmap in bitmaps.items():
        body = bitmap.serialize()
        if len(data) > _LARGEST_OFFSET or len(body) > _LARGEST_OFFSET:
            raise Unsupported("more than 2 GiB of deletion vectors in one change")
        # "`offset`: Start of the data for this DV in number of bytes from the beginning of the file"
        vectors[key] = DeletionVector("u", name, len(body), len(bitmap), len(data))
        # "dataSize", "bitmapData", "checksum", "with all numerical values written in big endian byte order"
        data += struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    return VectorFile(file_uri(DeletionVector("u", name, 0, 0)), bytes(data), vectors)
