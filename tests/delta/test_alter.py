"""How a change of the columns changes the metadata, and which changes a table does not allow."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.nesting import field_at, type_at, walk
from esker.core.schema_changes import (
    AddColumn,
    After,
    ChangeType,
    DropColumn,
    DropNotNull,
    First,
    MoveColumn,
    Position,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetDefault,
)
from esker.core.types import Array, Decimal, Field, Json, Map, Struct, Type
from esker.delta.actions import Metadata, with_schema
from esker.delta.alter import altered
from esker.delta.column_mapping import ID, PHYSICAL_NAME, Mode
from esker.delta.column_mapping import problems as mapping_problems
from esker.delta.column_mapping_ids import problems as id_problems
from esker.delta.column_mapping_ids import with_mapping
from esker.delta.properties import max_column_id
from esker.delta.schema import parse_schema
from esker.errors import InvalidRequest
from tests.core.schemas import HOSTILE, names, schemas

MODE, WIDENING = "delta.columnMapping.mode", "delta.enableTypeWidening"
SCHEMA = Struct(
    (
        Field("id", t.LONG, False),
        Field("s", Struct((Field("x", t.SHORT), Field("y", t.STRING)))),
        Field("l", Array(Struct((Field("x", t.INTEGER), Field("z", t.DATE))))),
        Field("m", Map(t.BYTE, Array(t.FLOAT))),
        Field("p", t.STRING),
        Field("v", t.VOID),
    )
)


def table(
    schema: Struct = SCHEMA,
    mode: str = "name",
    partition_by: tuple[str, ...] = (),
    more: Mapping[str, str] | None = None,
) -> Metadata:
    configuration = {MODE: mode, WIDENING: "true", **(more or {})}
    return with_mapping(with_schema(Metadata("id", "", schema, partition_by, configuration), schema), None)


def paths(metadata: Metadata) -> list[str]:
    return [".".join(path) for path, _ in walk(metadata.schema)]


def refused(
    metadata: Metadata, *changes: SchemaChange, clustering: tuple[tuple[str, ...], ...] = ()
) -> tuple[str, ...]:
    with pytest.raises(InvalidRequest) as error:
        altered(metadata, changes, clustering)
    return error.value.problems


@pytest.mark.parametrize(
    "parent, position, expected",
    [
        ((), None, ["id", "s", "l", "m", "p", "v", "n"]), ((), First(), ["n", "id", "s", "l", "m", "p", "v"]),
        ((), After("S"), ["id", "s", "n", "l", "m", "p", "v"]), ((), After("v"), ["id", "s", "l", "m", "p", "v", "n"]),
        (("s",), None, ["x", "y", "n"]), (("S",), After("x"), ["x", "n", "y"]), (("l", "element"), First(), ["n", "x", "z"]),
    ],
)  # fmt: skip
def test_a_column_is_added_where_it_is_told_to(
    parent: tuple[str, ...], position: Position | None, expected: list[str]
) -> None:
    field = Field("n", Struct((Field("deep", t.LONG),)))
    result = altered(table(), [AddColumn(field, parent, position) if position else AddColumn(field, parent)])
    found = type_at(result.schema, parent)
    assert isinstance(found, Struct)
    assert list(found.names) == expected
    assert parse_schema(result.schema_string, "here") == result.schema


def test_an_added_column_gets_a_fresh_id_and_name_and_the_others_keep_theirs() -> None:
    """ "Assign a globally unique identifier as the physical name for each new column"  (Column Mapping)"""
    before = table()
    after = altered(before, [AddColumn(Field("n", Struct((Field("deep", t.LONG),))), ("l", "element"))])
    old = {f.metadata[PHYSICAL_NAME]: f.metadata[ID] for _, f in walk(before.schema)}
    new = {f.metadata[PHYSICAL_NAME]: f.metadata[ID] for _, f in walk(after.schema)}
    assert old.items() <= new.items()
    assert sorted(new.values())[-2:] == [len(old) + 1, len(old) + 2]
    assert max_column_id(after.configuration) == len(old) + 2


def test_without_mapping_an_added_column_has_no_ids() -> None:
    assert altered(table(mode="none"), [AddColumn(Field("n", t.LONG))]).schema.fields[-1] == Field("n", t.LONG)


@pytest.mark.parametrize(
    "change, expected",
    [
        (AddColumn(Field("ID", t.LONG)), "there is a column ID"), (AddColumn(Field("n", t.LONG), ("id",)), "id is no struct"),
        (AddColumn(Field("n", t.LONG), ("nope",)), "nope is no struct"), (AddColumn(Field("n", t.LONG), ("l",)), "l is no struct"),
        (AddColumn(Field("n", t.LONG, False)), "n would be null"), (AddColumn(Field("", t.LONG)), "empty name"),
        (AddColumn(Field("n", Array(Struct((Field("x", t.LONG, False),))))), "n.element.x would be null"),
        (AddColumn(Field("n", t.LONG), (), After("nope")), "no column nope"),
        (AddColumn(Field("n", t.LONG, metadata={"CURRENT_DEFAULT": "1"})), "brings CURRENT_DEFAULT"),
        (AddColumn(Field("n", t.LONG, metadata={"delta.generationExpression": "id"})), "brings delta.generationExpression"),
        (AddColumn(Field("n", Struct((Field("a", t.LONG), Field("A", t.LONG))))), "twice"),
    ],
)  # fmt: skip
def test_a_column_that_rows_cannot_have_is_not_added(change: AddColumn, expected: str) -> None:
    """ "Table operations that add new columns [...] MUST not specify a default value"  (Default Columns)"""
    assert any(expected in problem for problem in refused(table(), change))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_added_renamed_and_dropped(name: str) -> None:
    added = altered(table(), [AddColumn(Field(name, t.LONG)), AddColumn(Field(name, t.LONG), ("s",))])
    assert type_at(added.schema, ("s", name)) == t.LONG
    renamed = altered(added, [RenameColumn((name,), "plain"), RenameColumn(("s", "y"), name + "2")])
    assert field_at(renamed.schema, ("plain",)).metadata == field_at(added.schema, (name,)).metadata
    assert paths(
        altered(renamed, [DropColumn(("plain",)), DropColumn(("s", name)), RenameColumn(("s", name + "2"), "y")])
    ) == paths(table())


def test_dropping_a_column_forgets_it_and_never_its_id() -> None:
    before = table()
    after = altered(before, [DropColumn(("L", "element", "X")), DropColumn(("p",))])
    assert paths(after) == ["id", "s", "s.x", "s.y", "l", "l.element.z", "m", "v"]
    assert after.configuration == before.configuration
    again = altered(after, [AddColumn(Field("p", t.STRING))])
    assert field_at(again.schema, ("p",)).metadata[ID] == max_column_id(before.configuration) + 1


def test_renaming_changes_the_name_alone() -> None:
    """ "The physical name of the column is static and can be different than the _display name_"  (Column Mapping)"""
    before = table(partition_by=("p",))
    after = altered(before, [RenameColumn(("P",), "part"), RenameColumn(("l", "element", "x"), "X")])
    assert after.partition_columns == ("part",)
    assert [f.metadata for _, f in walk(after.schema)] == [f.metadata for _, f in walk(before.schema)]
    assert paths(after)[5:] == ["l.element.X", "l.element.z", "m", "part", "v"]


@pytest.mark.parametrize("change", [DropColumn(("p",)), RenameColumn(("p",), "q")])
def test_dropping_and_renaming_need_column_mapping(change: SchemaChange) -> None:
    """ "to support the renaming and dropping of columns without having to rewrite all the data"  (Column Mapping)"""
    (problem,) = refused(table(mode="none"), change)
    assert "needs column mapping" in problem


def used_table() -> Metadata:
    generated = Field("g", t.DATE, metadata={"delta.generationExpression": "CAST(p AS DATE)"})
    invariant = Field("i", t.LONG, metadata={"delta.invariants": '{"expression":{"expression":"i > id"}}'})
    number = Field("n", t.LONG, metadata={"delta.identity.start": 1, "delta.identity.step": 1})
    return table(
        Struct((*SCHEMA.fields, generated, invariant, number)),
        more={"delta.constraints.c": "S.X > 0 AND `id` IS NOT NULL"},
    )


@pytest.mark.parametrize(
    "change, users",
    [
        (DropColumn(("s", "x")), ["the constraint c"]), (DropColumn(("s",)), ["the constraint c"]), (DropColumn(("s", "y")), []),
        (RenameColumn(("S",), "t"), ["the constraint c"]), (RenameColumn(("p",), "q"), ["the generated column g"]),
        (DropColumn(("id",)), ["the constraint c", "the invariant of i"]), (DropColumn(("g",)), []), (DropColumn(("i",)), []),
        (ChangeType(("s", "x"), t.LONG), ["the constraint c"]), (RenameColumn(("g",), "h"), []), (RenameColumn(("n",), "m2"), []),
    ],
)  # fmt: skip
def test_columns_that_expressions_use_stay_as_they_are(change: SchemaChange, users: list[str]) -> None:
    if not users:
        altered(used_table(), [change])
        return
    problems = refused(used_table(), change)
    assert len(problems) == len(users)
    assert all(user in problem for user, problem in zip(users, problems, strict=True))


def test_a_constraint_that_cannot_be_read_may_use_any_column() -> None:
    (problem,) = refused(table(more={"delta.constraints.odd": "((("}), DropColumn(("p",)))
    assert "odd" in problem


@pytest.mark.parametrize(
    "path, partition_by, clustering, expected",
    [
        (("P",), ("p",), (), "p is a partition column"), (("s", "x"), (), (("s", "x"),), "clustering column"),
        (("s",), (), (("S", "x"),), "clustering column"), (("m", "value"), (), (), "no column of its own"),
        (("nope",), (), (), "there is no column nope"), (("s", "nope"), (), (), "there is no column s.nope"),
    ],
)  # fmt: skip
def test_what_the_layout_needs_is_not_dropped(
    path: tuple[str, ...], partition_by: tuple[str, ...], clustering: tuple[tuple[str, ...], ...], expected: str
) -> None:
    problems = refused(table(partition_by=partition_by), DropColumn(path), clustering=clustering)
    assert any(expected.lower() in problem.lower() for problem in problems)


def test_the_last_column_of_a_struct_or_a_table_stays() -> None:
    small = table(Struct((Field("a", Struct((Field("b", t.LONG),))), Field("p", t.STRING))), partition_by=("p",))
    assert "only column of a" in refused(small, DropColumn(("a", "b")))[0]
    assert "besides the partition columns" in refused(small, DropColumn(("a",)))[0]


def test_columns_that_get_statistics_are_followed() -> None:
    listed = table(more={"delta.dataSkippingStatsColumns": "id,s.x,`S`.y,p"})
    after = altered(listed, [RenameColumn(("s",), "a b"), RenameColumn(("a b", "x"), "x.1"), DropColumn(("p",))])
    assert after.configuration["delta.dataSkippingStatsColumns"] == "id,`a b`.`x.1`,`a b`.y"


@pytest.mark.parametrize(
    "change, expected",
    [(DropColumn(("p",)), "true"), (RenameColumn(("p",), "q"), "true"), (SetComment(("p",), "x"), "false")],
)
def test_a_table_that_remembers_drops_and_renames_remembers_the_first(change: SchemaChange, expected: str) -> None:
    """newest text, 3.10: "flips to `true` on first drop/rename and never back" """
    key = "delta.columnMapping.hasDroppedOrRenamed"
    assert altered(table(more={key: "false"}), [change]).configuration[key] == expected
    assert key not in altered(table(), [change]).configuration


@pytest.mark.parametrize(
    "path, position, expected",
    [
        (("p",), First(), ["p", "id", "s", "l", "m", "v"]), (("id",), After("P"), ["s", "l", "m", "p", "id", "v"]),
        (("s",), After("s"), ["id", "s", "l", "m", "p", "v"]),
    ],
)  # fmt: skip
def test_columns_are_reordered(path: tuple[str, ...], position: Position, expected: list[str]) -> None:
    before = table()
    after = altered(before, [MoveColumn(path, position)])
    assert list(after.schema.names) == expected
    assert set(after.schema.names) == set(before.schema.names)
    assert all(field_at(after.schema, p) == f for p, f in walk(before.schema))


def test_comments_are_set_and_taken_away_and_all_else_stays() -> None:
    before = table()
    after = altered(before, [SetComment(("l", "element", "x"), "it's `x`")])
    assert field_at(after.schema, ("l", "element", "x")).metadata["comment"] == "it's `x`"
    assert altered(after, [SetComment(("l", "element", "x"), None)]) == before


def test_a_column_may_become_nullable_and_not_the_other_way() -> None:
    assert field_at(altered(table(), [DropNotNull(("id",))]).schema, ("id",)).nullable
    assert "no column of its own" in refused(table(), DropNotNull(("m", "value")))[0]


WIDER: list[tuple[tuple[str, ...], Type, tuple[str, ...], dict[str, Json]]] = [
    (("s", "x"), t.LONG, ("s", "x"), {"fromType": "short", "toType": "long"}),
    (("l", "element", "X"), Decimal(10, 0), ("l", "element", "x"), {"fromType": "integer", "toType": "decimal(10,0)"}),
    (("m", "key"), t.SHORT, ("m",), {"fromType": "byte", "toType": "short", "fieldPath": "key"}),
    (
        ("M", "Value", "element"),
        t.DOUBLE,
        ("m",),
        {"fromType": "float", "toType": "double", "fieldPath": "value.element"},
    ),
    (("l", "element", "z"), t.TIMESTAMP_NTZ, ("l", "element", "z"), {"fromType": "date", "toType": "timestamp_ntz"}),
]


@pytest.mark.parametrize("path, kind, owner, change", WIDER)
def test_a_wider_type_is_recorded_at_the_nearest_struct_field(
    path: tuple[str, ...], kind: Type, owner: tuple[str, ...], change: dict[str, Json]
) -> None:
    """newest text, 3.1: "`metadata["delta.typeChanges"]` of the nearest enclosing struct field"; "record every change" """
    after = altered(table(), [ChangeType(path, kind)])
    assert type_at(after.schema, path) == kind
    recorded = {p: f.metadata["delta.typeChanges"] for p, f in walk(after.schema) if "delta.typeChanges" in f.metadata}
    assert recorded == {owner: [change]}
    renamed = altered(after, [RenameColumn(owner, "other"), SetComment((*owner[:-1], "other"), "x")])
    kept = field_at(renamed.schema, (*owner[:-1], "other"))
    assert kept is not None
    assert kept.metadata["delta.typeChanges"] == [change]


@pytest.mark.parametrize(
    "path, kind, expected",
    [
        (("s", "x"), t.BYTE, "no widening"), (("id",), t.DOUBLE, "no widening"), (("s", "y"), t.LONG, "no widening"),
        (("s",), t.LONG, "change the columns within it"), (("id",), Array(t.LONG), "change the columns within it"),
        (("nope",), t.LONG, "there is no column nope"),
    ],
)  # fmt: skip
def test_any_other_type_is_refused(path: tuple[str, ...], kind: Type, expected: str) -> None:
    """newest text, 3.1: "Anything else is rejected." """
    assert expected in refused(table(), ChangeType(path, kind))[0]


def test_types_stay_where_widening_is_not_enabled() -> None:
    """newest text, 3.1: "If not `true`, writers must refuse new type changes" """
    (problem,) = refused(table(more={WIDENING: "false"}), ChangeType(("s", "x"), t.LONG))
    assert WIDENING in problem


def test_a_void_column_takes_any_type_without_widening_or_record() -> None:
    """newest text, 2.1: "Changing a void column to any other type is allowed and does not need typeWidening." """
    after = altered(table(more={WIDENING: "false"}), [ChangeType(("v",), Array(t.DATE))])
    assert type_at(after.schema, ("v",)) == Array(t.DATE)
    assert not any("delta.typeChanges" in f.metadata for _, f in walk(after.schema))


@pytest.mark.parametrize(
    "compat", ["delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2", "delta.enableIcebergCompatV3"]
)
def test_a_convertible_table_changes_only_as_iceberg_does(compat: str) -> None:
    """newest text, C19 and 3.7"""
    convertible = table(more={compat: "true"})
    altered(convertible, [ChangeType(("s", "x"), t.LONG)])
    assert any("Iceberg" in problem for problem in refused(convertible, ChangeType(("s", "x"), t.DOUBLE)))


@pytest.mark.parametrize("name", ["g", "n"])
def test_columns_with_values_of_their_own_making_keep_their_type(name: str) -> None:
    kind = t.TIMESTAMP_NTZ if name == "g" else Decimal(20, 0)
    assert "cannot change its type" in refused(used_table(), ChangeType((name,), kind))[0]


def test_defaults_are_set_and_taken_away() -> None:
    """ "it is acceptable to assign or update default values for columns that were already created"  (Default Columns)"""
    before = table()
    after = altered(before, [SetDefault(("id",), "1 + 1")])
    assert after.schema.fields[0].metadata["CURRENT_DEFAULT"] == "1 + 1"
    assert altered(after, [SetDefault(("ID",), None)]) == before


@pytest.mark.parametrize(
    "path, default, expected",
    [
        (("s", "x"), "1", "only columns of the table"), (("g",), "1", "generated column"), (("n",), "1", "identity column"),
        (("id",), "1)", "no expression"), (("id",), "", "no expression"), (("id",), "1; DROP TABLE x", "no expression"),
    ],
)  # fmt: skip
def test_a_default_that_cannot_be_is_refused(path: tuple[str, ...], default: str, expected: str) -> None:
    assert expected in refused(used_table(), SetDefault(path, default))[0]


def test_a_variant_defaults_to_null_only() -> None:
    """newest text, C21: "`variant` columns may only default to NULL" """
    variant = table(Struct((Field("v", t.VARIANT), Field("a", t.LONG))))
    altered(variant, [SetDefault(("v",), "null")])
    assert "only be NULL" in refused(variant, SetDefault(("v",), "parse_json('1')"))[0]


def test_all_problems_are_told_at_once_and_nothing_is_changed() -> None:
    problems = refused(table(mode="none"), DropColumn(("p",)), AddColumn(Field("a b", t.LONG)), DropNotNull(("nope",)))
    assert len(problems) == 3


def test_changes_build_on_one_another() -> None:
    after = altered(
        table(),
        [
            AddColumn(Field("n", t.SHORT)),
            RenameColumn(("n",), "k"),
            ChangeType(("k",), t.LONG),
            MoveColumn(("k",), First()),
        ],
    )
    assert after.schema.fields[0].name == "k"
    assert after.schema.fields[0].type == t.LONG


def test_a_name_that_was_odd_before_is_no_problem_of_the_change() -> None:
    odd = table(Struct((Field("a b", t.LONG),)), mode="none")
    assert altered(odd, [AddColumn(Field("c", t.LONG))]).schema.names == ("a b", "c")


@st.composite
def changes(draw: st.DrawFn, schema: Struct) -> SchemaChange:
    path = draw(st.sampled_from([path for path, _ in walk(schema)]))
    position = draw(st.sampled_from([First(), After(path[-1])]))
    added = st.builds(
        lambda name: AddColumn(Field(name, Struct((Field("deep", t.SHORT),))), path[:-1], position), names
    )
    renamed = st.builds(lambda name: RenameColumn(path, name), names)
    others: list[SchemaChange] = [
        DropColumn(path),
        MoveColumn(path, First()),
        SetComment(path, "x"),
        ChangeType(path, t.LONG),
        DropNotNull(path),
    ]
    return draw(st.one_of(added, renamed, st.sampled_from(others)))


@given(schemas(), st.data())
def test_whatever_is_changed_ids_stay_unique_and_are_never_given_out_again(schema: Struct, data: st.DataObject) -> None:
    """ "This value must increase monotonically"; "a unique 32-bit integer as an id"  (Column Mapping)"""
    metadata = table(schema)
    ever = {f.metadata[ID]: f.metadata[PHYSICAL_NAME] for _, f in walk(metadata.schema)}
    for _ in range(4):
        try:
            after = altered(metadata, [data.draw(changes(metadata.schema))])
        except InvalidRequest:
            continue
        highest = max_column_id(after.configuration)
        assert highest >= max_column_id(metadata.configuration)
        assert not list(id_problems(after.schema, Mode.NAME, highest))
        assert not list(mapping_problems(after.schema, Mode.NAME))
        for _, field in walk(after.schema):
            assert ever.setdefault(field.metadata[ID], field.metadata[PHYSICAL_NAME]) == field.metadata[PHYSICAL_NAME]
        assert parse_schema(after.schema_string, "here") == after.schema
        metadata = after
