"""What does an Iceberg table offer?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from esker.core.arrange import Layout, OptimizePlan, RowArranger
from esker.core.change import Expression, RowEditor, RowMerger
from esker.core.demands import Contract, Judge
from esker.core.features import FeaturePresence
from esker.core.job import Job
from esker.core.merge import Merge
from esker.core.predicate import Predicate
from esker.core.protocol_changes import Drop, Dropped, Foresight, ProtocolChange, Upgrade
from esker.core.scan import ScanPlan
from esker.core.schema_changes import SchemaChange
from esker.core.table import Creation, Description, FormatTable, Vacuumed, VacuumWish, taken
from esker.core.types import Struct
from esker.core.write import RowSource, WriteOptions
from esker.errors import InvalidRequest, InvalidTable, NotFound
from esker.iceberg import alter, append, changes, cleaning, create, metadata_tables, optimize, refs, row_changes
from esker.iceberg.catalog import Catalog
from esker.iceberg.demands import contract
from esker.iceberg.drop import drop
from esker.iceberg.enable import enable, upgrade
from esker.iceberg.facts import facts, with_past
from esker.iceberg.features import presences
from esker.iceberg.file_plan import RowReader
from esker.iceberg.foresight import foresight
from esker.iceberg.hadoop import FolderCatalog
from esker.iceberg.place import Place
from esker.iceberg.plan import filterable, plan
from esker.iceberg.state import TableState, current_state, load
from esker.storage.port import Storage


def create_iceberg(storage: Storage, wanted: Creation, options: Mapping[str, str], read: RowReader) -> "IcebergTable":
    """Create a table in this storage; where there is one, do as is wanted."""
    return create_by_catalog(Place(storage, options), FolderCatalog(storage), wanted, read)


def create_by_catalog(place: Place, catalog: Catalog, wanted: Creation, read: RowReader) -> "IcebergTable":
    """Create a table that the catalog is told of; where there is one, do as is wanted."""
    place = replace(place, judge=wanted.judge)
    try:
        there = open_by_catalog(place, catalog, read)
    except NotFound:
        state = create.create(place, wanted.definition, wanted.rows, catalog)
        return IcebergTable(state, read, lambda: _by_catalog(place, catalog))
    match wanted.if_exists:
        case "ignore":
            return there
        case "replace":
            return replace(there, state=create.replace_table(there.state, wanted.definition, wanted.rows))
    raise taken(place.url)


def open_by_catalog(place: Place, catalog: Catalog, read: RowReader) -> "IcebergTable":
    """The table that the catalog knows, in its current state. `read` reads delete files."""
    return IcebergTable(_by_catalog(place, catalog), read, lambda: _by_catalog(place, catalog))


def _by_catalog(place: Place, catalog: Catalog) -> TableState:
    path, metadata = catalog.load()
    return replace(current_state(place.recording(metadata.location), path, metadata), catalog=catalog)


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
            return self.in_state(newest.at(version))
        if timestamp is not None:
            return self.in_state(newest.at_time(timestamp))
        return self.in_state(newest if ref is None else newest.at_ref(ref))

    def features(self, with_history: bool = False) -> tuple[FeaturePresence[Any], ...]:
        found = presences(facts(self.state))
        return with_past(found, self.state) if with_history else found

    def contract(self) -> Contract:
        return contract(self.state.metadata.format_version, self.features())

    def foresee(self, change: ProtocolChange) -> Foresight:
        return foresight(self.state, change, self.read)

    def append(self, rows: RowSource, options: WriteOptions) -> "IcebergTable":
        return self.in_state(append.append(self.state, rows, options))

    def overwrite(self, rows: RowSource, options: WriteOptions, is_dynamic: bool) -> "IcebergTable":
        write = append.overwrite_partitions if is_dynamic else append.overwrite
        return self.in_state(write(self.state, rows, options))

    def overwrite_where(self, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor) -> "IcebergTable":
        return self.in_state(row_changes.overwrite_where(self.state, rows, where, options, editor, self.read))

    def delete(self, where: str | None, editor: RowEditor) -> "IcebergTable":
        return self.in_state(row_changes.delete(self.state, where, editor, self.read))

    def update(self, values: Mapping[str, Expression], where: str | None, editor: RowEditor) -> "IcebergTable":
        return self.in_state(row_changes.update(self.state, values, where, editor, self.read))

    def merge(self, merge: Merge, merger: RowMerger) -> "IcebergTable":
        return self.in_state(row_changes.merge(self.state, merge, merger, self.read))

    def change_columns(self, changes: Sequence[SchemaChange], editor: RowEditor | None) -> "IcebergTable":
        return self.in_state(alter.change_columns(self.state, changes))

    def set_properties(self, properties: Mapping[str, str]) -> "IcebergTable":
        return self.in_state(alter.set_properties(self.state, properties))

    def unset_properties(self, names: Sequence[str]) -> "IcebergTable":
        return self.in_state(alter.unset_properties(self.state, names))

    def set_comment(self, comment: str | None) -> "IcebergTable":
        return self.in_state(alter.set_comment(self.state, comment))

    def enable(self, features: Sequence[str]) -> "IcebergTable":
        return self.in_state(enable(self.state, features))

    def upgrade(self, wanted: Upgrade) -> "IcebergTable":
        return self.in_state(upgrade(self.state, wanted))

    def drop_features(self, wanted: Drop, arranger: RowArranger) -> "tuple[IcebergTable, Dropped]":
        state, dropped = drop(self.state, wanted, arranger, self.read)
        return self.in_state(state), dropped

    def restore(self, version: int | None, timestamp: datetime | None, ignore_missing: bool) -> "IcebergTable":
        return self.in_state(refs.rollback(self.state, self.at(version, timestamp).version))

    def vacuum(self, wish: VacuumWish, progress: Callable[[int, int], None]) -> "tuple[IcebergTable, Vacuumed]":
        state, vacuumed = cleaning.vacuum(self.state, wish, progress)
        return self.in_state(state), vacuumed

    def optimize(self, layout: Layout, arranger: RowArranger) -> "IcebergTable":
        return self.in_state(optimize.optimize(self.state, layout, arranger, self.read))

    def plan_optimize(self, layout: Layout, arranger: RowArranger) -> OptimizePlan:
        return optimize.plan_optimize(self.state, layout, arranger, self.read)

    def purge(self, where: str | None, arranger: RowArranger) -> "IcebergTable":
        return self.in_state(optimize.purge(self.state, where, arranger, self.read))

    def cluster_by(self, columns: Sequence[str]) -> "IcebergTable":
        return self.in_state(alter.set_sort_order(self.state, columns))

    def judged_by(self, judge: Judge | None) -> "IcebergTable":
        return self.in_state(_judged(self.state, judge))

    def _refreshed(self) -> TableState:
        newest = self.newest()
        if self.state.metadata.table_uuid and newest.metadata.table_uuid != self.state.metadata.table_uuid:
            # "must throw an exception if a table's UUID does not match the expected UUID after refreshing metadata"
            raise InvalidTable(
                f"the table was {self.state.metadata.table_uuid} and is now {newest.metadata.table_uuid}: it was replaced",
                where=self.location,
            )
        return _judged(newest, self.state.place.judge)

    def in_state(self, state: TableState) -> "IcebergTable":
        """The same table in another state."""
        return replace(self, state=state)

    def _until(self, last: int | datetime) -> "IcebergTable":
        return self.at(version=last) if isinstance(last, int) else self.at(timestamp=last)


def _judged(state: TableState, judge: Judge | None) -> TableState:
    return replace(state, place=replace(state.place, judge=judge))


def _moment(millis: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a year that Python does not know
        return None
