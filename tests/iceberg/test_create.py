"""How do tables come into being, and how do their columns change?  (spec, "Schemas and Data Types", "Schema Evolution", "Default values")"""

import datetime as dt
from decimal import Decimal as Number

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable
from pyiceberg.types import StringType

import esker
from esker.errors import InvalidRequest, Unsupported
from esker.iceberg.bounds import parse_bytes
from esker.iceberg.data_files import Metrics
from esker.iceberg.manifests import records
from esker.iceberg.partitioning import field_name, parse_term
from esker.iceberg.transforms import DAY, IDENTITY, Bucket, Truncate

ALL_TYPES = {
    "i": pa.array([1, None], pa.int32()), "l": pa.array([2**40, None], pa.int64()), "f": pa.array([1.5, float("nan")], pa.float32()),
    "d": pa.array([-0.5, None], pa.float64()), "b": pa.array([True, None]), "s": pa.array(["x" * 30, None]),
    "y": pa.array([b"\xff" * 30, None], pa.binary()), "da": pa.array([dt.date(2024, 2, 29), None]),
    "t": pa.array([dt.time(1, 2, 3), None], pa.time64("us")), "ts": pa.array([10**15, None], pa.timestamp("us")),
    "tz": pa.array([10**15, None], pa.timestamp("us", "UTC")), "n": pa.array([Number("1.25"), None], pa.decimal128(20, 2)),
    "fx": pa.array([b"abcd", None], pa.binary(4)), "li": pa.array([[1, None], None], pa.list_(pa.int32())),
    "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())), "st": pa.array([{"a": 1}, None], pa.struct({"a": pa.int64()})),
}  # fmt: skip


def table_metadata(folder):
    newest = max(folder.glob("metadata/v*.metadata.json"), key=lambda path: int(path.name[1:].partition(".")[0]))
    return StaticTable.from_metadata(str(newest))


def first_file(table):
    (entry,) = [e for part in table._table.state.files_of(table._table.state.manifests, None).data.parts for e in records(part)]
    return entry.file


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_of_every_type_come_back_to_both(version, tmp_path):
    rows = pa.table(ALL_TYPES)
    table = esker.create(tmp_path / "t", rows, format="iceberg", properties={"format-version": str(version)})
    assert str(table.to_arrow().to_pylist()) == str(rows.to_pylist())
    theirs = table_metadata(tmp_path / "t").scan().to_arrow()
    assert str(theirs.to_pylist()) == str(rows.to_pylist())


def test_bounds_of_every_type_hold_the_values(tmp_path):
    rows = pa.table(ALL_TYPES)
    table = esker.create(tmp_path / "t", rows, format="iceberg")
    file = first_file(table)
    struct = table._table.state.schema.struct
    found = {struct.fields[i - 1].name: parse_bytes(b, struct.fields[i - 1].type) for i, b in file.metrics.lower_bounds.items() if i <= len(struct)}
    assert found["i"] == 1
    assert found["s"] == "x" * 16
    assert found["n"] == Number("1.25")
    assert found["t"] == 3_723_000_000
    assert "f" not in found  # NaN is no bound, and nothing can be told of what is greater
    upper = file.metrics.upper_bounds
    ids = {f.name: f.id for f in struct}
    assert upper[ids["s"]] == b"x" * 15 + b"y"
    assert ids["y"] not in upper  # no bytes of that length are greater
    assert file.metrics.nan_value_counts[ids["f"]] == 1
    assert file.metrics.null_value_counts[ids["l"]] == 1
    assert file.split_offsets == (4,)


@pytest.mark.parametrize(
    ("mode", "has_counts", "bound"), [("none", False, None), ("counts", True, None), ("truncate(3)", True, b"xxx"), ("full", True, b"x" * 30)]
)  # fmt: skip
def test_how_much_is_kept_of_a_column_is_for_its_mode_to_say(tmp_path, mode, has_counts, bound):
    asked = {"write.metadata.metrics.default": "none", "write.metadata.metrics.column.s": mode}
    metrics = first_file(esker.create(tmp_path / "t", pa.table({"s": ["x" * 30]}), format="iceberg", properties=asked)).metrics
    assert (1 in metrics.value_counts) == has_counts
    assert metrics.lower_bounds.get(1) == bound
    assert isinstance(metrics, Metrics)


@pytest.mark.parametrize(
    ("text", "term", "name"),
    [
        ("id", (("id",), IDENTITY), "id"), ("bucket(16, id)", (("id",), Bucket(16)), "id_bucket"),
        ("truncate(4, a.b)", (("a", "b"), Truncate(4)), "a.b_trunc"), ("truncate(name, 4)", (("name",), Truncate(4)), "name_trunc"),
        ("days(ts)", (("ts",), DAY), "ts_day"), ("day( `ts` )", (("ts",), DAY), "ts_day"),
    ],
)  # fmt: skip
def test_partition_texts_say_columns_and_transforms(text, term, name):
    found = parse_term(text)
    assert (found.path, found.transform) == term
    assert field_name(found) == name


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("id bigint", {"partition_by": ["nope"]}, InvalidRequest), ("id double", {"partition_by": ["bucket(4, id)"]}, InvalidRequest),
        ("id bigint", {"partition_by": ["cube(id)"]}, InvalidRequest), ("id bigint", {"properties": {"format-version": "4"}}, Unsupported),
        ("id bigint DEFAULT 4", {}, Unsupported), ("v variant", {}, InvalidRequest), ("id bigint", {"constraints": {"a": "id > 1"}}, Unsupported),
        ("id bigint GENERATED ALWAYS AS IDENTITY", {}, Unsupported), ("id bigint", {"partition_by": ["id", "id"]}, InvalidRequest),
    ],
)  # fmt: skip
def test_what_cannot_be_a_table_is_refused_before_a_file_is_written(tmp_path, columns, options, error):
    with pytest.raises(error):
        esker.create(tmp_path / "t", columns, format="iceberg", **options)
    assert not list(tmp_path.rglob("*.json"))


def test_columns_change_and_keep_their_values(tmp_path):
    table = esker.create(tmp_path / "t", "id int, name string, s struct<a: int>", format="iceberg")
    table.append(pa.table({"id": pa.array([1], pa.int32()), "name": ["x"], "s": pa.array([{"a": 1}], pa.struct({"a": pa.int32()}))}))
    table.change_type("id", "bigint").rename_column("name", "nom").add_columns("b int", parent="s").move_column("nom", first=True)
    table.add_columns("gone int").drop_columns("gone").add_columns("gone string").set_column_comment("id", "what it is")
    table.append(pa.table({"nom": ["y"], "id": [2**40]}))
    expected = [
        {"nom": "x", "id": 1, "s": {"a": 1, "b": None}, "gone": None}, {"nom": "y", "id": 2**40, "s": None, "gone": None}
    ]  # fmt: skip
    assert table.to_arrow().sort_by("id").to_pylist() == expected
    assert table_metadata(tmp_path / "t").scan().to_arrow().sort_by("id").to_pylist() == expected
    ids = [f.id for f in table._table.state.schema.struct]
    assert len(set(ids)) == len(ids)
    assert max(ids) == table._table.state.metadata.last_column_id


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.change_type("id", "int"), lambda t: t.change_type("name", "binary"), lambda t: t.add_columns("name int"),
        lambda t: t.add_columns("x int NOT NULL"), lambda t: t.drop_columns("id"), lambda t: t.rename_column("name", "id"),
        lambda t: t.set_default("name", "'x'"), lambda t: t.add_columns("x int DEFAULT 1"), lambda t: t.drop_columns("nope"),
        lambda t: t.change_type("d", "timestamp_ntz"),
    ],
)  # fmt: skip
def test_changes_that_break_a_rule_are_refused_and_change_nothing(tmp_path, change):
    table = esker.create(tmp_path / "t", "id bigint, name string, d date", format="iceberg", partition_by=["id"])
    before = table._table.state.metadata_file
    with pytest.raises(InvalidRequest):
        change(table)
    assert esker.open(tmp_path / "t")._table.state.metadata_file == before


def test_defaults_are_given_to_rows_that_are_there_and_to_those_that_do_not_bring_them(tmp_path):
    """Default values: "initial-default" for rows from before, "write-default" for rows that lack the column."""
    table = esker.create(tmp_path / "t", pa.table({"id": [1]}), format="iceberg", properties={"format-version": "3"})
    table.add_columns("stars int NOT NULL DEFAULT 5, since date DEFAULT DATE'2024-02-29'")
    table.append(pa.table({"id": [2]}))
    table.set_default("stars", "7").append(pa.table({"id": [3]}))
    assert table.to_arrow(["id", "stars"]).sort_by("id").column("stars").to_pylist() == [5, 5, 7]
    assert table.to_arrow(["since"]).column(0).to_pylist() == [dt.date(2024, 2, 29)] * 3


def test_rows_take_new_columns_along_where_asked(tmp_path):
    table = esker.create(tmp_path / "t", pa.table({"id": pa.array([1], pa.int32())}), format="iceberg")
    with pytest.raises(InvalidRequest, match="no column extra"):
        table.append(pa.table({"id": [2], "extra": ["x"]}))
    table.append(pa.table({"id": [2**40], "extra": ["x"]}), merge_schema=True)
    assert table.to_arrow().sort_by("id").to_pylist() == [{"id": 1, "extra": None}, {"id": 2**40, "extra": "x"}]


WIDER = {
    "int to long": (pa.array([1], pa.int32()), pa.array([2**40], pa.int64())),
    "date to timestamp": (pa.array([-3653], pa.date32()), pa.array([-1], pa.timestamp("us"))),
    "a float to double": (pa.array([1.5], pa.float32()), pa.array([2.1], pa.float64())),
}


@pytest.mark.parametrize("change", WIDER)
def test_rows_of_a_wider_type_may_be_partitioned_by_it(change, tmp_path):
    """("Schema Evolution": promotion; "Manifests": the type of a partition value is that of the column as it is then)"""
    narrow, wide = WIDER[change]
    table = esker.create(
        tmp_path / "t", pa.table({"x": narrow}), format="iceberg", partition_by=["x"], properties={"format-version": "3"}
    )
    table.append(pa.table({"x": wide}), merge_schema=True)
    rows = {*narrow.cast(wide.type).to_pylist(), *wide.to_pylist()}
    for _ in range(2):
        assert set(table.to_arrow().column("x").to_pylist()) == rows
        assert set(table.to_arrow(["_partition"]).column(0).combine_chunks().field("x").to_pylist()) == rows
        table.iceberg.rewrite_manifests()


@pytest.mark.parametrize("transform", ["bucket(4, d)", "days(d)"])
def test_rows_of_a_wider_type_are_refused_where_files_are_partitioned_by_what_is_made_of_it(tmp_path, transform):
    """ "Not allowed if a partition transform on the field would change its result" (Schema Evolution)"""
    days = pa.table({"d": pa.array([-3653], pa.date32())})
    table = esker.create(tmp_path / "t", days, format="iceberg", partition_by=[transform], properties={"format-version": "3"})
    with pytest.raises(InvalidRequest, match="would change with d"):
        table.append(pa.table({"d": pa.array([-1], pa.timestamp("us"))}), merge_schema=True)


def test_a_snapshot_has_the_columns_that_its_rows_brought(tmp_path):
    """("Snapshots": "ID of the table's current schema when the snapshot was created")"""
    table = esker.create(tmp_path / "t", pa.table({"id": [1]}), format="iceberg")
    table.append(pa.table({"id": [2], "extra": ["x"]}), merge_schema=True)
    then = table.version
    table.append(pa.table({"id": [3], "more": [True]}), merge_schema=True)
    assert table.at(version=then).to_arrow().sort_by("id").to_pylist() == [{"id": 1, "extra": None}, {"id": 2, "extra": "x"}]


@pytest.mark.parametrize("name", ["commit.manifest.target-size-bytes", "commit.manifest.min-count-to-merge",
                                  "write.metadata.metrics.max-inferred-column-defaults"])  # fmt: skip
def test_a_property_that_is_to_be_a_number_and_is_none_counts_as_not_set(tmp_path, name):
    table = esker.create(tmp_path / "t", pa.table({"id": [1]}), format="iceberg", properties={name: "8 MB"})
    table.append(pa.table({"id": [2]}))
    assert table.to_arrow(where="id = 2").num_rows == 1


@pytest.mark.parametrize("codec", ["uncompressed", "GZIP", "brotli", "snappy", "lz4", "zstd"])
def test_rows_are_written_in_each_codec_that_iceberg_has(tmp_path, codec):
    asked = {"write.parquet.compression-codec": codec}
    table = esker.create(tmp_path / "t", pa.table({"id": [1]}), format="iceberg", properties=asked)
    assert table.to_arrow().num_rows == 1


def test_a_codec_that_is_none_is_refused_before_a_file_is_written(tmp_path):
    with pytest.raises(Unsupported, match="compression-codec is 'best'"):
        esker.create(tmp_path / "t", "id bigint", format="iceberg", properties={"write.parquet.compression-codec": "best"})


def test_a_write_that_was_done_is_not_done_again(tmp_path):
    table = esker.create(tmp_path / "t", "id bigint", format="iceberg")
    for _ in range(2):
        table.append(pa.table({"id": [1]}), transaction=("app", 7))
    assert table.to_arrow().num_rows == 1


def test_a_required_column_takes_no_null(tmp_path):
    table = esker.create(tmp_path / "t", "id bigint NOT NULL", format="iceberg")
    with pytest.raises(InvalidRequest, match="NOT NULL"):
        table.append(pa.table({"id": pa.array([None], pa.int64())}))
    assert not list((tmp_path / "t").rglob("*.parquet"))


def test_a_table_takes_the_place_of_another_and_keeps_its_history(tmp_path):
    old = esker.create(tmp_path / "t", pa.table({"id": [1]}), format="iceberg")
    new = esker.create(tmp_path / "t", pa.table({"name": ["x"]}), format="iceberg", if_exists="replace")
    assert new.to_arrow().to_pylist() == [{"name": "x"}]
    assert new.at(version=old.version).to_arrow().to_pylist() == [{"id": 1}]
    assert table_metadata(tmp_path / "t").scan().to_arrow().to_pylist() == [{"name": "x"}]


def test_a_table_that_takes_the_place_of_another_may_be_partitioned_otherwise(tmp_path):
    old = pa.table({"p": ["a", "b"], "id": [1, 2]})
    table = esker.create(tmp_path / "t", old, format="iceberg", partition_by=["p"])
    first = table.version
    table.overwrite(pa.table({"n": [3, 4]}), overwrite_schema=True, partition_by=["bucket(2, n)"])
    assert table.to_arrow().sort_by("n").to_pylist() == [{"n": 3}, {"n": 4}]
    assert table_metadata(tmp_path / "t").scan().to_arrow().sort_by("n").to_pylist() == [{"n": 3}, {"n": 4}]
    new = esker.create(
        tmp_path / "t", pa.table({"p": [dt.date(2024, 2, 29)]}), format="iceberg", partition_by=["p"], if_exists="replace"
    )
    assert new.to_arrow().to_pylist() == [{"p": dt.date(2024, 2, 29)}]
    assert new.at(version=first).to_arrow().sort_by("id") == old
    assert new.check() == ()


def test_summaries_count_as_the_reference_implementation_does(tmp_path):
    table = esker.create(tmp_path / "t", pa.table({"id": [1, 2], "p": ["a", "b"]}), format="iceberg", partition_by=["p"])
    summary = table._table.state.snapshot.summary
    assert summary["operation"] == "append"
    wanted = {"added-data-files": "2", "added-records": "2", "total-records": "2", "total-data-files": "2", "changed-partition-count": "2"}
    assert wanted.items() <= summary.items()
    assert summary["added-files-size"] == summary["total-files-size"]
    gone = table.overwrite(pa.table({"id": [3], "p": ["a"]}))._table.state.snapshot.summary
    expected = {"deleted-data-files": "2", "deleted-records": "2", "total-records": "1", "total-data-files": "1"}
    assert expected.items() <= gone.items()


FLOATS = pa.array([float("nan"), -0.0, None], pa.float64())
THEIRS = pa.table({
    "id": pa.array([1, 2, 3], pa.int64()), "s": ["a" * 40, "\u00e5\U0001f409" * 9, None], "f": FLOATS, "d": pa.array([-1, 0, None], pa.date32()),
    "ts": pa.array([-1, 0, 1], pa.timestamp("us", "UTC")), "n": pa.array([Number("0.01"), Number("-0.01"), None], pa.decimal128(9, 2)),
    "l": [[1, None], [], None], "st": [{"x": 1}, {"x": None}, None], "b": [b"\xff" * 20, b"", None],
})  # fmt: skip
"""What another writer may count, bound and truncate in its own way. Texts are longer than bounds, and short enough for the name of a folder."""


@pytest.mark.parametrize("version", ["1", "2"])
def test_what_pyiceberg_writes_esker_reads_and_finds_nothing_wrong_with(tmp_path, version):
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("db")
    theirs = catalog.create_table("db.t", THEIRS.schema, properties={"format-version": version})
    with theirs.update_spec() as spec:
        spec.add_identity("s")
    theirs.append(THEIRS)
    theirs.delete("id = 2")
    with theirs.update_schema() as schema:
        schema.add_column("more", StringType())
        schema.rename_column("n", "number")
        schema.delete_column("d")
    with theirs.update_spec() as spec:
        spec.remove_field("s")
    if version == "1":
        with theirs.transaction() as transaction:
            transaction.upgrade_table_version(2)
    theirs.append(THEIRS.drop_columns("d").rename_columns({"n": "number"}).slice(0, 1))
    found = esker.open(theirs.metadata_location.removeprefix("file://"))
    rows = found.to_arrow(["id", "s", "number", "more"]).sort_by("id")
    first = {"id": 1, "s": "a" * 40, "number": Number("0.01"), "more": None}
    assert rows.to_pylist() == [first, first, {"id": 3, "s": None, "number": None, "more": None}]
    assert found.check(deep=True) == ()
