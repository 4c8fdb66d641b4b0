"""What is the state of a version whose writer has not summed it up yet?  (PROTOCOL.md, "Version Checksum File")

A checksum file comes right after its commit, and among rivals the next commit may be quicker. The summary then follows from the
checksum of a version a little before, and from the commits since; of other software's commits nothing is taken for granted.
"""

from collections.abc import Mapping, Sequence

from esker.core.types import Json
from esker.delta import json_log
from esker.delta.actions import JsonObject, Remove, parse_add, parse_domain_metadata, parse_txn, removed
from esker.delta.log import Commit, checksum_path
from esker.delta.snapshot import Snapshot
from esker.delta.summary import Step, Summary, after, parse_summary
from esker.errors import EskerError, NotFound

MOST_COMMITS = 5
"""As many are read at most; replaying a small state would cost no more."""


def caught_up(snapshot: Snapshot, fresh: frozenset[str]) -> Summary | None:
    """The summary of the snapshot; None where it cannot be told. `fresh` are the operations whose files are as they say."""
    steps: list[Step] = []
    for entry in reversed(snapshot.log.entries[-MOST_COMMITS:]):
        if not isinstance(entry, Commit) or (step := _step(snapshot, entry, fresh)) is None:
            return None
        steps = [step, *steps]
        before = _recorded(snapshot, entry.version - 1)
        if before is not None:
            return _followed(before, steps)
    return None


def _followed(before: Summary, steps: Sequence[Step]) -> Summary | None:
    summary: Summary | None = before
    for step in steps:
        summary = None if summary is None else after(summary, step)
    return summary


def _recorded(snapshot: Snapshot, version: int) -> Summary | None:
    try:
        data = snapshot.place.storage.read(checksum_path(version))
    except NotFound:
        return None
    # No commit since has changed them: see `_step`.
    return parse_summary(data, snapshot.protocol, snapshot.metadata)


def _step(snapshot: Snapshot, commit: Commit, fresh: frozenset[str]) -> Step | None:
    """What an Esker's commit does; None for one of other software, or that changes more than files and short lists."""
    where = f"{snapshot.location}/{commit.file.path}"
    actions = json_log.actions(snapshot.place.storage.read(commit.file.path), where)
    bodies: Mapping[str, list[JsonObject]] = {
        kind: [body for action in actions if isinstance(body := action.get(kind), dict)] for kind in _KINDS
    }
    info = next(iter(bodies["commitInfo"]), {})
    if bodies["protocol"] or bodies["metaData"] or not _is_ours(info.get("engineInfo")):
        return None
    try:
        adds = tuple(parse_add(body, where) for body in bodies["add"])
        removes = tuple(_remove(body, where) for body in bodies["remove"])
    except EskerError:
        return None
    txns = tuple(parse_txn(body, where) for body in bodies["txn"])
    domains = tuple(parse_domain_metadata(body, where) for body in bodies["domainMetadata"])
    return Step(adds, removes, txns, domains, info.get("operation") in fresh or not (adds or removes))


_KINDS = ("commitInfo", "protocol", "metaData", "txn", "domainMetadata", "add", "remove")


def _is_ours(engine: Json) -> bool:
    return isinstance(engine, str) and engine.startswith("Esker/")


def _remove(body: JsonObject, where: str) -> Remove:
    """A tombstone with all that its `add` said; one without a size is refused."""
    return removed(parse_add({"modificationTime": 0, **body}, where), 0)
