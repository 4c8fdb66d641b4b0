"""What is a table that clients are shown, and what must they make of it?"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

ROWS, BAD_ROWS = "rows.parquet", "bad rows.parquet"


@dataclass(frozen=True, slots=True)
class Case:
    """A table, how it comes about, the rows that it holds, rows that a client may append, and rows that its rules forbid.

    Rows are compared in the columns that they have here: what a variant looks like is each client's own affair.
    """

    name: str
    feature: str
    build: Callable[[Path], object]
    holds: pa.Table
    appended: pa.Table | None
    """None where no rows can be given to every client alike."""
    forbidden: pa.Table | None = None

    def __str__(self) -> str:
        return self.name
