"""What is left when all file actions of a log are reconciled?  (PROTOCOL.md, "Action Reconciliation")

Replay as a checkpoint needs it: the live files with their tags, and the tombstones, which a scan has no use for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from esker.delta.column_mapping import physical_name
from esker.delta.file_actions import whole_sources
from esker.delta.replay import LiveFiles, reconcile, tombstones
from esker.delta.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The live files, with a column `tags`, and the files that were removed, whether or not that is long ago."""

    live: LiveFiles
    tombstones: pa.Table


def reconciled(snapshot: Snapshot) -> Reconciled:
    """The file actions that make up the snapshot."""
    partitions = [physical_name(f, snapshot.mapping) for f in snapshot.partition_fields]
    actions = list(whole_sources(snapshot.place.storage, snapshot.log, snapshot.sidecars, partitions))
    return Reconciled(reconcile(actions), tombstones(actions))


def in_batches(files: LiveFiles, rows: int) -> Iterator[LiveFiles]:
    """The files in order, at most so many together."""
    for start in range(0, len(files), rows):
        yield _cut_out(files, start, min(start + rows, len(files)))


def _cut_out(files: LiveFiles, start: int, end: int) -> LiveFiles:
    pieces: list[pa.Array | int] = []
    at = 0
    for piece in files.parsed:
        length = piece if isinstance(piece, int) else len(piece)
        first, last = max(start, at), min(end, at + length)
        if first < last:
            pieces.append(last - first if isinstance(piece, int) else piece.slice(first - at, last - first))
        at += length
    return LiveFiles(files.table.slice(start, end - start), tuple(pieces))
