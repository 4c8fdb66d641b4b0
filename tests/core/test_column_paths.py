"""How the path of a column is written as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core.column_paths import parse_path, parse_paths, quoted, spelled
from esker.errors import InvalidRequest
from tests.core.schemas import names

paths = st.lists(names, min_size=1, max_size=3).map(tuple)


@given(st.lists(paths, max_size=3))
def test_what_is_spelled_is_read_back(found: list[tuple[str, ...]]) -> None:
    assert parse_paths(", ".join(spelled(path) for path in found)) == tuple(found)
    assert parse_paths(",".join(quoted(path) for path in found)) == tuple(found)


@pytest.mark.parametrize(
    "text, path",
    [
        ("a", ("a",)), ("a.b", ("a", "b")), (" a . b ", ("a", "b")), ("`a.b`.c", ("a.b", "c")), ("a b.c", ("a b", "c")),
        ("`a``b`", ("a`b",)), ("`a,b`", ("a,b",)), ("m.value.x", ("m", "value", "x")),
    ],
)  # fmt: skip
def test_dots_part_names_outside_of_backticks(text: str, path: tuple[str, ...]) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize("text", ["", " ", ".", "a.", ".a", "a..b", "`a", "a`b", "``", "a,b", ",", "a,"])
def test_a_text_that_is_not_one_path_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_path(text)


@pytest.mark.parametrize("path, text", [(("a", "b_1"), "a.b_1"), (("a b",), "`a b`"), (("1a",), "`1a`"), (("a`",), "`a```")])
def test_a_path_is_spelled_with_backticks_only_where_they_are_needed(path: tuple[str, ...], text: str) -> None:
    assert spelled(path) == text
    assert quoted(("a", "b`")) == "`a`.`b```"
