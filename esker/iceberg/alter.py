"""How does a table change without its rows?  (spec, "Schema Evolution", "Partition Evolution", "Sorting", Appendix E)"""

from collections.abc import Callable, Mapping, Sequence

from esker.core.schema_changes import SchemaChange
from esker.errors import InvalidRequest
from esker.iceberg.commit import Change, commit
from esker.iceberg.create import RESERVED
from esker.iceberg.metadata import SUPPORTED_VERSIONS, TableMetadata
from esker.iceberg.metrics import COLUMN, DEFAULT, parse_mode
from esker.iceberg.partitioning import new_order
from esker.iceberg.schema import Schema
from esker.iceberg.schema_changes import altered, identified
from esker.iceberg.spec_changes import evolved_spec
from esker.iceberg.state import TableState
from esker.iceberg.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    AssertCurrentSchema,
    AssertDefaultSortOrder,
    AssertDefaultSpec,
    RemoveProperties,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetProperties,
    UpgradeFormatVersion,
)

COMMENT = "comment"


def change_columns(state: TableState, changes: Sequence[SchemaChange]) -> TableState:
    """Carry out the changes in one commit."""
    if not changes:
        raise InvalidRequest("no change of the columns is asked for", where=state.location)
    return _with_schema(state, lambda metadata: altered(metadata, changes))


def set_identifier_fields(state: TableState, names: Sequence[str]) -> TableState:
    """Say which columns tell rows apart."""
    return _with_schema(state, lambda metadata: identified(metadata, names))


def _with_schema(state: TableState, decide: Callable[[TableMetadata], Schema]) -> TableState:
    def apply(base: TableState) -> Change | None:
        metadata = base.metadata
        schema = decide(metadata)
        if schema == metadata.schema:
            return None
        required = AssertCurrentSchema(metadata.current_schema_id, metadata.last_column_id)
        return Change((AddSchema(schema), SetCurrentSchema(schema.schema_id)), (required,))

    return commit(state, apply)


def change_partitioning(state: TableState, add: Sequence[str], drop: Sequence[str]) -> TableState:
    """Partition files from now on by other values too, or by fewer. Files that are there stay as they are."""

    def apply(base: TableState) -> Change | None:
        metadata = base.metadata
        spec = evolved_spec(metadata, add, drop)
        if spec == metadata.spec:
            return None
        required = AssertDefaultSpec(metadata.default_spec_id, metadata.last_partition_id)
        return Change((AddPartitionSpec(spec), SetDefaultSpec(spec.spec_id)), (required,))

    return commit(state, apply)


def set_sort_order(state: TableState, keys: Sequence[str]) -> TableState:
    """Have files sorted from now on; by nothing where there are no keys."""

    def apply(base: TableState) -> Change | None:
        order = new_order(base.metadata, base.metadata.schema, keys)
        if order == base.metadata.sort_order:
            return None
        required = AssertDefaultSortOrder(base.metadata.default_sort_order_id)
        return Change((AddSortOrder(order), SetDefaultSortOrder(order.order_id)), (required,))

    return commit(state, apply)


def set_properties(state: TableState, properties: Mapping[str, str]) -> TableState:
    """Set properties. `format-version` asks for an upgrade."""
    wanted = dict(properties)
    version = wanted.pop("format-version", None)
    if version is not None and not version.isdecimal():
        raise InvalidRequest(f"format-version is a number, not {version!r}", where=state.location)
    if kept := sorted(set(wanted) & set(RESERVED)):
        raise InvalidRequest(f"these properties tell of the table and cannot be set: {', '.join(kept)}", where=state.location)
    for name, value in wanted.items():
        if name == DEFAULT or name.startswith(COLUMN):
            parse_mode(value)

    def apply(base: TableState) -> Change | None:
        upgrades = () if version is None else (UpgradeFormatVersion(reachable(base.metadata, int(version))),)
        is_known = all(base.metadata.properties.get(key) == value for key, value in wanted.items())
        if is_known and (version is None or int(version) == base.metadata.format_version):
            return None
        return Change((*upgrades, SetProperties(wanted)))

    return commit(state, apply)


def unset_properties(state: TableState, names: Sequence[str]) -> TableState:
    """Take properties out."""

    def apply(base: TableState) -> Change | None:
        there = tuple(name for name in names if name in base.metadata.properties)
        return Change((RemoveProperties(there),)) if there else None

    return commit(state, apply)


def set_comment(state: TableState, comment: str | None) -> TableState:
    """Say what the table is for."""
    return unset_properties(state, [COMMENT]) if comment is None else set_properties(state, {COMMENT: comment})


def plan_upgrade(state: TableState, version: int) -> tuple[str, ...]:
    """What an upgrade would do, in words."""
    now = reachable(state.metadata, version)
    told: list[str] = []
    if state.metadata.format_version < 2 <= version:
        told += [
            "to version 2: snapshots get sequence numbers, those that are there 0",
            "to version 2: rows can be deleted by delete files; clients of version 1 can no longer read the table",
        ]
    if state.metadata.format_version < 3 <= version:
        told += [
            "to version 3: next-row-id starts at 0; the next snapshot gives row ids to all rows that are there",
            "to version 3: rows are deleted by deletion vectors; position delete files that are there stay valid",
            "to version 3: clients of version 2 can no longer read the table",
        ]
    if now != state.metadata.format_version:
        told.append("this cannot be taken back: only a copy of the rows can have a lower version")
    return tuple(told)


def reachable(metadata: TableMetadata, version: int) -> int:
    """The version, where the table can be raised to it."""
    if version not in SUPPORTED_VERSIONS:
        raise InvalidRequest(f"Esker knows no format version {version}", where=metadata.location)
    if version < metadata.format_version:
        raise InvalidRequest(
            f"a table of format version {metadata.format_version} cannot go back to {version}", where=metadata.location
        )
    return version
