"""What does a Delta table demand of any client?  (PROTOCOL.md, "Protocol Evolution", "Table Features")

Clients check the versions; those of table features check the names in the lists too. Whatever the versions imply is not
checked by name, and can be stumbled over all the same.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from esker.core.demands import Contract, Demand
from esker.core.features import FeaturePresence, Operation, Presence, always, leaves_no_trace
from esker.core.nesting import types
from esker.core.types import TIMESTAMP_NS, TIMESTAMP_NTZ_NS, VOID, Primitive, Struct
from esker.delta.protocol import LAST_READER, LAST_WRITER, Protocol
from esker.delta.schema import PRIMITIVES

_READ, _WRITE = frozenset({Operation.READ}), frozenset({Operation.WRITE})


def contract(protocol: Protocol, presences: Iterable[FeaturePresence[Any]], schema: Struct = Struct()) -> Contract:
    """The contract of a table with this protocol and schema, in which features have come as far as `presences` say."""
    found = {presence.name: _felt(presence) for presence in presences if presence.presence > Presence.ABSENT}
    unproven = {str(kind) for _, kind in types(schema) if isinstance(kind, Primitive) and kind not in _PROVEN}
    return Contract("delta", tuple(_demands(protocol, found)), found, tuple(f"type {name}" for name in sorted(unproven)))


# "Behavior is undefined for `void` data type columns"; intervals are a proposal.  Schema Serialization Format
_PROVEN = frozenset({*PRIMITIVES.values(), TIMESTAMP_NS, TIMESTAMP_NTZ_NS}) - {VOID}
"""The simple types that all clients know, or a feature stands for."""


def _felt(found: FeaturePresence[Any]) -> Presence:
    """How far a feature has come for clients. One without a switch counts as active, and is not felt until it is used."""
    feature = found.feature
    if feature is None or found.presence is not Presence.ACTIVE or feature.active is not always:
        return found.presence
    is_known_unused = found.in_use is False and feature.in_use is not leaves_no_trace
    return Presence.SUPPORTED if is_known_unused else found.presence


def _demands(protocol: Protocol, found: dict[str, Presence]) -> Iterator[Demand]:
    mapped = found.get("columnMapping", Presence.ABSENT)
    if protocol.min_reader == 2:  # it stands for column mapping and nothing else
        yield Demand("reader version 2", _READ, max(mapped, Presence.SUPPORTED), "columnMapping")
    else:
        yield Demand(f"reader version {protocol.min_reader}", _READ, Presence.SUPPORTED)
    yield Demand(f"writer version {protocol.min_writer}", _WRITE, Presence.SUPPORTED)
    readers = (protocol.reader_features or frozenset()) if protocol.min_reader >= LAST_READER else frozenset()
    writers = (protocol.writer_features or frozenset()) if protocol.min_writer >= LAST_WRITER else frozenset()
    for name in sorted(readers | writers):
        checked = (_READ if name in readers else frozenset()) | (_WRITE if name in writers else frozenset())
        yield Demand(name, checked, found.get(name, Presence.SUPPORTED))
