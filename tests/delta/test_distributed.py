"""Is the list of live files the same, whether one machine makes it or many?  (PROTOCOL.md, "Action Reconciliation")"""

from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core.columns import booleans
from esker.core.job import Job
from esker.core.predicate import Predicate
from esker.core.sql import parse
from esker.delta import checkpoint_writer
from esker.delta.checkpoint_writer import write_checkpoint
from esker.delta.log_compaction import write_compaction
from esker.delta.plan import Pruner
from esker.delta.snapshot import Snapshot
from esker.delta.table import DeltaTable
from tests.delta.committed import created, reopened
from tests.delta.histories import FEATURES, STEPS, live_files
from tests.delta.operations import BY_VECTORS, append, delete, opened, overwrite, seen, table_with, update
from tests.delta.tables import Log, add, lines, remove

NOW = 1_800_000_000_000
NEVER = {"delta__checkpointInterval": "1000"}


def by_groups(job: Job) -> pa.Table:
    """The outcome of the job, in the way that the contract of a `Job` allows: each input apart, each key whole, in any order."""
    rows = pa.Table.from_batches([batch for n in reversed(range(job.inputs)) for batch in job.map(n)], job.mapped)
    group = [crc32(str(key).encode()) % 3 for key in rows.column(job.key).to_pylist()]
    parts = [job.reduce(rows.filter(pa.array([g == n for g in group], pa.bool_()))) for n in range(3)]
    return pa.concat_tables([job.reduced.empty_table(), *parts])


def listed(table: pa.Table) -> list[dict[str, Any]]:
    """The files, without the tags, which no reader asks for."""
    columns = [name for name in table.column_names if name != "tags"]
    return sorted(table.select(columns).to_pylist(), key=lambda row: str(row["path"]))


def replayed(table: Snapshot, where: Predicate | None = None) -> list[dict[str, Any]]:
    return listed(DeltaTable(table).replayed(by_groups, where).snapshot.files.table)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), min_size=1, max_size=10),
    st.sampled_from(["classic", "v2"]),
    st.none() | st.integers(0, 10),
    st.none() | st.tuples(st.integers(0, 5), st.integers(1, 5)),
)
def test_any_history_gives_the_same_files(
    steps: list[tuple[Any, int]], policy: str, checkpoint: int | None, compaction: tuple[int, int] | None
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint_writer, "ROWS_TOGETHER", 2)
        table = created(features=FEATURES, delta__checkpointPolicy=policy, **NEVER)
        for step, pick in steps:
            table = step(table, live_files(table), pick)
        if checkpoint is not None and checkpoint <= table.version:
            write_checkpoint(reopened(table, checkpoint), NOW)
        if compaction is not None and sum(compaction) <= table.version:
            write_compaction(reopened(table), compaction[0], sum(compaction))
    anew = reopened(table)
    assert replayed(anew) == listed(anew.files.table)


def test_a_compaction_that_strings_commits_together_newest_first_is_read_by_age() -> None:
    log = Log().start()
    log.commit(add("a"), add("c"))
    log.commit(remove("a"), add("b"))
    log.put(f"{1:020}.{2:020}.compacted.json", lines([remove("a"), add("b"), add("a"), add("c")]))
    assert [file["path"] for file in replayed(log.snapshot())] == log.paths() == ["b", "c"]


@pytest.mark.parametrize("form", [{}, {"delta.checkpoint.writeStatsAsJson": "false"}], ids=["JSON", "struct"])
@pytest.mark.parametrize("where", ["p = 'a'", "id > 10", "id = 6 OR v = 12", "id IS NULL"])
def test_a_filter_leaves_out_the_files_that_planning_would(where: str, form: dict[str, str]) -> None:
    storage = table_with(BY_VECTORS | form)
    for step in (append("b", 20, 21), delete("id = 1"), lambda table: table.checkpoint(), update("id = 12")):
        step(opened(storage))
    table, predicate = opened(storage).snapshot, parse(where)
    expected = table.files.table.filter(booleans(Pruner(table)(predicate)))
    assert paths(replayed(table, predicate)) == paths(listed(expected))
    assert expected.num_rows < len(table.files)


def paths(files: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(file["path"], file["deletionVector"]) for file in files]


def test_the_rows_of_a_table_are_read_from_the_list_that_others_made() -> None:
    storage = table_with(BY_VECTORS)
    for step in (delete("id = 1"), overwrite("b", 60, is_dynamic=True), update("id = 2")):
        step(opened(storage))
    assert seen(opened(storage).replayed(by_groups, None)) == seen(opened(storage))
