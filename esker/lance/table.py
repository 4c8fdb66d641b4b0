"""What does a Lance table offer?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from esker.core.arrange import Layout, OptimizePlan, RowArranger
from esker.core.change import Expression, RowEditor, RowMerger
from esker.core.demands import Contract, Judge
from esker.core.features import FeaturePresence
from esker.core.fragments import FragmentScan
from esker.core.job import Job
from esker.core.merge import Merge
from esker.core.predicate import Predicate
from esker.core.protocol_changes import Drop, Dropped, Foresight, ProtocolChange, Upgrade
from esker.core.schema_changes import SchemaChange
from esker.core.table import Creation, Description, FormatTable, Vacuumed, VacuumWish, taken
from esker.core.types import Struct
from esker.core.write import RowSource, WriteOptions
from esker.errors import EskerError, InvalidRequest, NotFound, Unsupported
from esker.lance import append, create, edit, file_list, flags, history, maintenance
from esker.lance.change_columns import change_columns
from esker.lance.committing import retried
from esker.lance.demands import contract
from esker.lance.drop import drop, foresee, not_enabled, protocol
from esker.lance.library import Library
from esker.lance.merge import merge
from esker.lance.metadata_tables import metadata
from esker.lance.place import Place
from esker.lance.plan import filterable, plan
from esker.lance.properties import properties, set_metadata, set_properties
from esker.lance.snapshot import Snapshot, load, load_at, load_ref, on_branch
from esker.storage import open_storage
from esker.storage.port import Storage


def open_lance(
    storage: Storage, options: Mapping[str, str], moves: Mapping[str, str], library: Library
) -> "LanceTable":
    """The newest version of the table in this storage."""
    return LanceTable(load(Place(storage, options, moves)), library)


def create_lance(storage: Storage, wanted: Creation, options: Mapping[str, str], library: Library) -> "LanceTable":
    """Create a table in this storage; where there is one, do as is wanted."""
    place = Place(storage, options, judge=wanted.judge)
    try:
        there = load(place)
    except NotFound:
        return LanceTable(create.create(place, wanted.definition, wanted.rows, library), library)
    match wanted.if_exists:
        case "ignore":
            return LanceTable(there, library)
        case "replace":
            replaced = retried(there, lambda base: create.replace_table(base, wanted.definition, wanted.rows, library))
            return LanceTable(replaced, library)
    raise taken(storage.url)


@dataclass(frozen=True)
class LanceTable(FormatTable):
    """A Lance table at one version."""

    snapshot: Snapshot
    library: Library
    format: str = "lance"

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
        manifest = self.snapshot.manifest
        return Description(
            format=self.format,
            location=self.location,
            version=self.version,
            protocol=protocol(manifest),
            schema=self.schema,
            properties=properties(manifest),
            name=manifest.table_metadata.get("name"),
            comment=manifest.table_metadata.get("comment"),
            modified=manifest.timestamp,
        )

    def features(self, with_history: bool = False) -> tuple[FeaturePresence[Any], ...]:
        return flags.presences(self.snapshot.manifest)

    def contract(self) -> Contract:
        return contract(self.snapshot.manifest, self.snapshot.file.naming, self.snapshot.has_latest)

    def foresee(self, change: ProtocolChange) -> Foresight:
        return foresee(self.snapshot, change)

    def enable(self, features: Sequence[str]) -> "LanceTable":
        raise not_enabled(self.snapshot)

    def upgrade(self, wanted: Upgrade) -> "LanceTable":
        raise not_enabled(self.snapshot)

    def drop_features(self, wanted: Drop, arranger: RowArranger) -> "tuple[LanceTable, Dropped]":
        snapshot, dropped = drop(self.snapshot, wanted, self.library, arranger.spread)
        return self._at(snapshot), dropped

    def plan(self, columns: Sequence[str] | None = None, where: Predicate | None = None) -> FragmentScan:
        return plan(self.snapshot, columns)

    @property
    def state_size(self) -> int:
        return self.snapshot.file.file.size

    def replayed(self, run: Callable[[Job], pa.Table], where: Predicate | None) -> "LanceTable":
        return self  # one manifest states all of a version

    def files(self) -> pa.Table:
        return file_list.files(self.snapshot)

    def history(self, limit: int | None = None) -> pa.Table:
        return history.history(self.snapshot, limit)

    def verify(self) -> tuple[str, ...]:
        """Where deletion files differ from what the manifest says of them."""
        found = []
        for fragment in self.snapshot.fragments:
            try:
                self.snapshot.dead_rows(fragment)
            except EskerError as error:
                found.append(f"fragment {fragment.id}: {error.what}")
        return tuple(found)

    def append(self, rows: RowSource, options: WriteOptions) -> "LanceTable":
        return self._at(append.append(self.snapshot, rows, options, self.library))

    def overwrite(self, rows: RowSource, options: WriteOptions, is_dynamic: bool) -> "LanceTable":
        if is_dynamic:
            raise Unsupported("Lance tables have no partitions", where=self.location)
        return self._at(append.overwrite(self.snapshot, rows, options, self.library))

    def overwrite_where(self, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor) -> "LanceTable":
        return self._at(append.overwrite_where(self.snapshot, rows, where, options, editor, self.library))

    def delete(self, where: str | None, editor: RowEditor) -> "LanceTable":
        return self._at(edit.delete(self.snapshot, where, editor, self.library))

    def update(self, values: Mapping[str, Expression], where: str | None, editor: RowEditor) -> "LanceTable":
        return self._at(edit.update(self.snapshot, values, where, editor, self.library))

    def merge(self, wanted: Merge, merger: RowMerger) -> "LanceTable":
        return self._at(merge(self.snapshot, wanted, merger, self.library))

    def change_columns(self, changes: Sequence[SchemaChange], editor: RowEditor | None) -> "LanceTable":
        return self._at(change_columns(self.snapshot, changes, self.library))

    def set_properties(self, properties: Mapping[str, str]) -> "LanceTable":
        return self._at(set_properties(self.snapshot, properties, self.library))

    def unset_properties(self, names: Sequence[str]) -> "LanceTable":
        return self._at(set_properties(self.snapshot, dict.fromkeys(names), self.library))

    def set_comment(self, comment: str | None) -> "LanceTable":
        return self._at(set_metadata(self.snapshot, {"comment": comment}, self.library))

    def restore(self, version: int | None, timestamp: datetime | None, ignore_missing: bool) -> "LanceTable":
        target = self.at(version, timestamp).snapshot
        return self._at(maintenance.restore(self.snapshot, target, ignore_missing, self.library))

    def clone(self, location: str, options: Mapping[str, str] | None) -> "LanceTable":
        opened = self.snapshot.place.options if options is None else options
        storage = open_storage(location, opened)
        maintenance.clone(self.snapshot, storage.url, opened, self.library)
        return LanceTable(load(Place(storage, opened, judge=self.snapshot.place.judge)), self.library)

    def vacuum(self, wish: VacuumWish, progress: Callable[[int, int], None]) -> "tuple[LanceTable, Vacuumed]":
        snapshot, vacuumed = maintenance.vacuum(self.snapshot, wish, progress, self.library)
        return self._at(snapshot), vacuumed

    def optimize(self, layout: Layout, arranger: RowArranger) -> "LanceTable":
        return self._at(maintenance.optimize(self.snapshot, layout, self.library, arranger.spread))

    def plan_optimize(self, layout: Layout, arranger: RowArranger) -> OptimizePlan:
        return maintenance.plan_optimize(self.snapshot, layout, self.library)

    def purge(self, where: str | None, arranger: RowArranger) -> "LanceTable":
        return self._at(maintenance.purge(self.snapshot, where, self.library, arranger.spread))

    def metadata(self, name: str) -> pa.Table:
        return metadata(self.snapshot, name)

    def at(
        self, version: int | None = None, timestamp: datetime | None = None, ref: str | None = None
    ) -> "LanceTable":
        """The same table elsewhere. A version or a moment is one of the branch that `ref` names, or of this handle's."""
        if version is not None and timestamp is not None:
            raise InvalidRequest("a version or a timestamp, not both", where=self.location)
        if ref is not None and version is None and timestamp is None:
            return self._at(load_ref(self.snapshot.place, ref))
        place = self.snapshot.place if ref is None else on_branch(self.snapshot.place, ref)
        return self._at(load(place, version) if timestamp is None else load_at(place, timestamp))

    def create_tag(self, name: str) -> None:
        """Name this version."""
        maintenance.create_tag(self.snapshot, name, self.library)

    def delete_tag(self, name: str) -> None:
        """Take a tag away."""
        maintenance.delete_tag(self.snapshot, name, self.library)

    def create_branch(self, name: str) -> "LanceTable":
        """Begin a branch at this version."""
        return self._at(maintenance.create_branch(self.snapshot, name, self.library))

    def delete_branch(self, name: str) -> None:
        """Take a branch away."""
        maintenance.delete_branch(self.snapshot, name, self.library)

    def judged_by(self, judge: Judge | None) -> "LanceTable":
        return self._at(replace(self.snapshot, place=replace(self.snapshot.place, judge=judge)))

    def _at(self, snapshot: Snapshot) -> "LanceTable":
        return replace(self, snapshot=snapshot)
