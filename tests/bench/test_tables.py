"""Are the tables of the benchmark what it says they are?"""

import shutil

import orjson
import pyarrow.parquet as pq
import pytest

import esker
from bench import checkpoints, iceberg_by_esker, iceberg_by_pyiceberg, iceberg_tables, tables, targets
from bench.failures import Absent
from bench.scale import Scale
from bench.tables import DELETED

TINY = Scale(files=3, rows_per_file=200, small_files=4)
ROWS = TINY.files * TINY.rows_per_file
LOG = [
    {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    {"metaData": {
        "id": "x", "format": {"provider": "parquet", "options": {}}, "partitionColumns": ["p"], "configuration": {"a": "b"},
        "schemaString": '{"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}}]}',
    }},
]  # fmt: skip
ADDS = [
    {"add": {"path": f"{i}.parquet", "partitionValues": {"p": f"v{i % 2}"}, "size": i, "modificationTime": 0, "dataChange": True}}
    for i in range(10)
]


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log" / "_delta_log"
    folder.mkdir(parents=True)
    for version, actions in enumerate((LOG, ADDS)):
        (folder / f"{version:020}.json").write_bytes(b"\n".join(map(orjson.dumps, actions)))
    return folder.parent


@pytest.mark.parametrize("write", [checkpoints.write_classic, checkpoints.write_v2])
def test_a_checkpoint_holds_the_state_of_the_commits(write, log, tmp_path):
    target = tmp_path / "checkpointed"
    target.mkdir()
    write(log, target)
    for commit in (target / "_delta_log").glob("*.json"):
        commit.unlink()
    table = esker.open(target)
    assert _listed(table) == _listed(esker.open(log))
    assert table.describe().properties == {"a": "b"}


@pytest.mark.peers
@pytest.mark.parametrize("write", [checkpoints.write_classic, checkpoints.write_v2])
def test_the_peer_reads_the_checkpoints(write, log, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    target = tmp_path / "checkpointed"
    target.mkdir()
    write(log, target)
    for commit in (target / "_delta_log").glob("*.json"):
        commit.unlink()
    assert deltalake.DeltaTable(target).get_add_actions().num_rows == len(ADDS)


@pytest.mark.parametrize(
    "table, live",
    [(tables.rows_table, ROWS), (tables.partitioned_table, ROWS), (tables.deleted_table, round(ROWS * (1 - DELETED)))],
)
def test_a_table_has_the_rows_that_it_should(table, live, tmp_path):
    rows = esker.open(table(tmp_path, TINY)).to_arrow()
    assert rows.num_rows == live
    assert len(set(rows["id"].to_pylist())) == live


@pytest.mark.parametrize("table, count, has_vectors", [
    (targets.empty, 0, False), (targets.empty_for_rows, 0, False), (targets.plain, 400, False),
    (targets.with_vectors, 400, True), (targets.loose, 10_000, False),
])  # fmt: skip
def test_a_target_has_the_rows_and_the_features_that_it_should(table, count, has_vectors, tmp_path):
    target = esker.open(targets.copied(table(tmp_path, TINY) / "target", tmp_path / "copy"))
    assert target.to_arrow().num_rows == count
    assert ("deletionVectors" in target.describe().protocol) is has_vectors


def test_half_of_what_is_merged_is_new(tmp_path):
    inputs = targets.plain(tmp_path, TINY)
    known = set(esker.open(inputs / "target").to_arrow()["id"].to_pylist())
    merged = pq.read_table(inputs / "source")["id"].to_pylist()
    assert len(set(merged)) == TINY.source_rows
    assert len(known & set(merged)) == TINY.source_rows // 2


def test_statistics_leave_one_file_for_a_filter(tmp_path):
    folder = tables.many_files(tmp_path, TINY)
    (folder / "data" / "part-00001.parquet").unlink()
    assert esker.open(folder).to_arrow(where="id = 250").num_rows == 1


def test_a_table_is_made_once(tmp_path):
    made = tables.many_files(tmp_path, TINY)
    before = (made / "_delta_log").stat().st_mtime_ns
    assert (tables.many_files(tmp_path, TINY) / "_delta_log").stat().st_mtime_ns == before


def test_a_table_of_the_corpus_is_absent_without_the_corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("ESKER_CORPUS", str(tmp_path))
    with pytest.raises(Absent, match="ESKER_CORPUS"):
        tables.big_log(tmp_path, TINY)


@pytest.mark.parametrize("name, live", [
    ("plain", 400), ("on_read", 400), ("with_position_deletes", 396), ("with_vectors", 396), ("with_equality_deletes", 396),
    ("loose", 10_000), ("empty", 0), ("empty_for_rows", 0),
])  # fmt: skip
def test_an_iceberg_table_has_the_rows_that_it_should(name, live, tmp_path):
    made = getattr(iceberg_tables, name)(tmp_path, TINY) / "target"
    ids = esker.open(made).to_arrow(columns=["id"])["id"].to_pylist()
    assert len(set(ids)) == len(ids) == live
    assert esker.check_table(made) == ()
    assert esker.open(iceberg_tables.linked(made, tmp_path / "link")).to_arrow(columns=["id"])["id"].to_pylist() == ids


def test_a_copy_of_an_iceberg_table_stands_alone(tmp_path):
    made = iceberg_tables.plain(tmp_path, TINY)
    copy = esker.open(iceberg_tables.copied(made / "target", tmp_path / "copy"))
    before = copy.to_arrow()
    shutil.rmtree(made)
    assert before.num_rows == 400
    assert copy.to_arrow().equals(before)
    assert copy.delete("id < 10").to_arrow().num_rows == 390


@pytest.mark.parametrize("question", ["planned", "filtered"])
def test_pyiceberg_plans_the_same_files(question, tmp_path):
    folder = str(iceberg_tables.listed_more(tmp_path, TINY))
    count, size = getattr(iceberg_by_esker, question)(folder)
    assert count == {"planned": 400, "filtered": 1}[question]
    assert getattr(iceberg_by_pyiceberg, question)(folder) == [count, size]


def _listed(table):
    return sorted(map(str, table.files().select(["path", "size", "modified", "partition"]).to_pylist()))
