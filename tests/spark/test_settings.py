"""A call has settings of its own, and leaves the session as it was."""

from threading import Barrier, Thread

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import esker
from esker.spark.settings import settings

pytestmark = pytest.mark.spark
KEY = "spark.sql.parquet.outputTimestampType"


def test_two_objects_for_one_session_hold_a_setting_together(spark):
    twin = SparkSession(spark.sparkContext, spark._jsparkSession)
    assert twin is not spark
    before = spark.conf.get(KEY, None)
    first, second = settings(spark, {KEY: "TIMESTAMP_MICROS"}), settings(twin, {KEY: "TIMESTAMP_MICROS"})
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert spark.conf.get(KEY) == "TIMESTAMP_MICROS"
    second.__exit__(None, None, None)
    assert spark.conf.get(KEY, None) == before


def test_a_session_that_is_found_in_another_thread_keeps_its_settings(spark):
    from esker.spark.session import session

    found: list[SparkSession] = []
    name, start = spark.conf.get("spark.app.name"), Barrier(3)

    def find() -> None:
        start.wait()
        found.append(session("another"))

    threads = [Thread(target=find) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [spark] * 3
    assert spark.conf.get("spark.app.name") == name


def test_a_session_that_reads_sql_otherwise_loses_no_row_and_deletes_the_rows_that_it_means(spark, tmp_path):
    table = esker.create(tmp_path / "t", pa.table({"s": ["x"], "t": ["x"]}))
    table.append(pa.table({"s": ["t"], "t": ["y"]}))
    own = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}
    with settings(spark, own):
        assert [tuple(row) for row in table.to_df(spark, where='s = "t"').collect()] == [("x", "x")]
        table.delete('s = "t"', spark=spark)
    assert table.to_arrow().to_pylist() == [{"s": "t", "t": "y"}]
