"""What rows must fulfil before they are written, and which values they lack."""

import json
from collections.abc import Mapping

import pytest

from esker.core import types as t
from esker.core.sql import parse
from esker.core.types import Array, Field, Json, Map, Struct, Type
from esker.core.write import Absent, Check, Computed, Given, Numbered
from esker.delta.actions import Metadata, with_schema
from esker.delta.protocol import Protocol
from esker.delta.row_rules import DECLARED_TEXT, rules, uninvited, unwritable, value
from esker.errors import InvalidTable
from tests.core.schemas import HOSTILE

LEGACY = Protocol(1, 2)
ALL = Protocol(
    1,
    7,
    None,
    frozenset({"generatedColumns", "identityColumns", "allowColumnDefaults", "invariants", "checkConstraints"}),
)


def column(name: str, kind: Type = t.LONG, nullable: bool = True, **metadata: Json) -> Field:
    return Field(name, kind, nullable, None, {key.replace("__", "."): found for key, found in metadata.items()})


def checks(
    *fields: Field, protocol: Protocol = ALL, configuration: Mapping[str, str] | None = None
) -> tuple[Check, ...]:
    schema = Struct(fields)
    return rules(with_schema(Metadata("id", "", schema, (), configuration or {}), schema), protocol)


def conditions(*fields: Field) -> list[str]:
    return [check.sql for check in checks(*fields)]


INNER = Struct((column("x", nullable=False),))


@pytest.mark.parametrize(
    "field, expected",
    [
        (column("a"), []),
        (column("a", nullable=False), ["`a` IS NOT NULL"]),
        (column("s", INNER), ["`s` IS NULL OR `s`.`x` IS NOT NULL"]),
        (column("s", INNER, False), ["`s` IS NOT NULL", "`s` IS NULL OR `s`.`x` IS NOT NULL"]),
        (column("s", Struct((column("t", INNER),))), ["`s`.`t` IS NULL OR `s`.`t`.`x` IS NOT NULL"]),
        (column("l", Array(t.LONG, False)), ["`l` IS NULL OR forall(`l`, x0 -> x0 IS NOT NULL)"]),
        (column("l", Array(INNER)), ["`l` IS NULL OR forall(`l`, x0 -> x0 IS NULL OR x0.`x` IS NOT NULL)"]),
        (
            column("m", Map(t.STRING, t.LONG, False)),
            ["map_values(`m`) IS NULL OR forall(map_values(`m`), x0 -> x0 IS NOT NULL)"],
        ),
        (
            column("l", Array(Array(t.LONG, False))),
            ["`l` IS NULL OR forall(`l`, x0 -> x0 IS NULL OR forall(x0, x1 -> x1 IS NOT NULL))"],
        ),
    ],
)
def test_what_may_not_be_null_is_checked_at_every_depth(field: Field, expected: list[str]) -> None:
    """ "nullable | Boolean denoting whether this field can be null"  (Struct Field); what holds it may itself be null"""
    assert conditions(field) == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_a_name(name: str) -> None:
    found = checks(
        column(name, nullable=False),
        column("s", Struct((column(name, nullable=False),))),
        column("g", delta__generationExpression="1"),
    )
    assert [check.sql for check in found] == [
        f"`{name.replace('`', '``')}` IS NOT NULL", f"`s` IS NULL OR `s`.`{name.replace('`', '``')}` IS NOT NULL", "`g` <=> (\n1\n)",
    ]  # fmt: skip
    for check in found[:2]:
        parse(check.sql)


def test_an_invariant_is_checked_as_it_stands() -> None:
    """ "Writers MUST abort any transaction that adds a row to the table, where an invariant evaluates to `false` or `null`." """
    text = json.dumps({"expression": {"expression": "x > 3"}})
    assert checks(column("x", delta__invariants=text), protocol=LEGACY) == (
        Check("the invariant of the column x: x > 3", "x > 3"),
    )


def test_constraints_are_checked_by_name() -> None:
    """ "every new row being written to the table must satisfy CHECK constraints in the table"  (CHECK Constraints)"""
    configuration = {"delta.constraints.b": "x > 1", "delta.constraints.a.b`": "`odd ``name` = 'it''s'", "own": "x"}
    assert checks(column("x"), configuration=configuration, protocol=LEGACY) == (
        Check("the constraint a.b`: `odd ``name` = 'it''s'", "`odd ``name` = 'it''s'"), Check("the constraint b: x > 1", "x > 1"),
    )  # fmt: skip


def test_a_generated_column_equals_its_expression_null_safely() -> None:
    """ "Writers MUST enforce that any data writing to the table satisfy the condition `(<value> <=> <generation expression>) IS
    TRUE`."  (Generated Columns)"""
    field = column("a b", delta__generationExpression="x + 1 -- one more")
    assert conditions(field) == ["`a b` <=> (\nx + 1 -- one more\n)"]
    assert checks(field, protocol=LEGACY) == ()


@pytest.mark.parametrize("expression", ["1) OR (1 = 1", "", "x; DROP TABLE y", "'open", "/* open", "x)"])
def test_an_expression_that_would_reach_beyond_its_place_is_the_tables_fault(expression: str) -> None:
    invariant = json.dumps({"expression": {"expression": expression}})
    for field in (column("a", delta__generationExpression=expression), column("a", delta__invariants=invariant)):
        with pytest.raises(InvalidTable, match="no expression"):
            checks(field)
    with pytest.raises(InvalidTable, match="no expression"):
        checks(column("a"), configuration={"delta.constraints.c": expression})
    with pytest.raises(InvalidTable, match="no expression"):
        value(column("a", CURRENT_DEFAULT=expression), Struct(), ALL)


def test_the_declared_length_of_a_text_is_checked() -> None:
    assert conditions(column("a", t.STRING, **{DECLARED_TEXT: "x"})) == []
    field = Field("a`", t.STRING, metadata={DECLARED_TEXT: "varchar(5)"})
    assert conditions(field) == ["`a``` IS NULL OR length(`a```) <= 5"]
    assert unwritable(Struct((field,))) == ()


@pytest.mark.parametrize(
    "field, found",
    [
        (Field("a", t.STRING, metadata={DECLARED_TEXT: "char(5)"}), "declared as char(5)"),
        (Field("s", Struct((Field("a", t.STRING, metadata={DECLARED_TEXT: "varchar(5)"}),))), "s.a is declared"),
        (Field("a", Array(t.STRING), metadata={DECLARED_TEXT: "array<varchar(5)>"}), "declared as array"),
        (Field("l", Array(t.VOID)), "within an array or a map"), (Field("m", Map(t.STRING, Struct((Field("v", t.VOID),)))), "within an array"),
        (Field("s", Struct((Field("v", t.VOID),))), "s has only void columns"), (Field("v", t.VOID), "the table has only void columns"),
    ],
)  # fmt: skip
def test_some_columns_keep_any_row_from_being_written(field: Field, found: str) -> None:
    """newest text, 2.1: "Reject any operation that would write a *new data file* while the table schema contains one of" """
    assert any(found in problem for problem in unwritable(Struct((field,))))


def test_a_void_column_beside_others_is_no_obstacle() -> None:
    """newest text, 2.1: "Writers leave void columns out of data files" """
    assert (
        unwritable(Struct((column("a"), Field("v", t.VOID), Field("s", Struct((column("x"), Field("v", t.VOID)))))))
        == ()
    )


NUMBERED = {"delta__identity__start": 10, "delta__identity__step": 5}
VALUES: list[tuple[Field, object]] = [
    (column("a"), Absent()),
    (column("a", CURRENT_DEFAULT="current_date()"), Computed("current_date()")),
    (column("a", delta__generationExpression="x + 1"), Computed("x + 1")),
    (column("a", delta__generationExpression="x + 1", CURRENT_DEFAULT="2"), Computed("x + 1")),
    (column("a", **NUMBERED), Numbered(10, 5)),
    (column("a", **NUMBERED, delta__identity__highWaterMark=20), Numbered(10, 5, 20)),
    (column("a", **NUMBERED, delta__identity__highWaterMark=23), Numbered(10, 5, 20)),
    (column("a", **NUMBERED, delta__identity__highWaterMark=3), Numbered(10, 5)),
]


@pytest.mark.parametrize("field, expected", VALUES)
def test_a_column_that_rows_lack_gets_its_value_from_its_metadata(field: Field, expected: object) -> None:
    """Default Columns, Generated Columns, Identity Columns: what the writing system assigns"""
    assert value(field, Struct((column("x"),)), ALL) == expected
    assert value(field, Struct((column("A"),)), ALL) == Given("A")
    assert value(field, Struct(), LEGACY) == Absent(), "what the protocol does not support is not honoured"


def test_rows_do_not_bring_the_numbers_that_are_always_generated() -> None:
    """ "When `delta.identity.allowExplicitInsert` is false [...] Users should not be allowed to provide their own values" """
    schema = Struct(
        (column("Id", **NUMBERED), column("own", **NUMBERED, delta__identity__allowExplicitInsert=True), column("x"))
    )
    (problem,) = uninvited(schema, Struct((column("id"), column("own"), column("x"))), ALL)
    assert problem.startswith("the column Id is GENERATED ALWAYS")
    assert uninvited(schema, Struct((column("own"),)), ALL) == ()
    assert uninvited(schema, Struct((column("id"),)), LEGACY) == ()


@pytest.mark.parametrize("key", ["delta.constraints.pos", "delta.Constraints.pos", "DELTA.CONSTRAINTS.pos"])
def test_a_constraint_counts_whatever_the_capitals_of_its_key(key: str) -> None:
    """ "every new row being written to the table must satisfy CHECK constraints in the table"  (CHECK Constraints)"""
    (check,) = checks(column("a"), configuration={key: "a > 0"})
    assert (check.what, check.sql) == ("the constraint pos: a > 0", "a > 0")
