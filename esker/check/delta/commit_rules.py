"""Does each commit fit together, and follow from those before?  (PROTOCOL.md, "Actions", "In-Commit Timestamps")"""

from collections import Counter
from collections.abc import Iterator

from esker.check.delta.evidence import TAKEN_OVER, Evidence, LoggedAction, LoggedCommit, Look, logical_file
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.delta.history import ENABLED, ENABLEMENT_TIMESTAMP, first_with_timestamp
from esker.delta.protocol import Protocol, is_supported, is_upgrade, parse_protocol
from esker.errors import EskerError, Unsupported

_DROPS = ("DROP FEATURE", "DOWNGRADE")


def _twice(kind: str, key: str | None = None) -> Look:
    def look(evidence: Evidence) -> Iterator[Sighting]:
        for commit in evidence.commits:
            counted = Counter(str(action.body.get(key)) if key else kind for action in commit.of(kind))
            for name, count in counted.items():
                if count > 1:
                    yield Sighting(commit.where, f"{count} {kind} actions{f' for {name}' if key else ''}")

    return look


def _same_file(evidence: Evidence) -> Iterator[Sighting]:
    for commit in evidence.commits:
        counted = Counter(logical_file(action.body) for action in commit.of("add", "remove"))
        yield from (Sighting(commit.where, f"the file {path} is named {n} times") for (path, _), n in counted.items() if n > 1)


def _same_path(evidence: Evidence) -> Iterator[Sighting]:
    for commit in evidence.commits:
        counted = Counter(str(action.body.get("path")) for action in commit.of("add"))
        yield from (Sighting(commit.where, f"the file {path} is added {n} times") for path, n in counted.items() if n > 1)


def _first(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.commits and evidence.commits[0].version == 0 and evidence.commits[0].problem is None:
        have = {action.kind for action in evidence.commits[0].actions}
        if missing := [kind for kind in ("protocol", "metaData") if kind not in have]:
            yield Sighting("version 0", f"lacks {' and '.join(missing)}")


def _unknown_removes(evidence: Evidence) -> Iterator[Sighting]:
    if not evidence.commits or evidence.commits[0].version != 0:
        return  # what was there before is in a checkpoint
    live: set[object] = set()
    for commit in evidence.commits:
        for action in commit.of("remove"):
            if action.body.get("path") not in live:
                yield Sighting(action.where, f"the file {action.body.get('path')} is removed, and was not there")
        live -= {action.body.get("path") for action in commit.of("remove")}
        live |= {action.body.get("path") for action in commit.of("add")}


def _live_twice(evidence: Evidence) -> Iterator[Sighting]:
    live: dict[object, set[object]] = {}
    for commit in evidence.commits:
        for action in commit.of("remove"):
            path, vector = logical_file(action.body)
            live.get(path, set()).discard(vector)
        for action in commit.of("add"):
            path, vector = logical_file(action.body)
            others = live.setdefault(path, set())
            if others - {vector}:
                yield Sighting(action.where, f"the file {path} is added with another deletion vector, and was not removed")
            others.add(vector)


def _append_only(evidence: Evidence) -> Iterator[Sighting]:
    """Commits that take rows from a table that is append-only as they find it. What they make of it binds those that follow."""
    configuration, protocol = _unchanged(evidence)
    for commit in evidence.commits:
        is_asked = isinstance(configuration, dict) and str(configuration.get("delta.appendOnly", "")).lower() == "true"
        is_on = is_asked and protocol is not None and is_supported(protocol, "appendOnly")
        if is_on and any(action.body.get("dataChange") is True for action in commit.of("remove")):
            yield Sighting(commit.where, "rows are changed or removed, and delta.appendOnly is true")
        for action in commit.of("metaData"):
            configuration = action.body.get("configuration")
        for action in commit.of("protocol"):
            protocol = _parsed(action) or protocol


def _unchanged(evidence: Evidence) -> tuple[object, Protocol | None]:
    """The properties and the protocol before the first commit that is left, where no commit has changed them since."""
    snapshot, changed = evidence.snapshot, {action.kind for action in evidence.actions("metaData", "protocol")}
    if snapshot is None:
        return None, None
    configuration = None if "metaData" in changed else {**snapshot.metadata.configuration}
    return configuration, None if "protocol" in changed else snapshot.protocol


def _parsed(action: LoggedAction) -> Protocol | None:
    try:
        return parse_protocol(action.body)
    except EskerError:
        return None  # protocol.well-formed tells of it


def _protocols(evidence: Evidence) -> Iterator[tuple[LoggedAction, Protocol]]:
    for action in evidence.actions("protocol"):
        if found := _parsed(action):
            yield action, found


def _lowered(evidence: Evidence) -> Iterator[Sighting]:
    told = {commit.version: _operation(commit) for commit in evidence.commits}
    before: Protocol | None = None
    for action, after in _protocols(evidence):
        is_drop = any(word in told[action.version].upper() for word in _DROPS)
        if before is not None and not is_drop and not _is_kept(before, after):
            yield Sighting(action.where, f"the protocol falls from {before} to {after}")
        before = after


def _is_kept(before: Protocol, after: Protocol) -> bool:
    """Whether clients are asked for what they were asked for. The same may be said by lower versions, without lists."""
    try:
        return is_upgrade(before, after)
    except Unsupported:  # nobody knows what newer versions imply
        return after.min_reader >= before.min_reader and after.min_writer >= before.min_writer


def _operation(commit: LoggedCommit) -> str:
    return next((str(action.body.get("operation", "")) for action in commit.of("commitInfo")), "")


def _table_id(evidence: Evidence) -> Iterator[Sighting]:
    before: object = None
    for action in evidence.actions("metaData"):
        if before is not None and action.body.get("id") != before:
            yield Sighting(action.where, f"the table's id changes from {before} to {action.body.get('id')}")
        before = action.body.get("id")


def _cdc_data_change(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("cdc"):
        if action.body.get("dataChange") is not False:
            yield Sighting(action.where, "a cdc action has dataChange other than false")


def _timestamps(evidence: Evidence) -> Iterator[Sighting]:
    for commit in _stamped(evidence):
        if commit.actions and commit.actions[0].kind != "commitInfo":
            yield Sighting(commit.where, "the first action is no commitInfo, and the table has in-commit timestamps")
        elif not isinstance(_timestamp(commit), int):
            yield Sighting(commit.where, "the commitInfo has no inCommitTimestamp")


def _rising(evidence: Evidence) -> Iterator[Sighting]:
    last: int | None = None
    for commit in _stamped(evidence):
        own = _timestamp(commit)
        if isinstance(own, int):
            if last is not None and own <= last:
                yield Sighting(commit.where, f"its inCommitTimestamp, {own}, is not later than the one before, {last}")
            last = own


def _enablement(evidence: Evidence) -> Iterator[Sighting]:
    text = evidence.configuration.get(ENABLEMENT_TIMESTAMP)
    first = next(_stamped(evidence), None)
    since = None if evidence.snapshot is None else first_with_timestamp(evidence.snapshot)
    if text is None or first is None or first.version != since:
        return
    if text != str(_timestamp(first)):
        yield Sighting(first.where, f"{ENABLEMENT_TIMESTAMP} is {text}, and the commit says {_timestamp(first)}")


def _stamped(evidence: Evidence) -> Iterator[LoggedCommit]:
    """The commits that must have a timestamp."""
    snapshot = evidence.snapshot
    if snapshot is None or not is_supported(snapshot.protocol, "inCommitTimestamp") or ENABLED not in evidence.configuration:
        return
    first = first_with_timestamp(snapshot)
    if first is not None:
        yield from (commit for commit in evidence.commits if commit.version >= first and commit.problem is None)


def _timestamp(commit: LoggedCommit) -> object:
    return next((action.body.get("inCommitTimestamp") for action in commit.of("commitInfo")), None)


def _falling_txns(evidence: Evidence) -> Iterator[Sighting]:
    done: dict[object, int] = {}
    for action in evidence.actions("txn"):
        app, version = action.body.get("appId"), action.body.get("version")
        if isinstance(version, int):
            if version < done.get(app, version):
                yield Sighting(action.where, f"the application {app} falls back from {done[app]} to {version}")
            done[app] = version


def _metrics(evidence: Evidence) -> Iterator[Sighting]:
    """Whether a commit has as many files as its writer counted, where it is told what is counted."""
    for commit in evidence.commits:
        for info in commit.of("commitInfo"):
            metrics = info.body.get("operationMetrics")
            for name, kind in _COUNTED.get(str(info.body.get("operation")), {}).items():
                told = metrics.get(name) if isinstance(metrics, dict) else None
                have = sum(1 for _ in commit.of(kind))
                if isinstance(told, str) and told.isdecimal() and int(told) != have:
                    yield Sighting(commit.where, f"{name} is {told}, and there are {have} {kind} actions")


_COUNTED = {
    "WRITE": {"numFiles": "add"}, "CREATE TABLE AS SELECT": {"numFiles": "add"},
    "OPTIMIZE": {"numAddedFiles": "add", "numRemovedFiles": "remove"},
    **{operation: {"numAddedChangeFiles": "cdc"} for operation in ("DELETE", "UPDATE")},
}  # fmt: skip


def _lost_removes(evidence: Evidence) -> Iterator[Sighting]:
    """Whether a commit that rewrote files says of all of them that they are gone."""
    for commit in evidence.commits:
        gone = {action.body.get("path") for action in commit.of("remove")}
        for info in commit.of("commitInfo"):
            metrics = info.body.get("operationMetrics")
            name = _REMOVED.get(str(info.body.get("operation")))
            told = metrics.get(name) if isinstance(metrics, dict) and name is not None else None
            if isinstance(told, str) and told.isdecimal() and int(told) > len(gone):
                yield Sighting(commit.where, f"{name} is {told}, and there are {len(gone)} remove actions")


_REMOVED = {"DELETE": "numRemovedFiles", "UPDATE": "numRemovedFiles", "MERGE": "numTargetFilesRemoved"}


def _lost_vectors(evidence: Evidence) -> Iterator[Sighting]:
    """Whether a commit that marked rows has all the files back with their deletion vectors."""
    for commit in evidence.commits:
        marked = sum(1 for action in commit.of("add") if action.body.get("deletionVector") is not None)
        for info in commit.of("commitInfo"):
            metrics = info.body.get("operationMetrics")
            for name in _MARKED.get(str(info.body.get("operation")), ()):
                told = metrics.get(name) if isinstance(metrics, dict) else None
                if isinstance(told, str) and told.isdecimal() and int(told) > marked:
                    yield Sighting(commit.where, f"{name} is {told}, and {marked} add actions have a deletion vector")


_MARKED = {
    **dict.fromkeys(("DELETE", "UPDATE"), ("numDeletionVectorsAdded", "numDeletionVectorsUpdated")),
    "MERGE": ("numTargetDeletionVectorsAdded", "numTargetDeletionVectorsUpdated"),
}
"""Some writers count a vector that takes the place of another among those that are added, others do not."""


def _data_changes(evidence: Evidence) -> Iterator[Sighting]:
    """Whether rows that are said to be no change were there before."""
    known: set[object] = set()
    is_whole = bool(evidence.commits) and evidence.commits[0].version == 0
    for commit in evidence.commits if is_whole else ():
        adds = [action for action in commit.of("add") if action.body.get("dataChange") is False]
        fresh = [action for action in adds if action.body.get("path") not in known]
        if fresh and not any(commit.of("remove")) and _operation(commit) not in TAKEN_OVER:
            yield Sighting(fresh[0].where, "dataChange is false, and no file is there whose rows these could be")
        known |= {action.body.get("path") for action in commit.of("add")}


_TWO = "Restore the table to the version before, or replace the commit by one that reconciles its actions."
_NOTHING = "Nothing can be done about a commit that is there; keep the writer from repeating it."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("commit.one-protocol", Severity.ERROR, protocol("#protocol-evolution"), "A commit has at most one protocol action.", _TWO, _twice("protocol")),
    Rule("commit.one-metadata", Severity.ERROR, protocol("#change-metadata"), "A commit has at most one metaData action.", _TWO, _twice("metaData")),
    Rule("commit.one-commit-info", Severity.WARNING, protocol("#commit-provenance-information"), "A commit has at most one commitInfo.", _NOTHING, _twice("commitInfo")),
    Rule("commit.one-txn", Severity.ERROR, protocol("#transaction-identifiers"), "A commit has one txn for an application.", _TWO, _twice("txn", "appId")),
    Rule("commit.one-domain", Severity.ERROR, protocol("#domain-metadata"), "A commit has one domainMetadata for a domain.", _TWO, _twice("domainMetadata", "domain")),
    Rule("commit.one-action-a-file", Severity.ERROR, protocol("#add-file-and-remove-file"), "A commit names a logical file once.", _TWO, _same_file),
    Rule("commit.one-add-a-path", Severity.ERROR, protocol("#add-file-and-remove-file"), "A commit adds a path once.", _TWO, _same_path),
    Rule("commit.one-change-file", Severity.ERROR, protocol("#add-cdc-file"), "A commit names a change file once.", _TWO, _twice("cdc", "path")),
    Rule("commit.one-live-file", Severity.ERROR, protocol("#deletion-vectors"), "A data file is live with one deletion vector.", "Rewrite the file: delete its rows and add them again.", _live_twice),
    Rule("commit.first-version", Severity.ERROR, protocol("#protocol-evolution"), "Version 0 has a protocol and metadata.", "Create the table anew.", _first),
    Rule("commit.unknown-remove", Severity.NOTICE, protocol("#add-file-and-remove-file"), "A file that is removed was there.", _NOTHING, _unknown_removes),
    Rule("commit.append-only", Severity.ERROR, protocol("#append-only-tables"), "New log entries do not change or remove data.", _NOTHING, _append_only),
    Rule("commit.protocol-falls", Severity.WARNING, protocol("#protocol-evolution"), "What the protocol asks of clients it goes on asking until a feature is dropped.", "See that no version in between needs what was taken out.", _lowered),
    Rule("commit.table-id", Severity.WARNING, protocol("#change-metadata"), "A table keeps its id.", "Streams that follow the table stop here: start them anew.", _table_id),
    Rule("commit.cdc-data-change", Severity.ERROR, protocol("#add-cdc-file"), "dataChange of a cdc action is false.", _NOTHING, _cdc_data_change),
    Rule("commit.timestamp", Severity.ERROR, protocol("#writer-requirements-for-in-commit-timestamps"), "commitInfo comes first and has inCommitTimestamp.", _NOTHING, _timestamps),
    Rule("commit.timestamps-rise", Severity.ERROR, protocol("#writer-requirements-for-in-commit-timestamps"), "In-commit timestamps rise.", _NOTHING, _rising),
    Rule("commit.timestamp-enablement", Severity.ERROR, protocol("#writer-requirements-for-in-commit-timestamps"), "The enablement timestamp is that of its commit.", "Set both properties to what the commit says.", _enablement),
    Rule("commit.metrics", Severity.NOTICE, protocol("#commit-provenance-information"), "A commit has as many files as its metrics count.", "See whether an action was lost.", _metrics),
    Rule("commit.lost-removes", Severity.NOTICE, protocol("#commit-provenance-information"), "A commit removes as many files as its metrics count.", "See whether an action was lost.", _lost_removes),
    Rule("commit.lost-vectors", Severity.NOTICE, protocol("#commit-provenance-information"), "A commit adds as many deletion vectors as its metrics count.", "See whether an action was lost.", _lost_vectors),
    Rule("commit.data-change", Severity.WARNING, protocol("#add-file-and-remove-file"), "Rows that are added without a data change were there before.", "Streams and change feeds pass over such rows: add them again.", _data_changes),
    Rule("commit.txn-falls", Severity.WARNING, protocol("#transaction-identifiers"), "An application's version rises.", "See whether the application wrote something twice.", _falling_txns),
)  # fmt: skip
