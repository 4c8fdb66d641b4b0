"""Which files are rewritten together?"""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core.packing import Choice, FileFacts, gathered, is_worn, packed, small

TARGET = 100


def facts(sizes: list[int], partitions: list[int] | None = None, dead: dict[int, float] | None = None) -> FileFacts:
    count = len(sizes)
    shares = np.array([(dead or {}).get(i, 0.0) for i in range(count)])
    has_vector = np.array([i in (dead or {}) for i in range(count)], dtype=bool)
    numbers = np.array(partitions or [0] * count, np.int64)
    return FileFacts(np.array(sizes, np.int64), numbers, np.full(count, 1000), shares, has_vector)


def pack(known: FileFacts) -> Choice:
    return packed(known, small(known, TARGET), TARGET)


def bins(choice: Choice) -> list[set[int]]:
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for file, part, piece in zip(choice.files.tolist(), choice.part.tolist(), choice.piece.tolist(), strict=True):
        found[part, piece].add(file)
    return [found[key] for key in sorted(found)]


@pytest.mark.parametrize(
    "sizes, partitions, dead, expected",
    [
        ([], None, None, []),
        ([10], None, None, []),
        ([10, 20], None, None, [{0, 1}]),
        ([100, 200, 99], None, None, []),
        ([60, 10, 60, 10], None, None, [{0, 1, 3}]),
        ([50, 50, 50, 50], None, None, [{0, 1}, {2, 3}]),
        ([10, 10, 10, 10], [0, 1, 0, 1], None, [{0, 2}, {1, 3}]),
        ([10, 10, 10], [0, 1, 2], None, []),
        ([10, 10, 90, 90, 5, 5], [3, 3, 3, 7, 9, 9], None, [{0, 1}, {4, 5}]),
        ([10], None, {0: 0.01}, [{0}]),
        ([500], None, {0: 0.05}, []),
        ([500], None, {0: 0.06}, [{0}]),
        ([500, 10, 10], None, {0: 0.5}, [{1, 2}, {0}]),
    ],
)
def test_files_are_packed_from_the_smallest_up_and_lone_ones_stay(sizes, partitions, dead, expected):
    assert bins(pack(facts(sizes, partitions, dead))) == expected


FILES = st.lists(st.tuples(st.integers(0, 150), st.integers(0, 3), st.sampled_from([None, 0.0, 0.04, 0.06, 1.0])), max_size=40)


@given(FILES)
def test_a_bin_holds_files_of_one_partition_and_no_more_than_the_target(files):
    known = facts([f[0] for f in files], [f[1] for f in files], {i: f[2] for i, f in enumerate(files) if f[2] is not None})
    choice = pack(known)
    found = bins(choice)
    chosen = [file for bin in found for file in bin]
    assert sorted(chosen) == sorted(set(chosen)) == sorted(choice.files.tolist())
    assert choice.pieces.sum() == len(found)
    for bin in found:
        assert len({files[i][1] for i in bin}) == 1
        assert len(bin) > 1 or any(known.has_vector[i] for i in bin)
        assert len(bin) == 1 or sum(files[i][0] for i in bin) <= TARGET
    assert set(np.flatnonzero(is_worn(known)).tolist()) <= set(chosen)


@given(FILES)
def test_a_part_is_cut_into_as_many_pieces_as_its_size_asks_for(files):
    known = facts([f[0] for f in files], [f[1] for f in files])
    choice = gathered(known, np.ones(len(files), dtype=bool), TARGET)
    assert sorted(choice.files.tolist()) == list(range(len(files)))
    for number, pieces in enumerate(choice.pieces.tolist()):
        members = choice.files[choice.part == number]
        assert len({files[i][1] for i in members.tolist()}) == 1
        assert pieces == max(1, -(-int(known.size[members].sum()) // TARGET))
