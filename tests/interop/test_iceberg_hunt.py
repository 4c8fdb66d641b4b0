"""Do Esker and iceberg-spark see the same rows in odd tables, through filters too?

Every transform over values at its edges, made by either and read by both; specs and columns that evolved; deletes that were taken
over by others.  (spec, "Partition Transforms", "Partition Evolution", "Schema Evolution", "Column Projection", "Scan Planning")
"""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import esker
from tests.interop.iceberg_peer import IcebergSpark, iceberg_spark
from tests.interop.iceberg_spark import plain

pytestmark = pytest.mark.peers

COLUMNS = {
    "id": "bigint", "i": "int", "l": "bigint", "d": "decimal(9,2)", "s": "string", "b": "binary", "dt": "date", "ts": "timestamp",
    "tn": "timestamp_ntz", "f": "float", "db": "double", "bo": "boolean",
}  # fmt: skip
ARROW = pa.schema(
    {
        "id": pa.int64(), "i": pa.int32(), "l": pa.int64(), "d": pa.decimal128(9, 2), "s": pa.string(), "b": pa.binary(),
        "dt": pa.date32(), "ts": pa.timestamp("us", "UTC"), "tn": pa.timestamp("us"), "f": pa.float32(), "db": pa.float64(),
        "bo": pa.bool_(),
    }.items()
)  # fmt: skip
NAN, INF = float("nan"), float("inf")
EDGES: dict[str, list[Any]] = {
    "i": [-(2**31), -11, -10, -1, 0, 1, 9, 2**31 - 1, None],
    "l": [-(2**63), -11, -10, -1, 0, 1, 9, 2**63 - 1, None],
    "d": [Decimal(n).scaleb(-2) for n in (-999999999, -301, -300, -1, 0, 1, 299, 999999999)] + [None],
    "s": ["", "a", "ab", "abc", "abcd", "\u00e9\u00e8\u00ea\u00eb", "\U0001f600\U0001f601\U0001f602\U0001f603", "\uffff\uffff\uffff", None],
    "b": [b"", b"\x00", b"ab", b"abc", b"abcd", b"\xff\xff\xff", b"\xff\xff\xff\xff", b"\x7f\x80", None],
    "dt": [date(1, 1, 1), date(1969, 12, 31), date(1969, 1, 1), date(1970, 1, 1), date(1970, 2, 1), date(2024, 2, 29), date(9999, 12, 31), date(1582, 10, 15), None],
    "tn": [datetime(1900, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1969, 12, 31, 23), datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1), datetime(2024, 2, 29, 12, 30), datetime(2038, 1, 19, 3, 14, 8), datetime(1968, 2, 29), None],
    "f": [-INF, -1.5, -0.0, 0.0, 1.5, INF, NAN, 3.4000000953674316, None],
    "db": [-INF, -1.5, -0.0, 0.0, 1.5, INF, NAN, 1e308, None],
    "bo": [True, False, None, True, False, None, True, False, None],
}  # fmt: skip
EDGES["ts"] = [None if v is None else v.replace(tzinfo=UTC) for v in EDGES["tn"]]
ROWS = pa.table({"id": list(range(9)), **EDGES}).select(ARROW.names).cast(ARROW)
TRANSFORMS = [
    *(f"{c}" for c in ("i", "l", "d", "s", "b", "dt", "ts", "tn", "f", "db", "bo")),
    *(f"bucket(4, {c})" for c in ("i", "l", "d", "s", "b", "dt", "ts", "tn")),
    *(f"truncate(3, {c})" for c in ("i", "l", "d", "s", "b")),
    *(f"{unit}({c})" for unit in ("years", "months", "days") for c in ("dt", "ts", "tn")),
    *(f"hours({c})" for c in ("ts", "tn")),
]
CONDITIONS = {
    "i": ["i = -10", "i < -10", "i <= -1", "i > 9", "i <> 0", "i IN (-2147483648, 9)", "i IS NULL", "NOT (i > 0)", "i NOT IN (0, 1)"],
    "l": ["l = -11", "l < 0", "l >= 9", "l IN (1, -9223372036854775808)", "l IS NOT NULL", "l <> 9", "l = 0.5"],
    "d": ["d = -3.01", "d < -3", "d >= 2.99", "d IN (0.01, -0.01)", "d > 9999999", "d <> 0"],
    "s": ["s = 'abcd'", "s < 'abc'", "s >= 'abc'", "s LIKE 'abc%'", "s LIKE '%'", "s = ''", "s NOT LIKE 'ab%'", "s IN ('a', 'abcd')", "s > '\u00e9'", "s LIKE '\U0001f600%'", "s > '\uffff'", "s < '\U0001f600'"],
    "b": ["b = X'616263'", "b > X'FFFFFF'", "b <= X'FFFFFF'", "b < X'7F80'", "b = X''", "b IS NULL"],
    "dt": ["dt = DATE'1969-12-31'", "dt < DATE'1970-01-01'", "dt >= DATE'1969-01-01'", "dt <= DATE'0001-01-01'", "dt IN (DATE'2024-02-29', DATE'9999-12-31')", "dt > DATE'1970-01-15'"],
    "ts": ["ts = TIMESTAMP'1970-01-01 00:00:00Z'", "ts < TIMESTAMP'1970-01-01 00:00:00Z'", "ts >= TIMESTAMP'1969-12-31 23:00:00Z'", "ts <= TIMESTAMP'1970-01-01 01:00:00+01:00'", "ts > TIMESTAMP'2024-02-29 12:29:59Z'", "ts <> TIMESTAMP'1968-02-29 00:00:00Z'"],
    "tn": ["tn = TIMESTAMP_NTZ'1970-01-01 00:00:00'", "tn < TIMESTAMP_NTZ'1970-01-01 00:00:00'", "tn >= TIMESTAMP_NTZ'1969-12-31 23:00:00'", "tn > TIMESTAMP_NTZ'2024-02-29 12:29:59'"],
    "f": ["f = 0.0", "f = -0.0", "f > 1.5", "f < -1.5", "f >= 0", "f <> 0", "f IS NOT NULL", "NOT (f < 1.5)", "f = CAST('NaN' AS FLOAT)", "f < 0", "f = 3.4"],
    "db": ["db = 0.0", "db = -0.0", "db > 1.5", "db < -1.5", "db >= 0", "db <> 0", "NOT (db > 0)", "db = CAST('NaN' AS DOUBLE)", "db <= 1.5", "db IN (0.0, 1.5)"],
    "bo": ["bo", "NOT bo", "bo = false", "bo IS NULL", "bo <> true"],
}  # fmt: skip


def told(rows: list[dict[str, Any]]) -> list[str]:
    """The rows in a spelling and an order that both sides share."""
    return sorted(json.dumps(_with_maps(row), default=_plain, sort_keys=True) for row in rows)


def _with_maps(value: Any) -> Any:
    """Arrow gives maps as lists of pairs, JSON has texts for keys."""
    match value:
        case dict():
            return {str(key): _with_maps(item) for key, item in value.items()}
        case [tuple(), *_]:
            return {str(key): _with_maps(item) for key, item in value}
        case list():
            return [_with_maps(item) for item in value]
    return value


def _plain(value: Any) -> str:
    return plain(value.replace(tzinfo=None) if isinstance(value, datetime) else value)


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSpark]:
    with iceberg_spark(tmp_path_factory.mktemp("hunt")) as running:
        yield running


LOSES = ("f", "db", "truncate(3, i)", "truncate(3, l)")
"""Where iceberg-spark 1.10 itself loses rows: the zeros and NaN as partition values, numbers that wrap around when they are cut."""


def check_same(peer: IcebergSpark, name: str, conditions: list[str], may_lose: bool = False) -> None:
    """Both see the same rows, all and through each filter; Spark's own Parquet scan of a copy says which these are."""
    table = esker.open(peer.place(name))
    theirs = told(peer.sql(f"SELECT * FROM local.db.{name}"))
    assert told(table.to_arrow().to_pylist()) == theirs
    peer.sql("DROP TABLE IF EXISTS plain", f"CREATE TABLE plain USING parquet AS SELECT * FROM local.db.{name}")
    wrong = {}
    for condition in conditions:
        right, seen = (
            sorted(row["id"] for row in peer.sql(f"SELECT id FROM {source} WHERE {condition}"))
            for source in ("plain", f"local.db.{name}")
        )
        ours = sorted(table.to_arrow(["id"], where=condition).column("id").to_pylist())
        if ours != right or (seen != right and not may_lose):
            wrong[condition] = (ours, right, seen)
    assert wrong == {}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_values_at_the_edges_of_a_transform(peer: IcebergSpark, transform: str) -> None:
    column = transform.partition(", ")[2].rstrip(")") or transform.rpartition("(")[2].rstrip(")")
    name = "".join(c if c.isalnum() else "_" for c in transform)
    columns = ", ".join(f"{n} {kind}" for n, kind in COLUMNS.items())
    ours = esker.create(peer.place(f"ours_{name}"), columns, format="iceberg", partition_by=[transform])
    ours.append(ROWS)
    peer.sql(
        f"CREATE TABLE local.db.theirs_{name} ({columns}) USING iceberg PARTITIONED BY ({transform})",
        f"INSERT INTO local.db.theirs_{name} SELECT * FROM local.db.ours_{name}",
    )
    for maker in ("ours", "theirs"):
        check_same(peer, f"{maker}_{name}", CONDITIONS[column], transform in LOSES)
    partitions = [
        peer.sql(f"SELECT partition, record_count FROM local.db.{maker}_{name}.partitions") for maker in ("ours", "theirs")
    ]
    assert told(partitions[0]) == told(partitions[1])


def run(peer: IcebergSpark, name: str, *texts: str) -> None:
    """Run the texts, in each of which `{t}` is the table."""
    peer.sql(*(text.format(t=f"local.db.{name}") for text in texts))


EVOLVED = [
    "CREATE TABLE {t} (id bigint, a int, f float, d decimal(5,2), s struct<x: int, y: string>, l array<struct<p: int, q: int>>, "
    "m map<string, struct<u: int, w: int>>) USING iceberg TBLPROPERTIES ('format-version'='V')",
    "INSERT INTO {t} VALUES (1, 10, 1.5, 1.25, named_struct('x', 1, 'y', 'one'), array(named_struct('p', 1, 'q', 2)), map('k', named_struct('u', 1, 'w', 2)))",
    "ALTER TABLE {t} ALTER COLUMN a TYPE bigint", "ALTER TABLE {t} ALTER COLUMN f TYPE double", "ALTER TABLE {t} ALTER COLUMN d TYPE decimal(9,2)",
    "ALTER TABLE {t} RENAME COLUMN a TO b", "ALTER TABLE {t} ADD COLUMN a string AFTER id",
    "ALTER TABLE {t} ALTER COLUMN s.x TYPE bigint", "ALTER TABLE {t} RENAME COLUMN s.x TO z", "ALTER TABLE {t} ADD COLUMN s.x int FIRST",
    "ALTER TABLE {t} DROP COLUMN l.element.p", "ALTER TABLE {t} ADD COLUMN l.element.p string FIRST", "ALTER TABLE {t} ALTER COLUMN l.element.q TYPE bigint",
    "ALTER TABLE {t} RENAME COLUMN m.value.u TO v", "ALTER TABLE {t} ADD COLUMN m.value.u int FIRST", "ALTER TABLE {t} ALTER COLUMN m.value.w FIRST",
    "INSERT INTO {t} VALUES (2, 'A', 5000000000, 2.5, 1234567.89, named_struct('x', 7, 'z', 6000000000, 'y', 'two'), "
    "array(named_struct('p', 'P', 'q', 7000000000)), map('k2', named_struct('w', 4, 'u', 5, 'v', 6)))",
    "ALTER TABLE {t} DROP COLUMN s.y", "ALTER TABLE {t} ADD COLUMN s.y int", "ALTER TABLE {t} ALTER COLUMN b FIRST",
    "INSERT INTO {t} VALUES (30, 3, 'B', 3.5, 3.25, named_struct('x', 8, 'z', 9, 'y', 10), array(), map('k3', null))",
]  # fmt: skip
EVOLVED_CONDITIONS = [
    "b = 10", "b > 10", "a IS NULL", "a = 'A'", "f = 1.5", "d = 1.25", "d > 1000", "s.x IS NULL", "s.x = 7", "s.z = 1", "s.y IS NULL", "s.y = 10", "b < 31 AND d < 4",
]  # fmt: skip


@pytest.mark.parametrize("version", [1, 2, 3])
def test_columns_that_were_renamed_dropped_added_moved_and_widened_at_any_depth(peer: IcebergSpark, version: int) -> None:
    name = f"evolved_{version}"
    run(peer, name, *(text.replace("'V'", f"'{version}'") for text in EVOLVED))
    check_same(peer, name, EVOLVED_CONDITIONS)
    table = esker.open(peer.place(name))
    for snapshot in table.history().column("version").to_pylist():
        theirs = peer.sql(f"SELECT * FROM local.db.{name} VERSION AS OF {snapshot}")
        assert told(table.at(snapshot).to_arrow().to_pylist()) == told(theirs)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_specs_that_evolved_with_deletes_and_filters_over_all_of_them(peer: IcebergSpark, version: int) -> None:
    name = f"specs_{version}"
    mode = "copy-on-write" if version == 1 else "merge-on-read"
    run(
        peer, name,
        "CREATE TABLE {t} (id bigint, a int, ts timestamp, s string) USING iceberg PARTITIONED BY (a, days(ts)) "
        f"TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='{mode}', 'write.update.mode'='{mode}', 'write.merge.mode'='{mode}')",
        "INSERT INTO {t} SELECT id, cast(id % 3 AS int), timestamp_seconds(id * 40000 - 200000), cast(id AS string) FROM range(12)",
        "ALTER TABLE {t} DROP PARTITION FIELD a",
        "INSERT INTO {t} SELECT id, cast(id % 3 AS int), timestamp_seconds(id * 40000 - 700000), cast(id AS string) FROM range(12, 24)",
        "ALTER TABLE {t} REPLACE PARTITION FIELD ts_day WITH hours(ts)",
        "ALTER TABLE {t} ADD PARTITION FIELD bucket(3, id)",
        "ALTER TABLE {t} ADD PARTITION FIELD truncate(1, s) AS first_letter",
        "INSERT INTO {t} SELECT id, cast(id % 3 AS int), timestamp_seconds(id * 40000 - 1100000), cast(id AS string) FROM range(24, 36)",
        "ALTER TABLE {t} ADD PARTITION FIELD a",
        "INSERT INTO {t} SELECT id, cast(id % 3 AS int), timestamp_seconds(id * 40000 - 1500000), cast(id AS string) FROM range(36, 48)",
        "DELETE FROM {t} WHERE id % 7 = 0", "UPDATE {t} SET a = a + 10 WHERE id % 5 = 0",
    )  # fmt: skip
    conditions = [
        "a = 1", "a = 11", "a IN (0, 12)", "a IS NULL", "ts < TIMESTAMP'1970-01-01 00:00:00Z'", "ts >= TIMESTAMP'1969-12-31 12:00:00Z' AND a = 2",
        "id = 25", "id IN (3, 30, 40)", "s LIKE '4%'", "s = '31'", "NOT (a = 1 OR id < 20)",
    ]  # fmt: skip
    check_same(peer, name, conditions)
    before = told(peer.sql(f"SELECT * FROM local.db.{name}"))
    table = esker.open(peer.place(name))
    table.append(pa.table({"id": [100], "a": pa.array([1], pa.int32()), "ts": pa.array([0], pa.timestamp("us", "UTC")), "s": ["4x"]}))
    check_same(peer, name, conditions)
    partitions = peer.sql(f"SELECT spec_id, record_count, file_count FROM local.db.{name}.partitions")
    ours = table.metadata("partitions").select(["spec_id", "record_count", "file_count"]).to_pylist()
    assert told(ours) == told(partitions)
    assert len(before) + 1 == table.to_arrow().num_rows


def test_deletes_of_version_2_go_on_in_version_3_with_their_row_ids(peer: IcebergSpark) -> None:
    modes = ", ".join(f"'write.{act}.mode'='merge-on-read'" for act in ("delete", "update", "merge"))
    run(
        peer, "taken_over",
        f"CREATE TABLE {{t}} (id bigint, v bigint) USING iceberg TBLPROPERTIES ('format-version'='2', {modes}, 'write.delete.granularity'='partition')",
        "INSERT INTO {t} SELECT id, id FROM range(20)", "INSERT INTO {t} SELECT id, id FROM range(20, 40)",
        "DELETE FROM {t} WHERE id IN (1, 21, 35)", "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')",
        "DELETE FROM {t} WHERE id IN (2, 22)", "UPDATE {t} SET v = -v WHERE id IN (3, 23)", "INSERT INTO {t} VALUES (50, 50)",
    )  # fmt: skip
    lineage = "SELECT id, v, _row_id, _last_updated_sequence_number FROM local.db.taken_over"
    columns = ["id", "v", "_row_id", "_last_updated_sequence_number"]

    def check() -> None:
        assert told(esker.open(peer.place("taken_over")).to_arrow(columns).to_pylist()) == told(peer.sql(lineage))

    check()
    peer.sql("CALL local.system.rewrite_data_files(table => 'db.taken_over', options => map('rewrite-all', 'true'))")
    check()
    peer.sql("MERGE INTO local.db.taken_over t USING (SELECT 4 AS id UNION ALL SELECT 60) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 400 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (60, 60)")
    check()


@pytest.mark.parametrize("format", ["orc", "avro", "parquet"])
def test_files_of_every_format_with_every_type(peer: IcebergSpark, format: str) -> None:
    name = f"files_{format}"
    columns = ", ".join(f"{n} {kind}" for n, kind in COLUMNS.items())
    esker.create(peer.place(f"source_{format}"), columns, format="iceberg").append(ROWS)
    run(
        peer, name,
        f"CREATE TABLE {{t}} ({columns}, n struct<a: int, l: array<decimal(20,3)>>, m map<int, timestamp>) USING iceberg PARTITIONED BY (bo) "
        f"TBLPROPERTIES ('write.format.default'='{format}', 'write.delete.mode'='merge-on-read', 'write.delete.format.default'='{format}', 'write.metadata.compression-codec'='gzip')",
        f"INSERT INTO {{t}} SELECT *, named_struct('a', i, 'l', array(cast(d AS decimal(20,3)), null)), map(1, ts) FROM local.db.source_{format}",
        "DELETE FROM {t} WHERE id = 3",
        "ALTER TABLE {t} RENAME COLUMN i TO i2", "ALTER TABLE {t} ALTER COLUMN i2 TYPE bigint", "ALTER TABLE {t} ADD COLUMN i int",
        "INSERT INTO {t} SELECT id + 100, i2 + 5000000000, l, d, s, b, dt, ts, tn, f, db, bo, n, m, 7 FROM {t} WHERE id < 6",
    )  # fmt: skip
    check_same(peer, name, ["i IS NULL", "i = 7", "i2 > 5000000000", "s LIKE 'abc%'", "n.a < 0", "bo AND db > 0"], may_lose=True)
