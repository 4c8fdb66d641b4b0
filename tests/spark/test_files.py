"""Our spelling of a path becomes Spark's in one place, and it is right for every character."""

import string
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from esker.spark.files import is_listed, is_openable, key_of_input_file, spark_key, spark_path, spark_pattern

BEYOND_ASCII = ["é", "日", "\u00a0", "\u0085", "\u2028", "\u200b", "😀", "\u00ad", "e\u0301", "\x07", "\x7f"]


@pytest.mark.parametrize("url, path, key", [
    ("file:///lake/a b.parquet", "file:///lake/a b.parquet", "file:/lake/a%20b.parquet"),
    ("file:///lake/50%.parquet", "file:///lake/50%.parquet", "file:/lake/50%25.parquet"),
    ("s3://bucket/a#b", "s3a://bucket/a#b", "s3a://bucket/a%23b"),
    ("abfss://box@account.dfs.core.windows.net/x", "abfss://box@account.dfs.core.windows.net/x",
     "abfss://box@account.dfs.core.windows.net/x"),
])  # fmt: skip
def test_a_url_has_a_path_and_a_key(url: str, path: str, key: str):
    assert spark_path(url) == path
    assert spark_key(url) == key


@pytest.mark.parametrize("name, listed, openable", [
    ("a.parquet", True, True), ("_a.parquet", False, True), (".a.parquet", False, True), ("_a=1.parquet", True, True),
    ("a._COPYING_", False, True), ("_folder/a.parquet", True, True), ("a:b.parquet", False, False),
])  # fmt: skip
def test_some_names_are_not_for_spark(name: str, listed: bool, openable: bool):
    assert (is_listed(f"file:///lake/{name}"), is_openable(f"file:///lake/{name}")) == (listed, openable)


@pytest.mark.spark
def test_the_keys_are_what_spark_says_of_its_rows(spark, tmp_path: Path):
    printable = [c for c in string.printable if c not in "/:"]
    urls = []
    for n, character in enumerate([*printable, *BEYOND_ASCII]):
        pq.write_table(pa.table({"n": [n]}), tmp_path / f"{n}-{character}.parquet")
        urls.append(f"file://{tmp_path}/{n}-{character}.parquet")
    before = spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.threshold")
    try:
        spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", str(len(urls) + 1))
        frame = spark.read.schema("n long").parquet(*map(spark_pattern, urls))
    finally:
        spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", before)
    said = {row.n: row.file_path for row in frame.select("n", "_metadata.file_path").collect()}
    assert said == {n: spark_key(url) for n, url in enumerate(urls)}
    assert {key_of_input_file(name) for name in frame.inputFiles()} == set(said.values())
