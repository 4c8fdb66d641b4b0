"""Does each command tell what its table holds?"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import esker
from esker.cli.failures import EXIT_CODES, exit_code
from esker.cli.main import app
from esker.errors import Conflict, EskerError, NotFound
from tests.conftest import ROOT, corpus_cases

RIDES = 71_960  # 18 files of 4,000 rows, 40 of them deleted


def test_inspect_tells_schema_properties_and_partitions(esker_, rides):
    said = esker_("inspect", rides).stdout
    for word in ("delta", "(3, 7,", "decimal(8,2)", "partition column", "delta.columnMapping.mode", "2026-03-02T06:00"):
        assert word in said


def test_inspect_as_json_has_native_types(json_of, rides):
    told = json_of("inspect", rides, "--files", "--verify")
    assert told["version"] == 9
    assert told["partition_columns"] == ["city"]
    assert told["schema"][0] == {"name": "id", "type": "long", "nullable": True}
    assert told["files"]["files"] == 18
    assert told["files"]["rows"] == RIDES
    assert told["files"]["deleted_rows"] == 40
    assert told["checksum_differences"] == []


def test_inspect_shows_nested_types_as_a_tree(esker_, people):
    said = esker_("inspect", people).stdout
    assert "home  struct" in said
    assert "── street  string" in said
    assert "id  long  not null" in said


def test_inspect_tells_where_the_checksum_differs(esker_, json_of, tmp_path, rides):
    copy = _copied(rides, tmp_path)
    (copy / "_delta_log" / f"{9:020}.crc").write_text(json.dumps({"numFiles": 3, "numMetadata": 1, "numProtocol": 1}))
    assert "numFiles is 3, the log gives 18" in esker_("inspect", copy, "--verify").stdout
    assert json_of("inspect", copy, "--verify")["checksum_differences"]


def test_a_table_is_opened_at_a_version_or_a_time(json_of, rides):
    assert json_of("inspect", rides, "--version", "2")["version"] == 2
    assert json_of("inspect", rides, "--timestamp", "2026-03-03T23:00:00Z")["version"] == 2


def test_features_shows_only_what_the_table_has(esker_, json_of, rides):
    found = {f["name"]: f for f in json_of("features", rides)}
    assert found["deletionVectors"]["presence"] == "in use"
    assert found["changeDataFeed"]["presence"] == "active"
    assert found["columnMapping"]["esker"]["read"] is True
    assert found["columnMapping"]["removable"] is True
    assert "rowTracking" not in found
    assert "how to take it out" in esker_("features", rides).stdout


def test_features_shows_all_on_request(json_of, rides):
    assert {f["name"]: f["presence"] for f in json_of("features", rides, "--all")}["rowTracking"] == "absent"


def test_features_of_a_table_without_any_says_so(esker_, tmp_path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    schema = '{\\"type\\":\\"struct\\",\\"fields\\":[]}'
    (log / f"{0:020}.json").write_text(
        '{"protocol":{"minReaderVersion":1,"minWriterVersion":1}}\n'
        '{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"' + schema + '",'
        '"partitionColumns":[],"configuration":{}}}\n'
    )
    assert "requires no feature" in esker_("features", tmp_path).stdout


def test_read_shows_the_first_rows_and_says_that_there_are_more(esker_, rides):
    result = esker_("read", rides)
    assert len(result.stdout.splitlines()) == 22
    assert "--limit" in result.stderr


def test_read_with_a_limit_opens_no_more_files_than_it_needs(json_of, tmp_path, rides):
    copy = _copied(rides, tmp_path)
    needed = json_of("read", copy, "--columns", "_file", "--limit", "5")[0]["_file"].removeprefix("file://")
    for file in copy.glob("part-*.parquet"):
        if str(file) != needed:
            file.unlink()
    assert len(json_of("read", copy, "--limit", "5")) == 5


def test_read_takes_columns_in_their_order_and_a_filter(json_of, rides):
    rows = json_of("read", rides, "--columns", "price, id", "--where", "id IN (3, 5)")
    assert [list(row) for row in rows] == [["price", "id"]] * 2
    assert [row["id"] for row in rows] == [3, 5]
    assert all(isinstance(row["price"], str) for row in rows)


def test_json_values_keep_what_json_has_no_words_for(json_of, people):
    first, second, third = json_of("read", people)
    assert first == {
        "id": 1, "score": "NaN", "data": "AP8=", "tags": ["a", None], "home": {"street": "Elm, 1"}, "counts": {"x": 1},
        "born": "1970-01-01",
    }  # fmt: skip
    assert [v for k, v in second.items() if k not in ("id", "score")] == [None] * 5
    assert (third["score"], third["data"], third["tags"], third["counts"]) == ("-Infinity", "", [], {})


def test_no_rows_are_an_empty_document(json_of, esker_, people):
    assert json_of("read", people, "--where", "id > 100") == []
    assert json_of("read", people, "--limit", "0") == []
    assert "born" in esker_("read", people, "--where", "id > 100").stdout


@pytest.mark.spark
def test_read_by_spark_gives_the_same_rows(json_of, rides, spark):
    words = ("read", rides, "--where", "id IN (3, 60000, 60001)", "--columns", "id,city,duration")
    by_arrow, by_spark = json_of(*words), json_of(*words, "--engine", "spark")
    assert sorted(by_arrow, key=lambda row: row["id"]) == sorted(by_spark, key=lambda row: row["id"])


@pytest.mark.spark
@pytest.mark.parametrize("where, code", [("nofunction(id) = 1", 2), ("raise_error('too bad') = 1", 1)])
def test_what_spark_cannot_evaluate_is_told_without_a_traceback(esker_, rides, spark, where, code):
    told = esker_("read", rides, "--engine", "spark", "--where", where, code=code).stderr
    assert told.startswith("Error: ")
    assert len(told.splitlines()) < 5


def test_history_is_newest_first(json_of, esker_, rides):
    told = json_of("history", rides)
    assert [row["version"] for row in told] == list(range(9, -1, -1))
    assert told[0]["operation"] == "UPDATE"
    assert told[0]["timestamp"] == "2026-03-08T08:00:00.000Z"
    assert len(json_of("history", rides, "--limit", "2")) == 2
    assert "RENAME COLUMN" in esker_("history", rides).stdout


def test_files_has_sizes_partitions_and_statistics(json_of, esker_, rides):
    told = json_of("files", rides)
    assert len(told) == 18
    assert {f["partition"]["city"] for f in told} == {"Bergen", "Oslo", "Trondheim"}
    assert sum(f["records"] - f["deleted"] for f in told) == RIDES
    assert all(f["min"]["id"] % 4000 == 0 for f in told)
    said = esker_("files", rides, "--limit", "2").stdout
    assert "KiB" in said
    assert "18 files" in said
    assert said.count(".parquet") == 2


def test_changes_tells_updates_and_deletes(json_of, esker_, rides):
    told = json_of("changes", rides, "--from-version", "8")
    kinds = [row["_change_type"] for row in told]
    assert kinds.count("delete") == 40
    assert kinds.count("update_preimage") == kinds.count("update_postimage") > 0
    assert json_of("changes", rides, "--from-version", "8", "--to-version", "8", "--limit", "3", "--columns", "id") == [
        {"id": 60000}, {"id": 60100}, {"id": 60200},
    ]  # fmt: skip
    assert "delete" in esker_("changes", rides, "--from-timestamp", "2026-03-08T07:00:00Z", "--limit", "500").stdout


def test_changes_can_be_filtered_by_their_kind(json_of, rides):
    told = json_of("changes", rides, "--from-version", "8", "--where", "_change_type = 'delete'", "--columns", "ID")
    assert [list(row) for row in told] == [["id"]] * 40


@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "jsonl"])
def test_rows_written_to_a_file_are_the_rows_of_the_table(esker_, tmp_path, rides, ending):
    file = tmp_path / f"rides.{ending}"
    esker_("read", rides, "--output", file)
    ids = _ids(file)
    assert len(ids) == RIDES
    assert set(ids) == set(esker.open(rides).to_arrow(["id"])["id"].to_pylist())
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("command", ["read", "files", "history"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "jsonl"])
def test_nested_and_odd_values_can_be_written_in_every_format(esker_, tmp_path, people, command, ending):
    file = tmp_path / f"out.{ending}"
    esker_(command, people, "--output", file)
    assert file.stat().st_size > 0


def test_parquet_output_keeps_every_type(esker_, tmp_path, people):
    esker_("read", people, "--output", tmp_path / "p.parquet")
    assert pq.read_table(tmp_path / "p.parquet").schema.types == esker.open(people).to_arrow().schema.types


def test_csv_output_says_in_json_what_csv_cannot(esker_, tmp_path, people):
    esker_("read", people, "--output", tmp_path / "p.csv", "--where", "id = 1")
    (row,) = csv.read_csv(tmp_path / "p.csv").to_pylist()
    assert (row["data"], row["tags"], row["home"]) == ("AP8=", '["a",null]', '{"street":"Elm, 1"}')


def test_a_limit_and_a_filter_hold_for_files_too(esker_, tmp_path, rides):
    said = esker_("read", rides, "--output", tmp_path / "some.parquet", "--limit", "7", "--where", "city = 'Oslo'")
    assert pq.read_table(tmp_path / "some.parquet")["city"].to_pylist() == ["Oslo"] * 7
    assert "7 rows" in said.stdout


def test_a_run_that_fails_leaves_the_older_file(esker_, tmp_path, rides):
    copy = _copied(rides, tmp_path)
    for part in copy.glob("part-*.parquet"):
        part.unlink()
    file = tmp_path / "rows.csv"
    file.write_text("older")
    esker_("read", copy, "--output", file, code=3)
    assert file.read_text() == "older"


def test_relocated_files_are_found(json_of, esker_, tmp_path, people):
    copy = _copied(people.removeprefix("file://"), tmp_path)
    for commit in sorted((copy / "_delta_log").glob("*.json"))[1:]:
        commit.write_text(commit.read_text().replace('"path":"', '"path":"file:///gone/'))
    esker_("read", copy, "--json", code=3)
    assert len(json_of("read", copy, "--relocate", f"file:///gone={copy.as_uri()}")) == 3


BAD = [
    (["read", "TABLE", "--where", "id <"], 2),
    (["read", "TABLE", "--where", "nobody = 1"], 2),
    (["read", "TABLE", "--columns", "nobody"], 2),
    (["read", "TABLE", "--columns", " , "], 2),
    (["read", "TABLE", "--version", "77"], 2),
    (["read", "TABLE", "--version", "1", "--timestamp", "2026-03-03"], 2),
    (["read", "TABLE", "--timestamp", "yesterday"], 2),
    (["read", "TABLE", "--limit", "-1"], 2),
    (["read", "TABLE", "--limit", "many"], 2),
    (["read", "TABLE", "--output", "rows.xlsx"], 2),
    (["read", "TABLE", "--output", "no/such/folder/rows.csv"], 2),
    (["read", "TABLE", "--relocate", "nothing"], 2),
    (["read", "TABLE", "--storage-option", "=x"], 2),
    (["read", "TABLE", "--engine", "abacus"], 2),
    (["read", "TABLE", "--such", "option"], 2),
    (["read", "no/such/table"], 2),
    (["read"], 2),
    (["dance", "TABLE"], 2),
    (["changes", "TABLE"], 2),
    (["changes", "TABLE", "--from-version", "5", "--from-timestamp", "2026-03-03"], 2),
    (["changes", "TABLE", "--from-version", "8", "--where", "id > 1", "--columns", "nobody"], 2),
    (["changes", "TABLE", "--from-version", "0"], 2),
    (["read", "nowhere://bucket/table"], 4),
]


@pytest.mark.parametrize("words, code", BAD, ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else None)
def test_what_cannot_be_asked_is_told_on_standard_error(esker_, rides, words, code):
    result = esker_(*(rides if word == "TABLE" else word for word in words), code=code)
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr


PLACES = [
    ("elsewhere", 2, "there is nothing here\n  No file lies below"),
    ("place", 2, "this is a file, not a table\n  Name the folder"),
    ("place/part-0.parquet", 2, "there is no table here\n  A Delta table has a folder _delta_log"),
    ("place/_delta_log/00000000000000000000.json", 3, "the commit is malformed after 0 actions"),
]


@pytest.mark.parametrize(("name", "code", "told"), PLACES)
def test_what_is_no_table_is_told_for_what_it_is(esker_, tmp_path, name, code, told):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{")
    assert told in esker_("inspect", tmp_path / "place", code=code).stderr


def test_a_broken_table_has_its_own_exit_code(esker_, tmp_path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("{ this is not JSON")
    assert str(tmp_path) in esker_("inspect", tmp_path, code=3).stderr


def test_a_table_with_an_unknown_reader_feature_is_described_but_not_read(esker_, json_of, tmp_path, people):
    copy = _copied(people.removeprefix("file://"), tmp_path)
    with (copy / "_delta_log" / f"{3:020}.json").open("w") as log:
        log.write('{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["x"],"writerFeatures":["x"]}}\n')
    assert json_of("inspect", copy)["version"] == 3
    assert json_of("features", copy)[-1]["esker"]["read"] is False
    assert "refuses" in esker_("features", copy).stdout
    assert "x: unknown" in esker_("read", copy, code=4).stderr


def test_every_kind_of_error_has_an_exit_code():
    assert EXIT_CODES[Conflict] == 5
    assert exit_code(NotFound("nothing")) == 2
    assert exit_code(EskerError("anything")) == 1
    assert 0 not in EXIT_CODES.values()


def test_the_version_is_told(esker_):
    assert esker_("--version").stdout == f"esker {esker.__version__}\n"


def test_help_loads_no_spark():
    code = "import sys; from esker.cli.main import app; app(['--help'], standalone_mode=False); print('pyspark' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "False"


def test_output_for_programs_has_no_colours_and_is_not_cut(esker_, rides):
    said = esker_("files", rides).stdout
    assert "\x1b" not in said
    assert "…" not in said
    assert all(line == line.rstrip() for line in said.splitlines())


def test_a_reader_that_goes_away_is_no_failure(rides):
    command = [sys.executable, "-m", "esker.cli.main", "read", rides, "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"[\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_narrow_screen_shows_the_columns_that_fit_and_names_the_rest(esker_, rides, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    said = esker_("read", rides, "--limit", "2").stdout
    assert "not shown, for lack of room: " in said
    assert all(len(line) <= 40 for line in said.splitlines())


@pytest.mark.corpus
@pytest.mark.parametrize("entry", corpus_cases("delta")[::12])
@pytest.mark.parametrize(
    "command", [["inspect"], ["features"], ["read", "--limit", "3"], ["history", "--limit", "3"], ["files", "--limit", "3"]],
    ids=lambda command: command[0],
)  # fmt: skip
def test_every_command_ends_in_order_on_tables_of_others(corpus, entry, command):
    for form in ([], ["--json"]):
        result = CliRunner().invoke(app, [*command, str(corpus / entry["table"]), *form])
        assert result.exit_code in (0, 2, 3, 4), result.output + repr(result.exception)
        if result.exit_code == 0 and form:
            json.loads(result.stdout)


def _copied(folder: str, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "copy"))


def _ids(file: Path) -> list[int]:
    match file.suffix:
        case ".parquet":
            return pq.read_table(file)["id"].to_pylist()
        case ".csv":
            return csv.read_csv(file)["id"].to_pylist()
        case ".json":
            return [row["id"] for row in json.loads(file.read_text())]
    return [json.loads(line)["id"] for line in file.read_text().splitlines()]


def test_names_and_values_are_neither_markup_nor_orders_to_the_terminal(esker_, tmp_path):
    esker.create(tmp_path / "t", "`[/x]` string", comment="[/i] :smile: \x1b[31mred", properties={"[/q]": "[bold]"})
    said = esker_("inspect", tmp_path / "t").stdout
    for word in ("[/x]", "[/i] :smile: ␛[31mred", "[/q]", "[bold]"):
        assert word in said
    assert "[/x]" in esker_("read", tmp_path / "t").stdout
    assert "no\x1b[1mne" not in esker_("read", tmp_path / "no\x1b[1mne", code=2).stderr
