"""A small Iceberg table, and everything that can be done to it, in memory and without Spark.

The table has three data files: one with the ids 1 to 4 and one with 5 to 8 in partition `a`, one with 11 to 14 in partition `b`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pyarrow as pa

from esker.arrow.read import read_table
from esker.arrow.write import ArrowRows
from esker.core.ddl import parse_ddl
from esker.core.merge import DeleteRow, InsertRow, Merge, UpdateRow
from esker.core.table import Creation, TableDefinition
from esker.core.write import WriteOptions
from esker.iceberg.place import Place
from esker.iceberg.state import load
from esker.iceberg.table import IcebergTable, create_iceberg, open_iceberg
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage
from tests.arrow_editor import ArrowEditor, ArrowMerger

Act = Callable[[IcebergTable], IcebergTable]
_NAMES = count()
START = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 11: 11, 12: 12, 13: 13, 14: 14}
MODES = ("copy-on-write", "merge-on-read")


def properties(version: int, mode: str = "copy-on-write", **more: str) -> dict[str, str]:
    names = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    return {"format-version": str(version), **names, **more}


def empty() -> MemoryStorage:
    return MemoryStorage(f"memory://iceberg-{next(_NAMES)}/table")


def rows(ids: Sequence[int], part: str) -> pa.Table:
    kinds = {"id": pa.int64(), "v": pa.int64(), "p": pa.string()}
    return pa.table({"id": list(ids), "v": list(ids), "p": [part] * len(ids)}, schema=pa.schema(kinds.items()))


DEFINITION = TableDefinition(parse_ddl("id bigint, v bigint, p string"), ("p",))


def created(storage: Storage, asked: Mapping[str, str], partition_by: Sequence[str] = ("p",)) -> IcebergTable:
    definition = replace(DEFINITION, partition_by=tuple(partition_by), properties=dict(asked))
    return create_iceberg(storage, Creation(definition), {}, read_table)


def filled(table: IcebergTable) -> IcebergTable:
    table = table.append(ArrowRows(rows((1, 2, 3, 4), "a")), WriteOptions())
    both = pa.concat_tables([rows((5, 6, 7, 8), "a"), rows((11, 12, 13, 14), "b")])
    return table.append(ArrowRows(both), WriteOptions())


def table_with(asked: Mapping[str, str]) -> IcebergTable:
    return filled(created(empty(), asked))


def opened(storage: Storage) -> IcebergTable:
    return open_iceberg(storage, None, {}, {}, read_table)


def state_of(storage: Storage) -> Any:
    return load(Place(storage))


def seen(table: IcebergTable) -> dict[int, Any]:
    """The live rows: the value of each id. An id that is there twice is an error."""
    found = read_table(table.plan(["id", "v"])).to_pylist()
    assert len({row["id"] for row in found}) == len(found), found
    return {row["id"]: row["v"] for row in sorted(found, key=lambda row: row["id"])}


def ids_of_rows(table: IcebergTable) -> dict[int, tuple[int | None, int | None]]:
    """Each row's id and the sequence number that changed it last."""
    found = read_table(table.plan(["id", "_row_id", "_last_updated_sequence_number"])).to_pylist()
    return {row["id"]: (row["_row_id"], row["_last_updated_sequence_number"]) for row in found}


def append(table: IcebergTable) -> IcebergTable:
    return table.append(ArrowRows(rows((21, 22), "c")), WriteOptions())


def overwrite(table: IcebergTable) -> IcebergTable:
    return table.overwrite(ArrowRows(rows((31,), "a")), WriteOptions(), is_dynamic=False)


def overwrite_partitions(table: IcebergTable) -> IcebergTable:
    return table.overwrite(ArrowRows(rows((41,), "b")), WriteOptions(), is_dynamic=True)


def overwrite_where(table: IcebergTable) -> IcebergTable:
    return table.overwrite_where(ArrowRows(rows((3,), "a")), "id >= 3 AND id < 7", WriteOptions(), ArrowEditor())


def delete(table: IcebergTable, where: str = "id = 2 OR id = 12") -> IcebergTable:
    return table.delete(where, ArrowEditor())


def update(table: IcebergTable) -> IcebergTable:
    return table.update({"v": "v + 100"}, "id > 3 AND id < 7", ArrowEditor())


def merge(table: IcebergTable) -> IcebergTable:
    wanted = Merge(
        "target.id = source.id", (UpdateRow({"v": "source.v"}),), (InsertRow(None),)
    )
    source = pa.concat_tables([rows((4, 51), "a"), rows((13,), "b")])
    source = source.set_column(1, "v", pa.array([400, 510, 1300], pa.int64()))
    return table.merge(wanted, ArrowMerger(source, wanted))


def merge_deleting(table: IcebergTable) -> IcebergTable:
    wanted = Merge("target.id = source.id", (DeleteRow(),))
    return table.merge(wanted, ArrowMerger(rows((1, 14, 99), "a"), wanted))


def after(start: Mapping[int, int], gone: Sequence[int] = (), **_: object) -> dict[int, int]:
    return {key: value for key, value in start.items() if key not in gone}


EXPECTED: dict[str, tuple[Act, dict[int, int]]] = {
    "append": (append, {**START, 21: 21, 22: 22}),
    "overwrite": (overwrite, {31: 31}),
    "overwrite_partitions": (overwrite_partitions, {**{k: v for k, v in START.items() if k < 10}, 41: 41}),
    "overwrite_where": (overwrite_where, after(START, (4, 5, 6))),
    "delete": (delete, after(START, (2, 12))),
    "delete_file": (lambda t: delete(t, "id > 4 AND id < 9"), after(START, (5, 6, 7, 8))),
    "delete_all": (lambda t: t.delete(None, ArrowEditor()), {}),
    "update": (update, {**START, 4: 104, 5: 105, 6: 106}),
    "merge": (merge, {**START, 4: 400, 13: 1300, 51: 510}),
    "merge_deleting": (merge_deleting, after(START, (1, 14))),
}
