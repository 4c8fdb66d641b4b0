"""How do values get from Python and NumPy into Arrow and back without a detour?

`pa.array`, `pa.scalar`, `to_numpy` and `empty_table` look whether pandas is there, and import it to find out: a third of a
second and 50 MB that reading a log does not need.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


def int64(values: Rows) -> pa.Array:
    """An Arrow array over the same memory."""
    whole = np.ascontiguousarray(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def array(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """An Arrow array of values or None; pandas is not looked for where these are texts, whole numbers or truth values."""
    if pa.types.is_string(kind):
        return _texts([None if value is None else str(value).encode() for value in values])
    if pa.types.is_integer(kind):
        numbers = int64(np.array([0 if value is None else value for value in values], np.int64))
        return pa.Array.from_buffers(pa.int64(), len(values), [_known(values), numbers.buffers()[1]]).cast(kind)
    if pa.types.is_boolean(kind):
        truths = booleans(np.fromiter((bool(value) for value in values), np.bool_, len(values)))
        return pa.Array.from_buffers(kind, len(values), [_known(values), truths.buffers()[1]])
    return pa.array(values, kind)


def scalar(value: object, kind: pa.DataType) -> pa.Scalar:
    """An Arrow value; pandas is not looked for where it is a text, a whole number or a truth value."""
    return array([value], kind)[0]


def filled(values: pa.Array | pa.ChunkedArray, value: bool | int) -> pa.Array | pa.ChunkedArray:
    """The values with this one in the place of nulls."""
    return pc.fill_null(values, scalar(value, values.type))


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


def _known(values: Sequence[object]) -> pa.Buffer:
    """The bits that tell values from None."""
    return booleans(np.fromiter((value is not None for value in values), np.bool_, len(values))).buffers()[1]


def _texts(values: Sequence[bytes | None]) -> pa.Array:
    ends = np.cumsum([0, *(len(value or b"") for value in values)]).astype(np.int32)
    data = b"".join(value or b"" for value in values)
    return pa.Array.from_buffers(pa.string(), len(values), [_known(values), pa.py_buffer(ends), pa.py_buffer(data)])


def _buffer(array: pa.Array, dtype: type) -> npt.NDArray[np.generic]:
    data = array.buffers()[1]
    return np.empty(0, dtype) if data is None else np.frombuffer(data, dtype)[array.offset : array.offset + len(array)]


def _bits(array: pa.Array) -> Mask:
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, np.bool_)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)
