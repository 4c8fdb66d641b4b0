"""What is left to Lance's scanner holds for every row that is wanted; rows are those of the row-wise oracle."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from pyroaring import BitMap

import esker
from esker.arrow.lance.dataset import scanned
from esker.arrow.lance.read import scanner
from esker.core.binding import bind
from esker.core.filtering import mask
from esker.core.fragments import FragmentScan
from esker.core.merge import Merge, UpdateRow
from esker.core.sql import parse
from esker.lance.filters import pushed
from tests.arrow_editor import ArrowMerger
from tests.lance.tables import editor, made

NAN = float("nan")
VALUES = pa.table(
    {
        "id": pa.array([0, 1, 2, 3, None], pa.int64()),
        "u": pa.array([0, 200, 255, None, 7], pa.uint8()),
        "f": pa.array([NAN, -0.0, 0.0, 1.5, None]),
        "g": pa.array([1.1, 0.3, NAN, 16777216.0, None], pa.float32()),
        "s": pa.array(["it's", "b", None, "bcd", ""]),
        "d": pa.array([date(2020, 1, 1), date(1, 1, 1), None, date(9999, 12, 31), date(2020, 1, 2)]),
        "ts": pa.array([datetime(2020, 1, 1, 12), None, datetime(1969, 12, 31), datetime(2020, 1, 1), datetime(2021, 1, 1)]),
        "tz": pa.array([datetime(2020, 1, 1, 12, tzinfo=UTC)] * 4 + [None], pa.timestamp("us", "UTC")),
        "n": pa.array([Decimal("1.50"), Decimal("-2.25"), None, Decimal("0.00"), Decimal("99.99")], pa.decimal128(10, 2)),
        "b": pa.array([True, False, None, True, False]),
        "st": pa.array([{"x": 1, "a.b": 1}, {"x": 2, "a.b": None}, None, {"x": None, "a.b": 3}, {"x": 5, "a.b": 5}]),
    }
)
CONDITIONS = [
    "id < 2", "id >= 1 AND id <> 2", "id IN (1, 3, 9)", "NOT (id IN (1, 3))", "id IS NULL", "NOT (id IS NULL)", "id = 1.5", "id < 2.5",
    "u = 200", "u = 300", "u < 256", "NOT (u > 100)", "f > 1", "f = 0", "f < 1", "f <> 0", "NOT (f > 1)", "f IN (0, 1.5)", "s = 'it\\'s'",
    "s LIKE 'b%'", "NOT (s LIKE 'b%')", "s >= ''", "d = '2020-01-01'", "d < DATE '0002-01-01'", "d > '2020-01-01'",
    "ts >= TIMESTAMP_NTZ '2020-01-01 12:00:00'", "tz = TIMESTAMP '2020-01-01 12:00:00'", "n = 1.5", "n > 0 OR n < -2", "b", "NOT b",
    "st.x = 2", "st.x IS NULL", "st.`a.b` = 3", "id = 1 OR s = 'bcd'", "(id < 2 AND u > 0) OR NOT (f > 0 OR s IS NULL)", "TRUE", "FALSE",
    "id IN (1, NULL)", "NOT (id IN (1, NULL))", "g > 1.1", "g >= 1.1", "g = 1.1", "g <> 1.1", "NOT (g = 1.1)", "NOT (g <= 0.3)",
    "g < 0.30000000000000004", "g < 16777217D", "g > CAST(1.1 AS FLOAT)", "id > -9223372036854775808", "id = -9223372036854775808",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> esker.Table:
    path = tmp_path_factory.mktemp("lance") / "t"
    made(path, VALUES.slice(0, 3))
    return esker.open(path).append(VALUES.slice(3))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_filter_gives_the_rows_for_which_it_is_true(table: esker.Table, condition: str) -> None:
    whole = table.to_arrow()
    expected = whole.filter(mask(bind(parse(condition), table._table.filterable), whole))
    assert table.to_arrow(where=condition).to_pydict().__repr__() == expected.to_pydict().__repr__()
    assert table.to_arrow(columns=["s"], where=condition).num_rows == expected.num_rows


@pytest.mark.parametrize("condition, text", [
    ("id < 2 AND length(s) = 3", "`id` < 2"),
    ("id < 2 OR length(s) = 3", None),
    ("NOT (id < 2 OR length(s) = 3)", "`id` >= 2"),
    ("u = 300", None),
    ("f > 1", "(`f` > 1.0) OR isnan(`f`)"),
    ("f = 0", None),
    ("g > 1.1", "(`g` >= 1.1) OR isnan(`g`)"),
    ("g > 1.5", "(`g` > 1.5) OR isnan(`g`)"),
    ("g <> 1.1", None),
    ("id > -9223372036854775808", None),
    ("st.`a.b` = 3", None),
])
def test_only_what_the_scanner_surely_understands_is_left_to_it(table: esker.Table, condition: str, text: str | None) -> None:
    snapshot = table._table.snapshot  # type: ignore[attr-defined]
    assert pushed(bind(parse(condition), table._table.filterable), snapshot.columns) == text


def test_a_filter_by_row_id_finds_the_row(table: esker.Table, tmp_path: Path) -> None:
    found = table.to_arrow(columns=["id", "_rowid"])
    id = found.column("_rowid")[1].as_py()
    assert table.to_arrow(where=f"_rowid = {id}").num_rows == 1


def test_a_column_of_json_is_filtered_as_text(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"id": [1, 2, 3], "j": pa.array(['{"a":1}', None, '{"a":2}'], pa.json_())}), str(tmp_path / "t"))
    table = esker.open(tmp_path / "t")
    assert table.to_arrow(columns=["id"], where="j = '{\"a\":1}'").column("id").to_pylist() == [1]
    assert table.to_arrow(columns=["id"], where="j IS NULL OR id = 3").column("id").to_pylist() == [2, 3]


@pytest.mark.parametrize("fragments", [slice(None), slice(0, 1)])
def test_a_filter_goes_by_the_tables_index_and_finds_what_was_changed_since(tmp_path: Path, fragments: slice) -> None:
    dataset = lance.write_dataset(pa.table({"id": range(100)}), str(tmp_path / "t"), max_rows_per_file=50)
    dataset.create_scalar_index("id", "BTREE")
    dataset.delete("id = 7")
    lance.write_dataset(pa.table({"id": [7, 8]}), str(tmp_path / "t"), mode="append")
    table = esker.open(tmp_path / "t")
    assert sorted(table.to_arrow(where="id IN (7, 8)").column("id").to_pylist()) == [7, 8, 8]
    scan = table._table.plan()
    assert isinstance(scan, FragmentScan)
    part = scan.of(scan.fragments[fragments]).filtered(bind(parse("id = 7"), table._table.filterable))
    with scanned(part) as opened:
        assert "ScalarIndexQuery: query=[id = 7]" in scanner(opened, part).explain_plan()


def test_a_table_with_a_fragment_reuse_index_is_not_read_by_its_other_indices(tmp_path: Path) -> None:
    """A compaction that does not defer what one before it deferred leaves an index behind by which no row is found."""
    dataset = lance.write_dataset(pa.table({"id": range(30)}), str(tmp_path / "t"), max_rows_per_file=10)
    dataset.create_scalar_index("id", "BTREE")
    dataset.optimize.compact_files(defer_index_remap=True)
    dataset.delete("id = 5")
    dataset.optimize.compact_files(materialize_deletions_threshold=0.0)
    assert esker.open(tmp_path / "t").to_arrow(where="id = 26").num_rows == 1


def test_a_compaction_goes_on_with_a_fragment_reuse_index(tmp_path: Path) -> None:
    dataset = lance.write_dataset(pa.table({"id": range(30)}), str(tmp_path / "t"), max_rows_per_file=10)
    dataset.create_scalar_index("id", "BTREE")
    dataset.optimize.compact_files(defer_index_remap=True)
    dataset.delete("id = 5")
    assert esker.open(tmp_path / "t").purge().version == dataset.latest_version
    assert lance.dataset(str(tmp_path / "t")).to_table(filter="id = 26").num_rows == 1


@pytest.mark.parametrize("change", ["update", "merge"])
def test_rows_that_are_written_again_are_found_by_what_they_hold_now(tmp_path: Path, change: str) -> None:
    """Section 3, Transaction 108: an index goes on covering rewritten rows, but for indices on fields that were modified."""
    rows = pa.table({"id": range(6), "name": ["a"] * 6, "st": [{"x": 1}] * 6})
    dataset = lance.write_dataset(rows, str(tmp_path / "t"), enable_stable_row_ids=True)
    for column in ("id", "name", "st.x"):
        dataset.create_scalar_index(column, "BITMAP", name=column)
    port = esker.open(tmp_path / "t")._table
    if change == "update":
        port.update({"name": "'b'", "st": "st"}, "id < 3", editor())
    else:
        wanted = Merge("target.id = source.id", matched=(UpdateRow({"name": "source.name"}),))
        port.merge(wanted, ArrowMerger(pa.table({"id": [0, 1, 2], "name": ["b"] * 3}), wanted))
    table, dataset = esker.open(tmp_path / "t"), lance.dataset(str(tmp_path / "t"))
    for condition, expected in {"name = 'b'": 3, "name = 'a'": 3, "id = 1": 1, "st.x = 1": 6}.items():
        assert (table.to_arrow(where=condition).num_rows, dataset.to_table(filter=condition).num_rows) == (expected, expected)
    snapshot = table._table.snapshot  # type: ignore[attr-defined]
    covered = {index.name: len(BitMap.deserialize(index.fragment_bitmap)) == 2 for index in snapshot.manifest.indices}
    assert covered == {"id": True, "name": False, "st.x": change == "merge"}
