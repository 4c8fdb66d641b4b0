"""What rows does an Iceberg table have after each operation, in each version and mode?  (spec, "Row-level Deletes", "Row Lineage")"""

import pyarrow.compute as pc
import pytest
from pyiceberg.table import StaticTable

from esker.arrow.read import read_table
from esker.arrow.write import ArrowRows
from esker.core.write import WriteOptions
from esker.errors import InvalidRequest, Unsupported
from esker.iceberg.data_files import Content
from esker.storage import open_storage
from tests.arrow_editor import ArrowEditor
from tests.iceberg.operations import (
    EXPECTED,
    MODES,
    START,
    append,
    created,
    delete,
    filled,
    ids_of_rows,
    merge,
    opened,
    properties,
    rows,
    seen,
    table_with,
    update,
)

VERSIONED = [(1, MODES[0]), *((version, mode) for version in (2, 3) for mode in MODES)]


def kinds(table):
    live = table.state.files
    return len(live.data), sorted(live.deletes.column("file_format").to_pylist())


def theirs(table):
    """What PyIceberg reads."""
    path = f"{table.location}/{table.state.metadata_file}".removeprefix("file://")
    found = StaticTable.from_metadata(path).scan().to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["v"] for row in found}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize(("version", "mode"), VERSIONED)
def test_the_rows_after_an_operation_are_those_it_should_leave(version, mode, name, tmp_path):
    act, expected = EXPECTED[name]
    storage = open_storage(tmp_path / "t")
    table = act(filled(created(storage, properties(version, mode))))
    assert seen(table) == expected
    assert seen(opened(storage)) == expected
    assert theirs(table) == expected


@pytest.mark.parametrize(("version", "mode"), VERSIONED)
def test_operations_one_after_another_keep_every_row_once(version, mode, tmp_path):
    table = filled(created(open_storage(tmp_path / "t"), properties(version, mode)))
    table = append(update(merge(delete(update(table), "id = 5 OR id = 14 OR id = 1"))))
    expected = {2: 2, 3: 3, 4: 500, 6: 206, 7: 7, 8: 8, 11: 11, 12: 12, 13: 1300, 51: 510, 21: 21, 22: 22}
    assert seen(table) == expected
    assert theirs(table) == expected


@pytest.mark.parametrize(
    ("version", "mode", "files"),
    [(1, MODES[0], (3, [])), (2, MODES[0], (3, [])), (2, MODES[1], (3, ["PARQUET", "PARQUET"])), (3, MODES[1], (3, ["PUFFIN", "PUFFIN"]))],
)  # fmt: skip
def test_how_rows_are_deleted_is_for_the_mode_and_the_version_to_say(version, mode, files):
    assert kinds(delete(table_with(properties(version, mode)))) == files


def test_a_file_all_of_whose_rows_go_is_removed_without_being_read():
    class Unasked(ArrowEditor):
        def matching(self, *_):
            raise AssertionError("no row has to be looked at")

    table = table_with(properties(2, MODES[1])).delete("id >= 5 AND id <= 8", Unasked())
    assert kinds(table) == (2, [])
    assert table.state.snapshot.operation == "delete"


def test_a_second_vector_takes_the_place_of_the_first():
    """Deletion vectors: "At most one DV per data file per snapshot. Writing a DV must merge the previous DV"."""
    table = delete(delete(table_with(properties(3, MODES[1])), "id = 2"), "id = 3")
    assert kinds(table) == (3, ["PUFFIN"])
    assert table.state.files.deletes.numbers("record_count").tolist() == [2]
    summary = table.state.snapshot.summary
    assert (summary["added-dvs"], summary["removed-dvs"], summary["total-delete-files"]) == ("1", "1", "1")


def test_a_vector_goes_with_its_file():
    """Deletion vectors: "Removing a data file must also remove its DV entry"."""
    table = delete(delete(table_with(properties(3, MODES[1])), "id = 2"), "id < 5")
    assert kinds(table) == (2, [])
    assert "total-delete-files" in table.state.snapshot.summary
    assert table.state.snapshot.summary["total-delete-files"] == "0"


def test_position_deletes_from_before_an_upgrade_are_merged_into_vectors():
    table = delete(table_with(properties(2, MODES[1])), "id = 2")
    table = table.set_properties({"format-version": "3"})
    table = delete(table, "id = 3")
    assert kinds(table) == (3, ["PUFFIN"])
    assert seen(table) == {key: value for key, value in START.items() if key not in (2, 3)}


def test_position_delete_files_are_sorted_and_say_which_file_they_are_of():
    table = delete(table_with(properties(2, MODES[1])), "id = 4 OR id = 2 OR id = 6 OR id = 12")
    deletes = table.state.files.deletes
    assert (deletes.numbers("content") == Content.POSITION_DELETES).all()
    named = dict(zip(deletes.numbers("record_count").tolist(), deletes.column("referenced_data_file").to_pylist(), strict=True))
    assert named[3] is None
    assert named[1] is not None


@pytest.mark.parametrize("mode", MODES)
def test_row_ids_stay_with_rows_and_tell_who_changed_them_last(mode):
    """Row lineage: "always copy a non-null _row_id; _last_updated_sequence_number is copied if the row is unchanged"."""
    table = table_with(properties(3, mode))
    before = ids_of_rows(table)
    assert sorted(row for row, _ in before.values()) == list(range(12))
    after = ids_of_rows(merge(table))
    for key in START:
        assert after[key][0] == before[key][0]
        assert after[key][1] == (3 if key in (4, 13) else before[key][1])
    assert after[51][0] >= 12
    assert after[51][1] == 3


def test_all_rows_have_ids_after_the_first_snapshot_of_version_3():
    """Upgrade: "First v3 snapshot must assign ids to all existing data manifests"."""
    table = table_with(properties(2)).set_properties({"format-version": "3"})
    assert set(ids_of_rows(table).values()) == {(None, None)}
    table = append(table)
    found = [row for row, _ in ids_of_rows(table).values()]
    assert len(set(found)) == len(found) == 14
    assert table.state.metadata.next_row_id == 14
    assert table.state.snapshot.first_row_id == 0
    assert table.state.snapshot.added_rows == 14


def test_nothing_to_delete_leaves_the_table_at_its_snapshot():
    table = table_with(properties(2))
    assert delete(table, "id = 99").version == table.version
    assert table.update({"v": "1"}, "id = 99", ArrowEditor()).version == table.version


def test_rows_that_are_to_replace_others_must_meet_the_condition():
    table = table_with(properties(2))
    with pytest.raises(InvalidRequest, match="condition"):
        table.overwrite_where(ArrowRows(rows((99,), "a")), "id < 5", WriteOptions(), ArrowEditor())
    assert seen(table) == START


def test_a_mode_that_is_none_is_refused():
    table = table_with(properties(2, "sideways"))
    with pytest.raises(InvalidRequest, match=r"write\.delete\.mode"):
        delete(table)


def test_a_table_of_a_catalog_is_not_changed_behind_its_back(tmp_path):
    storage = open_storage(tmp_path / "t")
    filled(created(storage, properties(2)))
    (tmp_path / "t/metadata/version-hint.text").unlink()
    newest = tmp_path / "t/metadata/v3.metadata.json"
    newest.rename(newest.with_name("00004-4b6a1ba2-0000-0000-0000-000000000000.metadata.json"))
    with pytest.raises(Unsupported, match="catalog"):
        append(opened(storage))


def test_a_table_that_was_copied_elsewhere_is_not_changed(tmp_path):
    filled(created(open_storage(tmp_path / "t"), properties(2)))
    (tmp_path / "t").rename(tmp_path / "moved")
    table = opened(open_storage(tmp_path / "moved"))
    assert read_table(table.plan()).num_rows == len(START)
    with pytest.raises(InvalidRequest, match="copied"):
        append(table)


@pytest.mark.parametrize(("version", "deleted"), [(2, [None, None, None]), (3, [0, 1, 1])])
def test_the_list_of_files_tells_how_many_rows_are_dead_where_vectors_say_it(version, deleted):
    files = delete(table_with(properties(version, MODES[1]))).files()
    found = files.filter(pc.equal(files.column("content"), Content.DATA)).column("deleted").to_pylist()
    assert sorted(found, key=str) == deleted
