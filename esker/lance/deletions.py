"""Which rows of a fragment are deleted?  (Lance table format, "Deletion files")"""

import io
import struct

import numpy as np
import pyarrow as pa
from pyroaring import BitMap, BitMap64

from esker.core.bitmap import Bitmap
from esker.errors import InvalidTable
from esker.lance.manifest import DeletionFile, DeletionKind

COLUMN = "row_id"
LARGEST_ARRAY = 5000
"""From this many deleted rows on a bitmap is written, as the reference writer does."""
_KEYED, _RUNS = 12346, 12347  # the two cookies of the 32-bit Roaring form


def parse_deletions(data: bytes, kind: DeletionKind, where: str) -> Bitmap:
    """The deleted positions in the bytes of a deletion file."""
    match kind:
        case DeletionKind.ARROW_ARRAY:
            return _parse_array(data, where)
        case DeletionKind.BITMAP:
            return _parse_bitmap(data, where)


def check_deletions(dead: Bitmap, file: DeletionFile, physical_rows: int | None, where: str) -> None:
    """Raise where a deletion file does not say of its fragment what the manifest says."""
    if file.rows is not None and len(dead) != file.rows:
        raise InvalidTable(f"the deletion file has {len(dead)} rows, and the manifest says {file.rows}", where=where)
    if physical_rows is not None and dead.greatest is not None and dead.greatest >= physical_rows:
        raise InvalidTable(f"row {dead.greatest} of a fragment with {physical_rows} rows is deleted", where=where)


def deletion_bytes(dead: Bitmap) -> tuple[DeletionKind, bytes]:
    """The deleted positions as a new deletion file has them."""
    if len(dead) >= LARGEST_ARRAY:
        return DeletionKind.BITMAP, bytes(BitMap(dead.to_numpy().astype(np.uint32)).serialize())
    batch = pa.record_batch([pa.array(dead.to_numpy().astype(np.uint32))], pa.schema([pa.field(COLUMN, pa.uint32(), False)]))
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return DeletionKind.ARROW_ARRAY, sink.getvalue()


def _parse_array(data: bytes, where: str) -> Bitmap:
    try:
        with pa.ipc.open_file(pa.BufferReader(data)) as reader:
            batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    except (pa.ArrowException, OSError) as error:
        raise InvalidTable(f"the deletion file is no Arrow file: {error}", where=where) from error
    # "exactly one batch, one non-null column `row_id` of type UInt32"; the prose says Int32
    if len(batches) != 1 or batches[0].num_columns != 1:
        raise InvalidTable("the deletion file has not one batch of one column", where=where)
    column = batches[0].column(0)
    if column.type not in (pa.uint32(), pa.int32()) or column.null_count:
        raise InvalidTable(f"the deletion file has a column of {column.type} and not of uint32", where=where)
    return Bitmap(BitMap64(column.cast(pa.uint64()).to_pylist()))


def _parse_bitmap(data: bytes, where: str) -> Bitmap:
    """The framing is checked before the library sees the bytes: a wrong count must not become a huge allocation."""
    if len(data) < 8:
        raise InvalidTable(f"a deletion file of {len(data)} bytes holds no bitmap", where=where)
    (cookie,) = struct.unpack_from("<I", data)
    if cookie == _KEYED:
        (containers,) = struct.unpack_from("<I", data, 4)
    elif cookie & 0xFFFF == _RUNS:
        containers = (cookie >> 16) + 1
    else:
        raise InvalidTable(f"a deletion file begins with {cookie}, which no Roaring bitmap does", where=where)
    if containers > 1 << 16 or containers * 4 > len(data):
        raise InvalidTable(f"a deletion file of {len(data)} bytes claims {containers} containers", where=where)
    try:
        return Bitmap(BitMap64(BitMap.deserialize(data)))
    except Exception as error:  # pyroaring raises several types, none of them documented
        raise InvalidTable(f"the deletion file is no Roaring bitmap: {error}", where=where) from error
