"""Handles on tables in memory, for tests that change them."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pyarrow as pa

import esker
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage
from esker.testing.faults import Rival

_NAMES = count()
COMMITS = "_delta_log/*.json"


def place() -> str:
    """A location where nothing is yet."""
    return f"memory://handles-{next(_NAMES)}/table"


def created(columns: str = "id bigint", rows: pa.Table | None = None, **options: Any) -> esker.Table:
    """A table with these columns, and with these rows where there are some."""
    table = esker.create(place(), columns, **options)
    return table if rows is None else table.append(rows)


def through(storage: Storage) -> esker.Table:
    """The newest version of a table, reached by a storage that may have its ways."""
    return esker.Table(DeltaTable(load(Place(storage))))


def with_rival(table: esker.Table, act: Callable[[esker.Table], object], nth: int = 1) -> esker.Table:
    """A handle whose nth commit comes after that of a rival."""
    storage = MemoryStorage(table.location)
    return through(Rival(storage, lambda: act(esker.open(table.location)), COMMITS, nth))


def rows(table: esker.Table, **options: Any) -> list[dict[str, Any]]:
    """What a fresh reader of the newest version gets."""
    return sorted(esker.open(table.location, **options).to_arrow().to_pylist(), key=lambda row: str(row.get("id")))


def operations(table: esker.Table) -> list[str]:
    """What happened, oldest first."""
    return [str(name) for name in reversed(table.history().column("operation").to_pylist())]


def last(table: esker.Table) -> dict[str, Any]:
    """The newest entry of the history."""
    entry: dict[str, Any] = table.history().slice(0, 1).to_pylist()[0]
    return entry | {key: dict(entry[key] or ()) for key in ("operationParameters", "operationMetrics")}


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})
