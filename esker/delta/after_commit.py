"""What follows a commit?  (PROTOCOL.md, "Version Checksum File", "Checkpoints", "Metadata Cleanup")

Work that keeps the log short and checkable. Each piece may fail and be done by a later writer; the version stands without it.
"""

from collections.abc import Callable, Iterator

from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Finished


def keep_up(
    snapshot: Snapshot, ready: Finished, base: Snapshot, now: int
) -> Iterator[tuple[str, Callable[[], object]]]:
    """The pieces of work that are due after the commit that made `snapshot`, each with its name."""
    yield from ()
