"""The `add` of each live file, as it was written.  (PROTOCOL.md, "Add File and Remove File")"""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.types import Field, Struct
from esker.delta.actions import Add, action_json
from esker.delta.deletion_vectors import DeletionVector
from esker.delta.live_adds import live_adds
from tests.delta.tables import ID, Action, Log, add, checkpoint_rows, inline, metadata, parquet, protocol, remove

BY_COUNTRY = Struct((Field("id", t.LONG), Field("country", t.STRING), Field("day", t.DATE)))


def adds(log: Log, rows: list[int] | None = None) -> list[Add]:
    return list(live_adds(log.snapshot(), rows))


def test_an_add_comes_back_with_everything_it_said() -> None:
    body = add(
        "a%20b.parquet", stats='{"numRecords": 3,   "minValues":{"id":1}}', dv=inline(1, 2), size=9, modificationTime=8,
        dataChange=False, baseRowId=0, defaultRowCommitVersion=7, clusteringProvider="liquid", tags={"ZCUBE_ID": "c", "none": None},
    )  # fmt: skip
    log = Log().start(features=["deletionVectors"])
    log.commit(body)
    (found,) = adds(log)
    assert action_json(found) == body


def test_what_an_add_leaves_out_stays_left_out() -> None:
    log = Log().start()
    log.commit(add("a.parquet"))
    (found,) = adds(log)
    assert found == Add("a.parquet", {}, 1, 1, True)
    assert found.base_row_id is None


def test_files_that_were_removed_are_not_among_them() -> None:
    log = Log().start()
    log.commit(add("a.parquet"), add("b.parquet"))
    log.commit(remove("a.parquet"))
    assert [a.path for a in adds(log)] == ["b.parquet"]


@pytest.mark.parametrize("where", ["commit", "checkpoint"])
def test_partition_values_come_by_name_and_null_where_there_is_none(where: str) -> None:
    files = [
        add("a", partition={"country": "NO", "day": "2024-01-01"}), add("b", partition={"country": None, "day": ""}),
        add("c", partition={}),
    ]  # fmt: skip
    log = Log().start(BY_COUNTRY, partition_by=["country", "day"])
    log.commit(*files)
    if where == "checkpoint":
        start: list[Action] = [protocol(), metadata(BY_COUNTRY, partition_by=["country", "day"])]
        log.checkpoint(1, start + files)
    assert [a.partition_values for a in adds(log)] == [
        {"country": "NO", "day": "2024-01-01"},
        {"country": None, "day": ""},
        {"country": None, "day": None},
    ]


def test_with_column_mapping_partition_values_go_by_physical_names() -> None:
    """ "Track partition values [...] with the physical name of the column"  (Writer Requirements for Column Mapping)"""
    names = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-x"}
    own = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-id"}
    schema = Struct((Field("id", t.LONG, metadata=own), Field("country", t.STRING, metadata=names)))
    log = Log().start(schema, features=["columnMapping"], partition_by=["country"], delta__columnMapping__mode="name")
    log.commit(add("a", partition={"col-x": "NO"}))
    assert [a.partition_values for a in adds(log)] == [{"col-x": "NO"}]


def test_a_vector_in_a_file_comes_back_with_its_offset() -> None:
    vector: Action = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40,
                      "cardinality": 6}  # fmt: skip
    log = Log().start(features=["deletionVectors"])
    log.commit(add("a", dv=vector, stats={"numRecords": 9}), add("b"))
    first, second = adds(log)
    assert first.deletion_vector == DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, 4)
    assert second.deletion_vector is None


PARSED = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", pa.struct([("id", pa.int64())])),
        ("nullCount", pa.struct([("id", pa.int64())])),
    ]
)


def checkpointed(count: int, with_text: bool = False) -> Log:
    """A table whose checkpoint keeps the statistics of its files as structs only, and two files in a commit after it."""
    log = Log().start()
    files = []
    for n in range(count):
        action = add(f"c{n}", stats={"numRecords": n} if with_text else None)
        action["add"]["stats_parsed"] = {"numRecords": n, "minValues": {"id": n}, "nullCount": {"id": 0}}
        files.append(action)
    log.put(f"{0:020}.checkpoint.parquet", parquet(checkpoint_rows([protocol(), metadata(ID), *files], PARSED)))
    log.commit(add("j0", stats='{"numRecords":100}'), add("j1"))
    return log


def test_statistics_kept_as_structs_come_as_json_and_texts_stay_as_they_are() -> None:
    found = {a.path: a.stats for a in adds(checkpointed(3))}
    assert json.loads(found["c2"] or "") == {"numRecords": 2, "minValues": {"id": 2}, "nullCount": {"id": 0}}
    assert found["j0"] == '{"numRecords":100}'
    assert found["j1"] is None


def test_where_a_checkpoint_has_both_forms_the_text_counts() -> None:
    assert {a.path: a.stats for a in adds(checkpointed(2, with_text=True))}["c1"] == '{"numRecords": 1}'


@pytest.mark.parametrize("rows", [[], [0], [4, 0, 3, 1], [1, 1], [2, 3, 4]])
def test_some_files_come_in_the_order_asked_for(rows: list[int]) -> None:
    log = checkpointed(3)
    whole = adds(log)
    assert adds(log, rows) == [whole[row] for row in rows]


def test_many_files_come_in_batches_each_with_its_own_fields() -> None:
    found = adds(checkpointed(40_000))
    assert len(found) == 40_002
    assert [a.path for a in found[:40_000]] == [f"c{n}" for n in range(40_000)]
    assert all(json.loads(a.stats or "")["numRecords"] == n for n, a in enumerate(found[:40_000]))


TEXTS = st.text('ab %/=é😀"\\{},:\0\t', max_size=8)
NUMBERS = st.none() | st.integers(0, 2**63 - 1)


@st.composite
def some_adds(draw: st.DrawFn) -> list[Add]:
    paths = draw(st.lists(TEXTS.filter(bool), unique=True, max_size=6))
    vector = st.builds(DeletionVector, st.just("i"), TEXTS, st.integers(0, 2**31 - 1), st.integers(0, 2**40))
    fields: dict[str, Any] = {
        "partition_values": st.fixed_dictionaries({"country": st.none() | TEXTS, "day": st.none() | TEXTS}),
        "size": st.integers(0, 2**63 - 1), "modification_time": st.integers(0, 2**63 - 1), "data_change": st.booleans(),
        "stats": st.none() | TEXTS, "deletion_vector": st.none() | vector, "base_row_id": NUMBERS,
        "default_row_commit_version": NUMBERS, "clustering_provider": st.none() | TEXTS,
    }  # fmt: skip
    return [draw(st.builds(Add, st.just(path), **fields)) for path in paths]


@settings(deadline=None)
@given(some_adds())
def test_whatever_was_committed_comes_back(written: list[Add]) -> None:
    log = Log().start(BY_COUNTRY, partition_by=["country", "day"])
    log.commit(*(dict(action_json(a)) for a in written))
    assert adds(log) == written
