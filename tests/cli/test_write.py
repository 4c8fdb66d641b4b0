"""Do the commands that write do to the table what they say?"""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import esker

SCHEMA = "id bigint NOT NULL, name string, price decimal(8,2), seen timestamp, tags array<string>"
ROWS = """\
id,name,price,seen,tags
1,Ada,12.50,2026-01-02T03:04:05Z,"[""a"",null]"
2,"Bo, jr",,2026-01-02 03:04:05,
"""


@pytest.fixture
def users(esker_, tmp_path):
    """A table without rows."""
    esker_("create", tmp_path / "users", "--schema", SCHEMA, "--constraint", "positive=id > 0")
    return tmp_path / "users"


@pytest.fixture
def rows(tmp_path):
    """A file of two rows for it."""
    file = tmp_path / "rows.csv"
    file.write_text(ROWS)
    return file


def test_create_takes_columns_layout_properties_features_and_constraints(json_of, tmp_path):
    made = json_of(
        "create", tmp_path / "t", "--schema", "id bigint, country string, day date", "--partition-by", "country, day",
        "--property", "delta.enableChangeDataFeed=true", "--feature", "deletionVectors", "--constraint", "known=id > 0",
        "--name", "people", "--comment", "who they are",
    )  # fmt: skip
    assert (made["version"], made["changed"], made["operation"]) == (0, True, "CREATE TABLE")
    about = json_of("inspect", tmp_path / "t")
    assert (about["name"], about["comment"]) == ("people", "who they are")
    assert about["partition_columns"] == ["country", "day"]
    assert about["properties"]["delta.constraints.known"] == "id > 0"
    assert {f["name"] for f in json_of("features", tmp_path / "t")} >= {"changeDataFeed", "deletionVectors"}


def test_create_can_cluster_and_leaves_a_table_that_is_there(json_of, esker_, tmp_path):
    words = ("create", tmp_path / "t", "--schema", "id bigint", "--cluster-by", "id")
    json_of(*words)
    assert "clustering" in {f["name"] for f in json_of("features", tmp_path / "t")}
    assert "there is a table here" in esker_(*words, code=2).stderr
    assert json_of(*words, "--if-exists", "ignore")["version"] == 0
    assert json_of(*words, "--if-exists", "replace")["operation"] == "REPLACE TABLE"


def test_create_from_files_takes_their_columns_and_rows(json_of, tmp_path, rows):
    assert json_of("create", tmp_path / "t", "--from", rows)["operation"] == "CREATE TABLE AS SELECT"
    assert [row["name"] for row in json_of("read", tmp_path / "t")] == ["Ada", "Bo, jr"]


def test_append_reads_values_in_the_types_of_the_table(json_of, users, rows):
    done = json_of("append", users, rows)
    assert done["metrics"]["numOutputRows"] == 2
    assert json_of("read", users) == [
        {"id": 1, "name": "Ada", "price": "12.50", "seen": "2026-01-02T03:04:05.000000Z", "tags": ["a", None]},
        {"id": 2, "name": "Bo, jr", "price": None, "seen": "2026-01-02T03:04:05.000000Z", "tags": None},
    ]  # fmt: skip


def test_append_tells_people_how_much_it_wrote(esker_, users, rows):
    said = esker_("append", users, rows).stdout
    assert said.splitlines()[0] == "version 1  WRITE"
    assert "numOutputRows   2" in said


@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "jsonl"])
def test_what_read_wrote_to_a_file_is_appended_as_it_was(esker_, tmp_path, people, ending):
    esker_("read", people, "--output", tmp_path / f"rows.{ending}")
    schema = (
        "id bigint NOT NULL, score double, data binary, tags array<string>, home struct<street: string>, "
        "counts map<string, bigint>, born date"
    )
    esker_("create", tmp_path / "copy", "--schema", schema)
    esker_("append", tmp_path / "copy", tmp_path / f"rows.{ending}")
    copy, original = (esker.open(place).to_arrow().sort_by("id") for place in (tmp_path / "copy", people))
    assert str(copy.to_pylist()) == str(original.to_pylist())  # as text, because NaN is not equal to itself


def test_several_files_make_one_version(json_of, tmp_path, users, rows):
    (tmp_path / "more.jsonl").write_text('{"id": 3}\n{"id": 4, "price": 1.5}\n')
    assert json_of("append", users, rows, tmp_path / "more.jsonl")["version"] == 1
    assert {row["id"]: row["price"] for row in json_of("read", users)} == {1: "12.50", 2: None, 3: None, 4: "1.50"}


def test_columns_that_the_table_lacks_are_added_on_request(json_of, esker_, tmp_path, users):
    (tmp_path / "new.json").write_text(json.dumps([{"id": 1, "height": 1.8, "where": {"city": "Oslo"}}]))
    assert "height" in esker_("append", users, tmp_path / "new.json", code=2).stderr
    json_of("append", users, tmp_path / "new.json", "--merge-schema")
    (row,) = json_of("read", users, "--columns", "height,where")
    assert row == {"height": 1.8, "where": {"city": "Oslo"}}


def test_a_transaction_is_written_once(json_of, users, rows):
    first, second = (json_of("append", users, rows, "--transaction", "loader=7") for _ in range(2))
    assert (first["changed"], second["changed"], second["version"]) == (True, False, 1)


def test_nothing_to_do_is_told_to_people(esker_, users, rows):
    esker_("append", users, rows, "--transaction", "loader=7")
    assert "stays at version 1" in esker_("append", users, rows, "--transaction", "loader=7").stdout


def test_overwrite_puts_rows_in_the_place_of_all(json_of, tmp_path, users, rows):
    json_of("append", users, rows)
    (tmp_path / "one.json").write_text('{"id": 9}')
    json_of("overwrite", users, tmp_path / "one.json", "--user-metadata", "start anew")
    assert [row["id"] for row in json_of("read", users)] == [9]
    assert json_of("history", users, "--limit", "1")[0]["userMetadata"] == "start anew"


def test_overwrite_can_keep_to_the_partitions_of_the_new_rows(json_of, tmp_path):
    json_of("create", tmp_path / "t", "--schema", "id bigint, day string", "--partition-by", "day")
    for name, text in {"a": '[{"id":1,"day":"mon"},{"id":2,"day":"tue"}]', "b": '[{"id":3,"day":"tue"}]'}.items():
        (tmp_path / f"{name}.json").write_text(text)
    json_of("append", tmp_path / "t", tmp_path / "a.json")
    json_of("overwrite", tmp_path / "t", tmp_path / "b.json", "--dynamic")
    assert sorted(row["id"] for row in json_of("read", tmp_path / "t")) == [1, 3]


def test_overwrite_can_bring_other_columns(json_of, esker_, tmp_path, users, rows):
    json_of("append", users, rows)
    (tmp_path / "other.json").write_text('{"id": "seven", "day": "mon"}')
    esker_("overwrite", users, tmp_path / "other.json", code=2)
    json_of("drop-constraint", users, "positive")
    json_of("overwrite", users, tmp_path / "other.json", "--overwrite-schema", "--partition-by", "day")
    assert json_of("read", users) == [{"id": "seven", "day": "mon"}]
    assert json_of("inspect", users)["partition_columns"] == ["day"]


@pytest.mark.spark
def test_rows_are_deleted_updated_and_merged_on_spark(json_of, tmp_path, users, rows, spark):
    json_of("append", users, rows)
    assert json_of("delete", users, "--where", "id = 2")["metrics"]["numDeletedRows"] == 1
    assert json_of("delete", users, "--where", "id = 2")["changed"] is False
    assert json_of("update", users, "--set", "name=upper(name)", "--where", "id = 1")["metrics"]["numUpdatedRows"] == 1
    (tmp_path / "source.json").write_text('[{"id": 1, "name": "gone"}, {"id": 3, "name": "Cy"}]')
    done = json_of(
        "merge", users, tmp_path / "source.json", "--on", "target.id = source.id", "--delete-when", "source.name = 'gone'",
        "--insert-all", "--merge-schema",
    )  # fmt: skip
    assert done["operation"] == "MERGE"
    assert [(row["id"], row["name"]) for row in json_of("read", users)] == [(3, "Cy")]
    (tmp_path / "last.json").write_text(
        '[{"id": 4, "name": "Di", "price": 1, "seen": "2026-05-01", "tags": []}]'
    )
    json_of("merge", users, tmp_path / "last.json", "--on", "target.id = source.id", "--update-all", "--insert-all", "--delete-missing")  # fmt: skip
    assert [row["id"] for row in json_of("read", users)] == [4]
    assert json_of("delete", users, "--all")["metrics"]["numRemovedFiles"] == 1


@pytest.mark.spark
def test_a_column_that_only_spark_computes_is_written_by_spark(json_of, esker_, tmp_path, spark):
    json_of("create", tmp_path / "t", "--schema", "at timestamp_ntz, day date GENERATED ALWAYS AS (cast(at AS date))")
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("us"))}), tmp_path / "rows.parquet")
    esker_("append", tmp_path / "t", tmp_path / "rows.parquet", "--engine", "spark")
    assert json_of("read", tmp_path / "t") == [{"at": "1970-01-01T00:00:00.000001", "day": "1970-01-01"}]


BAD = {
    "no columns": ["create", "NEW"],
    "columns twice": ["create", "NEW", "--schema", "id bigint", "--from", "ROWS"],
    "no schema": ["create", "NEW", "--schema", "id whatever"],
    "if exists": ["create", "NEW", "--schema", "id bigint", "--if-exists", "panic"],
    "unknown property": ["create", "NEW", "--schema", "id bigint", "--property", "delta.enableWonders=true"],
    "property without value": ["create", "NEW", "--schema", "id bigint", "--property", "delta.appendOnly"],
    "property twice": ["create", "NEW", "--schema", "id bigint", "--property", "a=1", "--property", "a=2"],
    "unknown partition column": ["create", "NEW", "--schema", "id bigint", "--partition-by", "day"],
    "no partition column": ["create", "NEW", "--schema", "id bigint", "--partition-by", ","],
    "no file": ["append", "TABLE"],
    "no such file": ["append", "TABLE", "nobody.csv"],
    "file of an unknown kind": ["append", "TABLE", "rows.xlsx"],
    "wrong type": ["append", "TABLE", "WORDS"],
    "not JSON": ["append", "TABLE", "BROKEN"],
    "CSV with a column twice": ["append", "TABLE", "TWICE"],
    "JSON with a member twice": ["append", "TABLE", "AGAIN"],
    "not a text": ["append", "TABLE", "BYTES"],
    "not objects": ["append", "TABLE", "NUMBERS"],
    "broken constraint": ["append", "TABLE", "NEGATIVE"],
    "not a transaction": ["append", "TABLE", "ROWS", "--transaction", "loader"],
    "where and dynamic": ["overwrite", "TABLE", "ROWS", "--where", "id > 0", "--dynamic"],
    "delete without saying which": ["delete", "TABLE"],
    "delete both": ["delete", "TABLE", "--where", "id = 1", "--all"],
    "update nothing": ["update", "TABLE", "--all"],
    "update without a value": ["update", "TABLE", "--set", "name", "--all"],
    "merge without a condition": ["merge", "TABLE", "ROWS", "--insert-all"],
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD)
def test_what_cannot_be_written_makes_no_version(esker_, tmp_path, users, rows, words):
    files = {
        "WORDS": ("words.csv", "id\none\n"), "BROKEN": ("broken.json", "{"), "NUMBERS": ("numbers.json", "[1, 2]"),
        "NEGATIVE": ("negative.json", '{"id": -1}'), "TWICE": ("twice.csv", "id,id\n1,2\n"),
        "AGAIN": ("again.json", '{"id": 1, "id": 2}'), "BYTES": ("bytes.json", "\udcff"),
    }  # fmt: skip
    for name, text in files.values():
        (tmp_path / name).write_text(text, errors="surrogateescape")
    places = {"TABLE": users, "NEW": tmp_path / "new", "ROWS": rows} | {k: tmp_path / v[0] for k, v in files.items()}
    result = esker_(*(places.get(word, word) for word in words), code=2)
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    assert esker.open(users).version == 0
    assert not (tmp_path / "new").exists()


def test_texts_of_several_lines_survive_csv_whatever_their_place_in_the_file(esker_, tmp_path):
    texts = pa.table({"text": [f"{'x' * 700}\n{number}" for number in range(3000)]})
    esker.create(tmp_path / "t", texts)
    esker_("read", tmp_path / "t", "--output", tmp_path / "rows.csv")
    esker_("create", tmp_path / "u", "--from", tmp_path / "rows.csv")
    assert esker.open(tmp_path / "u").to_arrow() == texts
