"""Whatever the bytes of a table are, only an `EskerError` comes out, and nothing outside the table is read."""

import hashlib
from random import Random

import pytest

import esker
from esker.storage.memory import MemoryStorage
from tests.delta.tables import Log
from tests.fuzz.mutations import mutated
from tests.fuzz.seeds import SEEDS

CALLS = {
    "describe": lambda table: table.describe(),
    "features": lambda table: table.features(),
    "files": lambda table: table.files(),
    "history": lambda table: table.history(),
    "rows": lambda table: table.to_arrow(),
    "some rows": lambda table: table.to_arrow(columns=["*", "_row_id", "_file", "_pos"], where="id > 3 AND name < 'n5'"),
    "older rows": lambda table: table.at(version=0).to_arrow(),
    "changes": lambda table: table.changes(from_version=0).to_arrow(),
    "verify": lambda table: table._table.verify(),
}


def broken(name: str, seed: int) -> Log:
    """A table of the kind named with one of its files changed by the seed."""
    random = Random(f"{name} {seed}")
    source = SEEDS[name]()
    files = {file.path: source.storage.read(file.path) for file in source.storage.list()}
    victim = random.choice([path for path in sorted(files) if "_delta_log" in path or path.endswith(".bin")])
    is_json = victim.endswith((".json", ".crc", "_last_checkpoint"))
    space = hashlib.md5(f"{name} {seed}".encode()).hexdigest()
    log = Log(MemoryStorage(f"memory://{space}/table"))
    for path, data in files.items():
        log.storage.put(path, mutated(random, data, is_json) if path == victim else data)
    return log


def tries(log: Log) -> None:
    """Everything that reads, each by itself."""
    try:
        table = log.open()
    except esker.EskerError:
        return
    for call in CALLS.values():
        try:
            call(table)
        except esker.EskerError:
            continue


@pytest.mark.parametrize("name", SEEDS)
def test_an_unbroken_seed_reads_in_every_way_that_its_features_allow(name: str) -> None:
    table = SEEDS[name]().open()
    assert table.to_arrow().num_rows == (2 if name == "mapped" else 3)
    assert table.changes(from_version=0).to_arrow().num_rows > 0
    assert table.files().num_rows == (1 if name == "mapped" else 3)


@pytest.mark.parametrize("name", SEEDS)
def test_a_broken_table_raises_nothing_but_an_esker_error(name: str) -> None:
    for seed in range(40):
        tries(broken(name, seed))


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(1000, 9000, 1000))
@pytest.mark.parametrize("name", SEEDS)
def test_many_broken_tables_raise_nothing_but_an_esker_error(name: str, start: int) -> None:
    for seed in range(start, start + 300):
        tries(broken(name, seed))
