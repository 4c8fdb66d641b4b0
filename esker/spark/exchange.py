"""How does a row get to the task that is meant for it?

Spark sends rows by the hash of a key. Which key leads to which task is found beforehand, so that each task gets just its own.
"""

import numpy as np
import numpy.typing as npt

from esker.core.columns import Rows

_Words = npt.NDArray[np.uint32]


def keys(tasks: int) -> Rows:
    """For each task a number that `repartition(tasks, number)` sends there."""
    found = np.full(tasks, -1, np.int64)
    start, size = 0, 16 * tasks
    while (found < 0).any():
        numbers = np.arange(start, start + size, dtype=np.int64)
        found[hashed(numbers) % tasks] = numbers
        start += size
    return found


def hashed(numbers: Rows) -> Rows:
    """The hash by which Spark sends rows: Murmur3 of a long, by its lower and its higher word."""
    words = numbers.view(np.uint64)
    hash = np.full(len(words), 42, np.uint32)
    for shift in (0, 32):
        hash = _mixed(hash, (words >> np.uint64(shift)).astype(np.uint32))
    hash ^= np.uint32(8)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hash = (hash ^ hash >> np.uint32(shift)) * np.uint32(factor)
    return (hash ^ hash >> np.uint32(16)).view(np.int32).astype(np.int64)


def _mixed(hash: _Words, word: _Words) -> _Words:
    word = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotated(hash ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _rotated(words: _Words, left: int) -> _Words:
    return words << np.uint32(left) | words >> np.uint32(32 - left)
