"""Iceberg specification, "Manifests", "Manifest Lists", "Sequence Number Inheritance"; row lineage of version 3."""

import io
import json
import struct
from dataclasses import replace
from decimal import Decimal as Number

import fastavro
import pyarrow as pa
import pytest
from pyiceberg.avro.file import AvroFile as TheirAvro
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list

import esker
from esker.core import types as t
from esker.core.types import Decimal, Field, Struct
from esker.errors import EskerError, InvalidTable
from esker.iceberg.avro_columns import read_columns
from esker.iceberg.avro_file import parse_avro
from esker.iceberg.data_files import Content, DataFile, ManifestEntry, Metrics, Status
from esker.iceberg.manifest_lists import FieldSummary, ManifestFile, manifest_list_bytes, parse_manifest_list
from esker.iceberg.manifest_schemas import manifest_schema
from esker.iceberg.manifest_writer import ManifestKind, manifest_bytes, manifest_file
from esker.iceberg.manifests import read_manifests, records
from esker.iceberg.metadata import PartitionField, PartitionSpec, TableMetadata
from esker.iceberg.schema import Schema
from esker.iceberg.statistics import looked_up

SCHEMA = Schema(
    Struct(
        (
            Field("id", t.LONG, id=1), Field("city", t.STRING, id=2), Field("at", t.TIMESTAMP, id=3),
            Field("price", Decimal(9, 2), id=4), Field("day", t.DATE, id=5), Field("f", t.FLOAT, id=6), Field("u", t.UUID, id=7),
        )
    )
)  # fmt: skip
SPEC = PartitionSpec(
    3,
    tuple(
        PartitionField((source,), 1000 + i, name, transform)
        for i, (source, name, transform) in enumerate(
            [(1, "b", "bucket[4]"), (2, "a city/of", "identity"), (3, "at_day", "day"), (4, "price", "truncate[100]"),
             (5, "1d", "identity"), (6, "f", "identity"), (7, "u", "identity"), (3, "at", "identity"), (2, "gone", "void")]
        )
    ),
)  # fmt: skip
VALUES = (3, "Oslo", 17486, Number("14.00"), 12, 1.5, bytes(range(16)), 1510871468123456, None)
METRICS = Metrics({1: 10, 2: 20}, {1: 7}, {1: 0}, {6: 1}, {1: b"\1" + bytes(7), 2: b"O"}, {2: b"P"})
FILE = DataFile(
    "file:///lake/t/data/a b.parquet", "PARQUET", 7, 700, 3, VALUES, metrics=METRICS, split_offsets=(4, 300), sort_order_id=0
)


def entry(file=FILE, status=Status.ADDED, snapshot_id=5, sequence=None, file_sequence=None):
    return ManifestEntry(status, snapshot_id, sequence, file_sequence, file)


def kind(version, is_deletes=False, spec=SPEC):
    metadata = TableMetadata(version, "file:///lake/t", None, 0, 7, (SCHEMA,), 0, (spec,), spec.spec_id)
    return ManifestKind(metadata, spec, is_deletes)


def read_back(entries, version, **changes):
    data = manifest_bytes(entries, kind(version))
    listed = replace(manifest_file("m.avro", len(data), entries, kind(version), 5, None if version == 1 else 9), **changes)
    return [e for part in read_manifests([listed], [data], "here") for e in records(part)]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_entries_come_back_and_inherit_what_they_leave_to_the_manifest(version):
    existing = entry(replace(FILE, file_path="file:///b.parquet"), Status.EXISTING, 2, 3, 3)
    found = read_back([entry(snapshot_id=5), existing], version)
    inherited = 0 if version == 1 else 9
    assert found[0] == replace(entry(), sequence_number=inherited, file_sequence_number=inherited)
    assert found[1].file == existing.file
    assert (found[1].sequence_number, found[1].file_sequence_number) == ((0, 0) if version == 1 else (3, 3))


def test_a_snapshot_id_that_is_null_is_the_manifests():
    assert read_back([entry(snapshot_id=None)], 2)[0].snapshot_id == 5


def test_an_entry_that_is_not_new_must_have_its_sequence_number():
    with pytest.raises(InvalidTable, match="sequence number"):
        read_back([entry(status=Status.EXISTING)], 2)


def test_a_map_is_known_by_its_field_where_the_writer_does_not_say_that_it_is_one():
    """`logicalType` is a note on an array of keys and values. (Appendix A, "Maps")"""
    data = manifest_bytes([entry()], kind(2))
    plain = json.loads(parse_avro(data, "here").schema, object_hook=lambda n: {k: v for k, v in n.items() if v != "map"})
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(plain), list(fastavro.reader(io.BytesIO(data))))
    listed = manifest_file("m.avro", 1, [entry()], kind(2), 5, 9)
    (found,) = read_manifests([listed], [sink.getvalue()], "here")
    assert next(records(found)).file == FILE
    (some,) = read_manifests([listed], [sink.getvalue()], "here", (1,))
    assert looked_up(some.table.column("lower_bounds").combine_chunks(), 1).to_pylist() == [METRICS.lower_bounds[1]]


@pytest.mark.parametrize(
    ("name", "other"), [("lower_bounds", "long"), ("equality_ids", "long"), ("column_sizes", {"type": "array", "items": "int"})]
)
def test_a_field_of_another_type_is_told(name, other):
    told = manifest_schema(2, kind(2).partition)
    file = told["fields"][-1]["type"]
    file["fields"] = [{**f, "type": ["null", other], "default": None} if f["name"] == name else f for f in file["fields"]]
    row = next(iter(fastavro.reader(io.BytesIO(manifest_bytes([entry()], kind(2))))))
    row["data_file"][name] = 1 if other == "long" else [1]
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(told), [row])
    listed = manifest_file("m.avro", 1, [entry()], kind(2), 5, 9)
    with pytest.raises(InvalidTable, match=r"m\.avro"):
        read_manifests([listed], [sink.getvalue()], "here")


def test_an_entry_that_is_deleted_need_not_have_its_sequence_number():
    """Only new and existing files are compared by age. ("Sequence Number Inheritance", "Scan Planning")"""
    found = read_back([entry(status=Status.DELETED, sequence=None), entry()], 2)
    assert [e.sequence_number for e in found] == [None, 9]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_null_partition_values_and_no_metrics_come_back(version):
    bare = DataFile("file:///x.orc", "ORC", 1, 2, 3, (None,) * len(VALUES))
    assert read_back([entry(bare)], version)[0].file == bare


def test_delete_files_and_deletion_vectors_come_back():
    vector = replace(
        FILE, file_format="PUFFIN", content=Content.POSITION_DELETES, referenced_data_file="file:///a", content_offset=4,
        content_size_in_bytes=44, metrics=Metrics(), split_offsets=None, sort_order_id=None,
    )  # fmt: skip
    equality = replace(FILE, content=Content.EQUALITY_DELETES, equality_ids=(1, 2))
    entries = [entry(vector), entry(equality)]
    data = manifest_bytes(entries, kind(3, is_deletes=True))
    listed = manifest_file("m", len(data), entries, kind(3, is_deletes=True), 5, 9)
    assert listed.is_deletes
    found = [e.file for part in read_manifests([listed], [data], "here") for e in records(part)]
    assert found == [vector, equality]
    assert found[0].is_deletion_vector


def test_row_ids_start_where_the_manifest_says_and_go_on_by_the_rows_of_files_without_one():
    """Row lineage: "a null becomes manifest.first_row_id + sum(record_count of earlier entries that were null)"."""
    files = [replace(FILE, record_count=n, first_row_id=first) for n, first in ((10, None), (5, 777), (20, None), (1, None))]
    entries = [
        entry(files[0]), entry(files[1], Status.EXISTING, 2, 3, 3), entry(files[2], Status.DELETED, 5, 3, 3), entry(files[3])
    ]  # fmt: skip
    found = read_back(entries, 3, first_row_id=100)
    assert [e.file.first_row_id for e in found] == [100, 777, None, 110]
    assert [e.file.first_row_id for e in read_back(entries, 3, first_row_id=None)] == [None] * 4


def test_ids_of_many_manifests_do_not_mix():
    data = manifest_bytes([entry(), entry()], kind(3))
    listed = [
        replace(manifest_file("m", len(data), [entry(), entry()], kind(3), 5, 9), first_row_id=first, sequence_number=first)
        for first in (10, 1000)
    ]
    (part,) = read_manifests(listed, [data, data], "here")
    assert part.table.column("first_row_id").to_pylist() == [10, 17, 1000, 1007]
    assert part.table.column("sequence_number").to_pylist() == [10, 10, 1000, 1000]
    assert part.manifest.tolist() == [0, 0, 1, 1]


def test_columns_that_are_not_wanted_are_passed_over():
    data = manifest_bytes([entry()], kind(2))
    (part,) = read_manifests([manifest_file("m", len(data), [entry()], kind(2), 5, 9)], [data], "here", ())
    assert part.table.column("lower_bounds").null_count == 1
    assert next(records(part)).file == replace(FILE, metrics=Metrics())


def test_the_list_counts_files_and_rows_and_sums_up_the_partitions():
    nan = replace(FILE, partition=(1, None, 17480, Number("15.00"), -3, float("nan"), bytes(16), 0, None), record_count=3)
    entries = [entry(), entry(nan, Status.EXISTING, 2, 3, 3), entry(FILE, Status.DELETED, 5, 1, 1)]
    listed = manifest_file("m", 99, entries, kind(2), 5, 9)
    assert (listed.added_files_count, listed.existing_files_count, listed.deleted_files_count) == (1, 1, 1)
    assert (listed.added_rows_count, listed.existing_rows_count, listed.deleted_rows_count) == (7, 3, 7)
    assert (listed.sequence_number, listed.min_sequence_number) == (9, 3)
    assert listed.partitions[0] == FieldSummary(False, False, b"\1\0\0\0", b"\3\0\0\0")
    assert listed.partitions[1] == FieldSummary(True, False, b"Oslo", b"Oslo")
    assert listed.partitions[5].contains_nan
    assert listed.partitions[8] == FieldSummary(True, False, None, None)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_manifest_list_comes_back(version):
    summary = (FieldSummary(True, False, b"a", b"b"), FieldSummary(False, None, None, None))
    listed = ManifestFile("file:///m.avro", 10, 3, 5, False, 9, 8, 1, 2, 3, 4, 5, 6, summary, b"key", 77)
    data = manifest_list_bytes([listed, replace(listed, is_deletes=version > 1, partitions=None)], version, {"snapshot-id": "5"})
    found = parse_manifest_list(data, "here")
    older = {"sequence_number": 0, "min_sequence_number": 0} if version == 1 else {}
    assert found[0] == replace(listed, first_row_id=77 if version == 3 else None, **older)
    assert found[1].is_deletes == (version > 1)
    assert parse_avro(data, "here").text("format-version") == str(version)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pyiceberg_reads_manifests_and_lists(version, tmp_path):
    entries = [entry(), entry(replace(FILE, file_path="file:///b"), Status.EXISTING, 2, 3, 3)]
    data = manifest_bytes(entries, kind(version))
    path, listing = tmp_path / "m.avro", tmp_path / "l.avro"
    path.write_bytes(data)
    listing.write_bytes(manifest_list_bytes([manifest_file(str(path), len(data), entries, kind(version), 5, 9)], version, {}))
    disk = PyArrowFileIO()
    (theirs,) = list(read_manifest_list(disk.new_input(str(listing))))
    found = theirs.fetch_manifest_entry(disk)
    assert [e.data_file.file_path for e in found] == [e.file.file_path for e in entries]
    assert found[0].data_file.lower_bounds == METRICS.lower_bounds
    assert found[0].data_file.partition[1] == "Oslo"
    assert found[0].data_file.partition[3] == Number("14.00")
    if version > 1:
        assert [e.sequence_number for e in found] == [9, 3]
    with TheirAvro(disk.new_input(str(path))) as file:
        assert file.header.meta["partition-spec-id"] == "3"


def test_partition_fields_of_one_decimal_type_or_all_uuids_are_told_apart(tmp_path):
    """Apache Avro, Names: "A schema or protocol may not contain multiple definitions of a fullname." """
    names = [("price", 4), ("price too", 4), ("u", 7), ("u too", 7)]
    spec = PartitionSpec(3, tuple(PartitionField((source,), 1000 + i, n, "identity") for i, (n, source) in enumerate(names)))
    values = (Number("14.00"), Number("-2.50"), bytes(range(16)), bytes(16))
    data = manifest_bytes([entry(replace(FILE, partition=values))], kind(2, spec=spec))
    listed = manifest_file("m.avro", len(data), [entry(replace(FILE, partition=values))], kind(2, spec=spec), 5, 9)
    assert [e.file.partition for part in read_manifests([listed], [data], "here") for e in records(part)] == [values]
    (tmp_path / "m.avro").write_bytes(data)
    with TheirAvro(PyArrowFileIO().new_input(str(tmp_path / "m.avro"))) as theirs:
        (found,) = theirs
    assert [found[-1][3][i] for i in range(4)][:2] == list(values[:2])


def test_a_manifest_that_is_cut_off_or_changed_is_refused_or_read_as_something():
    data = manifest_bytes([entry(), entry()], kind(2))
    listed = manifest_file("m", len(data), [entry()], kind(2), 5, 9)
    whole = [e for part in read_manifests([listed], [data], "here") for e in records(part)]
    for end in range(0, len(data), 7):
        with pytest.raises(EskerError):
            read_manifests([listed], [data[:end]], "here")
    for at in range(0, len(data), 5):
        damaged = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
        try:
            found = [e for part in read_manifests([listed], [damaged], "here") for e in records(part)]
        except EskerError:
            continue
        assert len(found) <= len(whole)


SHAPES = {
    "type": "record", "name": "r", "fields": [
        {"name": "s", "type": ["null", "string"], "field-id": 1}, {"name": "d", "type": "double", "field-id": 2},
        {"name": "l", "type": {"type": "array", "items": {"type": "array", "items": ["null", "long"]}}, "field-id": 3},
        {"name": "m", "type": {"type": "map", "values": {"type": "record", "name": "v", "fields": [{"name": "x", "type": "float"}]}}},
        {"name": "b", "type": "boolean"}, {"name": "n", "type": {"type": "array", "items": "long"}},
        {"name": "again", "type": ["null", "v"]}, {"name": "fx", "type": {"type": "fixed", "size": 3, "name": "f3"}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
def test_any_avro_file_is_read_as_fastavro_reads_it(codec):
    rows = [
        {
            "s": None if i % 3 else f"ж{i}" * (i % 5), "d": i / 7, "l": [[None if j == k else j * k - i for k in range(j)] for j in range(i % 4)],
            "m": {f"k{j}": {"x": float(j)} for j in range(i % 3)}, "b": i % 2 == 0, "n": [i * 10**k for k in range(i % 18)],
            "again": {"x": 1.0} if i % 2 else None, "fx": bytes([i % 256] * 3),
        }
        for i in range(500)
    ]  # fmt: skip
    sink = io.BytesIO()
    fastavro.writer(sink, SHAPES, rows, codec=codec, sync_interval=300)
    table, _ = read_columns([parse_avro(sink.getvalue(), "here")], "here")
    expected = [{"1": r.pop("s"), "2": r.pop("d"), "3": r.pop("l"), **r, "m": list(r["m"].items())} for r in rows]
    assert table.to_pylist() == expected


@pytest.mark.parametrize("values", [(0.0, -0.0), (-0.0, 0.0), (0.0, float("nan"), None, -0.0)])
def test_both_zeros_lie_within_what_a_list_says_of_a_partition(tmp_path, values):
    """ "If -0.0 is a value of the partition field, the `lower_bound` must not be +0.0" (Manifest Lists)"""
    table = esker.create(tmp_path / "t", "id bigint, d double", format="iceberg", partition_by=["d"])
    table.append(pa.table({"id": range(len(values)), "d": pa.array(values, pa.float64())}))
    (manifest,) = table.iceberg._state.manifests
    (found,) = manifest.partitions
    assert struct.unpack("<d", found.lower_bound)[0].hex() == (-0.0).hex()
    assert struct.unpack("<d", found.upper_bound)[0].hex() == (0.0).hex()
    assert (found.contains_nan, found.contains_null) == (len(values) > 2, len(values) > 2)
