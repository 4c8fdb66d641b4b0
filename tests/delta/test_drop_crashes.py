"""What is left of a table when its storage dies or fails at any commit of a drop, and does the drop then go on?"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest

from esker.check.model import Severity
from esker.core.protocol_changes import Drop, Dropped
from esker.delta.protocol import supported
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.errors import EskerError
from esker.storage.port import Storage
from esker.table import Table
from esker.testing.faults import Died, Dying, Failing, Wrapping
from tests.delta.arranging import ArrowArranger, Clock
from tests.delta.handles import COMMITS
from tests.delta.operations import BY_VECTORS, append, copied, delete, opened, seen, table_with

CASES = {
    "vectors": (BY_VECTORS, ("deletionVectors",)),
    "names": ({"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true"}, ("columnMapping",)),
    "row ids and domains": ({"delta.enableRowTracking": "true"}, ("rowTracking", "domainMetadata")),
}


def drop(storage: Storage, names: tuple[str, ...], truncates: bool = False) -> Dropped:
    return DeltaTable(load(Place(storage))).drop_features(Drop(names, truncates), ArrowArranger())[1]


@pytest.fixture
def unkind() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def unkindly(storage: Wrapping, names: tuple[str, ...], patch: pytest.MonkeyPatch) -> bool:
    """Whether the drop came to its end."""
    # Data files are written to the storage of their URL: here that is the unkind one.
    patch.setattr("esker.arrow.write.storage_at", lambda location, options: storage)
    try:
        drop(storage, names)
    except (EskerError, Died):
        return False
    finally:
        patch.undo()
    return True


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", [Dying, Failing])
def test_a_drop_that_was_broken_off_after_any_commit_leaves_the_rows_and_goes_on(
    case: str, kind: type[Dying] | type[Failing], unkind: pytest.MonkeyPatch
) -> None:
    properties, names = CASES[case]
    start = table_with(properties)
    if properties == BY_VECTORS:
        delete("id = 1 OR id = 11")(opened(start))
    expected = seen(opened(start))
    for nth in count(1):
        storage = copied(start)
        faulty = kind(storage, nth, after=True, verb="put_if_absent", matching=COMMITS)
        is_done = unkindly(faulty, names, unkind)
        assert seen(opened(storage)) == expected
        append("a", 777)(opened(storage))
        left = remaining(storage, names)
        assert not (is_done and left)
        if left:
            drop(storage, left)
        assert remaining(storage, names) == ()
        assert len(seen(opened(storage))) == len(expected) + 1
        if not (faulty.has_died if isinstance(faulty, Dying) else faulty.has_failed):
            break
    assert nth > 3
    assert worth_a_warning(storage) == set()


TRUNCATED: dict[str, tuple[dict[str, str], str, Callable[[DeltaTable], object]]] = {
    "vectors": (BY_VECTORS, "deletionVectors", delete("id = 1 OR id = 11")),
    "names": ({"delta.columnMapping.mode": "name"}, "columnMapping", append("a", 9)),
    "checkpoints": ({"delta.checkpointPolicy": "v2"}, "v2Checkpoint", DeltaTable.checkpoint),
}
AT = [("put", "*/_last_checkpoint", 1), *(("delete", "*", nth) for nth in (2, 4))]
"""Where a hint is left at a checkpoint that goes, or some of the versions are gone that are to go."""


@pytest.mark.parametrize("case", TRUNCATED)
def test_a_truncation_that_was_broken_off_leaves_the_rows_and_goes_on(case: str, unkind: pytest.MonkeyPatch) -> None:
    properties, name, before = TRUNCATED[case]
    start = table_with(properties)
    before(opened(start))
    expected = seen(opened(start))
    for verb, matching, nth in AT:
        with pytest.MonkeyPatch.context() as patch:
            clock, storage = Clock(patch), copied(start)
            faulty = Dying(storage, nth, verb=verb, matching=matching)
            unkind.setattr("esker.arrow.write.storage_at", lambda location, options, faulty=faulty: faulty)
            with suppress(Died):
                drop(faulty, (name,), truncates=True)
                clock.late += timedelta(hours=25)
                drop(faulty, (name,), truncates=True)
            unkind.undo()
            assert seen(opened(storage)) == expected
            assert worth_a_warning(storage) <= {"log.old-gap"}
            while left := remaining(storage, (name,)):
                clock.late += timedelta(hours=25)
                drop(storage, left, truncates=True)
            append("a", 777)(opened(storage))
            assert len(seen(opened(storage))) == len(expected) + 1
            assert worth_a_warning(storage) == set()


def worth_a_warning(storage: Storage) -> set[str]:
    """The rules that the table breaks."""
    return {finding.rule for finding in Table(opened(storage)).check() if finding.severity >= Severity.WARNING}


def remaining(storage: Storage, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the names are still in the protocol."""
    return tuple(name for name in names if name in supported(opened(storage).snapshot.protocol))
