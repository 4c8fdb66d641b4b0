"""What becomes of a table when a task of Spark fails and is repeated, or the driver is killed?"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

import esker
from esker.delta.deletion_vectors import file_uri
from esker.delta.live_adds import live_adds
from esker.storage import open_storage
from tests.conftest import ROOT
from tests.delta.operations import opened
from tests.rivals.spark_writer import ROWS

MERGED = sorted([(n, n) for n in range(ROWS // 2)] + [(n, -n) for n in range(ROWS // 2, ROWS * 2)])
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


def writer(how: str, master: str, marks: Path, *locations: Path) -> subprocess.Popen[bytes]:
    """In a group of its own, so that the driver can be killed with all that it has started."""
    marks.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.rivals.spark_writer", how, master, str(marks), *map(str, locations)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)


def empty_tables(folder: Path) -> list[Path]:
    """One of each format in which workers write in a way of their own."""
    for format in ("delta", "lance"):
        esker.create(folder / format, "id bigint, v bigint", format=format)
    return [folder / "delta", folder / "lance"]


def rows(location: Path) -> list[tuple[int, int]]:
    table = esker.open(location).to_arrow()
    return sorted(zip(table.column("id").to_pylist(), table.column("v").to_pylist(), strict=True))


def first_rows(count: int) -> pa.Table:
    numbers = pa.array(range(count), pa.int64())
    return pa.table({"id": numbers, "v": numbers})


def test_a_task_that_ran_twice_leaves_its_rows_once(tmp_path: Path) -> None:
    """Of an append, and of a merge whose every job has such a task."""
    locations, marks = empty_tables(tmp_path), tmp_path / "marks"
    process = writer("retried", "local[2,4]", marks, *locations)
    try:
        assert process.wait(400) == 0
    finally:
        end(process)
    for location in locations:
        assert (marks / location.name / "1-0").exists()
        assert (marks / location.name / "1-1").exists(), "the task ran only once"
        assert rows(location) == MERGED
        assert esker.open(location).history().num_rows == 3
        check_use(location)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster of two workers. Each has a host of its own: no second attempt is made where the first one runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{free.getsockname()[1]}"
    parts = [["master.Master", "--host", "127.0.0.1", "--port", master.rpartition(":")[2], "--webui-port", "0"]]
    for host in ("127.0.0.1", "127.0.0.2"):
        own = ["--host", host, "--cores", "1", "--memory", "600m", "--work-dir", str(tmp_path / host), "--webui-port", "0"]
        parts.append(["worker.Worker", *own, master])
    home = Path(pyspark.__file__).parent
    processes = [
        subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments], start_new_session=True,
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": arguments[1], "SPARK_DAEMON_MEMORY": "256m"},
            stderr=(tmp_path / f"{number}.log").open("w"),
        )
        for number, (name, *arguments) in enumerate(parts)
    ]  # fmt: skip
    yield master
    for process in processes:
        end(process)


@pytest.mark.peers
def test_a_task_that_ran_beside_its_twin_leaves_its_rows_once(tmp_path: Path, cluster: str) -> None:
    """Speculation: Spark starts a slow task a second time while the first attempt still runs."""
    locations, marks = empty_tables(tmp_path), tmp_path / "marks"
    process = writer("speculated", cluster, marks, *locations)
    try:
        assert process.wait(400) == 0
    finally:
        end(process)
    for location in locations:
        assert (marks / location.name / "1-0").exists()
        assert (marks / location.name / "1-1").exists(), "the task had no twin"
        assert rows(location) == [(n, n) for n in range(ROWS)]
        assert esker.open(location).history().num_rows == 2
        check_use(location)


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "while rows are written": lambda table: any("_temporary" in path.parts for path in all_parquet(table)),
    "when rows were written": lambda table: any(data_files(table) - before(table)),
}


@pytest.mark.parametrize("moment, vectors", [*zip(MOMENTS, ["true", "false"], strict=True)])
def test_a_driver_that_is_killed_while_it_merges_leaves_the_old_table_or_the_new(tmp_path: Path, moment: str, vectors: str) -> None:
    location, marks = tmp_path / "table", tmp_path / "marks"
    esker.create(location, "id bigint, v bigint", properties={"delta.enableDeletionVectors": vectors})
    esker.open(location).append(first_rows(ROWS))
    old = rows(location)
    process = writer("merge", "local[2]", marks, location)
    try:
        while process.poll() is None and not MOMENTS[moment](location):
            time.sleep(0.005)
    finally:
        end(process)
    was_acknowledged = (marks / "acknowledged").exists()
    assert not was_acknowledged, "the moment was missed"
    assert rows(location) in (old, MERGED)
    check_use(location)


@pytest.mark.parametrize("moment, mode", [("while rows are written", "copy-on-write"), ("when rows were written", "merge-on-read")])
def test_a_driver_that_is_killed_while_it_merges_into_iceberg_leaves_the_old_table_or_the_new(tmp_path: Path, moment: str, mode: str) -> None:
    location, marks = tmp_path / "table", tmp_path / "marks"
    esker.create(location, "id bigint, v bigint", format="iceberg", properties={"format-version": "3", "write.merge.mode": mode})
    esker.open(location).append(first_rows(ROWS))
    old, there = rows(location), parquet_files(location)
    moments = {
        "while rows are written": lambda: any("_temporary" in path.parts for path in all_parquet(location)),
        "when rows were written": lambda: bool(parquet_files(location) - there),
    }
    process = writer("merge", "local[2]", marks, location)
    try:
        while process.poll() is None and not moments[moment]():
            time.sleep(0.005)
    finally:
        end(process)
    assert not (marks / "acknowledged").exists(), "the moment was missed"
    found = rows(location)
    assert found in (old, MERGED)
    table = esker.open(location)
    table.append(pa.table({"id": [-1], "v": [-1]}))
    time.sleep(0.01)
    table.iceberg.remove_orphans(timedelta(), allow_unsafe=True)
    assert rows(location) == sorted([*found, (-1, -1)])
    assert not table.check()
    assert parquet_files(location) == {path.partition("/table/")[2] for path in table.files().column("path").to_pylist() if path.endswith(".parquet")}


def test_a_driver_that_is_killed_while_it_merges_into_lance_leaves_the_old_table_or_the_new(tmp_path: Path) -> None:
    location, marks = tmp_path / "table", tmp_path / "marks"
    esker.create(location, first_rows(ROWS), format="lance", features=["STABLE_ROW_IDS"])
    old, there = rows(location), set((location / "data").iterdir())
    process = writer("merge", "local[2]", marks, location)
    try:
        while process.poll() is None and set((location / "data").iterdir()) == there:
            time.sleep(0.005)
    finally:
        end(process)
    assert not (marks / "acknowledged").exists(), "the moment was missed"
    assert rows(location) in (old, MERGED)
    check_use(location)


def parquet_files(table: Path) -> set[str]:
    return {str(path.relative_to(table)) for path in all_parquet(table) if "_temporary" not in path.parts}


def end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def all_parquet(table: Path) -> Iterator[Path]:
    """The files that are there, while a writer makes and deletes folders: a walk goes on without those."""
    for folder, _, names in os.walk(table):
        yield from (Path(folder, name) for name in names if name.endswith(".parquet"))


def data_files(table: Path) -> set[str]:
    found = (path.relative_to(table) for path in all_parquet(table))
    return {str(path) for path in found if not {"_temporary", "_delta_log"} & set(path.parts)}


def before(table: Path) -> set[str]:
    """The files of the version that the merge starts from."""
    log = (table / "_delta_log" / f"{1:020}.json").read_text()
    return {path for path in data_files(table) if path in log}


def check_use(location: Path) -> None:
    """The next write works, and a vacuum leaves what is needed, to the last file."""
    there = rows(location)
    esker.open(location).append(pa.table({"id": [-1], "v": [-1]}))
    time.sleep(0.01)
    esker.open(location).vacuum(retention=timedelta(), allow_unsafe=True)
    assert rows(location) == sorted([*there, (-1, -1)])
    if esker.open(location).describe().format == "lance":  # a vacuum of pylance leaves what no version names for a week
        assert not esker.open(location).check(deep=True)
        return
    adds = list(live_adds(opened(open_storage(location)).snapshot))
    needed = {add.path for add in adds} | {file_uri(add.deletion_vector) for add in adds if add.deletion_vector is not None}
    needed |= {checksum(path) for path in needed}
    left = {str(path.relative_to(location)) for path in location.rglob("*") if path.is_file()}
    assert {path for path in left if not path.startswith("_delta_log/")} <= needed


def checksum(path: str) -> str:
    """Where Hadoop keeps the checksum of a file."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"
