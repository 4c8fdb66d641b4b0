"""Whatever the bytes of an Iceberg table are, only an `EskerError` comes out, and nothing outside the table is read."""

from collections.abc import Callable
from itertools import count
from random import Random

import pyarrow as pa
import pytest

import esker
from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Struct
from esker.storage.memory import MemoryStorage
from tests.fuzz.mutations import mutated
from tests.iceberg.tables import Builder, spec

SCHEMA = Struct(
    (
        Field("id", t.LONG, id=1), Field("city", t.STRING, id=2), Field("d", Decimal(9, 2), id=3), Field("day", t.DATE, id=4),
        Field("l", Array(t.LONG, element_id=6), id=5), Field("s", Struct((Field("x", t.DOUBLE, id=8),)), id=7),
    )
)  # fmt: skip
_SPACES = count()


def _rows(*ids: int) -> pa.Table:
    columns = {
        "id": pa.array(ids, pa.int64()), "city": [f"n{i}" for i in ids], "d": pa.array(ids, pa.int64()).cast(pa.decimal128(19, 0)),
        "day": pa.array(ids, pa.int32()).cast(pa.date32()), "l": pa.array([[i] for i in ids], pa.list_(pa.int64())),
        "s": pa.array([{"x": i / 2} for i in ids], pa.struct([("x", pa.float64())])),
    }  # fmt: skip
    columns["d"] = columns["d"].cast(pa.decimal128(9, 2))
    return pa.table(columns)


def _table(version: int) -> Builder:
    """Two snapshots; deletes of all kinds that the version has."""
    table = Builder(SCHEMA, (spec(0, (2, "identity"), (1, "bucket[4]")), spec(1)), version)
    one, two = table.data(_rows(1, 2, 3), ["n1", 2]), table.data(_rows(4, 5), spec_id=1)
    table.commit(one, two)
    if version == 1:
        table.commit(table.data(_rows(6), spec_id=1))
    elif version == 2:
        table.commit(table.positions([(one, 0)], ["n1", 2]), table.equality(_rows(5), [1], [], 1))
    else:
        table.commit(table.vector(one, [1]), table.equality(_rows(5), [1, 2], [], 1))
    table.publish()
    return table


CALLS: list[Callable[[esker.Table], object]] = [
    lambda table: table.describe(),
    lambda table: table.files(),
    lambda table: table.history(),
    lambda table: table.metadata("entries"),
    lambda table: table.metadata("partitions"),
    lambda table: table.to_arrow(),
    lambda table: table.to_arrow(["*", "_file", "_partition", "_row_id"], where="id > 1 AND city < 'n5' AND d <> 2"),
    lambda table: table.at(100).to_arrow(),
    lambda table: table.changes(100).to_arrow(),
    lambda table: table.verify(),
]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_unbroken_table_reads_in_every_way(version: int) -> None:
    table = esker.open(_table(version).storage.url)
    for call in CALLS:
        call(table)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_broken_table_raises_nothing_but_an_esker_error(version: int) -> None:
    whole = _table(version).storage
    files = {file.path: whole.read(file.path) for file in whole.list()}
    for seed in range(25):
        random = Random(f"{version} {seed}")
        victim = random.choice(sorted(files))
        storage = MemoryStorage(f"memory://broken-{next(_SPACES)}/t")
        for path, data in files.items():
            storage.put(path, mutated(random, data, path.endswith(".json")) if path == victim else data)
        _tries(storage.url)


def _tries(url: str) -> None:
    try:
        table = esker.open(url)
    except esker.EskerError:
        return
    for call in CALLS:
        try:
            call(table)
        except esker.EskerError:
            continue
