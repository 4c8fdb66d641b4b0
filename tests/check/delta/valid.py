"""Small tables that keep every rule, written by Esker, for mutations to break."""

from collections.abc import Callable, Mapping
from datetime import date

import pyarrow as pa

import esker
from esker.delta.table import DeltaTable
from esker.storage import open_storage
from tests.arrow_editor import ArrowEditor
from tests.delta.handles import place

Files = dict[str, bytes]
"""A table as bytes, by path."""

_DAYS = [date(2026, 1, 2), date(2026, 1, 3)]


def _rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i}" for i in ids], "day": [_DAYS[i % 2] for i in ids]})


def _made(features: tuple[str, ...] = (), partitioned: bool = False, **properties: str) -> DeltaTable:
    named = {name.replace("__", "."): value for name, value in properties.items()}
    made = esker.create(place(), "id bigint, name string, day date", partition_by=["day"] if partitioned else [], features=features, properties=named)
    made.append(_rows(1, 2, 3), transaction=("app", 1))
    return made.append(_rows(4, 5))._table  # type: ignore[return-value]


def _changed(table: DeltaTable) -> DeltaTable:
    """Some rows deleted, then one more file."""
    return esker.Table(table.delete("id = 2", ArrowEditor())).append(_rows(6, 7))._table  # type: ignore[return-value]


def plain() -> DeltaTable:
    return _changed(_made(partitioned=True))


def vectors() -> DeltaTable:
    return _changed(_made(delta__enableDeletionVectors="true"))


def checkpointed() -> DeltaTable:
    table = _made(delta__enableDeletionVectors="true", delta__enableRowTracking="true").delete("id = 2", ArrowEditor()).checkpoint()
    return esker.Table(table).append(_rows(6, 7))._table  # type: ignore[return-value]


def v2() -> DeltaTable:
    table = _made(delta__checkpointPolicy="v2", partitioned=True).delete("id = 2", ArrowEditor()).checkpoint()
    return esker.Table(table).append(_rows(6, 7))._table  # type: ignore[return-value]


def stamped() -> DeltaTable:
    return _changed(_made(delta__enableInCommitTimestamps="true", delta__enableChangeDataFeed="true", delta__columnMapping__mode="name"))


def bare() -> DeltaTable:
    return _without_checksums(plain())


def bare_stamped() -> DeltaTable:
    return _without_checksums(stamped())


def _without_checksums(table: DeltaTable) -> DeltaTable:
    """As other writers leave it."""
    storage = open_storage(table.location)
    for file in list(storage.list("_delta_log")):
        if file.path.endswith(".crc"):
            storage.delete(file.path)
    return table


VALID: Mapping[str, Callable[[], DeltaTable]] = {made.__name__: made for made in (plain, vectors, checkpointed, v2, stamped, bare, bare_stamped)}


def files_of(table: DeltaTable) -> Files:
    storage = open_storage(table.location)
    return {file.path: storage.read(file.path) for file in storage.list()}
