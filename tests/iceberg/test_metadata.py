"""What must a metadata file say, and what is made of older ones?  (spec, "Table Metadata Fields", Appendix C, Appendix E)"""

import gzip
from typing import Any

import orjson
import pytest

import esker
from esker.core import types as t
from esker.core.types import Array, Decimal, Fixed, Geography, Geometry, Map, Struct, Type
from esker.iceberg.metadata import SnapshotRef
from esker.iceberg.metadata_json import metadata_json, read_metadata, write_metadata
from esker.iceberg.metadata_parsing import parse_metadata
from esker.iceberg.schema import minimum_version, parse_type, problems, type_json

SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": True, "type": "long"}]}
SNAPSHOT = {"snapshot-id": 5, "sequence-number": 1, "timestamp-ms": 9, "manifest-list": "s3://b/t/l.avro",
            "summary": {"operation": "append"}}  # fmt: skip
VALID: dict[str, Any] = {
    "format-version": 2, "table-uuid": "u", "location": "s3://b/t", "last-sequence-number": 1, "last-updated-ms": 9,
    "last-column-id": 1, "schemas": [SCHEMA], "current-schema-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}],
    "default-spec-id": 0, "last-partition-id": 999, "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
    "properties": {"a": "b"}, "current-snapshot-id": 5, "snapshots": [SNAPSHOT],
}  # fmt: skip


@pytest.mark.parametrize(
    "key",
    ["location", "table-uuid", "last-sequence-number", "last-updated-ms", "last-column-id", "schemas", "current-schema-id",
     "partition-specs", "default-spec-id", "last-partition-id", "sort-orders", "default-sort-order-id"],
)  # fmt: skip
def test_what_version_2_requires_must_be_there(key: str) -> None:
    with pytest.raises(esker.InvalidTable, match=key):
        parse_metadata({k: v for k, v in VALID.items() if k != key}, "here")


BROKEN: dict[str, dict[str, Any]] = {
    "there is no such schema": {"current-schema-id": 7},
    "there is no such spec": {"default-spec-id": 7},
    "there is no such sort order": {"default-sort-order-id": 7},
    "there is no such snapshot": {"current-snapshot-id": 6},
    "which is not there": {"refs": {"x": {"snapshot-id": 77, "type": "tag"}}},
    "main is a tag": {"refs": {"main": {"snapshot-id": 5, "type": "tag"}}},
    "the branch main is at": {"current-snapshot-id": None, "refs": {"main": {"snapshot-id": 5, "type": "branch"}}},
    "is a 'leaf'": {"refs": {"x": {"snapshot-id": 5, "type": "leaf"}}},
    "two snapshots have the same id": {"snapshots": [SNAPSHOT, SNAPSHOT]},
    "two of the schemas": {"schemas": [SCHEMA, SCHEMA]},
    "has no manifest-list": {"snapshots": [{k: v for k, v in SNAPSHOT.items() if k != "manifest-list"}]},
    "not a number": {"last-updated-ms": "x"},
    "not a list": {"snapshots": {}},
    "where a type should be": {"schemas": [{"schema-id": 0, "fields": []}]},
    "where a field should be": {"schemas": [SCHEMA | {"fields": [{"name": "x"}]}]},
}


@pytest.mark.parametrize("problem", BROKEN)
def test_what_contradicts_itself_is_refused(problem: str) -> None:
    with pytest.raises(esker.InvalidTable, match=problem):
        parse_metadata(VALID | BROKEN[problem], "here")


@pytest.mark.parametrize("version", [0, 4, 99])
def test_a_version_that_is_not_known_is_refused_by_name(version: int) -> None:
    """ "must throw an exception if a table's version is higher than the supported version" """
    with pytest.raises(esker.Unsupported, match=f"format version {version}"):
        parse_metadata(VALID | {"format-version": version}, "here")


def test_version_1_is_completed_from_its_deprecated_fields() -> None:
    old = {
        "format-version": 1, "location": "s3://b/t", "last-updated-ms": 9, "last-column-id": 1, "schema": SCHEMA,
        "partition-spec": [{"name": "id", "transform": "identity", "source-id": 1}], "current-snapshot-id": -1,
    }  # fmt: skip
    found = parse_metadata(old, "here")
    assert (found.current_snapshot_id, found.last_sequence_number, found.sort_order.order_id) == (None, 0, 0)
    # "assigned field ids sequentially in each spec starting at 1,000"
    assert (found.spec.fields[0].field_id, found.last_partition_id) == (1000, 1000)
    assert found.schema.struct.names == ("id",)


def test_there_is_always_a_main_branch() -> None:
    assert parse_metadata(VALID, "here").refs == {"main": SnapshotRef(5, "branch")}


@pytest.mark.parametrize("is_gzipped", [False, True])
def test_what_is_written_is_read_back(is_gzipped: bool) -> None:
    found = parse_metadata(VALID | {"later": {"x": 1}}, "here")
    assert read_metadata(write_metadata(found, is_gzipped=is_gzipped), "here") == found
    assert metadata_json(found)["later"] == {"x": 1}


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\x1f\x8b", gzip.compress(orjson.dumps(VALID))[:-9]])
def test_what_is_no_metadata_is_refused(data: bytes) -> None:
    with pytest.raises(esker.InvalidTable):
        read_metadata(data, "here")


TYPES: dict[str, Type] = {
    "boolean": t.BOOLEAN, "int": t.INTEGER, "long": t.LONG, "float": t.FLOAT, "double": t.DOUBLE, "date": t.DATE, "time": t.TIME,
    "timestamp": t.TIMESTAMP_NTZ, "timestamptz": t.TIMESTAMP, "timestamp_ns": t.TIMESTAMP_NTZ_NS,
    "timestamptz_ns": t.TIMESTAMP_NS, "string": t.STRING, "uuid": t.UUID, "binary": t.BINARY, "unknown": t.VOID,
    "variant": t.VARIANT, "fixed[16]": Fixed(16), "decimal(9, 2)": Decimal(9, 2), "geometry(OGC:CRS84)": Geometry(),
    "geography(EPSG:4326, karney)": Geography("EPSG:4326", "karney"),
}  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_types_are_spelled_as_the_specification_does(text: str) -> None:
    assert parse_type(text, "here") == TYPES[text]
    assert type_json(TYPES[text]) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("decimal(9,2)", Decimal(9, 2)),
        ("decimal( 9 , 2 )", Decimal(9, 2)),
        ("geometry", Geometry()),
        ("geography(X)", Geography("X")),
    ],
)
def test_blanks_and_defaults_of_types_are_understood(text: str, kind: Type) -> None:
    assert parse_type(text, "here") == kind


def test_lists_and_maps_keep_the_ids_within() -> None:
    node = {"type": "map", "key-id": 4, "key": "string", "value-id": 5, "value-required": True,
            "value": {"type": "list", "element-id": 6, "element-required": False, "element": "int"}}  # fmt: skip
    kind = parse_type(node, "here")
    assert kind == Map(t.STRING, Array(t.INTEGER, True, 6), False, 4, 5)
    assert parse_type(type_json(kind), "here") == kind
    assert minimum_version(Struct((t.Field("g", Geometry()),))) == 3


def test_a_type_that_is_not_known_is_described_and_not_read() -> None:
    schema = SCHEMA | {"fields": [{"id": 1, "name": "id", "required": True, "type": "tensor"}]}
    found = parse_metadata(VALID | {"schemas": [schema]}, "here")
    assert str(found.schema.struct.fields[0].type) == "tensor"
    assert not list(problems(found.schema))
