"""Which rows of a file are dead?

A set of row positions as a 64-bit roaring bitmap. A Delta deletion vector and an Iceberg version 3 deletion vector
share the same bytes: a little-endian magic number, then the bitmap in the portable form of the Roaring specification.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap, BitMap64

from esker.errors import InvalidTable

MAGIC = 1681511377
_NATIVE_MAGIC = 1681511376  # an older form of the same vector: 32-bit bitmaps in a row, without their keys


@dataclass(frozen=True, slots=True)
class Bitmap:
    """An immutable set of positions."""

    positions: BitMap64

    @staticmethod
    def of(positions: Iterable[int]) -> "Bitmap":
        return Bitmap(BitMap64(positions))

    @staticmethod
    def parse(data: bytes) -> "Bitmap":
        """The bitmap in `data`: magic number and portable roaring bytes."""
        if len(data) < 8:
            raise InvalidTable(f"a deletion vector has {len(data)} bytes, too few to hold one")
        (magic,) = struct.unpack_from("<I", data)
        if magic == MAGIC:
            return Bitmap(_portable(data[4:]))
        for order in "<>":  # the specification's own inline example is big-endian
            if struct.unpack_from(f"{order}I", data)[0] == _NATIVE_MAGIC:
                return Bitmap(_native(data[4:], order))
        raise InvalidTable(f"a deletion vector starts with the magic number {magic}, not {MAGIC}")

    def serialize(self) -> bytes:
        return struct.pack("<I", MAGIC) + bytes(self.positions.serialize())

    def __len__(self) -> int:
        return len(self.positions)

    def __contains__(self, position: int) -> bool:
        return position in self.positions

    def minus(self, other: "Bitmap") -> "Bitmap":
        return Bitmap(self.positions - other.positions)

    def union(self, other: "Bitmap") -> "Bitmap":
        return Bitmap(self.positions | other.positions)

    @property
    def greatest(self) -> int | None:
        return int(self.positions.max()) if self.positions else None

    def to_numpy(self) -> npt.NDArray[np.uint64]:
        """The positions in ascending order."""
        return np.asarray(self.positions.to_array(), dtype=np.uint64) if self.positions else np.empty(0, np.uint64)

    def words(self) -> npt.NDArray[np.int64]:
        """The set as consecutive 64-bit words, lowest position first, as Spark's `getbit` reads them."""
        dead = self.to_numpy()
        if not len(dead):
            return np.empty(0, np.int64)
        bits = np.zeros(int(dead[-1]) // 64 + 1, dtype=np.uint64)
        np.bitwise_or.at(bits, (dead // 64).astype(np.int64), np.uint64(1) << (dead % np.uint64(64)))
        return bits.view(np.int64)


def _portable(data: bytes) -> BitMap64:
    """Check the framing before the library sees the bytes: a wrong count must not become a huge allocation."""
    if len(data) < 8:
        raise InvalidTable(f"a deletion vector has {len(data)} bytes after its magic number, too few to hold a bitmap")
    (buckets,) = struct.unpack_from("<Q", data)
    if buckets * 8 > len(data):
        raise InvalidTable(f"a deletion vector of {len(data)} bytes claims {buckets} buckets")
    try:
        bitmap = BitMap64.deserialize(data)
    except Exception as error:  # pyroaring raises several types, none of them documented
        raise InvalidTable(f"a deletion vector is not a roaring bitmap: {error}") from error
    # "We require that every "key" in the bitmap has a 0 as its most significant bit."  Deletion Vector Format
    if bitmap and bitmap.max() >= 1 << 63:
        raise InvalidTable("a deletion vector holds a row position beyond 2^63")
    return bitmap


def _native(data: bytes, order: str) -> BitMap64:
    positions = BitMap64()
    (count,) = struct.unpack_from(f"{order}i", data)
    if count < 0:
        raise InvalidTable(f"a deletion vector claims {count} bitmaps")
    at = 4
    for key in range(count):
        if at + 4 > len(data):
            raise InvalidTable("a deletion vector ends before its last bitmap")
        (size,) = struct.unpack_from(f"{order}i", data, at)
        if size < 0 or at + 4 + size > len(data):
            raise InvalidTable("a deletion vector ends before its last bitmap")
        try:
            part = BitMap.deserialize(data[at + 4 : at + 4 + size])
        except Exception as error:  # as above
            raise InvalidTable(f"a deletion vector is not a roaring bitmap: {error}") from error
        positions |= BitMap64((key << 32) + low for low in part)
        at += 4 + size
    return positions
