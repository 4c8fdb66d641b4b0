"""Which questions about Iceberg tables are asked?"""

from collections.abc import Callable
from pathlib import Path

from bench import iceberg_tables as tables
from bench.cases import Bar, Case, Contender
from bench.scale import Scale

_EVEN = (Bar("cpu", 1.0), Bar("wall", 1.0))
_HALF = (Bar("cpu", 0.5), Bar("wall", 0.5))
_SCAN = (Bar("cpu", 1.05), Bar("wall", 1.05))
_PLAN = (Bar("cpu", 0.2), Bar("wall", 0.2), Bar("memory", 0.5))

_LISTED = (
    "the files are only named, none is there. PyIceberg's plan is a list of tasks, an object each, with the statistics of its "
    "file; Esker's is columns of paths, sizes and deletes, and statistics are read of the columns in a filter."
)
_JAVA = "iceberg-spark plans by its Java interface, which streams tasks that are counted and forgotten."
_JOBS = (
    "Parquet says what is no format's: the job by which Spark writes 100 rows. Less than that is not to be had with Spark's own "
    "writer, and it is more than half of what iceberg-spark takes, which has a writer of its own."
)
_CATALOGS = "Esker's table lies in a folder by itself, PyIceberg's in a catalog that SQLite keeps. Both create it first."


def _planned(name: str, title: str, table: Callable[[Path, Scale], Path], call: str, where: tuple[str, str]) -> Case:
    ours = Contender("esker", f"iceberg_by_esker.{call}", f"the plan of `esker.open(p).to_arrow({where[0]})`")
    peer = Contender("pyiceberg", f"iceberg_by_pyiceberg.{call}", f"`list(table.scan({where[1]}).plan_files())`", _PLAN)
    return Case(name, title, table, ours, (peer,), "process", note=_LISTED)


def _planned_on_spark(name: str, title: str, table: Callable[[Path, Scale], Path], call: str) -> Case:
    where = "" if call == "plan" else ".filter(…)"
    ours = Contender("esker", f"iceberg_plan_by_esker.{call}", "the plan, as above")
    peer = Contender("iceberg-spark", f"iceberg_plan_by_spark.{call}", f"`table.newScan(){where}.planFiles()`", _EVEN)
    return Case(name, title, table, ours, (peer,), "sessions", copied=tables.linked, note=_JAVA)


def _scanned(name: str, title: str, table: Callable[[Path, Scale], Path]) -> Case:
    ours = Contender("esker", "iceberg_by_esker_on_spark.scan", "`esker.open(p).to_df(spark)`, aggregated")
    peer = Contender("iceberg-spark", "iceberg_by_spark.scan", "`spark.table(t)`, aggregated", _EVEN)
    return Case(name, title, table, ours, (peer,), "sessions", copied=tables.linked)


def _changed(
    name: str, title: str, table: Callable[[Path, Scale], Path], call: str, does: tuple[str, str]
) -> Case:
    """The same change by Esker and by iceberg-spark; `does` says how each is asked for it."""
    ours = Contender("esker", f"iceberg_by_esker_on_spark.{call}", does[0])
    peer = Contender("iceberg-spark", f"iceberg_by_spark.{call}", does[1], _EVEN)
    return Case(name, title, table, ours, (peer,), "sessions", copied=tables.copied)


_NONE, _ID = ("", ""), ("where=\"id = …\"", "row_filter=EqualTo(\"id\", …)")
_DELETE = ("`table.delete(\"id % 100 = 7\")`", "`DELETE FROM t WHERE id % 100 = 7`")
_MERGE = ("`table.merge(rows, \"target.id = source.id\")`, update and insert all", "`MERGE INTO t USING …`, the same")

ICEBERG = (
    _planned("plan", "plan a table of 100,000 files", tables.listed, "planned", _NONE),
    _planned("plan-filter", "the same, with a filter that one file passes", tables.listed, "filtered", _ID),
    _planned("plan-million", "plan a table of 1,000,000 files", tables.listed_more, "planned", _NONE),
    _planned("plan-million-filter", "the same, with a filter that one file passes", tables.listed_more, "filtered", _ID),
    _planned_on_spark("plan-spark", "plan the 100,000 files in a process that runs on", tables.listed, "plan"),
    _planned_on_spark("plan-filter-spark", "the same, with the filter", tables.listed, "filter"),
    _planned_on_spark("plan-million-spark", "plan the 1,000,000 files there", tables.listed_more, "plan"),
    _planned_on_spark("plan-million-filter-spark", "the same, with the filter", tables.listed_more, "filter"),
    Case("iceberg-scan", "scan 10 million rows on Spark", tables.plain,
         Contender("esker", "iceberg_by_esker_on_spark.scanned", "`esker.open(p).to_df(spark)`, aggregated"),
         (Contender("Parquet", "by_spark.scanned", "`spark.read.parquet(p)`, aggregated", _SCAN),), "session"),
    _scanned("scan-positions", "the same, 1 % of rows deleted by position", tables.with_position_deletes),
    _scanned("scan-vectors", "the same, by deletion vectors", tables.with_vectors),
    _scanned("scan-equality", "the same, by equality of the id", tables.with_equality_deletes),
    _changed("iceberg-append", "append 10 million rows", tables.empty_for_rows, "append",
             ("`table.append(frame)`", "`frame.writeTo(t).append()`")),
    _changed("iceberg-delete", "delete 1 % of 10 million rows, copy on write", tables.plain, "delete", _DELETE),
    _changed("iceberg-delete-read", "the same, merge on read: deletion vectors", tables.on_read, "delete", _DELETE),
    _changed("iceberg-merge", "merge 100,000 rows into 10 million, copy on write", tables.plain, "merge", _MERGE),
    _changed("iceberg-merge-read", "the same, merge on read: deletion vectors", tables.on_read, "merge", _MERGE),
    _changed("iceberg-compact", "compact 1,000 small files", tables.loose, "optimize",
             ("`table.optimize()`", "`CALL system.rewrite_data_files(t)`")),
    Case("iceberg-appends", "200 appends of 100 rows", tables.empty,
         Contender("esker", "iceberg_by_esker_on_spark.append_often", "`table.append(frame)`, again and again"),
         (Contender("iceberg-spark", "iceberg_by_spark.append_often", "`frame.writeTo(t).append()`, again and again", _HALF),
          Contender("Parquet", "writing_by_parquet.append_often", "`frame.write.parquet(p)`, again and again")),
         "sessions", turns=10, copied=tables.copied, note=_JOBS),
    Case("iceberg-commits", "200 commits of 100 rows, without Spark", tables.empty,
         Contender("esker", "iceberg_by_esker.committed", "`table.append(rows)`, again and again"),
         (Contender("pyiceberg", "iceberg_by_pyiceberg.committed", "`table.append(rows)`, again and again", _EVEN),),
         "process", note=_CATALOGS),
)  # fmt: skip
