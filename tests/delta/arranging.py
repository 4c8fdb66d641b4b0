"""Who lays rows out anew without Spark: every part to one file, in the order in which its rows come. And when that is."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

import pyarrow as pa
import pytest

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


class Clock:
    """What time it is, for whoever drops a feature."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.late = timedelta()
        clock = self

        class Late(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> "Late":
                return super().now(tz) + clock.late

        monkeypatch.setattr("esker.delta.history.datetime", Late)
        monkeypatch.setattr("esker.delta.drop.now", lambda: int(Late.now(UTC).timestamp() * 1000))
