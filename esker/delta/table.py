"""What does a Delta table offer?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from esker.core.arrange import Layout, OptimizePlan, RowArranger
from esker.core.change import Expression, RowEditor, RowMerger
from esker.core.demands import Contract, Judge
from esker.core.features import FeaturePresence, Operation
from esker.core.job import Job
from esker.core.merge import Merge
from esker.core.predicate import Predicate
from esker.core.protocol_changes import Drop, Dropped, Foresight, ProtocolChange, Upgrade
from esker.core.scan import ScanPlan
from esker.core.schema_changes import SchemaChange
from esker.core.table import Creation, Description, FormatTable, Vacuumed, VacuumWish, taken
from esker.core.types import Struct
from esker.core.write import RowSource, WriteOptions
from esker.delta import append, change_properties, changes, checksum, create, file_list, history, taken_over
from esker.delta.change_columns import change_columns
from esker.delta.checkpoint_writer import write_checkpoint
from esker.delta.cluster_by import cluster_by
from esker.delta.commit import now
from esker.delta.delete import delete
from esker.delta.demands import contract
from esker.delta.distributed import ReplayJob, live_files
from esker.delta.drop import drop
from esker.delta.enable import enable, upgrade
from esker.delta.facts import facts
from esker.delta.foresight import foresight
from esker.delta.log_cleanup import clean_log
from esker.delta.log_compaction import write_compaction
from esker.delta.merge import merge
from esker.delta.overwrite_where import overwrite_where
from esker.delta.past import with_past
from esker.delta.plan import filterable, plan
from esker.delta.protocol import presences, problems
from esker.delta.rearrange import optimize, plan_optimize, purge
from esker.delta.snapshot import Place, Snapshot, load
from esker.delta.update import update
from esker.delta.vacuuming import vacuum
from esker.errors import InvalidRequest, NotFound, Unsupported
from esker.storage import open_storage
from esker.storage.port import Storage


def open_delta(
    storage: Storage, options: Mapping[str, str], moves: Mapping[str, str], judge: Judge | None = None
) -> "DeltaTable":
    """The newest version of the table in this storage."""
    return DeltaTable(load(Place(storage, options, moves, judge)))


def create_delta(storage: Storage, wanted: Creation, options: Mapping[str, str]) -> "DeltaTable":
    """Create a table in this storage; where there is one, do as is wanted."""
    place = Place(storage, options, judge=wanted.judge)
    try:
        there = load(place)
    except NotFound:
        return DeltaTable(create.create(place, wanted.definition, wanted.rows))
    match wanted.if_exists:
        case "ignore":
            return DeltaTable(there)
        case "replace":
            return DeltaTable(create.replace_table(there, wanted.definition, wanted.rows))
    raise taken(storage.url)


def convert_to_delta(storage: Storage, partitions: Struct | None, infer_types: bool, options: Mapping[str, str]) -> "DeltaTable":
    """Make a table of the Parquet files in this storage, where they lie."""
    return DeltaTable(taken_over.convert(Place(storage, options), partitions, infer_types))


@dataclass(frozen=True)
class DeltaTable(FormatTable):
    """A Delta table at one version."""

    snapshot: Snapshot
    format: str = "delta"

    @property
    def location(self) -> str:
        return self.snapshot.location

    @property
    def version(self) -> int:
        return self.snapshot.version

    @property
    def schema(self) -> Struct:
        return self.snapshot.schema

    @property
    def filterable(self) -> Struct:
        return filterable(self.schema)

    def describe(self) -> Description:
        metadata = self.snapshot.metadata
        return Description(
            format=self.format,
            location=self.location,
            version=self.version,
            protocol=str(self.snapshot.protocol),
            schema=self.schema,
            partition_columns=metadata.partition_columns,
            properties=metadata.configuration,
            id=metadata.id,
            name=metadata.name,
            comment=metadata.description,
            created=_moment(metadata.created_time),
            modified=_moment(history.commit_time(self.snapshot)),
            findings=(
                *([self.snapshot.hint.problem] if self.snapshot.hint.problem else []),
                *(str(problem) for problem in problems(self.snapshot.protocol)),
            ),
        )

    def features(self, with_history: bool = False) -> tuple[FeaturePresence[Any], ...]:
        found = presences(self.snapshot.protocol, facts(self.snapshot))
        return with_past(found, self.snapshot) if with_history else found

    def contract(self) -> Contract:
        return contract(self.snapshot.protocol, self.features(), self.schema)

    def foresee(self, change: ProtocolChange) -> Foresight:
        return foresight(self.snapshot, change, facts(self.snapshot))

    def plan(self, columns: Sequence[str] | None = None, where: Predicate | None = None) -> ScanPlan:
        return plan(self.snapshot, columns)

    def changes(
        self, first: int | datetime, last: int | datetime | None, columns: Sequence[str] | None
    ) -> tuple[ScanPlan, ...]:
        end = self if last is None else self._until(last)
        return changes.plans(end.snapshot, self._version_from(first), columns)

    @property
    def state_size(self) -> int:
        return ReplayJob(self.snapshot).size

    def replayed(self, run: Callable[[Job], pa.Table], where: Predicate | None) -> "DeltaTable":
        self.snapshot.gate(Operation.READ)
        job = ReplayJob(self.snapshot, where)
        return DeltaTable(self.snapshot.pinned(live_files(run(job), job)))

    def files(self) -> pa.Table:
        return file_list.files(self.snapshot)

    def history(self, limit: int | None = None) -> pa.Table:
        return history.history(self.snapshot, limit)

    def verify(self) -> tuple[str, ...]:
        """Where the state differs from the version checksum file; nothing where there is none."""
        return checksum.differences(self.snapshot)

    def append(self, rows: RowSource, options: WriteOptions) -> "DeltaTable":
        return DeltaTable(append.append(self.snapshot, rows, options))

    def overwrite(self, rows: RowSource, options: WriteOptions, is_dynamic: bool) -> "DeltaTable":
        write = append.overwrite_partitions if is_dynamic else append.overwrite
        return DeltaTable(write(self.snapshot, rows, options))

    def overwrite_where(self, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor) -> "DeltaTable":
        return DeltaTable(overwrite_where(self.snapshot, rows, where, options, editor))

    def delete(self, where: str | None, editor: RowEditor) -> "DeltaTable":
        return DeltaTable(delete(self.snapshot, where, editor))

    def update(self, values: Mapping[str, Expression], where: str | None, editor: RowEditor) -> "DeltaTable":
        return DeltaTable(update(self.snapshot, values, where, editor))

    def merge(self, wanted: Merge, merger: RowMerger) -> "DeltaTable":
        return DeltaTable(merge(self.snapshot, wanted, merger))

    def change_columns(self, changes: Sequence[SchemaChange], editor: RowEditor | None) -> "DeltaTable":
        return DeltaTable(change_columns(self.snapshot, changes, editor))

    def set_properties(self, properties: Mapping[str, str]) -> "DeltaTable":
        return DeltaTable(change_properties.set_properties(self.snapshot, properties))

    def unset_properties(self, names: Sequence[str]) -> "DeltaTable":
        return DeltaTable(change_properties.unset_properties(self.snapshot, names))

    def set_comment(self, comment: str | None) -> "DeltaTable":
        return DeltaTable(change_properties.set_comment(self.snapshot, comment))

    def enable(self, features: Sequence[str]) -> "DeltaTable":
        return DeltaTable(enable(self.snapshot, features))

    def upgrade(self, wanted: Upgrade) -> "DeltaTable":
        return DeltaTable(upgrade(self.snapshot, wanted))

    def drop_features(self, wanted: Drop, arranger: RowArranger) -> "tuple[DeltaTable, Dropped]":
        snapshot, dropped = drop(self.snapshot, wanted, arranger)
        return DeltaTable(snapshot), dropped

    def add_constraint(self, name: str, condition: str, editor: RowEditor) -> "DeltaTable":
        return DeltaTable(change_properties.add_constraint(self.snapshot, name, condition, editor))

    def drop_constraint(self, name: str) -> "DeltaTable":
        return DeltaTable(change_properties.drop_constraint(self.snapshot, name))

    def restore(self, version: int | None, timestamp: datetime | None, ignore_missing: bool) -> "DeltaTable":
        asked = {"version": version} if timestamp is None else {"timestamp": timestamp.isoformat()}
        target = self.at(version, timestamp).snapshot
        return DeltaTable(taken_over.restore(load(self.snapshot.place), target, asked, ignore_missing))

    def clone(self, location: str, options: Mapping[str, str] | None) -> "DeltaTable":
        opened = self.snapshot.place.options if options is None else options
        place = Place(open_storage(location, opened), opened, judge=self.snapshot.place.judge)
        return DeltaTable(taken_over.clone(self.snapshot, place))

    def vacuum(self, wish: VacuumWish, progress: Callable[[int, int], None]) -> "tuple[DeltaTable, Vacuumed]":
        snapshot, vacuumed = vacuum(self.snapshot, wish, progress)
        return DeltaTable(snapshot), vacuumed

    def optimize(self, layout: Layout, arranger: RowArranger) -> "DeltaTable":
        return DeltaTable(optimize(self.snapshot, layout, arranger))

    def plan_optimize(self, layout: Layout, arranger: RowArranger) -> OptimizePlan:
        return plan_optimize(self.snapshot, layout, arranger)

    def purge(self, where: str | None, arranger: RowArranger) -> "DeltaTable":
        return DeltaTable(purge(self.snapshot, where, arranger))

    def cluster_by(self, columns: Sequence[str]) -> "DeltaTable":
        return DeltaTable(cluster_by(self.snapshot, columns))

    def checkpoint(self) -> "DeltaTable":
        return DeltaTable(self.snapshot.resting_on(write_checkpoint(self.snapshot, now())))

    def clean_log(self) -> int:
        return clean_log(load(self.snapshot.place), now())

    def compact_log(self, first: int, last: int) -> None:
        write_compaction(self.snapshot, first, last)

    def judged_by(self, judge: Judge | None) -> "DeltaTable":
        return DeltaTable(self.snapshot.placed(replace(self.snapshot.place, judge=judge)))

    def at(
        self, version: int | None = None, timestamp: datetime | None = None, ref: str | None = None
    ) -> "DeltaTable":
        if ref is not None:
            raise Unsupported(f"the branch or tag {ref}: Delta tables have none", where=self.location)
        if version is not None and timestamp is not None:
            raise InvalidRequest("a version or a timestamp, not both", where=self.location)
        if timestamp is not None:
            version = history.version_at(load(self.snapshot.place), timestamp)
        return DeltaTable(load(self.snapshot.place, version))

    def _until(self, last: int | datetime) -> "DeltaTable":
        return self.at(version=last) if isinstance(last, int) else self.at(timestamp=last)

    def _version_from(self, first: int | datetime) -> int:
        """A version, or the first one committed at or after a moment."""
        if isinstance(first, int):
            return first
        return history.first_version_since(self.snapshot, first)


def _moment(millis: int | None) -> datetime | None:
    try:
        return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a year that Python does not know
        return None
