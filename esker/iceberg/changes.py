"""Which rows changed between two snapshots?"""

from collections.abc import Sequence
from datetime import datetime

from esker.core.scan import ScanPlan
from esker.errors import Unsupported
from esker.iceberg.file_plan import RowReader
from esker.iceberg.state import TableState


def plans(
    state: TableState, first: int | datetime, columns: Sequence[str] | None, read: RowReader
) -> tuple[ScanPlan, ...]:
    raise Unsupported("changes of Iceberg tables", where=state.location)
