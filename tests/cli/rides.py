"""Which table do most tests of the command line ask about?

The rides of a bicycle hire, one file per day and city. In its history a column is renamed, rides are deleted by
deletion vectors, and prices are corrected with change data: enough for every part of reading to have something to do.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.types import Json
from esker.testing.builders import Body, DeltaTableBuilder, column, metadata, protocol, removal

CITIES = ("Bergen", "Oslo", "Trondheim")
DAYS = 6
RIDES = 4_000
"""In each city on each day."""
CEILING = pa.scalar(Decimal("35.00"), pa.decimal128(8, 2))
FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)

_FOR_READERS = ("columnMapping", "deletionVectors")
_FOR_WRITERS = ("changeDataFeed", "inCommitTimestamp")
# Names in the files; with column mapping the schema may call a column what it likes.
_ID, _CITY, _STARTED, _MINUTES, _PRICE = (f"col-{n}" for n in ("id", "city", "started", "minutes", "price"))
_STORED = pa.schema(
    [
        pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})
        for name, kind, number in (
            (_ID, pa.int64(), 1), (_STARTED, pa.timestamp("us", "UTC"), 3), (_MINUTES, pa.int32(), 4),
            (_PRICE, pa.decimal128(8, 2), 5),
        )
    ]
)  # fmt: skip


def build(folder: str | os.PathLike[str]) -> None:
    """Make the table in a folder that has none."""
    table = DeltaTableBuilder(folder)
    rides: dict[tuple[int, str], Body] = {}
    table.commit(
        _info("CREATE TABLE", _time(0, 6), {"partitionBy": '["city"]'}),
        {"protocol": protocol(3, 7, readers=_FOR_READERS, writers=_FOR_WRITERS)},
        {"metaData": _metadata("minutes")},
    )
    for day in range(DAYS):
        if day == DAYS // 2:
            table.commit(
                _info("RENAME COLUMN", _time(day, 12), {"oldColumnPath": "minutes", "newColumnPath": "duration"}),
                {"metaData": _metadata("duration")},
            )
        for city in CITIES:
            rides[day, city] = table.write_data(_rides(day, city), {_CITY: city}, time=_time(day, 23))
        table.commit(
            _info("WRITE", _time(day, 23), {"mode": "Append"}), *({"add": rides[day, c]} for c in CITIES)
        )
    _cancel(table, rides[DAYS - 1, "Bergen"])
    _correct(table, rides[DAYS - 1, "Oslo"])


def _cancel(table: DeltaTableBuilder, add: Body) -> None:
    """Every hundredth ride of a file did not take place: a deletion vector hides it."""
    vector = table.write_deletion_vector(range(0, RIDES, 100))
    hidden: Body = {**add, "deletionVector": vector}
    info = _info("DELETE", _time(DAYS, 7), {"predicate": '["cancelled"]'})
    table.commit(info, {"remove": removal(add, time=_time(DAYS, 7))}, {"add": hidden})


def _correct(table: DeltaTableBuilder, add: Body) -> None:
    """No ride was to cost more than the ceiling: the rows of a file are written anew, with change data."""
    before = _rides(DAYS - 1, "Oslo")
    is_dear = pc.greater(before[_PRICE], CEILING)
    price = pc.if_else(is_dear, CEILING, before[_PRICE])
    after = before.set_column(before.column_names.index(_PRICE), before.schema.field(_PRICE), price)
    changed = pa.concat_tables(
        rows.filter(is_dear).append_column("_change_type", pa.array([kind] * pc.sum(is_dear).as_py()))
        for rows, kind in ((before, "update_preimage"), (after, "update_postimage"))
    )
    corrected = table.write_data(after, {_CITY: "Oslo"}, time=_time(DAYS, 8))
    table.commit(
        _info("UPDATE", _time(DAYS, 8), {"predicate": f'["price > {CEILING}"]'}),
        {"remove": removal(add, time=_time(DAYS, 8))},
        {"add": corrected},
        {"cdc": table.write_changes(changed, {_CITY: "Oslo"})},
    )


def _rides(day: int, city: str) -> pa.Table:
    chance = np.random.default_rng([day, CITIES.index(city)])
    start = int((FIRST_DAY + timedelta(days=day, hours=6)).timestamp())
    seconds = np.sort(chance.integers(0, 16 * 3600, RIDES)) + start
    minutes = chance.gamma(4, 6, RIDES).astype(np.int32) + 1
    first = (day * len(CITIES) + CITIES.index(city)) * RIDES
    cents = 1000 + minutes.astype(np.int64) * 45
    return pa.Table.from_arrays(
        [
            pa.array(np.arange(first, first + RIDES)),
            pa.array(seconds * 1_000_000, _STORED.field(_STARTED).type),
            pa.array(minutes),
            pa.array([Decimal(int(c)).scaleb(-2) for c in cents], _STORED.field(_PRICE).type),
        ],
        schema=_STORED,
    )


def _metadata(minutes: str) -> Body:
    columns = (
        ("id", "long", _ID, 1, None), ("city", "string", _CITY, 2, None), ("started", "timestamp", _STARTED, 3, None),
        (minutes, "integer", _MINUTES, 4, "whole minutes, begun ones counted"), ("price", "decimal(8,2)", _PRICE, 5, "in kroner"),
    )  # fmt: skip
    return metadata(
        [column(name, kind, _mapped(stored, number, comment)) for name, kind, stored, number, comment in columns],
        ["city"],
        {
            "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "5",
            "delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true",
            "delta.enableInCommitTimestamps": "true",
        },
        id="6f2b9c1e-8f0a-4a56-9a0c-3f8d1f1f6e11", name="rides", description="bicycles hired by the hour",
        createdTime=_time(0, 6),
    )  # fmt: skip


def _mapped(stored: str, number: int, comment: str | None) -> Mapping[str, Json]:
    mapping: dict[str, Json] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": stored}
    return mapping | ({"comment": comment} if comment else {})


def _info(operation: str, time: int, parameters: Mapping[str, Json]) -> Body:
    return {
        "commitInfo": {
            "timestamp": time, "inCommitTimestamp": time, "operation": operation,
            "operationParameters": dict(parameters), "userName": "ingrid", "engineInfo": "Esker's demo",
        }
    }  # fmt: skip


def _time(day: int, hour: int) -> int:
    return int((FIRST_DAY + timedelta(days=day, hours=hour)).timestamp() * 1000)
