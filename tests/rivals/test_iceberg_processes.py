"""Do many processes that change one Iceberg table at once leave what one after the other would have left?

In a folder, in a database, behind a REST server. They append, merge, update, delete, rewrite and expire for some seconds, or for as
many as ESKER_RIVALS_SECONDS says; `test_processes` says what is held against what.  (spec, "Optimistic Concurrency")
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import esker
from esker.arrow.read import read_table
from tests.catalogs.databases import postgres, sqlite
from tests.catalogs.rest_server import rest_server
from tests.iceberg.operations import MODES, properties
from tests.rivals.iceberg_worker import opened
from tests.rivals.test_processes import CROWD, SECONDS, contents, start, told, watching


@contextmanager
def place(kind: str, folder: Path, asked: dict[str, str]) -> Iterator[str]:
    """A new table, and where the workers find it."""
    columns, more = "id bigint, v bigint, p string", {"format": "iceberg", "partition_by": ["p"], "properties": asked}
    if kind == "folder":
        esker.create(folder / "table", columns, **more)
        yield json.dumps({"folder": str(folder / "table")})
        return
    server = {"sqlite": sqlite, "postgresql": postgres, "rest": rest_server}[kind]
    with server(folder) as uri:
        sql = {"type": "sql", "name": "rivals", "uri": uri, "warehouse": (folder / "lake").as_uri()}
        catalog = {"type": "rest", "uri": uri} if kind == "rest" else sql
        esker.create("db.rivals", columns, catalog=catalog, **more)
        yield json.dumps({"catalog": catalog, "name": "db.rivals"})


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 6 + 300)
@pytest.mark.parametrize(("kind", "version", "mode"), [
    pytest.param("folder", 2, MODES[0], id="folder by copies"),
    pytest.param("folder", 3, MODES[1], id="folder by vectors"),
    pytest.param("sqlite", 3, MODES[1], id="sqlite by vectors"),
    pytest.param("postgresql", 2, MODES[0], id="postgresql by copies"),
    pytest.param("rest", 2, MODES[0], id="rest by copies", marks=pytest.mark.peers),
    pytest.param("rest", 3, MODES[1], id="rest by vectors", marks=pytest.mark.peers),
])  # fmt: skip
def test_what_many_processes_were_told_is_what_the_table_holds(tmp_path: Path, kind: str, version: int, mode: str) -> None:
    with place(kind, tmp_path, properties(version, mode)) as there:
        journals = [tmp_path / f"{number}.jsonl" for number in range(len(CROWD))]
        crowd = [
            start(there, journal, who, number, "iceberg_worker")
            for number, (who, journal) in enumerate(zip(CROWD, journals, strict=True), 1)
        ]
        glances = [seen_once(there) for _ in watching(crowd)]
        assert [process.wait() for process in crowd] == [0] * len(crowd)
        table = opened(there)
        notes = [json.loads(line) for journal in journals for line in journal.read_text().splitlines()]
        done = sorted((n for n in notes if "version" in n and n["operation"] != "vacuum"), key=lambda note: note["version"])
        # Each snapshot was acknowledged once, and there are no others: expiry makes none.
        assert [note["version"] for note in done] == list(range(1, table.state.metadata.last_sequence_number + 1))
        assert contents(read_table(table.plan(["id", "v", "p"]))) == told(done)
        assert all(table.at(snapshot.snapshot_id).verify() == () for snapshot in table.state.metadata.snapshots)
        if version == 3:
            check_row_ids(table)
    assert glances
    counts = Counter(f"{note['operation']}{'' if 'version' in note else ' in vain'}" for note in notes)
    assert {name.removesuffix(" in vain") for name in counts} >= {"append", "delete", "update", "merge", "optimize", "vacuum"}
    print(f"\n{kind}: {len(done)} snapshots by {len(CROWD)} processes, {len(done) / SECONDS:.1f} a second: {dict(counts)}")


def seen_once(there: str) -> int:
    """Whoever reads meanwhile sees each row once."""
    ids = read_table(opened(there).plan(["id"])).column("id").to_pylist()
    assert len(set(ids)) == len(ids)
    return len(ids)


def check_row_ids(table: Any) -> None:
    """ "Row Lineage": every row has an id, no two have the same, and none is beyond the next one to be given out."""
    ids = read_table(table.plan(["_row_id"])).column(0).to_pylist()
    assert None not in ids
    assert len(set(ids)) == len(ids)
    assert max(ids) < (table.state.metadata.next_row_id or 0)
