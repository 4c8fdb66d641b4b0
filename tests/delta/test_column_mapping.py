"""Under which names and ids the files keep the columns.  (PROTOCOL.md, "Column Mapping")"""

from typing import Any

import pyarrow as pa
import pytest

from esker.core import types as t
from esker.core.types import Array, Field, Map, Struct, Type
from esker.errors import InvalidTable
from tests.delta.tables import Log, metadata, protocol

FIELD_ID = b"PARQUET:field_id"


def column(name: str, kind: Type, id: int, physical: str | None = None, **metadata: Any) -> Field:
    """A column whose physical name is `col-<id>`."""
    mapping = {"delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical or f"col-{id}"}
    return Field(name, kind, True, None, mapping | metadata)


def stored(name: str, kind: pa.DataType, id: int | None) -> pa.Field:
    return pa.field(name, kind, metadata=None if id is None else {FIELD_ID: str(id).encode()})


SCHEMA = Struct(
    (
        column("id", t.LONG, 1),
        column("s", Struct((column("x", t.LONG, 3), column("y", t.STRING, 4))), 2),
        column("l", Array(Struct((column("x", t.LONG, 6),))), 5),
        column("m", Map(t.STRING, Struct((column("x", t.LONG, 8),))), 7),
    )
)
ROWS = [{"id": 1, "s": {"x": 2, "y": "z"}, "l": [{"x": 3}, None, {"x": None}], "m": [("k", {"x": 4})]},
        {"id": 2, "s": None, "l": None, "m": None}]  # fmt: skip


def physical(names: bool, numbers: bool) -> pa.Table:
    """The rows as a file has them; without `names` under others, without `numbers` without ids."""

    def field(id: int, kind: pa.DataType) -> pa.Field:
        return stored(f"col-{id}" if names else f"other-{id}", kind, id if numbers else None)

    element = pa.struct([field(6, pa.int64())])
    value = pa.struct([field(8, pa.int64())])
    fields = [field(1, pa.int64()), field(2, pa.struct([field(4, pa.string()), field(3, pa.int64())])),
              field(5, pa.list_(element)), field(7, pa.map_(pa.string(), value))]  # fmt: skip
    called = {i: f"col-{i}" if names else f"other-{i}" for i in range(1, 9)}
    rows = [
        {
            called[1]: row["id"],
            called[2]: row["s"] and {called[3]: row["s"]["x"], called[4]: row["s"]["y"]},
            called[5]: row["l"] and [e and {called[6]: e["x"]} for e in row["l"]],
            called[7]: row["m"] and [(k, {called[8]: v["x"]}) for k, v in row["m"]],
        }
        for row in ROWS
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def mapped(mode: str, schema: Struct = SCHEMA, **settings: Any) -> Log:
    return Log().start(schema, features=["columnMapping"], delta__columnMapping__mode=mode, **settings)


CASES = [("name", True, True), ("name", True, False), ("id", True, True), ("id", False, True)]


@pytest.mark.parametrize("mode, names, numbers", CASES)
def test_columns_are_found_at_every_depth_by_the_name_or_the_id_that_the_mode_says(
    mode: str, names: bool, numbers: bool
) -> None:
    """ "readers must resolve columns by using the `field_id`"; "by their physical names"  (Reader Requirements)"""
    log = mapped(mode)
    log.commit(log.data("a.parquet", physical(names, numbers)))
    assert log.open().to_arrow().to_pylist() == ROWS
    assert log.open().to_arrow(columns=["m", "id"]).column_names == ["m", "id"]


def test_columns_that_a_file_does_not_have_are_null() -> None:
    """ "For columns that are not found in the files, `null`s need to be returned"  (Reader Requirements for Column Mapping)"""
    log = mapped("name")
    log.commit(log.data("a.parquet", physical(False, True)))
    assert log.open().to_arrow().to_pylist() == [dict.fromkeys(("id", "s", "l", "m"))] * 2


def test_a_file_without_ids_is_refused_where_columns_go_by_id() -> None:
    """ "If a data file does not contain field ids, readers must refuse to read that file or return nulls for each column" """
    log = mapped("id")
    log.commit(log.data("a.parquet", physical(True, False)))
    with pytest.raises(InvalidTable, match="no field ids"):
        log.open().to_arrow()


def test_a_renamed_column_keeps_its_values_and_a_new_one_of_the_old_name_has_none() -> None:
    log = mapped("name", Struct((column("a", t.LONG, 1),)))
    log.commit(log.data("a.parquet", pa.table({"col-1": [7]})))
    renamed = Struct((column("b", t.LONG, 1), column("a", t.LONG, 2)))
    log.commit(metadata(renamed, delta__columnMapping__mode="name"))
    assert log.open().to_arrow().to_pylist() == [{"b": 7, "a": None}]
    assert log.open(version=1).to_arrow().to_pylist() == [{"a": 7}]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_partition_values_and_statistics_go_by_physical_names(mode: str) -> None:
    """ "Partition values and column level statistics must be resolved by their *physical names*"  (Reader Requirements)"""
    schema = Struct((column("id", t.LONG, 1), column("p", t.STRING, 2), column("s", Struct((column("x", t.LONG, 4),)), 3)))
    log = mapped(mode, schema, partition_by=["p"])
    for i in (1, 2):
        fields = [stored("col-1", pa.int64(), 1), stored("col-3", pa.struct([stored("col-4", pa.int64(), 4)]), 3)]
        rows = pa.table([[i], [{"col-4": i}]], schema=pa.schema(fields))
        bounds = {"col-1": i, "col-3": {"col-4": i}}
        stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"col-1": 0, "col-3": {"col-4": 0}}}
        log.commit(log.data(f"f{i}.parquet", rows, stats=stats, partition={"col-2": f"p{i}"}))
    table = log.open()
    assert table.to_arrow().to_pylist() == [{"id": i, "p": f"p{i}", "s": {"x": i}} for i in (1, 2)]
    assert table.files()["partition"].to_pylist() == [{"p": "p1"}, {"p": "p2"}]
    assert table.files()["min"].to_pylist() == [{"id": 1, "s.x": 1}, {"id": 2, "s.x": 2}]
    log.storage.delete("f1.parquet")
    for where in ("id = 2", "p = 'p2'", "s.x > 1"):
        assert log.open().to_arrow(where=where)["id"].to_pylist() == [2]


@pytest.mark.parametrize("version", [protocol(), protocol("deletionVectors"), protocol(reader=1, writer=3)])
def test_the_mode_is_ignored_where_the_protocol_does_not_have_the_feature(version: dict[str, Any]) -> None:
    """ "The table property should only be honored if the table's protocol has [...] versions and/or table features that support"
    it.  (PROTOCOL.md, "Column Mapping")"""
    log = Log().start(Struct((column("id", t.LONG, 1),)), delta__columnMapping__mode="name")
    log.commit(version, log.data("a.parquet", pa.table({"id": [1], "col-1": [2]})))
    assert log.open().to_arrow().to_pylist() == [{"id": 1}]


def test_legacy_reader_version_2_has_column_mapping() -> None:
    """ "For readers this is Reader Version 2"  (PROTOCOL.md, "Column Mapping")"""
    log = Log()
    log.commit(protocol(reader=2, writer=5), metadata(Struct((column("id", t.LONG, 1),)), delta__columnMapping__mode="name"))
    log.commit(log.data("a.parquet", pa.table({"id": [1], "col-1": [2]})))
    assert log.open().to_arrow().to_pylist() == [{"id": 2}]


@pytest.mark.parametrize("mode", ["none", "NONE", None])
def test_without_a_mode_columns_go_by_their_visible_names(mode: str | None) -> None:
    """ "In `none` mode [...] readers must read the parquet files by using the display names"  (Reader Requirements)"""
    settings = {} if mode is None else {"delta__columnMapping__mode": mode}
    log = Log().start(Struct((column("id", t.LONG, 1),)), features=["columnMapping"], **settings)
    log.commit(log.data("a.parquet", pa.table({"id": [1], "col-1": [2]})))
    assert log.open().to_arrow().to_pylist() == [{"id": 1}]


INVALID = [
    ("an unknown mode", "both", Struct((column("id", t.LONG, 1),))),
    ("no physical name", "name", Struct((Field("id", t.LONG),))),
    ("no id", "id", Struct((Field("id", t.LONG, metadata={"delta.columnMapping.physicalName": "x"}),))),
    ("no physical name inside", "name", Struct((column("s", Struct((Field("x", t.LONG),)), 1),))),
    ("a physical name twice", "name", Struct((column("a", t.LONG, 1, "c"), column("b", t.LONG, 2, "c")))),
    ("an id that is a text", "id", Struct((Field("id", t.LONG, metadata={"delta.columnMapping.id": "1",
                                                                         "delta.columnMapping.physicalName": "x"}),))),
]  # fmt: skip


@pytest.mark.parametrize("mode, schema", [case[1:] for case in INVALID], ids=[case[0] for case in INVALID])
def test_a_mapping_that_is_not_whole_is_described_and_not_read(mode: str, schema: Struct) -> None:
    """ "every column - nested or leaf - is assigned a unique _physical_ name, and a unique 32-bit integer"."""
    log = mapped(mode, schema)
    assert log.open().describe().version == 0
    with pytest.raises(InvalidTable):
        log.open().to_arrow()
