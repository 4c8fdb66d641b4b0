"""Which columns an expression uses."""

import pytest

from esker.core.references import may_use, references
from tests.core.schemas import HOSTILE


@pytest.mark.parametrize(
    "expression, found",
    [
        ("a + b.c > 1", {("a",), ("b", "c")}), ("`a.b`.`c``d` = 1", {("a.b", "c`d")}), ("1", set()),
        ("CAST(ts AS DATE)", {("ts",)}), ("m['k'].x[0] = 1", {("m",)}), ("exists(l, x -> x > a)", {("l",), ("a",)}),
        ("substring(type FROM 0 FOR 4)", {("type",)}), ("a.b.c.d.e = 1", {("a", "b", "c", "d")}), ("current_date()", set()),
    ],
)  # fmt: skip
def test_the_columns_of_an_expression_are_those_it_names(expression: str, found: set[tuple[str, ...]]) -> None:
    assert references(expression) == found


@pytest.mark.parametrize("expression", ["a >", "`a", "(a", "SELECT", "/* "])
def test_what_cannot_be_read_may_use_any_column(expression: str) -> None:
    assert references(expression) is None
    assert may_use(expression, ("whatever",))


@pytest.mark.parametrize(
    "path, used",
    [(("a",), True), (("A",), True), (("a", "b"), True), (("a", "b", "c"), True), (("a", "c"), False), (("b",), False)],
)
def test_a_column_is_used_with_what_holds_it_and_what_it_holds(path: tuple[str, ...], used: bool) -> None:
    assert may_use("a.b > 1", path) == used


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_found(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    assert references(f"{quoted} > 1") == {(name,)}
