"""How many files, bytes and deleted rows does a table have?  (PROTOCOL.md, "Version Checksum File Schema")

Pure. A tally is made of many files at once, and that of a version follows from the one before it and from those of the files
that came and went.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import Rows, rows_of
from esker.delta.actions import Add, Remove

Counts: TypeAlias = tuple[int, ...]

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
SIZE_BINS: Counts = (
    0, *(_KIB << shift for shift in range(3, 10)), *(_MIB << shift for shift in range(3)), *range(8 * _MIB, 40 * _MIB, 4 * _MIB),
    *range(40 * _MIB, 120 * _MIB, 8 * _MIB), *range(120 * _MIB, 144 * _MIB, 4 * _MIB), *range(144 * _MIB, 576 * _MIB, 16 * _MIB),
    *range(576 * _MIB, 1408 * _MIB, 64 * _MIB), *range(1408 * _MIB, 2048 * _MIB, 128 * _MIB),
    *range(2 * _GIB, 4 * _GIB, 256 * _MIB), *(4 * _GIB << shift for shift in range(7)),
)  # fmt: skip
"""Where the bins of file sizes begin: the ones that all of Delta's writers share."""
_DELETION_STARTS: Counts = (0, *(10**digits for digits in range(8)), 2**31 - 1)
"""Where the bins of deleted records begin.  (Deleted Record Counts Histogram Schema)"""
DELETION_BINS = len(_DELETION_STARTS)


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over files; None where a sum is not known.

    `file_counts` and `total_bytes` are by size, `deletion_counts` are files by how many of their records are deleted.
    """

    files: int
    size: int
    file_counts: Counts | None
    total_bytes: Counts | None
    vectors: int | None
    deleted: int | None
    deletion_counts: Counts | None

    @property
    def is_consistent(self) -> bool:
        """Whether the sums can be those of one set of files."""
        known = [c for c in (self.file_counts, self.total_bytes, self.deletion_counts) if c is not None]
        least = min(self.files, self.size, self.vectors or 0, self.deleted or 0, *(n for counts in known for n in counts))
        wholes = ((self.file_counts, self.files), (self.total_bytes, self.size), (self.deletion_counts, self.files))
        return least >= 0 and all(counts is None or sum(counts) == whole for counts, whole in wholes)


def tally(files: pa.Table) -> Tally:
    """The tally of live files, given their columns."""
    sizes = rows_of(pc.fill_null(files.column("size"), 0))
    vectors = files.column("deletionVector")
    deleted = rows_of(pc.fill_null(pc.struct_field(vectors, "cardinality"), 0))
    return _tally(sizes, deleted, files.num_rows - vectors.null_count)


def tally_of(files: Iterable[Add | Remove]) -> Tally:
    """The tally of some files."""
    known = list(files)
    vectors = [0 if file.deletion_vector is None else file.deletion_vector.cardinality for file in known]
    count = sum(file.deletion_vector is not None for file in known)
    return _tally(np.array([file.size for file in known], np.int64), np.array(vectors, np.int64), count)


def changed(before: Tally, came: Tally, went: Tally) -> Tally:
    """The tally after files came and went; what was not known stays so."""

    def one(known: int | None, plus: int | None, minus: int | None) -> int | None:
        return None if known is None else known + (plus or 0) - (minus or 0)

    def many(known: Counts | None, plus: Counts | None, minus: Counts | None) -> Counts | None:
        return None if known is None else tuple(k + p - m for k, p, m in zip(known, plus or (), minus or (), strict=True))

    return Tally(
        before.files + came.files - went.files,
        before.size + came.size - went.size,
        many(before.file_counts, came.file_counts, went.file_counts),
        many(before.total_bytes, came.total_bytes, went.total_bytes),
        one(before.vectors, came.vectors, went.vectors),
        one(before.deleted, came.deleted, went.deleted),
        many(before.deletion_counts, came.deletion_counts, went.deletion_counts),
    )


def by_size(sizes: Rows, starts: Sequence[int]) -> tuple[Counts, Counts]:
    """How many files of these sizes are in each bin, and their bytes. `starts` are where the bins begin."""
    bins = _bins(sizes, starts)
    total = np.zeros(len(starts), np.int64)
    np.add.at(total, bins, sizes)
    return _counted(bins, len(starts)), tuple(total.tolist())


def _tally(sizes: Rows, deleted: Rows, vectors: int) -> Tally:
    file_counts, total_bytes = by_size(sizes, SIZE_BINS)
    deletions = _counted(_bins(deleted, _DELETION_STARTS), DELETION_BINS)
    return Tally(len(sizes), int(sizes.sum()), file_counts, total_bytes, vectors, int(deleted.sum()), deletions)


def _bins(values: Rows, starts: Sequence[int]) -> Rows:
    """The bin of each value; what is below zero, and should not be, counts with the least."""
    return np.maximum(np.searchsorted(np.array(starts, np.int64), values, side="right") - 1, 0)


def _counted(bins: Rows, length: int) -> Counts:
    return tuple(np.bincount(bins, minlength=length).tolist())
