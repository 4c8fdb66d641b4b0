"""How does a change of the metadata, the protocol or both become a version?

Rows stay as they are. A rival that only moved rows is no obstacle: the change is decided again on top of it. One that changed
metadata or protocol itself is a conflict, whatever it changed: `conflict` has the rule.
"""

from collections.abc import Callable
from dataclasses import replace

from esker.core.features import Operation as Door
from esker.delta.actions import Metadata
from esker.delta.clustering import DOMAIN as CLUSTERING
from esker.delta.clustering import parse_clustering
from esker.delta.commit import commit
from esker.delta.property_changes import PropertyChanges
from esker.delta.protocol import check_writable, is_supported, without
from esker.delta.settled import Settled, settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation

Decide = Callable[[Snapshot], Settled]
"""What the table is to be, told from what it is. Raises where it may not become so."""
_NOTHING = PropertyChanges()


def committed(
    snapshot: Snapshot, decide: Decide, operation: Callable[[Settled], Operation], excused: frozenset[str] = frozenset()
) -> Snapshot:
    """Commit what was decided. Where it is what the table is already, no version is made. `excused` is as for `commit`."""
    snapshot.gate(Door.WRITE, excused)
    first = decide(snapshot)
    if _is_same(first, Settled(snapshot.metadata, snapshot.protocol)):
        return snapshot
    check_writable(without(first.protocol, excused) if excused else first.protocol, snapshot.location)

    def apply(base: Snapshot) -> Change:
        is_same = base.metadata == snapshot.metadata and base.protocol == snapshot.protocol
        after = decide(base) if is_same and base is not snapshot else first
        return Change(
            operation(after),
            metadata=None if after.metadata == base.metadata else after.metadata,
            protocol=None if after.protocol == base.protocol else after.protocol,
        )

    return commit(snapshot, apply, excused=excused)


def whole(snapshot: Snapshot, metadata: Metadata, asked: PropertyChanges = _NOTHING) -> Settled:
    """The table with this metadata in the place of its own, made whole."""
    before = Settled(snapshot.metadata, snapshot.protocol)
    clustering = None
    if is_supported(snapshot.protocol, "clustering"):
        domain = snapshot.domains.get(CLUSTERING)
        clustering = (
            () if domain is None else parse_clustering(domain, metadata.schema, snapshot.mapping, snapshot.location)
        )
    return settled(metadata, before, asked, snapshot.domains, clustering)


def _is_same(one: Settled, other: Settled) -> bool:
    """Whether both say the same, however the text of the schema is spaced."""
    return one.protocol == other.protocol and replace(one.metadata, schema_string="") == replace(other.metadata, schema_string="")
