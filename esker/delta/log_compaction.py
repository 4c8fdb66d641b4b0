"""How do many commits become one file?  (PROTOCOL.md, "Log Compaction Files", "Action Reconciliation")

Pure but for reading and writing. What is left of the actions of a range of commits when they are reconciled with one another,
and with nothing before them: tombstones stay, for they cancel what came earlier.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeAlias

import orjson

from esker.core.features import Operation
from esker.core.types import Json
from esker.delta import json_log
from esker.delta.actions import JsonObject
from esker.delta.deletion_vectors import parse_descriptor
from esker.delta.log import LOG_FOLDER, Compaction
from esker.delta.snapshot import Snapshot, at_version, list_log
from esker.delta.transaction import Identity
from esker.errors import AlreadyExists, InvalidRequest, InvalidTable

Body: TypeAlias = dict[str, Json]


def write_compaction(snapshot: Snapshot, first: int, last: int) -> Compaction:
    """Write the actions of the commits from `first` to `last` down once more, as one file; one that is there is left.

    Raises `InvalidRequest` where the range is not one of commits that the log has.
    """
    storage, listing = snapshot.place.storage, list_log(snapshot.place.storage)
    # "`y` must be strictly greater than `x`"
    if not 0 <= first < last <= snapshot.version:
        raise InvalidRequest(
            f"the commits from {first} to {last} cannot be compacted",
            where=snapshot.location,
            hint=f"Name two versions, the earlier one first, up to {snapshot.version}.",
        )
    if missing := [version for version in range(first, last + 1) if version not in listing.commits]:
        raise InvalidRequest(f"the log no longer has the commit of version {missing[0]}", where=snapshot.location)
    snapshot.gate(Operation.WRITE)
    at_version(snapshot.place, listing, last, snapshot.hint).gate(Operation.WRITE)
    files = [listing.commits[version].file for version in range(first, last + 1)]
    with ThreadPoolExecutor(8) as pool:
        read = pool.map(lambda file: json_log.actions(storage.read(file.path), f"{storage.url}/{file.path}"), files)
        actions = compacted(read, snapshot.location)
    path = f"{LOG_FOLDER}/{first:020}.{last:020}.compacted.json"
    with suppress(AlreadyExists):  # it holds the same
        storage.put_if_absent(path, b"".join(orjson.dumps(action) + b"\n" for action in actions))
    return Compaction(first, last, storage.head(path))


def compacted(commits: Iterable[Iterable[JsonObject]], where: str) -> list[dict[str, Body]]:
    """The actions of commits that are given oldest first, reconciled.

    "This contains the aggregated actions for commit range `[x, y]`": provenance and changed rows are of one commit each and
    take no part in reconciliation.
    """
    table: dict[tuple[str, str], Body] = {}
    adds: dict[str, tuple[Identity, Body]] = {}
    removes: dict[Identity, Body] = {}
    for commit in commits:
        bodies = [(kind, body) for action in commit for kind, body in action.items() if isinstance(body, dict)]
        table |= {(kind, str(body.get(_KEYS[kind]))): body for kind, body in bodies if kind in _KEYS}
        for identity, body in _files(bodies, "remove", where):
            removes[identity] = body
            if identity[0] in adds and adds[identity[0]][0] == identity:
                del adds[identity[0]]
        for identity, body in _files(bodies, "add", where):
            adds[identity[0]] = identity, body
            removes.pop(identity, None)
    return [
        *({kind: body} for (kind, _), body in table.items()),
        *({"remove": body} for body in removes.values()),
        *({"add": body} for _, body in adds.values()),
    ]


_KEYS = {"protocol": "", "metaData": "", "txn": "appId", "domainMetadata": "domain"}
"""Of the actions about the table the latest counts: one for each value of this member, or one of all."""


def _files(bodies: Iterable[tuple[str, Body]], wanted: str, where: str) -> Iterator[tuple[Identity, Body]]:
    for kind, body in bodies:
        if kind == wanted:
            path, vector = body.get("path"), body.get("deletionVector")
            if not isinstance(path, str):
                raise InvalidTable(f"an action {kind} has no path", where=where)
            yield (path, parse_descriptor(vector, where).unique_id if isinstance(vector, dict) else None), body
