"""What Spark makes of a condition, Esker makes of it too, row by row."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.core.binding import bind
from esker.core.filtering import mask
from esker.core.sql import parse
from esker.core.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Field,
    Struct,
)

NAN, INF = float("nan"), float("inf")
LAST_MICROSECOND = datetime(1969, 12, 31, 23, 59, 59, 999999)
MOMENTS = [datetime(1, 1, 1), LAST_MICROSECOND, datetime(1970, 1, 1), datetime(2024, 2, 29, 12)]

COLUMNS: dict[str, tuple[object, pa.DataType, list[object]]] = {
    "id": (INTEGER, pa.int32(), [0, 1, -1, 3, 4, 2**31 - 1, -(2**31), None]),
    "y": (BYTE, pa.int8(), [0, 1, -1, 3, 4, 127, -128, None]),
    "l": (LONG, pa.int64(), [0, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -1, 2**53 - 1, None]),
    "d": (DOUBLE, pa.float64(), [0.0, -0.0, NAN, INF, -INF, 0.1, 5e-324, None]),
    "f": (FLOAT, pa.float32(), [0.0, -0.0, NAN, INF, -INF, 0.1, 16777216.0, None]),
    "t": (STRING, pa.string(), ["", "a", "ab", "é", "\uffff", "\U0001f600", "a'\\%\n", None]),
    "b": (BOOLEAN, pa.bool_(), [True, False, True, False, None, True, False, None]),
    "day": (DATE, pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29),
                                date(9999, 12, 31), date(2024, 3, 1), None, None]),
    "ts": (TIMESTAMP, pa.timestamp("us", "UTC"), [*(m.replace(tzinfo=UTC) for m in MOMENTS), *[None] * 4]),
    "tn": (TIMESTAMP_NTZ, pa.timestamp("us"), [*MOMENTS, *[None] * 4]),
    "n": (Decimal(8, 2), pa.decimal128(8, 2),
          [*map(Number, ("0.00", "0.10", "1.25", "1.26", "-1.25", "999999.99", "-999999.99")), None]),
    "wide": (Decimal(38, 10), pa.decimal128(38, 10), [*map(Number, ("0", "0.1", "1E+20", "-1E+27")), *[None] * 4]),
    "bin": (BINARY, pa.binary(), [b"", b"\x00", b"a", b"\x7f", b"\x80", b"\xff\xff", b"ab", None]),
    "s": (Struct((Field("v", INTEGER),)), pa.struct([("v", pa.int32())]),
          [{"v": 1}, {"v": 2}, {"v": None}, None, {"v": 3}, None, {"v": 1}, {"v": -1}]),
}
SCHEMA = Struct(tuple(Field(name, kind) for name, (kind, _, _) in COLUMNS.items()))  # type: ignore[arg-type]

CONDITIONS = [
    "id = 3", "id <> 3", "id < 3.5", "id >= 3.5", "id = 3.5", "id <> 3.5", "id <=> 3", "NOT id <=> 3", "id <=> NULL",
    "id = NULL", "id IN (1, 3, NULL)", "id NOT IN (1, 3)", "id NOT IN (1, NULL)", "id IN (1, 2.5, 3.0)",
    "id BETWEEN 1 AND 3.5", "id NOT BETWEEN 1 AND 3", "id = '3'", "id < double('nan')", "id > 99999999999", "id = 3e0",
    "y < 1000", "y = 127", "y > 127", "y IN (1000)", "l = 9007199254740992", "l < 9223372036854775807",
    "l > 9223372036854775806.5", "l <= 9007199254740990D", "d = double('nan')", "d > 1e308", "d <= double('infinity')",
    "d < double('nan')", "d = 0", "d = -0.0D", "d < 0.1", "d = 0.1", "d IN (0.1D, double('nan'))", "d NOT IN (0.0D)",
    "f = 0.1", "f = 0.1D", "f = 0.1F", "f > 0.1", "f >= 16777216", "f = double('nan')", "f = '0.5'",
    "t LIKE ''", "t NOT LIKE 'ab'", "t = ''", "t LIKE 'a%'", "t NOT LIKE 'a%'", "t LIKE 'ab'", "t > 'é'", "t >= '\\uffff'", "t IN ('a', '😀')",
    "startswith(t, 'a')", "t = 'a\\'\\\\%\\n'", "t < 'b' OR t IS NULL", "b", "NOT b", "b IS NOT TRUE", "b IS FALSE",
    "b = true AND id > 0", "b < true", "day = '2024-02-29'", "day < DATE '1970-01-01'",
    "day LIKE '2024-02-29'", "day NOT LIKE '1970-01-01'", "day <= TIMESTAMP '2024-02-29 12:00:00'", "day = TIMESTAMP '2024-02-29 00:00:00'",
    "day = TIMESTAMP '2024-02-29 12:00:00'", "day IN (DATE '2024-03-01', NULL)",
    "day > TIMESTAMP_NTZ '1969-12-31 00:00:01'", "ts >= TIMESTAMP '1970-01-01 01:00:00+01:00'", "ts < '1970-01-01'",
    "ts = DATE '1970-01-01'", "ts <> TIMESTAMP_NTZ '2024-02-29 12:00:00'", "ts IN (TIMESTAMP '1970-01-01 00:00:00')",
    "tn > '1969-12-31 23:59:59.999998'", "tn = TIMESTAMP '2024-02-29 12:00:00'", "tn <= DATE '1970-01-01'",
    "n = 1.25", "n < 1.255", "n = 1.255", "n >= 1", "n = 0.1D", "n > 1.25D", "n < 1000000", "n IN (1.25, 1, 0.100)",
    "n = double('nan')", "wide = 100000000000000000000", "wide > 0.1", "wide < -999999999999999999999999999.5",
    "bin < X'80'", "bin = X''", "bin >= X'FF'", "bin IN (X'61', X'00')", "s.v = 1", "s.v IS NULL", "s IS NULL",
    "s.v IN (1, NULL)", "NOT (s.v > 1 AND b)", "NOT (id = 3 OR NULL)", "id = 3 AND NULL", "TRUE", "NULL",
]


@pytest.fixture
def rows() -> pa.Table:
    return pa.table({name: pa.array(values, kind) for name, (_, kind, values) in COLUMNS.items()})


@pytest.fixture
def frame(spark: Any, rows: pa.Table, tmp_path: Path) -> Iterator[Any]:
    """The same rows in Spark, whose session is in UTC for the time of the test."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    pq.write_table(rows, tmp_path / "rows.parquet")
    yield spark.read.parquet(str(tmp_path / "rows.parquet"))
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.spark
def test_every_condition_has_the_truth_values_that_spark_gives_it(frame: Any, rows: pa.Table) -> None:
    # A `where` does not tell FALSE from NULL, so the conditions are the columns of one query.
    answers = frame.selectExpr(*(f"({condition}) AS c{i}" for i, condition in enumerate(CONDITIONS))).collect()
    expected = {condition: [row[i] for row in answers] for i, condition in enumerate(CONDITIONS)}
    found = {condition: mask(bind(parse(condition), SCHEMA), rows).to_pylist() for condition in CONDITIONS}
    assert found == expected


@pytest.mark.spark
@pytest.mark.parametrize(
    "condition", ["NOT (id NOT IN (1, NULL))", "d > 0.1", "t >= 'é' AND NOT b", "f >= 0.1 OR s.v < 2"]
)
def test_filtering_keeps_the_rows_that_spark_keeps(frame: Any, rows: pa.Table, condition: str) -> None:
    kept = rows.filter(mask(bind(parse(condition), SCHEMA), rows))["id"].to_pylist()
    assert [row.id for row in frame.where(condition).select("id").collect()] == kept
