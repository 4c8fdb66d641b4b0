"""What is asked of pylance by itself?  The session is there for the other side."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.questions import WANTED_ROW, Answer


def counted(spark: SparkSession, folder: str) -> Answer:
    return _summed(lance.dataset(f"{folder}/lance").to_batches())


def found(spark: SparkSession, folder: str) -> Answer:
    return _summed(lance.dataset(f"{folder}/lance").to_batches(filter=f"id = {WANTED_ROW}"))


def written(spark: SparkSession, folder: str) -> Answer:
    source = pads.dataset(f"{folder}/data")
    with TemporaryDirectory(dir=Path(folder).parent) as target:
        reader = pa.RecordBatchReader.from_batches(source.schema, source.to_batches())
        made = lance.write_dataset(reader, f"{target}/t", data_storage_version="2.1")
        return [made.count_rows(), made.version]


def written_whole(spark: SparkSession, folder: str) -> Answer:
    rows = pq.read_table(f"{folder}/data")
    with TemporaryDirectory(dir=Path(folder).parent) as target:
        made = lance.write_dataset(rows, f"{target}/t", data_storage_version="2.1")
        return [made.count_rows(), made.version]


def _summed(batches: Iterable[pa.RecordBatch]) -> Answer:
    """The sum of the ids, and how many values of each column are not null: every value is read, and nothing kept."""
    total, counts = 0, Counter[str]()
    for batch in batches:
        total += pc.sum(batch.column("id")).as_py()
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            counts[name] += len(values) - values.null_count
    return [total, *(counts[name] for name in sorted(counts))]
