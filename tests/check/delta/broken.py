"""A table for each rule that breaks it and no other, but for those that it cannot help breaking."""

import json
from collections.abc import Callable
from time import time
from typing import Any

import pyarrow as pa

from esker.core import types as t
from esker.core.bitmap import Bitmap
from esker.core.types import Field, Struct
from esker.delta.deletion_vectors import z85_encode
from tests.delta.tables import (
    ID,
    Action,
    Log,
    add,
    checkpoint_rows,
    ids,
    inline,
    metadata,
    parquet,
    protocol,
    remove,
    rows,
)

Build = Callable[[Log], object]

IDS = {"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 3}, "nullCount": {"id": 0}}
INFO = {"commitInfo": {"timestamp": 1, "operation": "WRITE"}}
PARTITIONED = Struct((Field("id", t.LONG), Field("day", t.DATE)))
TRACKED = ["rowTracking", "domainMetadata"]
TRACKING = {
    "delta__enableRowTracking": "true", "delta__rowTracking__materializedRowIdColumnName": "_r",
    "delta__rowTracking__materializedRowCommitVersionColumnName": "_v",
}  # fmt: skip
STAMPED = {"delta__enableInCommitTimestamps": "true"}


def sound(log: Log, **options: Any) -> Log:
    """A table of one file that breaks no rule."""
    log.start(**options)
    log.commit(INFO, log.data("a.parquet", ids(1, 2, 3), stats=IDS))
    log.storage.put("_change_data/c", b"")  # for the tests that name a change file
    return log


def with_file(log: Log, schema: Struct = ID, features: tuple[str, ...] = (), settings: dict[str, Any] | None = None, name: str = "a.parquet", **fields: Any) -> None:
    """A table whose one file says this of itself."""
    log.start(schema, features=features, **(settings or {}))
    log.commit(log.data(name, ids(1, 2, 3), **{"stats": IDS, **fields}))


def with_action(log: Log, *actions: Action, **options: Any) -> None:
    """A sound table with one more commit."""
    sound(log, **options)
    log.commit(*actions)


def started(log: Log, *actions: Action) -> None:
    """A table whose first commit holds just these actions."""
    log.commit(*actions)
    log.commit(log.data("a.parquet", ids(1, 2, 3), stats=IDS))


def field(name: str, kind: t.Type = t.LONG, nullable: bool = True, **told: Any) -> Field:
    return Field(name, kind, nullable, metadata={key.replace("__", "."): value for key, value in told.items()})


MAPPING = {"delta__columnMapping__mode": "name", "delta__columnMapping__maxColumnId": "1"}


def mapped(physical: str) -> Struct:
    return Struct((field("id", delta__columnMapping__id=1, delta__columnMapping__physicalName=physical),))


def of(*fields: Field) -> Struct:
    return Struct((Field("id", t.LONG), *fields))


def with_protocol(reader: object, writer: object, **lists: Any) -> Build:
    return lambda log: started(log, {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer, **lists}}, metadata())


def with_metadata(schema: Struct = ID, features: tuple[str, ...] = (), partition_by: tuple[str, ...] = (), **settings: str) -> Build:
    """A table without files."""

    def build(log: Log) -> None:
        log.commit(protocol(*features), metadata(schema, partition_by, **settings))

    return build


def edited(**changes: Any) -> Build:
    """A table whose metaData has other members."""

    def build(log: Log) -> None:
        body = metadata()["metaData"] | changes
        started(log, protocol(), {"metaData": {key: value for key, value in body.items() if value is not ...}})

    return build


def lacking(kind: str, name: str, value: Any = ...) -> Build:
    """A table with an action that lacks a field, or has it otherwise."""

    def build(log: Log) -> None:
        sound(log, features=["changeDataFeed", "domainMetadata"])
        actions = {
            "add": log.data("b.parquet", ids(4), stats={"numRecords": 1}), "remove": remove("a.parquet"),
            "cdc": {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": False}},
            "txn": {"txn": {"appId": "app", "version": 1}},
            "domainMetadata": {"domainMetadata": {"domain": "mine", "configuration": "", "removed": False}},
        }  # fmt: skip
        body = dict(actions[kind][kind])
        body.pop(name)
        log.commit({kind: body if value is ... else body | {name: value}})

    return build


def checkpointed(*actions: Action, features: tuple[str, ...] = (), name: str | None = None) -> Build:
    """A table with a checkpoint of version 1 that holds these actions besides the file."""

    def build(log: Log) -> None:
        log.start(features=features)
        file = log.data("a.parquet", ids(1, 2, 3), stats=IDS)
        log.commit(file)
        log.checkpoint(1, [*(actions or (protocol(*features), metadata())), file], name)
        log.put("_last_checkpoint", {"version": 1, "size": 3})

    return build


def forgotten(log: Log) -> None:
    """A table whose checkpoint does not know of a file that was removed an hour before."""
    sound(log)
    gone = remove("a.parquet")
    gone["remove"] |= {"deletionTimestamp": int(time() * 1000) - 3_600_000}
    file = log.data("b.parquet", ids(1, 2, 3), stats=IDS)
    log.commit(gone, file)
    log.checkpoint(2, [protocol(), metadata(), file])
    log.put("_last_checkpoint", {"version": 2, "size": 3})


def stored_vector(data: bytes, **told: Any) -> Action:
    """The descriptor of an inline vector with these bytes."""
    return {"storageType": "i", "pathOrInlineDv": z85_encode(data), "sizeInBytes": len(data), "cardinality": 1} | told


def vectored(vector: Action, **fields: Any) -> Build:
    return lambda log: with_file(log, features=("deletionVectors",), dv=vector, **fields)


def tracked(*files: dict[str, Any], mark: int = 2, enabled: bool = True) -> Build:
    """A table that tracks rows, with files of three rows each."""

    def build(log: Log) -> None:
        log.commit(protocol(*TRACKED), metadata(**(TRACKING if enabled else {})))
        added = [log.data(f"{i}.parquet", ids(1, 2, 3), stats=IDS, **file) for i, file in enumerate(files)]
        domain = {"domain": "delta.rowTracking", "configuration": json.dumps({"rowIdHighWaterMark": mark}), "removed": False}
        log.commit(*added, {"domainMetadata": domain})

    return build


def stamped(*commits: Action, **settings: str) -> Build:
    """A table with in-commit timestamps and these commits, one action each."""

    def build(log: Log) -> None:
        log.commit({"commitInfo": {"inCommitTimestamp": 10}}, protocol("inCommitTimestamp"), metadata(**STAMPED, **settings))
        for commit in commits:
            log.commit(commit, {"txn": {"appId": "app", "version": log.version}})

    return build


def without(log: Log, *names: str) -> None:
    for name in names:
        log.storage.delete(name)


def gap(log: Log) -> None:
    sound(log)
    log.commit(INFO, version=3)


def old_gap(log: Log) -> None:
    checkpointed()(log)
    log.checkpoint(5, [protocol(), metadata(), log.data("a.parquet", ids(1, 2, 3), stats=IDS)])
    log.commit(INFO, version=4)
    log.commit(INFO, version=5)
    log.put("_last_checkpoint", {"version": 5, "size": 3})


def named(name: str, data: bytes | str | Action = b"") -> Build:
    def build(log: Log) -> None:
        sound(log)
        log.put(name, data)

    return build


def replaced(**actions: Any) -> Build:
    """A sound table, whose file was put in the place of another at once."""

    def build(log: Log) -> None:
        sound(log)
        log.storage.put("a.parquet", actions["data"])

    return build


def of_other_rows(table: pa.Table, **fields: Any) -> Build:
    """A table whose file holds these rows, and says what the sound one says."""

    def build(log: Log) -> None:
        log.start()
        log.commit(log.data("a.parquet", table, **{"stats": IDS, **fields}))

    return build


def identity(log: Log) -> None:
    numbered = Struct((field("id", delta__identity__start=1, delta__identity__step=1, delta__identity__highWaterMark=2, delta__identity__allowExplicitInsert=False),))
    with_file(log, numbered, ("identityColumns",))


def v2(log: Log) -> None:
    log.start(features=["v2Checkpoint"])
    log.commit(log.data("a.parquet", ids(1, 2, 3), stats=IDS))


def sidecars(**told: Any) -> Build:
    def build(log: Log) -> None:
        v2(log)
        sidecar = {"path": "s.parquet", "sizeInBytes": 1, "modificationTime": 1} | told
        if told:
            log.storage.put("_delta_log/_sidecars/s.parquet", parquet(checkpoint_rows([log.data("a.parquet", ids(1, 2, 3), stats=IDS)])))
        actions = [{"checkpointMetadata": {"version": 1}}, protocol("v2Checkpoint"), metadata(), {"sidecar": sidecar}]
        log.checkpoint(1, actions, "checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet")
        log.put("_last_checkpoint", {"version": 1, "size": 3})

    return build


def checksum(text: str) -> Build:
    return named("00000000000000000001.crc", text)


SIZE = len(parquet(ids(1, 2, 3)))
CRC = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1, "metadata": metadata()["metaData"], "protocol": protocol()["protocol"]}


def other_size(log: Log) -> None:
    """A table whose checkpoint has a file's time wrong."""
    checkpointed()(log)
    file = log.data("a.parquet", ids(1, 2, 3), stats=IDS, modificationTime=7)
    log.checkpoint(1, [protocol(), metadata(), file])


LATE = {"delta__inCommitTimestampEnablementVersion": "1", "delta__inCommitTimestampEnablementTimestamp": "99"}
NO_DATA = {"data.rows", "data.there"}

BROKEN: dict[str, tuple[Build, set[str]]] = {
    "log.opens": (lambda log: log.commit(protocol()), {"commit.first-version"}),
    "log.replays": (lambda log: (sound(log), log.commit({"add": {"size": 1, "partitionValues": {}, "modificationTime": 1, "dataChange": True}})), {"action.path"}),
    "log.beginning": (lambda log: log.commit(INFO, protocol(), metadata(), version=2), {"log.opens"}),
    "log.gap": (gap, {"log.opens"}),
    "log.old-gap": (old_gap, set()),
    "log.json": (lambda log: (sound(log), log.put("00000000000000000002.json", b"{")), {"log.replays"}),
    "log.one-action": (lambda log: with_action(log, {"txn": {"appId": "a", "version": 1}, **INFO}), set()),
    "log.unknown-action": (lambda log: with_action(log, {"unheardOf": {}}), set()),
    "log.empty-commit": (lambda log: with_action(log), set()),
    "log.stray-file": (named("notes.txt"), set()),
    "log.short-name": (named("1.json"), set()),
    "log.checkpoint-parts": (named("00000000000000000001.checkpoint.0000000001.0000000002.parquet"), set()),
    "log.compaction-range": (named("00000000000000000001.00000000000000000009.compacted.json"), set()),
    "log.checksum-version": (named("00000000000000000009.crc"), set()),
    "log.staged-commits": (named("_staged_commits/00000000000000000002.80a083e8-7026-4e79-81be-64bd76c43a11.json"), set()),
    "commit.one-protocol": (lambda log: started(log, protocol(), protocol(), metadata()), set()),
    "commit.one-metadata": (lambda log: started(log, protocol(), metadata(), metadata()), set()),
    "commit.one-commit-info": (lambda log: with_action(log, INFO, INFO), set()),
    "commit.one-txn": (lambda log: with_action(log, *[{"txn": {"appId": "a", "version": v}} for v in (1, 2)]), set()),
    "commit.one-domain": (lambda log: with_action(log, *[{"domainMetadata": {"domain": "d", "configuration": c, "removed": False}} for c in "ab"], features=["domainMetadata"]), set()),
    "commit.one-action-a-file": (lambda log: with_action(log, remove("a.parquet"), remove("a.parquet")), set()),
    "commit.one-add-a-path": (lambda log: (log.start(), log.commit(log.data("a.parquet", ids(1, 2, 3), stats=IDS), log.data("a.parquet", ids(1, 2, 3), stats=IDS))), {"commit.one-action-a-file"}),
    "commit.one-change-file": (lambda log: with_action(log, *[{"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": False}}] * 2, features=["changeDataFeed"]), set()),
    "commit.one-live-file": (lambda log: (log.start(features=["deletionVectors"]), log.commit(log.data("a.parquet", ids(1, 2, 3), stats=IDS)), log.commit(log.data("a.parquet", ids(1, 2, 3), stats=IDS, dv=inline(1)))), set()),
    "commit.first-version": (lambda log: (log.commit(metadata()), log.commit(protocol())), set()),
    "commit.unknown-remove": (lambda log: with_action(log, remove("b.parquet")), set()),
    "commit.append-only": (lambda log: with_action(log, remove("a.parquet"), features=["appendOnly"], delta__appendOnly="true"), set()),
    "commit.protocol-falls": (lambda log: (sound(log), log.commit(protocol(writer=4)), log.commit(protocol(writer=2))), set()),
    "commit.table-id": (lambda log: with_action(log, metadata(id="another")), set()),
    "commit.cdc-data-change": (lacking("cdc", "dataChange", True), set()),
    "commit.timestamp": (stamped({"commitInfo": {"timestamp": 1}}), set()),
    "commit.timestamps-rise": (stamped({"commitInfo": {"inCommitTimestamp": 10}}), set()),
    "commit.timestamp-enablement": (stamped({"commitInfo": {"inCommitTimestamp": 11}}, **LATE), set()),
    "commit.metrics": (lambda log: with_action(log, {"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationMetrics": {"numFiles": "2"}}}), set()),
    "commit.lost-removes": (lambda log: with_action(log, {"commitInfo": {"timestamp": 1, "operation": "DELETE", "operationMetrics": {"numRemovedFiles": "1"}}}), set()),
    "commit.lost-vectors": (lambda log: with_action(log, {"commitInfo": {"timestamp": 1, "operation": "DELETE", "operationMetrics": {"numDeletionVectorsAdded": "1"}}}), set()),
    "commit.data-change": (lambda log: (log.start(), log.commit(INFO, {"add": log.data("a.parquet", ids(1, 2, 3), stats=IDS)["add"] | {"dataChange": False}})), set()),
    "commit.txn-falls": (lambda log: (sound(log), *[log.commit({"txn": {"appId": "a", "version": v}}) for v in (2, 1)]), set()),
    "protocol.well-formed": (lambda log: (sound(log), log.commit({"protocol": {"minReaderVersion": "x"}}), log.commit(protocol())), set()),
    "protocol.reader-version": (with_protocol(0, 2), set()),
    "protocol.writer-version": (with_protocol(1, 0), set()),
    "protocol.reader-3": (with_protocol(3, 6, readerFeatures=["timestampNtz"]), {"protocol.reader-only"}),
    "protocol.reader-list": (with_protocol(3, 7, writerFeatures=[]), set()),
    "protocol.writer-list": (with_protocol(1, 7), set()),
    "protocol.early-reader-list": (with_protocol(1, 7, readerFeatures=["timestampNtz"], writerFeatures=["timestampNtz"]), set()),
    "protocol.early-writer-list": (with_protocol(1, 2, writerFeatures=["rowTracking", "domainMetadata"]), set()),
    "protocol.reader-only": (with_protocol(3, 7, readerFeatures=["timestampNtz"], writerFeatures=[]), set()),
    "protocol.writer-only": (with_protocol(3, 7, readerFeatures=[], writerFeatures=["timestampNtz"]), set()),
    "protocol.too-new": (with_protocol(1, 8), set()),
    "protocol.unknown-feature": (with_protocol(1, 7, writerFeatures=["unheardOf"]), set()),
    "protocol.unreadable": (with_protocol(3, 7, readerFeatures=["geospatial"], writerFeatures=["geospatial"]), set()),
    "protocol.old-name": (with_protocol(3, 7, readerFeatures=["variantType-preview"], writerFeatures=["variantType-preview"]), set()),
    "evolution.mapping": (lambda log: (log.start(mapped("c1"), features=["columnMapping"], **MAPPING), log.commit(metadata(mapped("c2"), **MAPPING))), set()),
    "evolution.types": (lambda log: (log.start(ID), log.commit(metadata(Struct((Field("id", t.STRING),))))), set()),
    "evolution.partitions": (lambda log: (log.start(PARTITIONED), log.commit(metadata(PARTITIONED, ["day"]))), set()),
    "metadata.schema": (lambda log: (log.commit(protocol(), metadata()["metaData"] and {"metaData": metadata()["metaData"] | {"schemaString": "{"}}), log.commit(metadata())), set()),
    "metadata.id": (edited(id=""), set()),
    "metadata.format": (edited(format={"provider": "orc"}), {"data.rows"}),
    "metadata.partition-columns": (edited(partitionColumns=...), set()),
    "metadata.configuration": (edited(configuration=...), set()),
    "metadata.field-members": (edited(schemaString=json.dumps({"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True}]})), set()),
    "metadata.unknown-property": (with_metadata(delta__unheardOf="1"), set()),
    "metadata.property": (with_metadata(delta__checkpointInterval="often"), set()),
    "metadata.invariant": (with_metadata(of(field("a", delta__invariants="{}"))), set()),
    "metadata.identity": (with_metadata(of(field("a", delta__identity__start=1, delta__identity__step=0)), ("identityColumns",)), {"metadata.identity-columns", "file.identity-mark"}),
    "metadata.clustering-domain": (lambda log: with_action(log, {"domainMetadata": {"domain": "delta.clustering", "configuration": '{"clusteringColumns":["nope"]}', "removed": False}}, features=["clustering", "domainMetadata"]), set()),
    "metadata.features": (with_metadata(of(field("a", t.TIMESTAMP_NTZ))), set()),
    "metadata.columns": (with_metadata(of(field("a b"))), set()),
    "metadata.mapping": (with_metadata(ID, ("columnMapping",), delta__columnMapping__mode="name", delta__columnMapping__maxColumnId="1"), {"data.rows"}),
    "metadata.partitions": (with_metadata(ID, (), ("id",)), set()),
    "metadata.clustering": (lambda log: (log.commit(protocol("clustering", "domainMetadata"), metadata(PARTITIONED, ("day",)), {"domainMetadata": {"domain": "delta.clustering", "configuration": '{"clusteringColumns":["id"]}', "removed": False}})), set()),
    "metadata.generated-columns": (with_metadata(of(field("g", delta__generationExpression="nope")), ("generatedColumns",)), set()),
    "metadata.defaults": (with_metadata(of(field("g", delta__generationExpression="id", CURRENT_DEFAULT="1")), ("generatedColumns", "allowColumnDefaults")), set()),
    "metadata.identity-columns": (with_metadata(of(field("a", t.INTEGER, delta__identity__start=1, delta__identity__step=1)), ("identityColumns",)), set()),
    "metadata.constraints": (with_metadata(ID, ("checkConstraints",), delta__constraints__c="nope > 1"), set()),
    "metadata.row-tracking": (with_metadata(ID, tuple(TRACKED), delta__enableRowTracking="true"), set()),
    "metadata.in-commit-timestamps": (with_metadata(delta__inCommitTimestampEnablementVersion="1"), set()),
    "metadata.change-data-feed": (with_metadata(of(field("_change_type", t.STRING)), ("changeDataFeed",), delta__enableChangeDataFeed="true"), set()),
    "metadata.iceberg-compat-v1": (with_metadata(of(field("a", t.Array(t.LONG), delta__columnMapping__id=2, delta__columnMapping__physicalName="a")), ("icebergCompatV1", "columnMapping"), delta__enableIcebergCompatV1="true", delta__columnMapping__mode="name", delta__columnMapping__maxColumnId="2"), {"metadata.mapping", "data.rows"}),
    "metadata.iceberg-compat-v2": (with_metadata(of(field("a", t.VOID, delta__columnMapping__id=2, delta__columnMapping__physicalName="a")), ("icebergCompatV2", "columnMapping"), delta__enableIcebergCompatV2="true", delta__columnMapping__mode="name", delta__columnMapping__maxColumnId="2"), {"metadata.mapping", "data.rows"}),
    "metadata.iceberg-compat-v3": (with_metadata(of(field("a", t.VOID, delta__columnMapping__id=2, delta__columnMapping__physicalName="a")), ("icebergCompatV3", "columnMapping", *TRACKED), delta__enableIcebergCompatV3="true", delta__columnMapping__mode="name", delta__columnMapping__maxColumnId="2", **TRACKING), {"metadata.mapping", "data.rows"}),
    "metadata.uniform": (with_metadata(delta__universalFormat__enabledFormats="iceberg"), set()),
    "metadata.symlink-manifests": (with_metadata(ID, ("deletionVectors",), delta__enableDeletionVectors="true", delta__compatibility__symlinkFormatManifest__enabled="true"), set()),
    "metadata.statistics": (with_metadata(delta__dataSkippingStatsColumns="nope"), set()),
    "metadata.retention": (with_metadata(delta__logRetentionDuration="1 day"), set()),
    "action.path": (lambda log: with_action(log, {"remove": {"path": "", "deletionTimestamp": 1, "dataChange": True}}), {"commit.unknown-remove"}),
    "action.path-inside": (lambda log: with_action(log, remove("../b.parquet")), {"commit.unknown-remove"}),
    "action.add-size": (lacking("add", "size", -1), {"data.size"}),
    "action.add-partition-values": (lacking("add", "partitionValues"), set()),
    "action.add-modification-time": (lacking("add", "modificationTime"), set()),
    "action.add-data-change": (lacking("add", "dataChange"), set()),
    "action.remove-data-change": (lacking("remove", "dataChange"), set()),
    "action.remove-timestamp": (lacking("remove", "deletionTimestamp"), set()),
    "action.remove-extended": (lambda log: with_action(log, remove("a.parquet", extendedFileMetadata=True)), set()),
    "action.cdc-size": (lacking("cdc", "size"), set()),
    "action.cdc-partition-values": (lacking("cdc", "partitionValues"), set()),
    "action.stats": (lacking("add", "stats", "[1]"), set()),
    "action.txn-app": (lacking("txn", "appId", ""), set()),
    "action.txn-version": (lambda log: (lacking("txn", "version")(log)), {"log.replays"}),
    "action.domain": (lacking("domainMetadata", "domain", ""), set()),
    "action.domain-configuration": (lacking("domainMetadata", "configuration"), set()),
    "action.domain-removed": (lacking("domainMetadata", "removed"), set()),
    "action.vector": (lambda log: with_action(log, remove("a.parquet", dv={"storageType": "i"}), features=["deletionVectors"]), set()),
    "action.vector-cardinality": (lambda log: with_action(log, remove("a.parquet", dv=inline(1) | {"cardinality": -1}), features=["deletionVectors"]), set()),
    "action.vector-feature": (lambda log: with_file(log, dv=inline(1)), set()),
    "action.domain-feature": (lambda log: with_action(log, {"domainMetadata": {"domain": "mine", "configuration": "", "removed": False}}), {"metadata.features"}),
    "action.cdc-feature": (lambda log: with_action(log, {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": False}}), set()),
    "file.partition-keys": (lambda log: with_file(log, PARTITIONED, settings={"partition_by": ["day"]}), set()),
    "file.partition-values": (lambda log: with_file(log, PARTITIONED, settings={"partition_by": ["day"]}, partition={"day": "soon"}), set()),
    "file.partition-nulls": (lambda log: with_file(log, Struct((Field("id", t.LONG), Field("day", t.DATE, False))), settings={"partition_by": ["day"]}, partition={"day": None}), set()),
    "file.partition-folder": (lambda log: with_file(log, PARTITIONED, settings={"partition_by": ["day"]}, partition={"day": "2026-01-02"}, name="day=2026-01-03/a.parquet"), set()),
    "file.statistics-columns": (lambda log: with_file(log, stats=IDS | {"nullCount": {"id": 0, "gone": 0}}), set()),
    "file.records": (lambda log: with_file(log, stats={"numRecords": -1}), {"data.records"}),
    "file.null-count": (lambda log: with_file(log, stats=IDS | {"nullCount": {"id": 4}}), {"data.null-count"}),
    "file.bounds": (lambda log: with_file(log, stats=IDS | {"minValues": {"id": 9}}), {"data.bounds"}),
    "file.vector-records": (vectored(inline(1), stats={}), set()),
    "file.vector-cardinality": (vectored(inline(0, 1, 2, 3)), {"data.vector-positions"}),
    "file.vector-empty": (vectored(inline()), set()),
    "file.row-ids": (tracked({}), set()),
    "file.row-id-ranges": (tracked({"baseRowId": 0, "defaultRowCommitVersion": 1}, {"baseRowId": 2, "defaultRowCommitVersion": 1}, mark=9), set()),
    "file.row-id-mark": (tracked({"baseRowId": 0, "defaultRowCommitVersion": 1}, mark=1), set()),
    "file.row-versions": (tracked({"baseRowId": 0, "defaultRowCommitVersion": 7}), set()),
    "file.identity-mark": (identity, set()),
    "checkpoint.hint": (named("_last_checkpoint", {"version": 7}), set()),
    "checkpoint.stale-hint": (lambda log: (checkpointed()(log), log.storage.delete("_delta_log/_last_checkpoint")), set()),
    "checkpoint.one-of-each": (checkpointed(protocol(), protocol(), metadata()), set()),
    "checkpoint.reconciled": (checkpointed(protocol(), metadata(), remove("b.parquet"), remove("b.parquet")), set()),
    "checkpoint.v2-metadata": (checkpointed(features=("v2Checkpoint",), name="checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet"), set()),
    "checkpoint.v2-feature": (checkpointed({"checkpointMetadata": {"version": 1}}, protocol(), metadata(), name="checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet"), set()),
    "checkpoint.sidecars": (sidecars(), {"log.replays"}),
    "checkpoint.sidecar-size": (sidecars(sizeInBytes=7), {"log.replays"}),
    "checkpoint.replay": (checkpointed(protocol(), metadata(), add("b.parquet", stats=IDS)), NO_DATA),
    "checkpoint.contents": (other_size, set()),
    "checkpoint.fields": (checkpointed(protocol(), metadata(), {"remove": {"path": "b.parquet", "deletionTimestamp": 1}}), set()),
    "checkpoint.tombstones": (forgotten, set()),
    "checksum.fields": (checksum(json.dumps({"tableSizeBytes": SIZE, "numFiles": 1, "numMetadata": 1, "numProtocol": 1})), set()),
    "checksum.history": (lambda log: (sound(log), log.put("00000000000000000000.crc", CRC | {"numFiles": 9})), set()),
    "checksum.readable": (checksum("{"), set()),
    "checksum.state": (checksum('{"tableSizeBytes":1,"numFiles":9,"numMetadata":1,"numProtocol":1}'), {"checksum.fields"}),
    "data.there": (lambda log: (sound(log), without(log, "a.parquet")), {"data.rows"}),
    "data.change-files": (lambda log: with_action(log, {"cdc": {"path": "_change_data/gone.parquet", "partitionValues": {}, "size": 1, "dataChange": False}}, features=["changeDataFeed"]), set()),
    "data.size": (lambda log: with_file(log, size=7), set()),
    "data.parquet": (lambda log: (sound(log), log.storage.put("a.parquet", b"PAR1")), {"data.rows", "data.size"}),
    "data.records": (of_other_rows(ids(1, 2)), set()),
    "data.field-ids": (lambda log: (log.commit(protocol("columnMapping"), metadata(Struct((field("id", delta__columnMapping__id=1, delta__columnMapping__physicalName="id"),)), delta__columnMapping__mode="id", delta__columnMapping__maxColumnId="1")), log.commit(log.data("a.parquet", ids(1, 2, 3), stats={"numRecords": 3}))), {"data.rows"}),
    "data.rows": (of_other_rows(pa.table({"id": ["1", "2", "3"]})), set()),
    "data.bounds": (of_other_rows(ids(1, 2, 9)), set()),
    "data.null-count": (of_other_rows(rows(id=[1, None, 3])), set()),
    "data.vector": (vectored(stored_vector(b"\x00" * 8)), set()),
    "data.vector-positions": (vectored(stored_vector(Bitmap.of((9,)).serialize())), set()),
    "data.vector-all": (vectored(inline(0, 1, 2)), set()),
}  # fmt: skip
"""Each rule with a table that breaks it, and the rules that the same table breaks as well."""
