"""Do the curves visit every cell once, and neighbours one after another?"""

from itertools import product

import numpy as np
import pytest

from esker.core.curve import CURVE_BITS, MOST_COLUMNS, along_hilbert, bits_per_column, interleaved, turns


def z_places(columns: int, codes: np.ndarray) -> np.ndarray:
    """The places of cells on the Z-order curve; a row of `codes` is a cell."""
    cells = 1 << bits_per_column(columns)
    return sum(interleaved(cells, column, columns)[codes[:, column]] for column in range(columns))


def corner(columns: int, bits: int) -> np.ndarray:
    """All cells near the start of the curve, where the higher bits of every column are 0."""
    return np.array(list(product(range(1 << bits), repeat=columns)))


@pytest.mark.parametrize("columns", range(1, MOST_COLUMNS + 1))
def test_z_order_interleaves_the_bits_of_the_columns_the_first_column_first(columns):
    bits = bits_per_column(columns)
    random = np.random.default_rng(columns)
    codes = random.integers(0, 1 << bits, (50, columns))
    for place, cell in zip(z_places(columns, codes), codes, strict=True):
        digits = "".join(f"{code >> bit & 1}" for bit in reversed(range(bits)) for code in cell)
        assert place == int(digits, 2)
        assert place < 1 << CURVE_BITS


@pytest.mark.parametrize("columns, bits", [(2, 5), (3, 4), (4, 3), (5, 2)])
def test_neighbours_on_the_hilbert_curve_differ_in_one_column_by_one(columns, bits):
    cells = corner(columns, bits)
    walked = cells[np.argsort(along_hilbert(z_places(columns, cells), columns))]
    steps = np.abs(np.diff(walked, axis=0))
    # The corner is one stretch of the curve: every cell is visited once, and each step is to a neighbour.
    assert len({tuple(cell) for cell in walked}) == len(cells)
    assert (steps.sum(axis=1) == 1).all()


@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_the_hilbert_curve_visits_the_cells_of_a_stretch_of_z_order_before_all_others(columns):
    whole = np.arange(1 << columns * 3)
    shift = columns * (bits_per_column(columns) - 3)
    places = along_hilbert(whole << shift, columns)
    for level in (1, 2):
        boxes, firsts = whole >> columns * level, np.argsort(places)
        assert (np.diff(boxes[firsts]) != 0).sum() == len(set(boxes)) - 1


@pytest.mark.parametrize("columns", [1, 6, MOST_COLUMNS])
def test_with_one_column_or_too_many_the_curve_does_not_turn(columns):
    assert turns(columns) is None
    places = np.arange(100)
    assert (along_hilbert(places, columns) == places).all()


@pytest.mark.parametrize("ranks", [1, 2, 5, 1000, 4096, 5000])
def test_ranks_are_spread_over_all_of_a_column(ranks):
    codes = interleaved(ranks, 0, 1)
    cells = 1 << bits_per_column(1)
    assert codes[0] == 0
    assert (np.diff(codes) >= 0).all()
    assert codes[-1] >= cells - max(1, cells // ranks) - 1
