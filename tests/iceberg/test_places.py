"""Where do the metadata and the files of a table lie?  (spec, "File System Tables", "Table Metadata": location)"""

import pyarrow as pa
import pytest

import esker
from esker.iceberg.current_file import current_file
from esker.iceberg.place import Place
from esker.storage.memory import MemoryStorage

FILES = {
    "the hint, and what came after it": (["v1", "v2", "v3"], "2", "v3.metadata.json"),
    "the highest number without a hint": (["v9", "v10"], None, "v10.metadata.json"),
    "the highest number where the hint leads nowhere": (["v1", "v2"], "7", "v2.metadata.json"),
    "the highest number where the hint is torn": (["v1", "v2"], "\0", "v2.metadata.json"),
    "a name in the hint": (["00001-a", "00002-b"], "00001-a", "00001-a.metadata.json"),
    "the highest number that a catalog gave": (["00001-a", "00012-b"], None, "00012-b.metadata.json"),
    "gzipped": (["v1.gz", "v2.gz"], "1", "v2.gz.metadata.json"),
}


@pytest.mark.parametrize("case", FILES)
def test_the_newest_metadata_file_is_told_by(case: str) -> None:
    names, hint, wanted = FILES[case]
    storage = MemoryStorage(f"memory://places/{case.replace(' ', '-')}")
    for name in names:
        storage.put(f"metadata/{name}.metadata.json", b"{}")
    if hint is not None:
        storage.put("metadata/version-hint.text", hint.encode())
    assert current_file(storage) == f"metadata/{wanted}"


def test_two_newest_files_are_for_a_catalog_to_choose_from() -> None:
    storage = MemoryStorage("memory://places/rivals")
    for name in ("00001-a", "00002-b", "00002-c"):
        storage.put(f"metadata/{name}.metadata.json", b"{}")
    with pytest.raises(esker.InvalidRequest, match="catalog"):
        current_file(storage)


PLACE = Place(
    MemoryStorage("memory://new/t"),
    {},
    {"s3://far/other": "memory://new/other", "hdfs://h:1/t": "memory://new/t"},
    "s3://far/t/",
)


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        ("s3://far/t/data/a b%20.parquet", "memory://new/t/data/a b%20.parquet"),
        ("s3://far/t//data/x", "memory://new/t/data/x"),
        ("s3://far/other/x", "memory://new/other/x"),
        ("hdfs://h:1/t/x", "memory://new/t/x"),
        ("s3://far/t2/x", "s3://far/t2/x"),
        ("gs://b/x", "gs://b/x"),
    ],
)
def test_a_recorded_path_leads_to_where_the_table_is_now(recorded: str, found: str) -> None:
    assert PLACE.absolute(recorded) == found
    assert PLACE.absolutes(pa.array([recorded, "s3://far/t/y"])).to_pylist() == [found, "memory://new/t/y"]


@pytest.mark.parametrize(
    "recorded",
    [
        "s3://far/t/../secret",
        "s3://far/t/a/../../secret",
        "s3://far/t/..",
        "data/x",
        "../x",
        "s3://far/t/",
        "s3://far/t/a//b",
    ],
)
def test_a_path_that_leads_astray_is_refused(recorded: str) -> None:
    with pytest.raises(esker.EskerError):
        PLACE.absolute(recorded)
    with pytest.raises(esker.EskerError):
        PLACE.absolutes(pa.array(["s3://far/t/y", recorded]))


def test_what_looks_like_a_url_inside_a_table_stays_inside_it() -> None:
    assert PLACE.absolute("s3://far/t/file:/etc/passwd") == "memory://new/t/file:/etc/passwd"
