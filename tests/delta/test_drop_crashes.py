"""What is left of a table when its storage dies or fails at any commit of a drop, and does the drop then go on?"""

from collections.abc import Iterator
from itertools import count

import pytest

from esker.check.model import Severity
from esker.core.protocol_changes import Drop
from esker.delta.protocol import supported
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.errors import EskerError
from esker.storage.port import Storage
from esker.table import Table
from esker.testing.faults import Died, Dying, Failing, Wrapping
from tests.delta.arranging import ArrowArranger
from tests.delta.handles import COMMITS
from tests.delta.operations import BY_VECTORS, append, copied, delete, opened, seen, table_with

CASES = {
    "vectors": (BY_VECTORS, ("deletionVectors",)),
    "names": ({"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true"}, ("columnMapping",)),
    "row ids and domains": ({"delta.enableRowTracking": "true"}, ("rowTracking", "domainMetadata")),
}


def drop(storage: Storage, names: tuple[str, ...]) -> None:
    DeltaTable(load(Place(storage))).drop_features(Drop(names), ArrowArranger())


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
    assert [f for f in Table(opened(storage)).check() if f.severity >= Severity.WARNING] == []


def remaining(storage: Storage, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the names are still in the protocol."""
    return tuple(name for name in names if name in supported(opened(storage).snapshot.protocol))
