"""Does a table take over the state of an earlier version, of another table, or of a folder?"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import esker
from esker.delta.snapshot import Place
from esker.delta.taken_over import convert
from esker.errors import Conflict, InvalidRequest
from esker.storage.memory import MemoryStorage
from esker.testing.faults import Rival
from tests.delta.handles import created, ids, last, operations, place, rows, with_rival

# Restore


def test_a_restored_table_has_the_rows_columns_and_properties_of_then():
    table = created("id bigint, name string", properties={"delta.columnMapping.mode": "name"})
    table.append(pa.table({"id": [1], "name": ["a"]}))
    then = esker.open(table.location)
    table.overwrite(pa.table({"id": [2], "name": ["b"]})).drop_columns("name").set_properties({"mine": "1"})
    table.restore(1)
    assert table.version == 5
    assert rows(table) == [{"id": 1, "name": "a"}]
    assert table.schema == then.schema
    assert "mine" not in table.describe().properties
    told = last(table)
    assert told["operation"] == "RESTORE"
    assert told["operationParameters"] == {"version": "1", "timestamp": "null"}
    assert told["operationMetrics"]["numRestoredFiles"] == told["operationMetrics"]["numRemovedFiles"] == "1"


def test_the_protocol_is_not_lowered_on_the_way_back():
    table = created(rows=ids(1)).set_properties({"delta.enableDeletionVectors": "true"})
    raised = table.describe().protocol
    assert table.restore(1).describe().protocol == raised
    assert table.describe().properties == {}


def test_a_moment_names_the_version_that_was_there():
    table = created(rows=ids(1))
    moment = table.describe().modified + timedelta(milliseconds=1)
    while datetime.now(UTC) < moment + timedelta(milliseconds=5):
        pass
    table.append(ids(2)).restore(timestamp=moment.isoformat())
    assert rows(table) == [{"id": 1}]
    assert last(table)["operationParameters"]["timestamp"] == moment.isoformat()


@pytest.mark.parametrize(
    "asked", [{}, {"version": 0, "timestamp": "2026-01-01"}, {"version": 2}, {"version": 9}, {"timestamp": "1999-01-01T00:00:00Z"}]
)
def test_a_restore_that_names_no_earlier_version_makes_none(asked: dict[str, Any]):
    table = created(rows=ids(1)).append(ids(2))
    with pytest.raises(InvalidRequest):
        table.restore(**asked)
    assert esker.open(table.location).version == 2


def test_files_that_are_gone_are_named_or_left_out():
    table = created(rows=ids(1)).append(ids(2)).overwrite(ids(3))
    storage = MemoryStorage(table.location)
    gone = table.at(1).files().column("path").to_pylist()[0]
    storage.delete(gone)
    with pytest.raises(InvalidRequest, match=gone):
        table.restore(2)
    assert esker.open(table.location).version == 3
    assert rows(table.restore(2, ignore_missing=True)) == [{"id": 2}]


def test_what_a_rival_adds_before_the_restore_is_taken_back_too():
    table = created(rows=ids(1)).append(ids(2))
    handle = with_rival(table, lambda rival: rival.append(ids(3)))
    handle.restore(1)
    assert (handle.version, rows(table)) == (4, [{"id": 1}])
    assert rows(table.at().restore(3)) == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_row_ids_are_not_given_out_twice_after_a_restore():
    """ "rowIdHighWaterMark": the highest id that was given out, whatever became of the rows."""
    table = created(properties={"delta.enableRowTracking": "true"}).append(ids(1, 2)).append(ids(3, 4)).restore(1).append(ids(5))
    found = esker.open(table.location).to_arrow(["id", "_row_id"]).to_pylist()
    assert {row["id"]: row["_row_id"] for row in found} == {1: 0, 2: 1, 5: 4}


# Clone


def test_a_clone_reads_the_same_and_goes_its_own_way():
    table = created("id bigint, day string", partition_by=["day"], properties={"delta.columnMapping.mode": "name", "mine": "1"})
    table.append(pa.table({"id": [1, 2], "day": ["a b", None]}))
    clone = table.clone(place())
    assert rows(clone) == rows(table)
    assert clone.schema.names == table.schema.names
    assert clone.describe().id != table.describe().id
    told = last(clone)
    assert told["operation"] == "CLONE"
    assert told["operationParameters"] == {"source": table.location, "sourceVersion": "1", "isShallow": "true"}
    clone.append(pa.table({"id": [3], "day": ["c"]})).rename_column("id", "n")
    table.overwrite(pa.table({"id": [9], "day": ["z"]}))
    assert sorted(r["n"] for r in rows(clone)) == [1, 2, 3]
    assert rows(table) == [{"id": 9, "day": "z"}]


def test_a_clone_is_of_the_version_of_the_handle():
    table = created(rows=ids(1)).append(ids(2))
    assert rows(table.at(1).clone(place())) == [{"id": 1}]


def test_a_vacuum_of_a_clone_leaves_the_files_of_its_source_alone():
    table = created(rows=ids(1))
    clone = table.clone(place()).overwrite(ids(2))
    clone.vacuum(0, allow_unsafe=True)
    assert rows(table) == [{"id": 1}]


@pytest.mark.parametrize("below", ["", "/inside"])
def test_a_clone_does_not_lie_within_its_source(below: str):
    table = created(rows=ids(1))
    with pytest.raises(InvalidRequest, match="cannot lie in"):
        table.clone(table.location + below)


def test_a_clone_does_not_take_the_place_of_a_table():
    table, other = created(rows=ids(1)), created(rows=ids(2))
    with pytest.raises(InvalidRequest, match="there is a table here"):
        table.clone(other.location)
    assert rows(other) == [{"id": 2}]


def test_a_clone_of_a_table_with_timestamps_in_commits_counts_them_from_its_own_first_version():
    table = created(rows=ids(1)).set_properties({"delta.enableInCommitTimestamps": "true"})
    clone = table.clone(place())
    assert clone.describe().properties == {"delta.enableInCommitTimestamps": "true"}
    assert rows(clone.append(ids(2))) == [{"id": 1}, {"id": 2}]


# Convert


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for day, values in (("2026-01-01", [1, 2]), ("2026-01-02", [3]), ("__HIVE_DEFAULT_PARTITION__", [4])):
        (tmp_path / f"day={day}").mkdir()
        table = pa.table({"id": pa.array(values, pa.int64()), "x": [float(v) for v in values]})
        pq.write_table(table, tmp_path / f"day={day}" / "part-0.parquet")
    return tmp_path


def test_a_folder_becomes_a_table_in_place(folder: Path):
    table = esker.convert(folder)
    assert str(table.schema) == "struct<id:long,x:double,day:date>"
    assert [row["id"] for row in rows(table)] == [1, 2, 3, 4]
    assert esker.open(folder).to_arrow(where="day = '2026-01-01'").column("id").to_pylist() == [1, 2]
    told = last(table)
    assert told["operation"] == "CONVERT"
    assert told["operationParameters"] == {
        "numFiles": "3", "partitionedBy": '["day"]', "collectStats": "true", "sourceFormat": "parquet"}  # fmt: skip
    assert table.describe().protocol == "(1, 2)"


def test_statistics_come_from_the_footers_without_bounds_that_nan_may_exceed(folder: Path):
    table = esker.convert(folder)
    stats = {s["numRecords"]: s for s in map(json.loads, table._table.snapshot.files.table.column("stats").to_pylist())}
    assert stats[2]["minValues"] == {"id": 1}
    assert stats[2]["maxValues"] == {"id": 2}
    assert stats[2]["nullCount"] == {"id": 0, "x": 0}


@pytest.mark.parametrize(
    "given, kind", [({"infer_types": False}, "string"), ({"partition_by": "day string"}, "string"), ({"partition_by": "DAY date"}, "date")]
)
def test_the_types_of_partition_columns_are_declared_or_inferred(folder: Path, given: dict[str, Any], kind: str):
    assert str(esker.convert(folder, **given).schema.find("day").type) == kind


def test_a_converted_table_is_written_to_and_vacuumed_like_any_other(folder: Path):
    table = esker.convert(folder).append(pa.table({"id": [5], "x": [0.5], "day": [None]}, pa.schema(
        [("id", pa.int64()), ("x", pa.float64()), ("day", pa.date32())])))  # fmt: skip
    assert [row["id"] for row in rows(table)] == [1, 2, 3, 4, 5]
    assert table.vacuum(0, allow_unsafe=True).files == ()


@pytest.mark.parametrize("given", [{"partition_by": "month int"}, {"partition_by": "day int"}])
def test_a_folder_that_does_not_fit_stays_a_folder(folder: Path, given: dict[str, Any]):
    with pytest.raises(InvalidRequest):
        esker.convert(folder, **given)
    assert not (folder / "_delta_log").exists()


def test_a_table_is_not_converted_again(folder: Path):
    esker.convert(folder)
    with pytest.raises(InvalidRequest, match="a table of Delta already"):
        esker.convert(folder)
    assert operations(esker.open(folder)) == ["CONVERT"]


def test_of_two_who_convert_one_is_first():
    storage = MemoryStorage(place())
    sink = pa.BufferOutputStream()
    pq.write_table(ids(1), sink)
    storage.put("part-0.parquet", sink.getvalue().to_pybytes())
    with pytest.raises(Conflict):
        convert(Place(Rival(storage, lambda: esker.convert(storage.url))), None, True)
    assert rows(esker.open(storage.url)) == [{"id": 1}]
