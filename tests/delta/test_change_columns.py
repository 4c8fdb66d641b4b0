"""Do changes of the columns become versions under which the old files read right?"""

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.ddl import parse_type
from esker.errors import Conflict, InvalidRequest, Unsupported
from tests.delta.handles import created, ids, last, rows, with_rival
from tests.delta.tables import Log, metadata, protocol

MAPPED = {"delta.columnMapping.mode": "name"}
WIDENING = {"delta.enableTypeWidening": "true"}
PEOPLE = "id bigint, name string, home struct<city string, zip int>, tags array<struct<word string>>, bags map<string,int>"
ANNE = {"id": 1, "name": "Anne", "home": {"city": "Oslo", "zip": 7}, "tags": [{"word": "x"}], "bags": [("k", 1)]}
BEN = {"id": 2, "name": None, "home": None, "tags": None, "bags": None}
_HOME = pa.struct([("city", pa.string()), ("zip", pa.int32())])
_ROWS = pa.Table.from_pylist(
    [ANNE, BEN],
    pa.schema(
        [
            ("id", pa.int64()), ("name", pa.string()), ("home", _HOME),
            ("tags", pa.list_(pa.struct([("word", pa.string())]))), ("bags", pa.map_(pa.string(), pa.int32())),
        ]
    ),
)  # fmt: skip


def people(**properties: str) -> esker.Table:
    return created(PEOPLE, _ROWS, properties={**MAPPED, **{k.replace("__", "."): v for k, v in properties.items()}})


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_columns_that_are_added_are_null_in_old_rows_and_filled_in_new_ones():
    table = created("id bigint", ids(1))
    table.add_columns("name string COMMENT 'full', born date", after="id")
    table.append(pa.table({"id": [2], "name": ["Ben"], "born": [date(2000, 1, 2)]}))
    assert rows(table) == [{"id": 1, "name": None, "born": None}, {"id": 2, "name": "Ben", "born": date(2000, 1, 2)}]
    assert table.schema.at(("name",)).metadata["comment"] == "full"


@pytest.mark.parametrize(
    "schema",
    ["name string, n int", pa.schema([("name", pa.string()), ("n", pa.int32())]),
     t.Struct((t.Field("name", t.STRING), t.Field("n", t.INTEGER)))],
)  # fmt: skip
def test_columns_are_declared_in_any_way_that_create_knows(schema: Any):
    assert str(created().add_columns(schema).schema) == "struct<id:long,name:string,n:integer>"


@pytest.mark.parametrize(
    "place, order",
    [({}, "id,a,b,x,y"), ({"first": True}, "x,y,id,a,b"), ({"after": "id"}, "id,x,y,a,b"), ({"after": "B"}, "id,a,b,x,y")],
)
def test_added_columns_come_where_they_are_told_to(place: dict[str, Any], order: str):
    table = created("id bigint, a int, b int").add_columns("x int, y int", **place)
    assert ",".join(table.schema.names) == order


@pytest.mark.parametrize(
    "parent, expected",
    [
        ("home", {"home": {"city": "Oslo", "zip": 7, "land": None}}),
        ("tags.element", {"tags": [{"word": "x", "land": None}]}),
    ],
)
def test_members_are_added_to_structs_wherever_these_are(parent: str, expected: dict[str, Any]):
    table = people().add_columns("land string", parent=parent)
    assert rows(table) == [ANNE | expected, BEN]


def test_a_renamed_column_keeps_its_values_at_every_depth():
    table = people().rename_column("name", "full name").rename_column("home.city", "town").rename_column("tags.element.word", "w")
    shown = without(ANNE, "name") | {"full name": "Anne", "home": {"town": "Oslo", "zip": 7}, "tags": [{"w": "x"}]}
    assert rows(table)[0] == shown
    assert table.schema.names[1] == "full name"
    assert esker.open(table.location).to_arrow(where="`full name` = 'Anne' AND home.town = 'Oslo'").num_rows == 1
    assert esker.open(table.location).to_arrow(where="`full name` = 'Oslo'").num_rows == 0


def test_a_partition_column_is_renamed_with_its_partitions():
    table = created("id bigint, day date", partition_by=["day"], properties=MAPPED)
    table.append(pa.table({"id": [1, 2], "day": [date(2026, 1, 1), date(2026, 1, 2)]}))
    table.rename_column("day", "on").append(pa.table({"id": [3], "on": [date(2026, 1, 1)]}))
    assert table.describe().partition_columns == ("on",)
    found = esker.open(table.location).to_arrow(where="`on` = '2026-01-01'")
    assert sorted(found.column("id").to_pylist()) == [1, 3]


def test_a_dropped_column_that_is_added_again_is_another_column():
    """ "Assign a globally unique identifier as the physical name for each new column that is added to the schema." """
    table = people().drop_columns("name", "home.zip")
    assert rows(table) == [without(ANNE, "name") | {"home": {"city": "Oslo"}}, without(BEN, "name")]
    table.add_columns("name string").add_columns("zip int", parent="home")
    assert rows(table) == [ANNE | {"name": None, "home": {"city": "Oslo", "zip": None}}, BEN]


@pytest.mark.parametrize(
    "move, order",
    [({"first": True}, "c,id,a,b"), ({"after": "id"}, "id,c,a,b"), ({"after": "b"}, "id,a,b,c"), ({}, "id,a,b,c")],
)
def test_a_moved_column_takes_its_place_and_its_values(move: dict[str, Any], order: str):
    table = created("id bigint, a bigint, b bigint, c bigint", pa.table({n: [i] for i, n in enumerate(("id", "a", "b", "c"))}))
    table.move_column("c", **move)
    assert ",".join(table.schema.names) == order
    assert rows(table) == [{"id": 0, "a": 1, "b": 2, "c": 3}]


@pytest.mark.parametrize(
    "old, new, value, condition",
    [
        ("tinyint", "bigint", 7, "v = 7"), ("smallint", "int", 7, "v > 6"), ("int", "double", 7, "v < 7.5"),
        ("float", "double", 0.5, "v = 0.5"), ("decimal(4,2)", "decimal(8,3)", Decimal("1.25"), "v = 1.25"),
        ("int", "decimal(12,1)", 7, "v = 7"),
    ],
)  # fmt: skip
def test_old_files_are_read_in_the_wider_type(old: str, new: str, value: Any, condition: str):
    table = created(f"id bigint, v {old}", properties=WIDENING)
    table.append(pa.table({"id": pa.array([1], pa.int64()), "v": pa.array([value], to_arrow(parse_type(old)))}))
    table.change_type("v", new)
    fresh = esker.open(table.location)
    assert fresh.to_arrow(where=condition).column("v").to_pylist() == [value]
    assert fresh.schema.at(("v",)).metadata["delta.typeChanges"]
    assert last(fresh)["operation"] == "CHANGE COLUMN"


def test_a_type_within_a_map_is_widened_and_remembered_by_its_path():
    """ "`fieldPath` only for array/map positions"  (Type Widening)"""
    table = people(**{"delta.enableTypeWidening": "true"}).change_type("bags.value", "bigint")
    (change,) = table.schema.at(("bags",)).metadata["delta.typeChanges"]
    assert change == {"fromType": "integer", "toType": "long", "fieldPath": "value"}
    assert rows(table) == [ANNE, BEN]


@pytest.mark.parametrize("change", [lambda t: t.add_columns("at timestamp_ntz"), lambda t: t.change_type("day", "timestamp_ntz")])
def test_a_type_with_a_feature_of_its_own_waits_until_that_is_asked_for(change: Callable[[esker.Table], Any]):
    """The catalogue has timestampNtz for new tables and by name: an old table does not get it by the way."""
    table = created("id bigint, day date", pa.table({"id": [1], "day": [date(2026, 1, 2)]}), properties=WIDENING)
    with pytest.raises(InvalidRequest, match="timestampNtz"):
        change(table)
    assert table.version == 1
    assert table.describe().protocol == "(3, 7, [typeWidening], [appendOnly, invariants, typeWidening])"
    change(table.set_properties({"delta.feature.timestampNtz": "supported"}))
    listed = "[timestampNtz, typeWidening], [appendOnly, invariants, timestampNtz, typeWidening]"
    assert table.describe().protocol == f"(3, 7, {listed})"
    assert esker.open(table.location).to_arrow(where="day = '2026-01-02'").num_rows == 1


def test_comments_come_and_go_and_not_null_goes():
    table = created("id bigint NOT NULL, name string")
    table.set_column_comment("name", "who").drop_not_null("id").set_comment("people")
    assert table.schema.at(("name",)).metadata["comment"] == "who"
    assert table.schema.at(("id",)).nullable
    assert table.describe().comment == "people"
    table.set_column_comment("name", None).set_comment(None)
    assert "comment" not in table.schema.at(("name",)).metadata
    assert table.describe().comment is None


def test_a_default_needs_its_feature_asked_for_and_holds_for_new_rows_only():
    """ "existing [rows] are not changed"; the feature is MANUAL, as the catalogue has it"""
    table = created("id bigint, n bigint", pa.table({"id": [1], "n": [1]}))
    with pytest.raises(InvalidRequest, match="allowColumnDefaults"):
        table.set_default("n", "42")
    table.set_properties({"delta.feature.allowColumnDefaults": "supported"}).set_default("n", "42")
    assert table.schema.at(("n",)).metadata["CURRENT_DEFAULT"] == "42"
    assert rows(table) == [{"id": 1, "n": 1}]
    assert "CURRENT_DEFAULT" not in table.set_default("n", None).schema.at(("n",)).metadata


@pytest.mark.parametrize(
    "change, operation, parameters",
    [
        (lambda t: t.add_columns("x int", after="id"), "ADD COLUMNS",
         {"columns": [{"column": {"name": "x", "type": "integer", "nullable": True, "metadata": {}}, "position": "AFTER id"}]}),
        (lambda t: t.rename_column("home.zip", "code"), "RENAME COLUMN", {"oldColumnPath": "home.zip", "newColumnPath": "home.code"}),
        (lambda t: t.drop_columns("name", "home.zip"), "DROP COLUMNS", {"columns": ["name", "home.zip"]}),
    ],
)  # fmt: skip
def test_the_history_speaks_the_words_of_describe_history(
    change: Callable[[esker.Table], Any], operation: str, parameters: dict[str, Any]
):
    told = last(change(people()))
    assert told["operation"] == operation
    assert {k: json.loads(v) if v[0] in "[{" else v for k, v in told["operationParameters"].items()} == parameters


@pytest.mark.parametrize(
    "change, problem",
    [
        (lambda t: t.add_columns("name int"), "there is a column name"),
        (lambda t: t.add_columns("x int NOT NULL"), "NOT NULL"),
        (lambda t: t.add_columns("x int DEFAULT 3"), "added without a default"),
        (lambda t: t.add_columns("x int GENERATED ALWAYS AS (id + 1)"), "cannot be added"),
        (lambda t: t.add_columns("x int", parent="name"), "no struct"),
        (lambda t: t.add_columns("x int", after="nowhere"), "there is no column nowhere"),
        (lambda t: t.add_columns("x int", first=True, after="id"), "not both"),
        (lambda t: t.rename_column("id", "name"), "there is a column name"),
        (lambda t: t.rename_column("home.city", "home.town"), "last name alone"),
        (lambda t: t.rename_column("nowhere", "x"), "there is no column nowhere"),
        (lambda t: t.drop_columns("tags.element"), "no column of its own"),
        (lambda t: t.drop_columns(), "no change"),
        (lambda t: t.drop_columns("id", "name", "home", "tags", "bags"), "only column"),
        (lambda t: t.change_type("name", "binary"), "no widening"),
        (lambda t: t.change_type("home.zip", "bigint"), "delta.enableTypeWidening is not true"),
        (lambda t: t.set_default("home.zip", "1"), "only columns of the table"),
        (lambda t: t.set_default("name", "1), (2"), "no expression"),
        (lambda t: t.set_default("name", "upper("), "no expression"),
        (lambda t: t.set_default("name", "concat('a',"), "no expression"),
        (lambda t: t.set_default("name", "'a' +"), "no expression"),
        (lambda t: t.set_default("name", "max(1)"), "an aggregate function has no place"),
        (lambda t: t.set_default("name", "(SELECT 1)"), "a subquery has no place"),
        (lambda t: t.move_column("name", after="zip"), "there is no column zip"),
    ],
)
def test_what_the_table_does_not_allow_makes_no_version(change: Callable[[esker.Table], Any], problem: str):
    table = people()
    before = esker.open(table.location).version
    with pytest.raises(InvalidRequest, match=problem):
        change(table)
    assert esker.open(table.location).version == before
    assert rows(table) == [ANNE, BEN]


@pytest.mark.parametrize("change", [lambda t: t.rename_column("id", "x"), lambda t: t.drop_columns("name")])
def test_without_column_mapping_columns_are_neither_renamed_nor_dropped(change: Callable[[esker.Table], Any]):
    with pytest.raises(InvalidRequest, match="needs column mapping"):
        change(created("id bigint, name string"))


def test_columns_that_others_depend_on_stay():
    table = created("id bigint, a int, b int GENERATED ALWAYS AS (a + 1), c int", properties=MAPPED, constraints={"pos": "c > 0"})
    for change in (lambda: table.drop_columns("a"), lambda: table.rename_column("c", "d"), lambda: table.drop_columns("c")):
        with pytest.raises(InvalidRequest, match="uses it"):
            change()
    assert esker.open(table.location).version == 0


def test_a_clustering_column_is_renamed_and_not_dropped():
    table = created("id bigint, name string", cluster_by=["name"], properties=MAPPED)
    with pytest.raises(InvalidRequest, match="clustering column"):
        table.drop_columns("name")
    table.rename_column("name", "who").append(pa.table({"id": [1], "who": ["x"]}))
    assert rows(table) == [{"id": 1, "who": "x"}]


def test_what_changes_nothing_makes_no_version():
    table = created("id bigint, name string COMMENT 'who'")
    table.set_column_comment("name", "who").move_column("id", first=True).drop_not_null("name")
    assert table.version == 0


def test_a_change_follows_rivals_that_only_move_rows():
    table = people()
    handle = with_rival(table, lambda rival: rival.append(_ROWS))
    handle.rename_column("name", "who")
    assert handle.version == 3
    assert [r["who"] for r in rows(handle)] == ["Anne", "Anne", None, None]


@pytest.mark.parametrize(
    "rival",
    [lambda t: t.add_columns("x int"), lambda t: t.set_properties({"mine": "1"}),
     lambda t: t.set_properties({"delta.feature.vacuumProtocolCheck": "supported"})],
)  # fmt: skip
def test_two_changes_of_the_metadata_conflict_whatever_they_change(rival: Callable[[esker.Table], Any]):
    table = people()
    handle = with_rival(table, rival)
    with pytest.raises(Conflict, match="changed the"):
        handle.add_columns("x int")
    assert esker.open(table.location).version == 2


def test_rows_that_were_to_be_appended_conflict_with_a_change_of_the_columns():
    table = people()
    handle = with_rival(table, lambda rival: rival.add_columns("x int"))
    with pytest.raises(Conflict, match="changed the schema"):
        handle.append(_ROWS)
    assert rows(table) == [ANNE | {"x": None}, BEN | {"x": None}]


def test_a_column_that_a_rival_clusters_by_meanwhile_is_not_dropped():
    table = created("id bigint, name string", cluster_by=["id"], properties=MAPPED)
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["%s"]]}', "removed": False}
    stored = table.schema.at(("name",)).metadata["delta.columnMapping.physicalName"]
    domain["configuration"] %= stored
    storage = table._table.snapshot.place.storage
    line = json.dumps({"domainMetadata": domain}).encode() + b"\n"
    handle = with_rival(table, lambda rival: storage.put_if_absent("_delta_log/00000000000000000001.json", line))
    with pytest.raises(InvalidRequest, match="clustering column"):
        handle.drop_columns("name")


def test_a_schema_whose_types_a_user_of_spark_defined_is_not_written_again_without_their_classes():
    """Schema Serialization Format is a "subset of Spark SQL's JSON Schema representation", which goes on beyond it."""
    about = metadata()
    field = {"name": "v", "type": {"type": "udt", "class": "a.B", "sqlType": "binary"}, "nullable": True, "metadata": {}}
    about["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": [field]})
    log = Log()
    log.commit(protocol(), about)
    with pytest.raises(Unsupported, match="types that a user of Spark defined"):
        log.open().add_columns("n bigint")
    log.open().set_properties({"mine": "1"})
    assert log.snapshot().metadata.schema_string == about["metaData"]["schemaString"]
