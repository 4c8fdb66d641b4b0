"""What is compared with what, and which ratio is to be reached?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from bench import tables
from bench.tables import Scale

Measure = Literal["cpu", "wall", "memory"]


@dataclass(frozen=True, slots=True)
class Bar:
    """The greatest ratio to the peer that is good enough."""

    measure: Measure
    at_most: float


@dataclass(frozen=True, slots=True)
class Contender:
    """One side: a function `module.name` of this package, and the same in words."""

    name: str
    call: str
    does: str


@dataclass(frozen=True, slots=True)
class Case:
    """A comparison of Esker with a peer on one table."""

    name: str
    title: str
    table: Callable[[Path, Scale], Path]
    ours: Contender
    peer: Contender
    bars: tuple[Bar, ...] = ()
    on_spark: bool = False
    live: float = 1.0
    """The part of the peer's rows that is live for Esker."""

    @property
    def contenders(self) -> tuple[Contender, Contender]:
        return self.ours, self.peer


def chosen(patterns: Sequence[str]) -> list[Case]:
    """The cases whose names match one of the patterns; all of them where there is none."""
    return [case for case in CASES if not patterns or any(fnmatch(case.name, pattern) for pattern in patterns)]


LIST_BARS = (Bar("cpu", 0.5), Bar("memory", 0.5))
DESCRIBE_BARS = (Bar("cpu", 0.1),)

_LIST = Contender("esker", "by_esker.list_files", "`esker.open(p).files()`")
_DESCRIBE = Contender("esker", "by_esker_metadata.describe", "`esker.open(p).describe()`")
_FILTER = Contender("esker", "by_esker.filtered", "`esker.open(p).to_arrow(where=…)`")
_SCAN = Contender("esker", "by_esker_on_spark.scanned", "`esker.open(p).to_df(spark)`, aggregated")
_DELTALAKE_LIST = Contender("deltalake", "by_deltalake.list_files", "`DeltaTable(p).get_add_actions()`")
_DELTALAKE_DESCRIBE = Contender("deltalake", "by_deltalake.describe", "`DeltaTable(p)`, `.metadata()`, `.schema()`")
_PLAIN_SCAN = Contender("Parquet", "by_spark.scanned", "`spark.read.parquet(p)`, aggregated")


def _scan(name: str, title: str, table: Callable[[Path, Scale], Path], bar: float, live: float = 1.0) -> Case:
    return Case(name, title, table, _SCAN, _PLAIN_SCAN, (Bar("cpu", bar), Bar("wall", bar)), on_spark=True, live=live)


CASES = (
    Case("list-log", "list 300,000 files from JSON commits", tables.big_log, _LIST, _DELTALAKE_LIST, LIST_BARS),
    Case("uris-log", "the same, where the peer gives paths only", tables.big_log, _LIST,
         Contender("deltalake", "by_deltalake.uris", "`DeltaTable(p).file_uris()`")),
    Case("describe-log", "describe that table", tables.big_log, _DESCRIBE, _DELTALAKE_DESCRIBE, DESCRIBE_BARS),
    Case("list-classic", "list them from a classic checkpoint", tables.classic_checkpoint, _LIST, _DELTALAKE_LIST, LIST_BARS),
    Case("describe-classic", "describe behind a classic checkpoint", tables.classic_checkpoint, _DESCRIBE,
         _DELTALAKE_DESCRIBE, DESCRIBE_BARS),
    Case("list-v2", "list them from a v2 checkpoint with sidecars", tables.v2_checkpoint, _LIST, _DELTALAKE_LIST, LIST_BARS),
    Case("describe-v2", "describe behind a v2 checkpoint", tables.v2_checkpoint, _DESCRIBE, _DELTALAKE_DESCRIBE, DESCRIBE_BARS),
    Case("filter-dataset", "read 1 file of 10,000 by statistics, Arrow", tables.many_files, _FILTER,
         Contender("deltalake", "by_deltalake_dataset.filtered", "`DeltaTable(p).to_pyarrow_dataset().to_table(filter=…)`")),
    Case("filter-query", "the same, the peer by SQL", tables.many_files, _FILTER,
         Contender("deltalake", "by_deltalake.filtered", "`QueryBuilder().register(…).execute(sql).read_all()`")),
    Case("filter-spark", "the same, on Spark", tables.many_files,
         Contender("esker", "by_esker_on_spark.filtered", "`esker.open(p).to_df(spark, where=…)`, aggregated"),
         Contender("Parquet", "by_spark.filtered", "`spark.read.parquet(p).where(…)`, aggregated"), on_spark=True),
    _scan("scan", "scan 20 million rows on Spark", tables.rows_table, 1.05),
    _scan("scan-deletes", "the same, 1 % of rows under deletion vectors", tables.deleted_table, 1.20, 1 - tables.DELETED),
    _scan("scan-partitioned", "the same rows in 20 partitions", tables.partitioned_table, 1.05),
)  # fmt: skip
