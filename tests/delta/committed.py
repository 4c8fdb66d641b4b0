"""A Delta table in memory, written by commits: what a test changes goes the way of every writer."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from esker.core.types import Struct
from esker.delta import commit as commits
from esker.delta.actions import Add, Remove, parse_metadata, removed
from esker.delta.checksum import differences
from esker.delta.deletion_vectors import DeletionVector
from esker.delta.protocol import parse_protocol
from esker.delta.snapshot import Place, Snapshot, before_creation, load
from esker.delta.transaction import Change, Operation
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage
from tests.delta.tables import ID, inline, metadata, protocol

_NAMES = count()


def created(storage: Storage | None = None, schema: Struct = ID, *, features: Iterable[str] = (), **settings: Any) -> Snapshot:
    """A fresh table without rows. Properties come by their names with `__` for the dot."""
    place = Place(storage or MemoryStorage(f"memory://committed-{next(_NAMES)}/table"))
    spoken, about = parse_protocol(protocol(*features)["protocol"]), parse_metadata(metadata(schema, **settings)["metaData"], "")
    change = Change(Operation("CREATE TABLE"), metadata=about, protocol=spoken)
    return commits.create(before_creation(place, spoken, about), change)


def changed(snapshot: Snapshot, operation: str = "WRITE", **parts: Any) -> Snapshot:
    """The snapshot after one more commit, of these parts of a `Change`."""
    return commits.commit(snapshot, lambda base: Change(Operation(operation), **parts))


def appended(snapshot: Snapshot, *paths: str, **fields: Any) -> Snapshot:
    return changed(snapshot, adds=tuple(a_file(path, **fields) for path in paths))


def a_file(path: str, size: int = 10, records: int = 5, **fields: Any) -> Add:
    """The `add` of a file that nobody will look for."""
    values = {"partition_values": {}, "modification_time": 1, "stats": f'{{"numRecords":{records}}}'} | fields
    return Add(path=path, size=size, **values)


def gone(adds: Sequence[Add], now: int = 1_800_000_000_000) -> tuple[Remove, ...]:
    return tuple(removed(add, now) for add in adds)


def a_vector(*positions: int) -> DeletionVector:
    body = inline(*positions)
    return DeletionVector("i", body["pathOrInlineDv"], body["sizeInBytes"], body["cardinality"])


def reopened(snapshot: Snapshot, version: int | None = None) -> Snapshot:
    return load(snapshot.place, version)


def unsound(snapshot: Snapshot) -> list[str]:
    """What the checksum files of all versions say that is not so; a version without one is told as well."""
    found: list[str] = []
    for version in range(snapshot.version + 1):
        at = reopened(snapshot, version)
        found += ["there is none" for _ in [0] if at.checksum_file is None] + list(differences(at))
    return found
