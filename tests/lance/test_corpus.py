"""Every Lance table of the corpus: by Arrow all of them with their older versions, tags and branches; by Spark some, and all for peers."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.errors import EskerError, Unsupported
from tests.conftest import corpus_cases

CASES = corpus_cases("lance")
pytestmark = pytest.mark.corpus
# One for each thing that Spark has to get right: deletions, nesting, unsigned numbers and vectors, maps, an old file format, branches, blobs.
FEW = ("pylance-14.0.2/deletions_2.1", "pylance-14.0.2/nested_null_structs_2.2", "pylance-14.0.2/types_2.1", "pylance-14.0.2/map_2.2",
       "pylance-0.19.2/multi_fragment_legacy", "lance/v0.16.0/wrong_data_version_no_fix.lance", "pylance-0.39.0/types_2.1",
       "pylance-0.39.0/branches", "pylance-0.19.2/tags", "pylance-0.39.0/blob_2.0")  # fmt: skip


def _shown(entry: dict[str, Any]) -> list[str] | None:
    return ["id"] if "blob-column" in entry["features"] else None


@pytest.mark.parametrize("entry", CASES)
def test_rows_versions_tags_and_branches_are_what_independent_readers_see(
    corpus: Path, corpus_digest: ModuleType, entry: dict[str, Any]
) -> None:
    if entry.get("error"):
        with pytest.raises(EskerError, match="missing"):
            esker.open(corpus / entry["table"]).to_arrow()
        return
    table = esker.open(corpus / entry["table"])
    assert table.version == entry["version"]
    rows = table.to_arrow(columns=_shown(entry))
    assert (rows.num_rows, corpus_digest.digest(rows)) == (entry["rows"], entry["digest"])
    for other, digest in _others(table, entry):
        assert corpus_digest.digest(other.to_arrow(columns=_shown(entry))) == digest
    if told := entry.get("blobs_sha256"):
        blobs = table.to_arrow().sort_by("id").column("b").to_pylist()
        assert [hashlib.sha256(blob).hexdigest() for blob in blobs] == told
    if told := entry.get("row_ids"):
        ids = table.to_arrow(columns=["_rowid"])
        assert ids.num_rows == told["rows"] == len(set(ids.column(0).to_pylist()))
    if told := entry.get("indices"):
        found = table.metadata("indices").to_pylist()
        assert [{"name": one["name"], "columns": one["columns"]} for one in found] == told


@pytest.mark.spark
@pytest.mark.parametrize("entry", [case for case in CASES if str(case.id) in FEW])
def test_spark_reads_the_same_rows(corpus: Path, corpus_digest: ModuleType, spark: Any, entry: dict[str, Any]) -> None:
    _compared(corpus, corpus_digest, spark, entry)


@pytest.mark.spark
@pytest.mark.peers
@pytest.mark.parametrize("entry", [case for case in CASES if str(case.id) not in FEW])
def test_spark_reads_the_same_rows_of_every_table(
    corpus: Path, corpus_digest: ModuleType, spark: Any, entry: dict[str, Any]
) -> None:
    if not entry.get("error"):
        _compared(corpus, corpus_digest, spark, entry)


def _others(table: esker.Table, entry: dict[str, Any]) -> Iterator[tuple[esker.Table, str]]:
    """The older versions, tags and branches of a table, with the digests of their rows."""
    versions, branches = entry.get("versions") or {}, entry.get("branches") or {}
    yield from ((table.at(int(version)), told["digest"]) for version, told in versions.items())
    yield from ((table.at(ref=name), told["digest"]) for name, told in branches.items())
    for name, version in (entry.get("tags") or {}).items():
        assert table.at(ref=name).version == version
        yield table.at(ref=name), versions[str(version)]["digest"]


def _compared(corpus: Path, corpus_digest: ModuleType, spark: Any, entry: dict[str, Any]) -> None:
    table = esker.open(corpus / entry["table"])
    columns = _shown(entry) or list(table.schema.names)
    if "ts_ns" in columns:  # Spark has no nanoseconds: a value with some is refused, and never cut
        with pytest.raises(Exception, match="ts_ns"):
            table.to_df(spark).toArrow()
        columns.remove("ts_ns")
    expected = table.to_arrow(columns=columns)
    rows = _numbers(table.to_df(spark, columns=columns).toArrow(), expected.schema)
    assert corpus_digest.digest(rows) == corpus_digest.digest(expected)
    if "ts_ns" not in table.schema.names:
        assert corpus_digest.digest(rows) == entry["digest"]
    for other, digest in _others(table, entry):
        read = other.to_df(spark, columns=_shown(entry)).toArrow()
        assert corpus_digest.digest(_numbers(read, other.to_arrow(columns=_shown(entry)).schema)) == digest
    if told := entry.get("blobs_sha256"):
        found = table.to_df(spark).orderBy("id").toArrow().column("b").to_pylist()
        assert [hashlib.sha256(blob).hexdigest() for blob in found] == told


def _numbers(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Spark has no unsigned numbers of 64 bits: they are decimals there."""
    kinds = [schema.field(f.name).type if pa.types.is_unsigned_integer(schema.field(f.name).type) else f.type for f in rows.schema]
    return rows.cast(pa.schema([pa.field(f.name, kind) for f, kind in zip(rows.schema, kinds, strict=True)]))


def test_a_branch_whose_base_path_is_not_absolute_is_read_where_it_is_told(corpus: Path) -> None:
    table = esker.open(corpus / "lance/pylance-0.39.0/branches", ref="dev")
    assert table.to_arrow().num_rows == 2
    assert any(found.rule == "base-paths.absolute" for found in table.check())


def test_legacy_files_are_read_and_not_written(corpus: Path) -> None:
    table = esker.open(corpus / "lance/pylance-0.19.2/tags").at(ref="first")
    assert table.version == 1
    with pytest.raises(Unsupported, match=r"0\.1"):
        esker.open(corpus / "lance/pylance-0.19.2/overwrite_legacy").append(pa.table({"a": [1]}))
