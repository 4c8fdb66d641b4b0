"""What is the hash of many values?  (Iceberg specification, Appendix B: 32-bit Murmur3, x86 variant, seeded with 0)

All values at once: the rounds of the hash are operations on whole NumPy arrays, one round for each four bytes of the
longest value.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint32]
Numbers: TypeAlias = npt.NDArray[np.int64]

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_BATCH = 1 << 14  # values whose words fit a processor's cache


def hash_longs(values: Numbers) -> npt.NDArray[np.int32]:
    """The hash of each number's eight little-endian bytes."""
    words = np.ascontiguousarray(values, dtype="<i8").view("<u4").reshape(-1, 2)
    mixed = np.zeros(len(values), np.uint32)
    for word in (words[:, 0], words[:, 1]):
        mixed = _mixed(mixed, word)
    return _finished(mixed, np.uint32(8)).view(np.int32)


def hash_bytes(data: npt.NDArray[np.uint8], starts: Numbers, lengths: Numbers) -> npt.NDArray[np.int32]:
    """The hash of each stretch of the data."""
    padded = np.concatenate([data, np.zeros(4, np.uint8)])
    hashes = np.empty(len(starts), np.int32)
    for first in range(0, len(starts), _BATCH):
        part = slice(first, first + _BATCH)
        hashes[part] = _hash_bytes(padded, starts[part], lengths[part])
    return hashes


def _hash_bytes(padded: npt.NDArray[np.uint8], starts: Numbers, lengths: Numbers) -> npt.NDArray[np.int32]:
    mixed = np.zeros(len(starts), np.uint32)
    whole = lengths >> 2
    for word in range(int(whole.max(initial=0))):
        rows = np.flatnonzero(whole > word)
        mixed[rows] = _mixed(mixed[rows], _word(padded, starts[rows] + 4 * word))
    rest = lengths & 3
    rows = np.flatnonzero(rest)
    bits = (rest[rows] * 8).astype(np.uint32)
    tail = _word(padded, starts[rows] + 4 * whole[rows]) & ((np.uint32(1) << bits) - np.uint32(1))
    mixed[rows] ^= _scrambled(tail)
    return _finished(mixed, lengths.astype(np.uint32)).view(np.int32)


def _word(padded: npt.NDArray[np.uint8], at: Numbers) -> Words:
    """Four bytes from each place, as a little-endian number."""
    word = padded[at].astype(np.uint32)
    for byte in (1, 2, 3):
        word |= padded[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return word


def _mixed(mixed: Words, word: Words) -> Words:
    return _rotated(mixed ^ _scrambled(word), 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _scrambled(word: Words) -> Words:
    return _rotated(word * _C1, 15) * _C2


def _rotated(word: Words, by: int) -> Words:
    return (word << np.uint32(by)) | (word >> np.uint32(32 - by))


def _finished(mixed: Words, length: Words | np.uint32) -> Words:
    mixed = mixed ^ length
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return mixed ^ (mixed >> np.uint32(16))
