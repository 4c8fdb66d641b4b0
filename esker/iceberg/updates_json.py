"""How are updates and requirements told to a catalog that applies them itself?  (REST catalog, `CommitTableRequest`)"""

from typing import assert_never

from esker.core.types import Json
from esker.iceberg.metadata_json import (
    partition_statistics_json,
    ref_json,
    snapshot_json,
    sort_order_json,
    spec_json,
    statistics_json,
)
from esker.iceberg.schema import schema_json
from esker.iceberg.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AssertCurrentSchema,
    AssertDefaultSortOrder,
    AssertDefaultSpec,
    AssertRef,
    AssertUuid,
    RemovePartitionSpecs,
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveRef,
    RemoveSchemas,
    RemoveSnapshots,
    RemoveStatistics,
    Requirement,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetPartitionStatistics,
    SetProperties,
    SetRef,
    SetStatistics,
    Update,
    UpgradeFormatVersion,
)


def update_json(update: Update, version: int) -> dict[str, Json]:
    """An update of a table of this format version."""
    match update:
        case UpgradeFormatVersion(wanted):
            return {"action": "upgrade-format-version", "format-version": wanted}
        case AddSchema(schema):
            return {"action": "add-schema", "schema": schema_json(schema)}
        case SetCurrentSchema(schema_id):
            return {"action": "set-current-schema", "schema-id": schema_id}
        case AddPartitionSpec(spec):
            return {"action": "add-spec", "spec": spec_json(spec)}
        case SetDefaultSpec(spec_id):
            return {"action": "set-default-spec", "spec-id": spec_id}
        case AddSortOrder(order):
            return {"action": "add-sort-order", "sort-order": sort_order_json(order)}
        case SetDefaultSortOrder(order_id):
            return {"action": "set-default-sort-order", "sort-order-id": order_id}
        case AddSnapshot(snapshot):
            return {"action": "add-snapshot", "snapshot": snapshot_json(snapshot, version)}
        case SetRef(name, ref):
            told = ref_json(ref)
            assert isinstance(told, dict)
            return {"action": "set-snapshot-ref", "ref-name": name, **told}
        case RemoveRef(name):
            return {"action": "remove-snapshot-ref", "ref-name": name}
        case RemoveSnapshots(snapshot_ids):
            return {"action": "remove-snapshots", "snapshot-ids": list(snapshot_ids)}
        case SetProperties(properties):
            return {"action": "set-properties", "updates": dict(properties)}
        case RemoveProperties(names):
            return {"action": "remove-properties", "removals": list(names)}
        case SetStatistics(file):
            return {"action": "set-statistics", "snapshot-id": file.snapshot_id, "statistics": statistics_json(file)}
        case RemoveStatistics(snapshot_id):
            return {"action": "remove-statistics", "snapshot-id": snapshot_id}
        case SetPartitionStatistics(counts):
            return {"action": "set-partition-statistics", "partition-statistics": partition_statistics_json(counts)}
        case RemovePartitionStatistics(snapshot_id):
            return {"action": "remove-partition-statistics", "snapshot-id": snapshot_id}
        case RemoveSchemas(schema_ids):
            return {"action": "remove-schemas", "schema-ids": list(schema_ids)}
        case RemovePartitionSpecs(spec_ids):
            return {"action": "remove-partition-specs", "spec-ids": list(spec_ids)}
    assert_never(update)


def requirement_json(requirement: Requirement) -> list[dict[str, Json]]:
    """A requirement, in as many as the catalog knows it by."""
    match requirement:
        case AssertUuid(uuid):
            return [{"type": "assert-table-uuid", "uuid": uuid}]
        case AssertRef(name, snapshot_id):
            return [{"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": snapshot_id}]
        case AssertCurrentSchema(schema_id, last):
            return [
                {"type": "assert-current-schema-id", "current-schema-id": schema_id},
                {"type": "assert-last-assigned-field-id", "last-assigned-field-id": last},
            ]
        case AssertDefaultSpec(spec_id, last):
            return [
                {"type": "assert-default-spec-id", "default-spec-id": spec_id},
                {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": last},
            ]
        case AssertDefaultSortOrder(order_id):
            return [{"type": "assert-default-sort-order-id", "default-sort-order-id": order_id}]
    assert_never(requirement)
