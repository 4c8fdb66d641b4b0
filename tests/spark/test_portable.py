"""The portable relation leaves the session as it was and misses no file."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from esker.core import types as t
from esker.core.scan import ScanPlan
from esker.core.types import Field
from esker.errors import InvalidTable
from tests.spark.plans import assert_same_rows, constant, plan_of, stored

pytestmark = pytest.mark.spark
THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"


def numbers(folder: Path, count: int = 3, **more: Any) -> ScanPlan:
    files = {f"{n}.parquet": pa.table({"i": [n, n + 100]}) for n in range(count)}
    return plan_of(folder, files, [stored("i", t.LONG)], **more)


def test_the_settings_of_the_session_are_what_they_were(spark, tmp_path: Path):
    from esker.spark.read import read

    before = spark.conf.get(THRESHOLD)
    assert read(spark, numbers(tmp_path, 50), relation="portable").count() == 100
    assert spark.conf.get(THRESHOLD) == before
    plan = numbers(tmp_path)
    (tmp_path / "0.parquet").unlink()
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        read(spark, plan, relation="portable")
    assert spark.conf.get(THRESHOLD) == before


def test_a_file_that_spark_does_not_see_is_refused_before_rows_flow(spark, tmp_path: Path):
    """Only files that Spark lists come here; were one of them not listed after all, its rows would be missing."""
    from esker.spark import portable

    plan = plan_of(tmp_path, {"_hidden": pa.table({"i": [1]}), "seen": pa.table({"i": [2]})}, [stored("i", t.LONG)])
    with pytest.raises(InvalidTable, match="Spark does not see these data files"):
        portable.rows(spark, plan)


def test_folders_that_look_like_partitions_add_no_columns(spark, tmp_path: Path):
    from esker.spark.read import read

    files = {f"i={n}/x=1/f.parquet": pa.table({"i": [n * 10]}) for n in range(2)}
    plan = plan_of(tmp_path, files, [stored("i", t.LONG)])
    assert_same_rows(read(spark, plan, relation="portable"), plan)


def test_a_plan_without_constants_and_deletes_is_a_plain_scan(spark, tmp_path: Path):
    from esker.spark.read import read

    explained = read(spark, numbers(tmp_path), relation="portable")._jdf.queryExecution().toString()
    assert "Join" not in explained


def test_a_file_that_is_not_in_the_file_relation_stops_the_query(spark, tmp_path: Path, monkeypatch):
    from esker.spark import portable

    plan = plan_of(
        tmp_path, {"a": pa.table({"i": [1]})}, [stored("i", t.LONG), constant("c", t.STRING)],
        constants=pa.table({"c": ["x"]}), constant_fields=[Field("c", t.STRING)],
    )  # fmt: skip
    facts = portable._facts
    monkeypatch.setattr(portable, "_facts", lambda *a: facts(*a).slice(0, 0))
    with pytest.raises(Exception, match="a file that was not planned is read"):
        portable.rows(spark, plan).collect()
