"""Does the state match what its writer said of it?  (PROTOCOL.md, "Version Checksum File", "State Validation")

What the state gives is made as a writer would make it, and compared field by field with what is recorded; a field that is not
there promises nothing.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import orjson
import pyarrow.compute as pc

from esker.core.columns import Rows, rows_of
from esker.core.types import Json
from esker.delta.actions import Add, JsonObject, parse_add, parse_metadata
from esker.delta.history import commit_info
from esker.delta.live_adds import live_adds
from esker.delta.protocol import parse_protocol
from esker.delta.reconciliation import reconciled
from esker.delta.snapshot import Snapshot
from esker.delta.summary import HISTOGRAMS
from esker.delta.tally import Tally, by_size, tally
from esker.errors import EskerError


def differences(snapshot: Snapshot) -> tuple[str, ...]:
    """Each field of the version's checksum file that the replayed state contradicts; none where there is no file."""
    file = snapshot.checksum_file
    if file is None:
        return ()  # "Readers MUST continue functioning if Version Checksum files are missing"
    try:
        recorded = orjson.loads(snapshot.place.storage.read(file.path))
    except (orjson.JSONDecodeError, EskerError) as error:
        return (f"{file.path} cannot be read: {error}",)
    if not isinstance(recorded, dict):
        return (f"{file.path} is not a JSON object",)
    return tuple(f"{file.path}: {found}" for found in _differences(snapshot, recorded))


def _differences(snapshot: Snapshot, recorded: JsonObject) -> Iterator[str]:
    table = snapshot.bare_files.table
    found = tally(table)
    computed = {
        "tableSizeBytes": found.size, "numFiles": found.files, "numMetadata": 1, "numProtocol": 1,
        "numDeletionVectorsOpt": found.vectors, "numDeletedRecordsOpt": found.deleted,
    }  # fmt: skip
    for name, ours in computed.items():
        if (value := recorded.get(name)) is not None and value != ours:
            yield f"{name} is {value!r:.40}, the log gives {ours}"
    yield from _histogram_differences(found, recorded, rows_of(pc.fill_null(table.column("size"), 0)))
    yield from _commit_differences(snapshot, recorded)
    yield from _metadata_difference(snapshot, recorded)
    yield from _named(recorded, "setTransactions", "appId", {t.app_id: t.version for t in snapshot.txns.values()}, "version")
    yield from _time_differences(snapshot, recorded)
    domains = {d.domain: d.configuration for d in snapshot.domains.values()}
    yield from _named(recorded, "domainMetadata", "domain", domains, "configuration")
    yield from _file_differences(snapshot, recorded)


def _histogram_differences(found: Tally, recorded: JsonObject, sizes: Rows) -> Iterator[str]:
    for name in HISTOGRAMS:
        match recorded.get(name):
            case None:
                pass
            case {"sortedBinBoundaries": list(nodes), "fileCounts": counts, "totalBytes": total} if starts := _starts(nodes):
                if [counts, total] != [[*row] for row in by_size(sizes, starts)]:
                    yield f"{name} differs from the sizes of the files in the log"
            case _:
                yield f"{name} is malformed"
    match recorded.get("deletedRecordCountsHistogramOpt"):
        case None:
            pass
        case {"deletedRecordCounts": counts} if counts == [*(found.deletion_counts or ())]:
            pass
        case _:
            yield "deletedRecordCountsHistogramOpt differs from the deletion vectors in the log"


def _starts(nodes: list[Json]) -> list[int] | None:
    """Where bins begin; None where the numbers are none that bins can have. "The first element must be 0." """
    starts = [n for n in nodes if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**63]
    is_sound = len(starts) == len(nodes) and starts[:1] == [0] and all(a < b for a, b in pairwise(starts))
    return starts if is_sound else None


def _commit_differences(snapshot: Snapshot, recorded: JsonObject) -> Iterator[str]:
    """What the file says of the commit that made the version, as long as the log has it."""
    commit = snapshot.log.commit
    if commit is None:
        return
    info = commit_info(snapshot.place.storage, commit)
    for name, said in (("txnId", "txnId"), ("inCommitTimestampOpt", "inCommitTimestamp")):
        if (value := recorded.get(name)) is not None and said in info and info[said] != value:
            yield f"{name} is {value!r:.60}, the commit says {info[said]!r:.60}"


def _metadata_difference(snapshot: Snapshot, recorded: JsonObject) -> Iterator[str]:
    try:
        if isinstance(body := recorded.get("protocol"), dict):
            protocol = parse_protocol(body)
            if protocol != snapshot.protocol:
                yield f"protocol is {protocol}, the log gives {snapshot.protocol}"
        if isinstance(body := recorded.get("metadata"), dict):
            metadata = parse_metadata(body, snapshot.location)
            if dict(metadata.configuration) != dict(snapshot.metadata.configuration):
                yield "metadata has other properties than the log"
            elif metadata != snapshot.metadata:
                yield "metadata differs from the log"
    except EskerError as error:
        yield str(error)


def _time_differences(snapshot: Snapshot, recorded: JsonObject) -> Iterator[str]:
    """When applications wrote last; either side may leave it out."""
    listed = recorded.get("setTransactions")
    for txn in listed if isinstance(listed, list) else ():
        if isinstance(txn, dict) and (known := snapshot.txns.get(str(txn.get("appId")))) is not None:
            told, ours = txn.get("lastUpdated"), known.last_updated
            if told is not None and ours is not None and told != ours:
                yield f"lastUpdated of {known.app_id} is {told!r:.40}, the log gives {ours}"


def _named(recorded: JsonObject, field: str, key: str, ours: Mapping[str, object], value: str) -> Iterator[str]:
    listed = recorded.get(field)
    if not isinstance(listed, list):
        return
    told = [e for e in listed if isinstance(e, dict) and not e.get("removed", False)]
    theirs = {str(e.get(key)): e.get(value) for e in told}
    if len(told) > len(theirs):
        yield f"{field} has {len(told)} entries for {len(theirs)} names"
    if theirs != ours:
        different = sorted(k for k in {*theirs, *ours} if theirs.get(k) != ours.get(k))
        yield f"{field} differs from the log for {', '.join(different)}"


def _file_differences(snapshot: Snapshot, recorded: JsonObject) -> Iterator[str]:
    listed = recorded.get("allFiles")
    if not isinstance(listed, list):
        return
    try:
        theirs = [parse_add(body, snapshot.location) for body in listed if isinstance(body, dict)]
    except EskerError as error:
        yield f"allFiles: {error}"
        return
    live = reconciled(snapshot).live
    # a checkpoint that does not keep the statistics as JSON has no text to compare with
    texts = live.table.filter(pc.is_valid(live.table.column("stats"))).column("path")
    exact = frozenset(texts.to_pylist())
    ours = {add.path: _said(add, add.path in exact) for add in live_adds(snapshot.pinned(live))}
    if len(theirs) != len(ours) or {add.path for add in theirs} != set(ours):
        yield f"allFiles lists {len(theirs)} files that are not the {len(ours)} of the log"
    elif different := sorted(a.path for a in theirs if _said(a, a.path in exact) != ours[a.path]):
        yield f"allFiles differs from the log for {', '.join(different[:3])}"


def _said(add: Add, with_stats: bool) -> tuple[Add, Json]:
    """What an `add` says, however it spells the statistics and that it has no tags."""
    stats: Json = add.stats if with_stats else None
    with suppress(orjson.JSONDecodeError):
        stats = orjson.loads(stats) if isinstance(stats, str) else None
    return replace(add, data_change=False, stats=None, tags=add.tags or None), stats
