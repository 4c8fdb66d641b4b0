"""How is a partition value spelled?  The texts that table formats keep instead of typed values."""

import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.types import Type


def partition_texts(values: pa.ChunkedArray, kind: Type) -> pa.Array:
    """A text for each value; null for null and for an empty text."""
    texts = _texts(values.combine_chunks(), kind)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _texts(values: pa.Array, kind: Type) -> pa.Array:
    match kind:
        case t.TIMESTAMP:
            return pc.strftime(values, "%Y-%m-%dT%H:%M:%SZ")
        case t.TIMESTAMP_NTZ:
            return pc.strftime(values, "%Y-%m-%d %H:%M:%S")
        case t.FLOAT | t.DOUBLE:
            return pa.array([None if v is None else _number(v) for v in values.to_pylist()], pa.string())
    return values.cast(pa.string())


def _number(value: float) -> str:
    """As Java spells it, which others read: NaN, Infinity, 1.0E10."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
