"""How does a table take over the state of something else: of an earlier version, of another table, of a folder?

`restore`, `clone` and `convert` tell what the commit holds; here it is committed.
"""

from collections.abc import Mapping

import pyarrow.parquet as pq

from esker.core import types as t
from esker.core.footers import file_statistics
from esker.core.types import Json, Struct, leaves
from esker.delta import properties
from esker.delta.actions import Metadata
from esker.delta.clone import cloning
from esker.delta.column_mapping import Mode
from esker.delta.commit import commit, create, now
from esker.delta.convert import converting
from esker.delta.log import LOG_FOLDER
from esker.delta.restore import restoring
from esker.delta.snapshot import Place, Snapshot, before_creation
from esker.delta.transaction import Change, Operation
from esker.delta.written_stats import stats_json, without_bounds
from esker.errors import InvalidRequest


def restore(newest: Snapshot, target: Snapshot, asked: Mapping[str, Json], ignore_missing: bool) -> Snapshot:
    """Take the table back to `target`. `asked` is how the caller named it, by `version` or by `timestamp`.

    What rivals commit meanwhile is taken back as well: what has to be done is told from the newest version each time.
    """

    def apply(base: Snapshot) -> Change:
        found = restoring(base, target, now(), ignore_missing)
        return Change(
            Operation("RESTORE", {"version": None, "timestamp": None, **asked}, found.metrics),
            adds=found.adds,
            removes=found.removes,
            metadata=None if found.metadata == base.metadata else found.metadata,
            protocol=None if found.protocol == base.protocol else found.protocol,
            domains=found.domains,
        )

    return commit(newest, apply, is_rebased=True)


def clone(source: Snapshot, place: Place) -> Snapshot:
    """A table at `place` with the files of this one, where they lie."""
    made = cloning(source, place.url, now())
    if next(iter(place.storage.list(LOG_FOLDER)), None) is not None:
        raise InvalidRequest("there is a table here", where=place.url, hint="Clone to another place.")
    parameters: dict[str, Json] = {"source": source.location, "sourceVersion": source.version, "isShallow": True}
    change = Change(
        Operation("CLONE", parameters, made.metrics),
        adds=made.adds,
        metadata=made.metadata,
        protocol=made.protocol,
        domains=made.domains,
    )
    return create(before_creation(place, made.protocol, made.metadata), change)


def convert(place: Place, partitions: Struct | None, infer_types: bool) -> Snapshot:
    """A table of the Parquet files that lie in a place; `partitions` are the columns that its folders state."""
    found = converting(place.storage, partitions, _statistics, now(), infer_types)
    parameters: dict[str, Json] = {
        "numFiles": len(found.adds), "partitionedBy": [*found.metadata.partition_columns], "collectStats": True,
        "sourceFormat": "parquet",
    }  # fmt: skip
    change = Change(
        Operation("CONVERT", parameters, found.metrics),
        adds=found.adds,
        metadata=found.metadata,
        protocol=found.protocol,
    )
    return create(before_creation(place, found.protocol, found.metadata), change)


def _statistics(footer: pq.FileMetaData, columns: Struct) -> str:
    # Not every writer of Parquet lets NaN, which is the greatest value, count in its bounds.
    floating = [path for path, leaf in leaves(columns) if leaf.type in t.FRACTIONAL]
    indexed = properties.indexed_columns(Metadata("", "", columns))
    return stats_json(without_bounds(file_statistics(footer), floating), columns, Mode.NONE, indexed)
