"""A small table, and everything that can be done to it, in memory and without Spark.

The table has three files: a1 with the ids 1 to 4 and a2 with 5 to 8 in partition `a`, b1 with 11 to 14 in partition `b`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import pyarrow as pa

from esker.arrow.read import read_table
from esker.arrow.write import ArrowRows
from esker.core.ddl import parse_ddl
from esker.core.merge import InsertRow, Merge, UpdateRow
from esker.core.table import Creation, TableDefinition
from esker.core.write import WriteOptions
from esker.delta.actions import DomainMetadata, removed
from esker.delta.commit import commit, now
from esker.delta.leftovers import commit_or_discard
from esker.delta.live_adds import live_adds
from esker.delta.required_features import upgraded
from esker.delta.snapshot import Place, Snapshot, load
from esker.delta.table import DeltaTable, create_delta
from esker.delta.transaction import Change, Operation, ReadSet, identities
from esker.delta.writing import added, write_spec
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage
from tests.arrow_editor import ArrowEditor, ArrowMerger

Act = Callable[[DeltaTable], DeltaTable]

BY_VECTORS = {"delta.enableDeletionVectors": "true"}
_NAMES = count()


def table_with(properties: Mapping[str, str]) -> MemoryStorage:
    """The table, in a storage of its own."""
    return copied(_made(tuple(sorted(properties.items()))))


@cache
def _made(properties: tuple[tuple[str, str], ...]) -> MemoryStorage:
    storage = empty()
    definition = TableDefinition(parse_ddl("id bigint, v bigint, p string"), ("p",), properties=dict(properties))
    table = create_delta(storage, Creation(definition), {})
    table = table.append(ArrowRows(rows((1, 2, 3, 4), "a")), WriteOptions())
    table.append(ArrowRows(pa.concat_tables([rows((5, 6, 7, 8), "a"), rows((11, 12, 13, 14), "b")])), WriteOptions())
    return storage


def empty() -> MemoryStorage:
    return MemoryStorage(f"memory://operations-{next(_NAMES)}/table")


def copied(storage: Storage) -> MemoryStorage:
    """The same files elsewhere."""
    other = empty()
    for file in storage.list():
        other.put(file.path, storage.read(file.path))
    return other


def rows(ids: tuple[int, ...], partition: str, **more: Any) -> pa.Table:
    ids_column = pa.array(ids, pa.int64())
    return pa.table({"id": ids_column, "v": ids_column, "p": [partition] * len(ids), **more})


def opened(storage: Storage) -> DeltaTable:
    return DeltaTable(load(Place(storage)))


def seen(table: DeltaTable) -> list[tuple[Any, ...]]:
    """The table's rows, in some order of their own; a column that a row lacks makes no difference."""
    found = read_table(table.plan()).to_pylist()
    return sorted(tuple(sorted((k, v) for k, v in row.items() if v is not None)) for row in found)


def unnamed(storage: Storage) -> list[str]:
    """Data files that no commit names."""
    commits = [file.path for file in storage.list("_delta_log") if file.path.endswith(".json")]
    log = b"".join(storage.read(path) for path in commits).decode()
    return [file.path for file in storage.list() if file.path.endswith(".parquet") and file.path not in log]


def append(partition: str, *ids: int, **options: Any) -> Act:
    return lambda table: table.append(ArrowRows(rows(ids, partition)), WriteOptions(**options))


def widen(table: DeltaTable) -> DeltaTable:
    fresh = rows((42,), "a", more=["new"])
    return table.append(ArrowRows(fresh), WriteOptions(merge_schema=True))


def overwrite(partition: str, *ids: int, is_dynamic: bool = False, **options: Any) -> Act:
    return lambda table: table.overwrite(ArrowRows(rows(ids, partition)), WriteOptions(**options), is_dynamic)


def overwrite_where(where: str, partition: str, *ids: int, **options: Any) -> Act:
    return lambda table: table.overwrite_where(ArrowRows(rows(ids, partition)), where, WriteOptions(**options), ArrowEditor())


def delete(where: str | None) -> Act:
    return lambda table: table.delete(where, ArrowEditor())


def update(where: str | None) -> Act:
    return lambda table: table.update({"v": "v + 100"}, where, ArrowEditor())


def merge(partition: str, *ids: int, updates: bool) -> Act:
    wanted = Merge("target.id = source.id", (UpdateRow(None),) if updates else (), (InsertRow(None),))
    source = rows(ids, partition).set_column(1, "v", pa.array([-i for i in ids], pa.int64()))
    return lambda table: table.merge(wanted, ArrowMerger(source, wanted))


def set_property(table: DeltaTable) -> DeltaTable:
    metadata = table.snapshot.metadata
    changed = replace(metadata, configuration={**metadata.configuration, "delta.checkpointInterval": "50"})
    return _committed(table.snapshot, Change(Operation("SET TBLPROPERTIES"), metadata=changed))


def upgrade(table: DeltaTable) -> DeltaTable:
    protocol = upgraded(table.snapshot.protocol, {"timestampNtz"})
    return _committed(table.snapshot, Change(Operation("UPGRADE PROTOCOL"), protocol=protocol))


def rearrange(where: str) -> Act:
    """Put the rows of all files of a partition into one."""

    def act(table: DeltaTable) -> DeltaTable:
        snapshot = table.snapshot
        gone = tuple(add for add in live_adds(snapshot) if add.partition_values["p"] == where)
        kept = read_table(table.plan()).to_pylist()
        source = ArrowRows(pa.Table.from_pylist([row for row in kept if row["p"] == where]))
        files = source.write(write_spec(snapshot, source.schema))
        change = Change(
            Operation("OPTIMIZE"),
            adds=added(files, snapshot.metadata, snapshot.mapping, data_change=False),
            removes=tuple(removed(add, now(), data_change=False) for add in gone),
            reads=ReadSet(files=identities(gone)),
        )
        return DeltaTable(commit_or_discard(snapshot, lambda base: change, [file.path for file in files]))

    return act


def write_domain(name: str) -> Act:
    change = Change(Operation("SET DOMAIN"), domains=(DomainMetadata(name, "{}"),))
    return lambda table: _committed(table.snapshot, change)


def _committed(snapshot: Snapshot, change: Change) -> DeltaTable:
    return DeltaTable(commit(snapshot, lambda base: change))
