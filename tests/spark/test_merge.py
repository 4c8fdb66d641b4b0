"""What becomes of a merge, an update or a delete that is not plain?"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.errors import EskerError, InvalidRequest

pytestmark = pytest.mark.spark

ON = "target.id = source.id"


@pytest.fixture
def table(tmp_path: Path) -> esker.Table:
    return esker.create(tmp_path, pa.table({"id": [1, 2, None], "v": [10, 20, 30]}), properties=_VECTORS)


_VECTORS = {"delta.enableDeletionVectors": "true"}


def test_the_source_may_be_the_table_itself(spark: Any, table: esker.Table):
    table.merge(table.to_df(spark), ON).when_matched_update({"v": "target.v + source.v"}).when_not_matched_insert_all().execute()
    assert _rows(table) == [(None, 30), (None, 30), (1, 20), (2, 40)]


def test_an_empty_source_matches_nothing(spark: Any, table: esker.Table):
    empty = spark.createDataFrame([], "id bigint, v bigint")
    assert table.merge(empty, ON).when_matched_update_all().when_not_matched_insert_all().execute().version == 0
    table.merge(empty, ON).when_matched_delete().when_not_matched_by_source_delete("target.v > 15").execute()
    assert _rows(table) == [(1, 10)]


def test_rows_are_deleted_however_many_source_rows_match(spark: Any, table: esker.Table):
    twice = pa.table({"id": [1, 1, 7], "v": [0, 0, 70]})
    table.merge(twice, ON).when_matched_delete().when_not_matched_insert_all().execute()
    assert _rows(table) == [(None, 30), (2, 20), (7, 70)]


def test_rows_are_only_added_to_a_table_that_is_append_only(spark: Any, tmp_path: Path):
    """Append-only Tables: "New log entries MUST NOT change or remove data from the table." """
    table = esker.create(tmp_path, pa.table({"id": [1]}), properties={"delta.appendOnly": "true"})
    table.merge(pa.table({"id": [1, 2]}), ON).when_not_matched_insert_all().execute()
    assert table.to_arrow().sort_by("id").to_pydict() == {"id": [1, 2]}
    for change in (
        lambda: table.delete("id = 1"),
        lambda: table.update({"id": "3"}),
        lambda: table.overwrite(pa.table({"id": [1]}), where="id = 1"),
        lambda: table.merge(pa.table({"id": [1]}), ON).when_matched_delete().execute(),
    ):
        with pytest.raises(InvalidRequest, match=r"delta\.appendOnly is true"):
            change()
    assert table.at().version == 1


def test_a_source_that_changes_is_read_once(spark: Any, table: esker.Table):
    random = spark.range(1, 30).selectExpr("id", "CAST(rand() * 1000 AS BIGINT) AS v").where("rand() < 0.5 OR id < 3")
    table.merge(random, ON).when_matched_update_all().when_not_matched_insert_all().execute()
    ids = [row[0] for row in _rows(table)]
    assert len(ids) == len(set(ids))
    assert {1, 2} <= set(ids)


def test_a_schema_evolves_at_every_depth(spark: Any, tmp_path: Path):
    table = esker.create(tmp_path, pa.table({"id": [1, 2], "s": [{"a": 1}, {"a": 2}]}))
    source = spark.sql("SELECT 1L AS id, named_struct('b', 'x', 'a', 9L) AS s, 'new' AS more UNION ALL SELECT 3L, NULL, NULL")
    with pytest.raises(InvalidRequest):
        table.merge(source, ON).when_matched_update_all().when_not_matched_insert_all().execute()
    merge = table.merge(source, ON).when_matched_update_all().when_not_matched_insert_all()
    merge.with_schema_evolution().execute()
    assert table.to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "s": {"a": 9, "b": "x"}, "more": "new"},
        {"id": 2, "s": {"a": 2, "b": None}, "more": None},
        {"id": 3, "s": None, "more": None},
    ]


def test_members_that_the_source_lacks_stay(spark: Any, tmp_path: Path):
    table = esker.create(tmp_path, pa.table({"id": [1], "s": [{"a": 1, "b": 2}], "v": [5]}))
    source = spark.sql("SELECT 1L AS id, named_struct('a', 9L) AS s")
    table.merge(source, ON).when_matched_update_all().with_schema_evolution().execute()
    assert table.to_arrow().to_pylist() == [{"id": 1, "s": {"a": 9, "b": 2}, "v": 5}]


def test_generated_columns_follow_and_identities_stay(spark: Any, tmp_path: Path):
    schema = "id bigint, g bigint generated always as (id * 2), n bigint generated always as identity"
    table = esker.create(tmp_path, schema, properties=_VECTORS)
    table.append(spark.sql("SELECT explode(array(1L, 2L)) AS id"))
    before = {row["id"]: row["n"] for row in table.to_arrow().to_pylist()}
    table.update({"id": "id + 10"}, "id = 1")
    source = spark.sql("SELECT 2L AS id, 12L AS other UNION ALL SELECT 5L, 15L")
    table.merge(source, ON).when_matched_update({"id": "other"}).when_not_matched_insert({"id": "other"}).execute()
    rows = {row["id"]: (row["g"], row["n"]) for row in table.to_arrow().to_pylist()}
    assert {key: g for key, (g, _) in rows.items()} == {11: 22, 12: 24, 15: 30}
    assert (rows[11][1], rows[12][1]) == (before[1], before[2])
    assert rows[15][1] not in before.values()
    with pytest.raises(InvalidRequest, match="n is an identity column"):
        table.update({"n": "1"})
    with pytest.raises(InvalidRequest, match="the generated column g"):
        table.update({"g": "1"})


_SENSELESS = {
    "no clause": (lambda merge: merge, "it has no clause"),
    "a clause behind one for all": (lambda merge: merge.when_matched_delete().when_matched_update_all(), "only the last"),
    "an unknown column": (lambda merge: merge.when_matched_update({"w": "1"}), "there is no column w"),
    "a column twice": (lambda merge: merge.when_not_matched_insert({"v": "1", "V": "2"}), "v would be set twice"),
    "an aggregate": (lambda merge: merge.when_matched_update({"v": "sum(source.v)"}), "an aggregate function"),
    "a text for a number": (lambda merge: merge.when_matched_update({"v": "'x'"}), "a string cannot become the long"),
    "a value that does not fit": (lambda merge: merge.when_matched_update({"v": "1.5D"}), "a value does not fit it exactly"),
    "a random condition": (lambda merge: merge.when_matched_delete("rand() > 0.5"), "no condition on a row"),
    "a condition on nothing": (lambda merge: merge.when_matched_delete("source.w = 1"), "no condition on a row"),
    "an insert by the target": (lambda merge: merge.when_not_matched_insert({"id": "target.id"}), "no value of a row"),
    "a value that cannot be computed": (
        lambda merge: merge.when_matched_update({"v": "CAST(concat('x', source.v) AS BIGINT)"}), "Spark failed to"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("clauses", "said"), _SENSELESS.values(), ids=_SENSELESS)
def test_a_merge_that_makes_no_sense_leaves_no_trace(
    spark: Any, table: esker.Table, tmp_path: Path, clauses: Any, said: str
):
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(InvalidRequest, match=said):
        clauses(table.merge(pa.table({"id": [1, 9], "v": [5, 6]}), ON)).execute()
    assert sorted(tmp_path.rglob("*.parquet")) == before
    assert table.at().version == 0


_CHANGES = {
    "a delete by nothing": (lambda table: table.delete("w = 1"), "w"),
    "a delete by a subquery": (lambda table: table.delete("id IN (SELECT 1)"), "subquery|one row"),
    "a delete by a random number": (lambda table: table.delete("rand() < v"), "no condition on a row"),
    "a delete that cannot be computed": (lambda table: table.delete("CAST(concat('x', v) AS INT) = 1"), "Spark failed to find"),
    "an update of nothing": (lambda table: table.update({}), "there is nothing to set"),
    "an update by a window": (lambda table: table.update({"v": "sum(v) OVER ()"}), "one row|window"),
    "an update by an object": (lambda table: table.update({"v": 1}), "a text in SQL or a Spark Column"),
    "an update beyond the type": (lambda table: table.update({"v": "9223372036854775808BD"}), "does not fit it exactly"),
    "an overwrite of other rows": (
        lambda table: table.overwrite(pa.table({"id": [5], "v": [1]}), where="id = 1"), "a row breaks the condition of the overwrite"
    ),
    "an overwrite of rows by null": (
        lambda table: table.overwrite(pa.table({"id": [None], "v": [1]}).cast(pa.schema([("id", pa.int64()), ("v", pa.int64())])),
                                      where="id > 0"), "a row breaks the condition of the overwrite"
    ),
    "an overwrite by two conditions": (
        lambda table: table.overwrite(pa.table({"id": [5], "v": [1]}), where="id = 1", dynamic=True), "not both"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), _CHANGES.values(), ids=_CHANGES)
def test_a_change_that_makes_no_sense_leaves_no_trace(
    spark: Any, table: esker.Table, tmp_path: Path, change: Any, said: str
):
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(EskerError, match=said):
        change(table)
    assert sorted(tmp_path.rglob("*.parquet")) == before
    assert table.at().version == 0


def _rows(table: esker.Table) -> list[tuple[Any, ...]]:
    rows = [(row["id"], row["v"]) for row in table.to_arrow().to_pylist()]
    return sorted(rows, key=lambda row: (row[0] is not None, row))
