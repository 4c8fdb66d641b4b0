"""How does a table come to ask more of its clients?  (PROTOCOL.md, "Table Features for New and Existing Tables")

The protocol rises by the smallest step: by the features that are asked for and those that they require. The history speaks of
properties where some were set, else of the protocol.
"""

from collections.abc import Sequence
from dataclasses import replace

from esker.core.protocol_changes import Upgrade
from esker.delta import properties
from esker.delta.actions import action_json
from esker.delta.change_properties import asked_for
from esker.delta.foresee import bundled, enabling
from esker.delta.metadata_commit import committed
from esker.delta.property_changes import FEATURE_PREFIX, PropertyChanges
from esker.delta.protocol import Protocol
from esker.delta.required_features import upgraded
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Operation


def enable(snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
    """Have the table support the features, and turn on those that have a switch. What is so already makes no version."""
    before = Settled(snapshot.metadata, snapshot.protocol)
    asked = enabling(before, names)
    if properties.ROW_TRACKING_SUSPENDED.name in asked.stored:
        snapshot = _resumed(snapshot)
        asked = enabling(Settled(snapshot.metadata, snapshot.protocol), names)
    if not asked.stored:
        return asked_for(snapshot, asked, _protocol_operation(upgraded(snapshot.protocol, asked.features)))
    named = {f"{FEATURE_PREFIX}{name}": "supported" for name in sorted(asked.features)}
    return asked_for(snapshot, asked, Operation("SET TBLPROPERTIES", {"properties": {**asked.stored, **named}}))


def upgrade(snapshot: Snapshot, wanted: Upgrade) -> Snapshot:
    """Have the table support whatever these versions imply. What it supports already stays, whatever the versions are."""
    after = bundled(snapshot.protocol, wanted)
    asked = PropertyChanges(min_reader=wanted.reader, min_writer=wanted.writer)
    return asked_for(snapshot, asked, _protocol_operation(after))


def _resumed(snapshot: Snapshot) -> Snapshot:
    """The table with row ids given out again, so that files can get theirs before they are relied on."""
    name = properties.ROW_TRACKING_SUSPENDED.name

    def decide(base: Snapshot) -> Settled:
        kept = {key: text for key, text in base.metadata.configuration.items() if key != name}
        return Settled(replace(base.metadata, configuration=kept), base.protocol)

    operation = Operation("UNSET TBLPROPERTIES", {"properties": [name], "ifExists": True})
    return committed(snapshot, decide, lambda after: operation)


def _protocol_operation(protocol: Protocol) -> Operation:
    return Operation("UPGRADE PROTOCOL", {"newProtocol": action_json(protocol)["protocol"]})
