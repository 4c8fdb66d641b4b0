"""How does Esker append again and again, without Spark?"""

from collections.abc import Callable

import pyarrow as pa

import esker


def append(folder: str) -> Callable[[pa.Table], object]:
    """One handle, which every append moves."""
    return esker.open(folder).append
