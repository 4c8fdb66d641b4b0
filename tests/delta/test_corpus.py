"""Does Esker read real tables by other software exactly right?

Each table of the corpus has the digest of its rows, computed by independent readers, or the kind of error it must give. Every
way to read has to agree: Arrow, native Spark, portable Spark.
"""

import hashlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

import esker
from esker.core.arrow_types import to_arrow_schema
from esker.core.types import relaxed
from esker.core.variant import to_json
from tests.conftest import corpus_cases

READERS = ["arrow", pytest.param("native", marks=pytest.mark.spark), pytest.param("portable", marks=pytest.mark.spark)]

ERRORS = {
    "invalid-metadata": esker.InvalidTable,
    "no-metadata": esker.InvalidTable,
    "no-protocol": esker.InvalidTable,
    "missing-commit": esker.InvalidTable,
    "malformed-commit": esker.InvalidTable,
    "missing-dv-file": esker.InvalidTable,
    "unsupported-protocol": esker.Unsupported,
    "unsupported-feature": esker.Unsupported,
    "catalog-managed": esker.Unsupported,
}

# "must check that every recorded change is in the list above and fail otherwise": this one records a change to a type
# named "unsupported", and its entry leaves it to a strict reader to refuse it.
STRICT = {"delta/trino/deltalake/type_widening_unsupported"}

# The entry's digest has no `_change_type` for rows of change files, whose column of that name has no field id. By the protocol
# it is "the type of change" of every row there, and no column of the table that ids could apply to.
WRONG_CHANGES = {"delta/delta-kernel-rs/cdf-column-mapping-id-mode"}


def _cases_with(key: str) -> list[Any]:
    return [case for case in corpus_cases("delta") if not case.values[0] or case.values[0].get(key)]


@pytest.mark.corpus
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("entry", corpus_cases("delta"))
def test_rows_are_what_independent_readers_see(
    entry: dict[str, Any], reader: str, corpus: Path, corpus_digest: ModuleType, request: pytest.FixtureRequest
) -> None:
    rows = _reader(reader, request)
    if entry["table"] in STRICT:
        with pytest.raises(esker.InvalidTable, match="no widening"):
            rows(_opened(corpus, entry))
    elif entry.get("error"):
        with pytest.raises(ERRORS[entry["error"]]):
            rows(_opened(corpus, entry))
    elif entry.get("variant_json_digest"):
        assert _variant_json_digest(rows(_opened(corpus, entry)), corpus_digest) == entry["variant_json_digest"]
    elif entry.get("digest"):
        found = rows(_opened(corpus, entry))
        assert (found.num_rows, corpus_digest.digest(found)) == (entry["rows"], entry["digest"])
        assert corpus_digest.schema(found) == entry["schema"]
    else:
        pytest.skip("the contents of this table are unknown or absent: only its log is compared")


@pytest.mark.corpus
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("entry", _cases_with("versions"))
def test_older_versions_are_what_independent_readers_see(
    entry: dict[str, Any], reader: str, corpus: Path, corpus_digest: ModuleType, request: pytest.FixtureRequest
) -> None:
    rows = _reader(reader, request)
    table = _opened(corpus, entry)
    wanted = {int(v): (e["rows"], e["digest"]) for v, e in entry["versions"].items() if e.get("digest")}
    found = {}
    for version in wanted:
        state = rows(table.at(version))
        found[version] = (state.num_rows, corpus_digest.digest(state))
    assert found == wanted


@pytest.mark.corpus
@pytest.mark.parametrize("entry", corpus_cases("delta"))
def test_live_files_are_what_independent_readers_see(entry: dict[str, Any], corpus: Path) -> None:
    if entry.get("error") or entry.get("files") is None:
        pytest.skip("the corpus says nothing about this table's files")
    table = _opened(corpus, entry)
    paths = sorted(unquote(path) for path in table.files().column("path").to_pylist())
    assert table.version == entry["version"]
    assert len(paths) == entry["files"]
    assert hashlib.sha256("\n".join(paths).encode()).hexdigest()[:32] == entry["files_digest"]


@pytest.mark.corpus
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("entry", _cases_with("cdf"))
def test_changes_are_what_independent_readers_see(
    entry: dict[str, Any], reader: str, corpus: Path, corpus_digest: ModuleType, request: pytest.FixtureRequest
) -> None:
    wanted = entry["cdf"]
    changes = _opened(corpus, entry).changes(wanted["start"], wanted["end"])
    found = _reader(reader, request)(changes).drop_columns(["_commit_timestamp"])
    if entry["table"] in WRONG_CHANGES:
        assert found.column("_change_type").null_count == 0
        without = pa.array([None if v in (2, 4) else k for v, k in zip(
            found.column("_commit_version").to_pylist(), found.column("_change_type").to_pylist(), strict=True)], pa.string())
        found = found.set_column(found.column_names.index("_change_type"), "_change_type", without)
    assert (found.num_rows, corpus_digest.digest(found)) == (wanted["rows"], wanted["digest"])


@pytest.mark.corpus
@pytest.mark.parametrize("entry", corpus_cases("delta"))
def test_any_table_that_opens_can_be_described(entry: dict[str, Any], corpus: Path) -> None:
    if entry.get("error") and ERRORS[entry["error"]] is esker.InvalidTable:
        pytest.skip("the table is broken")
    table = _opened(corpus, entry)
    assert table.describe().version == table.version
    assert {presence.name for presence in table.features()} >= set((entry["protocol"] or {}).get("writerFeatures") or ())


def _opened(corpus: Path, entry: dict[str, Any]) -> esker.Table:
    folder = corpus / entry["table"]
    relocate = {"s3://test-bucket/tiny": f"file://{folder.parent}"} if "shallow-clone" in entry["features"] else {}
    return esker.open(folder, relocate=relocate)


def _reader(name: str, request: pytest.FixtureRequest) -> Any:
    if name == "arrow":
        return lambda table: table.to_arrow()
    spark = request.getfixturevalue("spark")

    def rows(table: Any) -> pa.Table:
        frame = table.to_df(spark, relation=name)
        # `toArrow` fails on a variant that is null, as of PySpark 4.3
        return _collected(frame, table) if "variant" in frame.schema.simpleString() else frame.toArrow()

    return rows


def _collected(frame: Any, table: esker.Table) -> pa.Table:
    rows = [_plain(row.asDict()) for row in frame.collect()]
    return pa.Table.from_pylist(rows, to_arrow_schema(relaxed(table.schema)))


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


def _variant_json_digest(table: pa.Table, corpus_digest: ModuleType) -> str:
    """The digest of the rows with every variant as the JSON value it stands for."""
    columns = [_json_values(column.combine_chunks(), corpus_digest) for column in table.columns]
    total = 0
    for row in zip(*columns, strict=True):
        text = corpus_digest.dumps(dict(zip(table.column_names, row, strict=True)))
        total += int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")
    return f"{total % 2**128:032x}"


def _json_values(array: pa.Array, corpus_digest: ModuleType) -> list[Any]:
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        if set(names) == {"metadata", "value"}:
            return [None if v is None else json.loads(to_json(v["metadata"], v["value"])) for v in array.to_pylist()]
        columns = [_json_values(child, corpus_digest) for child in array.flatten()]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    return corpus_digest.values(array)
