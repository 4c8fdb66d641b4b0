"""Schemas of every shape, for tests of what holds for all of them."""

from hypothesis import strategies as st

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Map, Struct, Type

HOSTILE = [
    "a`b", "a.b", "a``.`b", "'quoted'", '"double"', "naïve 日本", "x y", "element", "key", "value", "SELECT", "1st", "-- c", "/*",
    "__esker_row", "_change_type", "a;b", "ß", "tab\there", "back\\slash", "`", "col-1", "%s", "{x}",
]  # fmt: skip
"""Names that somebody has in a table, and that break what is careless."""

SIMPLE: list[Type] = [
    t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.DATE, t.TIMESTAMP,
    t.TIMESTAMP_NTZ, t.VARIANT, Decimal(10, 0), Decimal(38, 18), Decimal(1, 1),
]  # fmt: skip

names = st.sampled_from(HOSTILE) | st.text("abcABC_0", min_size=1, max_size=3)
comments = st.none() | st.text(max_size=8)


def fields(types: st.SearchStrategy[Type], nullable: st.SearchStrategy[bool]) -> st.SearchStrategy[Field]:
    return st.builds(
        lambda name, kind, null, comment: Field(name, kind, null, None, {} if comment is None else {"comment": comment}),
        names, types, nullable, comments,
    )  # fmt: skip


def structs(
    types: st.SearchStrategy[Type], nullable: st.SearchStrategy[bool], most: int = 4
) -> st.SearchStrategy[Struct]:
    """Structs whose names differ in more than case."""
    members = st.lists(fields(types, nullable), min_size=1, max_size=most, unique_by=lambda field: field.name.lower())
    return members.map(lambda found: Struct(tuple(found)))


def schemas(nullable: bool = False) -> st.SearchStrategy[Struct]:
    """Whole schemas; with `nullable`, nothing in them is required."""
    null = st.just(True) if nullable else st.booleans()
    types: st.SearchStrategy[Type] = st.recursive(
        st.sampled_from(SIMPLE),
        lambda inner: st.builds(Array, inner) | st.builds(Map, inner, inner) | structs(inner, null, 3),
        max_leaves=6,
    )
    return structs(types, null)
