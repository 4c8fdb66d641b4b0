"""How columns may be called."""

import pytest
from hypothesis import given

from esker.core import types as t
from esker.core.types import Array, Field, Map, Struct
from esker.delta.column_mapping import Mode
from esker.delta.column_names import FORBIDDEN, problems
from tests.core.schemas import HOSTILE, schemas


def named(*names: str) -> Struct:
    return Struct(tuple(Field(name, t.LONG) for name in names))


@pytest.mark.parametrize("character", FORBIDDEN)
@pytest.mark.parametrize("where", ["top", "element", "value"])
def test_some_characters_need_column_mapping_at_any_depth(character: str, where: str) -> None:
    """ "Delta can use column mapping to avoid any column naming restrictions"  (Column Mapping)"""
    inner = named(f"a{character}b")
    schema = {
        "top": inner,
        "element": Struct((Field("l", Array(inner)),)),
        "value": Struct((Field("m", Map(t.STRING, inner)),)),
    }[where]
    (problem,) = problems(schema, Mode.NONE)
    assert "needs column mapping" in problem
    assert not list(problems(schema, Mode.NAME))


@pytest.mark.parametrize("name", [name for name in HOSTILE if not set(name) & set(FORBIDDEN)])
def test_other_names_are_fine_without_it(name: str) -> None:
    assert not list(problems(named(name), Mode.NONE))


@pytest.mark.parametrize("names", [("a", "a"), ("a", "b", "A"), ("É", "é")])
def test_names_are_unique_ignoring_case(names: tuple[str, ...]) -> None:
    """newest text, C14: "must be unique ignoring case" """
    for schema in (named(*names), Struct((Field("s", named(*names)),))):
        (problem,) = problems(schema, Mode.NAME)
        assert "twice" in problem


def test_the_same_name_in_different_structs_is_no_clash() -> None:
    assert not list(problems(Struct((Field("a", named("a")), Field("b", named("a")))), Mode.NONE))


def test_no_name_is_empty() -> None:
    assert list(problems(Struct((Field("s", named("")),)), Mode.NAME)) == ["a column of s has an empty name"]


@given(schemas())
def test_with_mapping_names_that_differ_are_enough(schema: Struct) -> None:
    assert not list(problems(schema, Mode.ID))
