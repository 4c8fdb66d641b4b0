"""Enabling, upgrading and dropping from the command line: looked at first, asked for, then done."""

from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import esker
from esker.cli.main import app


@pytest.fixture
def users(tmp_path: Path) -> Path:
    table = esker.create(tmp_path / "users", "id bigint", properties={"delta.enableInCommitTimestamps": "true"})
    table.append(pa.table({"id": [1, 2]}))
    return tmp_path / "users"


@pytest.mark.parametrize("command", [
    ("enable", "deletionVectors"), ("upgrade", "--writer", "4"), ("drop-feature", "inCommitTimestamp"),
])  # fmt: skip
def test_a_dry_run_tells_and_changes_nothing(json_of, esker_, users, command):
    name, *arguments = command
    told = json_of(name, users, *arguments, "--dry-run")
    assert told["dry_run"] is True
    assert told["protocol"]["before"] != told["protocol"]["after"]
    assert {"gained", "lost"} == told["clients"].keys()
    assert "protocol" in esker_(name, users, *arguments, "--dry-run").stdout
    assert esker.open(users).version == 1


@pytest.mark.parametrize("command", [
    ("enable", "deletionVectors"), ("upgrade", "--writer", "4"), ("drop-feature", "inCommitTimestamp"),
])  # fmt: skip
def test_without_a_terminal_a_change_needs_a_yes(json_of, esker_, users, command):
    name, *arguments = command
    assert "no terminal to ask on" in esker_(name, users, *arguments, code=2).stderr
    assert esker.open(users).version == 1
    wanted = json_of(name, users, *arguments, "--dry-run")["protocol"]["after"]
    json_of(name, users, *arguments, "--yes")
    assert esker.open(users).describe().protocol == wanted


@pytest.mark.parametrize("answer, version", [("y\n", 2), ("n\n", 1)])
def test_on_a_terminal_the_change_is_shown_and_asked_for(monkeypatch, users, answer, version):
    monkeypatch.setattr("esker.cli.consent._has_terminal", lambda: True)
    result = CliRunner().invoke(app, ["enable", str(users), "deletionVectors"], input=answer)
    assert result.exit_code == 0
    assert "Make this change?" in result.output
    assert esker.open(users).version == version


def test_what_has_to_wait_is_told_with_the_moment_to_come_back(json_of, esker_, users):
    esker.open(users).enable("deletionVectors").set_properties({"delta.enableDeletionVectors": "false"})
    told = json_of("drop-feature", users, "deletionVectors", "--truncate-history", "--yes")
    assert (told["done"], told["remaining"], told["dropped"]) == (False, ["deletionVectors"], [])
    assert told["come_back"].startswith("20")
    said = esker_("drop-feature", users, "deletionVectors", "--truncate-history", "--yes").stdout
    assert "Run the same command again after" in said


def test_a_feature_that_stays_is_refused_with_what_can_be_done(esker_, users):
    said = esker_("drop-feature", users, "appendOnly", "--yes", code=2).stderr
    assert "appendOnly stays" in said
    assert "delta.appendOnly=false" in said


def test_the_history_of_features_is_told_when_it_is_asked_for(json_of, esker_, users):
    assert all(feature["in_history"] is None for feature in json_of("features", users))
    found = {feature["name"]: feature["in_history"] for feature in json_of("features", users, "--history")}
    assert found["inCommitTimestamp"] is True
    assert found["appendOnly"] is False
    assert "in history" in esker_("features", users, "--history").stdout


def test_an_iceberg_table_is_upgraded_by_its_one_version(json_of, esker_, tmp_path):
    esker.create(tmp_path / "t", "id bigint", format="iceberg")
    told = json_of("upgrade", tmp_path / "t", "--reader", "3", "--dry-run")
    assert told["protocol"] == {"before": "format version 2", "after": "format version 3"}
    assert "lost" in esker_("compat", tmp_path / "t", "--after", "upgrade=3").stdout
    json_of("upgrade", tmp_path / "t", "--reader", "3", "--yes")
    assert esker.open(tmp_path / "t").describe().protocol == "format version 3"
