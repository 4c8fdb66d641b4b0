"""What is told of a change of the protocol before it is made?"""

from collections.abc import Iterator

from esker.core.features import Removable
from esker.core.protocol_changes import Drop, Foresight, ProtocolChange, Rewriting
from esker.delta import properties
from esker.delta.clustering import clustering_columns
from esker.delta.demands import contract
from esker.delta.drop import BARRIER, to_be_rewritten
from esker.delta.drop_rules import droppable, is_protected, leaving, only_truncates
from esker.delta.existing_files import check_convertible
from esker.delta.features import Facts
from esker.delta.foresee import foreseen, foreseen_contract, property_differences
from esker.delta.protocol import presences
from esker.delta.row_tracking_backfill import needs_backfill
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot


def foresight(snapshot: Snapshot, change: ProtocolChange, facts: Facts) -> Foresight:
    """What the change would make of the table. `facts` are what is known of it. Raises where the change would be refused."""
    before = Settled(snapshot.metadata, snapshot.protocol)
    after = foreseen(before, change, snapshot.version, snapshot.domains, clustering_columns(snapshot))
    is_readable = facts.domains is not None  # else nothing of the files is known, nor would the change be made
    if is_readable:
        check_convertible(snapshot, after)
    rewriting, steps = Rewriting(), tuple[str, ...]()
    if isinstance(change, Drop):
        names = droppable(before.protocol, before.metadata, change.features, change.truncates_history)
        steps = tuple(_drop_steps(snapshot, names, change.truncates_history))
        rewriting = to_be_rewritten(snapshot, names) if is_readable else rewriting
    elif is_readable and needs_backfill(snapshot, after.metadata):
        steps = ("add row ids to all files",)
    return Foresight(
        location=snapshot.location,
        version=snapshot.version,
        protocol_before=str(before.protocol),
        protocol_after=str(after.protocol),
        before=contract(before.protocol, presences(before.protocol, facts), before.metadata.schema),
        after=foreseen_contract(after, facts, change),
        properties=property_differences(before.metadata, after.metadata),
        rewriting=rewriting,
        steps=steps,
    )


def _drop_steps(snapshot: Snapshot, names: tuple[str, ...], truncates_history: bool) -> Iterator[str]:
    removals = [f.removal for f in leaving(snapshot.protocol, names) if isinstance(f.removal, Removable)]
    yield from (removal.before for removal in removals if removal.before != "nothing")
    if truncates_history and (is_protected(names) or only_truncates(names)):
        kept = properties.truncated_history_retention(snapshot.metadata.configuration)
        yield f"cut off older versions that need it; what is younger than {kept} has to wait"
    elif is_protected(names):
        yield f"write {BARRIER} empty versions with checkpoints, and have clients keep the checkpoints before them"
    yield from dict.fromkeys(removal.downgrade for removal in removals)
