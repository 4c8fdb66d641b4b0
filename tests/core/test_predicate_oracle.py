"""The semantics of predicates row by row, in plain Python, and tables of random rows to hold the fast code against."""

import math
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal as Number
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
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
    all_of,
    any_of,
    columns,
    describe,
    opaque_parts,
)
from esker.core.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Field,
    Struct,
    Type,
)

NAN = float("nan")
EARLY, LATE = datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12)

VALUES: Mapping[tuple[str, ...], tuple[object, ...]] = {
    ("y",): (-128, -1, 0, 1, 2, 3, 127),
    ("l",): (-(2**63), -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1),
    ("d",): (NAN, NAN, NAN, -math.inf, -0.0, 0.0, 0.1, 1.5, math.inf),
    ("f",): (NAN, NAN, NAN, -math.inf, -0.0, 0.0, 0.10000000149011612, 1.5, math.inf),
    ("t",): ("", "a", "ab", "abc", "b", "é", "\uffff", "\U0001f600"),
    ("b",): (False, True),
    ("day",): (date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)),
    ("ts",): tuple(at.replace(tzinfo=UTC) for at in (datetime(1, 1, 1), EARLY, datetime(2024, 2, 29), LATE)),
    ("tn",): (datetime(1, 1, 1), EARLY, datetime(2024, 2, 29), LATE),
    ("n",): tuple(map(Number, ("-999999.99", "-0.01", "0.00", "0.10", "1.25", "1.26", "999999.99"))),
    ("bin",): (b"", b"\x00", b"a", b"\x80", b"\xff"),
    ("s", "x.y"): (1, 2, 3),
}
PATHS = sorted(VALUES)

TYPES: dict[str, tuple[Type, pa.DataType]] = {
    "y": (BYTE, pa.int8()), "l": (LONG, pa.int64()), "d": (DOUBLE, pa.float64()), "f": (FLOAT, pa.float32()),
    "t": (STRING, pa.string()), "b": (BOOLEAN, pa.bool_()), "day": (DATE, pa.date32()),
    "ts": (TIMESTAMP, pa.timestamp("us", "UTC")), "tn": (TIMESTAMP_NTZ, pa.timestamp("us")),
    "n": (Decimal(8, 2), pa.decimal128(8, 2)), "bin": (BINARY, pa.binary()),
    "s": (Struct((Field("x.y", LONG),)), pa.struct([("x.y", pa.int64())])),
}
SCHEMA = Struct(tuple(Field(name, kind) for name, (kind, _) in TYPES.items()))

Row = Mapping[str, object]


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), pa.schema([(name, kind) for name, (_, kind) in TYPES.items()]))


def cell(row: Row, path: tuple[str, ...]) -> object:
    found: object = row
    for name in path:
        found = found[name] if isinstance(found, Mapping) else None
    return found


def evaluate(predicate: Predicate, row: Row) -> bool | None:
    match predicate:
        case Comparison(column=column, operator=operator, value=value):
            found = cell(row, column)
            return None if found is None else compares(found, operator, value)
        case IsIn(column=column, values=values, has_null=has_null):
            found = cell(row, column)
            if found is None:
                return None
            return any(compares(found, Operator.EQ, value) for value in values) or (None if has_null else False)
        case IsNull(column=column):
            return cell(row, column) is None
        case StartsWith(column=column, prefix=prefix):
            found = cell(row, column)
            return None if found is None else str(found).startswith(prefix)
        case Truth(value=value):
            return value
        case Not(child=child):
            found = evaluate(child, row)
            return None if found is None else not found
        case And(left=left, right=right):
            parts = {evaluate(left, row), evaluate(right, row)}
            return False if False in parts else None if None in parts else True
        case Or(left=left, right=right):
            parts = {evaluate(left, row), evaluate(right, row)}
            return True if True in parts else None if None in parts else False
        case Opaque():
            raise AssertionError("an opaque part has no value")


def compares(a: object, operator: Operator, b: object) -> bool:
    sign = order(a, b)
    return {
        Operator.EQ: sign == 0, Operator.NE: sign != 0, Operator.LT: sign < 0, Operator.LE: sign <= 0,
        Operator.GT: sign > 0, Operator.GE: sign >= 0,
    }[operator]


def order(a: Any, b: Any) -> int:
    """The sign of a - b as Spark sees it: a double makes both double, a timestamp makes both timestamps (in UTC)."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) - math.isnan(b)
    elif isinstance(a, Number) or isinstance(b, Number):
        a, b = Fraction(a), Fraction(b)
    elif isinstance(a, str) and isinstance(b, str):
        a, b = a.encode(), b.encode()
    elif isinstance(a, datetime) or isinstance(b, datetime):
        a, b = (_instant(x) for x in (a, b))
    return int(a > b) - int(a < b)


def _instant(at: object) -> datetime:
    assert isinstance(at, date)
    reading = at if isinstance(at, datetime) else datetime.combine(at, time())
    return reading if reading.tzinfo else reading.replace(tzinfo=UTC)


def rows(paths: Collection[tuple[str, ...]] = PATHS) -> st.SearchStrategy[list[Row]]:
    """Rows with values in these columns and nulls in the others."""
    cells = {path[0]: st.none() | st.sampled_from(VALUES[path]) for path in paths if len(path) == 1}
    if ("s", "x.y") in paths:
        cells["s"] = st.none() | st.fixed_dictionaries({"x.y": st.none() | st.sampled_from(VALUES["s", "x.y"])})
    nulls = dict.fromkeys(TYPES)
    return st.lists(st.fixed_dictionaries(cells).map(lambda row: {**nulls, **row}), max_size=4)


def predicates(values: Mapping[tuple[str, ...], tuple[object, ...]] = VALUES) -> st.SearchStrategy[Predicate]:
    """Predicates whose literals come from `values`, by column."""
    paths = st.sampled_from(sorted(values))

    def on(path: tuple[str, ...]) -> st.SearchStrategy[Predicate]:
        value = st.sampled_from(values[path])
        return (
            st.builds(Comparison, st.just(path), st.sampled_from(Operator), value)
            | st.builds(IsIn, st.just(path), st.lists(value, min_size=1, max_size=5).map(tuple), st.booleans())
            | st.just(IsNull(path))
        )

    prefixes = st.sampled_from(("", "a", "ab", "b", "é", "\uffff", "z"))
    leaf = paths.flatmap(on) | st.builds(Truth, st.sampled_from((True, False, None)))
    if ("t",) in values:
        leaf |= st.builds(StartsWith, st.just(("t",)), prefixes)
    return leaf | st.recursive(
        leaf,
        lambda part: st.builds(Not, part) | st.builds(And, part, part) | st.builds(Or, part, part),
        max_leaves=6,
    )


A, B, C = (Truth(True), Truth(False), Truth(None))


@pytest.mark.parametrize(
    "made, expected",
    [
        (all_of(), Truth(True)),
        (any_of(), Truth(False)),
        (all_of(A), A),
        (all_of(A, B, C), And(And(A, B), C)),
        (any_of(A, B, C), Or(Or(A, B), C)),
    ],
)
def test_parts_are_joined_in_order(made: Predicate, expected: Predicate) -> None:
    assert made == expected


def test_a_chain_of_a_hundred_thousand_parts_is_not_a_deep_tree() -> None:
    part = Comparison(("a",), Operator.EQ, 1)
    assert len(list(columns(any_of(*[part] * 100_000)))) == 100_000


def test_a_predicate_is_described_as_sql() -> None:
    predicate = Or(
        Not(And(Comparison(("a", "b c"), Operator.GE, Number("1.50")), StartsWith(("t",), "it's"))),
        IsIn(("b",), (b"\x0a", date(2020, 1, 2), 1.5, LATE, LATE.replace(tzinfo=UTC)), has_null=True),
    )
    assert describe(predicate) == (
        "(NOT ((a.`b c` >= 1.50 AND startswith(t, 'it\\'s'))) OR b IN (X'0A', DATE '2020-01-02', 1.5D, "
        "TIMESTAMP_NTZ '2024-02-29 12:00:00', TIMESTAMP '2024-02-29 12:00:00+00:00', NULL))"
    )


def test_the_opaque_parts_and_the_columns_are_found_below_every_connective() -> None:
    predicate = And(Or(Opaque("x"), IsNull(("a",))), Not(Or(Opaque("y"), Comparison(("b",), Operator.EQ, 1))))
    assert list(opaque_parts(predicate)) == ["x", "y"]
    assert list(columns(predicate)) == [("a",), ("b",)]
