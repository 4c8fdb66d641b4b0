"""What must a writer see to when it writes rows and files?

The requirements of delta-protocol.md and delta-newest.md that concern rows and data files, and where each is tested:

| section | the writer must | tests |
|---|---|---|
| Add File and Remove File | name files below the table by encoded relative paths | here |
| Append-only Tables | not change or remove data | test_bad_rows, spark/test_merge |
| Column Invariants, NOT NULL | abort where one is false or null | test_bad_rows, test_row_rules |
| CHECK Constraints | abort unless TRUE for each row | test_bad_rows, spark/test_write |
| Generated Columns | compute, or check what is given | spark/test_write, spark/test_merge |
| Default Columns | assign the default where a value is lacking | spark/test_write |
| Identity Columns | give unique numbers, raise the mark, detect overflow, refuse explicit ones | test_identity, test_bad_rows, spark/test_write |
| Column Mapping | write physical names and field ids, track partitions and statistics by them | here, test_written_stats, spark/test_write |
| Partition Value Serialization | spell values so that they come back | test_partition_texts, spark/test_write |
| Per-file Statistics | state no wrong bound, cut texts and times as agreed | test_written_stats, spark/test_write |
| Clustered Table | write statistics of clustering columns | test_written_stats |
| Deletion Vectors | write them only where enabled, with numRecords and checksums | test_deletion_vector_writer |
| Change Data Files | tell every changed row | spark/test_row_changes |
| Row Tracking | keep the ids of rows that are moved, give new rows fresh ones | spark/test_row_changes, test_row_tracking |
| Transaction Identifiers | not repeat what is recorded | test_create |
| Iceberg Compatibility V1, V2 | store partition columns, no INT96, ids of nested fields, numRecords | here, spark/test_write, test_contradictions |
| Timestamp without timezone | store and spell it without a zone | test_partition_texts, test_written_stats |
| Variant Data Type | store it as metadata and value | spark/test_write |
| void type | not store it, refuse schemas that cannot do without | here, spark/test_write, test_row_rules |
| delta.writePartitionColumnsToParquet | store partition columns in the files | here, spark/test_write |
"""

import json
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import esker
from esker.storage import open_storage
from tests.delta.tables import Log

DATA_PAGE, DATA_PAGE_V2 = b"\x15\x00", b"\x15\x06"
_NESTED = pa.table({"a b": [1], "s": [{"x.y": [{"z": 2}]}], "p": ["v"]})


@pytest.mark.parametrize("mode", ["name", "id"])
def test_files_have_physical_names_and_ids_at_every_level(mode: str):
    """Writer Requirements for Column Mapping: "Write data files by using the *physical name*"; "Write the `column id`" """
    table = esker.create(Log().url, _NESTED, properties={"delta.columnMapping.mode": mode})
    names: list[str] = []
    ids: dict[str, int] = {}
    _collect(_file(table).schema_arrow, names, ids)
    assert all(name.startswith("col-") or name == "element" for name in names)
    assert sorted(ids.values()) == [1, 2, 3, 4, 5]
    assert table.to_arrow().to_pylist() == _NESTED.to_pylist()


@pytest.mark.parametrize(
    "properties",
    [
        {"delta.enableIcebergCompatV1": "true", "delta.columnMapping.mode": "name"},
        {"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"},
        {"delta.writePartitionColumnsToParquet": "true"},
    ],
    ids=lambda properties: next(iter(properties)),
)
def test_partition_columns_are_stored_where_that_is_asked_for(properties: dict[str, str]):
    """Iceberg Compatibility V1: "Require that partition column values are materialized into any Parquet data file that is present
    in the table, placed *after* the data columns in the parquet schema" """
    table = esker.create(Log().url, pa.table({"p": ["v"], "id": [1]}), partition_by=["p"], properties=properties)
    assert [column.to_pylist() for column in _file(table).read().columns] == [[1], ["v"]]
    assert table.to_arrow().to_pylist() == [{"p": "v", "id": 1}]


def test_partition_columns_are_not_stored_elsewhere():
    table = esker.create(Log().url, pa.table({"id": [1], "p": ["v"]}), partition_by=["p"])
    assert _file(table).schema_arrow.names == ["id"]


def test_void_members_are_not_stored():
    """void type: "never stored in Parquet" """
    table = esker.create(Log().url, "id bigint, v void, s struct<a:bigint, w:void>")
    table.append(pa.table({"id": [1], "s": [{"a": 2}]}))
    assert _file(table).schema_arrow.field("s").type == pa.struct([pa.field("a", pa.int64())])
    assert table.to_arrow().to_pylist() == [{"id": 1, "v": None, "s": {"a": 2, "w": None}}]


@pytest.mark.parametrize(("codec", "expected"), [("none", "UNCOMPRESSED"), ("gzip", "GZIP"), ("lz4_raw", "LZ4"), (None, "ZSTD")])
def test_files_are_compressed_as_the_table_asks(codec: str | None, expected: str):
    properties = {} if codec is None else {"delta.parquet.compression.codec": codec}
    table = esker.create(Log().url, pa.table({"id": [1]}), properties=properties)
    assert _file(table).metadata.row_group(0).column(0).compression == expected


@pytest.mark.parametrize(("version", "kind"), [(None, DATA_PAGE), ("1.0.0", DATA_PAGE), ("2.12.0", DATA_PAGE_V2)])
def test_pages_are_of_the_version_that_the_table_asks_for(version: str | None, kind: bytes):
    """Table Properties, `delta.parquet.format.version`: "`1.0.0` (page V1) or `2.MINOR.PATCH` (page V2 [...]). Absent: `1.0.0`" """
    properties = {} if version is None else {"delta.parquet.format.version": version}
    table = esker.create(Log().url, pa.table({"id": [1]}), properties=properties)
    assert first_page(_data(table)) == kind
    assert table.to_arrow().to_pylist() == [{"id": 1}]


def test_timestamps_are_int64_of_microseconds():
    """Iceberg Compatibility V2: "all new `AddFile`s [...] timestamps as int64"; Primitive Types: "its `isAdjustedToUTC` must be set
    to `true`" of a timestamp, and "to `false`" of one without a zone."""
    rows = pa.table({"t": pa.array([1], pa.timestamp("ns", "UTC")).cast(pa.timestamp("s", "UTC"), safe=False),
                     "n": pa.array([1], pa.timestamp("ms"))})  # fmt: skip
    schema = _file(esker.create(Log().url, rows)).schema
    for i, is_adjusted in enumerate(("true", "false")):
        assert f"isAdjustedToUTC={is_adjusted}" in str(schema.column(i).logical_type)
        assert schema.column(i).physical_type == "INT64"
        assert "microseconds" in str(schema.column(i).logical_type)


def _file(table: esker.Table) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(_data(table)))


def _data(table: esker.Table) -> bytes:
    storage = open_storage(table.location)
    lines = bytes(storage.read(f"_delta_log/{table.version:020}.json")).splitlines()
    adds: list[dict[str, Any]] = [line["add"] for line in map(json.loads, lines) if "add" in line]
    path = unquote(adds[0]["path"])
    assert not path.startswith("/")
    return bytes(storage.read(path))


def first_page(data: bytes) -> bytes:
    """What Thrift has of the type of the first data page: the field's number and type, and a zigzag number."""
    column = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    return data[column.data_page_offset :][:2]


def _collect(fields: Any, names: list[str], ids: dict[str, int]) -> None:
    for field in fields:
        names.append(field.name)
        if b"PARQUET:field_id" in (field.metadata or {}):
            ids[field.name] = int(field.metadata[b"PARQUET:field_id"])
        if pa.types.is_nested(field.type):
            _collect([field.type.field(i) for i in range(field.type.num_fields)], names, ids)
