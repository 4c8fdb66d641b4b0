"""Which value a partition text stands for, for every type.  (PROTOCOL.md, "Partition Value Serialization")"""

from decimal import Decimal

import pyarrow as pa
import pytest

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.types import Array, Field, Map, Struct, Type
from esker.delta.partitions import parse_values
from esker.errors import InvalidTable, Unsupported
from tests.delta.tables import Log, ids

DECIMAL = t.Decimal(10, 2)
VALUES: list[tuple[Type, str, object]] = [
    (t.STRING, "x", "x"), (t.STRING, " ", " "), (t.STRING, "null", "null"), (t.STRING, "é😀/%20=", "é😀/%20="),
    (t.STRING, "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"), (t.STRING, "a\nb\0c", "a\nb\0c"),
    (t.BOOLEAN, "true", True), (t.BOOLEAN, "false", False), (t.BOOLEAN, "TRUE", True),
    (t.BYTE, "-128", -128), (t.SHORT, "32767", 32767), (t.INTEGER, "-2147483648", -(2**31)), (t.INTEGER, "+5", 5),
    (t.LONG, "9223372036854775807", 2**63 - 1), (t.LONG, "-9223372036854775808", -(2**63)),
    (t.FLOAT, "0.1", 0.10000000149011612), (t.DOUBLE, "0.1", 0.1), (t.DOUBLE, "-0.0", -0.0), (t.DOUBLE, "1e308", 1e308),
    (t.DOUBLE, "Infinity", float("inf")), (t.DOUBLE, "-Infinity", float("-inf")), (t.DOUBLE, "1.0E10", 1e10),
    (DECIMAL, "1.5", Decimal("1.50")), (DECIMAL, "-99999999.99", Decimal("-99999999.99")), (DECIMAL, "1E+3", Decimal("1000.00")),
    (DECIMAL, "0", Decimal("0.00")), (t.Decimal(38, 0), "9" * 38, Decimal("9" * 38)),
    (t.BINARY, "\u0001\u0002\u0003", b"\x01\x02\x03"), (t.BINARY, "abc", b"abc"),
]  # fmt: skip
COUNTS: list[tuple[Type, str, int]] = [
    (t.DATE, "1970-01-01", 0), (t.DATE, "0001-01-01", -719162), (t.DATE, "9999-12-31", 2932896),
    (t.DATE, "-290308-12-21", -106751992), (t.DATE, "99999-01-01", 245 * 146097 + 10592),
    (t.TIMESTAMP, "1970-01-01 00:00:00", 0), (t.TIMESTAMP, "1970-01-01T00:00:00.123456Z", 123456),
    (t.TIMESTAMP, "1970-01-01T01:00:00+01:00", 0), (t.TIMESTAMP, "0001-01-01 00:00:00", -62135596800000000),
    (t.TIMESTAMP, "294247-01-10 04:00:54.775807", 2**63 - 1), (t.TIMESTAMP_NTZ, "1970-01-01 00:00:00.5", 500_000),
    (t.TIMESTAMP_NTZ, "9999-12-31 23:59:59.999999", 253402300799999999),
]  # fmt: skip


def parsed(kind: Type, *texts: str | None) -> pa.Array:
    return parse_values(pa.array(texts, pa.string()), kind, "p", "x")


@pytest.mark.parametrize("kind, text, value", VALUES)
def test_a_text_stands_for_its_value(kind: Type, text: str, value: object) -> None:
    """PROTOCOL.md, "Partition Value Serialization" """
    found = parsed(kind, text)
    assert found.type == to_arrow(kind)
    assert repr(found[0].as_py()) == repr(value)


@pytest.mark.parametrize("kind, text, count", COUNTS)
def test_a_date_or_time_stands_for_its_count_in_any_year(kind: Type, text: str, count: int) -> None:
    """PROTOCOL.md, "Partition Value Serialization": with and without a zone."""
    found = parsed(kind, text)
    assert found.type == to_arrow(kind)
    assert found.view(pa.int32() if kind == t.DATE else pa.int64())[0].as_py() == count


def test_not_a_number_is_a_value() -> None:
    assert str(parsed(t.DOUBLE, "NaN")[0].as_py()) == "nan"


ALL = [t.STRING, t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, DECIMAL, t.DATE, t.TIMESTAMP,
       t.TIMESTAMP_NTZ, t.BINARY, t.VOID]  # fmt: skip


@pytest.mark.parametrize("kind", ALL, ids=str)
def test_null_and_the_empty_text_are_null_for_every_type(kind: Type) -> None:
    """ "An empty string for any type translates to a `null` partition value."  (Partition Value Serialization)"""
    assert parsed(kind, None, "", None).to_pylist() == [None, None, None]
    assert parsed(kind).to_pylist() == []


REFUSED: list[tuple[Type, str]] = [
    (t.BOOLEAN, "1"), (t.BOOLEAN, "yes"), (t.BYTE, "128"), (t.SHORT, "-32769"), (t.INTEGER, "2147483648"),
    (t.LONG, "9223372036854775808"), (t.LONG, "9" * 5000), (t.LONG, "1.0"), (t.LONG, "1_000"), (t.LONG, "x"),
    (t.DOUBLE, "1_0"), (t.DOUBLE, "x"), (DECIMAL, "1.234"), (DECIMAL, "999999999"), (DECIMAL, "NaN"), (DECIMAL, "Infinity"),
    (DECIMAL, "1E+999999999"), (DECIMAL, "1_0"), (t.DATE, "2024-02-30"), (t.DATE, "2024-01-01 00:00:00"),
    (t.TIMESTAMP, "294247-01-10 04:00:54.775808"), (t.TIMESTAMP, "x"), (t.TIMESTAMP_NTZ, "2024-01-01 25:00:00"),
]  # fmt: skip


@pytest.mark.parametrize("kind, text", REFUSED, ids=lambda value: str(value)[:40])
def test_a_text_that_stands_for_no_value_is_an_invalid_table(kind: Type, text: str) -> None:
    with pytest.raises(InvalidTable, match="partition value"):
        parsed(kind, text)


@pytest.mark.parametrize("kind", [t.VARIANT, Array(t.LONG), Map(t.STRING, t.LONG), Struct((Field("a", t.LONG),))], ids=str)
def test_a_nested_type_is_no_type_for_a_partition_column(kind: Type) -> None:
    with pytest.raises(Unsupported):
        parsed(kind, "x")


@pytest.mark.parametrize("texts", [["a", None, "b", ""], ["a/b", "a%2Fb", "a b", "ü"], ["'", '"', "\\", "="]])
def test_rows_have_the_partition_value_of_their_file_and_filters_see_it(texts: list[str | None]) -> None:
    schema = Struct((Field("id", t.LONG), Field("P", t.STRING)))
    log = Log().start(schema, partition_by=["P"])
    for i, text in enumerate(texts):
        log.commit(log.data(f"f{i}.parquet", ids(i), partition={"P": text}))
    table = log.open()
    expected = [{"id": i, "P": text or None} for i, text in enumerate(texts)]
    assert table.to_arrow().to_pylist() == expected
    assert table.to_arrow(where="p IS NULL").to_pylist() == [row for row in expected if row["P"] is None]
    for row in expected:
        if row["P"] is not None:
            literal = str(row["P"]).replace("\\", "\\\\").replace("'", "\\'")
            assert row in table.to_arrow(where=f"P = '{literal}'").to_pylist()


@pytest.mark.parametrize("named", ["P", "q"])
def test_a_partition_column_that_is_not_in_the_schema_is_refused_also_where_capitals_alone_differ(named: str) -> None:
    """ "partitionColumns | An array containing the names of columns by which the data should be partitioned"  (Change Metadata):
    the values are kept under that very name."""
    log = Log().start(Struct((Field("id", t.LONG), Field("p", t.STRING))), partition_by=[named])
    with pytest.raises(InvalidTable, match=f"the partition columns {named} are not in the schema"):
        log.open()


def test_a_partition_column_is_never_read_from_the_files() -> None:
    """ "readers keep using `partitionValues`"  (materialized partition columns)"""
    schema = Struct((Field("id", t.LONG), Field("p", t.LONG)))
    log = Log().start(schema, partition_by=["p"])
    log.commit(log.data("f.parquet", pa.table({"id": [1], "p": [99]}), partition={"p": "7"}))
    assert log.open().to_arrow().to_pylist() == [{"id": 1, "p": 7}]


def test_a_partition_value_that_is_missing_is_null() -> None:
    schema = Struct((Field("id", t.LONG), Field("p", t.LONG)))
    log = Log().start(schema, partition_by=["p"])
    log.commit(log.data("f.parquet", ids(1), partition={}))
    assert log.open().to_arrow()["p"].to_pylist() == [None]


@pytest.mark.parametrize("columns", [["p", "p"], ["p", "P"], ["x"], "p", [1], {"p": 1}])
def test_partition_columns_that_are_not_a_list_of_columns_are_an_invalid_table(columns: object) -> None:
    schema = Struct((Field("id", t.LONG), Field("p", t.LONG)))
    log = Log().start(schema, partition_by=["p"])
    body = {"id": "x", "schemaString": log.snapshot().metadata.schema_string, "partitionColumns": columns}
    log.commit({"metaData": body})
    with pytest.raises(InvalidTable, match="partition"):
        log.snapshot()
