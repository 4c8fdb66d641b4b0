"""Does a change of a Delta table keep what the table is promised?  (`core.promises` says what that means)"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from esker.core.demands import PROMISES, Contract
from esker.core.promises import Promising, as_used, check_kept
from esker.delta.actions import Add, DomainMetadata
from esker.delta.demands import contract
from esker.delta.facts import facts
from esker.delta.features import Facts
from esker.delta.protocol import presences
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot


def check_promises(
    base: Snapshot, after: Settled, adds: Iterable[Add] = (), domains: Sequence[DomainMetadata] = ()
) -> None:
    """Raise `InvalidRequest`, with every promise that the table keeps at `base` and would not keep after the change."""
    judge, text = base.place.judge, after.metadata.configuration.get(PROMISES)
    if judge is None or not text:
        return
    before = Settled(base.metadata, base.protocol)
    held = None if base.version < 0 else base.metadata.configuration.get(PROMISES)
    brings_vectors = any(add.deletion_vector is not None for add in adds)
    # What the files hold is looked up only where something else may decide.
    is_as_before = held == text and not brings_vectors and not domains
    if is_as_before and _contract(before, Facts()) == _contract(after, Facts()):
        return
    known = facts(base)
    then = replace(
        known,
        domains=_domains(known.domains, domains),
        has_deletion_vectors=known.has_deletion_vectors or brings_vectors,
    )
    check_kept(judge, Promising(held, _contract(before, known)), Promising(text, _contract(after, then)), base.location)


def _contract(state: Settled, known: Facts) -> Contract:
    """What clients are asked for."""
    said = replace(known, configuration=state.metadata.configuration, schema=state.metadata.schema)
    return contract(state.protocol, as_used(presences(state.protocol, said)), state.metadata.schema)


def _domains(known: frozenset[str] | None, changed: Iterable[DomainMetadata]) -> frozenset[str] | None:
    if known is None:
        return None
    told = {domain.domain: domain.removed for domain in changed}
    return frozenset(name for name in {*known, *told} if not told.get(name, False))
