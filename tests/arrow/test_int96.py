"""Which moments are instants, where Parquet has no way to say so?"""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.arrow.int96 import in_type, with_instants

NAIVE, UTC = pa.timestamp("us"), pa.timestamp("us", "UTC")
AT = datetime(2024, 1, 2, 3, 4, 5, 678901)

# a type in which X stands for a moment, and a value of it
SHAPES = {
    "flat": (lambda x: x, AT),
    "struct": (lambda x: pa.struct([("a", pa.int64()), ("x", x), ("y", x)]), {"a": 1, "x": AT, "y": AT}),
    "list": (lambda x: pa.list_(pa.field("element", pa.struct([("x", x), ("s", pa.string())]))), [{"x": AT, "s": "s"}, None]),
    "map": (lambda x: pa.map_(pa.string(), x), [("k", AT)]),
}


@pytest.mark.parametrize("shape, value", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("is_int96", [True, False])
def test_what_is_stored_as_int96_has_a_zone_and_nothing_else_has(shape, value, is_int96: bool, tmp_path: Path) -> None:
    first = pa.array([1], pa.int64())
    column = pa.array([None, value], shape(NAIVE)).slice(1)
    pq.write_table(pa.table({"a": first, "x": column, "z": first}), tmp_path / "f", use_deprecated_int96_timestamps=is_int96)
    with pq.ParquetFile(tmp_path / "f", coerce_int96_timestamp_unit="us") as file:
        fields = with_instants(file)
        rows = file.read()
    assert [field.name for field in fields] == ["a", "x", "z"]
    assert (fields[0].type, fields[2].type) == (pa.int64(), pa.int64())
    assert fields[1].type == (shape(UTC) if is_int96 else shape(NAIVE))
    found = in_type(rows.column("x").chunk(0), fields[1].type)
    assert found == column.view(shape(UTC) if is_int96 else shape(NAIVE))
