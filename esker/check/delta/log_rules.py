"""Are the files of the log there, whole, and well named?  (PROTOCOL.md, "Delta Log Entries", "Checkpoints")"""

import re
from collections.abc import Iterator
from itertools import pairwise

from esker.check.delta.evidence import KINDS, Evidence
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.delta.log import LOG_FOLDER
from esker.errors import InvalidTable

_NAMED = re.compile(
    r"\d{20}\.(json|crc|checkpoint\.parquet|checkpoint\.\d{10}\.\d{10}\.parquet|checkpoint\.[0-9A-Za-z-]+\.(json|parquet))"
    r"|\d{20}\.\d{20}\.compacted\.json|_last_checkpoint|_last_vacuum_info|_commits/.*|_sidecars/.*|_staged_commits/.*"
)
_SHORT = re.compile(r"\d{1,19}\.json")
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")


def _name(path: str) -> str:
    return path.removeprefix(f"{LOG_FOLDER}/")


def _gaps(evidence: Evidence) -> Iterator[Sighting]:
    base = max(evidence.listing.checkpoints, default=-1)
    yield from (Sighting("log", f"after version {a} comes {b}") for a, b in _jumps(evidence) if b > base)


def _old_gaps(evidence: Evidence) -> Iterator[Sighting]:
    base = max(evidence.listing.checkpoints, default=-1)
    yield from (Sighting("log", f"after version {a} comes {b}: what lies between cannot be rebuilt") for a, b in _jumps(evidence) if b <= base)
    # clean-up takes commits from the oldest on, so a commit that is missing among others was lost, checkpoint or not
    covered = {version for a, b in _jumps(evidence) for version in range(a + 1, b)}
    for before, after in pairwise(sorted(evidence.listing.commits)):
        if lost := [version for version in range(before + 1, min(after, before + 1_000)) if version not in covered]:
            yield Sighting("log", f"commits {lost[0]} to {lost[-1]} are missing among those that are kept")


def _jumps(evidence: Evidence) -> Iterator[tuple[int, int]]:
    """Where commits are missing; what lies before the oldest file of the log was cleaned away, and a checkpoint begins anew."""
    versions = sorted({*evidence.listing.commits, *evidence.listing.checkpoints})
    for before, after in pairwise(versions):
        if after > before + 1 and after not in evidence.listing.checkpoints:
            yield before, after


def _beginning(evidence: Evidence) -> Iterator[Sighting]:
    if not evidence.listing.commits and not evidence.listing.checkpoints:
        yield Sighting("log", "there is neither a commit nor a whole checkpoint")
    elif 0 not in evidence.listing.commits and not evidence.listing.checkpoints:
        yield Sighting("log", f"it begins at version {min(evidence.listing.commits)}, without a checkpoint")


def _malformed(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(commit.where, commit.problem) for commit in evidence.commits if commit.problem is not None)


def _odd(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(commit.where, what) for commit in evidence.commits for what in commit.odd)


def _unknown_actions(evidence: Evidence) -> Iterator[Sighting]:
    for commit in evidence.commits:
        if unknown := sorted({action.kind for action in commit.actions} - {*KINDS}):
            yield Sighting(commit.where, f"holds the actions {', '.join(unknown)}, which no reader knows")


def _empty(evidence: Evidence) -> Iterator[Sighting]:
    for commit in evidence.commits:
        if commit.problem is None and not commit.actions and not commit.odd:
            yield Sighting(commit.where, "the commit holds no action")


def _stray(evidence: Evidence) -> Iterator[Sighting]:
    for file in evidence.log_files:
        name = _name(file.path)
        if not _NAMED.fullmatch(name) and not _SHORT.fullmatch(name) and not name.startswith("."):
            yield Sighting(name, "the protocol knows no file of this name")


def _short_names(evidence: Evidence) -> Iterator[Sighting]:
    for file in evidence.log_files:
        if _SHORT.fullmatch(_name(file.path)):
            yield Sighting(_name(file.path), "a commit's name has 20 digits, so no reader looks at this file")


def _parts(evidence: Evidence) -> Iterator[Sighting]:
    found: dict[tuple[str, int], set[int]] = {}
    for file in evidence.log_files:
        if part := _PART.fullmatch(_name(file.path)):
            found.setdefault((part[1], int(part[3])), set()).add(int(part[2]))
    for (version, count), parts in found.items():
        if missing := sorted(set(range(1, min(count, 10_000) + 1)) - parts):
            yield Sighting(f"checkpoint {int(version)}", f"of {count} parts, {', '.join(map(str, missing[:5]))} are missing")


def _compactions(evidence: Evidence) -> Iterator[Sighting]:
    for compaction in evidence.listing.compactions:
        newest = evidence.listing.latest or 0
        if compaction.last > newest:
            yield Sighting(_name(compaction.file.path), f"it reaches to version {compaction.last}, beyond the newest, {newest}")


def _checksums(evidence: Evidence) -> Iterator[Sighting]:
    newest = evidence.listing.latest or 0
    for version, file in evidence.listing.checksums.items():
        if version > newest:
            yield Sighting(_name(file.path), "there is no such version")


def _staged(evidence: Evidence) -> Iterator[Sighting]:
    staged = [file for file in evidence.log_files if file.path.startswith(f"{LOG_FOLDER}/_staged_commits/")]
    supported = evidence.snapshot and (evidence.snapshot.protocol.writer_features or ())
    if staged and not {"catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview"} & set(supported or ()):
        yield Sighting("_staged_commits", f"{len(staged)} staged commits, and the table is not managed by a catalog")


def _opens(evidence: Evidence) -> Iterator[Sighting]:
    if isinstance(evidence.refusal, InvalidTable):
        told = "; ".join((evidence.refusal.what, *evidence.refusal.problems))
        yield Sighting("table", f"cannot be opened: {told}")


def _lists(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.unlisted is not None:
        yield Sighting(evidence.unlisted.where or "table", f"its state cannot be rebuilt: {evidence.unlisted.what}")


_ENTRIES = protocol("#delta-log-entries")
_RESTORE = "Restore the file from a copy of the table, or go back to a version that a checkpoint covers."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("log.opens", Severity.ERROR, protocol("#action-reconciliation"), "The log makes a snapshot.", _RESTORE, _opens),
    Rule("log.replays", Severity.ERROR, protocol("#action-reconciliation"), "The log makes a list of live files.", _RESTORE, _lists),
    Rule("log.beginning", Severity.ERROR, _ENTRIES, "The log begins at version 0 or with a checkpoint.", _RESTORE, _beginning),
    Rule("log.gap", Severity.ERROR, _ENTRIES, "Versions are contiguous.", _RESTORE, _gaps),
    Rule("log.old-gap", Severity.WARNING, _ENTRIES, "Older versions are contiguous too.", "Nothing, if nobody needs these versions.", _old_gaps),
    Rule("log.json", Severity.ERROR, _ENTRIES, "A commit is lines of JSON objects.", _RESTORE, _malformed),
    Rule("log.one-action", Severity.ERROR, protocol("#actions"), "A line holds one action.", _RESTORE, _odd),
    Rule("log.unknown-action", Severity.NOTICE, protocol("#actions"), "Unknown actions are passed over.", "Nothing needs to be done.", _unknown_actions),
    Rule("log.empty-commit", Severity.NOTICE, _ENTRIES, "A commit says something.", "Nothing needs to be done.", _empty),
    Rule("log.stray-file", Severity.NOTICE, _ENTRIES, "The log's folder holds the log alone.", "Move the file elsewhere.", _stray),
    Rule("log.short-name", Severity.WARNING, _ENTRIES, "Commits are named by 20 digits.", "Find out who wrote the file; its changes are not part of the table.", _short_names),
    Rule("log.checkpoint-parts", Severity.WARNING, protocol("#multi-part-checkpoint"), "A multi-part checkpoint is whole.", "Write a checkpoint.", _parts),
    Rule("log.compaction-range", Severity.ERROR, protocol("#log-compaction-files"), "A compaction covers versions that are there.", "Delete the compaction file.", _compactions),
    Rule("log.checksum-version", Severity.WARNING, protocol("#version-checksum-file"), "A checksum file belongs to a version.", "Delete the checksum file.", _checksums),
    Rule("log.staged-commits", Severity.WARNING, protocol("#catalog-managed-tables"), "Only catalogs stage commits.", "Ask whoever runs the catalog.", _staged),
)  # fmt: skip
