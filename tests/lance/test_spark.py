"""Rows that Spark's workers read and write, and that the driver commits once."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import esker
from esker.core.fragments import FragmentScan
from esker.errors import EskerError, InvalidRequest, Unsupported
from esker.lance.schema import BLOB_LAYOUT
from esker.spark import Relation, fragment_relation, fragments
from esker.spark.fragment_write import rows_at_once

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> esker.Table:
    """A table that workers wrote: five fragments of a hundred rows."""
    frame = spark.range(0, 500, 1, 5).selectExpr(
        "id", "concat('n', id) AS name", "array(cast(id AS float), 0F) AS vector", "named_struct('x', id % 7) AS st"
    )
    return esker.create(tmp_path_factory.mktemp("lance") / "t", frame, format="lance", features=["STABLE_ROW_IDS"])


def test_workers_write_fragments_and_the_driver_commits_one_version(table: esker.Table, spark: Any) -> None:
    dataset = lance.dataset(table.location.removeprefix("file://"))
    assert (dataset.version, len(dataset.get_fragments()), dataset.count_rows()) == (1, 5, 500)
    assert table.to_df(spark).agg({"id": "sum"}).first()[0] == sum(range(500))


def test_columns_and_filters_reach_pylance(table: esker.Table, spark: Any) -> None:
    frame = table.to_df(spark, columns=["name"], where="id IN (3, 444) AND upper(name) LIKE 'N%'")
    assert sorted(row.name for row in frame.collect()) == ["n3", "n444"]
    lazy = table.to_df(spark).where("st.x = 3 AND name >= 'n49'").select("id")
    assert sorted(row.id for row in lazy.collect()) == sorted(i for i in range(500) if i % 7 == 3 and f"n{i}" >= "n49")
    assert fragments.takes_filters(spark) == hasattr(fragments.ds, "Filter")


@pytest.mark.parametrize("relation", ["native", "portable"])
def test_both_relations_give_the_same_rows(table: esker.Table, spark: Any, relation: Relation) -> None:
    frame = table.to_df(spark, relation=relation)
    assert frame.count() == 500
    assert frame.where("id IN (3, 4) OR name = 'n77' OR (st.x IS NULL)").select("vector", "id").orderBy("id").collect() == [
        ([float(id), 0.0], id) for id in (3, 4, 77)
    ]
    assert frame.join(frame.selectExpr("id + 1 AS id", "st"), "id").where("id % 100 = 0").count() == 4


def test_a_query_is_told_to_pylance_when_spark_plans_it(table: esker.Table, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[FragmentScan] = []
    read = fragment_relation.by_workers
    monkeypatch.setattr(fragment_relation, "by_workers", lambda spark, scan: asked.append(scan) or read(spark, scan))
    lazy = table.to_df(spark).where("(name >= 'n49' OR id < 10) AND length(name) = 2").select("id")
    assert sorted(row.id for row in lazy.collect()) == list(range(10))
    assert [column.field.name for column in asked[-1].columns] == ["id", "name"]
    assert "(`name` >= 'n49') OR (`id` < 10)" in str(asked[-1].pushed)
    assert table.to_df(spark).count() == 500
    assert asked[-1].columns == ()


def test_columns_that_spark_cannot_tell_apart_are_refused_before_a_job(spark: Any, tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"id": [1], "Id": [2]}), str(tmp_path / "t"))
    table = esker.open(tmp_path / "t")
    with pytest.raises(Unsupported, match="one name: id, Id"):
        table.to_df(spark)
    assert table.to_df(spark, columns=["id"]).collect() == [(1,)]


def test_decimals_that_spark_has_not_are_refused_by_their_type(spark: Any, tmp_path: Path) -> None:
    fits, exceeds = pa.array([Decimal("1.25")], pa.decimal256(30, 2)), pa.array([Decimal(1)], pa.decimal256(60, 0))
    lance.write_dataset(pa.table({"fits": fits}), str(tmp_path / "f"))
    lance.write_dataset(pa.table({"exceeds": exceeds}), str(tmp_path / "e"))
    assert esker.open(tmp_path / "f").to_df(spark).collect() == [(Decimal("1.25"),)]
    with pytest.raises(Unsupported, match=r"decimal\(60,0\)"):
        esker.open(tmp_path / "e").to_df(spark)


def test_a_job_that_fails_leaves_no_version(table: esker.Table, spark: Any) -> None:
    before = esker.open(table.location.removeprefix("file://")).version
    bad = spark.range(0, 10, 1, 2).selectExpr("id", "CASE WHEN id = 7 THEN raise_error('boom') ELSE 'x' END AS name")
    with pytest.raises(EskerError, match="boom"):
        esker.open(table.location.removeprefix("file://")).append(bad)
    assert esker.open(table.location.removeprefix("file://")).version == before


def test_rows_are_changed_by_conditions_that_only_spark_understands(table: esker.Table, spark: Any, tmp_path: Path) -> None:
    own = table.clone(tmp_path / "c")
    own.delete("length(name) = 2", spark=spark)
    own.update({"name": "upper(name)", "st.x": "st.x + 100L"}, "pmod(id, 100) = 50", spark=spark)
    source = spark.range(495, 505).selectExpr("id", "'merged' AS name", "array(1F, 2F) AS vector", "named_struct('x', 1L) AS st")
    merge = own.merge(source, "target.id = source.id", spark=spark)
    merge.when_matched_update({"name": "source.name"}).when_not_matched_insert_all().execute()
    found = {row["id"]: row for row in own.to_arrow().to_pylist()}
    assert sorted(found) == list(range(10, 505))
    assert (found[50]["name"], found[50]["st"]) == ("N50", {"x": 101})
    assert [found[id]["name"] for id in (494, 495, 504)] == ["n494", "merged", "merged"]
    assert found[499]["vector"] == [499.0, 0.0]
    # "the id is preserved for updated rows": section 8
    ids = lambda handle: dict(zip(*handle.to_arrow(columns=["id", "_rowid"]).to_pydict().values(), strict=True))  # noqa: E731
    before, after = ids(table), ids(own)
    assert {id: after[id] for id in range(10, 500)} == {id: before[id] for id in range(10, 500)}


def test_a_merge_with_two_source_rows_for_one_row_is_refused(table: esker.Table, spark: Any) -> None:
    source = spark.createDataFrame([(1, "a"), (1, "b")], "id long, name string")
    merge = table.merge(source, "target.id = source.id", spark=spark).when_matched_update({"name": "source.name"})
    with pytest.raises(EskerError, match="more than one row"):
        merge.execute()


def test_numbers_that_spark_has_not_are_read_as_wider_ones(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "h": pa.array([0.5], pa.float16()), "b": pa.array([255], pa.uint8())})
    table = esker.create(tmp_path / "t", rows, format="lance")
    frame = table.to_df(spark)
    assert [field.dataType.simpleString() for field in frame.schema] == ["decimal(20,0)", "float", "smallint"]
    assert [int(value) if i != 1 else value for i, value in enumerate(frame.first())] == [2**64 - 1, 0.5, 255]
    table.append(frame)
    assert table.to_arrow() == pa.concat_tables([rows, rows])


def test_every_type_comes_back_from_sparks_workers(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(0, 40, 1, 2).selectExpr(
        "id", "cast(id AS decimal(12,2)) AS amount", "cast(id * 1e9 AS decimal(38,4)) AS large", "id % 2 = 0 AS flag", "concat('w', id) AS word",
        "date_add(DATE '2020-01-01', cast(id AS int)) AS day", "timestamp_seconds(id) AS at", "cast(timestamp_seconds(id) AS timestamp_ntz) AS ntz",
        "cast(concat('b', id) AS binary) AS bytes", "named_struct('n', cast(id AS decimal(20,3)), 'l', array(id, null)) AS nested",
        "if(id % 3 = 0, null, id / 3) AS third", "array(named_struct('d', cast(id AS decimal(9,1)))) AS list",
    )  # fmt: skip
    table = esker.create(tmp_path / "t", frame, format="lance")
    assert sorted(map(str, table.to_df(spark).collect())) == sorted(map(str, frame.collect()))


def test_a_value_that_does_not_fit_is_the_callers_fault_also_when_a_worker_finds_it(spark: Any, tmp_path: Path) -> None:
    table = esker.create(tmp_path / "t", pa.schema([("u", pa.uint8())]), format="lance")
    with pytest.raises(InvalidRequest, match="do not fit u, which is uint8"):
        table.append(spark.sql("SELECT 300L AS u"))
    assert esker.open(tmp_path / "t").version == 1


def test_workers_compact_and_the_driver_commits_once(spark: Any, tmp_path: Path) -> None:
    table = esker.create(tmp_path / "t", spark.range(0, 4000, 1, 8), format="lance", features=["STABLE_ROW_IDS"])
    table.delete("id % 10 = 3", spark=spark)
    before, names = table.version, {row["path"] for row in table.files().to_pylist()}
    assert table.optimize(target_size=_size(table) // 3, dry_run=True, spark=spark).pieces > 1
    table.optimize(target_size=_size(table) // 3, spark=spark)
    assert [row["operation"] for row in table.history().to_pylist() if row["version"] > before].count("rewrite") == 1
    assert 1 < len(table.files()) < 8
    assert not names & {row["path"] for row in table.files().to_pylist()}
    assert sorted(row.id for row in table.to_df(spark).collect()) == [id for id in range(4000) if id % 10 != 3]
    assert not [found for found in table.check(deep=True) if found.severity.name == "ERROR"]


def test_blobs_are_appended_and_read_by_workers(spark: Any, tmp_path: Path) -> None:
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    lance.write_dataset(pa.schema([pa.field("id", pa.int64()), blob]).empty_table(), str(tmp_path / "t"), data_storage_version="2.0")
    table = esker.open(tmp_path / "t")
    table.append(spark.range(0, 40, 1, 2).selectExpr("id", "cast(repeat(cast(id AS string), 1000) AS binary) AS b"))
    assert [bytes(row.b) for row in table.to_df(spark).orderBy("id").collect()] == [str(id).encode() * 1000 for id in range(40)]
    assert lance.dataset(str(tmp_path / "t")).take_blobs("b", indices=[39])[0].size() == 2000


def _size(table: esker.Table) -> int:
    return sum(table.files().column("size").to_pylist())


def test_rows_go_to_workers_by_their_length() -> None:
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    vector = pa.list_(pa.float32(), 1536)
    second = pa.field("b", BLOB_LAYOUT, metadata={"ARROW:extension:name": "lance.blob.v2"})
    columns = (pa.field("i", pa.int64()), pa.field("v", vector), pa.field("l", pa.list_(vector)), blob, second)
    rows = [pa.schema([field]) for field in columns]
    assert [rows_at_once(schema) for schema in rows] == [65_536, 2730, 341, 16, 16]
    assert rows_at_once(pa.schema([("b", pa.bool_()), ("n", pa.null()), ("d", pa.dictionary(pa.int8(), pa.string()))])) == 65_536
