"""Writers that meet, and writers that die: what was committed stays, what was not leaves no version. (Section 9, "Commit protocol")"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import esker
from esker.arrow.lance import library
from esker.core.schema_changes import ChangeType
from esker.core.types import LONG
from esker.core.write import WriteOptions
from esker.errors import Conflict
from esker.lance import committing
from esker.lance.library import Library, NewTable
from esker.lance.table import LanceTable
from esker.rows import row_source
from tests.conftest import ROOT
from tests.delta.arranging import ArrowArranger
from tests.lance.tables import ROWS, editor, made, rows


class Beaten:
    """A library before each of whose first commits a rival commits."""

    def __init__(self, rival: Callable[[], object], times: int = 1) -> None:
        self._rival, self._times = rival, times

    def __getattr__(self, name: str) -> Any:
        if name in ("commit", "compact") and self._times:
            self._times -= 1
            self._rival()
        return getattr(library(), name)


def _beaten(path: Path, rival: Callable[[LanceTable], object], times: int = 1) -> LanceTable:
    def strike() -> None:
        found = esker.open(path)._table
        assert isinstance(found, LanceTable)
        rival(found)

    mine = esker.open(path)._table
    assert isinstance(mine, LanceTable)
    beaten: Library = Beaten(strike, times)  # type: ignore[assignment]
    return replace(mine, library=beaten)


MORE = pa.table({"id": [100], "name": ["rival"]})
APPEND = lambda table: table.append(row_source(MORE), WriteOptions())  # noqa: E731
DELETE = lambda table: table.delete("id = 1", editor())  # noqa: E731
UPDATE = lambda table: table.update({"name": "'mine'"}, "id < 3", editor())  # noqa: E731
COMPACT = lambda table: table.delete("id = 9", editor()).purge(None, ArrowArranger())  # noqa: E731
OVERWRITE = lambda table: table.overwrite(row_source(MORE), WriteOptions(), False)  # noqa: E731


@pytest.mark.parametrize("mine, rival, expected", [
    (APPEND, APPEND, {*range(10), 100}), (APPEND, DELETE, {*range(10), 100} - {1}), (DELETE, APPEND, {*range(10), 100} - {1}),
    (DELETE, DELETE, {*range(10)} - {1}), (UPDATE, DELETE, {*range(10)} - {1}), (DELETE, UPDATE, {*range(10)} - {1}),
    (UPDATE, COMPACT, {*range(9)}), (DELETE, COMPACT, {*range(9)} - {1}), (OVERWRITE, APPEND, {100}),
])
def test_a_change_that_was_beaten_is_worked_out_anew(tmp_path: Path, mine: Any, rival: Any, expected: set[int]) -> None:
    made(tmp_path / "t")
    done = rows(mine(_beaten(tmp_path / "t", rival)))
    assert {row["id"] for row in done} == expected
    assert rows(esker.open(tmp_path / "t")._table) == done
    if mine is UPDATE:
        assert {row["name"] for row in done if row["id"] < 3} == {"mine"}


@pytest.mark.parametrize("rival, expected", [(UPDATE, {*range(9)}), (APPEND, {*range(9), 100}), (DELETE, {0, *range(2, 9)})])
def test_a_compaction_that_was_beaten_is_worked_out_anew(tmp_path: Path, rival: Any, expected: set[int]) -> None:
    made(tmp_path / "t")._table.delete("id = 9", editor())
    done = _beaten(tmp_path / "t", rival).purge(None, ArrowArranger())
    assert {row["id"] for row in rows(done)} == expected
    assert not any(fragment.deletion for fragment in done.snapshot.fragments)
    if rival is UPDATE:
        assert {row["name"] for row in rows(done) if row["id"] < 3} == {"mine"}


def test_an_append_after_an_overwrite_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "t")
    with pytest.raises(Conflict):
        APPEND(_beaten(tmp_path / "t", OVERWRITE))
    assert [row["id"] for row in rows(esker.open(tmp_path / "t")._table)] == [100]


@pytest.mark.parametrize("mine, rival, columns, count", [
    (lambda t: t.add_columns("z int"), lambda t: t.append(ROWS), ("id", "name", "z"), 20),
    (lambda t: t.change_type("id", "int"), lambda t: t.append(ROWS), ("id", "name"), 20),
    (lambda t: t.rename_column("name", "n"), lambda t: t.add_columns("z int"), ("id", "n", "z"), 10),
    (lambda t: t.drop_columns("name"), lambda t: t.change_type("id", "int"), ("id",), 10),
    (lambda t: t.append(MORE.append_column("z", [[1]]), merge_schema=True), lambda t: t.append(ROWS), ("id", "name", "z"), 21),
    (lambda t: t.overwrite(MORE), lambda t: t.overwrite(ROWS.slice(5)), ("id", "name"), 1),
])
def test_columns_are_changed_and_rows_overwritten_on_top_of_what_a_rival_made(
    tmp_path: Path, mine: Any, rival: Any, columns: tuple[str, ...], count: int
) -> None:
    """Section 9: a Merge or a Project on top of rows or columns that a rival wrote, an Overwrite on top of another: R."""
    made(tmp_path / "t")
    table = esker.open(tmp_path / "t")
    rival(esker.open(tmp_path / "t"))
    mine(table)
    assert esker.open(tmp_path / "t").schema.names == columns
    assert table.to_arrow().num_rows == count


@pytest.mark.parametrize("column, kind", [("id", "bigint"), ("st.x", "int")])
def test_an_append_loses_no_value_to_a_column_that_was_cast_meanwhile(tmp_path: Path, column: str, kind: str) -> None:
    """Section 9: an append is compatible with a Merge. But its fragments hold the column that the cast has replaced."""
    columns = pa.table({"id": pa.array([1], pa.int32()), "st": pa.array([{"x": 1}], pa.struct([("x", pa.int16())]))})
    table = made(tmp_path / "t", columns)
    esker.open(tmp_path / "t").change_type(column, kind)
    with pytest.raises(Conflict, match=f"in the place of {column}:"):
        table.append(columns)
    assert esker.open(tmp_path / "t").append(columns).to_arrow().to_pylist() == 2 * columns.to_pylist()


def test_an_append_that_a_cast_beats_at_the_last_moment_is_taken_out_again(tmp_path: Path) -> None:
    made(tmp_path / "t", pa.table({"id": pa.array([1], pa.int32())}))
    beaten = _beaten(tmp_path / "t", lambda table: table.change_columns([ChangeType(("id",), LONG)], None))
    with pytest.raises(Conflict, match="in the place of id:"):
        beaten.append(row_source(pa.table({"id": pa.array([2], pa.int32())})), WriteOptions())
    assert esker.open(tmp_path / "t").to_arrow().to_pydict() == {"id": [1]}


def test_a_change_that_is_beaten_every_time_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "ATTEMPTS", 2)
    made(tmp_path / "t")
    numbers = iter(range(9, 0, -1))
    with pytest.raises(Conflict, match="2 times"):
        UPDATE(_beaten(tmp_path / "t", lambda table: table.delete(f"id = {next(numbers)}", editor()), times=9))


def test_of_two_that_create_one_table_one_is_told_so(tmp_path: Path) -> None:
    made(tmp_path / "t")
    with pytest.raises(esker.EskerError):
        library().create(f"file://{tmp_path / 't'}", {}, NewTable(ROWS.schema, "2.1", False, True))
    assert rows(esker.open(tmp_path / "t")._table) == ROWS.to_pylist()


WRITER = """
import sys, pyarrow as pa, esker
from tests.lance.tables import editor
table = esker.open(sys.argv[1])._table
from esker.core.write import WriteOptions
from esker.rows import row_source
print("ready", flush=True)
for i in range(1000):
    table = table.append(row_source(pa.table({"id": [1000 + i], "name": ["w"]})), WriteOptions())
    table = table.delete(f"id = {1000 + i}", editor())
"""


@pytest.mark.parametrize("after", [0.02, 0.11])
def test_a_writer_that_is_killed_leaves_a_table_that_reads_and_keeps_the_rules(tmp_path: Path, after: float) -> None:
    made(tmp_path / "t")
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "t")], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    table = esker.open(tmp_path / "t")
    assert {row["id"] for row in rows(table._table)} >= {*range(10)}
    assert len(rows(table._table)) <= 11
    assert lance.dataset(str(tmp_path / "t")).count_rows() == table.to_arrow().num_rows
    assert not [found for found in table.check(deep=True) if found.severity.name == "ERROR"]
    assert table.append(ROWS).to_arrow().num_rows >= 20
