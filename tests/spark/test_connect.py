"""The portable relation on a Spark Connect server, which is all that a session there can have."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from esker.core import types as t
from esker.core.scan import Resolution, RowIndex, ScanColumn, ScanPlan, Stored
from esker.core.types import Array, Field, Struct
from tests.spark.plans import constant, plan_of, stored

pytestmark = pytest.mark.connect

# In a process of its own: a process has either a classic session or this one.
SESSION = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from esker.errors import InvalidRequest
from esker.spark.read import read
from esker.spark.session import is_connect, session
from tests.spark.plans import assert_same_rows
from tests.spark.test_connect import plans
SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark = session()
assert is_connect(spark)
threshold = spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.threshold")
for name, plan in plans(Path(sys.argv[1])).items():
    frame = read(spark, plan)
    assert_same_rows(frame, plan)
    print(name)
assert spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.threshold") == threshold
assert read(spark, plans(Path(sys.argv[1]))["deletes"], "part = 1").count() == 9
try:
    read(spark, plan, relation="native")
except InvalidRequest as error:
    print(error)
"""


def plans(folder: Path) -> dict[str, ScanPlan]:
    """One plan for each thing that a relation must do."""
    seen, there = (
        Struct((Field("a", t.LONG), Field("l", Array(t.LONG)))),
        Struct((Field("b", t.LONG), Field("m", Array(t.LONG)))),
    )
    nested = {str(n): pa.table({"col": [{"b": i, "m": [i]} for i in range(10)]}) for n in range(4)}
    parts = pa.table({"part": pa.array([0, 1, None, 3], pa.int32())})
    by_id = pa.table({"x": [1]}, schema=pa.schema([pa.field("x", pa.int32(), metadata={"PARQUET:field_id": "7"})]))
    return {
        "deletes": plan_of(
            folder / "deletes", nested, [stored("s", seen, Field("col", there)), constant("part", t.INTEGER)],
            constants=parts, constant_fields=[Field("part", t.INTEGER)], dead={1: [3], 2: range(10)},
        ),
        "row ids": plan_of(
            folder / "ids", {"a": pa.table({"v": [1, 2]})},
            [
                ScanColumn(Field("id", t.LONG), Stored(Field("_id", t.LONG), "base", plus_row_index=True)),
                ScanColumn(Field("row", t.LONG), RowIndex()),
            ],
            constants=pa.table({"base": pa.array([10], pa.int64())}), constant_fields=[Field("base", t.LONG)],
        ),
        "names": plan_of(
            folder / "names",
            {name: pa.table({"i": [n]}) for n, name in enumerate(["a b", "50%25", "[x]", "_hidden", "q?#", "日本"])},
            [stored("i", t.LONG)], dead={0: []},
        ),
        "by id": plan_of(
            folder / "by", {"a": by_id}, [stored("y", t.LONG, Field("y", t.LONG, id=7))], resolution=Resolution.ID
        ),
        "nothing": plan_of(folder / "nothing", {}, [stored("i", t.LONG)]),
    }  # fmt: skip


@pytest.mark.slow
def test_every_plan_is_read_on_a_connect_server(tmp_path: Path):
    pytest.importorskip("grpc")
    root = Path(__file__).resolve().parents[2]
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path)],
        cwd=root, env=os.environ | own,
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert "a Spark Connect session has no JVM at hand" in done.stdout, done.stdout + done.stderr[-3000:]
