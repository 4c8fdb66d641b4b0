"""What does a Delta table tell at a glance?  (PROTOCOL.md, "Version Checksum File", "Action Reconciliation")

Protocol and metadata are found without the list of files. How many files and bytes there are, and which features are in use, is
told by the version's checksum file, or by a log that is short enough to be read on the way; else it stays unknown, or the
list is made after all, on demand.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from esker.core.features import Operation
from esker.core.glance import Glance
from esker.delta import json_log
from esker.delta.actions import Add, JsonObject, parse_add, parse_domain_metadata
from esker.delta.deletion_vectors import parse_descriptor
from esker.delta.demands import contract
from esker.delta.facts import facts as known_facts
from esker.delta.features import Facts
from esker.delta.log import Commit
from esker.delta.protocol import presences
from esker.delta.snapshot import Place, Snapshot, load
from esker.delta.summary import Summary
from esker.delta.table import DeltaTable
from esker.errors import EskerError, InvalidTable

SHORT_LOG = 1 << 18
"""Bytes of commits that are read for the sake of a count."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of the live files."""

    files: int
    size: int
    facts: Facts


def glance(place: Place, with_files: bool = False) -> Glance:
    """The newest version at a glance. `with_files` lists the files where nothing cheaper tells of them."""
    table = DeltaTable(load(place))
    snapshot, about = table.snapshot, table.describe()
    facts = Facts(configuration=snapshot.metadata.configuration, schema=snapshot.schema)
    refused = {operation: why for operation in Operation if (why := _refusal(snapshot, operation)) is not None}
    files, size = None, None
    try:
        # what a feature that Esker cannot read does to files is not known
        if Operation.READ not in refused and (state := _state(table, facts, with_files)) is not None:
            facts, files, size = state.facts, state.files, state.size
    except EskerError as error:  # the table is described all the same
        about = replace(about, findings=(*about.findings, f"its live files cannot be told: {error.what}"))
    found = presences(snapshot.protocol, facts)
    return Glance(about, found, contract(snapshot.protocol, found, snapshot.schema), refused, files, size)


def _refusal(snapshot: Snapshot, operation: Operation) -> str | None:
    try:
        snapshot.gate(operation)
    except EskerError as error:
        return "; ".join((error.what, *error.problems))
    return None


def _state(table: DeltaTable, bare: Facts, with_files: bool) -> _State | None:
    snapshot = table.snapshot
    if snapshot.checksum_file is not None and snapshot.summary is not None:
        return _of_summary(snapshot.summary, bare)
    commits = [entry for entry in snapshot.log.entries if isinstance(entry, Commit)]
    is_short = snapshot.log.checkpoint is None and len(commits) == len(snapshot.log.entries)
    if is_short and sum(commit.file.size for commit in commits) <= SHORT_LOG:
        return _of_commits(snapshot, commits, bare)
    if not with_files:
        return None
    files = snapshot.bare_files.table
    return _State(files.num_rows, pc.sum(files.column("size")).as_py() or 0, known_facts(snapshot))


def _of_summary(summary: Summary, bare: Facts) -> _State:
    tally = summary.tally
    facts = replace(
        bare,
        domains=None if summary.domains is None else frozenset(summary.domains),
        has_deletion_vectors=None if tally.vectors is None else tally.vectors > 0,
        has_row_ids=None if summary.adds is None else any(add.base_row_id is not None for add in summary.adds.values()),
    )
    return _State(tally.files, tally.size, facts)


def _of_commits(snapshot: Snapshot, commits: Iterable[Commit], bare: Facts) -> _State:
    """Replay by hand: a few lines cost less than an Arrow table of them."""
    live: dict[str, Add] = {}
    domains: set[str] = set()
    for commit in commits:
        where = f"{snapshot.location}/{commit.file.path}"
        found = json_log.actions(snapshot.place.storage.read(commit.file.path), where)
        for path, vector in (_identity(body, where) for body in _of("remove", found)):
            if path in live and live[path].identity == (path, vector):
                del live[path]
        live |= {add.path: add for add in (parse_add(body, where) for body in _of("add", found))}
        for domain in (parse_domain_metadata(body, where) for body in _of("domainMetadata", found)):
            domains = domains - {domain.domain} if domain.removed else domains | {domain.domain}
    facts = replace(
        bare,
        domains=frozenset(domains),
        has_deletion_vectors=any(add.deletion_vector is not None for add in live.values()),
        has_row_ids=any(add.base_row_id is not None for add in live.values()),
        checkpoint_is_v2=False,
    )
    return _State(len(live), sum(add.size for add in live.values()), facts)


def _of(kind: str, actions: Iterable[JsonObject]) -> Iterator[JsonObject]:
    return (body for action in actions if isinstance(body := action.get(kind), dict))


def _identity(body: JsonObject, where: str) -> tuple[str, str | None]:
    """What a `remove` removes: a path with the unique id of its deletion vector."""
    path, vector = body.get("path"), body.get("deletionVector")
    if not isinstance(path, str):
        raise InvalidTable("a remove action lacks its path", where=where)
    return path, parse_descriptor(vector, where).unique_id if isinstance(vector, dict) else None
