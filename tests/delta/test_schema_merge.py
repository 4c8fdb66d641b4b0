"""What a table becomes that takes over the columns of rows."""

import pytest
from hypothesis import given

from esker.core import types as t
from esker.core.nesting import field_at, type_at, walk
from esker.core.types import Array, Decimal, Field, Map, Struct, Type
from esker.delta.actions import Metadata, with_schema
from esker.delta.column_mapping import ID, PHYSICAL_NAME
from esker.delta.column_mapping_ids import with_mapping
from esker.delta.schema_fit import mismatches
from esker.delta.schema_merge import evolved, merged
from esker.delta.type_changes import is_automatic
from esker.errors import InvalidRequest
from tests.core.schemas import HOSTILE, schemas

TABLE = Struct(
    (
        Field("id", t.INTEGER, False, metadata={"comment": "key"}),
        Field("s", Struct((Field("x", t.SHORT, False),))),
        Field("l", Array(Struct((Field("x", t.LONG),)))),
        Field("m", Map(t.STRING, t.FLOAT)),
    )
)


def rows(**kinds: Type) -> Struct:
    return Struct(tuple(Field(name, kind) for name, kind in kinds.items()))


@given(schemas())
def test_merging_a_schema_with_itself_changes_nothing(schema: Struct) -> None:
    assert merged(schema, schema) == merged(schema, schema, is_automatic) == schema


@given(schemas(), schemas(nullable=True))
def test_what_is_merged_takes_the_rows_and_keeps_the_tables_columns_in_place(schema: Struct, more: Struct) -> None:
    try:
        result = merged(schema, more, is_automatic)
    except InvalidRequest:
        return
    assert [name.lower() for name in result.names[: len(schema)]] == [name.lower() for name in schema.names]
    assert not [p for p in mismatches(result, more) if "lack" not in p]
    assert merged(result, more, is_automatic) == result
    assert all(field_at(result, path).nullable for path, _ in walk(result) if field_at(schema, path) is None)


def test_missing_columns_are_added_behind_the_others_at_every_depth() -> None:
    result = merged(TABLE, rows(n=t.DATE, S=rows(Y=t.DATE), l=Array(rows(z=Array(rows(q=t.LONG))))))
    assert [".".join(path) for path, _ in walk(result)] == [
        "id", "s", "s.x", "s.Y", "l", "l.element.x", "l.element.z", "l.element.z.element.q", "m", "n",
    ]  # fmt: skip
    assert result.fields[0] == TABLE.fields[0]


def test_an_added_column_is_nullable_and_brings_nothing_but_comments() -> None:
    metadata = {
        "comment": "c",
        ID: 7,
        PHYSICAL_NAME: "col-7",
        "CURRENT_DEFAULT": "1",
        "delta.invariants": "{}",
        "__x": 1,
    }
    brought = Field("n", Struct((Field("deep", Array(t.LONG, False), False, 3, metadata),)), False, 7, metadata)
    result = merged(TABLE, Struct((brought,)))
    assert result.fields[-1] == Field(
        "n", Struct((Field("deep", Array(t.LONG), metadata={"comment": "c"}),)), metadata={"comment": "c"}
    )
    assert (result.fields[-1].id, result.fields[-1].metadata) == (None, {"comment": "c"})


def test_narrower_rows_leave_the_table_as_it_is() -> None:
    assert (
        merged(
            TABLE, rows(id=t.BYTE, s=rows(x=t.BYTE), l=Array(rows(x=t.INTEGER)), m=Map(t.STRING, t.VOID)), is_automatic
        )
        == TABLE
    )


def test_wider_rows_widen_the_table_where_that_is_allowed_and_it_is_recorded() -> None:
    """newest text, 3.1: "Writers: record every change" """
    result = merged(TABLE, rows(id=t.LONG, s=rows(x=t.INTEGER), m=Map(t.STRING, t.DOUBLE)), is_automatic)
    assert {
        path: field.metadata.get("delta.typeChanges")
        for path, field in walk(result)
        if "delta.typeChanges" in field.metadata
    } == {
        ("id",): [{"fromType": "integer", "toType": "long"}],
        ("s", "x"): [{"fromType": "short", "toType": "integer"}],
        ("m",): [{"fromType": "float", "toType": "double", "fieldPath": "value"}],
    }
    assert type_at(result, ("m", "value")) == t.DOUBLE
    assert result.fields[0].metadata["comment"] == "key"


@pytest.mark.parametrize(
    "brought",
    [
        rows(id=t.LONG),
        rows(id=t.DOUBLE),
        rows(id=t.STRING),
        rows(s=t.LONG),
        rows(l=rows(x=t.LONG)),
        rows(m=Map(t.LONG, t.FLOAT)),
    ],
)
def test_types_that_differ_are_refused_without_widening(brought: Struct) -> None:
    with pytest.raises(InvalidRequest, match="in the table and"):
        merged(TABLE, brought)


@pytest.mark.parametrize("old, new", [(t.INTEGER, t.DOUBLE), (t.LONG, Decimal(20, 0)), (t.DATE, t.TIMESTAMP_NTZ)])
def test_rows_never_take_a_column_to_another_family_of_types(old: Type, new: Type) -> None:
    """newest text, 3.1: "integer->decimal and integer->double only through an explicit ALTER" """
    with pytest.raises(InvalidRequest):
        merged(rows(a=old), rows(a=new), is_automatic)


def test_every_column_that_differs_is_named() -> None:
    with pytest.raises(InvalidRequest) as refused:
        merged(TABLE, rows(id=t.STRING, s=rows(x=t.DATE), l=Array(t.LONG), m=Map(t.DATE, t.STRING), n=t.VOID))
    assert [problem.split(" ")[2] for problem in refused.value.problems] == [
        "id",
        "s.x",
        "l.element",
        "m.key",
        "m.value",
        "n",
    ]


def test_rows_with_a_column_twice_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="twice"):
        merged(TABLE, Struct((Field("n", t.LONG), Field("N", t.LONG))))


def table(schema: Struct = TABLE, **configuration: str) -> Metadata:
    said = {name.replace("__", "."): text for name, text in configuration.items()}
    return with_mapping(with_schema(Metadata("id", "", schema, (), said), schema), None)


def test_a_table_that_has_all_columns_stays_the_same() -> None:
    metadata = table()
    assert evolved(metadata, rows(id=t.BYTE)) is metadata


def test_columns_that_rows_bring_get_ids() -> None:
    """ "Assign a globally unique identifier as the physical name for each new column"  (Column Mapping)"""
    before = table(delta__columnMapping__mode="name")
    after = evolved(before, rows(s=rows(n=t.DATE)))
    added = field_at(after.schema, ("s", "n"))
    assert added is not None
    assert (
        added.metadata[ID] == int(after.configuration["delta.columnMapping.maxColumnId"]) == len(list(walk(TABLE))) + 1
    )


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_types_grow_only_where_the_table_says_so(enabled: str) -> None:
    """newest text, 3.1: "If not `true`, writers must refuse new type changes" """
    metadata = table(delta__enableTypeWidening=enabled)
    if enabled == "true":
        assert type_at(evolved(metadata, rows(id=t.LONG)).schema, ("id",)) == t.LONG
    else:
        with pytest.raises(InvalidRequest):
            evolved(metadata, rows(id=t.LONG))


def test_a_convertible_table_grows_only_as_iceberg_does() -> None:
    """newest text, C19"""
    schema = rows(a=Decimal(5, 2), b=t.SHORT)
    metadata = table(schema, delta__enableTypeWidening="true", delta__enableIcebergCompatV1="true")
    assert type_at(evolved(metadata, rows(a=Decimal(6, 2), b=t.LONG)).schema, ("b",)) == t.LONG
    with pytest.raises(InvalidRequest):
        evolved(metadata, rows(a=Decimal(8, 5)))


def test_a_column_that_a_constraint_uses_does_not_grow() -> None:
    metadata = table(delta__enableTypeWidening="true", delta__constraints__c="s.x > 0")
    with pytest.raises(InvalidRequest, match="constraint c"):
        evolved(metadata, rows(s=rows(x=t.LONG)))
    evolved(metadata, rows(id=t.LONG))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_come_with_rows_where_columns_are_mapped(name: str) -> None:
    after = evolved(table(delta__columnMapping__mode="name"), Struct((Field(name, t.LONG),)))
    assert after.schema.fields[-1].name == name


def test_a_name_that_files_cannot_have_is_refused_without_mapping() -> None:
    with pytest.raises(InvalidRequest, match="needs column mapping"):
        evolved(table(), rows(**{"a b": t.LONG}))
