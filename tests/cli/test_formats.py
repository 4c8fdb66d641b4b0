"""Do the commands treat the tables of all formats alike?"""

import json

import pytest

import esker
from esker.core.table import FILE_COLUMNS, HISTORY_COLUMNS

pytest.importorskip("lance")
FORMATS = ("delta", "iceberg", "lance")


@pytest.fixture(params=FORMATS)
def table(request, esker_, tmp_path):
    """A table of two rows in one file, made and filled by commands."""
    (tmp_path / "rows.csv").write_text("id,name\n1,a\n2,b\n")
    esker_("create", tmp_path / "t", "--format", request.param, "--schema", "id bigint, name string")
    esker_("append", tmp_path / "t", tmp_path / "rows.csv")
    assert esker.open(tmp_path / "t").format == request.param
    return tmp_path / "t"


def test_every_format_tells_of_its_files_and_versions_what_all_tell(table):
    found = esker.open(table)
    assert {*FILE_COLUMNS} <= {*found.files().column_names}
    assert {*HISTORY_COLUMNS} <= {*found.history().column_names}
    assert found.files().select(["records", "deleted"]).to_pylist() == [{"records": 2, "deleted": 0}]


def test_a_change_is_told_and_what_changes_nothing_is_not(table, json_of, esker_):
    done = json_of("set", table, "owner=me")
    assert done["changed"] is True
    assert "nothing to do" not in esker_("set", table, "owner=you").stdout
    found = json_of("inspect", table, "--files")
    assert found["properties"]["owner"] == "you"
    assert found["files"] == {**found["files"], "files": 1, "rows": 2, "deleted_rows": 0, "files_with_deletes": 0}


@pytest.mark.parametrize("command", ["inspect", "features", "read", "history", "files", "check", "compat"])
def test_every_command_that_looks_has_words_and_a_document(table, esker_, command):
    assert esker_(command, table).stdout
    json.loads(esker_(command, table, "--json").stdout)
