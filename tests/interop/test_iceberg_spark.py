"""Tables that Esker writes, read and changed by iceberg-spark, and the other way round."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

import esker
from esker.arrow.read import read_table
from esker.iceberg.table import IcebergTable, open_iceberg
from esker.storage import open_storage
from tests.arrow_editor import ArrowEditor
from tests.iceberg.operations import (
    EXPECTED,
    MODES,
    START,
    created,
    delete,
    filled,
    ids_of_rows,
    merge,
    properties,
    seen,
    update,
)
from tests.interop.iceberg_peer import IcebergSpark, iceberg_spark

pytestmark = pytest.mark.peers

VERSIONED = [(1, MODES[0]), *((version, mode) for version in (2, 3) for mode in MODES)]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSpark]:
    with iceberg_spark(tmp_path_factory.mktemp("iceberg-spark")) as running:
        yield running


def opened(peer: IcebergSpark, name: str) -> IcebergTable:
    return open_iceberg(open_storage(peer.place(name)), None, {}, {}, read_table)


@pytest.mark.parametrize(("version", "mode"), VERSIONED)
def test_what_esker_writes_iceberg_spark_reads_and_changes(peer, version, mode):
    for name, (act, expected) in EXPECTED.items():
        called = f"esker_{version}_{mode[0]}_{name}"
        act(filled(created(open_storage(peer.place(called)), properties(version, mode))))
        assert peer.rows(called) == expected, name
        peer.sql(f"INSERT INTO local.db.{called} VALUES (900, 900, 'z')", f"DELETE FROM local.db.{called} WHERE id < 4")
        left = {key: value for key, value in {**expected, 900: 900}.items() if key >= 4}
        assert peer.rows(called) == left, name
        assert seen(opened(peer, called)) == left, name


@pytest.mark.parametrize(("version", "mode"), VERSIONED)
def test_what_iceberg_spark_writes_esker_reads_and_changes(peer, version, mode):
    called = f"spark_{version}_{mode[0]}"
    modes = ", ".join(f"'write.{name}.mode'='{mode}'" for name in ("delete", "update", "merge"))
    peer.sql(
        f"CREATE TABLE local.db.{called} (id bigint, v bigint, p string) USING iceberg PARTITIONED BY (p) "
        f"TBLPROPERTIES ('format-version'='{version}', {modes})",
        f"INSERT INTO local.db.{called} VALUES (1,1,'a'),(2,2,'a'),(3,3,'a'),(4,4,'a')",
        f"INSERT INTO local.db.{called} VALUES (5,5,'a'),(6,6,'a'),(7,7,'a'),(8,8,'a'),(11,11,'b'),(12,12,'b'),(13,13,'b'),(14,14,'b')",
    )  # fmt: skip
    table = opened(peer, called)
    assert seen(table) == START
    peer.sql(f"DELETE FROM local.db.{called} WHERE id = 2 OR id = 12")
    table = opened(peer, called)
    assert seen(table) == EXPECTED["delete"][1]
    table = merge(update(table))
    expected = {**EXPECTED["delete"][1], 4: 400, 5: 105, 6: 106, 13: 1300, 51: 510}
    assert seen(table) == expected
    assert peer.rows(called) == expected


def test_row_ids_are_the_same_for_both(peer):
    table = filled(created(open_storage(peer.place("lineage")), properties(3, MODES[1])))
    table = merge(delete(table))
    found = peer.sql("SELECT id, _row_id, _last_updated_sequence_number AS s FROM local.db.lineage")
    assert {row["id"]: (row["_row_id"], row["s"]) for row in found} == ids_of_rows(table)
    peer.sql("UPDATE local.db.lineage SET v = v + 1 WHERE id = 8", "INSERT INTO local.db.lineage VALUES (60, 60, 'q')")
    found = peer.sql("SELECT id, _row_id, _last_updated_sequence_number AS s FROM local.db.lineage")
    assert {row["id"]: (row["_row_id"], row["s"]) for row in found} == ids_of_rows(opened(peer, "lineage"))


def test_columns_partitions_and_branches_that_evolve(peer):
    table = esker.create(peer.place("evolved"), "id bigint, name string, ts timestamp", format="iceberg", partition_by=["days(ts)"])
    table.append(pa.table({"id": [1], "name": ["a"], "ts": pa.array([0], pa.timestamp("us", "UTC"))}))
    table.rename_column("name", "nom").add_columns("extra struct<x: int, l: array<bigint>>")
    table.iceberg.change_partitioning(add=["bucket(4, id)"], drop=["days(ts)"])
    table.iceberg.create_branch("audit")
    table.at(ref="audit").append(pa.table({"id": [2], "nom": ["b"]}))
    assert [row["id"] for row in peer.sql("SELECT * FROM local.db.evolved")] == [1]
    rows = peer.sql("SELECT id, nom FROM local.db.evolved VERSION AS OF 'audit' ORDER BY id")
    assert rows == [{"id": 1, "nom": "a"}, {"id": 2, "nom": "b"}]
    peer.sql("INSERT INTO local.db.evolved VALUES (3, 'c', TIMESTAMP'2024-01-01', named_struct('x', 1, 'l', array(5L)))")
    found = esker.open(peer.place("evolved")).to_arrow().sort_by("id").to_pylist()
    assert found[1]["extra"] == {"x": 1, "l": [5]}
    assert peer.sql("SELECT count(*) AS n FROM local.db.evolved WHERE id = 3")[0]["n"] == 1


def test_iceberg_spark_maintains_what_esker_wrote(peer):
    table = delete(filled(created(open_storage(peer.place("kept")), properties(3, MODES[1]))))
    peer.sql("CALL local.system.rewrite_data_files(table => 'db.kept', options => map('rewrite-all', 'true'))")
    peer.sql("CALL local.system.rewrite_manifests('db.kept')")
    assert seen(opened(peer, "kept")) == EXPECTED["delete"][1]
    assert ids_of_rows(opened(peer, "kept")) == ids_of_rows(table)
    again = opened(peer, "kept").delete("id = 14", ArrowEditor())
    assert peer.rows("kept") == seen(again)
