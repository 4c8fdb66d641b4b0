"""A process that dies again and again while it changes a Lance table: python -m tests.rivals.lance_crashes FOLDER OPERATION

`dying.c` is loaded before the C library and kills a child at each of the calls by which pylance changes files, before it and after
it. Each time another child looks at what is left. Only children let pylance work, since no fork takes its threads along: loading it
starts none.
"""

import ctypes
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance  # noqa: F401  loaded once for all children
import pyarrow as pa

import esker
from esker.core.merge import InsertRow, Merge, UpdateRow
from esker.core.write import WriteOptions
from esker.lance.table import LanceTable
from esker.rows import row_source
from tests.arrow_editor import ArrowEditor, ArrowMerger
from tests.delta.arranging import ArrowArranger

ROWS = pa.table({"id": pa.array(range(40), pa.int64()), "name": [f"n{i}" for i in range(40)], "score": pa.array([0.5] * 40, pa.float32())})
MORE = ROWS.slice(36).set_column(0, "id", pa.array([38, 39, 40, 41], pa.int64()))
_MERGE = Merge("target.id = source.id", (UpdateRow(None),), (InsertRow(None),))

OPERATIONS: dict[str, Callable[[LanceTable], object]] = {
    "append": lambda table: table.append(row_source(MORE), WriteOptions()),
    "overwrite": lambda table: table.overwrite(row_source(MORE), WriteOptions(), False),
    "delete": lambda table: table.delete("id < 3", ArrowEditor()),
    "update": lambda table: table.update({"name": "'new'"}, "id < 3", ArrowEditor()),
    "merge": lambda table: table.merge(_MERGE, ArrowMerger(MORE, _MERGE)),
    "purge": lambda table: table.purge(None, ArrowArranger()),
    "add": lambda table: esker.Table(table).add_columns("more long"),
    "cast": lambda table: esker.Table(table).change_type("score", "double"),
    "drop": lambda table: esker.Table(table).drop_columns("name"),
    "restore": lambda table: table.restore(1, None, False),
    "vacuum": lambda table: esker.Table(table).vacuum(timedelta(), allow_unsafe=True),
    "tag": lambda table: table.create_tag("now"),
    "branch": lambda table: table.create_branch("dev"),
    "properties": lambda table: table.set_properties({"team": "sea"}),
}


def main(folder: str, name: str) -> None:
    base, armed = Path(folder, "base"), Path(folder, "armed")
    _in_child(lambda: _make(base))
    outcomes = {_rows(base), _after(base, Path(folder, "whole"), name)}
    number = 0
    for number in range(1, 1000):
        ended = []
        for after in (0, 1):
            shutil.rmtree(armed, ignore_errors=True)
            shutil.copytree(base, armed)
            ended.append(_in_child(lambda: _dying(armed, name, number, after)))  # noqa: B023
            if not ended[-1]:
                found = _rows(armed, _check_use)
                assert found in outcomes, f"{name} that died at call {number} left {found}"
        if all(ended):
            break
    print(f"{name}: died before and after each of {number - 1} calls")
    assert number > 3, "no call was seen"


def _make(path: Path) -> None:
    table = esker.create(path, ROWS, format="lance", features=["STABLE_ROW_IDS"])
    table.append(MORE.slice(2))
    table._table.delete("id = 20", ArrowEditor())


def _dying(path: Path, name: str, number: int, after: int) -> None:
    table = esker.open(path)._table
    assert isinstance(table, LanceTable)
    ctypes.CDLL(None).arm(str(path).encode(), ctypes.c_long(number), after)
    OPERATIONS[name](table)


def _after(base: Path, whole: Path, name: str) -> str:
    shutil.copytree(base, whole)

    def act() -> None:
        table = esker.open(whole)._table
        assert isinstance(table, LanceTable)
        OPERATIONS[name](table)

    assert _in_child(act), f"{name} fails without dying"
    return _rows(whole)


def _rows(path: Path, use: Callable[[Path], None] = lambda path: None) -> str:
    """What the table holds, as text, told by a child, which then uses it."""
    reader, writer = os.pipe()

    def tell() -> None:
        found = esker.open(path).to_arrow()
        os.write(writer, f"{found.schema.names} {sorted(map(str, found.to_pylist()))}".encode())
        use(path)

    is_done = _in_child(tell)
    os.close(writer)
    with os.fdopen(reader) as told:
        said = told.read()
    assert is_done, f"{path} cannot be read or used"
    return said


def _check_use(path: Path) -> None:
    """All rules are kept, every version reads, and the next write works."""
    table = esker.open(path)
    found = [finding for finding in table.check(deep=True) if finding.severity.name == "ERROR"]
    assert not found, found
    for version in table.history().column("version").to_pylist():
        table.at(version).to_arrow()
    rows = table.to_arrow().num_rows
    assert table.append(table.to_arrow().slice(0, 1)).to_arrow().num_rows == rows + 1
    table.vacuum(timedelta(), allow_unsafe=True)
    assert table.to_arrow().num_rows == rows + 1


def _in_child(act: Callable[[], object]) -> bool:
    """Whether a child came to its end. One that raises ends this process too."""
    child = os.fork()
    if not child:
        try:
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit(1)
    return os.WIFEXITED(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
