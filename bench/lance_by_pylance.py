"""What is asked of pylance by itself?  The session is there for the other side."""

from pathlib import Path
from tempfile import TemporaryDirectory

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from pyspark.sql import SparkSession

from bench.questions import WANTED_ROW, Answer


def counted(spark: SparkSession, folder: str) -> Answer:
    count = total = 0
    for batch in lance.dataset(f"{folder}/lance").to_batches():
        count += batch.num_rows
        total += pc.sum(batch.column("id")).as_py()
    return [count, total]


def found(spark: SparkSession, folder: str) -> Answer:
    rows = lance.dataset(f"{folder}/lance").to_table(filter=f"id = {WANTED_ROW}")
    return [rows.num_rows, pc.sum(rows.column("id")).as_py()]


def written(spark: SparkSession, folder: str) -> Answer:
    source = pads.dataset(f"{folder}/data")
    with TemporaryDirectory(dir=Path(folder).parent) as target:
        reader = pa.RecordBatchReader.from_batches(source.schema, source.to_batches())
        made = lance.write_dataset(reader, f"{target}/t", data_storage_version="2.1")
        return [made.count_rows(), made.version]
