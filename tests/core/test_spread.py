"""Is a curve cut into equal pieces, whatever the values are?"""

import numpy as np
import pyarrow as pa
import pytest

from esker.core.curve import CURVE_BITS, CurveKind
from esker.core.spread import MOST_BOUNDS, cuts, places, spread

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize(
    "values, ranks",
    [
        (pa.array([], pa.int64()), []),
        (pa.array([None, None], pa.int64()), [0, 0]),
        (pa.array([5, None, 5, 7]), [2, 0, 2, 3]),
        (pa.array([-1.5, float("nan"), None, 2.0, float("inf"), float("-inf")]), [2, 3, 0, 3, 3, 1]),
        (pa.array(["41", "", None, "4142"]), [3, 2, 0, 4]),
    ],
)
def test_values_are_ranked_in_their_order_with_nulls_first(values, ranks):
    assert spread(values).rank(values).tolist() == ranks


@pytest.mark.parametrize(
    "values",
    [RANDOM.integers(0, 1 << 62, 50_000), RANDOM.normal(size=50_000), np.arange(50_000), RANDOM.integers(0, 3, 50_000)],
)
def test_as_many_rows_lie_between_two_bounds_as_between_any_others(values):
    found = spread(pa.array(values))
    ranks = found.rank(pa.array(values))
    assert len(found.bounds) <= MOST_BOUNDS
    distinct = len(np.unique(values))
    assert np.bincount(ranks).max() <= 1.1 * len(values) / min(distinct, MOST_BOUNDS)


@pytest.mark.parametrize("kind", CurveKind)
def test_pieces_have_equally_many_rows_and_parts_share_none(kind):
    part = np.sort(RANDOM.integers(0, 3, 30_000))
    columns = [pa.array(RANDOM.normal(size=30_000)), pa.array(RANDOM.integers(0, 500, 30_000))]
    place = places(columns, [spread(column) for column in columns], kind)
    pieces = np.array([1, 8, 3])
    begins = cuts(part, place, pieces)
    piece = np.searchsorted(begins, (part << CURVE_BITS) + place, side="right")
    assert len(begins) == pieces.sum() - 1
    for number, first, count in zip(range(3), np.cumsum(pieces) - pieces, pieces, strict=True):
        rows = np.bincount(piece[part == number] - first, minlength=count)
        assert len(rows) == count
        assert rows.max() - rows.min() <= 0.02 * rows.sum()


def test_a_part_that_the_sample_missed_is_cut_all_the_same():
    begins = cuts(np.array([0, 2]), np.array([5, 6]), np.array([1, 4, 1]))
    assert len(begins) == 5
    assert (np.diff(begins) > 0).all()
    assert begins[0] == 1 << CURVE_BITS
    assert begins[-1] == 2 << CURVE_BITS


def test_a_row_that_lies_before_all_of_the_sample_is_in_the_first_piece_of_its_part():
    begins = cuts(np.array([0, 1, 1]), np.array([3, 7, 9]), np.array([1, 2]))
    assert np.searchsorted(begins, (1 << CURVE_BITS) + 0, side="right") == 1
