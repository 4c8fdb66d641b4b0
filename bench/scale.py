"""How much data is there?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of the tables. The log of the corpus is always whole."""

    files: int
    """Large files of the tables that are scanned."""
    rows_per_file: int
    small_files: int
    """Files of the table that is filtered."""
    target_files: int = 2
    """Large files of the tables that are written to; a small one has a tenth of their rows."""
    source_rows: int = 100
    """Rows that are merged, half of them new."""
    loose_files: int = 10
    """Small files that are compacted."""
    appends: int = 2
    """Small appends in a turn."""
    rival_seconds: float = 1.0
    listed_files: int = 40
    """Files of an Iceberg table of which there is only what manifests say; another has ten times as many."""


FULL = Scale(
    files=40, rows_per_file=500_000, small_files=10_000, target_files=20, source_rows=100_000, loose_files=1_000, appends=20,
    rival_seconds=10, listed_files=100_000,
)  # fmt: skip
QUICK = Scale(
    files=8, rows_per_file=100_000, small_files=1_000, target_files=10, source_rows=10_000, loose_files=200, appends=3,
    rival_seconds=2, listed_files=1_000,
)  # fmt: skip
