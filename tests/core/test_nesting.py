"""Where in a schema a column is, and how it is exchanged there."""

import pytest
from hypothesis import given

from esker.core import types as t
from esker.core.nesting import (
    each,
    field_at,
    nearest_field,
    resolved,
    type_at,
    types,
    walk,
    with_field,
    with_members,
    with_type,
)
from esker.core.types import Array, Field, Map, Struct
from tests.core.schemas import schemas

LEAF = Field("X", t.LONG)
SCHEMA = Struct(
    (
        Field("s", Struct((Field("x", t.LONG), Field("deep", Array(Struct((LEAF,))))))),
        Field("l", Array(Array(t.INTEGER))),
        Field("m", Map(Struct((Field("k", t.DATE),)), Struct((Field("element", t.STRING),)))),
    )
)


def test_every_field_is_found_by_its_path_parents_first() -> None:
    assert [path for path, _ in walk(SCHEMA)] == [
        ("s",), ("s", "x"), ("s", "deep"), ("s", "deep", "element", "X"), ("l",), ("m",), ("m", "key", "k"),
        ("m", "value", "element"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path, kind",
    [
        (("s", "deep", "element", "x"), t.LONG), (("L", "Element", "element"), t.INTEGER), (("m", "key", "K"), t.DATE),
        (("m", "value", "ELEMENT"), t.STRING), ((), SCHEMA), (("l", "value"), None), (("m", "element"), None),
        (("s", "x", "y"), None), (("nope",), None),
    ],
)  # fmt: skip
def test_a_path_leads_through_arrays_and_maps_and_ignores_case(path: tuple[str, ...], kind: object) -> None:
    assert type_at(SCHEMA, path) == kind


def test_a_path_is_spelled_as_the_schema_spells_it() -> None:
    assert resolved(SCHEMA, ("S", "DEEP", "Element", "x")) == ("s", "deep", "element", "X")
    assert resolved(SCHEMA, ("s", "y")) is None


def test_the_nearest_field_is_the_last_one_before_arrays_and_maps() -> None:
    assert nearest_field(SCHEMA, ("l", "element", "element")) == (("l",), ("element", "element"))
    assert nearest_field(SCHEMA, ("m", "value", "element")) == (("m", "value", "element"), ())
    assert field_at(SCHEMA, ("m", "value")) is None


def test_what_is_at_a_path_is_exchanged_and_all_else_stays() -> None:
    path = ("s", "deep", "element", "x")
    changed = with_type(SCHEMA, path, lambda kind: t.DATE)
    assert type_at(changed, path) == t.DATE
    assert with_type(changed, path, lambda kind: t.LONG) == SCHEMA
    assert with_field(SCHEMA, path, lambda field: field.renamed("z")) != SCHEMA
    emptied = with_members(SCHEMA, ("m", "value"), lambda struct: Struct())
    assert type_at(emptied, ("m", "value")) == Struct()
    assert with_members(SCHEMA, (), lambda struct: Struct()) == Struct()


@pytest.mark.parametrize("path", [("nope",), ("l", "value"), ("s", "x", "y")])
def test_nothing_is_exchanged_where_there_is_nothing(path: tuple[str, ...]) -> None:
    with pytest.raises(KeyError):
        with_type(SCHEMA, path, lambda kind: kind)
    with pytest.raises(KeyError):
        with_field(SCHEMA, path, lambda field: field)
    with pytest.raises(KeyError):
        with_members(SCHEMA, ("l",), lambda struct: struct)


@given(schemas())
def test_every_path_leads_back_to_what_it_was_found_with(schema: Struct) -> None:
    assert all(field_at(schema, path) is field for path, field in walk(schema))
    assert all(type_at(schema, path) == kind for path, kind in types(schema))
    assert each(schema, lambda field: field) == schema
    for path, _ in walk(schema):
        assert with_type(schema, path, lambda kind: kind) == with_field(schema, path, lambda field: field) == schema
