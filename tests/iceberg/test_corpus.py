"""Does Esker read real Iceberg tables by other software exactly right?

Each table of the corpus has the digest of its rows, computed by independent readers, or the kind of error it must give. Every
way to read has to agree: Arrow, native Spark, portable Spark.
"""

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import esker
from esker.core.arrow_types import to_arrow_schema
from esker.core.types import relaxed
from esker.iceberg.manifest_lists import parse_manifest_list
from esker.iceberg.metadata_json import read_metadata
from esker.iceberg.puffin import parse_puffin, parse_vector
from tests.conftest import CORPUS, NO_CORPUS, corpus_cases

READERS = ["arrow", pytest.param("native", marks=pytest.mark.spark), pytest.param("portable", marks=pytest.mark.spark)]

# Two columns differ in case alone.
CASE_SENSITIVE = {"iceberg/duckdb-iceberg/case_sensitive_names/default.db/case_sensitive_names"}


def _cases(*keys: str) -> list[Any]:
    """The tables with one of the keys, or all; but for one that has no data files and names some in a real store."""
    cases = [c for c in corpus_cases("iceberg") if not c.values[0] or "metadata-only" not in c.values[0]["features"]]
    return [c for c in cases if not keys or not c.values[0] or any(c.values[0].get(key) for key in keys)]


@pytest.mark.corpus
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("entry", _cases("digest", "error"))
def test_rows_are_what_independent_readers_see(
    entry: dict[str, Any], reader: str, corpus: Path, corpus_digest: ModuleType, request: pytest.FixtureRequest
) -> None:
    rows = _reader(reader, entry, request)
    table = _opened(corpus, entry)
    if entry.get("error"):
        with pytest.raises(esker.InvalidTable):
            rows(table)
        return
    found = rows(table)
    assert (found.num_rows, corpus_digest.digest(found)) == (entry["rows"], entry["digest"])
    if reader == "arrow":
        assert corpus_digest.schema(found) == entry["schema"]


@pytest.mark.corpus
@pytest.mark.parametrize("reader", READERS[:2])
@pytest.mark.parametrize("entry", _cases("versions"))
def test_older_snapshots_are_what_independent_readers_see(
    entry: dict[str, Any], reader: str, corpus: Path, corpus_digest: ModuleType, request: pytest.FixtureRequest
) -> None:
    rows = _reader(reader, entry, request)
    table = _opened(corpus, entry)
    wanted = {int(v): (e["rows"], e["digest"]) for v, e in entry["versions"].items() if e.get("digest")}
    found = {version: rows(table.at(version)) for version in wanted}
    assert {v: (r.num_rows, corpus_digest.digest(r)) for v, r in found.items()} == wanted


@pytest.mark.corpus
@pytest.mark.parametrize("entry", _cases())
def test_what_is_said_of_a_table_and_its_files_is_so(entry: dict[str, Any], corpus: Path) -> None:
    table = _opened(corpus, entry)
    assert table.describe().version == table.version == (-1 if entry["version"] is None else entry["version"])
    assert f"format version {entry['protocol']['format-version']}" == table.describe().protocol
    if entry.get("error") == "missing-manifest":
        return
    content = table.files().column("content").to_pylist()
    if entry["files"]["data"]:
        deletes = {name: number for name, number in entry["files"].items() if name != "data"}
        assert (content.count(0), len(content) - content.count(0)) == (entry["files"]["data"], sum(deletes.values()))
        assert content.count(2) == entry["files"]["equality_deletes"]


@pytest.mark.corpus
@pytest.mark.parametrize("entry", _cases())
def test_a_folder_leads_to_the_metadata_file_that_its_hint_or_number_says(entry: dict[str, Any], corpus: Path) -> None:
    folder = corpus / entry["table"]
    if (folder / "_delta_log").exists() or entry["metadata"] == "metadata/vfinal.metadata.json":
        pytest.skip("the folder is a Delta table as well, or its newest file has a name of its own")
    assert esker.open(folder)._table.state.metadata_file == entry["metadata"]


@pytest.mark.corpus
@pytest.mark.parametrize("entry", _cases("strict"))
def test_deletes_that_name_a_file_on_another_host_are_refused_unless_told_apart(
    entry: dict[str, Any], corpus: Path
) -> None:
    """ "This must match the file_path of the target data file" (Position Delete Files)."""
    with pytest.raises(esker.InvalidTable, match="relocate"):
        esker.open(corpus / entry["table"] / entry["metadata"]).to_arrow()


@pytest.mark.corpus
@pytest.mark.parametrize("entry", _cases("digest"))
def test_changes_add_up_to_the_rows(entry: dict[str, Any], corpus: Path, corpus_digest: ModuleType) -> None:
    table = _opened(corpus, entry)
    history = table.history().column("version").to_pylist()
    names = list(table.schema.names)
    # without a mapping of names, and with the columns that there always were, old files read the same under any schema
    if not history or "name-mapping" in entry["features"] or history[0] >= 2**63:
        pytest.skip("there are no snapshots, or old files read differently today")
    first = table.at(history[-1])
    if first._table.state.snapshot.parent_snapshot_id is not None or entry["table"].endswith("mydb/mytable"):
        pytest.skip("the first snapshots have expired")
    changes = table.changes(history[-1]).to_arrow()
    is_insert = pa.compute.equal(changes.column("_change_type"), "insert")
    added, gone = changes.filter(is_insert), changes.filter(pa.compute.invert(is_insert))
    numbers = [int(corpus_digest.digest(part.select(names)), 16) for part in (added, gone)]
    assert added.num_rows - gone.num_rows == entry["rows"]
    assert f"{(numbers[0] - numbers[1]) % 2**128:032x}" == entry["digest"]


def _samples(kind: str) -> list[Any]:
    if not CORPUS.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason=NO_CORPUS), id="no-corpus")]
    samples = json.loads((CORPUS / "expected.json").read_text())["samples"]
    return [pytest.param(s, id=Path(s["file"]).name) for s in samples if s["kind"] == kind]


@pytest.mark.corpus
@pytest.mark.parametrize("sample", _samples("table-metadata"))
def test_metadata_files_are_valid_or_not_as_their_own_project_says(sample: dict[str, Any], corpus: Path) -> None:
    data = (corpus / sample["file"]).read_bytes()
    if sample["valid"]:
        assert read_metadata(data, "sample").schema.struct.names
    else:
        with pytest.raises((esker.InvalidTable, esker.Unsupported)):
            read_metadata(data, "sample")


@pytest.mark.corpus
@pytest.mark.parametrize("sample", _samples("view-metadata"))
def test_metadata_of_views_is_not_taken_for_that_of_a_table(sample: dict[str, Any], corpus: Path) -> None:
    with pytest.raises((esker.InvalidTable, esker.Unsupported)):
        read_metadata((corpus / sample["file"]).read_bytes(), "sample")


@pytest.mark.corpus
@pytest.mark.parametrize("sample", _samples("puffin"))
def test_puffin_files_have_the_blobs_that_they_were_written_with(sample: dict[str, Any], corpus: Path) -> None:
    found = parse_puffin((corpus / sample["file"]).read_bytes(), "sample")
    assert [blob.type for blob in found.blobs] == [blob["type"] for blob in sample["blobs"]]
    assert dict(found.properties) == sample["properties"]


@pytest.mark.corpus
@pytest.mark.parametrize("sample", _samples("deletion-vector-blob"))
def test_deletion_vectors_hold_the_positions_that_they_were_written_with(sample: dict[str, Any], corpus: Path) -> None:
    found = parse_vector((corpus / sample["file"]).read_bytes(), "sample")
    assert len(found) == sample["cardinality"]
    assert found.greatest == sample.get("max")


@pytest.mark.corpus
@pytest.mark.parametrize("sample", _samples("manifest-list"))
def test_manifest_lists_name_the_manifests_that_others_see(sample: dict[str, Any], corpus: Path) -> None:
    found = parse_manifest_list((corpus / sample["file"]).read_bytes(), "sample")
    assert len(found) == sample["entries"]
    for manifest, wanted in zip(found, sample["manifests"], strict=True):
        told = {name: getattr(manifest, name) for name in wanted if name != "content"}
        assert told == {name: value for name, value in wanted.items() if name != "content"}


def _opened(corpus: Path, entry: dict[str, Any]) -> esker.Table:
    """The table by its metadata file, with what the corpus says of where its files are."""
    folder = corpus / entry["table"]
    moves = dict.fromkeys(entry["path_prefixes"], str(folder))
    moves |= {path: os.path.normpath(folder / relative) for path, relative in (entry.get("outside") or {}).items()}
    return esker.open(folder / entry["metadata"], relocate=moves)


def _reader(name: str, entry: dict[str, Any], request: pytest.FixtureRequest) -> Any:
    if name == "arrow":
        return lambda table: table.to_arrow()
    if pyspark.__version__ < "4.1" and {"type-variant", "type-time"} & set(entry["features"]):
        pytest.skip("Spark 4.0 has no type for times, and does not know the annotation of variants")
    spark = request.getfixturevalue("spark")

    def rows(table: Any) -> pa.Table:
        if entry["table"] in CASE_SENSITIVE:
            spark.conf.set("spark.sql.caseSensitive", "true")
            request.addfinalizer(lambda: spark.conf.unset("spark.sql.caseSensitive"))
        frame = table.to_df(spark, relation=name)
        if "variant" not in frame.schema.simpleString():
            return frame.toArrow()
        # `toArrow` fails on a variant that is null, as of PySpark 4.3
        plain = [_plain(row.asDict()) for row in frame.collect()]
        return pa.Table.from_pylist(plain, to_arrow_schema(relaxed(table.schema)))

    return rows


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _ if type(value).__name__ == "VariantVal":
            return {"metadata": value.metadata, "value": value.value}
        case _ if hasattr(value, "asDict"):
            return _plain(value.asDict())
    return value
