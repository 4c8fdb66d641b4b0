"""Do many processes that change one table at once leave what one after the other would have left?

They run for some seconds, or for as many as ESKER_RIVALS_SECONDS says. Each notes what was acknowledged, with its version: taken
in the order of versions, that is a serial history, and the table must be what it leads to.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import esker
from tests.conftest import ROOT

SECONDS = float(os.environ.get("ESKER_RIVALS_SECONDS", "5"))
CROWD = ("appender", "appender", "changer", "merger", "keeper")


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 3 + 240)
@pytest.mark.parametrize("properties", [
    {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"},
    {"delta.enableChangeDataFeed": "true"},
], ids=["by vectors", "by copies"])  # fmt: skip
def test_what_many_processes_were_told_is_what_the_table_holds(tmp_path: Path, properties: dict[str, str]) -> None:
    location = tmp_path / "table"
    esker.create(location, "id bigint, v bigint, p string", partition_by=["p"], properties=properties)
    journals = [tmp_path / f"{number}.jsonl" for number in range(len(CROWD))]
    crowd = [start(location, journal, kind, number + 1) for number, (kind, journal) in enumerate(zip(CROWD, journals, strict=True))]
    glances = [seen_once(location) for _ in watching(crowd)]
    assert [process.wait() for process in crowd] == [0] * len(crowd)

    table = esker.open(location)
    notes = [json.loads(line) for journal in journals for line in journal.read_text().splitlines()]
    done = sorted((note for note in notes if "version" in note), key=lambda note: note["version"])
    check_history(table, [note["version"] for note in done])
    assert contents(table.to_arrow()) == told(done)
    assert all(esker.open(location, version=version).verify() == () for version in some(table.version))
    assert glances
    counts = Counter(f"{note['operation']}{'' if 'version' in note else ' in vain'}" for note in notes)
    assert {name.removesuffix(" in vain") for name in counts} >= {"append", "delete", "update", "merge", "optimize"}
    print(f"\n{table.version} commits by {len(CROWD)} processes, {table.version / SECONDS:.1f} a second: {dict(counts)}")


def some(newest: int) -> list[int]:
    """All versions, or some hundred of them all over."""
    return sorted({*range(0, newest, newest // 200 + 1), newest})


def start(location: object, journal: Path, kind: str, seed: int, module: str = "worker") -> subprocess.Popen[bytes]:
    arguments = [str(location), str(journal), kind, str(seed), str(SECONDS)]
    return subprocess.Popen([sys.executable, "-m", f"tests.rivals.{module}", *arguments], cwd=ROOT)


def watching(crowd: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """While they work, and each half second."""
    while any(process.poll() is None for process in crowd):
        yield
        for process in crowd:
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue


def seen_once(location: Path) -> int:
    """Whoever reads meanwhile sees each row once."""
    ids = esker.open(location).to_arrow(columns=["id"]).column("id").to_pylist()
    assert len(set(ids)) == len(ids)
    return len(ids)


def told(done: list[dict[str, Any]]) -> dict[int, tuple[int, str]]:
    """The rows that the journals lead to."""
    rows: dict[int, tuple[int, str]] = {}
    for note in done:
        if note["operation"] == "append":
            assert not rows.keys() & {id for id, _, _ in note["set"]}
        rows |= {id: (value, partition) for id, value, partition in note.get("set", ())}
        for id in note.get("gone", ()):
            assert rows.pop(id)
    return rows


def contents(table: pa.Table) -> dict[int, tuple[int, str]]:
    rows = table.to_pylist()
    found = {row["id"]: (row["v"], row["p"]) for row in rows}
    assert len(found) == len(rows), "a row is there twice"
    return found


def check_history(table: esker.Table, acknowledged: list[int]) -> None:
    """Versions are without a gap, each was acknowledged once, and those that nobody noted are the starts of vacuums."""
    history = table.history().to_pylist()
    assert [row["version"] for row in history] == list(range(table.version, -1, -1))
    assert len(set(acknowledged)) == len(acknowledged)
    others = [row["operation"] for row in history if row["version"] not in set(acknowledged)]
    assert others.pop() == "CREATE TABLE"
    assert set(others) <= {"VACUUM START"}
