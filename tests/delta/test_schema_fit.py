"""Do rows with these columns fit a table as it is?"""

import pytest
from hypothesis import given

from esker.core import types as t
from esker.core.row_fit import fits
from esker.core.types import Array, Decimal, Field, Map, Struct, Type, relaxed
from esker.delta.schema_fit import mismatches
from tests.core.schemas import HOSTILE, schemas

D = Decimal
FITTING: list[tuple[Type, Type]] = [
    (t.SHORT, t.BYTE), (t.INTEGER, t.BYTE), (t.LONG, t.BYTE), (t.INTEGER, t.SHORT), (t.LONG, t.SHORT), (t.LONG, t.INTEGER),
    (t.DOUBLE, t.FLOAT), (t.DOUBLE, t.INTEGER), (t.FLOAT, t.SHORT), (D(3, 0), t.BYTE), (D(7, 2), t.SHORT), (D(10, 0), t.INTEGER),
    (D(19, 0), t.LONG), (D(38, 19), t.LONG), (D(6, 2), D(5, 2)), (D(8, 5), D(5, 2)), (t.STRING, t.VOID), (t.VARIANT, t.VOID),
]  # fmt: skip
REFUSED: list[tuple[Type, Type]] = [
    (t.BYTE, t.SHORT), (t.INTEGER, t.LONG), (t.FLOAT, t.DOUBLE), (t.FLOAT, t.INTEGER), (t.DOUBLE, t.LONG), (D(2, 0), t.BYTE),
    (D(9, 0), t.INTEGER), (D(12, 3), t.INTEGER), (D(18, 0), t.LONG), (D(5, 2), D(6, 2)), (D(5, 2), D(5, 3)), (D(7, 5), D(5, 2)),
    (t.STRING, t.LONG), (t.LONG, t.STRING), (t.DATE, t.TIMESTAMP), (t.TIMESTAMP, t.DATE), (t.TIMESTAMP, t.TIMESTAMP_NTZ),
    (t.BINARY, t.STRING), (t.LONG, D(5, 0)), (t.VOID, t.LONG), (t.VARIANT, t.STRING), (t.BOOLEAN, t.BYTE),
]  # fmt: skip


@pytest.mark.parametrize("table, rows", FITTING)
def test_a_narrower_type_fits_a_wider_one_at_any_depth(table: Type, rows: Type) -> None:
    assert fits(table, rows)
    for wrap in (Array, lambda kind: Map(kind, kind), lambda kind: Struct((Field("x", kind),))):
        assert not mismatches(Struct((Field("a", wrap(table)),)), Struct((Field("a", wrap(rows)),)))


@pytest.mark.parametrize("table, rows", REFUSED)
def test_nothing_is_narrowed_or_converted(table: Type, rows: Type) -> None:
    assert not fits(table, rows)
    assert mismatches(Struct((Field("a", Array(table)),)), Struct((Field("a", Array(rows)),))) == (
        f"the column a.element is {table} in the table and {rows} in the rows",
    )


@given(schemas())
def test_a_tables_own_rows_fit_it(schema: Struct) -> None:
    assert not mismatches(schema, schema)
    loose = relaxed(schema)
    assert isinstance(loose, Struct)
    assert not mismatches(schema, loose)


def test_columns_are_found_by_name_ignoring_case_and_order() -> None:
    table = Struct((Field("a", t.LONG), Field("S", Struct((Field("x", t.LONG), Field("y", t.DATE))))))
    rows = Struct((Field("s", Struct((Field("Y", t.DATE), Field("X", t.INTEGER)))), Field("A", t.LONG)))
    assert not mismatches(table, rows)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_column_that_the_table_does_not_have_is_named(name: str) -> None:
    table = Struct((Field("s", Struct((Field("x", t.LONG),))), Field(f"{name}!", t.LONG)))
    rows = Struct((Field("s", Struct((Field(name, t.LONG),))), Field(f"{name}!", t.LONG)))
    (problem,) = mismatches(table, rows)
    assert problem.startswith("the table has no column s.")


@pytest.mark.parametrize(
    "metadata, fine",
    [
        ({}, False), ({"comment": "x"}, False), ({"CURRENT_DEFAULT": "1"}, True), ({"delta.generationExpression": "a"}, True),
        ({"delta.identity.start": 1, "delta.identity.step": 1}, True),
    ],
)  # fmt: skip
def test_a_column_may_be_missing_where_it_may_be_null_or_gets_a_value(metadata: dict[str, object], fine: bool) -> None:
    """ "Columns present in the schema of the table MAY be missing from data files."; Default Columns; Identity Columns"""
    rows = Struct((Field("a", t.LONG),))
    needed = Struct((Field("a", t.LONG), Field("b", t.LONG, False, metadata=metadata)))
    assert bool(mismatches(needed, rows)) != fine
    assert not mismatches(Struct((Field("a", t.LONG), Field("b", t.LONG, metadata=metadata))), rows)


def test_a_required_member_of_a_struct_may_not_be_missing() -> None:
    table = Struct((Field("s", Struct((Field("x", t.LONG, False), Field("y", t.LONG)))),))
    assert mismatches(table, Struct((Field("s", Struct((Field("y", t.LONG),))),))) == (
        "the rows lack the column s.x, which is NOT NULL and has no default",
    )
    assert not mismatches(table, Struct())


def test_shapes_that_differ_are_told_with_all_other_problems() -> None:
    table = Struct(
        (Field("a", Array(t.LONG)), Field("b", Struct((Field("x", t.LONG),))), Field("c", Map(t.LONG, t.LONG)))
    )
    rows = Struct((Field("a", t.LONG), Field("b", Array(t.LONG)), Field("c", Struct()), Field("d", t.LONG)))
    assert len(mismatches(table, rows)) == 4


def test_rows_with_a_column_twice_are_refused() -> None:
    table = Struct((Field("a", t.LONG),))
    (problem,) = mismatches(table, Struct((Field("a", t.LONG), Field("A", t.LONG))))
    assert "twice" in problem
