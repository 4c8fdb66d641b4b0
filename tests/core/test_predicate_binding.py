"""Binding keeps the meaning of a predicate while its literals take the types of the columns."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core.binding import bind
from esker.core.filtering import mask
from esker.core.predicate import Comparison, IsIn, IsNull, Opaque, Predicate, Truth, describe, opaque_parts
from esker.core.sql import parse
from esker.core.types import (
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP_NS,
    UUID,
    VARIANT,
    VOID,
    Array,
    Decimal,
    Field,
    Fixed,
    Map,
    Struct,
)
from esker.errors import InvalidRequest
from tests.core.test_predicate_oracle import LATE, SCHEMA, VALUES, evaluate, predicates, rows, table

NUMBERS = (
    math.nan, math.inf, -math.inf, 0.1, 1.25, 1.5, -0.0, 2.0**53, 2.0**63, 1e300, 5e-324,
    -129, 0, 1, 3, 1000, 2**24 + 1, 2**53 + 1, 2**63, -(2**63), 10**37,
    Number("0.1"), Number("1.25"), Number("1.255"), Number("-0.001"), Number("127.5"), Number("1E-30"),
    Number("999999.995"), Number("9223372036854775807.5"), Number("12345678901234567890123456789012345678"),
)
MOMENTS = (date(2024, 2, 29), date(1, 1, 1), LATE, LATE.replace(tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC))
MIXED: dict[tuple[str, ...], tuple[object, ...]] = {
    **{path: (*VALUES[path], *NUMBERS) for path in (("y",), ("l",), ("d",), ("f",), ("n",))},
    **{path: (*VALUES[path], *MOMENTS) for path in (("day",), ("ts",), ("tn",))},
    ("t",): ("a", 1, True), ("b",): (True, 1, "true"), ("bin",): (b"a", "a"),
}


@pytest.mark.parametrize("column", sorted(MIXED), ids=".".join)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_binding_keeps_the_truth_value_of_every_row(column: tuple[str, ...], data: st.DataObject) -> None:
    predicate, some = data.draw(predicates({column: MIXED[column]})), data.draw(rows([column]))
    bound = bind(predicate, SCHEMA)
    if any(opaque_parts(bound)):
        return
    assert [evaluate(bound, row) for row in some] == [evaluate(predicate, row) for row in some]
    assert mask(bound, table(some)).to_pylist() == [evaluate(predicate, row) for row in some]


@given(predicates())
@settings(max_examples=200, deadline=None)
def test_what_has_the_columns_own_types_is_never_opaque(predicate: Predicate) -> None:
    bound = bind(predicate, SCHEMA)
    assert not any(opaque_parts(bound))
    assert bind(bound, SCHEMA) == bound


NEVER, ALWAYS = "(y IS NULL AND NULL)", "(NOT (y IS NULL) OR NULL)"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Y = 3", "y = 3"),
        ("y < 3.5", "y <= 3"),
        ("y <= 3.5", "y <= 3"),
        ("y > -3.5", "y > -4"),
        ("y >= 3.5D", "y > 3"),
        ("y = 3.0", "y = 3"),
        ("y = 3.5", NEVER),
        ("y <> 3.5", ALWAYS),
        ("y < 1000", ALWAYS),
        ("y >= 128", NEVER),
        ("y > -129", ALWAYS),
        ("y < -128.5", NEVER),
        ("y < double('nan')", ALWAYS),
        ("y < double('-infinity')", NEVER),
        ("y in (1, 2.0, 2.5, 1000)", "y IN (1, 2)"),
        ("y in (1000, null)", "NULL"),
        ("y in (1000)", NEVER),
        ("y = '3'", "y = 3"),
        ("l = 9007199254740992D", None),
        ("l < 9007199254740991D", "l < 9007199254740991"),
        ("d = 0.1", "d = 0.1D"),
        ("f = 0.1", "f = 0.1D"),
        ("f = 16777216", "f = 16777216.0D"),
        ("f = 16777217", None),
        ("f = '0.5'", "f = 0.5D"),
        ("f = '0.1'", None),
        ("n = 1.255", "(n IS NULL AND NULL)"),
        ("n < 1.255", "n <= 1.25"),
        ("n = 0.1D", "n = 0.10"),
        ("n > 1000000", "(n IS NULL AND NULL)"),
        ("n = '1.25'", None),
        ("n > 0.00000000000000000000000000000000000001", None),
        ("day = '2024-2-9'", "day = DATE '2024-02-09'"),
        ("day = '2024-02-09 x'", None),
        ("day = 'today'", None),
        ("day < timestamp '2024-02-29 12:00:00'", "day <= DATE '2024-02-29'"),
        ("day < timestamp '2024-02-29 00:00:00'", "day < DATE '2024-02-29'"),
        ("day in ('2024-02-29')", "day IN (DATE '2024-02-29')"),
        ("day in ('2024-2-29')", None),
        ("day = 1", None),
        ("ts = '2024-02-29T01:00:00.5+01:00'", "ts = TIMESTAMP '2024-02-29 00:00:00.500000+00:00'"),
        ("ts = '2024-02-29 Europe/Oslo'", None),
        ("ts in ('2024-02-29')", None),
        ("ts < date '2024-02-29'", "ts < TIMESTAMP '2024-02-29 00:00:00+00:00'"),
        ("ts < timestamp_ntz '2024-02-29 00:00:00'", "ts < TIMESTAMP '2024-02-29 00:00:00+00:00'"),
        ("tn = '2024-02-29'", "tn = TIMESTAMP_NTZ '2024-02-29 00:00:00'"),
        ("tn = '2024-02-29 00:00:00Z'", None),
        ("tn = timestamp '2024-02-29 00:00:00'", "tn = TIMESTAMP_NTZ '2024-02-29 00:00:00'"),
        ("t = 1", None),
        ("t = true", None),
        ("t like 'a%'", "startswith(t, 'a')"),
        ("y like 'a%'", None),
        ("b", "b = True"),
        ("b = 1", None),
        ("y", None),
        ("bin >= X'80'", "bin >= X'80'"),
        ("bin = 'a'", None),
        ("s.`X.Y` = 1", "s.`x.y` = 1"),
        ("S is null", "s IS NULL"),
        ("s = 1", None),
    ],
)
def test_literals_take_the_type_of_the_column(text: str, expected: str | None) -> None:
    bound = bind(parse(text), SCHEMA)
    assert isinstance(bound, Opaque) if expected is None else describe(bound) == expected


@pytest.mark.parametrize("text", ["nope = 1", "s.nope = 1", "y.nope = 1", "not (b and nope is null)"])
def test_an_unknown_column_is_refused_with_the_names_there_are(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"nope[\s\S]*the columns are y, l, d,"):
        bind(parse(text), SCHEMA)


def test_a_name_that_fits_two_columns_is_refused_unless_it_is_spelled_as_one() -> None:
    schema = Struct((Field("id", LONG), Field("ID", LONG)))
    assert bind(parse("ID is null"), schema) == IsNull(("ID",))
    with pytest.raises(InvalidRequest, match="ambiguous"):
        bind(parse("Id is null"), schema)


def test_a_column_with_a_dot_in_its_name_is_found_in_backquotes() -> None:
    schema = Struct((Field("a.b", Struct((Field("c", LONG),))), Field("a", Struct((Field("b", LONG),)))))
    assert bind(parse("`a.b`.c is null"), schema) == IsNull(("a.b", "c"))
    assert bind(parse("a.b is null"), schema) == IsNull(("a", "b"))


@pytest.mark.parametrize("kind", [Array(LONG), Map(STRING, LONG), VARIANT, VOID, UUID, Struct((Field("y", LONG),))])
def test_types_without_an_order_only_know_null(kind: Array | Map | Struct) -> None:
    schema = Struct((Field("x", kind),))
    assert bind(parse("x is null"), schema) == IsNull(("x",))
    for text in ("x = 1", "x < 'a'", "x in (1)", "x like 'a%'", "x"):
        assert isinstance(bind(parse(text), schema), Opaque)


def test_a_path_into_an_array_or_a_map_is_left_to_spark() -> None:
    schema = Struct((Field("m", Map(STRING, LONG)), Field("a", Array(Struct((Field("x", LONG),))))))
    assert isinstance(bind(parse("m.k = 1"), schema), Opaque)
    assert isinstance(bind(parse("a.x is null"), schema), Opaque)


@pytest.mark.parametrize("metadata", [{"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}, {"__COLLATIONS": {"x": "spark.X"}}])
def test_strings_that_spark_does_not_compare_by_bytes_are_left_to_it(metadata: dict[str, str]) -> None:
    schema = Struct((Field("x", STRING, metadata=metadata),))
    assert isinstance(bind(parse("x = 'a'"), schema), Opaque)
    assert isinstance(bind(parse("x like 'a%'"), schema), Opaque)
    assert isinstance(bind(parse("x in ('a')"), schema), Opaque)


@pytest.mark.parametrize(
    "text", ["d LIKE '5'", "d NOT LIKE '5'", "f LIKE '0.5'", "y LIKE '05'", "day LIKE '2024'", "ts LIKE '2024-02-29'", "b LIKE 'true'"]
)
def test_a_pattern_is_for_the_text_of_a_value_which_only_spark_knows(text: str) -> None:
    assert list(opaque_parts(bind(parse(text), SCHEMA)))


def test_in_another_zone_days_and_readings_are_the_instants_of_that_zone() -> None:
    oslo = ZoneInfo("Europe/Oslo")
    assert describe(bind(parse("ts < '2024-07-01'"), SCHEMA, oslo)) == "ts < TIMESTAMP '2024-06-30 22:00:00+00:00'"
    assert describe(bind(parse("ts < date '2024-01-01'"), SCHEMA, oslo)) == "ts < TIMESTAMP '2023-12-31 23:00:00+00:00'"
    assert isinstance(bind(parse("tn < timestamp '2024-01-01 00:00:00'", oslo), SCHEMA, oslo), Opaque)
    assert isinstance(bind(parse("day < timestamp '2024-01-01 00:00:00'", oslo), SCHEMA, oslo), Opaque)
    assert isinstance(bind(parse("ts < '1900-01-01'"), SCHEMA, oslo), Opaque)


def test_constants_and_nanoseconds_and_fixed_bytes_are_bound_too() -> None:
    schema = Struct((Field("ns", TIMESTAMP_NS), Field("fx", Fixed(2)), Field("i", INTEGER), Field("n", Decimal(38, 0))))
    assert bind(Truth(None), schema) == Truth(None)
    assert isinstance(bind(parse("ns < '2024-01-01'"), schema), Comparison)
    assert isinstance(bind(parse("fx in (X'0102')"), schema), IsIn)
    assert describe(bind(parse("n = -12345678901234567890123456789012345678"), schema)) == (
        "n = -12345678901234567890123456789012345678"
    )


