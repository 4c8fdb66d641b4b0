"""Is the list of live files made by Spark's workers where that is asked for, or where it is too much for the driver?"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import esker
import esker.table
from esker.core.job import Job

pytestmark = pytest.mark.spark

SOME = [(4, "a"), (5, "a"), (6, "a"), (20, "a")]


def table(folder: Path) -> esker.Table:
    """A table with a checkpoint, a compaction, commits after both, and a file that has lost some of its rows to a filter."""
    made = esker.create(folder, "id bigint, p string", partition_by=["p"], properties={"delta.checkpointPolicy": "v2"})
    made.append(pa.table({"id": [1, 2], "p": ["a", "a"]})).append(pa.table({"id": [3], "p": ["a"]})).checkpoint()
    made.append(pa.table({"id": [4, 5, 6], "p": ["a"] * 3})).append(pa.table({"id": [7], "p": ["b"]}))
    made.compact_log(3, 4)
    made.overwrite(pa.table({"id": [8], "p": ["b"]}), dynamic=True)
    return made.append(pa.table({"id": [20], "p": ["a"]}))


def found(opened: esker.Table, spark: Any, **options: Any) -> list[tuple[int, str]]:
    return sorted((row["id"], row["p"]) for row in opened.to_df(spark, **options).collect())


def test_the_workers_list_the_files_that_the_driver_lists(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = esker.open(table(tmp_path).location)
    jobs: list[Job] = []
    run = esker.table.run_job
    monkeypatch.setattr(esker.table, "run_job", lambda own, job: (jobs.append(job), run(own, job))[1])
    assert found(opened, spark, where="p = 'a' AND id > 3") == SOME
    assert not jobs
    assert [i for i, _ in found(opened, spark, replay="spark")] == [1, 2, 3, 4, 5, 6, 8, 20]
    assert len(jobs) == 1
    # where nobody says, the size of the metadata does
    monkeypatch.setattr(esker.table, "LARGE_STATE", 1)
    assert found(opened, spark, where="p = 'a' AND id > 3", relation="portable") == SOME
    assert len(jobs) == 2
    assert found(opened, spark, where="p = 'a' AND id > 3", replay="driver") == SOME
    assert len(jobs) == 2
