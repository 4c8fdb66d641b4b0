"""Which files are in the table?  (PROTOCOL.md, "Action Reconciliation")

Columnar: every log file becomes an Arrow table of file actions, and reconciliation is a few operations on row numbers. The
rule, from the newest text of the protocol: of all `add` actions of a path the newest counts, and it is live unless a newer
commit removes that very pair of path and deletion vector.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import Rows, int64, mask_of, rows_of
from esker.delta.actions import Sidecar
from esker.delta.file_actions import FileActions, sources
from esker.delta.log import LogSegment
from esker.storage.port import Storage

_TOGETHER = 10_000
"""Statistics of as many files are parsed at once, if they come from several commits."""


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """The live files, one row each: the fields of `add` with `partitionValues` as a struct of texts.

    `parsed` has the statistics kept as structs: pieces that follow one another in the order of the rows, each a struct array
    or, where the files of a piece have their statistics as JSON, just a length.
    """

    table: pa.Table
    parsed: tuple[pa.Array | int, ...]

    def __len__(self) -> int:
        return int(self.table.num_rows)


def live_files(
    storage: Storage, segment: LogSegment, sidecars: Sequence[Sidecar], partitions: Sequence[str], with_stats: bool
) -> LiveFiles:
    """Replay the segment. `partitions` are the physical names of the partition columns."""
    return reconcile(sources(storage, segment, sidecars, partitions, with_stats))


def reconcile(actions: Iterable[FileActions]) -> LiveFiles:
    """The live files of log files that are given oldest first."""
    kept = list(actions)
    adds = pa.concat_tables([s.adds for s in kept])
    live = _live_rows(adds, pa.concat_tables([s.removes for s in kept]), *_ages(kept))
    table = adds if len(live) == adds.num_rows else adds.take(int64(live))
    return LiveFiles(table, tuple(_parsed(kept, live)))


def tombstones(actions: Sequence[FileActions]) -> pa.Table:
    """The newest `remove` of each logical file that no later `add` brought back. The log files are given oldest first."""
    removes = pa.concat_tables([s.removes for s in actions])
    if removes.num_rows == 0:
        return removes
    added, removed = _ages(actions)
    adds = pa.concat_tables([s.adds.select(["path", "deletionVector"]) for s in actions])
    keys = _codes([_keys(adds), _keys(removes)])
    of_add, of_remove = keys[: len(added)], keys[len(added) :]
    added_at = np.full(int(keys.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(added_at, of_add, added)
    newest = np.argsort(removed, kind="stable")
    last = np.full(len(added_at), -1, dtype=np.int64)
    last[of_remove[newest]] = newest  # the last assignment wins
    rows = np.sort(last[last >= 0])
    return removes.take(int64(rows[added_at[of_remove[rows]] < removed[rows]]))


def _live_rows(adds: pa.Table, removes: pa.Table, added: Rows, removed: Rows) -> Rows:
    """The rows of `adds` that are live, given the age of each action."""
    if adds.num_rows == 0:
        return np.empty(0, np.int64)
    newest = np.argsort(added, kind="stable")
    by_path = _codes([adds.column("path")])
    last = np.full(int(by_path.max()) + 1, -1, dtype=np.int64)
    last[by_path[newest]] = newest  # the last assignment wins
    rows: Rows = np.sort(last)
    if removes.num_rows == 0:
        return rows
    keys = _codes([_keys(adds), _keys(removes)])
    removed_at = np.full(int(keys.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(removed_at, keys[adds.num_rows :], removed)
    return rows[removed_at[keys[: adds.num_rows][rows]] <= added[rows]]


def _ages(sources: Sequence[FileActions]) -> tuple[Rows, Rows]:
    """How new each add and each remove is; a greater number is newer."""
    added: list[Rows] = []
    removed: list[Rows] = []
    now = 0
    for source in sources:
        zeros = (np.zeros(source.adds.num_rows, np.int64), np.zeros(source.removes.num_rows, np.int64))
        adds, removes = source.ages or zeros
        added.append(adds + now)
        removed.append(removes + now)
        now = max([now, *(int(ages.max()) for ages in (added[-1], removed[-1]) if len(ages))]) + 1
    return np.concatenate(added), np.concatenate(removed)


def _codes(texts: Sequence[pa.ChunkedArray]) -> Rows:
    """A number for each distinct text."""
    # Sorting moves row numbers; a dictionary would hold every text once more.
    whole = pa.chunked_array([c for t in texts for c in t.chunks], pa.string())
    return rows_of(pc.rank(whole, tiebreaker="dense")) - 1


def _keys(actions: pa.Table) -> pa.ChunkedArray:
    """What identifies a logical file: its path, and the unique id of its deletion vector if it has one."""
    paths, vectors = actions.column("path"), actions.column("deletionVector")
    if vectors.null_count == len(vectors):
        return paths
    # no path holds a line break, so no path is taken for another with a vector
    with_vector = pc.binary_join_element_wise(paths, vector_ids(vectors), "\n")
    return pc.coalesce(with_vector, paths)


def rows_without(files: LiveFiles, others: LiveFiles) -> Rows:
    """The rows of files that the others do not have, told apart by path and deletion vector."""
    there = pc.is_in(_keys(files.table), value_set=_keys(others.table).combine_chunks())
    return np.flatnonzero(~mask_of(there))


def vector_ids(vectors: pa.ChunkedArray) -> pa.ChunkedArray:
    """`<storageType><pathOrInlineDv>@<offset>`; null where there is no vector.  (Derived Fields)"""
    offset = pc.struct_field(vectors, "offset")
    suffix = pc.if_else(pc.is_null(offset), "", pc.binary_join_element_wise("@", pc.cast(offset, pa.string()), ""))
    return pc.binary_join_element_wise(
        pc.struct_field(vectors, "storageType"), pc.struct_field(vectors, "pathOrInlineDv"), suffix, ""
    )


def _parsed(sources: Sequence[FileActions], live: Rows) -> Iterator[pa.Array | int]:
    """The live rows' struct statistics, source by source; those in JSON are parsed together where there are few."""
    start = texts = 0
    for source in sources:
        end = start + source.adds.num_rows
        rows = live[(live >= start) & (live < end)] - start
        start = end
        if texts and len(rows) and (source.parsed is not None or texts + len(rows) > _TOGETHER):
            yield texts
            texts = 0
        if source.parsed is None:
            texts += len(rows)
        elif len(rows):
            yield source.parsed.take(int64(rows))
    if texts:
        yield texts
