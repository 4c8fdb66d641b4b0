"""What does a version checksum file say of the table's state?  (PROTOCOL.md, "Version Checksum File Schema")

A summary is the state in a few numbers and short lists. It is parsed and printed here; that of a version follows from the one
before it and the change, as long as what the change names is known to be there or not.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import orjson

from esker.core.types import Json
from esker.delta.actions import (
    Add,
    DomainMetadata,
    JsonObject,
    Metadata,
    Remove,
    Txn,
    action_json,
    parse_add,
    parse_domain_metadata,
    parse_metadata,
    parse_txn,
)
from esker.delta.protocol import Protocol, is_supported, parse_protocol
from esker.delta.tally import DELETION_BINS, SIZE_BINS, Counts, Tally, changed, tally_of
from esker.errors import InvalidTable

MOST_TXNS, MOST_DOMAINS, MOST_FILES = 100, 10, 50
"""As many a summary lists. A checksum file is written with every commit, so it must stay small."""
HISTOGRAMS = ("fileSizeHistogram", "histogramOpt")
"""What the protocol calls the histogram of file sizes, and what Delta's Spark connector does."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Summary:
    """The state of a version; None for a list that is too long or not known.

    `adds` are the live files by path, as their `add` actions say them.
    """

    tally: Tally
    txns: Mapping[str, Txn] | None = field(hash=False)
    domains: Mapping[str, DomainMetadata] | None = field(hash=False)
    adds: Mapping[str, Add] | None = field(default=None, hash=False)


NOTHING = Summary(tally_of(()), {}, {}, {})
"""Before the table is created."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a commit does to the summary. `is_fresh` says that no file it adds was live, and each that it removes was."""

    adds: tuple[Add, ...]
    removes: tuple[Remove, ...]
    txns: tuple[Txn, ...]
    domains: tuple[DomainMetadata, ...]
    is_fresh: bool


def after(before: Summary, step: Step) -> Summary | None:
    """The summary after a commit; None where it cannot be told without the whole state."""
    txns = _merged(before.txns, {txn.app_id: txn for txn in step.txns}, MOST_TXNS)
    domains = _merged(before.domains, {domain.domain: domain for domain in step.domains}, MOST_DOMAINS, _is_removed)
    if before.adds is not None:
        adds = _files_after(before.adds, step)
        kept = None if len(adds) > MOST_FILES else adds
        return Summary(tally_of(adds.values()), txns, domains, kept)
    if not step.is_fresh:
        return None
    tally = changed(before.tally, tally_of(step.adds), tally_of(step.removes))
    if not tally.is_consistent:
        return None
    is_all = tally.files == len(step.adds) <= MOST_FILES
    return Summary(tally, txns, domains, {add.path: add for add in step.adds} if is_all else None)


def parse_summary(data: bytes, protocol: Protocol, metadata: Metadata) -> Summary | None:
    """The summary of a checksum file, for one to follow from it; None where it is not whole, or is of another table."""
    try:
        body = orjson.loads(data)
        if not isinstance(body, dict) or (_protocol(body), _metadata(body)) != (protocol, metadata):
            return None
        tally = _tally(body, may_have_vectors=is_supported(protocol, "deletionVectors"))
        txns = _listed(body, "setTransactions", lambda node: parse_txn(node, ""))
        domains = _listed(body, "domainMetadata", lambda node: parse_domain_metadata(node, ""))
        adds = _listed(body, "allFiles", lambda node: parse_add(node, ""))
    except (orjson.JSONDecodeError, InvalidTable):
        return None
    if tally is None or not tally.is_consistent:
        return None
    by_path = _by((() if tally.files == 0 else None) if adds is None else adds, lambda add: add.path)
    if by_path is not None and (len(by_path), sum(add.size for add in by_path.values())) != (tally.files, tally.size):
        return None
    live = None if domains is None else [domain for domain in domains if not domain.removed]
    return Summary(tally, _by(txns, lambda txn: txn.app_id), _by(live, lambda domain: domain.domain), by_path)


def summary_json(
    summary: Summary, protocol: Protocol, metadata: Metadata, transaction: str | None, in_commit_timestamp: int | None
) -> dict[str, Json]:
    """The checksum file of a version."""
    tally = summary.tally
    body: dict[str, Json | None] = {
        "txnId": transaction, "tableSizeBytes": tally.size, "numFiles": tally.files, "numMetadata": 1, "numProtocol": 1,
        "inCommitTimestampOpt": in_commit_timestamp, "setTransactions": None, "domainMetadata": None,
        "metadata": _body(metadata), "protocol": _body(protocol), "fileSizeHistogram": None, "allFiles": None,
        "numDeletedRecordsOpt": tally.deleted, "numDeletionVectorsOpt": tally.vectors,
        "deletedRecordCountsHistogramOpt": None,
    }  # fmt: skip
    if summary.txns is not None:
        body["setTransactions"] = [_body(txn) for txn in summary.txns.values()]
    if summary.domains is not None:
        body["domainMetadata"] = [_body(domain) for domain in summary.domains.values()]
    if tally.file_counts is not None and tally.total_bytes is not None:
        body["fileSizeHistogram"] = {
            "sortedBinBoundaries": [*SIZE_BINS], "fileCounts": [*tally.file_counts], "totalBytes": [*tally.total_bytes],
        }  # fmt: skip
    if summary.adds is not None:
        body["allFiles"] = [_body(replace(add, data_change=False)) for add in summary.adds.values()]
    if tally.deletion_counts is not None:
        body["deletedRecordCountsHistogramOpt"] = {"deletedRecordCounts": [*tally.deletion_counts]}
    return {name: value for name, value in body.items() if value is not None}


def listed(items: Mapping[str, T], most: int) -> Mapping[str, T] | None:
    """The items, unless they are too many for a summary."""
    return items if len(items) <= most else None


def _is_removed(domain: DomainMetadata) -> bool:
    return domain.removed


def _merged(
    before: Mapping[str, T] | None, newer: Mapping[str, T], most: int, is_gone: Callable[[T], bool] = lambda item: False
) -> Mapping[str, T] | None:
    if before is None:
        return None
    return listed({name: item for name, item in {**before, **newer}.items() if not is_gone(item)}, most)


def _files_after(before: Mapping[str, Add], step: Step) -> dict[str, Add]:
    """Exact, whatever the commit names: a file may be removed that is not there, and one that is there added again."""
    gone = {remove.identity for remove in step.removes}
    kept = {path: add for path, add in before.items() if add.identity not in gone}
    return kept | {add.path: add for add in step.adds}


def _body(action: Protocol | Metadata | Txn | DomainMetadata | Add) -> Json:
    (body,) = action_json(action).values()
    return body


def _protocol(body: JsonObject) -> Protocol | None:
    return parse_protocol(node) if isinstance(node := body.get("protocol"), dict) else None


def _metadata(body: JsonObject) -> Metadata | None:
    return parse_metadata(node, "") if isinstance(node := body.get("metadata"), dict) else None


def _tally(body: JsonObject, may_have_vectors: bool) -> Tally | None:
    files, size = _number(body, "numFiles"), _number(body, "tableSizeBytes")
    if files is None or size is None:
        return None
    histogram = next((node for name in HISTOGRAMS if isinstance(node := body.get(name), dict)), {})
    is_usual = _counts(histogram.get("sortedBinBoundaries"), len(SIZE_BINS)) == SIZE_BINS
    counts, total = (
        _counts(histogram.get(name), len(SIZE_BINS)) if is_usual else None for name in ("fileCounts", "totalBytes")
    )
    if not may_have_vectors:
        return Tally(files, size, counts, total, 0, 0, (files, *[0] * (DELETION_BINS - 1)))
    deletions = body.get("deletedRecordCountsHistogramOpt")
    found = _counts(deletions.get("deletedRecordCounts"), DELETION_BINS) if isinstance(deletions, dict) else None
    vectors, deleted = _number(body, "numDeletionVectorsOpt"), _number(body, "numDeletedRecordsOpt")
    return Tally(files, size, counts, total, vectors, deleted, found)


def _number(body: JsonObject, name: str) -> int | None:
    value = body.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _counts(node: Json, length: int) -> Counts | None:
    numbers = tuple(n for n in node if isinstance(n, int)) if isinstance(node, list) else ()
    return numbers if len(numbers) == length else None


def _listed(body: JsonObject, name: str, parse: Callable[[JsonObject], T]) -> list[T] | None:
    nodes = body.get(name)
    if not isinstance(nodes, list):
        return None
    return [parse(node) for node in nodes if isinstance(node, dict)]


def _by(items: Iterable[T] | None, name: Callable[[T], str]) -> dict[str, T] | None:
    return None if items is None else {name(item): item for item in items}
