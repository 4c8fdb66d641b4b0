"""Which question do both sides of a comparison answer?"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WANTED_ROW = 54_321
"""The `id` that a selective filter looks for; it is in one file."""

COMMITS = 200

SOME = "id % 100 = 7"
"""One row of a hundred, in every file."""
PRICE = "price + 1"
ON = "target.id = source.id"

ICEBERG_RUNTIME = "1.10.1"
"""The release of iceberg-spark, which is a jar and so in no list of packages."""

Answer = list[int]
"""How many rows there are, and a sum over all their values."""


def aggregated(rows: "DataFrame") -> Answer:
    """The rows counted and hashed: every value of every column is read, and little is done with it."""
    values = ", ".join(f"`{name}`" for name in sorted(rows.columns))
    found = rows.selectExpr(f"xxhash64({values}) AS hash").selectExpr("count(1)", "bit_xor(hash)").collect()
    return [int(found[0][0]), int(found[0][1])]
