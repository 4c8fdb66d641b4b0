"""What the native relation adds: Spark's filters reach the plan, and nothing stays behind."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from esker.core import types as t
from esker.core.columns import Mask
from esker.core.predicate import And, Comparison, IsIn, IsNull, Not, Operator, Predicate, columns
from esker.core.scan import ScanPlan
from esker.core.types import Array, Field, Struct
from esker.errors import InvalidTable
from tests.spark.plans import constant, plan_of, rows_of, stored

pytestmark = pytest.mark.spark
FILES = 4


@pytest.fixture
def native(spark: Any) -> Callable[[ScanPlan], Any]:
    from esker.spark.read import read

    return lambda plan: read(spark, plan, relation="native")


class Recorder:
    """A `may_match` that keeps what it was asked and answers as it was told to."""

    def __init__(self, answer: list[bool]):
        self.asked: list[Predicate] = []
        self.answer = answer

    def __call__(self, predicate: Predicate) -> Mask:
        self.asked.append(predicate)
        return np.array(self.answer, dtype=bool)

    def parts(self) -> set[Predicate]:
        """The conditions of the last question that are joined by AND."""

        def split(predicate: Predicate) -> set[Predicate]:
            return split(predicate.left) | split(predicate.right) if isinstance(predicate, And) else {predicate}

        return split(self.asked[-1])


def four_files(folder: Path, may_match: Callable[[Predicate], Mask] | None = None, **more: Any) -> ScanPlan:
    """File n has the numbers from 10 n on, and the constant part n."""
    return plan_of(
        folder,
        {str(n): pa.table({"i": range(n * 10, n * 10 + 10)}) for n in range(FILES)},
        [stored("i", t.LONG), constant("part", t.INTEGER)],
        constants=pa.table({"part": pa.array(range(FILES), pa.int32())}),
        constant_fields=[Field("part", t.INTEGER)],
        may_match=may_match,
        **more,
    )


def test_a_filter_on_the_frame_reaches_the_plan_whenever_a_query_is_planned(native, tmp_path: Path):
    recorder = Recorder([False, True, False, False])
    frame = native(four_files(tmp_path, recorder)).where("i >= 5")
    assert recorder.asked == []
    assert [r.i for r in frame.orderBy("i").collect()] == list(range(10, 20))  # the rest was skipped unread
    assert recorder.parts() == {Not(IsNull(("i",))), Comparison(("i",), Operator.GE, 5)}
    recorder.answer = [True] * FILES
    assert frame.count() == 35


def test_a_query_without_filters_asks_nothing(native, tmp_path: Path):
    recorder = Recorder([False] * FILES)
    assert native(four_files(tmp_path, recorder)).count() == 40
    assert recorder.asked == []


def test_a_long_list_of_values_reaches_the_plan(native, tmp_path: Path):
    recorder = Recorder([True] * FILES)
    values = range(0, 40, 2)
    assert native(four_files(tmp_path, recorder)).where(f"i IN ({', '.join(map(str, values))})").count() == len(values)
    assert [set(p.values) for p in recorder.parts() if isinstance(p, IsIn)] == [set(values)]


@pytest.mark.parametrize("condition, expected", [
    ("part = 2", [2]), ("part % 2 = 1", [1, 3]), ("part IN (0, 3)", [0, 3]), ("sqrt(part) > 1", [2, 3]),
    ("part IS NULL", []), ("part = 1 OR part = 2", [1, 2]), ("CAST(part AS STRING) LIKE '%3'", [3]),
    ("(part = 1 AND i > 15) OR (part = 2 AND i < 25)", [1, 2]), ("part = (SELECT 2)", [2]),
])  # fmt: skip
def test_filters_on_constants_are_exact_whatever_they_say(native, tmp_path: Path, condition: str, expected: list[int]):
    """Spark does not check them on the rows again. Here the plan has no statistics at all."""
    frame = native(four_files(tmp_path)).where(condition)
    assert sorted({r.part for r in frame.collect()}) == expected


def test_filters_on_constants_and_rows_are_both_applied(native, tmp_path: Path):
    recorder = Recorder([True] * FILES)
    frame = native(four_files(tmp_path, recorder)).where("part > 1 AND i < 25")
    assert frame.count() == 5
    assert {path for p in recorder.parts() for path in columns(p)} == {("part",), ("i",)}


def test_a_join_on_a_constant_prunes_while_it_runs(native, spark, tmp_path: Path):
    wanted = spark.createDataFrame([(2, "x")], "part int, tag string").where("tag = 'x'")
    frame = native(four_files(tmp_path)).join(wanted, "part")
    assert frame.count() == 10
    assert "dynamicpruning" in frame._jdf.queryExecution().toString().lower()


def test_instants_are_read_in_the_zone_of_the_moment(native, spark, tmp_path: Path):
    recorder = Recorder([True])
    table = pa.table({"at": pa.array([datetime(2020, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))})
    frame = native(plan_of(tmp_path, {"a": table}, [stored("at", t.TIMESTAMP)], may_match=recorder))
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        assert frame.where("at = TIMESTAMP '2020-01-01 09:00:00'").count() == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert Comparison(("at",), Operator.EQ, datetime(2020, 1, 1, tzinfo=UTC)) in recorder.parts()


@pytest.mark.parametrize("error, told", [
    (InvalidTable("the statistics are broken", where="file:///t"), "InvalidTable: file:///t: the statistics are broken"),
    (ZeroDivisionError("oops"), "could not be planned: ZeroDivisionError: oops"),
])  # fmt: skip
def test_what_goes_wrong_while_planning_stops_the_query(native, tmp_path: Path, error: Exception, told: str):
    def fail(predicate: Predicate) -> Mask:
        raise error

    with pytest.raises(Exception, match=told):
        native(four_files(tmp_path, fail)).where("i = 1").collect()


def test_an_answer_for_too_few_files_stops_the_query(native, tmp_path: Path):
    with pytest.raises(Exception, match="another number of files"):
        native(plan_of(
            tmp_path, {str(n): pa.table({"i": [n]}) for n in range(9)}, [stored("i", t.LONG)], may_match=Recorder([True])
        )).where("i = 1").collect()  # fmt: skip


def test_deletes_are_loaded_for_the_files_that_are_read(native, tmp_path: Path):
    loaded: list[list[int]] = []
    plan = four_files(tmp_path, Recorder([True, True, False, True]), dead={n: [0] for n in range(FILES)})
    load = plan.load_deletes

    def recorded(ordinals: Any) -> Any:
        loaded.append(list(ordinals))
        return load(ordinals)

    frame = native(ScanPlan(**{**plan.__dict__, "load_deletes": recorded}))
    assert loaded == []
    assert frame.where("part > 0 AND i >= 0").count() == 18
    assert loaded == [[1, 3]]


def test_deletes_that_are_not_found_stop_the_query(native, tmp_path: Path):
    plan = four_files(tmp_path, dead={1: [0]})
    lost = ScanPlan(**{**plan.__dict__, "load_deletes": lambda ordinals: {}})
    with pytest.raises(Exception, match="the deletes of this file were not found"):
        native(lost).count()


def test_only_files_with_deletes_pay_for_the_row_index(native, tmp_path: Path):
    plan = native(four_files(tmp_path, dead={1: [0]}))._jdf.queryExecution().toString()
    scans = [line for line in plan.split("== Physical Plan ==")[1].splitlines() if "FileScan" in line]
    assert ["__esker_row" in scan for scan in scans] == [False, True]


def test_nested_columns_are_pruned_and_filters_pushed_to_parquet(native, tmp_path: Path):
    seen = Struct((Field("a", t.LONG), Field("b", t.STRING)))
    there = Struct((Field("col-2", t.LONG), Field("col-3", t.STRING)))
    table = pa.table({"col-1": [{"col-2": 1, "col-3": "x"}], "col-4": [5]})
    plan = plan_of(tmp_path, {"a": table}, [stored("s", seen, Field("col-1", there)), stored("n", t.LONG, "col-4")])
    frame = native(plan).where("s.a = 1 AND n > 2").select("s.a")
    explained = frame._jdf.queryExecution().toString()
    assert "ReadSchema: struct<s:struct<a:bigint>,n:bigint>" in explained
    assert "EqualTo(s.a,1)" in explained
    assert "GreaterThan(n,2)" in explained
    assert rows_of(frame.toArrow()) == [(1,)]
    assert native(plan).where("s.b = 'y' OR n = 6").count() == 0


def test_renamed_columns_still_skip_row_groups(native, tmp_path: Path):
    plan = plan_of(tmp_path, {"a": pa.table({"col-1": range(5)})}, [stored("i", t.LONG, "col-1")])
    frame = native(plan).where("i > 100")
    assert frame.collect() == []
    assert _metric(frame, "numOutputRows") == 0  # the reader itself gave none


def test_times_below_the_millisecond_miss_no_row_of_a_file_in_milliseconds(native, tmp_path: Path):
    midnight = pa.array([0], pa.timestamp("ms", "UTC"))
    plan = plan_of(tmp_path, {"a": pa.table({"t": midnight})}, [stored("t", t.TIMESTAMP)])
    soon = "TIMESTAMP '1970-01-01 00:00:00.0005Z'"
    assert [native(plan).where(f"t {operator} {soon}").count() for operator in ("<", "<>", "<=", ">")] == [1, 1, 1, 0]


def _metric(frame: Any, name: str) -> int:
    node = frame._jdf.queryExecution().executedPlan()
    while not node.nodeName().startswith("Scan"):
        node = node.executedPlan() if node.nodeName() == "AdaptiveSparkPlan" else node.children().apply(0)
    return int(node.metrics().apply(name).value())


def test_frames_are_planned_from_many_threads(native, tmp_path: Path):
    recorder = Recorder([True] * FILES)
    plan = four_files(tmp_path, recorder, dead={1: [0]})
    frame = native(plan)

    def ask(n: int) -> int:
        own = native(plan)
        return int(own.where(f"i < {n}").count()) + int(frame.where(f"i < {n}").count())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(12))) == [2 * min(n, 10) + 2 * max(0, n - 11) for n in range(12)]
    assert len(recorder.asked) >= 24


def test_a_streaming_query_calls_python_back_beside_it(native, spark, tmp_path: Path):
    frame = native(four_files(tmp_path / "t"))
    assert frame.where("i = 3").count() == 1
    seen: list[int] = []
    (tmp_path / "in").mkdir()
    spark.range(5).write.mode("overwrite").parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("id long").parquet(str(tmp_path / "in"))
    query = (
        stream.writeStream.foreachBatch(lambda batch, _: seen.append(batch.join(frame, batch.id == frame.i).count()))
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination(60)
    assert seen == [5]
    assert frame.where("i = 3").count() == 1


def test_planners_live_as_long_as_their_frames(native, spark, tmp_path: Path):
    plan = four_files(tmp_path)
    gateway = spark.sparkContext._gateway
    pool = gateway.gateway_property.pool

    def settled(limit: int) -> bool:
        for _ in range(40):
            gc.collect()
            gateway.jvm.System.gc()
            if len(pool) <= limit:
                return True
            time.sleep(0.25)
        return False

    settled(0)
    before = len(pool)
    frames = [native(plan) for _ in range(200)]
    assert len(pool) >= before + 200
    kept = frames[0]
    frames.clear()
    assert settled(before + 10), f"{len(pool) - before} planners are left"
    assert kept.where("i = 3").count() == 1


def test_without_the_native_relation_rows_are_read_by_the_portable_one(spark, tmp_path: Path, monkeypatch):
    from py4j.protocol import Py4JError

    from esker.spark import native as relation
    from esker.spark.read import read

    def fail(*_: Any) -> Any:
        raise Py4JError("no compiler here")

    monkeypatch.setattr(relation, "rows", fail)
    plan = four_files(tmp_path, dead={2: [0]})
    with pytest.warns(RuntimeWarning, match="no compiler here"):
        assert read(spark, plan).count() == 39


EXECUTORS = """
import sys
from pyspark.sql import SparkSession, functions as F
from pathlib import Path
from esker.spark.read import read
from tests.spark.test_native import cluster_plan
spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    .config("spark.executorEnv.PYTHONPATH", ":".join(sys.path)).getOrCreate()
)
frame = read(spark, cluster_plan(Path(sys.argv[1])), relation="native")
assert frame.count() == 39
assert frame.where("s.a > 5 AND part < 3").count() == 23
assert frame.groupBy("part").agg(F.sum("s.a")).count() == 4
assert frame.join(frame.select("part").distinct(), "part").count() == 39
assert frame.cache().count() == 39
print("executors have all they need")
"""


def cluster_plan(folder: Path) -> ScanPlan:
    """Renamed and nested columns, constants and deletes."""
    seen, there = (
        Struct((Field("a", t.LONG), Field("l", Array(t.LONG)))),
        Struct((Field("b", t.LONG), Field("m", Array(t.LONG)))),
    )
    return plan_of(
        folder,
        {str(n): pa.table({"col": [{"b": i, "m": [i]} for i in range(n * 10, n * 10 + 10)]}) for n in range(FILES)},
        [stored("s", seen, Field("col", there)), constant("part", t.INTEGER)],
        constants=pa.table({"part": pa.array(range(FILES), pa.int32())}),
        constant_fields=[Field("part", t.INTEGER)],
        dead={1: [3]},
    )


@pytest.mark.slow
def test_executors_in_processes_of_their_own_need_no_class_of_ours(tmp_path: Path):
    own = {"SPARK_WORKER_DIR": str(tmp_path / "work"), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", EXECUTORS, str(tmp_path / "table")],
        cwd=Path(__file__).resolve().parents[2], env=os.environ | own,
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert "executors have all they need" in done.stdout, done.stderr[-3000:]


@pytest.mark.parametrize("setting, value", [
    ("spark.sql.parquet.enableVectorizedReader", "false"), ("spark.sql.codegen.wholeStage", "false"),
    ("spark.sql.codegen.factoryMode", "NO_CODEGEN"), ("spark.sql.ansi.enabled", "false"),
    ("spark.sql.parquet.filterPushdown", "false"), ("spark.sql.optimizer.nestedSchemaPruning.enabled", "false"),
])  # fmt: skip
def test_rows_are_the_same_however_spark_is_set(native, spark, tmp_path: Path, setting: str, value: str):
    frame = native(cluster_plan(tmp_path))
    before = spark.conf.get(setting)
    try:
        spark.conf.set(setting, value)
        assert frame.where("s.a > 5 AND part < 3").count() == 23
        assert frame.where("s.l[0] = 13").count() == 0
        assert rows_of(frame.where("part = 1").select("s.a").toArrow()) == [(i,) for i in range(10, 20) if i != 13]
    finally:
        spark.conf.set(setting, before)
