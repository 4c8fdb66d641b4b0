"""Does a change through a REST server know itself again, where the server's reply does not say whether it was made?

"The first request was granted, and the second refused" is told by what the table holds then; no server is needed to ask that.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from esker.core.types import LONG, Field, Struct
from esker.iceberg.catalog import Swap
from esker.iceberg.metadata import StatisticsFile, TableMetadata
from esker.iceberg.schema import Schema
from esker.iceberg.updates import (
    AddSchema,
    AddSnapshot,
    RemoveProperties,
    RemoveRef,
    RemoveSnapshots,
    SetCurrentSchema,
    SetProperties,
    SetRef,
    SetStatistics,
    Update,
    UpgradeFormatVersion,
    updated,
)
from tests.iceberg.tables import Builder

rest = pytest.importorskip("esker.catalogs.rest", reason="catalogs need pyiceberg: pip install 'esker[catalogs]'")


def base() -> TableMetadata:
    """A table with two snapshots, the older of them tagged and with statistics."""
    table = Builder(Struct((Field("id", LONG, id=1),)), properties={"old": "1"})
    first = table.commit()
    table.commit()
    statistics = tuple(StatisticsFile(number, f"s3://far/{number}", 1, 1, ()) for number in (first, first + 1))
    tag = SetRef("old", replace(table.metadata.refs["main"], snapshot_id=first, type="tag"))
    return updated(table.metadata, [tag, *map(SetStatistics, statistics)], 5000)


BASE = base()
WIDER = Schema(Struct((*BASE.schema.struct, Field("w", LONG, id=2))), 1)
LATER = replace(BASE.snapshots[-1], snapshot_id=900, parent_snapshot_id=101, sequence_number=3)

CHANGES: dict[str, Sequence[Update]] = {
    "a property": [SetProperties({"x": "y"})],
    "a property less": [RemoveProperties(("old",))],
    "a column": [AddSchema(WIDER), SetCurrentSchema(1)],
    "an upgrade": [UpgradeFormatVersion(3)],
    "a branch": [SetRef("b", BASE.refs["main"])],
    "a rollback": [SetRef("main", replace(BASE.refs["main"], snapshot_id=100))],
    "a tag less": [RemoveRef("old")],
    "a snapshot less": [RemoveRef("old"), RemoveSnapshots((100,))],
    "statistics": [SetStatistics(replace(BASE.statistics[0], file_size_in_bytes=7))],
    "a snapshot": [AddSnapshot(LATER), SetRef("main", replace(BASE.refs["main"], snapshot_id=900))],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_after_it_was_made_and_not_before(change: str) -> None:
    updates = CHANGES[change]
    made = updated(BASE, updates, 6000)
    swap = Swap("v1", BASE, made, updates, ())
    assert not rest.holds(BASE, swap)
    assert rest.holds(made, swap)
    assert rest.holds(updated(made, [SetProperties({"of a rival": "1"})], 7000), swap)
    assert not rest.holds(updated(BASE, [SetProperties({"of a rival": "1"})], 7000), swap)
    assert not rest.holds(replace(made, table_uuid="another"), swap)
