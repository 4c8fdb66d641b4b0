"""Along which curve do rows lie that are close together in several columns at once?

A value stands for its rank among all values of its column, scaled to a number of bits that is the same for all columns, so that
each counts as much as the others. The Z-order curve interleaves these bits. The Hilbert curve turns within every cell on
the way, so that neighbours on it are neighbours in one column too. Both are tables here, for whoever walks them row by row.
"""

from enum import Enum

import numpy as np

from esker.core.columns import Rows

CURVE_BITS = 40
"""How many bits a place on the curve takes at most."""
MOST_COLUMNS = 10
_MOST_BITS = 12  # of a column: finer than files are cut
_MOST_TURNING = 5  # columns: the table of turns grows fourfold with each


class CurveKind(Enum):
    """How a curve leads through the space of several columns."""

    Z_ORDER = "z-order"
    HILBERT = "hilbert"


def bits_per_column(columns: int) -> int:
    """How finely each of the columns is told apart."""
    return min(_MOST_BITS, CURVE_BITS // columns)


def interleaved(ranks: int, column: int, columns: int) -> Rows:
    """What each rank of a column adds to the place on the Z-order curve; the first column has the highest bit."""
    bits = bits_per_column(columns)
    codes = np.arange(ranks, dtype=np.int64) * (1 << bits) // ranks
    shifts = (bit * columns + columns - 1 - column for bit in range(bits))
    return sum(((codes >> bit & 1) << shift for bit, shift in enumerate(shifts)), np.zeros(ranks, np.int64))


def along_hilbert(places: Rows, columns: int) -> Rows:
    """The places on the Hilbert curve of places on the Z-order curve; the same ones where the curve does not turn."""
    table = turns(columns)
    if table is None:
        return places
    digits = (1 << columns) - 1
    turn, found = np.zeros_like(places), np.zeros_like(places)
    for level in reversed(range(bits_per_column(columns))):
        turn = table[turn >> columns << columns | places >> level * columns & digits]
        found = found << columns | turn & digits
    return found


def turns(columns: int) -> Rows | None:
    """How the Hilbert curve runs on within a cell; None where there is no need to turn, or are too many columns for it.

    A state of the walk and a digit of the place on the Z-order curve, a bit of each column, give a digit of the place on the
    Hilbert curve and the state for the next, finer digit: `table[state << columns | digit]` is `state << columns | digit`.
    The walk starts in state 0.
    """
    if not 1 < columns <= _MOST_TURNING:
        return None
    digits = 1 << columns
    table = np.empty(digits * columns * digits, np.int64)
    for entry in range(digits):
        for direction in range(columns):
            for digit in range(digits):
                state = entry * columns + direction
                table[state << columns | digit] = _turn(entry, direction, digit, columns)
    return table


def _turn(entry: int, direction: int, digit: int, columns: int) -> int:
    """One step of Hamilton's algorithm ("Compact Hilbert Indices", 2006): a cell is entered at a corner, in a direction."""
    place = _gray_rank(_rotated(digit ^ entry, -(direction + 1), columns))
    entry ^= _rotated(_entry(place), direction + 1, columns)
    direction = (direction + _direction(place, columns) + 1) % columns
    return (entry * columns + direction) << columns | place


def _rotated(value: int, left: int, bits: int) -> int:
    left %= bits
    return (value << left | value >> (bits - left)) & ((1 << bits) - 1)


def _gray(number: int) -> int:
    return number ^ number >> 1


def _gray_rank(code: int) -> int:
    rank = 0
    while code:
        rank ^= code
        code >>= 1
    return rank


def _entry(place: int) -> int:
    """The corner at which the sub-cell is entered."""
    return 0 if place == 0 else _gray(2 * ((place - 1) // 2))


def _direction(place: int, columns: int) -> int:
    """The column along which the sub-cell is crossed."""
    if place == 0:
        return 0
    return _ones_at_the_end(place if place % 2 else place - 1) % columns


def _ones_at_the_end(number: int) -> int:
    return (number ^ (number + 1)).bit_length() - 1
