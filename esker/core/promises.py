"""Does a change keep what a table is promised?

A table may promise that clients work with it. Which clients do is not known here: who opens a table brings a judge. What is
judged is the state that a commit makes on top of the one that it follows, so a promise that a rival has made since is kept as
well. A promise that is broken already is no reason to refuse what leaves it as it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from esker.core.demands import Contract, Judge
from esker.core.features import FeaturePresence, Presence, always
from esker.errors import InvalidRequest

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Promising:
    """What a table promises, if it promises anything, and what it asks of its clients."""

    promises: str | None
    contract: Contract


def check_kept(judge: Judge, before: Promising | None, after: Promising, location: str) -> None:
    """Raise `InvalidRequest`, with every promise that the table keeps before a change and would not keep after it."""
    broken = judge(after.promises, after.contract) if after.promises else ()
    known = judge(before.promises, before.contract) if broken and before is not None and before.promises else ()
    if problems := [promise for promise in broken if promise not in known]:
        raise InvalidRequest(
            "this would break what the table is promised", where=location, problems=problems,
            hint="Take the promise back (unrequire), or force the change.",
        )


def as_used(presences: Iterable[FeaturePresence[F]]) -> tuple[FeaturePresence[F], ...]:
    """The presences, where what is turned on counts as used: the next writer may use it."""
    return tuple(replace(p, presence=Presence.IN_USE) if _is_turned_on(p) else p for p in presences)


def _is_turned_on(found: FeaturePresence[F]) -> bool:
    return found.presence is Presence.ACTIVE and found.feature is not None and found.feature.active is not always
