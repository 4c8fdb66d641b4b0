"""What does an Iceberg table offer?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from esker.core.demands import Contract
from esker.core.features import FeaturePresence
from esker.core.job import Job
from esker.core.predicate import Predicate
from esker.core.scan import ScanPlan
from esker.core.table import Description, FormatTable
from esker.core.types import Struct
from esker.errors import InvalidRequest, InvalidTable
from esker.iceberg import changes, metadata_tables
from esker.iceberg.demands import contract
from esker.iceberg.facts import facts, with_past
from esker.iceberg.features import presences
from esker.iceberg.file_plan import RowReader
from esker.iceberg.place import Place
from esker.iceberg.plan import filterable, plan
from esker.iceberg.state import TableState, load
from esker.storage.port import Storage


def open_iceberg(
    storage: Storage,
    metadata_file: str | None,
    options: Mapping[str, str],
    moves: Mapping[str, str],
    read: RowReader,
) -> "IcebergTable":
    """The table in this storage, by its newest metadata file or by the one that is named. `read` reads delete files."""
    place = Place(storage, options, moves)
    state = load(place, metadata_file)
    newest = (lambda: load(place)) if metadata_file is None else (lambda: state)
    return IcebergTable(state, read, newest)


@dataclass(frozen=True)
class IcebergTable(FormatTable):
    """An Iceberg table at one snapshot."""

    state: TableState
    read: RowReader
    newest: Callable[[], TableState]
    """Looks what the table's current state is now."""
    format: str = "iceberg"

    @property
    def location(self) -> str:
        return self.state.location

    @property
    def version(self) -> int:
        return self.state.version

    @property
    def schema(self) -> Struct:
        return self.state.schema.struct

    @property
    def filterable(self) -> Struct:
        return filterable(self.state)

    def describe(self) -> Description:
        metadata, snapshot = self.state.metadata, self.state.snapshot
        return Description(
            format=self.format,
            location=self.location,
            version=self.version,
            protocol=f"format version {metadata.format_version}",
            schema=self.schema,
            partition_columns=tuple(f.name for f in metadata.spec.fields),
            properties=metadata.properties,
            id=metadata.table_uuid,
            comment=metadata.properties.get("comment"),
            modified=_moment(metadata.last_updated_ms if snapshot is None else snapshot.timestamp_ms),
        )

    def plan(self, columns: Sequence[str] | None = None, where: Predicate | None = None) -> ScanPlan:
        return plan(self.state, columns, where, self.read)

    def changes(
        self, first: int | datetime, last: int | datetime | None, columns: Sequence[str] | None
    ) -> tuple[ScanPlan, ...]:
        end = self if last is None else self._until(last)
        return changes.plans(end.state, first, columns, self.read)

    @property
    def state_size(self) -> int:
        return sum(manifest.manifest_length for manifest in self.state.manifests)

    def replayed(self, run: Callable[[Job], pa.Table], where: Predicate | None) -> "IcebergTable":
        return self  # manifests are read in columns, and those that a filter rules out are not

    def files(self) -> pa.Table:
        return metadata_tables.files(self.state)

    def history(self, limit: int | None = None) -> pa.Table:
        return metadata_tables.history(self.state, limit)

    def metadata(self, name: str) -> pa.Table:
        return metadata_tables.metadata_table(self.state, name)

    def verify(self) -> tuple[str, ...]:
        return metadata_tables.differences(self.state)

    def at(
        self, version: int | None = None, timestamp: datetime | None = None, ref: str | None = None
    ) -> "IcebergTable":
        if sum(choice is not None for choice in (version, timestamp, ref)) > 1:
            raise InvalidRequest("a version, a timestamp or a branch or tag, one of them", where=self.location)
        newest = self._refreshed()
        if version is not None:
            return self._in(newest.at(version))
        if timestamp is not None:
            return self._in(newest.at_time(timestamp))
        return self._in(newest if ref is None else newest.at_ref(ref))

    def features(self, with_history: bool = False) -> tuple[FeaturePresence[Any], ...]:
        found = presences(facts(self.state))
        return with_past(found, self.state) if with_history else found

    def contract(self) -> Contract:
        return contract(self.state.metadata.format_version, self.features())

    def _refreshed(self) -> TableState:
        newest = self.newest()
        if newest.metadata.table_uuid != self.state.metadata.table_uuid:
            # "must throw an exception if a table's UUID does not match the expected UUID after refreshing metadata"
            raise InvalidTable(
                f"the table was {self.state.metadata.table_uuid} and is now {newest.metadata.table_uuid}: it was replaced",
                where=self.location,
            )
        return newest

    def _in(self, state: TableState) -> "IcebergTable":
        return replace(self, state=state)

    def _until(self, last: int | datetime) -> "IcebergTable":
        return self.at(version=last) if isinstance(last, int) else self.at(timestamp=last)


def _moment(millis: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a year that Python does not know
        return None
