"""Do Spark frames become the files and rows that the table asks for?"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import esker
from esker.arrow.brought import columns_of
from esker.delta.table import open_delta
from esker.errors import EskerError, InvalidRequest, Unsupported
from esker.storage import open_storage
from tests.delta.bad_rows import BAD_ROWS, BadRows
from tests.delta.stats_oracle import assert_statistics_hold
from tests.delta.test_partition_texts import VALUES, rows_of
from tests.delta.test_written_files import DATA_PAGE, DATA_PAGE_V2, first_page

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_leave_no_trace(spark: Any, tmp_path: Path, case: BadRows):
    table = esker.create(tmp_path, case.schema, **case.options)
    before = _paths(tmp_path)
    with pytest.raises(case.error, match=case.said):
        table.append(arrow_frame(spark, case.rows))
    assert _paths(tmp_path) == before
    assert table.at().version == 0


_BAD_FRAMES = {
    "a column twice": ("id int", "SELECT 1 AS id, 2 AS ID", InvalidRequest, "there twice"),
    "a generated value that is another": (
        "id int, g int generated always as (id + 1)", "SELECT 1 AS id, 5 AS g", InvalidRequest, "the generated column g: id \\+ 1"
    ),
    "a value that cannot be computed": (
        "id int", "SELECT CAST(concat('x', id) AS INT) AS id FROM range(3)", InvalidRequest, "Spark failed to write the rows"
    ),
    "the name of the folder for nulls": (
        "id int, p string", "SELECT 1 AS id, '__HIVE_DEFAULT_PARTITION__' AS p", InvalidRequest, "the name of the folder for nulls"
    ),
    "a partition value with a NUL": (
        "id int, p string", "SELECT 1 AS id, char(0) AS p", InvalidRequest, "a text with a NUL"
    ),
    "a partition that has no folder": (
        "id int, p string", "SELECT 1 AS id, repeat('x', 300) AS p", EskerError, "Spark failed to write the rows: .*Mkdirs"
    ),
    "a null in an element": ("a array<struct<b: int not null>>", "SELECT array(named_struct('b', CAST(NULL AS INT))) AS a",
                             InvalidRequest, "NOT NULL of the column a.element.b"),
    "a type of no table": ("id int", "SELECT INTERVAL '1' DAY AS id", Unsupported, "interval"),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "rows", "error", "said"), _BAD_FRAMES.values(), ids=_BAD_FRAMES)
def test_bad_frames_leave_no_trace(
    spark: Any, tmp_path: Path, schema: str, rows: str, error: type[EskerError], said: str
):
    table = esker.create(tmp_path, schema, partition_by=["p"] if "p string" in schema else [])
    before = _paths(tmp_path)
    with pytest.raises(error, match=said):
        table.append(spark.sql(rows))
    assert _paths(tmp_path) == before
    assert table.at().version == 0


def test_a_constraint_that_spark_does_not_know_is_named(spark: Any, tmp_path: Path):
    table = esker.create(tmp_path, "id int", constraints={"c": "no_such_function(id) > 1"})
    with pytest.raises(Unsupported, match=r"Spark cannot evaluate the constraint c: .*no_such_function"):
        table.append(spark.sql("SELECT 1 AS id"))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_partition_values_come_back_as_they_were_whatever_the_zone(spark: Any, tmp_path: Path, zone: str):
    """Partition Value Serialization. Some of the times are never shown by clocks in these zones."""
    with _set(spark, {"spark.sql.session.timeZone": zone}):
        for kind in VALUES if zone == "UTC" else ["timestamp", "timestamp_ntz", "date"]:
            rows = rows_of(kind)
            rows = rows.filter(pc.not_equal(rows.column("p"), "\0")) if kind == "string" else rows
            table = esker.create(tmp_path / kind.replace("(", "_"), f"n int, p {kind}", partition_by=["p"])
            table.append(arrow_frame(spark, rows))
            expected = rows.cast(table.to_arrow().schema)
            assert table.to_arrow().sort_by("n") == expected, kind
            table.update({"n": "n"})  # written again, from partition values that were read
            assert table.to_arrow().sort_by("n") == expected, kind


def test_statistics_of_spark_files_hold(spark: Any, tmp_path: Path):
    moments = [datetime(2024, 1, 1, 0, 0, 0, 1999, UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), None]
    rows = pa.table({
        "i": pa.array([1, -(2**31), None], pa.int32()), "d": pa.array([float("nan"), -0.0, 1e300]),
        "f": pa.array([float("inf"), 0.0, None], pa.float32()), "t": pa.array(["x" * 40, "😀" * 33, ""]),
        "m": pa.array(moments, pa.timestamp("us", "UTC")), "n": pa.array([None, None, None], pa.int64()),
        "x": pa.array([Decimal("1.50"), Decimal("-99.99"), None], pa.decimal128(4, 2)),
        "y": pa.array([Decimal("1e20"), Decimal("-1e-9"), None], pa.decimal128(38, 9)),
        "s": pa.array([{"a": 1, "b": "é"}, None, {"a": None, "b": "z"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
    })  # fmt: skip
    frame = spark.createDataFrame(rows).repartition(2)
    table = esker.create(tmp_path, frame)
    table.append(spark.createDataFrame(rows.slice(0, 1)))
    table.append(spark.sql("SELECT CAST(X'ff00fe' AS STRING) AS t, 5 AS i"))
    table.append(spark.createDataFrame(rows.slice(1, 2)).where("i IS NULL"))
    delta = open_delta(open_storage(tmp_path), {}, {})
    kept = delta.plan().paths.to_pylist()
    assert len(kept) >= 4
    assert table.to_df(spark, where="i = 5").count() == 1
    table.delete("i = 5")
    assert assert_statistics_hold(open_delta(open_storage(tmp_path), {}, {})) > 50


def test_fields_have_their_ids_at_every_level(spark: Any, tmp_path: Path):
    """Writer Requirements for Column Mapping: "Write the column ids [...] to the `field_id`" of every column of a file."""
    schema = "id int, s struct<`a.b`:int, l:array<struct<x:int>>>, m map<string,struct<`c d`:int>>"
    mapped = {"delta.columnMapping.mode": "id"}
    by_spark = esker.create(tmp_path / "spark", schema, properties=mapped)
    by_arrow = esker.create(tmp_path / "arrow", schema, properties=mapped)
    rows = spark.sql(
        "SELECT 1 AS id, named_struct('l', array(named_struct('x', 3)), 'A.B', 2) AS s, map('k', named_struct('c d', 4)) AS m"
    )
    by_spark.append(rows)
    by_arrow.append(by_spark.to_arrow())
    assert by_spark.to_arrow().to_pylist() == by_arrow.to_arrow().to_pylist() == [
        {"id": 1, "s": {"a.b": 2, "l": [{"x": 3}]}, "m": [("k", {"c d": 4})]}
    ]  # fmt: skip
    assert _ids(tmp_path / "spark") == _ids(tmp_path / "arrow") == [1, 2, 3, 4, 5, 6, 7]


def test_elements_and_entries_have_their_ids(spark: Any, tmp_path: Path):
    """Writer Requirements for IcebergCompatV2: nested identifiers "must be also written to the `field_id` field" """
    properties = {"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"}
    table = esker.create(tmp_path, "p string, a array<map<string,int>>", partition_by=["p"], properties=properties)
    rows = spark.sql("SELECT 'x' AS p, array(map('k', 1)) AS a")
    table.append(rows)
    assert table.to_arrow().to_pylist() == [{"p": "x", "a": [[("k", 1)]]}]
    # "Require that partition column values be materialized when writing Parquet data files"
    assert _ids(tmp_path) == [1, 2, 3, 4, 5]


def test_stored_partition_columns_get_along_with_any_name(spark: Any, tmp_path: Path):
    """materializePartitionColumns: the files hold the partition columns too."""
    properties = {"delta.writePartitionColumnsToParquet": "true"}
    table = esker.create(tmp_path, "p string, p_0 string, __row_partition_0 int", partition_by=["p"], properties=properties)
    table.append(spark.sql("SELECT 'x' AS p, 'y' AS p_0, 1 AS __row_partition_0"))
    assert table.to_arrow().to_pylist() == [{"p": "x", "p_0": "y", "__row_partition_0": 1}]
    assert _footer(tmp_path).schema.names == ["p_0", "__row_partition_0", "p"]


def test_names_and_paths_may_be_hostile(spark: Any, tmp_path: Path):
    folder = tmp_path / "a b%2e%2e#[x]{y}?é=1"
    table = esker.create(folder, "`a.b` string, `c``d` string, `../e` int", partition_by=["a.b", "c`d"])
    table.append(spark.sql("SELECT 'x/../y' AS `a.b`, '%2F' AS `c``d`, 1 AS `../e`"))
    table.update({"`../e`": "`../e` + 1"}, "`a.b` = 'x/../y'")
    assert table.to_arrow().to_pylist() == [{"a.b": "x/../y", "c`d": "%2F", "../e": 2}]
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_void_columns_and_members_are_not_stored(spark: Any, tmp_path: Path):
    """void type: "never stored in Parquet" """
    schema = "id int, v void, s struct<a:int, w:void>"
    table = esker.create(tmp_path, schema)
    table.append(spark.sql("SELECT 1 AS id, named_struct('a', 2) AS s"))
    assert _footer(tmp_path).schema.names == ["id", "a"]
    other = esker.create(tmp_path / "arrow", schema)
    other.append(table.to_arrow())
    assert _footer(tmp_path / "arrow").schema.names == ["id", "a"]
    assert table.to_arrow().to_pylist() == other.to_arrow().to_pylist() == [{"id": 1, "v": None, "s": {"a": 2, "w": None}}]


def test_files_have_the_types_and_the_codec_that_the_table_asks_for(spark: Any, tmp_path: Path):
    """No INT96, variants unshredded, and the codec of delta.parquet.compression.codec, whatever the session says."""
    own = {
        "spark.sql.parquet.outputTimestampType": "INT96", "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.compression.codec": "snappy",
    }  # fmt: skip
    table = esker.create(
        tmp_path, "t timestamp, n timestamp_ntz, d decimal(5,2), v variant", properties={"delta.parquet.compression.codec": "gzip"}
    )
    with _set(spark, own):
        table.append(spark.sql("SELECT TIMESTAMP'2024-01-01' AS t, TIMESTAMP_NTZ'2024-01-01' AS n, 1.50BD AS d, parse_json('1') AS v"
                               ).selectExpr("t", "n", "CAST(d AS DECIMAL(5,2)) AS d", "v"))  # fmt: skip
        assert {key: spark.conf.get(key) for key in own} == own
    footer = _footer(tmp_path)
    assert [footer.schema.column(i).physical_type for i in range(3)] == ["INT64", "INT64", "INT32"]
    assert footer.row_group(0).column(0).compression == "GZIP"
    assert sorted(footer.schema.column(i).path for i in range(3, 5)) == ["v.metadata", "v.value"]


@pytest.mark.parametrize(("version", "kind"), [("1.0.0", DATA_PAGE), ("2.12.0", DATA_PAGE_V2)])
def test_pages_are_of_the_version_that_the_table_asks_for(spark: Any, tmp_path: Path, version: str, kind: bytes):
    """Table Properties, `delta.parquet.format.version`: "`1.0.0` (page V1) or `2.MINOR.PATCH` (page V2" """
    table = esker.create(tmp_path, "p int, id bigint", partition_by=["p"], properties={
        "delta.parquet.format.version": version, "delta.writePartitionColumnsToParquet": "true"})  # fmt: skip
    table.append(spark.range(3).selectExpr("CAST(id AS INT) AS p", "id"))
    (data, *_) = [path.read_bytes() for path in tmp_path.rglob("*.parquet")]
    assert first_page(data) == kind
    assert pq.read_metadata(pa.BufferReader(data)).schema.names == ["id", "p"]
    assert sorted(row["id"] for row in table.to_df(spark).collect()) == [0, 1, 2]


def test_values_are_made_where_rows_lack_them(spark: Any, tmp_path: Path):
    table = esker.create(
        tmp_path,
        "id int, a int default 5, b int generated always as (a + 1), n bigint generated always as identity (start with -1 increment by -2)",
        features=["allowColumnDefaults"],
    )
    table.append(spark.range(50).selectExpr("CAST(id AS INT) AS id").repartition(3))
    table.append(spark.sql("SELECT 100 AS id, 7 AS a UNION ALL SELECT 101, NULL"))
    rows = table.to_arrow().to_pylist()
    made = {row["id"]: (row["a"], row["b"]) for row in rows}
    assert made == dict.fromkeys(range(50), (5, 6)) | {100: (7, 8), 101: (None, None)}
    numbers = [row["n"] for row in rows]
    # Identity Columns: "value = start + k * step", unique over all tasks and commits
    assert len(set(numbers)) == len(numbers)
    assert all(n < 0 and n % 2 == 1 for n in numbers)
    mark = next(f for f in table.schema if f.name == "n").metadata["delta.identity.highWaterMark"]
    assert mark == min(numbers)


def test_columns_go_by_name_at_every_depth(spark: Any, tmp_path: Path):
    table = esker.create(tmp_path, "a int, s struct<x:int, y:string>, l array<struct<p:int, q:bigint>>, m map<string,struct<u:int>>")
    table.append(spark.sql("""
        SELECT array(named_struct('Q', 2), NULL) AS L, named_struct('Y', 'y', 'X', 1) AS S, map('k', named_struct('U', 3)) AS M
    """))  # fmt: skip
    table.append(spark.sql("SELECT NULL AS s, array() AS l, 9 AS a"))
    assert table.to_arrow().to_pylist() == [
        {"a": None, "s": {"x": 1, "y": "y"}, "l": [{"p": None, "q": 2}, None], "m": [("k", {"u": 3})]},
        {"a": 9, "s": None, "l": [], "m": None},
    ]


def test_what_must_not_be_null_is_checked_and_not_cast(spark: Any, tmp_path: Path):
    schema = pa.schema([("a", pa.list_(pa.field("element", pa.int32(), False))),
                        ("m", pa.map_(pa.string(), pa.field("value", pa.int32(), False)))])  # fmt: skip
    table = esker.create(tmp_path, schema)
    table.append(spark.sql("SELECT array(1, nullif(2, 1)) AS a, map('k', nullif(2, 1)) AS m"))
    with pytest.raises(InvalidRequest, match=r"NOT NULL of the column a\.element"):
        table.append(spark.sql("SELECT array(1, CAST(NULL AS INT)) AS a, map('k', 1) AS m"))


def test_a_frame_makes_a_table_whose_columns_may_be_null(spark: Any, tmp_path: Path):
    table = esker.create(tmp_path, spark.range(3), partition_by=[], comment="numbers")
    assert [field.nullable for field in table.schema] == [True]
    assert table.append(spark.sql("SELECT CAST(NULL AS BIGINT) AS id")).to_arrow().num_rows == 4
    assert esker.create(tmp_path, spark.range(5), if_exists="replace").to_arrow().num_rows == 5
    assert esker.create(tmp_path, spark.range(7), if_exists="ignore").version == 2


def test_checks_are_for_the_rows_that_are_written_and_no_others(spark: Any, tmp_path: Path):
    properties = {"delta.enableDeletionVectors": "true"}
    table = esker.create(tmp_path, "id int, v int", constraints={"small": "v < 10"}, properties=properties)
    table.append(spark.sql("SELECT 1 AS id, 1 AS v UNION ALL SELECT 2, 9"))
    table.update({"v": "v + 1"}, "id = 1")  # the other row would break it
    table.merge(_rows(spark, "(1, 5), (7, 50)"), "target.id = source.id").when_matched_update_all().execute()
    table.merge(_rows(spark, "(1, 50), (8, 6)"), "target.id = source.id").when_not_matched_insert_all().execute()
    assert sorted(tuple(row.values()) for row in table.to_arrow().to_pylist()) == [(1, 5), (2, 9), (8, 6)]
    for change in (
        lambda: table.update({"v": "10"}, "id = 1"),
        lambda: table.merge(_rows(spark, "(1, 50)"), "target.id = source.id").when_matched_update_all().execute(),
        lambda: table.merge(_rows(spark, "(9, 50)"), "target.id = source.id").when_not_matched_insert_all().execute(),
        lambda: table.overwrite(_rows(spark, "(1, 50)"), where="id = 1"),
    ):
        before = _paths(tmp_path)
        with pytest.raises(InvalidRequest, match="a row breaks the constraint small"):
            change()
        assert _paths(tmp_path) == before
    assert table.at().version == 4


_SESSIONS = [{"spark.sql.ansi.enabled": "false"}, {"spark.sql.caseSensitive": "true"}]


@pytest.mark.parametrize("own", _SESSIONS, ids=lambda own: "+".join(own))
def test_a_session_may_have_settings_of_its_own(spark: Any, tmp_path: Path, own: dict[str, str]):
    """Rows are the same, and settings, temporary views and cached frames are as they were."""
    with _set(spark, own):
        before = _session(spark)
        table = esker.create(tmp_path, "id int, v int", constraints={"pos": "id > 0"})
        table.append(_rows(spark, "(1, 1), (2, 2), (3, 3)"))
        table.append(spark.sql("SELECT 4 AS ID, 4 AS V"))
        table.delete("id = 1")
        table.update({"V": "v + 1"}, "id = 2")
        table.merge(_rows(spark, "(3, 30), (5, 50)"), "target.ID = source.ID" if "spark.sql.caseSensitive" not in own else
                    "target.id = source.id").when_matched_update_all().when_not_matched_insert_all().execute()  # fmt: skip
        with pytest.raises(InvalidRequest):
            table.merge(_rows(spark, "(3, 1), (3, 2)"), "target.id = source.id").when_matched_update_all().execute()
        with pytest.raises(InvalidRequest):
            table.append(_rows(spark, "(-1, 1)"))
        assert _session(spark) == before
    rows = sorted((row["id"], row["v"]) for row in table.to_arrow().to_pylist())
    assert rows == [(2, 3), (3, 30), (4, 4), (5, 50)]


@pytest.mark.parametrize("is_ansi", ["true", "false"])
def test_identities_do_not_run_over(spark: Any, tmp_path: Path, is_ansi: str):
    """Identity Columns: "Overflow when calculating generated Identity values should be detected" """
    table = esker.create(tmp_path, "id bigint, n bigint generated always as identity (start with 9223372036854775806)")
    with _set(spark, {"spark.sql.ansi.enabled": is_ansi}), pytest.raises(InvalidRequest, match="n: it has no numbers left"):
        table.append(spark.range(5))
    assert table.at().version == 0


def arrow_frame(spark: Any, rows: pa.Table) -> Any:
    """The rows with the types that they have: Spark by itself takes times without a zone for times in the session's."""
    from esker.spark.types import to_spark_schema

    return spark.createDataFrame(rows, to_spark_schema(columns_of(rows.schema)))


def _rows(spark: Any, values: str) -> Any:
    return spark.sql(f"SELECT * FROM VALUES {values} AS t(id, v)")


@contextmanager
def _set(spark: Any, values: dict[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)


def _session(spark: Any) -> tuple[Any, ...]:
    """What a session has that others can see."""
    settings = {row.key: row.value for row in spark.sql("SET").collect()}
    views = sorted(row.name for row in spark.catalog.listTables() if row.isTemporary)
    return settings, views, spark.sparkContext._jsc.sc().getPersistentRDDs().size()


def _paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _footer(folder: Path) -> Any:
    (path,) = [path for path in folder.glob("*/**/*.parquet") if not path.name.startswith(".")]
    return pq.ParquetFile(path).metadata


def _ids(folder: Path) -> list[int]:
    (path,) = folder.glob("*/**/*.parquet")
    text = str(pq.ParquetFile(path).schema)
    return sorted(int(part.split()[0]) for part in text.split("field_id=")[1:] if not part.startswith("-1"))


