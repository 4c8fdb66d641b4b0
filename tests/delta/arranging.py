"""Who lays rows out anew without Spark: every part to one file, in the order in which its rows come."""

from collections.abc import Callable
from datetime import UTC, tzinfo

import pyarrow as pa

from esker.arrow.read import read_batches
from esker.arrow.write import ArrowRows
from esker.core.arrange import Rearrangement
from esker.core.arrow_types import to_arrow_schema
from esker.core.write import WrittenFile


class ArrowArranger:
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Rearrangement] = []

    @property
    def zone(self) -> tzinfo:
        return UTC

    def rearranged(self, what: Rearrangement) -> tuple[WrittenFile, ...]:
        self.asked.append(what)
        rows = pa.Table.from_batches(read_batches(what.plan), to_arrow_schema(what.plan.schema))
        return ArrowRows(rows).write(what.spec)

    def spread(self, work: Callable[[int], bytes], count: int) -> tuple[bytes, ...]:
        return tuple(work(number) for number in range(count))


class LosingArranger(ArrowArranger):
    """Forgets a row."""

    def rearranged(self, what: Rearrangement) -> tuple[WrittenFile, ...]:
        rows = pa.Table.from_batches(read_batches(what.plan), to_arrow_schema(what.plan.schema))
        return ArrowRows(rows.slice(1)).write(what.spec)
