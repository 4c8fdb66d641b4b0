"""How is a partition value spelled?  The texts that table formats keep instead of typed values."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.types import Decimal, Type
from esker.errors import InvalidRequest


def partition_texts(values: pa.ChunkedArray, kind: Type) -> pa.Array:
    """A text for each value; null for null and for an empty text. Raises `InvalidRequest` where a value cannot be said."""
    texts = _texts(values.combine_chunks(), kind)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _texts(values: pa.Array, kind: Type) -> pa.Array:
    match kind:
        case t.TIMESTAMP:
            return pc.strftime(values, "%Y-%m-%dT%H:%M:%SZ")
        case t.TIMESTAMP_NTZ:
            return pc.strftime(values, "%Y-%m-%d %H:%M:%S")
        case t.FLOAT | t.DOUBLE:
            return pa.array([None if v is None else _number(v, kind) for v in values.to_pylist()], pa.string())
        case Decimal():
            return pa.array([None if v is None else format(v, "f") for v in values.to_pylist()], pa.string())
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise InvalidRequest(f"a partition value of type {kind} is not UTF-8, which its text must be") from error


def _number(value: float, kind: Type) -> str:
    """As Java reads it: NaN, Infinity, 1e+16."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return str(np.float32(value) if kind == t.FLOAT else value)
