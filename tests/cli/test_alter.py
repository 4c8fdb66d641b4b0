"""Do the commands that change what a table says of itself do so?"""

import pytest

import esker


@pytest.fixture
def users(tmp_path):
    """A table whose columns can be renamed, dropped and widened."""
    properties = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    schema = "id int NOT NULL, name string, home struct<street: string, city: string>"
    esker.create(tmp_path / "users", schema, properties=properties)
    return tmp_path / "users"


def test_properties_are_set_and_unset(json_of, users):
    done = json_of("set", users, "delta.appendOnly=true", "owner=the harbour = north")
    assert (done["version"], done["operation"]) == (1, "SET TBLPROPERTIES")
    assert json_of("inspect", users)["properties"]["owner"] == "the harbour = north"
    assert json_of("unset", users, "owner", "delta.appendOnly")["operation"] == "UNSET TBLPROPERTIES"
    assert not {"owner", "delta.appendOnly"} & set(json_of("inspect", users)["properties"])


CHANGES = {
    "add": (["add-column", "note string COMMENT 'free', seen date"], ["id", "name", "home", "note", "seen"]),
    "add first": (["add-column", "note string", "--first"], ["note", "id", "name", "home"]),
    "add after": (["add-column", "note string", "--after", "id"], ["id", "note", "name", "home"]),
    "rename": (["rename-column", "name", "full_name"], ["id", "full_name", "home"]),
    "drop": (["drop-column", "name", "home"], ["id"]),
    "move first": (["move-column", "home", "--first"], ["home", "id", "name"]),
    "move after": (["move-column", "id", "--after", "name"], ["name", "id", "home"]),
}


@pytest.mark.parametrize("words, columns", CHANGES.values(), ids=CHANGES)
def test_columns_are_added_renamed_dropped_and_moved(json_of, users, words, columns):
    assert json_of(words[0], users, *words[1:])["version"] == 1
    assert [column["name"] for column in json_of("inspect", users)["schema"]] == columns


def test_members_of_structs_are_columns_too(json_of, users):
    json_of("add-column", users, "zip string", "--to", "home")
    json_of("rename-column", users, "home.street", "road")
    assert list(esker.open(users).schema.find("home").type.names) == ["road", "city", "zip"]


def test_a_type_grows(json_of, users):
    json_of("change-type", users, "id", "bigint")
    assert json_of("inspect", users)["schema"][0]["type"] == "long"


@pytest.mark.spark
def test_a_constraint_comes_and_goes(json_of, esker_, tmp_path, users, spark):
    json_of("add-constraint", users, "positive", "id > 0")
    (tmp_path / "row.json").write_text('{"id": -1}')
    assert "positive" in esker_("append", users, tmp_path / "row.json", code=2).stderr
    json_of("drop-constraint", users, "positive")
    assert json_of("append", users, tmp_path / "row.json")["changed"]


BAD = {
    "unknown property": ["set", "delta.enableWonders=true"],
    "property without value": ["set", "owner"],
    "managed property": ["set", "delta.columnMapping.maxColumnId=9"],
    "no such column": ["rename-column", "nobody", "somebody"],
    "name that is taken": ["rename-column", "id", "name"],
    "column twice": ["add-column", "NAME string"],
    "two places": ["move-column", "id", "--first", "--after", "name"],
    "narrower type": ["change-type", "id", "smallint"],
    "no such constraint": ["drop-constraint", "nobody"],
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD)
def test_a_change_that_makes_no_sense_makes_no_version(esker_, users, words):
    result = esker_(words[0], users, *words[1:], code=2)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert esker.open(users).version == 0
