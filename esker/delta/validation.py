"""May this change become a version?  (PROTOCOL.md, "Requirements for Writers")

The last of the three doors: whatever the operation was, a commit that would break a rule of the protocol is refused here.
"""

from collections import Counter
from collections.abc import Iterator

from esker.delta.intended import Intended
from esker.delta.properties import APPEND_ONLY
from esker.delta.protocol import is_supported
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change
from esker.errors import InvalidRequest


def check_change(change: Change, base: Snapshot) -> None:
    """Raise `InvalidRequest`, with every rule that the change breaks on top of `base`."""
    if problems := list(_problems(change, base)):
        raise InvalidRequest(f"{change.operation.name} breaks the table's rules", where=base.location, problems=problems)


def _problems(change: Change, base: Snapshot) -> Iterator[str]:
    protocol = change.protocol or base.protocol
    # "New log entries MUST NOT change or remove data from the table."  Append-only Tables: as it is, not as the entry makes it
    if any(remove.data_change for remove in change.removes) and Intended(base.metadata, base.protocol).is_active(APPEND_ONLY):
        yield f"{APPEND_ONLY.name} is true: rows can be added, not changed or removed"
    # "Add / Remove actions with the same `(path, DV)` tuple" must not be in one entry.  Delta Log Entries
    counted = Counter([*(a.identity for a in change.adds), *(r.identity for r in change.removes)])
    yield from (f"the file {path} would be named twice" for (path, _), count in counted.items() if count > 1)
    # "it is illegal for the same `path` to be occur twice with different `dvId`s within each set of `add` or `remove` actions"
    for done, files in (("added", change.adds), ("removed", change.removes)):
        paths = Counter(path for path, _ in {file.identity for file in files})
        yield from (f"the file {path} would be {done} twice" for path, count in paths.items() if count > 1)
    # "More than one SetTransaction with the same `appId`"; of domains only the latest could count
    named = Counter([*(f"the application {t.app_id}" for t in change.txns), *(f"the domain {d.domain}" for d in change.domains)])
    yield from (f"{name} would be spoken of twice" for name, count in named.items() if count > 1)
    if not is_supported(protocol, "deletionVectors") and any(add.deletion_vector for add in change.adds):
        yield "deletion vectors are written, and the table does not support deletionVectors"
    if not is_supported(protocol, "domainMetadata") and change.domains:
        yield "domain metadata is written, and the table does not support domainMetadata"
