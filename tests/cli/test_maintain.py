"""Do the commands that keep a table in shape do what they say, and ask before they delete?"""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import esker
from esker.cli.main import app

UNSAFE = ("--retention", "0", "--allow-unsafe")


@pytest.fixture
def users(tmp_path):
    """Three versions, the files of the second no longer in the table."""
    table = esker.create(tmp_path / "users", "id bigint")
    table.append(pa.table({"id": [1, 2]})).overwrite(pa.table({"id": [3]}))
    return tmp_path / "users"


@pytest.fixture
def terminal(monkeypatch):
    """As if there were somebody to ask."""
    monkeypatch.setattr("esker.cli.consent._has_terminal", lambda: True)


def files(folder):
    return {path for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts}


def test_a_dry_run_of_vacuum_tells_the_files_and_leaves_them(json_of, esker_, users):
    before = files(users)
    told = json_of("vacuum", users, *UNSAFE, "--dry-run")
    assert told["dry_run"] is True
    assert len(told["files"]) == 1
    assert told["bytes"] == (users / told["files"][0]).stat().st_size
    assert "1 files, " in esker_("vacuum", users, *UNSAFE, "--dry-run").stdout
    assert files(users) == before
    assert esker.open(users).version == 2


def test_vacuum_deletes_what_the_dry_run_told(json_of, users):
    (told,) = json_of("vacuum", users, *UNSAFE, "--dry-run")["files"]
    done = json_of("vacuum", users, *UNSAFE, "--yes")
    assert done["files"] == [told]
    assert done["version"] == 4
    assert not (users / told).exists()
    assert [row["id"] for row in json_of("read", users)] == [3]


def test_without_a_terminal_vacuum_needs_a_yes(esker_, users):
    said = esker_("vacuum", users, *UNSAFE, code=2)
    assert "--yes" in said.stderr
    assert len(files(users)) == 2


@pytest.mark.parametrize("answer, left", [("y\n", 1), ("n\n", 2), ("\n", 2)])
def test_on_a_terminal_vacuum_shows_the_files_and_asks(terminal, users, answer, left):
    result = CliRunner().invoke(app, ["vacuum", str(users), *UNSAFE], input=answer)
    assert result.exit_code == 0
    assert "would be deleted" in result.stdout
    assert "Delete these 1 files" in result.stderr
    assert ("Nothing was deleted" in result.stderr) == (left == 2)
    assert len(files(users)) == left


def test_where_nothing_can_go_nobody_is_asked(terminal, esker_, users):
    assert "no file can go" in esker_("vacuum", users).stdout
    assert esker.open(users).version == 2


@pytest.mark.parametrize("retention", ["200", "200.5", "8 days", "interval 2 weeks"])
def test_a_retention_is_hours_or_an_interval(json_of, users, retention):
    assert json_of("vacuum", users, "--retention", retention, "--dry-run")["files"] == []


@pytest.mark.parametrize("retention", ["1", "soon", "-3", "nan", "3 months"])
def test_a_retention_that_is_too_short_or_none_is_refused(esker_, users, retention):
    esker_("vacuum", users, "--retention", retention, "--dry-run", code=2)


def test_a_lite_vacuum_goes_by_the_log(json_of, users):
    (users / "stray.parquet").write_bytes(b"")
    assert not any("stray" in path for path in json_of("vacuum", users, *UNSAFE, "--lite", "--dry-run")["files"])


@pytest.mark.spark
def test_optimize_joins_small_files_and_purge_clears_deleted_rows(json_of, esker_, tmp_path, spark):
    table = esker.create(tmp_path / "t", "id bigint", properties={"delta.enableDeletionVectors": "true"})
    for number in range(3):
        table.append(pa.table({"id": [number, number + 10]}))
    planned = json_of("optimize", tmp_path / "t", "--dry-run")
    assert (planned["dry_run"], len(planned["files"]), planned["new_files"]) == (True, 3, 1)
    assert "3 files, " in esker_("optimize", tmp_path / "t", "--dry-run").stdout
    done = json_of("optimize", tmp_path / "t", "--z-order-by", "id")
    assert (done["operation"], done["metrics"]["numRemovedFiles"]) == ("OPTIMIZE", 3)
    assert json_of("optimize", tmp_path / "t")["changed"] is False
    json_of("delete", tmp_path / "t", "--where", "id = 1")
    assert json_of("purge", tmp_path / "t")["changed"] is True
    assert sorted(row["id"] for row in json_of("read", tmp_path / "t")) == [0, 2, 10, 11, 12]


def test_clustering_columns_are_set_and_taken_away(json_of, users):
    assert json_of("cluster-by", users, "id")["operation"] == "CLUSTER BY"
    assert json_of("cluster-by", users)["changed"] is True


def test_a_checkpoint_is_written_of_any_version(json_of, esker_, users):
    assert json_of("checkpoint", users, "--version", "1")["checkpoint"] == 1
    assert "version 2" in esker_("checkpoint", users).stdout
    assert len(list((users / "_delta_log").glob("*.checkpoint.parquet"))) == 2


@pytest.mark.parametrize("words, answer, left", [(["--yes"], "", [2]), ([], "y\n", [2]), ([], "n\n", [0, 1, 2])])
def test_the_log_is_cleaned_after_a_yes(terminal, users, words, answer, left):
    log = users / "_delta_log"
    esker.open(users).checkpoint()
    for file in log.iterdir():
        long_ago = file.stat().st_mtime - 40 * 86_400
        os.utime(file, (long_ago, long_ago))
    result = CliRunner().invoke(app, ["clean-log", str(users), *words], input=answer)
    assert result.exit_code == 0
    assert ("30 days" in result.stderr) == (words == [])
    assert [int(file.stem) for file in sorted(log.glob("*.json"))] == left
    assert esker.open(users).to_arrow()["id"].to_pylist() == [3]


def test_without_a_terminal_cleaning_the_log_needs_a_yes(esker_, users):
    assert "--yes" in esker_("clean-log", users, code=2).stderr


def test_restore_brings_the_rows_back(json_of, esker_, users):
    done = json_of("restore", users, "--version", "1")
    assert (done["version"], done["operation"]) == (3, "RESTORE")
    assert sorted(row["id"] for row in json_of("read", users)) == [1, 2]
    esker_("restore", users, code=2)
    esker_("restore", users, "--version", "9", code=2)


def test_a_clone_is_a_table_of_its_own(json_of, tmp_path, users):
    assert json_of("clone", users, tmp_path / "copy", "--version", "1")["operation"] == "CLONE"
    assert sorted(row["id"] for row in json_of("read", tmp_path / "copy")) == [1, 2]
    assert len(files(tmp_path / "copy")) == 0


def test_a_folder_of_parquet_becomes_a_table(json_of, tmp_path):
    for day in ("2026-01-01", "2026-01-02"):
        (tmp_path / "events" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), tmp_path / "events" / f"day={day}" / "part.parquet")
    done = json_of("convert", tmp_path / "events", "--partition-by", "day date")
    assert done["metrics"]["numConvertedFiles"] == 2
    assert sorted(row["day"] for row in json_of("read", tmp_path / "events")) == ["2026-01-01", "2026-01-02"]
