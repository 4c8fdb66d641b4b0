"""Which questions about Lance tables are asked?

Rows go through Python workers and pylance there and back. So the limit is what Arrow batches cost on their way between a worker
and the JVM, and pylance alone, which has no such way, is the measure of it.
"""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

import esker
from bench.cases import Bar, Case, Contender
from bench.scale import Scale
from bench.tables import made, rows_table

_WRITE_BAR = (Bar("wall", 1.3),)
_THROUGH_SPARK = (
    "pylance alone reads and writes columns, and no row is ever put together. Rows of a Spark frame are: Spark reads the "
    "files into rows, and lays the rows out as Arrow for a worker, value by value. That is four fifths of the time, and none of "
    "it is Lance's: the column for Parquet is what Spark's own writer takes for the same rows."
)


def both(folder: Path, scale: Scale) -> Path:
    """The same rows as Parquet files, in `data`, and as a Lance table, in `lance`: as many as tables have that are written to."""
    parquet = rows_table(folder, replace(scale, files=scale.target_files))

    def make(target: Path) -> None:
        (target / "data").symlink_to(parquet / "data", target_is_directory=True)
        table = None
        for file in sorted((parquet / "data").iterdir()):
            rows = pq.read_table(file)
            table = esker.create(target / "lance", rows, format="lance") if table is None else table.append(rows)

    return made(folder / f"lance-{scale.target_files}x{scale.rows_per_file}", make)


LANCE = (
    Case("lance-scan", "scan the rows of a Lance table on Spark", both,
         Contender("esker", "lance_by_esker.scanned", "`esker.open(p).to_df(spark)`, aggregated"),
         (Contender("Parquet", "by_spark.scanned", "`spark.read.parquet(p)`, aggregated"),), "session"),
    Case("lance-scan-alone", "the same, the peer without Spark", both,
         Contender("esker", "lance_by_esker.counted", "`esker.open(p).to_df(spark)`, counted and summed up"),
         (Contender("pylance", "lance_by_pylance.counted", "`lance.dataset(p).to_batches()`, the same"),), "session"),
    Case("lance-filter", "read one row of them by a filter, on Spark", both,
         Contender("esker", "lance_by_esker.filtered", "`esker.open(p).to_df(spark, where=…)`, aggregated"),
         (Contender("Parquet", "by_spark.filtered", "`spark.read.parquet(p).where(…)`, aggregated"),), "session"),
    Case("lance-filter-alone", "the same, the peer without Spark", both,
         Contender("esker", "lance_by_esker.found", "`esker.open(p).to_df(spark, where=…)`, counted and summed up"),
         (Contender("pylance", "lance_by_pylance.found", "`lance.dataset(p).to_batches(filter=…)`, the same"),), "session"),
    Case("lance-write", "write them from Parquet files", both,
         Contender("esker", "lance_by_esker.written", "`esker.create(p, frame, format=\"lance\")`"),
         (Contender("pylance", "lance_by_pylance.written", "`lance.write_dataset(batches, p)`", _WRITE_BAR),
          Contender("Parquet", "by_spark.written", "`frame.write.parquet(p)`")), "session", note=_THROUGH_SPARK),
    Case("lance-write-alone", "the same from Arrow, without Spark", both,
         Contender("esker", "lance_by_esker.written_alone", "`esker.create(p, rows, format=\"lance\")`"),
         (Contender("pylance", "lance_by_pylance.written_whole", "`lance.write_dataset(rows, p)`", _WRITE_BAR),), "session"),
)  # fmt: skip
