"""What can be told of an expression without Spark."""

import pytest

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.expressions import literal
from esker.core.types import Decimal, Type


@pytest.mark.parametrize(
    "text, kind, value",
    [
        ("1", t.LONG, 1), (" -7 ", t.BYTE, -7), ("-128", t.BYTE, -128), ("9223372036854775807", t.LONG, 2**63 - 1),
        ("'x'", t.STRING, "x"), ("' it is '", t.STRING, " it is "), ("''", t.STRING, ""),
        ("true", t.BOOLEAN, True), ("FALSE", t.BOOLEAN, False), ("NULL", t.DATE, None), ("null", t.VARIANT, None),
    ],
)  # fmt: skip
def test_a_literal_of_the_columns_own_type_is_its_value(text: str, kind: Type, value: object) -> None:
    found = literal(text, kind)
    assert found is not None
    assert found.type == to_arrow(kind)
    assert found.as_py() == value


@pytest.mark.parametrize(
    "text, kind",
    [
        ("128", t.BYTE), ("1", t.STRING), ("'1'", t.LONG), ("1.0", t.LONG), ("1", t.DOUBLE), ("1", Decimal(5, 2)), ("1L", t.LONG),
        ("1e3", t.LONG), ("1 + 1", t.LONG), ("current_date()", t.DATE), ("DATE '2020-01-01'", t.DATE), ("x", t.STRING),
        (r"'a\n'", t.STRING), ("r'a'", t.STRING), ("'it''s'", t.STRING), ('"x"', t.STRING), ("'a' 'b'", t.STRING), ("1 /* one */", t.LONG), ("'", t.STRING), ("true", t.STRING),
        ("0x10", t.LONG), ("X'10'", t.STRING), ("--1", t.LONG),
    ],
)  # fmt: skip
def test_what_spark_would_have_to_cast_or_compute_is_none(text: str, kind: Type) -> None:
    assert literal(text, kind) is None
