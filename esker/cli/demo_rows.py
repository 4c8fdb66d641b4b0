"""Which rows does the demo write?

The rides of a bicycle hire, by day; the same ones each time.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = """id bigint NOT NULL, city string, started timestamp,
             minutes int COMMENT 'begun ones counted', price decimal(8,2) COMMENT 'in kroner'"""
CITIES = ("Bergen", "Oslo", "Trondheim")
DAYS = 6
RIDES = 2_000
"""In each city on each day."""
CEILING = Decimal("35.00")
_FIRST_DAY = datetime(2026, 3, 2, 6, tzinfo=UTC)


def rides_of(day: int) -> pa.Table:
    """The rides of a day, counted from 1."""
    return pa.concat_tables(_rides(day, city) for city in range(len(CITIES)))


def corrections() -> pa.Table:
    """The rides of the last day that cost too much, at the price they should have had, and some that were reported late."""
    last = rides_of(DAYS).rename_columns(["id", "city", "started", "duration", "price"])
    ceiling = pa.scalar(CEILING, last.schema.field("price").type)
    dear = last.filter(pc.greater(last["price"], ceiling))
    corrected = dear.set_column(4, "price", pa.repeat(ceiling, dear.num_rows))
    late = last.slice(0, 25).set_column(0, "id", pc.add(last["id"].slice(0, 25), 100_000))
    return pa.concat_tables([corrected, late])


def _rides(day: int, city: int) -> pa.Table:
    chance = np.random.default_rng([day, city])
    start = int((_FIRST_DAY + timedelta(days=day - 1)).timestamp())
    first = ((day - 1) * len(CITIES) + city) * RIDES
    minutes = chance.gamma(4, 6, RIDES).astype(np.int32) + 1
    cents = 1000 + minutes.astype(np.int64) * 45
    return pa.table(
        {
            "id": pa.array(np.arange(first, first + RIDES)),
            "city": pa.repeat(pa.scalar(CITIES[city]), RIDES),
            "started": pa.array((np.sort(chance.integers(0, 16 * 3600, RIDES)) + start) * 1_000_000, pa.timestamp("us", "UTC")),
            "minutes": pa.array(minutes),
            "price": pa.array([Decimal(int(c)).scaleb(-2) for c in cents], pa.decimal128(8, 2)),
        }
    )
