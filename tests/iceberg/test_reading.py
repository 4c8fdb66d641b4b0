"""What do rows look like that were written under other schemas, specs and names?  (spec, "Column Projection", "Scan Planning")"""

import io
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal as Number
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc

import esker
from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Struct
from esker.iceberg.data_files import DataFile
from esker.iceberg.manifest_lists import parse_manifest_list
from esker.iceberg.metadata import PartitionField, PartitionSpec, SnapshotRef
from esker.iceberg.metadata_json import write_metadata
from esker.iceberg.schema import Schema
from tests.iceberg.tables import LOCATION, Builder, rows_of, spec

SCHEMA = Struct((Field("id", t.LONG, id=1), Field("city", t.STRING, id=2)))


def _rows(*ids: int, city: str = "Oslo") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "city": [city] * len(ids)})


def _evolved(table: Builder, *fields: Field) -> None:
    schema = Schema(Struct(fields), len(table.metadata.schemas))
    table.metadata = replace(
        table.metadata, schemas=(*table.metadata.schemas, schema), current_schema_id=schema.schema_id
    )


def test_columns_are_found_by_id_whatever_they_are_called_now() -> None:
    """The specification's own example: renamed, reordered, and a new column under the name of an old one."""
    table = Builder(Struct((Field("a", t.INTEGER, id=1), Field("b", t.STRING, id=2), Field("c", t.DOUBLE, id=3))))
    table.commit(table.data(pa.table({"a": pa.array([1], pa.int32()), "b": ["x"], "c": [0.5]})))
    _evolved(table, Field("measurement", t.DOUBLE, id=3), Field("name", t.STRING, id=2), Field("a", t.INTEGER, id=4))
    assert table.open().to_arrow().to_pylist() == [{"measurement": 0.5, "name": "x", "a": None}]


@pytest.mark.parametrize(
    ("old", "new", "value", "wanted"),
    [
        (t.INTEGER, t.LONG, 7, 7), (t.FLOAT, t.DOUBLE, 0.5, 0.5), (Decimal(5, 2), Decimal(20, 2), Number("1.25"), Number("1.25")),
        (t.DATE, t.TIMESTAMP_NTZ, date(2026, 1, 2), datetime(2026, 1, 2)),
    ],
)  # fmt: skip
def test_a_promoted_column_is_read_in_its_new_type(old: t.Type, new: t.Type, value: Any, wanted: Any) -> None:
    table = Builder(Struct((Field("x", old, id=1),)), version=3)
    table.commit(table.data(pa.table({"x": pa.array([value], esker.core.arrow_types.to_arrow(old))})))
    _evolved(table, Field("x", new, id=1))
    opened = table.open()
    assert opened.to_arrow().to_pylist() == [{"x": wanted}]
    literal = f"'{wanted}'" if isinstance(wanted, datetime) else wanted
    assert opened.to_arrow(where=f"x = {literal}").num_rows == 1  # by bounds that were written in the old type


def test_rows_from_before_a_column_have_its_initial_default_also_in_structs() -> None:
    inner = Struct((Field("a", t.LONG, id=3), Field("b", t.STRING, id=4, metadata={"initial-default": "none"})))
    table = Builder(SCHEMA, version=3)
    table.commit(table.data(_rows(1)))
    _evolved(
        table, *SCHEMA.fields, Field("level", t.INTEGER, False, 5, {"initial-default": 7}),
        Field("s", inner, True, 6, {"initial-default": {}}), Field("day", t.DATE, True, 7, {"initial-default": "2026-01-02"}),
        Field("u", t.UUID, True, 8, {"initial-default": "f79c3e09-677c-4bbd-a479-3f349cb785e7"}),
    )  # fmt: skip
    (row,) = table.open().to_arrow().to_pylist()
    assert row == {
        "id": 1, "city": "Oslo", "level": 7, "s": {"a": None, "b": "none"}, "day": date(2026, 1, 2),
        "u": bytes.fromhex("f79c3e09677c4bbda4793f349cb785e7"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "stored", "value"),
    [
        (t.TIMESTAMP_NTZ, {"type": "long", "logicalType": "local-timestamp-millis"}, datetime(1960, 1, 1, 0, 0, 0, 1000)),
        (t.TIMESTAMP, {"type": "long", "logicalType": "timestamp-millis"}, datetime(2026, 1, 1, 0, 0, 0, 999000, UTC)),
        (t.TIME, {"type": "int", "logicalType": "time-millis"}, time(1, 2, 3, 4000)),
        (t.TIME, pa.time32("ms"), time(1, 2, 3, 4000)),
    ],
)
def test_times_in_milliseconds_are_read_from_files_that_iceberg_did_not_write(kind: t.Type, stored: Any, value: Any) -> None:
    """Iceberg writes microseconds (Appendix A), and a table of Hive that became an Iceberg table has the files that it had."""
    table = Builder(Struct((Field("at", kind, id=1),)))
    if isinstance(stored, dict):
        sink = io.BytesIO()
        member = {"name": "at", "type": ["null", stored], "field-id": 1}
        fastavro.writer(sink, {"type": "record", "name": "table", "fields": [member]}, [{"at": value}, {"at": None}])
        table.storage.put("data/a.avro", sink.getvalue())
        table.commit(DataFile(f"{LOCATION}/data/a.avro", "AVRO", 2, len(sink.getvalue()), 0))
    else:
        table.commit(table.data(pa.table({"at": pa.array([value, None], stored)}), with_ids=False, stats=False))
    assert table.open().to_arrow().column("at").to_pylist() == [value, None]


def test_an_orc_file_with_a_moment_that_arrow_cannot_hold_is_not_called_broken() -> None:
    table = Builder(Struct((Field("id", t.LONG, id=1), Field("until", t.TIMESTAMP_NTZ, id=2))))
    fields = [pa.field("id", pa.int64(), True, {"iceberg.id": "1"}), pa.field("until", pa.timestamp("us"), True, {"iceberg.id": "2"})]
    sink = io.BytesIO()
    orc.write_table(pa.table([[1], [datetime(9999, 12, 31)]], schema=pa.schema(fields)), sink)
    table.storage.put("data/a.orc", sink.getvalue())
    table.commit(DataFile(f"{LOCATION}/data/a.orc", "ORC", 1, len(sink.getvalue()), 0))
    with pytest.raises(esker.Unsupported, match=r"a\.orc: a timestamp in an ORC file"):
        table.open().to_arrow()
    assert table.open().to_arrow(["id"]).to_pylist() == [{"id": 1}]


def test_a_partition_value_stands_for_a_column_that_the_file_lacks() -> None:
    table = Builder(SCHEMA, (spec(0, (2, "identity")), spec(1)))
    table.commit(table.data(_rows(1).select(["id"]), ["Rome"]), table.data(_rows(2), spec_id=1))
    opened = table.open()
    assert rows_of(opened.to_arrow()) == [{"id": 1, "city": "Rome"}, {"id": 2, "city": "Oslo"}]
    assert opened.to_arrow(where="city = 'Rome'").num_rows == 1


def test_files_without_ids_are_read_by_the_tables_mapping_of_names() -> None:
    mapping = '[{"field-id": 1, "names": ["id", "number"]}, {"field-id": 2, "names": ["city"]}]'
    table = Builder(SCHEMA, properties={"schema.name-mapping.default": mapping})
    old = pa.table({"number": pa.array([1], pa.int64()), "town": ["Bergen"]})
    table.commit(table.data(_rows(2)), table.data(old, with_ids=False, stats=False))
    assert rows_of(table.open().to_arrow()) == [{"id": 1, "city": None}, {"id": 2, "city": "Oslo"}]


def test_metadata_columns_tell_where_a_row_lies() -> None:
    specs = (spec(0, (2, "identity")), spec(1, (1, "bucket[4]")))
    table = Builder(SCHEMA, specs, version=3)
    table.commit(table.data(_rows(1, 2), ["Oslo"]), table.data(_rows(3), [2], 1))
    found = table.open().to_arrow(
        ["id", "_file", "_pos", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"]
    )
    names = [f.name for s in specs for f in s.fields]
    oslo, bucket = {names[0]: "Oslo", names[1]: None}, {names[0]: None, names[1]: 2}
    assert [list(row.values()) for row in sorted(found.to_pylist(), key=lambda row: row["id"])] == [
        [1, f"{LOCATION}/data/1.parquet", 0, 0, oslo, 0, 1],
        [2, f"{LOCATION}/data/1.parquet", 1, 0, oslo, 1, 1],
        [3, f"{LOCATION}/data/2.parquet", 0, 1, bucket, 0, 1],
    ]


def test_a_filter_by_partition_is_not_held_against_the_column_of_the_same_id() -> None:
    """Partition fields have ids from 1000 on, as the columns of a wide table have. ("Partition Specs", "Reserved Field IDs")"""
    by_city = PartitionSpec(0, (PartitionField((2,), 1000, "city", "identity"),))
    table = Builder(Struct((*SCHEMA.fields, Field("wide", t.STRING, id=1000))), (by_city,))
    for city in ("Oslo", "Rome"):
        table.commit(table.data(_rows(1, city=city).append_column("wide", [["far off"]]), [city]))
    assert table.open().to_arrow(where="_partition.city = 'Oslo'").num_rows == 1


def test_snapshots_are_reached_by_id_time_branch_and_tag() -> None:
    table = Builder(SCHEMA)
    first = table.commit(table.data(_rows(1)))
    _evolved(table, SCHEMA.fields[0])
    table.commit(table.data(_rows(2)))
    table.metadata = replace(table.metadata, refs={**table.metadata.refs, "then": SnapshotRef(first, "tag")})
    table.commit(table.data(_rows(3)), branch="work")
    opened = table.open()
    assert opened.to_arrow().to_pylist() == [{"id": 1}, {"id": 2}]
    assert opened.at(first).to_arrow().to_pylist() == [{"id": 1, "city": "Oslo"}]
    assert opened.at(ref="then").to_arrow().column_names == ["id", "city"]
    assert table.open(ref="work").to_arrow().to_pylist() == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert table.open(timestamp=datetime.fromtimestamp(100.5, UTC)).version == first
    for missing in (
        {"version": 5},
        {"ref": "none"},
        {"timestamp": datetime.fromtimestamp(1, UTC)},
        {"version": 100, "ref": "x"},
    ):
        with pytest.raises(esker.InvalidRequest):
            table.open(**missing)


def test_the_newest_snapshot_and_a_tag_on_it_have_the_columns_of_their_time_too() -> None:
    """What is asked for by its id does not change when the table's columns do."""
    table = Builder(SCHEMA)
    first = table.commit(table.data(_rows(1)))
    _evolved(table, SCHEMA.fields[0])
    table.metadata = replace(table.metadata, refs={**table.metadata.refs, "then": SnapshotRef(first, "tag")})
    opened = table.open()
    assert opened.to_arrow().column_names == ["id"]
    assert opened.at(ref="main").to_arrow().column_names == ["id"]
    for of_then in (opened.at(first), opened.at(ref="then"), table.open(timestamp=datetime.fromtimestamp(100.5, UTC))):
        assert of_then.to_arrow().to_pylist() == [{"id": 1, "city": "Oslo"}]


def test_metadata_tables_have_a_row_for_each_thing_of_their_kind() -> None:
    table = Builder(SCHEMA, (spec(0, (2, "identity")),))
    one, two = table.data(_rows(1, 2), ["Oslo"]), table.data(_rows(3, city="Rome"), ["Rome"])
    table.commit(one, two)
    table.commit(table.positions([(one, 0)], ["Oslo"]))
    opened = table.open()
    counted = {name: opened.metadata(name).num_rows for name in (
        "snapshots", "history", "refs", "metadata_log_entries", "manifests", "entries", "files", "data_files", "delete_files",
        "partitions")}  # fmt: skip
    assert counted == {"snapshots": 2, "history": 2, "refs": 1, "metadata_log_entries": 1, "manifests": 2, "entries": 3,
                       "files": 3, "data_files": 2, "delete_files": 1, "partitions": 2}  # fmt: skip
    partition = opened.metadata("partitions").to_pylist()[0]
    assert (partition["record_count"], partition["position_delete_record_count"]) == (2, 1)
    assert opened.metadata("data_files").column("max").to_pylist()[0] == {"id": 2, "city": "Oslo"}
    with pytest.raises(esker.InvalidRequest, match="there are snapshots"):
        opened.metadata("nothing")


def test_a_table_that_another_has_taken_the_place_of_is_not_taken_for_it() -> None:
    """ "must throw an exception if a table's UUID does not match the expected UUID after refreshing metadata" """
    table = Builder(SCHEMA)
    first = table.commit(table.data(_rows(1)))
    opened = table.open()
    table.metadata = replace(table.metadata, table_uuid="11111111-0000-4000-8000-000000000001")
    table.publish()
    with pytest.raises(esker.InvalidTable, match="replaced"):
        opened.at(first)


def test_a_format_version_that_is_not_known_is_refused_by_name() -> None:
    table = Builder(SCHEMA)
    table.commit(table.data(_rows(1)))
    data = write_metadata(table.metadata).replace(b'"format-version":2', b'"format-version":4')
    table.storage.put("metadata/v1.metadata.json", data)
    with pytest.raises(esker.Unsupported, match="format version 4"):
        esker.open(table.storage.url)


def test_an_unknown_transform_keeps_no_row_from_being_read() -> None:
    """ "v3 readers must read the table, ignoring the field for filtering" """
    odd = spec(0, (1, "identity"))
    odd = replace(odd, fields=(replace(odd.fields[0], transform="zorder[3]"),))
    table = Builder(SCHEMA, (spec(1), odd))
    table.commit(table.data(_rows(1, 2), spec_id=1))
    table.metadata = replace(table.metadata, default_spec_id=0)
    assert table.open().to_arrow(where="id = 2").num_rows == 1


def test_a_snapshot_of_version_1_may_name_its_manifests_itself() -> None:
    """Snapshots: "manifests: A list of manifest file locations. Must be omitted if manifest-list is present" """
    table = Builder(SCHEMA, version=1)
    table.commit(table.data(_rows(1, 2)))
    table.commit(table.data(_rows(3)), table.data(_rows(4)), table.data(_rows(5)))
    snapshot = table.metadata.snapshots[-1]
    listed = table.storage.read((snapshot.manifest_list or "").removeprefix(f"{LOCATION}/"))
    named = tuple(manifest.manifest_path for manifest in parse_manifest_list(listed, "a test"))
    assert len(named) == 2
    alone = replace(snapshot, manifest_list=None, manifests=named, parent_snapshot_id=None)
    table.metadata = replace(table.metadata, snapshots=(alone,), snapshot_log=())
    opened = table.open()
    assert sorted(opened.to_arrow(["id"]).column("id").to_pylist()) == [1, 2, 3, 4, 5]
    assert opened.to_arrow(["id"], where="id = 4").to_pylist() == [{"id": 4}]
    assert opened.metadata("manifests").column("path").to_pylist() == [f"{LOCATION}/{p.rpartition('t/')[2]}" for p in named]


def test_shapes_are_read_as_their_bytes_and_not_written() -> None:
    """ "Geometry: Well-known binary" (Appendix D)."""
    shaped = Struct((Field("id", t.LONG, id=1), Field("g", t.Geometry(), id=2), Field("h", t.Geography(), id=3)))
    point = bytes.fromhex("0101000000000000000000f03f0000000000000040")
    rows = pa.table({"id": [1, 2], "g": pa.array([point, None], pa.binary()), "h": pa.array([None, point], pa.binary())})
    table = Builder(shaped, version=3)
    table.commit(table.data(rows, stats=False))
    opened = table.open()
    assert opened.to_arrow().to_pylist() == rows.to_pylist()
    assert opened.to_arrow(["id"], where="g IS NULL").to_pylist() == [{"id": 2}]
    table.metadata = replace(table.metadata, location=table.storage.url)
    with pytest.raises(esker.Unsupported, match="type_geometry"):
        table.open().append(rows)


def test_a_list_of_structs_is_read_by_the_ids_within() -> None:
    old = Struct((Field("x", t.LONG, id=4), Field("y", t.LONG, id=5)))
    table = Builder(Struct((Field("l", Array(old, element_id=2), id=1),)))
    kind = pa.list_(pa.struct([("x", pa.int64()), ("y", pa.int64())]))
    table.commit(table.data(pa.table({"l": pa.array([[{"x": 1, "y": 2}], None, []], kind)})))
    new = Struct((Field("y2", t.LONG, id=5), Field("z", t.LONG, id=6)))
    _evolved(table, Field("l", Array(new, element_id=2), id=1))
    assert table.open().to_arrow().column("l").to_pylist() == [[{"y2": 2, "z": None}], None, []]


def test_a_manifest_of_a_spec_that_the_table_does_not_have_is_refused() -> None:
    """ "must be listed in table metadata `partition-specs`" (Manifest Lists)"""
    table = Builder(SCHEMA, (spec(0), spec(1)))
    table.commit(table.data(_rows(1), spec_id=1))
    table.metadata = replace(table.metadata, partition_specs=table.metadata.partition_specs[:1], default_spec_id=0)
    with pytest.raises(esker.InvalidTable, match="partition specs"):
        table.open().to_arrow()


def test_a_file_with_two_columns_of_one_name_is_refused_where_one_of_them_is_read() -> None:
    twice = Struct((Field("id", t.LONG, id=1), Field("k", t.LONG, id=2)))
    table = Builder(twice)
    _evolved(table, Field("id", t.LONG, id=1), Field("k", t.LONG, id=3))
    table.commit(table.data(pa.table({"id": [1], "k": [2]}), fields=(*twice, Field("k", t.LONG, id=3))))
    assert table.open().to_arrow(["id"]).to_pylist() == [{"id": 1}]
    with pytest.raises(esker.Unsupported, match="two columns k"):
        table.open().to_arrow()


def _field(source: int, transform: str, field_id: int = 1000, name: str = "part") -> PartitionField:
    return PartitionField((source,), field_id, name, transform)


NUMBERS = Struct(tuple(Field(name, t.LONG, id=at) for at, name in enumerate("iab", 1)))


def _numbers(i: int, a: int, b: int) -> pa.Table:
    return pa.table({"i": pa.array([i]), "a": pa.array([a]), "b": pa.array([b])})


@pytest.mark.parametrize("version", [1, 2])
def test_a_field_that_version_1_dropped_says_nothing_of_files_written_since(version: int) -> None:
    """ "Partition Evolution": in version 1 a field is not taken out of a spec, it becomes `void` under its id."""
    dropped = tuple(PartitionSpec(at, (_field(2, text),)) for at, text in enumerate(("identity", "void")))
    table = Builder(NUMBERS, dropped, version)
    table.commit(table.data(_numbers(1, 10, 100), [10], 0), table.data(_numbers(2, 20, 200), [None], 1))
    opened = table.open()
    assert rows_of(opened.to_arrow()) == [{"i": 1, "a": 10, "b": 100}, {"i": 2, "a": 20, "b": 200}]
    for condition, found in (("a = 20", [2]), ("a = 10", [1]), ("a IS NULL", []), ("a > 5", [1, 2])):
        assert sorted(opened.to_arrow(["i"], where=condition).column("i").to_pylist()) == found, condition
    partitions = {row["i"]: row["_partition"] for row in opened.to_arrow(["i", "_partition"]).to_pylist()}
    assert partitions == {1: {"part": 10}, 2: {"part": None}}


def test_specs_of_version_1_may_give_one_id_to_fields_of_different_columns() -> None:
    """ "Partition Specs": "In v1, partition field IDs were not tracked, but were assigned sequentially starting at 1000" """
    table = Builder(NUMBERS, (PartitionSpec(0, (_field(2, "identity"),)), PartitionSpec(1, (_field(3, "identity"),))), 1)
    table.commit(table.data(_numbers(1, 10, 100), [10], 0), table.data(_numbers(2, 20, 200), [200], 1))
    opened = table.open()
    assert rows_of(opened.to_arrow()) == [{"i": 1, "a": 10, "b": 100}, {"i": 2, "a": 20, "b": 200}]
    for condition, found in (("a = 20", [2]), ("b = 100", [1]), ("a = 200", []), ("b = 200", [2])):
        assert opened.to_arrow(["i"], where=condition).column("i").to_pylist() == found, condition
    partitions = {row["i"]: tuple(row["_partition"].values()) for row in opened.to_arrow(["i", "_partition"]).to_pylist()}
    assert partitions == {1: (10, None), 2: (None, 200)}
    assert opened.metadata("partitions").num_rows == 2
