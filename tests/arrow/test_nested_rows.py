"""Are Arrow rows written as they are where columns are nested, and refused where only Spark can tell?"""

from pathlib import Path

import pyarrow as pa
import pytest

import esker
from esker.errors import Unsupported

ENTRIES = pa.map_(pa.string(), pa.struct([("v", pa.int32())]))


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_maps_of_structs_keep_their_entries_whatever_files_call_the_members(mode: str, tmp_path: Path) -> None:
    """PROTOCOL.md, Writer Requirements for Column Mapping: "Write data files by using the physical name"."""
    columns = "id LONG, m MAP<STRING, STRUCT<v: LONG, w: STRING>>, l ARRAY<MAP<STRING, STRUCT<v: INT>>>"
    table = esker.create(tmp_path / "table", columns, properties={"delta.columnMapping.mode": mode})
    maps = [[("a", {"v": 1})], None, [], [("b", None), ("c", {"v": 3})]]
    rows = pa.table({"id": [1, 2, 3, 4], "m": pa.array(maps, ENTRIES), "l": pa.array([[m] for m in maps], pa.list_(ENTRIES))})
    table.append(rows.slice(0, 1))
    table.append(rows.slice(1))
    found = sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])
    assert [row["l"] for row in found] == [[m] for m in maps]
    assert [row["m"] for row in found] == [
        [("a", {"v": 1, "w": None})], None, [], [("b", None), ("c", {"v": 3, "w": None})],
    ]  # fmt: skip


def test_a_variant_that_the_rows_lack_is_null(tmp_path: Path) -> None:
    table = esker.create(tmp_path / "table", "id LONG, v VARIANT, s STRUCT<v: VARIANT>")
    table.append(pa.table({"id": [1]}))
    assert table.to_arrow().to_pylist() == [{"id": 1, "v": None, "s": None}]


def test_a_constraint_that_only_spark_can_check_refuses_arrow_rows_and_says_what_to_do(tmp_path: Path) -> None:
    table = esker.create(tmp_path / "table", "name STRING", constraints={"short": "length(name) < 9"})
    with pytest.raises(Unsupported, match=r"only Spark can tell[\s\S]*Write a Spark frame"):
        table.append(pa.table({"name": ["a"]}))
    assert table.at().version == 0
