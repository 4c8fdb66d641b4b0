"""Does a change keep what the table is promised?

A table may promise that clients work with it. Which clients do is not known here: the place brings a judge. What is judged is
the state that a commit makes on top of the one that it follows, so a promise that a rival has made since is kept as well. A
promise that is broken already is no reason to refuse what leaves it as it is.
"""

from collections.abc import Iterable
from dataclasses import replace

from esker.core.demands import PROMISES, Contract
from esker.core.features import FeaturePresence, Presence, always
from esker.delta.actions import Add, DomainMetadata
from esker.delta.demands import contract
from esker.delta.facts import facts
from esker.delta.features import Facts
from esker.delta.protocol import presences
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest


def check_promises(
    base: Snapshot, after: Settled, adds: Iterable[Add] = (), domains: Iterable[DomainMetadata] = ()
) -> None:
    """Raise `InvalidRequest`, with every promise that the table keeps at `base` and would not keep after the change."""
    judge, text = base.place.judge, after.metadata.configuration.get(PROMISES)
    if judge is None or not text:
        return
    before = Settled(base.metadata, base.protocol)
    held = None if base.version < 0 else base.metadata.configuration.get(PROMISES)
    brings_vectors = any(add.deletion_vector is not None for add in adds)
    # What the files hold is looked up only where something else may decide.
    if held == text and not brings_vectors and _contract(before, Facts()) == _contract(after, Facts()):
        return
    known = facts(base)
    then = replace(
        known,
        domains=_domains(known.domains, domains),
        has_deletion_vectors=known.has_deletion_vectors or brings_vectors,
    )
    broken = judge(text, _contract(after, then))
    known_broken = judge(held, _contract(before, known)) if broken and held else ()
    if problems := [promise for promise in broken if promise not in known_broken]:
        raise InvalidRequest(
            "this would break what the table is promised", where=base.location, problems=problems,
            hint="Take the promise back (unrequire), or force the change.",
        )


def _contract(state: Settled, known: Facts) -> Contract:
    """What clients are asked for. What is turned on counts as used: the next writer may use it."""
    said = replace(known, configuration=state.metadata.configuration, schema=state.metadata.schema)
    return contract(state.protocol, [_as_used(found) for found in presences(state.protocol, said)])


def _as_used(found: FeaturePresence[Facts]) -> FeaturePresence[Facts]:
    is_turned_on = found.presence is Presence.ACTIVE and found.feature is not None and found.feature.active is not always
    return replace(found, presence=Presence.IN_USE) if is_turned_on else found


def _domains(known: frozenset[str] | None, changed: Iterable[DomainMetadata]) -> frozenset[str] | None:
    if known is None:
        return None
    told = {domain.domain: domain.removed for domain in changed}
    return frozenset(name for name in {*known, *told} if not told.get(name, False))
