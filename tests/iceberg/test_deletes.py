"""Which deletes concern which data files?  (spec, "Scan Planning", "Equality Delete Files"; deletion vectors of version 3)

Every case is a table by hand; what the specification says of it stands beside it.
"""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import esker
from esker.core import types as t
from esker.core.types import Field, Struct
from esker.iceberg.data_files import DataFile
from esker.iceberg.name_mapping import PROPERTY
from esker.iceberg.schema import Schema
from tests.iceberg.tables import LOCATION, Builder, rows_of, spec

SCHEMA = Struct((Field("id", t.LONG, id=1), Field("city", t.STRING, id=2)))
BY_CITY = (spec(0, (2, "identity")), spec(1))


def _rows(*ids: int | None, city: str = "Oslo") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "city": [city] * len(ids)})


def _ids(table: esker.Table) -> list[Any]:
    return sorted(table.to_arrow(["id"]).column("id").to_pylist(), key=repr)


def test_position_deletes_concern_files_of_their_own_commit_and_older_ones_but_no_younger() -> None:
    table = Builder(SCHEMA)
    old, same = table.data(_rows(1, 2)), table.data(_rows(3, 4))
    table.commit(old)
    table.commit(same, table.positions([(old, 0), (same, 1)]))
    assert _ids(table.open()) == [2, 3]
    young = table.data(_rows(5, 6))
    ahead = table.positions([(young.file_path, 0)])
    table.commit(ahead)
    table.commit(young)
    assert _ids(table.open()) == [2, 3, 5, 6]


def test_equality_deletes_concern_strictly_older_files_only() -> None:
    table = Builder(SCHEMA)
    table.commit(table.data(_rows(1, 2, 3)))
    table.commit(table.data(_rows(2, 4)), table.equality(_rows(2), [1]))
    assert _ids(table.open()) == [1, 2, 3, 4]


def test_equality_deletes_concern_their_own_partition_and_without_one_all() -> None:
    table = Builder(SCHEMA, BY_CITY)
    oslo, rome = (table.data(_rows(1, 2, city=city), [city]) for city in ("Oslo", "Rome"))
    table.commit(oslo, rome)
    table.commit(table.equality(_rows(1), [1], ["Rome"]))
    assert rows_of(table.open().to_arrow()) == [
        {"id": 1, "city": "Oslo"}, {"id": 2, "city": "Oslo"}, {"id": 2, "city": "Rome"},
    ]  # fmt: skip
    table.commit(table.equality(_rows(2), [1], [], spec_id=1))
    assert rows_of(table.open().to_arrow()) == [{"id": 1, "city": "Oslo"}]


def test_null_equals_null_in_an_equality_delete() -> None:
    table = Builder(SCHEMA)
    table.commit(table.data(_rows(1, None, 3)))
    table.commit(table.equality(_rows(None), [1]))
    assert _ids(table.open()) == [1, 3]


def test_all_columns_of_an_equality_delete_have_to_be_equal() -> None:
    table = Builder(SCHEMA)
    table.commit(table.data(_rows(1, 2)), table.data(_rows(1, city="Rome")))
    table.commit(table.equality(_rows(1, city="Rome"), [1, 2]))
    assert rows_of(table.open().to_arrow()) == [{"id": 1, "city": "Oslo"}, {"id": 2, "city": "Oslo"}]


def test_a_column_that_was_dropped_still_counts_in_equality_deletes() -> None:
    """ "If a delete column in an equality delete file is later dropped from the table, it must still be used." """
    table = Builder(SCHEMA)
    table.commit(table.data(_rows(1)), table.data(_rows(2, city="Rome")))
    table.commit(table.equality(_rows(9, city="Rome"), [2]))
    only_id = Schema(Struct(SCHEMA.fields[:1]), 1)
    table.commit(schemas=(*table.metadata.schemas, only_id), current_schema_id=1)
    assert table.open().to_arrow().to_pylist() == [{"id": 1}]


def test_a_column_that_was_added_is_null_or_its_default_in_older_files_for_equality_deletes() -> None:
    table = Builder(SCHEMA, version=3)
    table.commit(table.data(_rows(1, 2)))
    field = Field("level", t.LONG, id=3, metadata={"initial-default": 7})
    wider = Schema(Struct((*SCHEMA.fields, field)), 1)
    table.schema = wider.struct
    table.metadata = replace(table.metadata, schemas=(*table.metadata.schemas, wider), current_schema_id=1)
    table.commit(table.data(_rows(3).append_column("level", pa.array([8], pa.int64()))))
    table.commit(table.equality(_rows(0).append_column("level", pa.array([7], pa.int64())), [3]))
    assert table.open().to_arrow().to_pylist() == [{"id": 3, "city": "Oslo", "level": 8}]


def test_a_deletion_vector_takes_the_place_of_position_deletes() -> None:
    """ "Apply a position-delete file [...] only if no DV applies." """
    table = Builder(SCHEMA, version=3)
    file = table.data(_rows(1, 2, 3))
    table.commit(file, table.positions([(file, 0)]))
    table.commit(table.vector(file, [1]))
    assert _ids(table.open()) == [1, 3]


def test_rows_can_be_dead_in_several_ways_at_once() -> None:
    table = Builder(SCHEMA, version=3)
    one, two = table.data(_rows(1, 2, 3)), table.data(_rows(4, 5, 6))
    table.commit(one, two)
    table.commit(table.vector(one, [0]), table.positions([(two, 2)]), table.equality(_rows(2, 4), [1]))
    assert _ids(table.open()) == [3, 5]


def _broken(kind: str) -> Builder:
    table = Builder(SCHEMA, BY_CITY, version=3)
    oslo, rome = (table.data(_rows(1, 2, city=city), [city]) for city in ("Oslo", "Rome"))
    table.commit(oslo, rome)
    match kind:
        case "of another partition":
            table.commit(table.positions([(oslo, 0)], ["Rome"]))
        case "of another partition than the data file that they name":
            table.commit(table.positions([(oslo, 0)], ["Rome"], names=oslo))
        case "two deletion vectors":
            table.commit(table.vector(oslo, [0]), table.vector(oslo, [1]))
        case "has 1 rows and says 5":
            table.commit(table.vector(oslo, [0], record_count=5))
        case "no deletion vector at":
            table.commit(table.vector(oslo, [0], content_offset=5))
        case "is for the data file":
            table.commit(table.vector(oslo, [0], referenced_data_file=rome.file_path, partition=rome.partition))
        case "no referenced_data_file":
            table.commit(table.vector(oslo, [0], referenced_data_file=None))
        case "deletes row 9 of a file with 2 rows":
            table.commit(table.vector(oslo, [9]))
        case "which the manifests have":
            elsewhere = oslo.file_path.replace("s3://far/", "s3a://near/far/")
            table.commit(table.positions([(elsewhere.replace("/far/away", "/away"), 0)], ["Oslo"]))
        case "no equality_ids":
            table.commit(replace(table.equality(_rows(1), [1], ["Oslo"]), equality_ids=None))
        case "which no schema has":
            table.commit(table.equality(_rows(1), [77], ["Oslo"]))
    return table


@pytest.mark.parametrize(
    "problem",
    [
        "of another partition", "of another partition than the data file that they name", "two deletion vectors",
        "has 1 rows and says 5", "no deletion vector at", "is for the data file", "no referenced_data_file",
        "deletes row 9 of a file with 2 rows", "which the manifests have", "no equality_ids", "which no schema has",
    ],
)  # fmt: skip
def test_deletes_that_do_not_fit_are_an_error_and_never_ignored(problem: str) -> None:
    with pytest.raises(esker.InvalidTable, match=problem):
        _broken(problem).open().to_arrow()


def test_position_deletes_in_a_file_without_ids_are_found_by_the_names_of_the_specification() -> None:
    """("Position Delete Files": `file_path` and `pos`)"""
    table = Builder(SCHEMA, properties={PROPERTY: '[{"field-id": 1, "names": ["pos", "id"]}]'})
    file = table.data(_rows(1, 2, 3))
    deletes = table.positions([(file, 1)])
    _put(table, deletes, pa.table({"pos": pa.array([1], pa.int64()), "file_path": [file.file_path]}))
    table.commit(file, deletes)
    assert _ids(table.open()) == [1, 3]


@pytest.mark.parametrize("missing", ["file_path", "pos", "id"])
def test_a_delete_file_without_a_column_that_tells_which_rows_are_dead_is_an_error(missing: str) -> None:
    table = Builder(SCHEMA)
    file = table.data(_rows(1, 2, 3))
    table.commit(file)
    deletes = table.equality(_rows(1), [1]) if missing == "id" else table.positions([(file, 1)])
    columns = {"file_path": [file.file_path], "pos": [1], "city": ["Oslo"]}
    _put(table, deletes, pa.table({name: values for name, values in columns.items() if name != missing}))
    table.commit(deletes)
    with pytest.raises(esker.InvalidTable, match=f"has no column {missing}"):
        table.open().to_arrow()


def _put(table: Builder, file: DataFile, rows: pa.Table) -> None:
    """Put other bytes in the place of a file."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    table.storage.put(file.file_path.removeprefix(f"{LOCATION}/"), sink.getvalue().to_pybytes())


def test_deletes_of_files_that_are_gone_are_no_error() -> None:
    table = Builder(SCHEMA)
    gone, stays = table.data(_rows(1)), table.data(_rows(2))
    table.commit(gone, stays)
    table.commit(table.positions([(gone, 0), (stays.file_path + "x", 0)]), removed=[gone])
    assert _ids(table.open()) == [2]


def test_a_missing_delete_file_is_an_error() -> None:
    table = Builder(SCHEMA)
    file = table.data(_rows(1))
    deletes = table.positions([(file, 0)])
    table.commit(file, deletes)
    table.storage.delete(deletes.file_path.removeprefix(f"{LOCATION}/"))
    with pytest.raises(esker.InvalidTable, match="missing"):
        table.open().to_arrow()


def test_changes_tell_what_deletes_of_each_kind_killed_once() -> None:
    table = Builder(SCHEMA, version=3)
    one, two = table.data(_rows(1, 2, 3)), table.data(_rows(4, 5, 6))
    first = table.commit(one, two)
    second = table.commit(table.positions([(one, 0)]), table.equality(_rows(5), [1]), operation="delete")
    table.commit(table.vector(one, [0, 1]), operation="delete")
    table.commit(table.data(_rows(3, 4, 6)), removed=[one, two], operation="replace")
    opened = table.open()
    found = opened.changes(first).to_arrow().select(["id", "_change_type", "_commit_version"]).to_pylist()
    told = sorted((row["_commit_version"], row["_change_type"], row["id"]) for row in found)
    inserts = [(100, "insert", i) for i in (1, 2, 3, 4, 5, 6)]
    assert told == [*inserts, (101, "delete", 1), (101, "delete", 5), (102, "delete", 2)]
    later = opened.changes(second).to_arrow()
    assert sorted(later.column("id").to_pylist()) == [1, 2, 5]
