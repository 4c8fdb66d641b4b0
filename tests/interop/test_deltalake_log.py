"""Does deltalake (delta-rs) open a table by the checkpoints and compactions that Esker leaves?"""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

import esker
from tests.interop.rows import content

pytestmark = pytest.mark.peers

KINDS: list[dict[str, Any]] = [
    {},
    {"properties": {"delta.checkpoint.writeStatsAsJson": "false"}},
    {"properties": {"delta.checkpoint.writeStatsAsStruct": "false", "delta.parquet.compression.codec": "gzip"}},
    {"partition_by": ["day", "name"]},
    {"properties": {"delta.checkpointPolicy": "v2"}},
]


def rows(first: int) -> pa.Table:
    ids = range(first, first + 3)
    days = pa.array([date(2024, 1, 1 + i % 3) for i in ids], pa.date32())
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [None, "a b/ü", "c"], "day": days, "value": [0.5, -1.5, None]})


def written(path: Path, **options: Any) -> esker.Table:
    """Eleven appends, of which the last is not in the checkpoint."""
    table = esker.create(path, rows(0), **options)
    for version in range(1, 12):
        table.append(rows(version * 3))
    return table


def by_deltalake(path: Path) -> pa.Table:
    query = QueryBuilder().register("t", DeltaTable(str(path))).execute("select * from t")
    return pa.table(query.read_all())


@pytest.mark.parametrize("options", KINDS, ids=["classic", "struct", "json", "partitioned", "v2"])
def test_deltalake_reads_a_table_from_a_checkpoint_alone(tmp_path: Path, options: dict[str, Any]) -> None:
    expected = content(written(tmp_path / "t", **options).to_arrow())
    for version in range(11):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    assert content(by_deltalake(tmp_path / "t")) == expected
    assert content(esker.open(tmp_path / "t").to_arrow()) == expected


def test_deltalake_reads_a_table_with_compactions(tmp_path: Path) -> None:
    table = written(tmp_path / "t", properties={"delta.checkpointInterval": "100"})
    table.compact_log(2, 5)
    table.compact_log(6, 11)
    assert content(by_deltalake(tmp_path / "t")) == content(esker.open(tmp_path / "t").to_arrow()) == content(table.to_arrow())
