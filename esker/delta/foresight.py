"""What is told of a change of the protocol before it is made?"""

from esker.core.protocol_changes import Foresight, ProtocolChange
from esker.delta.clustering import clustering_columns
from esker.delta.demands import contract
from esker.delta.features import Facts
from esker.delta.foresee import foreseen, foreseen_contract, property_differences
from esker.delta.protocol import presences
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot


def foresight(snapshot: Snapshot, change: ProtocolChange, facts: Facts) -> Foresight:
    """What the change would make of the table. `facts` are what is known of it."""
    before = Settled(snapshot.metadata, snapshot.protocol)
    after = foreseen(before, change, snapshot.version, snapshot.domains, clustering_columns(snapshot))
    return Foresight(
        location=snapshot.location,
        version=snapshot.version,
        protocol_before=str(before.protocol),
        protocol_after=str(after.protocol),
        before=contract(before.protocol, presences(before.protocol, facts)),
        after=foreseen_contract(after, facts, change),
        properties=property_differences(before.metadata, after.metadata),
    )
