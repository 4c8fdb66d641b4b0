"""Are row groups read that hold more text than one of Arrow's arrays can?

Arrow's strings end at 2 GB; a file whose texts repeat may hold more in a few kilobytes. No test makes that much: what Arrow then
does is done in its place.
"""

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.core import types as t
from esker.core.types import Array, Field, Struct
from tests.delta.tables import Log, inline

COUNT = 700


def refused(*_: Any, **__: Any) -> pa.Table:
    """What is nested Arrow reads into one array for each column, or not at all."""
    raise pa.ArrowNotImplementedError("Nested data conversions not implemented for chunked array outputs")


def parted(file: pq.ParquetFile, group: int, columns: list[str]) -> SimpleNamespace:
    """Texts come in several arrays, and stay in them when they are combined."""
    rows = pa.Table.from_batches(file.iter_batches(300, [group], columns))
    assert rows.column(0).num_chunks > 1
    return SimpleNamespace(combine_chunks=lambda: rows)


@pytest.mark.parametrize("read", [refused, parted])
@pytest.mark.parametrize("options", [{}, {"dv": inline(0, 255, 256, 500)}], ids=["all live", "some dead"])
def test_a_row_group_that_one_array_cannot_hold_is_read_in_parts(
    read: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [[f"text {i}"] for i in range(COUNT)]
    log = Log().start(Struct((Field("l", Array(t.STRING)),)), features=["deletionVectors"])
    log.commit(log.data("a.parquet", pa.table({"l": values}), **options))
    whole = log.open().to_arrow(columns=["l", "_pos"])
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read)
    assert log.open().to_arrow(columns=["l", "_pos"]).equals(whole)
    assert whole.num_rows == COUNT - (4 if options else 0)
