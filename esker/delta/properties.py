"""Which properties can a table have, and what do they say?  (PROTOCOL.md, "Table Properties" and each feature's section)

The registry: one record a property. Whoever wants a value asks one of the functions at the end, and a text that makes no
sense is then the table's fault. What may be set is decided in `property_changes`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import Generic, TypeVar

from esker.core.predicate import Path
from esker.core.types import Struct, leaves
from esker.delta.actions import Metadata
from esker.delta.column_mapping import Mode
from esker.delta.property_texts import (
    codec,
    columns,
    formats,
    interval,
    member,
    number,
    one_of,
    page_version,
    size,
    truth,
)
from esker.delta.protocol import Protocol, is_supported
from esker.errors import InvalidTable

Configuration = Mapping[str, str]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class IsolationLevel(Enum):
    """How far a transaction is kept apart from others."""

    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"


class CheckpointPolicy(Enum):
    """Which kind of checkpoint is written."""

    CLASSIC = "classic"
    V2 = "v2"


@dataclass(frozen=True, slots=True)
class Property(Generic[T_co]):
    """A property: how its text is read, what holds without it, and what it means.

    `parse` raises `ValueError` for a text that makes no sense. `feature` is the one that clients must know to honour it.
    One that `is_managed` is kept by writers and not set by users. `aliases` are older names.
    """

    name: str
    parse: Callable[[str], T_co]
    default: T_co
    meaning: str
    feature: str = ""
    is_managed: bool = False
    aliases: tuple[str, ...] = ()


APPEND_ONLY = Property("delta.appendOnly", truth, False, "rows can be added, not changed or removed", "appendOnly")
CHANGE_DATA_FEED = Property(
    "delta.enableChangeDataFeed", truth, False, "each commit tells which rows it changed", "changeDataFeed",
    aliases=("delta.enableChangeDataCapture",),
)  # fmt: skip
DELETION_VECTORS = Property(
    "delta.enableDeletionVectors", truth, False, "rows may be deleted without rewriting files", "deletionVectors"
)
ROW_TRACKING = Property("delta.enableRowTracking", truth, False, "rows keep their ids", "rowTracking")
ROW_TRACKING_SUSPENDED = Property(
    "delta.rowTrackingSuspended", truth, False, "no row ids are given out", "rowTracking", is_managed=True
)
ROW_ID_COLUMN = Property(
    "delta.rowTracking.materializedRowIdColumnName", str, None, "the column of files that keeps row ids",
    "rowTracking", is_managed=True,
)  # fmt: skip
ROW_COMMIT_VERSION_COLUMN = Property(
    "delta.rowTracking.materializedRowCommitVersionColumnName", str, None,
    "the column of files that keeps the version of rows", "rowTracking", is_managed=True,
)  # fmt: skip
IN_COMMIT_TIMESTAMPS = Property(
    "delta.enableInCommitTimestamps", truth, False, "each commit states its time", "inCommitTimestamp"
)
TIMESTAMPS_SINCE_VERSION = Property(
    "delta.inCommitTimestampEnablementVersion", number(0), None, "the first version that states its time",
    "inCommitTimestamp", is_managed=True,
)  # fmt: skip
TIMESTAMPS_SINCE = Property(
    "delta.inCommitTimestampEnablementTimestamp", number(0), None, "the time of that version", "inCommitTimestamp",
    is_managed=True,
)  # fmt: skip
COLUMN_MAPPING_MODE = Property(
    "delta.columnMapping.mode", member(Mode), Mode.NONE, "how files name their columns", "columnMapping"
)
MAX_COLUMN_ID = Property(
    "delta.columnMapping.maxColumnId", number(0), 0, "the highest column id ever given out", "columnMapping",
    is_managed=True,
)  # fmt: skip
HAS_DROPPED_OR_RENAMED = Property(
    "delta.columnMapping.hasDroppedOrRenamed", truth, None, "whether a column was ever dropped or renamed",
    "columnMappingUsageTracking", is_managed=True,
)  # fmt: skip
TYPE_WIDENING = Property("delta.enableTypeWidening", truth, False, "types of columns may grow", "typeWidening")
VARIANT_SHREDDING = Property(
    "delta.enableVariantShredding", truth, False, "parts of variants may be stored as columns", "variantShredding"
)
CHECKPOINT_INTERVAL = Property("delta.checkpointInterval", number(1), 10, "commits between checkpoints")
CHECKPOINT_POLICY = Property(
    "delta.checkpointPolicy", member(CheckpointPolicy), CheckpointPolicy.CLASSIC, "the kind of checkpoints", "v2Checkpoint"
)
CHECKPOINT_STATS_AS_JSON = Property(
    "delta.checkpoint.writeStatsAsJson", truth, True, "checkpoints keep statistics as JSON"
)
CHECKPOINT_STATS_AS_STRUCT = Property(
    "delta.checkpoint.writeStatsAsStruct", truth, True, "checkpoints keep statistics as columns"
)
CHECKPOINT_PROTECTION = Property(
    "delta.requireCheckpointProtectionBeforeVersion", number(0), 0, "checkpoints of versions below it stay",
    "checkpointProtection", is_managed=True,
)  # fmt: skip
LOG_RETENTION = Property(
    "delta.logRetentionDuration", interval, timedelta(days=30), "how long the log keeps old versions"
)
DELETED_FILE_RETENTION = Property(
    "delta.deletedFileRetentionDuration", interval, timedelta(weeks=1), "how long removed files stay"
)
TRUNCATED_HISTORY_RETENTION = Property(
    "delta.dropFeatureTruncateHistory.retentionDuration", interval, timedelta(hours=24),
    "how much history stays when a feature is dropped with its history",
)  # fmt: skip
TRANSACTION_RETENTION = Property(
    "delta.setTransactionRetentionDuration", interval, None, "how long the progress of applications is kept"
)
EXPIRED_LOG_CLEANUP = Property("delta.enableExpiredLogCleanup", truth, True, "old parts of the log are removed")
ISOLATION_LEVEL = Property(
    "delta.isolationLevel", member(IsolationLevel), IsolationLevel.SERIALIZABLE, "how far transactions are kept apart"
)
NUM_INDEXED_COLUMNS = Property(
    "delta.dataSkippingNumIndexedCols", number(-1), 32, "how many columns get statistics; -1 for all"
)
STATS_COLUMNS = Property("delta.dataSkippingStatsColumns", columns, None, "which columns get statistics")
TARGET_FILE_SIZE = Property("delta.targetFileSize", size, None, "how large files should be")
COMPRESSION_CODEC = Property("delta.parquet.compression.codec", codec, "zstd", "how files are compressed")
PAGE_VERSION = Property("delta.parquet.format.version", page_version, "1.0.0", "the version of Parquet's data pages")
ICEBERG_COMPAT_V1 = Property(
    "delta.enableIcebergCompatV1", truth, False, "the table stays convertible to Iceberg", "icebergCompatV1"
)
ICEBERG_COMPAT_V2 = Property(
    "delta.enableIcebergCompatV2", truth, False, "the table stays convertible to Iceberg", "icebergCompatV2"
)
ICEBERG_COMPAT_V3 = Property(
    "delta.enableIcebergCompatV3", truth, False, "the table stays convertible to Iceberg version 3", "icebergCompatV3"
)
UNIFORM_FORMATS: Property[tuple[str, ...]] = Property(
    "delta.universalFormat.enabledFormats", formats, (), "the formats that the table is converted to"
)
MATERIALIZE_PARTITIONS = Property(
    "delta.enableMaterializePartitionColumnsFeature", truth, False, "files hold the partition columns too",
    "materializePartitionColumns",
)  # fmt: skip
WRITE_PARTITIONS = Property(
    "delta.writePartitionColumnsToParquet", truth, None, "files should hold the partition columns too"
)
SYMLINK_MANIFESTS = Property(
    "delta.compatibility.symlinkFormatManifest.enabled", truth, False, "writers keep symlink manifests up to date"
)

PROPERTIES: tuple[Property[object], ...] = (
    APPEND_ONLY, CHANGE_DATA_FEED, DELETION_VECTORS, ROW_TRACKING, ROW_TRACKING_SUSPENDED, ROW_ID_COLUMN,
    ROW_COMMIT_VERSION_COLUMN, IN_COMMIT_TIMESTAMPS, TIMESTAMPS_SINCE_VERSION, TIMESTAMPS_SINCE, COLUMN_MAPPING_MODE,
    MAX_COLUMN_ID, HAS_DROPPED_OR_RENAMED, TYPE_WIDENING, VARIANT_SHREDDING, CHECKPOINT_INTERVAL, CHECKPOINT_POLICY,
    CHECKPOINT_STATS_AS_JSON, CHECKPOINT_STATS_AS_STRUCT, CHECKPOINT_PROTECTION, LOG_RETENTION, DELETED_FILE_RETENTION,
    TRUNCATED_HISTORY_RETENTION, TRANSACTION_RETENTION, EXPIRED_LOG_CLEANUP, ISOLATION_LEVEL, NUM_INDEXED_COLUMNS,
    STATS_COLUMNS, TARGET_FILE_SIZE, COMPRESSION_CODEC, PAGE_VERSION, ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3, UNIFORM_FORMATS, MATERIALIZE_PARTITIONS, WRITE_PARTITIONS, SYMLINK_MANIFESTS,
    Property("delta.enableIcebergWriterCompatV1", truth, False, "files look as Iceberg's do", "icebergWriterCompatV1"),
    Property("delta.enableIcebergWriterCompatV3", truth, False, "files look as Iceberg's do", "icebergWriterCompatV3"),
    Property("delta.autoOptimize", truth, None, "files are laid out well while writing"),
    Property("delta.autoOptimize.autoCompact", one_of("true", "false", "auto", "legacy"), None, "small files are joined"),
    Property("delta.autoOptimize.optimizeWrite", truth, None, "rows are gathered before they are written"),
    Property("delta.checkpointRetentionDuration", interval, timedelta(days=2), "how long checkpoints are kept"),
    Property("delta.enableFullRetentionRollback", truth, True, "the table can go back as far as its log is kept"),
    Property("delta.randomizeFilePrefixes", truth, False, "files lie in folders of random names"),
    Property("delta.randomPrefixLength", number(1), 2, "how long these names are"),
    Property("delta.sampleRetentionDuration", interval, timedelta(days=7), "how long samples are kept"),
    Property("delta.tuneFileSizesForRewrites", truth, None, "files are kept small where rows are often changed"),
    *(
        Property(name, str, None, meaning, feature, is_managed=True)
        for name, meaning, feature in (
            ("delta.enableInCommitTimestamps-preview", "each commit states its time", "inCommitTimestamp-preview"),
            ("delta.coordinatedCommits.commitCoordinator-preview", "who coordinates commits", "coordinatedCommits-preview"),
            ("delta.coordinatedCommits.commitCoordinatorConf-preview", "what it needs", "coordinatedCommits-preview"),
            ("delta.coordinatedCommits.tableConf-preview", "what it keeps", "coordinatedCommits-preview"),
            ("delta.redirectReaderWriter-preview", "the table in whose stead this is", "redirectReaderWriter-preview"),
            ("delta.redirectWriterOnly-preview", "the table that is written instead", "redirectWriterOnly-preview"),
        )
    ),
)  # fmt: skip
"""Every property of Delta's own that a table can have."""


def value(wanted: Property[T], configuration: Configuration) -> T:
    """What a table's configuration says, or what holds without it. Raises `InvalidTable` where that makes no sense."""
    text = next((configuration[name] for name in (wanted.name, *wanted.aliases) if name in configuration), None)
    if text is None:
        return wanted.default
    try:
        return wanted.parse(text)
    except ValueError as error:
        raise InvalidTable(f"the property {wanted.name} is {text!r}: {error}") from error


change_data_feed_enabled = partial(value, CHANGE_DATA_FEED)
deletion_vectors_enabled = partial(value, DELETION_VECTORS)
row_tracking_enabled = partial(value, ROW_TRACKING)
row_tracking_suspended = partial(value, ROW_TRACKING_SUSPENDED)
in_commit_timestamps_enabled = partial(value, IN_COMMIT_TIMESTAMPS)
column_mapping_mode = partial(value, COLUMN_MAPPING_MODE)
max_column_id = partial(value, MAX_COLUMN_ID)
type_widening_enabled = partial(value, TYPE_WIDENING)
checkpoint_interval = partial(value, CHECKPOINT_INTERVAL)
checkpoint_policy = partial(value, CHECKPOINT_POLICY)
checkpoint_stats_as_json = partial(value, CHECKPOINT_STATS_AS_JSON)
checkpoint_stats_as_struct = partial(value, CHECKPOINT_STATS_AS_STRUCT)
protected_before_version = partial(value, CHECKPOINT_PROTECTION)
log_retention = partial(value, LOG_RETENTION)
deleted_file_retention = partial(value, DELETED_FILE_RETENTION)
truncated_history_retention = partial(value, TRUNCATED_HISTORY_RETENTION)
transaction_retention = partial(value, TRANSACTION_RETENTION)
expired_log_cleanup_enabled = partial(value, EXPIRED_LOG_CLEANUP)
target_file_size = partial(value, TARGET_FILE_SIZE)
compression_codec = partial(value, COMPRESSION_CODEC)


def indexed_columns(metadata: Metadata, clustering: Iterable[Path] = ()) -> tuple[Path, ...]:
    """The columns that get statistics: those listed, else the first of them; and the clustering columns in any case.

    "Writers must write out [...] per-column statistics for clustering columns"  (Clustered Table)
    """
    partitions = {name.lower() for name in metadata.partition_columns}
    paths = [path for path, _ in leaves(Struct(tuple(f for f in metadata.schema if f.name.lower() not in partitions)))]
    listed = value(STATS_COLUMNS, metadata.configuration)
    count = value(NUM_INDEXED_COLUMNS, metadata.configuration)
    wanted = paths if count < 0 else paths[:count]
    holders = {_folded(path) for path in (wanted if listed is None else listed)} | {_folded(path) for path in clustering}
    return tuple(path for path in paths if any(_folded(path[:end]) in holders for end in range(1, len(path) + 1)))


def stores_partitions(protocol: Protocol, configuration: Configuration) -> bool:
    """Whether data files hold the partition columns too: a feature that asks for it has its way.

    "Require that partition column values be materialized when writing Parquet data files"  (Iceberg Compatibility V2)
    """
    is_demanded = is_supported(protocol, MATERIALIZE_PARTITIONS.feature) or any(
        is_supported(protocol, compat.feature) and value(compat, configuration)
        for compat in (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3)
    )
    return is_demanded or value(WRITE_PARTITIONS, configuration) is True


def _folded(path: Path) -> Path:
    return tuple(name.lower() for name in path)
