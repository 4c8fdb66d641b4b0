"""What is written, by whom it is read, and what is refused before anything is."""

import pickle
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.arrow import bfloat16_array

import esker
from esker.core.merge import InsertRow, Merge, UpdateRow
from esker.core.schema_changes import SetNotNull
from esker.core.write import FragmentForm, WriteOptions
from esker.errors import Conflict, EskerError, InvalidRequest, Unsupported
from esker.lance.row_specs import has_stable_ids
from esker.rows import row_source
from tests.arrow_editor import ArrowMerger
from tests.lance.tables import ROWS, editor, made, rows


def _ids(table: esker.Table) -> dict[int, int]:
    """Row ids by ids."""
    found = table.to_arrow(columns=["id", "_rowid"]).to_pydict()
    return dict(zip(found["id"], found["_rowid"], strict=True))


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("names, stable", [("V1", False), ("V2", True)])
def test_a_table_is_created_as_it_is_wanted(tmp_path: Path, version: str, names: str, stable: bool) -> None:
    table = made(
        tmp_path / "t",
        properties={"lance.data_storage_version": version, "lance.manifest_names": names},
        features=["STABLE_ROW_IDS"] if stable else [],
    )
    dataset = lance.dataset(str(tmp_path / "t"))
    assert table.version == 1
    assert dataset.data_storage_version == version
    assert dataset.has_stable_row_ids is stable
    assert table._table.snapshot.file.naming.value == names  # type: ignore[attr-defined]
    assert dataset.to_table() == ROWS
    assert not table.check(deep=True)


@pytest.mark.parametrize("options, said", [
    ({"partition_by": ["id"]}, "neither partitions"), ({"constraints": {"c": "id > 0"}}, "no constraints"),
    ({"features": ["DELETION_FILES"]}, "follow from content"), ({"properties": {"lance.data_storage_version": "2.3"}}, "2.3"),
    ({"properties": {"lance.manifest_names": "V9"}}, "V1 or V2"),
])
def test_what_lance_has_not_is_refused_before_anything_is_written(tmp_path: Path, options: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        made(tmp_path / "t", **options)
    assert not (tmp_path / "t").exists()


def test_a_table_is_not_created_twice(tmp_path: Path) -> None:
    made(tmp_path / "t")
    with pytest.raises(InvalidRequest, match="there is a table"):
        made(tmp_path / "t")
    assert made(tmp_path / "t", if_exists="ignore").version == 1
    assert made(tmp_path / "t", pa.table({"k": [1]}), if_exists="replace").schema.names == ("k",)
    with pytest.raises(InvalidRequest, match="format lance"):
        esker.create(tmp_path / "t", ROWS, format="delta")


def test_rows_are_written_wherever_their_buffers_lie(tmp_path: Path) -> None:
    """Spark's stream aligns nothing to more than 8 bytes; pylance panics at a decimal that is not at a multiple of 16."""
    numbers = pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(10, 2))
    askew = pa.Array.from_buffers(numbers.type, 3, [None if buffer is None else _askew(buffer) for buffer in numbers.buffers()])
    rows = pa.table({"n": askew, "st": pa.StructArray.from_arrays([askew], ["n"])})
    assert any(buffer.address % 16 for buffer in askew.buffers())
    assert esker.create(tmp_path / "t", rows, format="lance").to_arrow() == rows


@pytest.mark.parametrize("values", [
    pa.array(['{"a":1}', None], pa.json_()), pa.array([Decimal(10) ** 50, None], pa.decimal256(60, 0)),
    pa.array(["x", None]).dictionary_encode(), pa.array([[0.5, 1.0], None], pa.list_(pa.float16(), 2)),
    pa.array([[{"d": Decimal("1.5")}], None]), pa.array([1, None], pa.timestamp("ns", "Europe/Oslo")), pa.array([1, None], pa.duration("s")),
    pa.StructArray.from_arrays([pa.array(['{"a":1}', None], pa.json_())], ["j"]),
    pa.ListArray.from_arrays([0, 1, 2], pa.array(['{"a":1}', None], pa.json_())),
    bfloat16_array([0.5, None]), pa.FixedSizeListArray.from_arrays(bfloat16_array([0.5, 1.0, 1.5, 2.0]), 2),
])
def test_rows_of_a_type_that_only_lance_has_are_written_as_they_were_read(tmp_path: Path, values: pa.Array) -> None:
    schema = lance.write_dataset(pa.table({"id": [1, 2], "v": values}), str(tmp_path / "t")).schema
    table = esker.open(tmp_path / "t")
    rows = table.to_arrow()
    table.append(rows)
    assert table.to_arrow() == pa.concat_tables([rows, rows])
    assert table.overwrite(rows).to_arrow() == rows
    table._table.update({"id": "7"}, "id = 2", editor())
    assert esker.open(tmp_path / "t").to_arrow().sort_by("id").column("v") == rows.column("v")
    assert lance.dataset(str(tmp_path / "t")).count_rows() == 2
    assert lance.dataset(str(tmp_path / "t")).schema == schema


def test_a_schema_that_goes_to_workers_says_what_the_elements_of_vectors_are() -> None:
    item = pa.field("item", pa.binary(2), metadata={"ARROW:extension:name": "lance.bfloat16"})
    form = FragmentForm(pa.schema([pa.field("v", pa.list_(pa.field("item", pa.list_(item, 2)), 3))]), "2.1")
    assert pickle.loads(pickle.dumps(form)).schema.field("v").type.equals(form.schema.field("v").type, check_metadata=True)


def test_bytes_of_any_length_are_brought_for_those_of_a_fixed_one(tmp_path: Path) -> None:
    """As Spark has them. What has another length is refused."""
    table = esker.create(tmp_path / "t", pa.table({"b": pa.array([b"ab"], pa.binary(2))}), format="lance")
    table.append(pa.table({"b": pa.array([b"cd", None])}))
    assert table.to_arrow().column("b").to_pylist() == [b"ab", b"cd", None]
    with pytest.raises(InvalidRequest, match="do not fit"):
        table.append(pa.table({"b": [b"cde"]}))


def test_blobs_of_the_second_kind_are_written_as_such(tmp_path: Path) -> None:
    """Section 11: each blob lies in the file, in one that it shares, in one of its own, or elsewhere."""
    (tmp_path / "far").write_bytes(b"elsewhere")
    blobs = lance.blob_array([b"in", None, b"packed" * 20_000, b"own" * 2_000_000, f"file://{tmp_path}/far", b""])
    rows = pa.table({"id": range(6), "b": blobs}, schema=pa.schema([pa.field("id", pa.int64()), lance.blob_field("b")]))
    lance.write_dataset(rows, str(tmp_path / "t"), data_storage_version="2.2", allow_external_blob_outside_bases=True)
    table = esker.open(tmp_path / "t")
    found = table.to_arrow()
    assert [None if blob is None else len(blob) for blob in found.column("b").to_pylist()] == [2, None, 120_000, 6_000_000, 9, 0]
    table.append(found)
    table._table.update({"id": "7"}, "id = 4", editor())
    again = esker.open(tmp_path / "t").to_arrow().column("b").to_pylist()
    assert sorted(blob or b"" for blob in again) == sorted(2 * [blob or b"" for blob in found.column("b").to_pylist()])
    assert again.count(None) == 2
    assert lance.dataset(str(tmp_path / "t")).take_blobs("b", indices=[5])[0].size() == 2
    assert esker.open(tmp_path / "t").overwrite(found).to_arrow() == found
    lance.write_dataset(rows.slice(0, 1), str(tmp_path / "t"), mode="append")
    assert esker.open(tmp_path / "t").to_arrow().column("b").to_pylist()[-1] == b"in"


def test_a_blob_of_the_second_kind_within_another_column_is_read_and_not_written(tmp_path: Path) -> None:
    part = lance.blob_field("b")
    values = pa.StructArray.from_arrays([lance.blob_array([b"x", None])], fields=[part])
    lance.write_dataset(pa.table({"st": values}), str(tmp_path / "t"), data_storage_version="2.2")
    table = esker.open(tmp_path / "t")
    assert [row["b"] for row in table.to_arrow().column("st").to_pylist()] == [b"x", None]
    with pytest.raises(Unsupported, match="the blob b, which lies within another column"):
        table.append(table.to_arrow())


def _askew(buffer: pa.Buffer) -> pa.Buffer:
    """The same bytes, 8 beyond a multiple of 16."""
    whole = pa.allocate_buffer(buffer.size + 8)
    np.frombuffer(whole, np.uint8)[8:] = np.frombuffer(buffer, np.uint8)
    return whole.slice(8)


@pytest.mark.parametrize("brought, said", [
    (pa.table({"id": ["x"]}), "long in the table and string"), (pa.table({"id": [1], "z": [1]}), "no column z"),
    (pa.table({"id": [1], "ID": [1]}), "twice"), (pa.table({"id": [1], "h": pa.array([1.0001], pa.float32())}), "no exact form"),
    (pa.table({"id": [1], "u": [300]}), "do not fit"), (pa.table({"id": [1], "v": [[1.0]]}), "do not fit"),
    (pa.table({"name": ["x"]}), "lack the column id"), (pa.table({"id": pa.array([None], pa.int64())}), "never null"),
])
def test_rows_that_do_not_fit_leave_the_table_as_it_was(tmp_path: Path, brought: pa.Table, said: str) -> None:
    schema = pa.schema([
        pa.field("id", pa.int64(), False), ("name", pa.string()), ("h", pa.float16()), ("u", pa.uint8()), ("v", pa.list_(pa.float64(), 2)),
    ])
    table = esker.create(tmp_path / "t", schema, format="lance")
    with pytest.raises(EskerError, match=said):
        table.append(brought)
    assert esker.open(tmp_path / "t").version == 1


def test_rows_are_appended_overwritten_and_restored(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append(pa.table({"id": [10], "name": ["x"], "more": [1.5]}), merge_schema=True, user_metadata="why")
    assert table.to_arrow().num_rows == 11
    assert table.history().column("userMetadata").to_pylist()[0] == "why"
    assert table.overwrite(pa.table({"id": [1]})).to_arrow().to_pylist() == [{"id": 1, "name": None, "more": None}]
    table.overwrite(pa.table({"k": [1]}), overwrite_schema=True)
    assert table.schema.names == ("k",)
    assert table.restore(version=1).to_arrow() == ROWS
    assert lance.dataset(str(tmp_path / "t")).to_table() == ROWS


@pytest.mark.parametrize("stable", [False, True])
def test_rows_are_deleted_updated_and_merged_and_keep_their_ids_where_they_have_some(tmp_path: Path, stable: bool) -> None:
    """Section 8: "the id is preserved for updated rows"."""
    table = made(tmp_path / "t", features=["STABLE_ROW_IDS"] if stable else [])
    before = _ids(table)
    port = table._table.delete("id < 2", editor())
    port = port.update({"name": "'new'"}, "id = 5", editor())
    source = pa.table({"id": [6, 60], "name": ["m6", "m60"]})
    wanted = Merge("target.id = source.id", matched=(UpdateRow(None),), not_matched=(InsertRow(None),))
    port = port.merge(wanted, ArrowMerger(source, wanted))
    expected = {row["id"]: row["name"] for row in ROWS.to_pylist() if row["id"] >= 2} | {5: "new", 6: "m6", 60: "m60"}
    assert {row["id"]: row["name"] for row in rows(port)} == expected
    assert {row["id"]: row["name"] for row in lance.dataset(str(tmp_path / "t")).to_table().to_pylist()} == expected
    after = esker.open(tmp_path / "t")
    assert has_stable_ids(after._table.snapshot) is stable  # type: ignore[attr-defined]
    if stable:
        kept = _ids(after)
        assert {id: kept[id] for id in range(2, 10)} == {id: before[id] for id in range(2, 10)}
        assert kept[60] not in before.values()
    assert not [found for found in after.check(deep=True) if found.severity.name == "ERROR"]


def test_a_delete_of_nothing_makes_no_version_and_of_everything_leaves_no_fragment(tmp_path: Path) -> None:
    port = made(tmp_path / "t")._table
    assert port.delete("id = 99", editor()).version == 1
    gone = port.delete("id >= 0", editor())
    assert (gone.version, gone.snapshot.fragments) == (2, ())  # type: ignore[attr-defined]
    assert rows(gone) == []


def test_a_large_delete_writes_a_bitmap_that_pylance_reads(tmp_path: Path) -> None:
    """Section 5."""
    made(tmp_path / "t", pa.table({"id": range(20_000), "name": ["x"] * 20_000}))._table.delete("id < 6000", editor())
    assert list((tmp_path / "t" / "_deletions").glob("*.bin"))
    assert lance.dataset(str(tmp_path / "t")).count_rows() == 14_000


def test_rows_take_the_place_of_those_that_a_condition_names(tmp_path: Path) -> None:
    port = made(tmp_path / "t")._table
    port = port.overwrite_where(row_source(pa.table({"id": [1], "name": ["one"]})), "id < 3", WriteOptions(), editor())
    assert [row["id"] for row in rows(port)] == [1, 3, 4, 5, 6, 7, 8, 9]
    with pytest.raises(InvalidRequest, match="the condition id < 3"):
        port.overwrite_where(row_source(pa.table({"id": [7]})), "id < 3", WriteOptions(), editor())


def test_columns_are_added_dropped_renamed_and_cast(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.add_columns("score float").rename_column("score", "points").change_type("points", "double")
    assert str(table.schema.find("points").type) == "double"  # type: ignore[union-attr]
    table.drop_columns("name")
    assert lance.dataset(str(tmp_path / "t")).schema.names == ["id", "points"]
    for act, said in (
        (lambda: table.rename_column("points", "id"), "there is a column"),
        (lambda: table.drop_columns("id", "points"), "these are all"),
        (lambda: table.move_column("id"), "moving a column of a Lance table"),
        (lambda: table.set_column_comment("id", "x"), "a comment on a column"),
        (lambda: table.set_default("id", "1"), "a default for a column"),
        (lambda: table._table.change_columns([SetNotNull(("id",))], None), "forbidding nulls"),
    ):
        with pytest.raises(EskerError, match=said):
            act()


@pytest.mark.parametrize("values, kind", [
    (pa.array([1, 2**40]), "int"), (pa.array([Decimal("9999.9")], pa.decimal128(6, 1)), "decimal(4,1)"), (pa.array(["x"]), "int"),
])
def test_a_cast_that_a_value_does_not_survive_is_the_callers_fault(tmp_path: Path, values: pa.Array, kind: str) -> None:
    table = made(tmp_path / "t", pa.table({"x": values}))
    with pytest.raises(InvalidRequest, match="pylance refuses this"):
        table.change_type("x", kind)
    assert esker.open(tmp_path / "t").version == 1


@pytest.mark.parametrize("type", ["map<string, int>", "array<struct<m: map<int, int>>>"])
def test_a_map_is_refused_where_data_files_cannot_have_it(tmp_path: Path, type: str) -> None:
    """Section 7. A column of maps would keep all rows out of the table."""
    with pytest.raises(Unsupported, match=r"lance\.data_storage_version=2\.2"):
        esker.create(tmp_path / "t", f"id int, m {type}", format="lance")
    table = made(tmp_path / "t")
    rows = esker.create(tmp_path / "2.2", f"id long, m {type}", format="lance", properties={"lance.data_storage_version": "2.2"}).to_arrow()
    for act in (
        lambda: table.add_columns(f"m {type}"), lambda: table.append(rows, merge_schema=True),
        lambda: table.overwrite(rows, overwrite_schema=True), lambda: made(tmp_path / "t", rows, if_exists="replace"),
    ):  # fmt: skip
        with pytest.raises(Unsupported, match=r"maps in data files of version 2\.1: m"):
            act()
    assert table.append(ROWS).version == 2


@pytest.mark.parametrize("old, new", [("2.1", "2.2"), ("2.2", "2.0")])
def test_data_files_of_another_version_take_the_place_of_all_at_once(tmp_path: Path, old: str, new: str) -> None:
    """Sections 4 and 7: an overwrite may change the version. With a flag for mixed ones nobody could read the table any more."""
    table = made(tmp_path / "t", properties={"lance.data_storage_version": old, "k": "v"}, features=["STABLE_ROW_IDS"])
    chosen = {"lance.data_storage_version": new}
    with pytest.raises(Unsupported, match=f"of version {new} in the place of others of version {old}"):
        made(tmp_path / "t", if_exists="replace", properties=chosen)
    table.create_branch("dev")
    made(tmp_path / "t", ROWS.schema, if_exists="replace", properties=chosen)
    assert esker.open(tmp_path / "t").append(ROWS).to_arrow() == ROWS
    found = esker.open(tmp_path / "t")
    assert set(found.files().column("file_version").to_pylist()) == {new}
    assert found._table.describe().properties == {"k": "v"}
    assert {feature.name for feature in found.features() if feature.presence} == {"STABLE_ROW_IDS", "TABLE_CONFIG"}
    assert esker.open(tmp_path / "t", ref="dev").to_arrow() == ROWS


def test_a_legacy_table_is_overwritten_by_no_rows(tmp_path: Path) -> None:
    lance.write_dataset(ROWS, str(tmp_path / "t"), data_storage_version="legacy")
    assert esker.open(tmp_path / "t").overwrite(ROWS.slice(0, 0)).append(ROWS).to_arrow() == ROWS


def test_stable_row_ids_are_not_chosen_by_replacing_a_table_that_has_none(tmp_path: Path) -> None:
    made(tmp_path / "t")
    with pytest.raises(InvalidRequest, match="chosen when a table is created"):
        made(tmp_path / "t", if_exists="replace", features=["STABLE_ROW_IDS"])
    assert esker.open(tmp_path / "t").version == 1


def test_what_is_said_already_makes_no_version_whoever_said_it(tmp_path: Path) -> None:
    table, rival = made(tmp_path / "t"), esker.open(tmp_path / "t")
    said = table.set_properties({"team": "sea", "tier": "1"}).set_comment("fish").version
    for act in (
        lambda: table.set_properties({"team": "sea"}), lambda: table.unset_properties("mystery"), lambda: table.set_comment("fish"),
        lambda: rival.set_properties({"tier": "1"}),
    ):  # fmt: skip
        assert act().version == said
    rival.set_properties({"team": "land"})
    with pytest.raises(Conflict):  # on this handle it is said already, and in the newest version it is not
        table.set_properties({"team": "sea"})
    assert rival.unset_properties("team").set_comment(None).version == said + 3


def test_small_fragments_are_packed_and_old_versions_cleaned_up_but_for_tagged_ones(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append(ROWS).append(ROWS)
    table.at(1).create_tag("first")
    assert table.optimize(dry_run=True).pieces == 1
    assert len(table.files()) == 3
    table.optimize()
    assert len(table.files()) == 1
    with pytest.raises(InvalidRequest, match="less than"):
        table.vacuum(timedelta(0))
    told = table.vacuum(timedelta(0), allow_unsafe=True, dry_run=True)
    assert told.files
    assert all((tmp_path / "t" / file).exists() for file in told.files)
    assert table.vacuum(timedelta(0), allow_unsafe=True).files == told.files
    assert not any((tmp_path / "t" / file).exists() for file in told.files)
    assert table.to_arrow().num_rows == 30
    assert table.at(ref="first").to_arrow() == ROWS


def test_a_vacuum_leaves_what_tags_and_branches_need(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table._table.delete("id = 3", editor())
    table = esker.open(tmp_path / "t")
    branch = table.create_branch("dev")
    branch.append(ROWS)
    branch.create_tag("kept")
    branch.create_branch("dev2").append(ROWS)
    branch.overwrite(ROWS.slice(0, 1))
    table.overwrite(ROWS.slice(0, 2))
    for ref in ("main", "dev", "dev2"):
        esker.open(tmp_path / "t", ref=ref).vacuum(timedelta(0), allow_unsafe=True)
    counts = {ref: esker.open(tmp_path / "t", ref=ref).to_arrow().num_rows for ref in ("main", "dev", "kept", "dev2")}
    assert counts == {"main": 2, "dev": 1, "kept": 19, "dev2": 29}


def test_a_branch_goes_its_own_way_and_a_clone_too(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    branch = table.create_branch("dev/x")
    branch.append(ROWS)
    assert (branch.to_arrow().num_rows, esker.open(tmp_path / "t").to_arrow().num_rows) == (20, 10)
    assert esker.open(tmp_path / "t", ref="dev/x").to_arrow().num_rows == 20
    assert table.at(ref="main").version == 1
    clone = table.clone(tmp_path / "c")
    assert clone.append(ROWS).to_arrow().num_rows == 20
    assert {found.name for found in clone.features() if found.presence} == {"BASE_PATHS"}
    refs = esker.open(tmp_path / "t").metadata("refs").to_pylist()
    assert [(ref["name"], ref["kind"]) for ref in refs] == [("dev/x", "branch")]
    for act, said in (
        (lambda: table.create_branch("dev/x"), "there is a branch"), (lambda: table.create_branch("a..b"), "no name"),
        (lambda: table.create_tag("a/b"), "no name"), (lambda: table.delete_tag("x"), "no tag"), (lambda: table.delete_branch("y"), "no branch"),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest, match=said):
            act()
    table.delete_branch("dev/x")
    assert not esker.open(tmp_path / "t").metadata("refs").num_rows


@pytest.mark.parametrize("format", ["lance", "iceberg", "delta"])
def test_a_moment_without_a_zone_is_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """Wherever the machine is."""
    esker.create(tmp_path / "t", ROWS, format=format)
    table = esker.open(tmp_path / "t").append(ROWS)
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Kiritimati")  # 14 hours ahead
        time.tzset()
        now = datetime.now(UTC).replace(tzinfo=None)
        assert table.at(timestamp=now).version == table.version
        assert esker.open(tmp_path / "t", timestamp=now.isoformat()).to_arrow().num_rows == 20
    time.tzset()
    with pytest.raises(InvalidRequest):
        esker.open(tmp_path / "t", timestamp="2020-01-01")


@pytest.mark.parametrize("old, new", [("", ""), ("file://", "file://"), ("", "file://"), ("file://", "")])
def test_a_base_path_that_moved_is_told_as_the_manifest_spells_it_or_as_a_url(tmp_path: Path, old: str, new: str) -> None:
    """Section 6: local base paths are plain paths."""
    made(tmp_path / "t").clone(tmp_path / "c")
    (tmp_path / "t").rename(tmp_path / "elsewhere")
    moves = {f"{old}{tmp_path}/t": f"{new}{tmp_path}/elsewhere"}
    assert esker.open(tmp_path / "c", relocate=moves).to_arrow() == ROWS
    assert not esker.check_table(tmp_path / "c", relocate=moves, deep=True)


def test_a_branch_that_others_need_is_not_deleted(tmp_path: Path) -> None:
    """Section 10."""
    table = made(tmp_path / "t")
    branch = table.create_branch("dev")
    branch.create_branch("dev2")
    branch.create_tag("v1")
    with pytest.raises(InvalidRequest, match=r"is needed(?s:.)*the tag v1 names(?s:.)*the branch dev2 parted"):
        table.delete_branch("dev")
    table.delete_tag("v1")
    table.delete_branch("dev2")
    table.delete_branch("dev")
    assert not esker.open(tmp_path / "t").metadata("refs").num_rows


def test_what_lance_tables_have_not_is_refused_by_name(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for act in (
        lambda: table.changes(1), lambda: table.checkpoint(), lambda: table.cluster_by("id"), lambda: table.drop_constraint("c"),
        lambda: table.overwrite(ROWS, dynamic=True), lambda: table.vacuum(lite=True), lambda: table.append(ROWS, transaction=("a", 1)),
    ):  # fmt: skip
        with pytest.raises(Unsupported):
            act()
    assert esker.open(tmp_path / "t").version == 1


def test_without_pylance_a_table_is_described_and_checked_and_rows_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "t")

    def missing(name: str) -> None:
        raise ModuleNotFoundError("no lance", name="lance")

    monkeypatch.setattr("esker.arrow.lance.import_module", missing)
    table = esker.open(tmp_path / "t")
    assert table.describe().schema.names == ("id", "name")
    assert table.features()
    table.check()
    for act in (table.to_arrow, lambda: table.append(ROWS)):
        with pytest.raises(Unsupported, match=r"pip install 'esker\[lance\]'"):
            act()
