"""How does a table's metadata change?  (spec, "Table Metadata", "Optimistic Concurrency")

A change is a list of updates, applied one after another to the metadata that is there, and of requirements that this metadata
must meet. Both are values: a catalog may apply them itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from esker.errors import InvalidRequest, InvalidTable
from esker.iceberg.metadata import (
    BRANCH,
    MAIN,
    PartitionSpec,
    PartitionStatisticsFile,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
    SortOrder,
    StatisticsFile,
    TableMetadata,
)
from esker.iceberg.schema import Schema, all_fields


@dataclass(frozen=True, slots=True)
class UpgradeFormatVersion:
    version: int


@dataclass(frozen=True, slots=True)
class AddSchema:
    """A schema becomes known; where an equal one is, that is meant."""

    schema: Schema


@dataclass(frozen=True, slots=True)
class SetCurrentSchema:
    schema_id: int


@dataclass(frozen=True, slots=True)
class AddPartitionSpec:
    spec: PartitionSpec


@dataclass(frozen=True, slots=True)
class SetDefaultSpec:
    spec_id: int


@dataclass(frozen=True, slots=True)
class AddSortOrder:
    order: SortOrder


@dataclass(frozen=True, slots=True)
class SetDefaultSortOrder:
    order_id: int


@dataclass(frozen=True, slots=True)
class AddSnapshot:
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class SetRef:
    """A branch or tag comes to be, or points elsewhere."""

    name: str
    ref: SnapshotRef


@dataclass(frozen=True, slots=True)
class RemoveRef:
    name: str


@dataclass(frozen=True, slots=True)
class RemoveSnapshots:
    snapshot_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetProperties:
    properties: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, slots=True)
class RemoveProperties:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetStatistics:
    file: StatisticsFile


@dataclass(frozen=True, slots=True)
class RemoveStatistics:
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class SetPartitionStatistics:
    file: PartitionStatisticsFile


@dataclass(frozen=True, slots=True)
class RemovePartitionStatistics:
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class RemoveSchemas:
    schema_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemovePartitionSpecs:
    spec_ids: tuple[int, ...]


Update: TypeAlias = (
    UpgradeFormatVersion | AddSchema | SetCurrentSchema | AddPartitionSpec | SetDefaultSpec | AddSortOrder | SetDefaultSortOrder
    | AddSnapshot | SetRef | RemoveRef | RemoveSnapshots | SetProperties | RemoveProperties | SetStatistics | RemoveStatistics
    | SetPartitionStatistics | RemovePartitionStatistics | RemoveSchemas | RemovePartitionSpecs
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AssertUuid:
    """It is still the same table."""

    uuid: str | None


@dataclass(frozen=True, slots=True)
class AssertRef:
    """A branch or tag still points to this snapshot; None where it must not be there."""

    name: str
    snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class AssertCurrentSchema:
    """The schema is still this, and no column was added: ids are given out by the last one."""

    schema_id: int
    last_column_id: int


@dataclass(frozen=True, slots=True)
class AssertDefaultSpec:
    spec_id: int
    last_partition_id: int


@dataclass(frozen=True, slots=True)
class AssertDefaultSortOrder:
    order_id: int


Requirement: TypeAlias = AssertUuid | AssertRef | AssertCurrentSchema | AssertDefaultSpec | AssertDefaultSortOrder


def unmet(metadata: TableMetadata, requirements: Iterable[Requirement]) -> Iterator[str]:
    """Which requirements the metadata does not meet."""
    for requirement in requirements:
        match requirement:
            case AssertUuid(uuid) if uuid and uuid != metadata.table_uuid:  # what had none may have got one meanwhile
                yield f"the table is another one: its uuid is {metadata.table_uuid}, not {uuid}"
            case AssertRef(name, snapshot_id):
                ref = metadata.refs.get(name)
                if (None if ref is None else ref.snapshot_id) != snapshot_id:
                    yield f"{name} points to {None if ref is None else ref.snapshot_id}, not to {snapshot_id}"
            case AssertCurrentSchema(schema_id, last):
                if (metadata.current_schema_id, metadata.last_column_id) != (schema_id, last):
                    yield "the columns were changed meanwhile"
            case AssertDefaultSpec(spec_id, last):
                if (metadata.default_spec_id, metadata.last_partition_id) != (spec_id, last):
                    yield "the partition spec was changed meanwhile"
            case AssertDefaultSortOrder(order_id) if order_id != metadata.default_sort_order_id:
                yield "the sort order was changed meanwhile"


def updated(metadata: TableMetadata, updates: Sequence[Update], now: int) -> TableMetadata:
    """The metadata after the updates, at a time in milliseconds. Raises where one of them makes no sense."""
    # "last-updated-ms" never goes back, whatever the clocks say
    changed = replace(metadata, last_updated_ms=max(now, metadata.last_updated_ms))
    for update in updates:
        changed = _updated(changed, update)
    return changed


def _updated(table: TableMetadata, update: Update) -> TableMetadata:
    match update:
        case UpgradeFormatVersion(version):
            return _upgraded(table, version)
        case AddSchema(schema):
            return _with_schema(table, schema)
        case SetCurrentSchema(schema_id):
            return replace(table, current_schema_id=_known(schema_id, (s.schema_id for s in table.schemas), "schema"))
        case AddPartitionSpec(spec):
            last = max((f.field_id for f in spec.fields), default=table.last_partition_id)
            specs = table.partition_specs if spec in table.partition_specs else (*table.partition_specs, spec)
            _unique((s.spec_id for s in specs), "partition specs")
            _unique((f.field_id for f in spec.fields), "partition fields")
            return replace(table, partition_specs=specs, last_partition_id=max(last, table.last_partition_id))
        case SetDefaultSpec(spec_id):
            return replace(table, default_spec_id=_known(spec_id, (s.spec_id for s in table.partition_specs), "partition spec"))
        case AddSortOrder(order):
            orders = table.sort_orders if order in table.sort_orders else (*table.sort_orders, order)
            _unique((s.order_id for s in orders), "sort orders")
            return replace(table, sort_orders=orders)
        case SetDefaultSortOrder(order_id):
            known = _known(order_id, (s.order_id for s in table.sort_orders), "sort order")
            return replace(table, default_sort_order_id=known)
        case AddSnapshot(snapshot):
            return _with_snapshot(table, snapshot)
        case SetRef(name, ref):
            return _with_ref(table, name, ref)
        case RemoveRef(name):
            refs = {key: ref for key, ref in table.refs.items() if key != name}
            return replace(table, refs=refs, current_snapshot_id=None if name == MAIN else table.current_snapshot_id)
        case RemoveSnapshots(snapshot_ids):
            return _without_snapshots(table, frozenset(snapshot_ids))
        case SetProperties(properties):
            return replace(table, properties={**table.properties, **properties})
        case RemoveProperties(names):
            return replace(table, properties={k: v for k, v in table.properties.items() if k not in names})
        case SetStatistics(file):
            others = (s for s in table.statistics if s.snapshot_id != file.snapshot_id)
            return replace(table, statistics=(*others, file))
        case RemoveStatistics(snapshot_id):
            return replace(table, statistics=tuple(s for s in table.statistics if s.snapshot_id != snapshot_id))
        case SetPartitionStatistics(counts):
            rest = (s for s in table.partition_statistics if s.snapshot_id != counts.snapshot_id)
            return replace(table, partition_statistics=(*rest, counts))
        case RemovePartitionStatistics(snapshot_id):
            kept = tuple(s for s in table.partition_statistics if s.snapshot_id != snapshot_id)
            return replace(table, partition_statistics=kept)
        case RemoveSchemas(schema_ids):
            return replace(table, schemas=tuple(s for s in table.schemas if s.schema_id not in schema_ids))
        case RemovePartitionSpecs(spec_ids):
            return replace(table, partition_specs=tuple(s for s in table.partition_specs if s.spec_id not in spec_ids))
    assert_never(update)


def _upgraded(table: TableMetadata, version: int) -> TableMetadata:
    if version < table.format_version:
        raise InvalidRequest(f"a table of format version {table.format_version} cannot go back to {version}")
    row_id = 0 if version >= 3 and table.next_row_id is None else table.next_row_id
    return replace(table, format_version=version, next_row_id=row_id)


def _with_schema(table: TableMetadata, schema: Schema) -> TableMetadata:
    last = max((f.id for _, f in all_fields(schema.struct) if f.id is not None), default=0)
    schemas = table.schemas if schema in table.schemas else (*table.schemas, schema)
    _unique((s.schema_id for s in schemas), "schemas")
    return replace(table, schemas=schemas, last_column_id=max(last, table.last_column_id))


def _unique(ids: Iterable[int], what: str) -> None:
    found = list(ids)
    if len(set(found)) < len(found):
        raise InvalidTable(f"two {what} would have the same id")


def _known(wanted: int, known: Iterable[int], what: str) -> int:
    if wanted not in known:
        raise InvalidTable(f"the table has no {what} {wanted}")
    return wanted


def _with_snapshot(table: TableMetadata, snapshot: Snapshot) -> TableMetadata:
    if table.snapshot(snapshot.snapshot_id) is not None:
        raise InvalidTable(f"the table has a snapshot {snapshot.snapshot_id}")
    changed = replace(table, snapshots=(*table.snapshots, snapshot))
    changed = replace(changed, last_updated_ms=max(table.last_updated_ms, snapshot.timestamp_ms))
    if table.format_version > 1:
        # "A monotonically increasing long that tracks the order of changes to a table"
        if snapshot.parent_snapshot_id is not None and snapshot.sequence_number <= table.last_sequence_number:
            raise InvalidTable(f"the sequence number {snapshot.sequence_number} is not beyond {table.last_sequence_number}")
        changed = replace(changed, last_sequence_number=snapshot.sequence_number)
    if table.format_version > 2:
        if snapshot.first_row_id is None or snapshot.added_rows is None or snapshot.first_row_id < (table.next_row_id or 0):
            raise InvalidTable(f"the snapshot's row ids begin at {snapshot.first_row_id}, before {table.next_row_id}")
        changed = replace(changed, next_row_id=(table.next_row_id or 0) + snapshot.added_rows)
    return changed


def _with_ref(table: TableMetadata, name: str, ref: SnapshotRef) -> TableMetadata:
    snapshot = table.snapshot(ref.snapshot_id)
    if snapshot is None:
        raise InvalidRequest(f"there is no snapshot {ref.snapshot_id} for {name} to point to")
    changed = replace(table, refs={**table.refs, name: ref})
    if name != MAIN:
        return changed
    if ref.type != BRANCH:
        raise InvalidRequest(f"{MAIN} is a branch and cannot be a tag")
    if table.current_snapshot_id == ref.snapshot_id:
        return changed
    is_new = bool(table.snapshots) and table.snapshots[-1].snapshot_id == ref.snapshot_id
    at = snapshot.timestamp_ms if is_new else changed.last_updated_ms
    last = table.snapshot_log[-1].timestamp_ms if table.snapshot_log else at
    entry = SnapshotLogEntry(max(at, last), ref.snapshot_id)
    return replace(changed, current_snapshot_id=ref.snapshot_id, snapshot_log=(*table.snapshot_log, entry))


def _without_snapshots(table: TableMetadata, gone: frozenset[int]) -> TableMetadata:
    if pointed := sorted(name for name, ref in table.refs.items() if ref.snapshot_id in gone):
        raise InvalidRequest(f"the snapshots that {', '.join(pointed)} point to cannot be removed")
    # The log must have no gap in what it says: entries from before a snapshot that is gone go too.
    kept: list[SnapshotLogEntry] = []
    for entry in table.snapshot_log:
        kept = [] if entry.snapshot_id in gone else [*kept, entry]
    return replace(
        table,
        snapshots=tuple(s for s in table.snapshots if s.snapshot_id not in gone),
        snapshot_log=tuple(kept),
        statistics=tuple(s for s in table.statistics if s.snapshot_id not in gone),
        partition_statistics=tuple(s for s in table.partition_statistics if s.snapshot_id not in gone),
    )
