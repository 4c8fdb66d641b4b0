"""How are numbers and lengths read from many places at once?  (Apache Avro specification, "Binary Encoding")"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from esker.errors import InvalidTable

Numbers: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]


class Source:
    """The bytes of all blocks; labels of members that nobody wants; the keys that are wanted of maps by numbers, None for all."""

    def __init__(self, data: bytes, without: frozenset[str], keys: Numbers | None = None) -> None:
        self.bytes = data
        self.data: Bytes = np.frombuffer(data, np.uint8)
        self.without = without
        self.keys = keys
        self._ends: tuple[Numbers, npt.NDArray[np.int32]] | None = None

    def longs(self, at: Numbers) -> tuple[Numbers, Numbers]:
        """The number at each place, and the place behind it."""
        byte = self.data[at]
        values = (byte & 0x7F).astype(np.uint64)
        after = at + 1
        more = np.flatnonzero(byte & 0x80)
        shift = 7
        while len(more):
            if shift > 63:
                raise InvalidTable("a number has more than ten bytes")
            byte = self.data[after[more]]
            values[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            after[more] += 1
            more = more[(byte & 0x80) != 0]
            shift += 7
        return _unzigzagged(values), after

    def past_long(self, at: Numbers) -> Numbers:
        """The places behind the numbers at these places."""
        after = at + 1
        more = np.flatnonzero(self.data[at] & 0x80)
        for _ in range(9):
            if not len(more):
                return after
            is_last = self.data[after[more]] < 0x80
            after[more] += 1
            more = more[~is_last]
        if len(more):
            raise InvalidTable("a number has more than ten bytes")
        return after

    def runs(self, at: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
        """As many numbers as `counts` says, one after another, from each place on; and the places behind them."""
        before, after = self._run(at, counts)
        ends = self._numbers()[0][stretches(before, counts)]
        starts = np.empty(len(ends), np.int64)
        starts[1:] = ends[:-1] + 1
        filled = counts > 0
        starts[(np.cumsum(counts) - counts)[filled]] = at[filled]
        return self._decoded(starts, ends - starts), after

    def past(self, at: Numbers, counts: Numbers) -> Numbers:
        """The places behind as many numbers as `counts` says."""
        return self._run(at, counts)[1]

    def _numbers(self) -> tuple[Numbers, npt.NDArray[np.int32]]:
        """Where numbers may end, and the number of each such place among them."""
        if self._ends is None:
            ends = np.flatnonzero(self.data < 0x80)
            numbers = np.empty(len(self.data), np.int32)
            numbers[ends] = np.arange(len(ends), dtype=np.int32)
            self._ends = ends, numbers
        return self._ends

    def _run(self, at: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
        ends, numbers = self._numbers()
        _, behind_first = self.longs(at)
        before = numbers[behind_first - 1].astype(np.int64)
        return before, np.where(counts > 0, ends[before + np.maximum(counts, 1) - 1] + 1, at)

    def _decoded(self, starts: Numbers, extra: Numbers) -> Numbers:
        if int(extra.max(initial=0)) > 9:
            raise InvalidTable("a number has more than ten bytes")
        values = (self.data[starts] & 0x7F).astype(np.uint64)
        for byte in range(1, int(extra.max(initial=0)) + 1):
            rows = np.flatnonzero(extra >= byte)
            values[rows] |= (self.data[starts[rows] + byte] & 0x7F).astype(np.uint64) << np.uint64(7 * byte)
        return _unzigzagged(values)

    def lengths(self, at: Numbers) -> tuple[Numbers, Numbers]:
        """The length at each place, and the place where that many bytes start."""
        lengths, start = self.longs(at)
        if len(lengths) and (int(lengths.min()) < 0 or int((start + lengths).max()) > len(self.data)):
            raise InvalidTable("a length reaches beyond the end")
        return lengths, start


def _unzigzagged(values: npt.NDArray[np.uint64]) -> Numbers:
    return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)


def stretches(starts: Numbers, counts: Numbers) -> Numbers:
    """The numbers from each start on, as many as `counts` says, in a row."""
    ends = np.cumsum(counts)
    found: Numbers = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)
    return found
