"""Bitmaps survive their bytes, and bytes that are no bitmap are refused."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from esker.core.bitmap import MAGIC, Bitmap
from esker.errors import InvalidTable

POSITIONS = st.one_of(
    st.sets(st.integers(0, 2**63 - 1), max_size=20),
    st.sets(st.integers(0, 200_000), max_size=200),
    st.builds(lambda start, count: set(range(start, start + count)), st.integers(0, 2**33), st.integers(0, 70_000)),
)


@given(POSITIONS, st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_bitmap_survives_its_bytes(positions: set[int], with_runs: bool) -> None:
    made = BitMap64(positions)
    if with_runs:
        made.run_optimize()
    bitmap = Bitmap(made)
    found = Bitmap.parse(bitmap.serialize())
    assert found == bitmap
    assert found.to_numpy().tolist() == sorted(positions)
    assert found.greatest == max(positions, default=None)


@given(st.lists(st.sets(st.integers(0, 2**32 - 1), max_size=20), max_size=3))
@settings(max_examples=50, deadline=None)
def test_the_older_form_holds_one_bitmap_for_each_four_billion_rows(parts: list[set[int]]) -> None:
    blocks = [bytes(BitMap(part).serialize()) for part in parts]
    data = struct.pack("<Ii", MAGIC - 1, len(parts)) + b"".join(struct.pack("<i", len(b)) + b for b in blocks)
    expected = sorted((key << 32) + low for key, part in enumerate(parts) for low in part)
    assert Bitmap.parse(data).to_numpy().tolist() == expected


@given(st.sets(st.integers(0, 1000), max_size=50))
def test_the_words_have_the_bits_of_the_positions(positions: set[int]) -> None:
    words = Bitmap.of(positions).words()
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert set(np.flatnonzero(bits).tolist()) == positions


@given(st.sets(st.integers(0, 100)), st.sets(st.integers(0, 100)))
def test_bitmaps_are_joined_and_subtracted_as_sets(a: set[int], b: set[int]) -> None:
    assert set(Bitmap.of(a).union(Bitmap.of(b)).to_numpy().tolist()) == a | b
    assert set(Bitmap.of(a).minus(Bitmap.of(b)).to_numpy().tolist()) == a - b


def _changed(data: bytes, changes: list[tuple[int, int]], cut: int | None) -> bytes:
    found = bytearray(data)
    for at, byte in changes:
        if found:
            found[at % len(found)] = byte
    return bytes(found[: cut % (len(found) + 1)]) if cut is not None else bytes(found)


SOUND = st.one_of(
    POSITIONS.map(lambda positions: Bitmap.of(positions).serialize()),
    st.just(struct.pack("<IiI", MAGIC - 1, 1, 8) + bytes(BitMap().serialize())),
)
BYTES = st.integers(0, 255)
DAMAGED = st.builds(
    _changed, SOUND, st.lists(st.tuples(st.integers(0, 80), BYTES), max_size=5), st.none() | st.integers(0, 2**16)
)
RANDOM = st.binary(max_size=100) | st.binary(max_size=100).map(lambda data: struct.pack("<I", MAGIC) + data)


@given(DAMAGED | RANDOM)
@settings(max_examples=500, deadline=None)
def test_damaged_bytes_are_a_bitmap_or_an_invalid_table(data: bytes) -> None:
    try:
        found = Bitmap.parse(data)
    except InvalidTable:
        return
    assert Bitmap.parse(found.serialize()) == found
    if len(found) < 10**6:
        positions = found.to_numpy()
        assert len(positions) == len(found)
        assert (positions[1:] > positions[:-1]).all()


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0" * 7, b"\0" * 8, struct.pack("<II", MAGIC, 0), struct.pack("<IQ", MAGIC, 2**60),
        struct.pack("<IQ", MAGIC, 1), struct.pack("<Ii", MAGIC - 1, 1), struct.pack("<Ii", MAGIC - 1, -1),
        struct.pack("<Iii", MAGIC - 1, 1, -1), Bitmap.of([2**63]).serialize(),
    ],
)
def test_bytes_that_are_no_bitmap_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidTable):
        Bitmap.parse(data)
