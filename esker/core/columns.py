"""How do values get from Python and NumPy into Arrow and back without a detour?

`pa.array`, `pa.scalar`, `to_numpy` and `empty_table` look whether pandas is there, and import it to find out: a third of a
second and 50 MB that reading a log does not need.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


def int64(values: Rows) -> pa.Array:
    """An Arrow array over the same memory."""
    whole = np.ascontiguousarray(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def array(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """An Arrow array of values or None; pandas is not looked for where these are texts or whole numbers."""
    if pa.types.is_string(kind):
        return _texts([None if value is None else str(value).encode() for value in values])
    if pa.types.is_integer(kind):
        known = booleans(np.fromiter((value is not None for value in values), np.bool_, len(values)))
        numbers = int64(np.array([0 if value is None else value for value in values], np.int64))
        return pa.Array.from_buffers(pa.int64(), len(values), [known.buffers()[1], numbers.buffers()[1]]).cast(kind)
    return pa.array(values, kind)


def scalar(value: object, kind: pa.DataType) -> pa.Scalar:
    """An Arrow value; pandas is not looked for where it is a text or a whole number."""
    return array([value], kind)[0]


def booleans(values: Mask) -> pa.Array:
    """An Arrow array of truth values."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def empty(schema: pa.Schema) -> pa.Table:
    """A table without rows."""
    return pa.Table.from_batches([], schema)


def rows_of(values: pa.Array | pa.ChunkedArray) -> Rows:
    """The numbers of an integer array without nulls."""
    parts = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    found = [_buffer(part, part.type.to_pandas_dtype()) for part in parts]
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, np.int64)


def mask_of(values: pa.Array | pa.ChunkedArray) -> Mask:
    """The truth values of a boolean array without nulls."""
    parts = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    return np.concatenate([_bits(part) for part in parts]) if parts else np.empty(0, np.bool_)


def _texts(values: Sequence[bytes | None]) -> pa.Array:
    known = booleans(np.fromiter((value is not None for value in values), np.bool_, len(values)))
    ends = np.cumsum([0, *(len(value or b"") for value in values)]).astype(np.int32)
    data = b"".join(value or b"" for value in values)
    return pa.Array.from_buffers(pa.string(), len(values), [known.buffers()[1], pa.py_buffer(ends), pa.py_buffer(data)])


def _buffer(array: pa.Array, dtype: type) -> npt.NDArray[np.generic]:
    data = array.buffers()[1]
    return np.empty(0, dtype) if data is None else np.frombuffer(data, dtype)[array.offset : array.offset + len(array)]


def _bits(array: pa.Array) -> Mask:
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, np.bool_)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)
