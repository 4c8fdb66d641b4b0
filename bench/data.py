"""Which rows are in the data files?"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

REGIONS = tuple(f"region-{i:02}" for i in range(20))
SMALL_ROWS = 100
_FIRST_DAY = 19_000
_DAY = 86_400_000_000

_DELTA_TYPES: Mapping[pa.DataType, str] = {
    pa.int64(): "long", pa.int32(): "integer", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string",
    pa.date32(): "date", pa.timestamp("us", "UTC"): "timestamp", pa.decimal128(12, 2): "decimal(12,2)",
}  # fmt: skip


def rows(number: int, count: int) -> pa.Table:
    """The rows of one large file: nine columns of eight types, one column a partition."""
    chance = np.random.default_rng([2, number])
    days = chance.integers(0, 1000, count)
    words = pa.array([f"word-{i}" for i in range(50_000)])
    return pa.table({
        "id": pa.array(np.arange(number * count, (number + 1) * count)),
        "quantity": pa.array(chance.integers(0, 1000, count).astype(np.int32), mask=chance.random(count) < 0.05),
        "price": pa.array(chance.random(count)),
        "amount": pc.cast(pa.array(chance.integers(0, 10**7, count)), pa.decimal128(19, 0)).cast(pa.decimal128(12, 2)),
        "is_open": pa.array(chance.random(count) < 0.5),
        "word": words.take(pa.array(chance.integers(0, len(words), count))),
        "day": pa.array((days + _FIRST_DAY).astype(np.int32), pa.date32()),
        "at": pa.array((days + _FIRST_DAY) * _DAY + chance.integers(0, _DAY, count), pa.timestamp("us", "UTC")),
        "region": pa.array([REGIONS[number % len(REGIONS)]]).take(pa.array(np.zeros(count, np.int64))),
    })  # fmt: skip


def small_rows(number: int) -> pa.Table:
    """The rows of one small file."""
    chance = np.random.default_rng([3, number])
    return pa.table({
        "id": pa.array(np.arange(number * SMALL_ROWS, (number + 1) * SMALL_ROWS)),
        "price": pa.array(chance.random(SMALL_ROWS)),
        "word": pa.array([f"word-{i}" for i in chance.integers(0, 1000, SMALL_ROWS)]),
    })  # fmt: skip


def delta_schema(schema: pa.Schema) -> Mapping[str, Any]:
    """The schema in Delta's JSON."""
    fields = [{"name": f.name, "type": _DELTA_TYPES[f.type], "nullable": True, "metadata": {}} for f in schema]
    return {"type": "struct", "fields": fields}


def statistics(data: pa.Table) -> Mapping[str, Any]:
    """Row count, and bounds of the columns whose values JSON can say as they are."""
    plain: tuple[Callable[[pa.DataType], bool], ...] = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
    bounds = {f.name: pc.min_max(data[f.name]).as_py() for f in data.schema if any(test(f.type) for test in plain)}
    return {
        "numRecords": data.num_rows,
        "minValues": {name: found["min"] for name, found in bounds.items()},
        "maxValues": {name: found["max"] for name, found in bounds.items()},
        "nullCount": {name: data[name].null_count for name in data.column_names},
    }
