"""How does deltalake append again and again?"""

from collections.abc import Callable

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError


def append(folder: str) -> Callable[[pa.Table], None]:
    """One handle, brought up to date by every append; one that lost too many races is made again."""
    table = DeltaTable(folder)

    def write(rows: pa.Table) -> None:
        while True:
            try:
                write_deltalake(table, rows, mode="append")
                return
            except CommitFailedError:
                table.update_incremental()

    return write
