"""What does a table's metadata say?  (spec, "Table Metadata", "Snapshots", "Partitioning", "Sorting")

Records of all format versions: what a version does not have is None, zero or empty. Transforms stay texts here, so that one that
is not known is kept as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from esker.core.types import Json
from esker.iceberg.schema import Schema

SUPPORTED_VERSIONS = (1, 2, 3)
MAIN = "main"
"""The branch that `current-snapshot-id` follows."""
BRANCH = "branch"
TAG = "tag"
NO_SNAPSHOT = -1
"""What versions 1 and 2 write for a table without a current snapshot."""
UNASSIGNED_PARTITION_ID = 999
"""`last-partition-id` of a table that never had a partition field."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A value that all rows of a file share: a transform of source columns, of which only one is common."""

    source_ids: tuple[int, ...]
    field_id: int
    name: str
    transform: str

    def is_same(self, other: "PartitionField") -> bool:
        """Whether both tell the same of a file, whatever they are called.

        The id alone does not say it: version 1 gave ids out anew in each spec, and leaves a dropped field its id as `void`.
        """
        return (self.field_id, self.source_ids, self.transform) == (other.field_id, other.source_ids, other.transform)


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How files are partitioned; without fields, not at all."""

    spec_id: int = 0
    fields: tuple[PartitionField, ...] = ()

    @property
    def is_unpartitioned(self) -> bool:
        return all(f.transform == "void" for f in self.fields)


@dataclass(frozen=True, slots=True)
class SortField:
    """What rows are sorted by. `direction` is `asc` or `desc`, `null_order` is `nulls-first` or `nulls-last`."""

    source_ids: tuple[int, ...]
    transform: str
    direction: str
    null_order: str


@dataclass(frozen=True, slots=True)
class SortOrder:
    """How rows within a file are sorted; the order 0 is none."""

    order_id: int = 0
    fields: tuple[SortField, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the table at some time. Either it has a `manifest_list`, or, in version 1, its `manifests` at once."""

    snapshot_id: int
    timestamp_ms: int
    manifest_list: str | None = None
    manifests: tuple[str, ...] = ()
    parent_snapshot_id: int | None = None
    sequence_number: int = 0
    summary: Mapping[str, str] = field(default_factory=dict, hash=False)
    """With the key `operation`."""
    schema_id: int | None = None
    first_row_id: int | None = None
    added_rows: int | None = None
    key_id: str | None = None

    @property
    def operation(self) -> str | None:
        return self.summary.get("operation")


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A branch or tag, and how long it and its snapshots are kept."""

    snapshot_id: int
    type: str
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotLogEntry:
    """When a snapshot became the current one."""

    timestamp_ms: int
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class MetadataLogEntry:
    """When a metadata file was replaced by a newer one."""

    timestamp_ms: int
    metadata_file: str


@dataclass(frozen=True, slots=True)
class BlobMetadata:
    """A blob of a statistics file."""

    type: str
    snapshot_id: int
    sequence_number: int
    fields: tuple[int, ...]
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class StatisticsFile:
    """A Puffin file with statistics of a snapshot."""

    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int
    file_footer_size_in_bytes: int
    blob_metadata: tuple[BlobMetadata, ...] = ()
    key_metadata: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionStatisticsFile:
    """A file with a row for each partition of a snapshot."""

    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """A key that is encrypted by another."""

    key_id: str
    encrypted_key_metadata: str
    encrypted_by_id: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class TableMetadata:
    """One metadata file of a table."""

    format_version: int
    location: str
    table_uuid: str | None
    last_updated_ms: int
    last_column_id: int
    schemas: tuple[Schema, ...]
    current_schema_id: int
    partition_specs: tuple[PartitionSpec, ...] = (PartitionSpec(),)
    default_spec_id: int = 0
    last_partition_id: int = UNASSIGNED_PARTITION_ID
    sort_orders: tuple[SortOrder, ...] = (SortOrder(),)
    default_sort_order_id: int = 0
    last_sequence_number: int = 0
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    current_snapshot_id: int | None = None
    snapshots: tuple[Snapshot, ...] = ()
    refs: Mapping[str, SnapshotRef] = field(default_factory=dict, hash=False)
    snapshot_log: tuple[SnapshotLogEntry, ...] = ()
    metadata_log: tuple[MetadataLogEntry, ...] = ()
    statistics: tuple[StatisticsFile, ...] = ()
    partition_statistics: tuple[PartitionStatisticsFile, ...] = ()
    next_row_id: int | None = None
    """From version 3 on."""
    encryption_keys: tuple[EncryptionKey, ...] = ()
    unknown: Mapping[str, Json] = field(default_factory=dict, hash=False)
    """What the file says besides, kept as it is."""

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return next(s for s in self.schemas if s.schema_id == self.current_schema_id)

    @property
    def spec(self) -> PartitionSpec:
        """The partition spec that new files get by default."""
        return next(s for s in self.partition_specs if s.spec_id == self.default_spec_id)

    @property
    def sort_order(self) -> SortOrder:
        """The sort order that new files get by default."""
        return next(s for s in self.sort_orders if s.order_id == self.default_sort_order_id)

    @property
    def current_snapshot(self) -> Snapshot | None:
        return None if self.current_snapshot_id is None else self.snapshot(self.current_snapshot_id)

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        return next((s for s in self.snapshots if s.snapshot_id == snapshot_id), None)

    def schema_at(self, schema_id: int | None) -> Schema:
        """The schema of this id, by default and where it is not there the current one."""
        return next((s for s in self.schemas if s.schema_id == schema_id), self.schema)

    def spec_at(self, spec_id: int) -> PartitionSpec | None:
        return next((s for s in self.partition_specs if s.spec_id == spec_id), None)
