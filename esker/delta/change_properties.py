"""How are a table's properties, comment and constraints changed?  (PROTOCOL.md, "Change Metadata", "CHECK Constraints")"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from esker.core.change import RowEditor
from esker.core.sql_tokens import check_enclosed
from esker.delta import properties
from esker.delta.actions import Metadata
from esker.delta.constraints import PREFIX as CONSTRAINT_PREFIX
from esker.delta.existing_files import check_convertible
from esker.delta.existing_rows import ExistingRows
from esker.delta.metadata_commit import committed, whole
from esker.delta.promises import check_promises
from esker.delta.property_changes import PropertyChanges, applied, validated
from esker.delta.protocol import check_writable
from esker.delta.required_features import upgraded
from esker.delta.row_tracking_backfill import backfilled, needs_backfill
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Operation
from esker.errors import Conflict, InvalidRequest


def set_properties(snapshot: Snapshot, wanted: Mapping[str, str]) -> Snapshot:
    """Set properties, and raise the protocol by what they need. Row tracking is enabled once all files have row ids."""
    return asked_for(snapshot, validated(wanted), Operation("SET TBLPROPERTIES", {"properties": dict(wanted)}))


def asked_for(snapshot: Snapshot, asked: PropertyChanges, operation: Operation) -> Snapshot:
    """The table with the properties, features and versions that were asked for, by an operation of this name."""
    check_writable(upgraded(snapshot.protocol, asked.features), snapshot.location)

    def decide(base: Snapshot) -> Settled:
        after = whole(base, _with_properties(base.metadata, asked), asked)
        check_convertible(base, after)
        return after

    def with_all_ids(base: Snapshot) -> Settled:
        after = decide(base)
        if needs_backfill(base, after.metadata):
            raise Conflict("another writer has added files without row ids", where=base.location)
        return after

    after = decide(snapshot)
    check_promises(snapshot, after)
    if needs_backfill(snapshot, after.metadata):
        snapshot = backfilled(snapshot, after.protocol)
    return committed(snapshot, with_all_ids, lambda after: operation)


def unset_properties(snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
    """Take properties out, so that what holds without them holds again. The protocol stays."""
    asked = validated(dict.fromkeys(names))
    held = snapshot.metadata.configuration
    if missing := [name for name in names if applied(held, validated({name: None})) == held]:
        raise InvalidRequest(f"these properties are not set: {', '.join(missing)}", where=snapshot.location)
    operation = Operation("UNSET TBLPROPERTIES", {"properties": [*names], "ifExists": False})
    return committed(
        snapshot, lambda base: whole(base, _with_properties(base.metadata, asked)), lambda after: operation
    )


def set_comment(snapshot: Snapshot, comment: str | None) -> Snapshot:
    """Say what the table is for, or nothing where `comment` is None."""
    if comment is None:
        operation = Operation("UNSET TBLPROPERTIES", {"properties": ["comment"], "ifExists": True})
    else:
        operation = Operation("SET TBLPROPERTIES", {"properties": {"comment": comment}})
    return committed(
        snapshot, lambda base: whole(base, replace(base.metadata, description=comment)), lambda after: operation
    )


def add_constraint(snapshot: Snapshot, name: str, condition: str, editor: RowEditor) -> Snapshot:
    """Have each row fulfil the condition, those that are there as well as those to come."""
    key = _constraint_key(snapshot, name)
    check_enclosed(condition)
    if key in snapshot.metadata.configuration:
        raise InvalidRequest(
            f"there is a constraint {name}: {snapshot.metadata.configuration[key]}", where=snapshot.location,
            hint="Drop it first, or choose another name.",
        )  # fmt: skip
    existing = ExistingRows(editor)

    def decide(base: Snapshot) -> Settled:
        after = whole(base, _with_properties(base.metadata, PropertyChanges({key: condition})))
        existing.check(base, after)
        return after

    return committed(snapshot, decide, lambda after: Operation("ADD CONSTRAINT", {"name": name, "expr": condition}))


def drop_constraint(snapshot: Snapshot, name: str) -> Snapshot:
    """Ask the condition of rows no more."""
    key = _constraint_key(snapshot, name)
    condition = snapshot.metadata.configuration.get(key)
    if condition is None:
        raise InvalidRequest(f"there is no constraint {name}", where=snapshot.location)
    without = PropertyChanges({key: None})
    operation = Operation("DROP CONSTRAINT", {"name": name, "expr": condition, "existed": "true"})
    return committed(
        snapshot, lambda base: whole(base, _with_properties(base.metadata, without)), lambda after: operation
    )


def _with_properties(metadata: Metadata, asked: PropertyChanges) -> Metadata:
    configuration = applied(metadata.configuration, asked)
    if not properties.in_commit_timestamps_enabled(configuration):
        # They say since when commits state their time: no longer.  In-Commit Timestamps
        for since in (properties.TIMESTAMPS_SINCE_VERSION, properties.TIMESTAMPS_SINCE):
            configuration.pop(since.name, None)
    return replace(metadata, configuration=configuration)


def _constraint_key(snapshot: Snapshot, name: str) -> str:
    """Names of constraints are told apart ignoring case; as the table spells the key, else in small letters."""
    wanted = f"{CONSTRAINT_PREFIX}{name}".lower()
    if not name.strip():
        raise InvalidRequest("a constraint needs a name", where=snapshot.location)
    return next((key for key in snapshot.metadata.configuration if key.lower() == wanted), wanted)
