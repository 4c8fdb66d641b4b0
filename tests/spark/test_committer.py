"""When do the files of a job come into their place?"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext

import esker
from esker.arrow.write import ArrowRows
from esker.delta.writing import write_spec
from esker.spark.write import _written
from esker.storage import open_storage
from tests.delta.operations import opened

ALGORITHM = "mapreduce.fileoutputcommitter.algorithm.version"


@pytest.mark.spark
def test_no_file_is_in_its_place_before_the_whole_job_is_done(spark: Any, tmp_path: Path) -> None:
    """A task that dies while its files are put in place, and is repeated, would leave some of them twice."""
    if spark.sparkContext.defaultParallelism < 2:
        pytest.skip("two tasks have to run at once")
    location, seen = tmp_path / "table", tmp_path / "seen"
    table = esker.create(location, "id bigint")

    def second_waits_for_first(batches: Iterable[Any]) -> Iterator[Any]:
        until = time.monotonic() + 60
        context = TaskContext.get()
        while context is not None and context.partitionId() == 1 and time.monotonic() < until and not seen.exists():
            if done := [str(path) for path in location.rglob("*.parquet") if "attempt_" not in str(path)]:
                seen.write_text("\n".join(done))
            time.sleep(0.05)
        yield from batches

    spark.conf.set(ALGORITHM, "2")
    try:
        table.append(spark.range(0, 100, numPartitions=2).mapInPandas(second_waits_for_first, "id long"))
    finally:
        spark.conf.unset(ALGORITHM)
    assert all("/_temporary/0/task_" in path for path in seen.read_text().splitlines())
    assert sorted(table.to_arrow().column("id").to_pylist()) == list(range(100))


def test_what_a_slower_twin_still_writes_is_not_taken_for_a_file_of_the_table(tmp_path: Path) -> None:
    esker.create(tmp_path, "id bigint")
    storage, source = open_storage(tmp_path), ArrowRows(pa.table({"id": [1, 2, 3]}))
    spec = write_spec(opened(storage).snapshot, source.schema)
    (file,) = source.write(spec)
    storage.put(f"{spec.folder}/_temporary/0/_temporary/attempt_1/part-1.parquet", storage.read(file.path))
    assert [found.path for found in _written(storage, spec, {})] == [file.path]
