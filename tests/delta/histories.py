"""Random histories in memory: what a commit may do, and the whole state that it leaves."""

from dataclasses import replace
from typing import Any

import orjson

from esker.delta.actions import Add, DomainMetadata, Txn
from esker.delta.live_adds import live_adds
from esker.delta.reconciliation import reconciled
from esker.delta.replay import vector_ids
from esker.delta.snapshot import Snapshot
from tests.delta.committed import a_file, a_vector, changed, gone, reopened

FEATURES = ["deletionVectors", "domainMetadata", "v2Checkpoint"]


def live_files(table: Snapshot) -> list[Add]:
    """Those of the newest version."""
    return [*live_adds(reopened(table))]


def state(table: Snapshot) -> dict[str, Any]:
    """All that a snapshot is made of, in a form that can be compared."""
    files = reconciled(table)
    adds = {add.path: replace(add, data_change=False, stats=None) for add in live_adds(table.pinned(files.live))}
    stats = {add.path: orjson.loads(add.stats or "null") for add in live_adds(table.pinned(files.live))}
    removed = zip(files.tombstones.to_pylist(), vector_ids(files.tombstones.column("deletionVector")).to_pylist(), strict=True)
    return {
        "adds": adds, "stats": stats, "removes": {(body["path"], vector): body for body, vector in removed},
        "txns": dict(table.txns), "domains": dict(table.domains), "protocol": table.protocol, "metadata": table.metadata,
    }  # fmt: skip


# Each step gets the snapshot, the live files and a number to choose by.


def append(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    files = tuple(a_file(f"{table.version}-{i}", size=[0, 1, 8192, 10**9, 10**12][(pick + i) % 5]) for i in range(pick % 4))
    return changed(table, adds=files)


def delete_files(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    return changed(table, "DELETE", removes=gone(live[: pick % 3]))


def delete_rows(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    old = live[pick % 3 :][:1]
    fresh = tuple(a_file(add.path, add.size, deletion_vector=a_vector(*range(table.version + 1))) for add in old)
    return changed(table, "DELETE", adds=fresh, removes=gone(old))


def overwrite(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    return changed(table, adds=(a_file(f"{table.version}-new", size=7),) * (pick % 2), removes=gone(live))


def add_again(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    """Says more of files that are there, as computing statistics does."""
    return changed(table, "COMPUTE STATS", adds=tuple(live[: pick % 3]))


def leave_tombstone(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    """Names a file that was never part of the table, as dropping deletion vectors does."""
    return changed(table, "ADD DELETION VECTOR TOMBSTONES", removes=gone([a_file(f"never-{pick}")]))


def progress(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    domain = DomainMetadata(f"d{pick % 3}", "{}", removed=pick % 2 == 0)
    return changed(table, txns=(Txn(f"app{pick % 3}", pick),), domains=(domain,))


def reopen(table: Snapshot, live: list[Add], pick: int) -> Snapshot:
    return reopened(table)


STEPS = [append, append, delete_files, delete_rows, overwrite, add_again, leave_tombstone, progress, reopen]
