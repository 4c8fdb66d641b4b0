"""Which ids and physical names columns get.  (PROTOCOL.md, "Writer Requirements for Column Mapping")"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.nesting import walk
from esker.core.types import Array, Field, Map, Struct
from esker.delta.actions import Metadata, with_schema
from esker.delta.column_mapping import ID, PHYSICAL_NAME, Mode
from esker.delta.column_mapping import problems as name_problems
from esker.delta.column_mapping_ids import (
    NESTED_IDS,
    assigned,
    display_name,
    problems,
    with_mapping,
    without_mapping,
)
from esker.delta.schema import parse_schema
from esker.errors import InvalidRequest, Unsupported
from tests.core.schemas import schemas

MODE, MAX = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
NESTED = Struct(
    (
        Field("a", t.LONG),
        Field("s", Struct((Field("x", t.LONG),))),
        Field("col1", Array(Array(t.INTEGER))),
        Field("col3", Map(t.INTEGER, Struct((Field("sub", Array(t.INTEGER)),)))),
    )
)


def metadata(schema: Struct, **configuration: str) -> Metadata:
    said = {name.replace("__", "."): value for name, value in configuration.items()}
    return with_schema(Metadata("id", "", schema, (), said), schema)


def ids(schema: Struct) -> list[int]:
    found = [field.metadata[ID] for _, field in walk(schema)]
    nested = [field.metadata.get(NESTED_IDS, {}) for _, field in walk(schema)]
    return [*found, *(number for entries in nested for number in entries.values())]


@given(schemas(), st.sampled_from([Mode.NAME, Mode.ID]), st.integers(0, 100), st.booleans())
def test_every_field_gets_a_fresh_id_and_a_unique_name(schema: Struct, mode: Mode, highest: int, nested: bool) -> None:
    """ "every column - nested or leaf - is assigned a unique _physical_ name, and a unique 32-bit integer as an id" """
    mapped, last = assigned(schema, mode, highest, nested_ids=nested)
    numbers = ids(mapped)
    assert sorted(numbers) == list(range(highest + 1, last + 1))
    assert [field.id for _, field in walk(mapped)] == [field.metadata[ID] for _, field in walk(mapped)]
    assert all(re.fullmatch(r"col-[0-9a-f-]{36}", str(f.metadata[PHYSICAL_NAME])) for _, f in walk(mapped))
    assert not [*problems(mapped, mode, last), *name_problems(mapped, mode)]
    assert without_mapping(mapped) == schema
    assert assigned(mapped, mode, last, nested_ids=nested) == (mapped, last)


@given(schemas(), schemas())
def test_columns_that_are_added_get_higher_ids_and_the_others_keep_theirs(schema: Struct, more: Struct) -> None:
    """ "This value must increase monotonically as new columns are introduced" """
    mapped, last = assigned(schema, Mode.NAME, 0)
    wider, end = assigned(Struct((*more.fields, *mapped.fields)), Mode.NAME, last)
    assert wider.fields[len(more) :] == mapped.fields
    assert min(ids(Struct(wider.fields[: len(more)]))) == last + 1
    assert len(set(ids(wider))) == len(ids(wider)) == end


def test_a_dropped_columns_id_is_not_given_out_again() -> None:
    mapped, last = assigned(NESTED, Mode.NAME, 0)
    again, end = assigned(Struct((*mapped.fields[:-1], Field("col3", t.LONG))), Mode.NAME, last)
    assert ids(again)[-1] == end == last + 1
    assert again.fields[-1].metadata[PHYSICAL_NAME] != mapped.fields[-1].metadata[PHYSICAL_NAME]


def test_without_mapping_nothing_is_assigned() -> None:
    assert assigned(NESTED, Mode.NONE, 5) == (NESTED, 5)


def test_the_places_within_arrays_and_maps_get_ids_too_where_iceberg_asks_for_them() -> None:
    """ "the nested `element` field of ArrayTypes and the nested `key` and `value` fields of MapTypes be assigned 32 bit integer
    identifiers"  (Writer Requirements for IcebergCompatV2); under physical names by newest text, C3"""
    mapped, last = assigned(NESTED, Mode.NAME, 0, display_name, nested_ids=True)
    found = {field.name: field.metadata.get(NESTED_IDS) for _, field in walk(mapped)}
    assert found == {
        "a": None, "s": None, "x": None, "col1": {"col1.element": 7, "col1.element.element": 8},
        "col3": {"col3.key": 9, "col3.value": 10}, "sub": {"sub.element": 11},
    }  # fmt: skip
    assert last == 11


def test_ids_within_an_array_stay_and_are_added_to() -> None:
    mapped, last = assigned(Struct((Field("a", Array(t.LONG)),)), Mode.NAME, 0, display_name, nested_ids=True)
    deeper = Struct((Field("a", Array(Array(t.LONG)), metadata=mapped.fields[0].metadata),))
    again, end = assigned(deeper, Mode.NAME, last, nested_ids=True)
    assert again.fields[0].metadata[NESTED_IDS] == {"a.element": 2, "a.element.element": 3}
    assert end == 3


def test_ids_end_at_32_bits() -> None:
    with pytest.raises(Unsupported, match="2147483647 is the last one"):
        assigned(NESTED, Mode.ID, 2**31 - 2)


def test_a_fresh_table_keeps_its_highest_id_as_a_property() -> None:
    """ "The maximum id that is assigned to a column is tracked as the table property `delta.columnMapping.maxColumnId`." """
    made = with_mapping(metadata(NESTED, delta__columnMapping__mode="id"), None)
    assert made.configuration == {MODE: "id", MAX: "6"}
    assert parse_schema(made.schema_string, "here") == made.schema


def test_a_fresh_table_without_mapping_has_no_trace_of_another_tables() -> None:
    mapped, _ = assigned(NESTED, Mode.NAME, 0)
    assert with_mapping(metadata(mapped), None).schema == NESTED


def test_a_table_that_is_there_keeps_the_names_that_its_files_have() -> None:
    before = metadata(NESTED)
    after = with_mapping(metadata(NESTED, delta__columnMapping__mode="name"), before)
    assert [f.metadata[PHYSICAL_NAME] for _, f in walk(after.schema)] == [f.name for _, f in walk(NESTED)]
    added = Struct((*after.schema.fields, Field("a2", t.LONG)))
    later = with_mapping(with_schema(after, added), after)
    assert str(later.schema.fields[-1].metadata[PHYSICAL_NAME]).startswith("col-")
    assert later.configuration[MAX] == "7"
    assert later.schema.fields[:-1] == after.schema.fields


def test_compatibility_with_iceberg_brings_nested_ids() -> None:
    made = with_mapping(metadata(NESTED, delta__columnMapping__mode="name", delta__enableIcebergCompatV2="true"), None)
    assert NESTED_IDS in made.schema.fields[2].metadata
    assert made.configuration[MAX] == "11"


@pytest.mark.parametrize("old, new", [("none", "id"), ("name", "id"), ("id", "name"), ("name", "none"), ("id", "none")])
def test_a_mode_that_would_need_other_files_is_refused(old: str, new: str) -> None:
    before = with_mapping(metadata(NESTED, delta__columnMapping__mode=old), None)
    with pytest.raises(InvalidRequest, match=f"from {old} to {new}"):
        with_mapping(metadata(before.schema, delta__columnMapping__mode=new), before)


@pytest.mark.parametrize(
    "changes, highest, expected",
    [
        ({}, 2, []), ({ID: None}, 2, ["the column b has no delta.columnMapping.id"]), ({ID: 1}, 2, ["the column id 1 is used 2 times"]),
        ({ID: 0}, 2, ["the column b has the delta.columnMapping.id 0, which is no number from 1 to 2147483647"]),
        ({}, 1, ["delta.columnMapping.maxColumnId is 1, below the column id 2"]),
        ({NESTED_IDS: {"b.element": 1}}, 2, ["the column id 1 is used 2 times"]),
    ],
)  # fmt: skip
def test_ids_that_break_the_rules_are_told(changes: dict[str, object], highest: int, expected: list[str]) -> None:
    mapped, _ = assigned(Struct((Field("a", t.LONG), Field("b", t.LONG))), Mode.NAME, 0)
    first, second = mapped.fields
    spoiled = {key: value for key, value in {**second.metadata, **changes}.items() if value is not None}
    schema = Struct((first, Field("b", t.LONG, metadata=spoiled)))
    assert list(problems(schema, Mode.NAME, highest)) == expected
    assert list(problems(schema, Mode.NONE, highest)) == []
