"""Which files are rewritten together, and how many come in their place?

Pure, and on columns: a table may have a million small files. Within a partition files are packed from the smallest up, each
into the bin that is being filled, so that few files are moved to make room for small ones.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from esker.core.columns import Mask, Rows

TARGET_SIZE = 1 << 30
"""How large files should be where nobody says otherwise, in bytes."""
MOST_DEAD = 0.05
"""The share of dead rows above which a file is rewritten whatever its size."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of each live file."""

    size: Rows
    """The bytes that its live rows take, about."""
    partition: Rows
    """The number of its partition."""
    rows: Rows
    """How many of its rows are alive, -1 where the statistics do not say."""
    dead: npt.NDArray[np.float64]
    """The share of its rows that is dead, 0 where the statistics do not say."""
    has_vector: Mask


@dataclass(frozen=True, slots=True)
class Choice:
    """Files to rewrite, by their numbers. `part` and `piece` are of each of them, `pieces` of each part.

    A part is what is rewritten of a partition, and a piece is what becomes one file. Where rows, not files, are to be told
    apart, all files are in piece 0.
    """

    files: Rows
    part: Rows
    piece: Rows
    pieces: Rows

    def __len__(self) -> int:
        return len(self.files)


def small(facts: FileFacts, target: int) -> Mask:
    """The files that gain by being packed: those below the target, and those with many dead rows."""
    return (facts.size < target) | is_worn(facts)


def is_worn(facts: FileFacts) -> Mask:
    """Whether a file has so many dead rows that it is rewritten for their sake."""
    return facts.has_vector & (facts.dead > MOST_DEAD)


def packed(facts: FileFacts, candidates: Mask, target: int, is_forced: bool = False) -> Choice:
    """The candidates in bins that reach the target.

    One that would stay by itself stays as it is, unless it has dead rows or the packing `is_forced`.
    """
    files = _by_partition(facts, candidates)
    bin = _bins(facts.size[files], facts.partition[files], target)
    count = np.bincount(bin)
    has_vector = np.bincount(bin, facts.has_vector[files]) > 0
    kept = ((count > 1) | has_vector | is_forced)[bin]
    files, bin = files[kept], bin[kept]
    part = _renumbered(facts.partition[files])
    bins, first = np.unique(bin, return_index=True)
    pieces = np.bincount(part[first], minlength=0).astype(np.int64)
    # Bins were numbered partition by partition, so the pieces of a part follow one another.
    before = np.concatenate([[0], np.cumsum(pieces)])
    piece = np.searchsorted(bins, bin) - before[part]
    return Choice(files, part, piece, pieces)


def gathered(facts: FileFacts, candidates: Mask, target: int) -> Choice:
    """All candidates of a partition together, cut into as many pieces as the target asks for."""
    files = _by_partition(facts, candidates)
    part = _renumbered(facts.partition[files])
    size = np.bincount(part, facts.size[files])
    pieces = np.maximum(1, np.ceil(size / target)).astype(np.int64)
    return Choice(files, part, np.zeros_like(part), pieces)


def _by_partition(facts: FileFacts, candidates: Mask) -> Rows:
    """The candidates, partition by partition, the smallest first."""
    files = np.flatnonzero(candidates)
    order = np.lexsort((facts.size[files], facts.partition[files]))
    return files[order].astype(np.int64)


def _bins(sizes: Rows, partitions: Rows, target: int) -> Rows:
    """The number of each file's bin. Files come partition by partition."""
    found: list[int] = []
    bin, filled, before = -1, 0, -1
    for size, partition in zip(sizes.tolist(), partitions.tolist(), strict=True):
        if partition != before or filled + size > target:
            bin, filled, before = bin + 1, 0, partition
        filled += size
        found.append(bin)
    return np.array(found, np.int64)


def _renumbered(numbers: Rows) -> Rows:
    """The same numbers without gaps."""
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
