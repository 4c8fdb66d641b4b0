"""Conditions are read as Spark reads them, and what is not understood stays opaque."""

import contextlib
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core.predicate import (
    And,
    Comparison,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
    Predicate,
    StartsWith,
    Truth,
    Value,
)
from esker.core.sql import parse
from esker.errors import InvalidRequest

X, Y, Z = ("x",), ("y",), ("z",)


def is_(operator: str, value: Value, column: tuple[str, ...] = X) -> Comparison:
    return Comparison(column, Operator(operator), value)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x = 1", is_("=", 1)),
        ("x == 1", is_("=", 1)),
        ("x <> 1", is_("<>", 1)),
        ("x != 1", is_("<>", 1)),
        ("x < 1", is_("<", 1)),
        ("1 < x", is_(">", 1)),
        ("1 >= (x)", is_("<=", 1)),
        ("x = NULL", Truth(None)),
        ("x <=> 1", And(Not(IsNull(X)), is_("=", 1))),
        ("1 <=> x", And(Not(IsNull(X)), is_("=", 1))),
        ("x <=> NULL", IsNull(X)),
        ("x IS DISTINCT FROM 1", Not(And(Not(IsNull(X)), is_("=", 1)))),
        ("x BETWEEN 1 AND 2", And(is_(">=", 1), is_("<=", 2))),
        ("x NOT BETWEEN 1 AND 2", Not(And(is_(">=", 1), is_("<=", 2)))),
        ("x IN (1, 2)", IsIn(X, (1, 2))),
        ("x IN (1, NULL)", IsIn(X, (1,), has_null=True)),
        ("x IN (NULL)", Truth(None)),
        ("x NOT IN (1)", Not(IsIn(X, (1,)))),
        ("x IS NULL", IsNull(X)),
        ("x IS NOT NULL", Not(IsNull(X))),
        ("x IS TRUE", And(Not(IsNull(X)), is_("=", True))),
        ("x IS NOT FALSE", Not(And(Not(IsNull(X)), is_("=", False)))),
        ("x LIKE 'ab%'", StartsWith(X, "ab")),
        ("x NOT LIKE 'ab%'", Not(StartsWith(X, "ab"))),
        ("x LIKE 'ab'", IsIn(X, ("ab",))),
        ("x LIKE '%'", StartsWith(X, "")),
        ("startswith(x, 'a%')", StartsWith(X, "a%")),
        ("x", is_("=", True)),
        ("NOT x", Not(is_("=", True))),
        ("! x = 1", Not(is_("=", 1))),
        ("x = 1 OR y = 2 AND z", Or(is_("=", 1), And(is_("=", 2, Y), is_("=", True, Z)))),
        ("(x = 1 OR y) AND z", And(Or(is_("=", 1), is_("=", True, Y)), is_("=", True, Z))),
        ("TRUE", Truth(True)),
        ("NULL", Truth(None)),
        ("a.b.c = 1", is_("=", 1, ("a", "b", "c"))),
        ("a.b.c.d.e.f = 1", is_("=", 1, ("a", "b", "c", "d", "e", "f"))),
        ("`a.b`.`c ``d` = 1", is_("=", 1, ("a.b", "c `d"))),
        ("date = 1 -- a comment", is_("=", 1, ("date",))),
    ],
)
def test_a_condition_is_read(text: str, expected: Predicate) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text, value",
    [
        ("12345678901234567890", 12345678901234567890),
        ("-3", -3),
        ("-(-3)", 3),
        ("5L", 5),
        ("5Y", 5),
        ("1.50", Number("1.50")),
        (".5", Number("0.5")),
        ("-12345678901234567890.123456789012345678", Number("-12345678901234567890.123456789012345678")),
        ("1.5BD", Number("1.5")),
        ("1e3", 1000.0),
        ("1.5D", 1.5),
        ("0.1F", 0.10000000149011612),
        ("'it\\'s'", "it's"),
        (r"'\n\t\\ \u0041 \101 \q \% \_'", "\n\t\\ A A q \\% \\_"),
        (r"r'a\n'", "a\\n"),
        ('"double"', "double"),
        ("''", ""),
        ("'é😀'", "é😀"),
        ("X'0aFF'", b"\x0a\xff"),
        ("X''", b""),
        ("TRUE", True),
        ("DATE '2020-01-02'", date(2020, 1, 2)),
        ("DATE '2020-1-2'", date(2020, 1, 2)),
        ("TIMESTAMP '2020-01-02 03:04:05.6'", datetime(2020, 1, 2, 3, 4, 5, 600000, UTC)),
        ("TIMESTAMP '2020-01-02 03:04:05+02:00'", datetime(2020, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("TIMESTAMP '2020-01-02T03:04:05Z'", datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("TIMESTAMP '2020-01-02'", datetime(2020, 1, 2, tzinfo=UTC)),
        ("TIMESTAMP_NTZ '2020-01-02 03:04:05'", datetime(2020, 1, 2, 3, 4, 5)),
        ("CAST('2020-01-02' AS DATE)", date(2020, 1, 2)),
        ("CAST('2020-01-02' AS TIMESTAMP)", datetime(2020, 1, 2, tzinfo=UTC)),
        ("CAST('12' AS INT)", 12),
        ("CAST(1 AS DOUBLE)", 1.0),
        ("double('1.5')", 1.5),
        ("CAST('1.50' AS DECIMAL(10, 2))", Number("1.50")),
    ],
)
def test_a_literal_is_read_exactly_and_keeps_its_kind(text: str, value: Value) -> None:
    found = parse(f"x = {text}")
    assert found == is_("=", value)
    assert isinstance(found, Comparison)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "upper(x) = 'A'", "x + 1 = 2", "x = y", "-x = 3", "x[0] = 1", "x IN (SELECT 1)", "EXISTS (SELECT 1)",
        "x IN (y)", "x = '\\uD83D\\uDE00'", "x LIKE 'a_b'", "x LIKE '%a'", "x LIKE 'a%b%'",
        r"x LIKE 'a\\%'", "x LIKE 'a%' ESCAPE '/'", "x ILIKE 'a%'",
        "x LIKE ANY ('a%')", "x RLIKE 'a'", "x = 1 = TRUE", "x = current_date()", "CASE WHEN x THEN TRUE END", "1 = 1",
        "x::int = 3", "x = 1e999", "x = 300Y", "x = X'ABC'", "x = DATE '2020-13-01'", "x = DATE 'today'",
        "x = TIMESTAMP '2020-01-01 00:00:00 Europe/Oslo'", "x = TIMESTAMP '2020-01-01 00:00:00.1234567'",
        "x = TIMESTAMP '0001-01-01 00:00:00+10:00'", "x = TIMESTAMP_NTZ '2020-01-01 00:00:00Z'", "x = 'a' 'b'",
        "x = 'a''b'", "x = CAST('1.505' AS DECIMAL(10, 2))", "x = CAST('1_0' AS DECIMAL(10, 2))", "x = CAST('a' AS INT)",
        "x = '\\uD800'", "(x, y) = (1, 2)",
        "x = INTERVAL '1' DAY", "x = 'a' COLLATE UTF8_LCASE", "x BETWEEN SYMMETRIC 2 AND 1", "x BETWEEN y AND 1",
        "x = :name", "x IS NULL IS NULL", "'a'", "5", "x = 1234567890123456789012345678901234567890",
    ],
)
def test_what_is_not_understood_is_opaque(text: str) -> None:
    assert isinstance(parse(text), Opaque)


def test_only_the_part_that_is_not_understood_is_opaque() -> None:
    assert parse("x = 1 AND NOT (upper(y) = 'A' OR z)") == And(
        is_("=", 1), Not(Or(Opaque("UPPER(y) = 'A'"), is_("=", True, Z)))
    )


@pytest.mark.parametrize(
    "text, position",
    [
        ("x = ", "line 1, column 3"),
        ("x = 1 AND (y", "line 1, column 12"),
        ("x = 1,\n y", "line 1, column 6"),
        ("x =\n= 1 )", "line 2"),
        ("x = 0x1F", "line 1, column 8"),
        ("", ""),
        ("x = 'abc", ""),
        ("x = 1 y", ""),
        ("x AS y", ""),
        ("SELECT 1", ""),
        ("x = 1; DROP TABLE t", ""),
        ("*", ""),
        ("(" * 3000 + "x" + ")" * 3000, "nested too deeply"),
    ],
)
def test_what_is_not_a_condition_is_refused_with_its_position(text: str, position: str) -> None:
    with pytest.raises(InvalidRequest, match=f"cannot read the condition[^\n]*{position}"):
        parse(text)


def test_a_timestamp_without_a_zone_is_in_the_zone_that_the_caller_gives() -> None:
    oslo = ZoneInfo("Europe/Oslo")
    summer = datetime(2024, 6, 30, 22, tzinfo=UTC)
    assert parse("x = TIMESTAMP '2024-07-01 00:00:00'", oslo) == is_("=", summer)
    # Clocks skip from two to three o'clock, and later show the hour before three twice.
    assert parse("x = TIMESTAMP '2024-03-31 02:30:00'", oslo) == is_("=", datetime(2024, 3, 31, 1, 30, tzinfo=UTC))
    assert parse("x = TIMESTAMP '2024-10-27 02:30:00'", oslo) == is_("=", datetime(2024, 10, 27, 0, 30, tzinfo=UTC))
    assert isinstance(parse("x = TIMESTAMP '1900-01-01 00:00:00'", oslo), Opaque)


def test_a_chain_of_ten_thousand_conditions_is_read() -> None:
    assert isinstance(parse(" OR ".join(f"x = {i}" for i in range(10_000))), Or)


WORDS = (
    "x", "y", "1", "1.5", "'a'", "=", "<", "AND", "OR", "NOT", "IN", "(", ")", ",", "LIKE", "IS", "NULL", "BETWEEN",
    "DATE", "'2020-01-01'", "-", "+", "CAST", "AS", "INT", "`", ".", "'", "CASE", "WHEN", "END", "SELECT", "*", "X''",
)


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=20))
@settings(max_examples=500, deadline=None)
def test_any_text_is_either_read_or_refused_as_a_request(text: str) -> None:
    with contextlib.suppress(InvalidRequest):
        parse(text)
