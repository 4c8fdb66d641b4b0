"""What else keeps a change from following a rival?  The pairs of whole operations are in `test_conflict_matrix`."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from esker.arrow.write import ArrowRows
from esker.core.ddl import parse_ddl
from esker.core.predicate import Predicate, Truth
from esker.core.table import Creation, TableDefinition
from esker.core.write import WriteOptions
from esker.delta.actions import Add, DomainMetadata, Remove
from esker.delta.commit import commit
from esker.delta.table import DeltaTable, create_delta
from esker.delta.transaction import Change, Operation, ReadSet
from esker.errors import Conflict
from esker.testing.faults import Rival
from tests.delta.operations import (
    BY_VECTORS,
    Act,
    append,
    delete,
    empty,
    opened,
    rearrange,
    rows,
    seen,
    table_with,
    update,
)
from tests.delta.test_conflict_matrix import racing

EVERYTHING: tuple[Predicate, ...] = (Truth(True),)


def committed(table: DeltaTable, **change: Any) -> DeltaTable:
    return DeltaTable(commit(table.snapshot, lambda base: Change(Operation("TEST"), **change)))


def paths(table: DeltaTable) -> list[str]:
    return table.snapshot.files.table.column("path").to_pylist()


def remove(path: str) -> Remove:
    return Remove(path, {"p": "a"}, 1, 0)


def problems_of(late: DeltaTable, **change: Any) -> Iterable[str]:
    with pytest.raises(Conflict) as refused:
        committed(late, **change)
    return refused.value.problems


@pytest.mark.parametrize(
    "rival, problem",
    [(rearrange("a"), "removed or changed files that are to be removed"), (delete("id = 1"), "that are to be removed")],
)
def test_a_file_that_was_not_read_is_not_removed_after_a_rival_removed_or_changed_it(rival: Any, problem: str) -> None:
    storage = table_with(BY_VECTORS)
    first = paths(opened(storage))[0]
    (told,) = problems_of(racing(storage, rival), removes=(remove(first),))
    assert problem in told
    assert first in told


def test_a_file_that_a_rival_removed_is_not_added_again() -> None:
    storage = table_with(BY_VECTORS)
    first = paths(opened(storage))[0]
    (told,) = problems_of(racing(storage, delete("p = 'a'")), adds=(Add(first, {"p": "a"}, 1, 0, data_change=False),))
    assert f"removed or changed files that are to be added again: {first}" in told
    assert [row for row in seen(opened(storage)) if ("p", "a") in row] == []


@pytest.mark.parametrize("isolation", ["Serializable", "WriteSerializable"])
def test_a_rule_for_all_rows_does_not_follow_rows_that_were_not_asked(isolation: str) -> None:
    storage = table_with({"delta.isolationLevel": isolation})
    late = racing(storage, append("a", 99))
    metadata = late.snapshot.metadata
    ruled = replace(metadata, configuration={**metadata.configuration, "delta.constraints.small": "id < 50"})
    (told,) = problems_of(late, metadata=ruled, reads=ReadSet(EVERYTHING))
    assert "added rows that had to be read" in told


def test_files_that_are_only_rearranged_may_follow_rows_that_were_added() -> None:
    storage = table_with({})
    late = racing(storage, append("a", 99))
    before = paths(late)
    committed(late, removes=(replace(remove(before[0]), data_change=False),), reads=ReadSet(EVERYTHING))
    assert len(paths(opened(storage))) == len(before)


def test_both_commits_give_row_ids_of_their_own() -> None:
    storage = table_with({"delta.enableRowTracking": "true"})
    done = append("a", 21, 22)(racing(storage, append("a", 31, 32, 33)))
    table = done.snapshot.files.table.select(["baseRowId", "defaultRowCommitVersion", "stats"]).to_pylist()
    ids = sorted(id for row in table for id in range(row["baseRowId"], row["baseRowId"] + _records(row["stats"])))
    assert ids == list(range(12 + 2 + 3))
    assert {row["defaultRowCommitVersion"] for row in table} == {1, 2, 3, 4}


def _records(stats: str) -> int:
    return int(json.loads(stats)["numRecords"])


@pytest.mark.parametrize("domain, conflicts", [("delta.rowTracking", False), ("esker.test", True)])
def test_domains_conflict_but_for_the_one_that_every_commit_writes_anew(domain: str, conflicts: bool) -> None:
    storage = table_with({"delta.feature.domainMetadata": "supported"})
    written = {"domains": (DomainMetadata(domain, '{"rowIdHighWaterMark": 20}'),)}
    late = racing(storage, lambda table: committed(table, **written))
    if conflicts:
        (told,) = problems_of(late, **written)
        assert f"wrote the same domain metadata: {domain}" in told
    else:
        assert committed(late, **written).version == 4


def test_rows_that_were_written_before_the_clustering_columns_changed_do_not_follow_that() -> None:
    """ "Writers must write out [...] per-column statistics for clustering columns in `add` action."  (Clustered Table)"""
    storage = table_with({"delta.feature.domainMetadata": "supported"})
    clustering = DomainMetadata("delta.clustering", '{"clusteringColumns":[["id"]]}')
    late = racing(storage, lambda table: committed(table, domains=(clustering,)))
    (told,) = problems_of(late, adds=(Add("f", {"p": "a"}, 1, 0),))
    assert "changed the clustering columns" in told
    late = racing(storage, lambda table: committed(table, domains=(clustering,)))
    assert committed(late, adds=(Add("f", {"p": "a"}, 1, 0, data_change=False),)).version == 5


def test_every_rival_is_named_with_all_that_it_did() -> None:
    storage = table_with(BY_VECTORS)

    def rivals(table: DeltaTable) -> DeltaTable:
        return delete("id = 5")(append("a", 2)(update("id = 1")(table)))

    with pytest.raises(Conflict) as refused:
        update("id = 2")(racing(storage, rivals))
    told = refused.value.problems
    assert [problem[:20] for problem in told] == ["version 3 (UPDATE) a", "version 3 (UPDATE) r", "version 4 (WRITE) ad"]
    assert "UPDATE cannot follow it" in str(refused.value)


@pytest.mark.parametrize("ours", [append("a", 1), delete("p = 'a'")], ids=["append", "delete"])
def test_after_a_rival_that_partitioned_the_table_anew_there_is_a_conflict_and_nothing_else(ours: Act) -> None:
    storage = table_with({})

    def repartition(table: DeltaTable) -> DeltaTable:
        definition = TableDefinition(parse_ddl("id string, day date"), ("day",))
        fresh = ArrowRows(pa.table({"id": ["x"], "day": pa.array([1], pa.int32()).cast(pa.date32())}))
        return create_delta(storage, Creation(definition, fresh, "replace"), {})

    with pytest.raises(Conflict, match="changed the schema or the properties"):
        ours(racing(storage, repartition))


def test_of_two_who_create_a_table_one_is_told_that_it_is_there() -> None:
    storage = empty()
    definition = TableDefinition(parse_ddl("id bigint, v bigint, p string"), ("p",))
    fresh = ArrowRows(rows((1,), "a"))
    late = Rival(storage, lambda: create_delta(storage, Creation(definition, fresh), {}), matching="_delta_log/*.json")
    with pytest.raises(Conflict, match="another writer has created a table here"):
        create_delta(late, Creation(definition, fresh), {})
    assert len(seen(opened(storage))) == 1
    assert len([file for file in storage.list() if file.path.endswith(".parquet")]) == 1


def test_rows_that_were_appended_meanwhile_outlive_an_overwrite_that_has_not_seen_them() -> None:
    storage = table_with({"delta.isolationLevel": "WriteSerializable"})
    late = racing(storage, append("a", 41))
    late.overwrite(ArrowRows(rows((51,), "a")), WriteOptions(), False)
    assert [dict(row)["id"] for row in seen(opened(storage))] == [41, 51]
