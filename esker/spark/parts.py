"""Which files of a plan are read alike?

What a part needs is paid for by its own files only: the row's index, for instance, by the files that have deletes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from esker.core.predicate import Predicate
from esker.core.scan import Deletes, Mask, ScanPlan


def part(plan: ScanPlan, keep: Mask) -> ScanPlan:
    """The plan of some of a plan's files. Its ordinals count those files only."""
    if keep.all():
        return plan
    ordinals = np.flatnonzero(keep)
    return replace(
        plan,
        paths=plan.paths.take(ordinals),
        sizes=plan.sizes.take(ordinals),
        constants=plan.constants.take(ordinals),
        has_deletes=plan.has_deletes[keep],
        load_deletes=_load_deletes(plan.load_deletes, ordinals.tolist()),
        may_match=None if plan.may_match is None else _may_match(plan.may_match, keep),
    )


def files_for_which(plan: ScanPlan, test: Callable[[str], bool]) -> Mask:
    """The files whose URL passes a test."""
    return np.fromiter((test(url) for url in plan.paths.to_pylist()), dtype=bool, count=len(plan))


def _load_deletes(
    load: Callable[[Sequence[int]], Mapping[int, Deletes]], ordinals: list[int]
) -> Callable[[Sequence[int]], Mapping[int, Deletes]]:
    def loaded(wanted: Sequence[int]) -> Mapping[int, Deletes]:
        found = load([ordinals[i] for i in wanted])
        return {i: found[ordinals[i]] for i in wanted if ordinals[i] in found}

    return loaded


def _may_match(may_match: Callable[[Predicate], Mask], keep: Mask) -> Callable[[Predicate], Mask]:
    return lambda predicate: may_match(predicate)[keep]
