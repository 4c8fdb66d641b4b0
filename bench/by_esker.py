"""What is asked of Esker without Spark?

Every question gives a number or a text that must be equal on both sides of a comparison.
"""

import esker
from bench.questions import WANTED_ROW


def list_files(folder: str) -> int:
    """All live files as an Arrow table: path, size, time, rows, partition, statistics."""
    return int(esker.open(folder).files().num_rows)


def filtered(folder: str) -> str:
    return str(esker.open(folder).to_arrow(where=f"id = {WANTED_ROW}").to_pylist())
