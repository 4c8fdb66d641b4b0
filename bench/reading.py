"""Which questions about reading are asked?"""

from collections.abc import Callable
from pathlib import Path

from bench import tables
from bench.cases import Bar, Case, Contender, Measure
from bench.scale import Scale


def _bars(at_most: float, *measures: Measure) -> tuple[Bar, ...]:
    return tuple(Bar(measure, at_most) for measure in measures)


LIST_BARS = _bars(0.5, "cpu", "memory")
DESCRIBE_BARS = _bars(0.1, "cpu")

_LIST = Contender("esker", "by_esker.list_files", "`esker.open(p).files()`")
_DESCRIBE = Contender("esker", "by_esker_metadata.describe", "`esker.open(p).describe()`")
_FILTER = Contender("esker", "by_esker.filtered", "`esker.open(p).to_arrow(where=…)`")
_SCAN = Contender("esker", "by_esker_on_spark.scanned", "`esker.open(p).to_df(spark)`, aggregated")
_DELTALAKE_LIST = Contender("deltalake", "by_deltalake.list_files", "`DeltaTable(p).get_add_actions()`", LIST_BARS)
_DELTALAKE_DESCRIBE = Contender(
    "deltalake", "by_deltalake.describe", "`DeltaTable(p)`, `.metadata()`, `.schema()`", DESCRIBE_BARS
)


_NARROW = (
    "this query reads every column. What it costs to tell dead rows, most of it Spark's row index, is the same however few are "
    "read: one integer column alone took 2.5 to 3 times as long as plain Parquet, and `count(*)` 3.5 to 4 times."
)


def _listed(name: str, title: str, table: Callable[[Path, Scale], Path]) -> Case:
    return Case(name, title, table, _LIST, (_DELTALAKE_LIST,), "process")


def _described(name: str, title: str, table: Callable[[Path, Scale], Path]) -> Case:
    return Case(name, title, table, _DESCRIBE, (_DELTALAKE_DESCRIBE,), "process")


def _scan(name: str, title: str, table: Callable[[Path, Scale], Path], bar: float, live: float = 1.0) -> Case:
    plain = Contender("Parquet", "by_spark.scanned", "`spark.read.parquet(p)`, aggregated", _bars(bar, "cpu", "wall"))
    return Case(name, title, table, _SCAN, (plain,), "session", live=live, note=_NARROW if live < 1 else "")


READING = (
    _listed("list-log", "list 300,000 files from JSON commits", tables.big_log),
    Case("uris-log", "the same, where the peer gives paths only", tables.big_log, _LIST,
         (Contender("deltalake", "by_deltalake.uris", "`DeltaTable(p).file_uris()`"),), "process"),
    _described("describe-log", "describe that table", tables.big_log),
    _listed("list-classic", "list them from a classic checkpoint", tables.classic_checkpoint),
    _described("describe-classic", "describe behind a classic checkpoint", tables.classic_checkpoint),
    _listed("list-v2", "list them from a v2 checkpoint with sidecars", tables.v2_checkpoint),
    _described("describe-v2", "describe behind a v2 checkpoint", tables.v2_checkpoint),
    Case("filter-dataset", "read 1 file of 10,000 by statistics, Arrow", tables.many_files, _FILTER,
         (Contender("deltalake", "by_deltalake_dataset.filtered", "`DeltaTable(p).to_pyarrow_dataset().to_table(filter=…)`"),),
         "process"),
    Case("filter-query", "the same, the peer by SQL", tables.many_files, _FILTER,
         (Contender("deltalake", "by_deltalake.filtered", "`QueryBuilder().register(…).execute(sql).read_all()`"),), "process"),
    Case("filter-spark", "the same, on Spark", tables.many_files,
         Contender("esker", "by_esker_on_spark.filtered", "`esker.open(p).to_df(spark, where=…)`, aggregated"),
         (Contender("Parquet", "by_spark.filtered", "`spark.read.parquet(p).where(…)`, aggregated"),), "session"),
    _scan("scan", "scan 20 million rows on Spark", tables.rows_table, 1.05),
    _scan("scan-deletes", "the same, 1 % of rows under deletion vectors", tables.deleted_table, 1.20, 1 - tables.DELETED),
    _scan("scan-partitioned", "the same rows in 20 partitions", tables.partitioned_table, 1.05),
)  # fmt: skip
