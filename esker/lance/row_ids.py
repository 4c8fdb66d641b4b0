"""Which numbers does a sequence stand for?  (Lance table format, "RowIdSequence (rowids.proto)")

Row ids, and the versions in which rows were made and changed, are written down in segments; here they become arrays.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from esker.errors import InvalidTable
from esker.lance.messages import new_message, parse_message

Numbers = npt.NDArray[np.uint64]
_LARGEST = 1 << 32
"""More rows than this a fragment cannot have: what claims more is not expanded."""


def parse_row_ids(data: bytes, where: str) -> Numbers:
    """The ids of a fragment's rows, in the order of the rows."""
    sequence = parse_message("RowIdSequence", data, where)
    parts = [_segment(segment, where) for segment in sequence.segments]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def parse_row_versions(data: bytes, where: str) -> Numbers:
    """For each row of a fragment the version that is told of it.

    Runs follow one another as the rows do. How many rows a run is for is told by the length of its span alone: after a compaction
    the span still names the positions at which the rows once were.
    """
    sequence = parse_message("RowDatasetVersionSequence", data, where)
    parts = [np.full(len(_segment(run.span, where)), run.version, np.uint64) for run in sequence.runs]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def row_id_bytes(ids: Numbers) -> bytes:
    """The sequence of these ids, as a fragment keeps it."""
    values = new_message("U64Array", values=ids.astype("<u8").tobytes())
    if len(ids) and bool((np.diff(ids.astype(np.int64)) == 1).all()):
        segment = new_message("U64Segment", range=new_message("Range", start=int(ids[0]), end=int(ids[-1]) + 1))
    else:
        segment = new_message("U64Segment", array=new_message("EncodedU64Array", u64_array=values))
    data: bytes = new_message("RowIdSequence", segments=[segment] if len(ids) else []).SerializeToString()
    return data


def _segment(segment: Any, where: str) -> Numbers:
    match segment.WhichOneof("segment"):
        case "range":
            return _range(segment.range, where)
        case "range_with_holes":
            held = _range(segment.range_with_holes, where)
            return np.setdiff1d(held, _encoded(segment.range_with_holes.holes, where), assume_unique=True)
        case "range_with_bitmap":
            return _masked(segment.range_with_bitmap, where)
        case "sorted_array":
            return _encoded(segment.sorted_array, where)
        case "array":
            return _encoded(segment.array, where)
    raise InvalidTable("a segment of row ids is of no known kind", where=where)


def _range(message: Any, where: str) -> Numbers:
    # "Ends are exclusive."
    if message.end < message.start or message.end - message.start > _LARGEST:
        raise InvalidTable(f"row ids from {message.start} to {message.end} are no fragment's", where=where)
    return np.arange(message.start, message.end, dtype=np.uint64)


def _masked(message: Any, where: str) -> Numbers:
    held = _range(message, where)
    # The documentation calls the most significant bit the first, the code the least: tables are written by the code.
    bits = np.unpackbits(np.frombuffer(message.bitmap, np.uint8), bitorder="little")
    if len(bits) < len(held):
        raise InvalidTable(f"a bitmap of {len(bits)} bits says which of {len(held)} row ids there are", where=where)
    kept: Numbers = held[bits[: len(held)].astype(bool)]
    return kept


def _encoded(message: Any, where: str) -> Numbers:
    try:
        match message.WhichOneof("array"):
            case "u16_array":
                return np.frombuffer(message.u16_array.offsets, "<u2").astype(np.uint64) + np.uint64(message.u16_array.base)
            case "u32_array":
                return np.frombuffer(message.u32_array.offsets, "<u4").astype(np.uint64) + np.uint64(message.u32_array.base)
            case "u64_array":
                return np.frombuffer(message.u64_array.values, "<u8").astype(np.uint64)
    except ValueError as error:
        raise InvalidTable(f"an array of row ids is cut short: {error}", where=where) from error
    return np.empty(0, np.uint64)
