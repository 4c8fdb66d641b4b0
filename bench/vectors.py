"""How is a deletion vector written?  (PROTOCOL.md, "Deletion Vector Format")"""

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from esker.core.bitmap import Bitmap
from esker.delta.deletion_vectors import z85_encode


def write_vector(table: Path, positions: np.ndarray[Any, np.dtype[np.int64]]) -> Mapping[str, Any]:
    """Put the positions into a file of the table; the vector's descriptor."""
    data = Bitmap.of(positions.tolist()).serialize()
    name = UUID(bytes=zlib.crc32(data).to_bytes(4, "big") * 4)
    record = b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    (table / f"deletion_vector_{name}.bin").write_bytes(record)
    return {
        "storageType": "u", "pathOrInlineDv": z85_encode(name.bytes), "offset": 1, "sizeInBytes": len(data),
        "cardinality": len(positions),
    }  # fmt: skip
