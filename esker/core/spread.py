"""How are the values of columns spread, and where is a curve through them cut into equal pieces?

Told by a sample, and so only about: that no row is lost or comes twice does not depend on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from esker.core.columns import Rows, mask_of
from esker.core.curve import CURVE_BITS, CurveKind, along_hilbert, interleaved

MOST_BOUNDS = 1023
"""How many values of a column are told apart at most."""

_Values = npt.NDArray[Any]


@dataclass(frozen=True)
class Spread:
    """Values of a column, in order, with about as many rows between any two of them that follow one another."""

    bounds: _Values

    @property
    def ranks(self) -> int:
        return len(self.bounds) + 2

    def rank(self, values: pa.Array) -> Rows:
        """0 for null, else 1 and one more for each bound that is not above the value."""
        found = np.zeros(len(values), np.int64)
        known = mask_of(values.is_valid())
        found[known] = np.searchsorted(self.bounds, _plain(values.drop_null()), side="right") + 1
        return found


def spread(values: pa.Array) -> Spread:
    """How integers, floating numbers or texts of ASCII are spread. NaN exceeds all bounds."""
    known = np.sort(_plain(values.drop_null()))
    if known.dtype.kind == "f":
        known = known[np.isfinite(known)]
    if len(known) > MOST_BOUNDS:
        distinct = np.unique(known)
        known = distinct if len(distinct) <= MOST_BOUNDS else known[np.arange(MOST_BOUNDS) * len(known) // MOST_BOUNDS]
    return Spread(np.unique(known))


def places(columns: Sequence[pa.Array], spreads: Sequence[Spread], kind: CurveKind) -> Rows:
    """The places of rows on the curve."""
    found = np.zeros(len(columns[0]), np.int64)
    for i, (values, column) in enumerate(zip(columns, spreads, strict=True)):
        found += interleaved(column.ranks, i, len(spreads))[column.rank(values)]
    return along_hilbert(found, len(spreads)) if kind is CurveKind.HILBERT else found


def cuts(part: Rows, place: Rows, pieces: Rows) -> Rows:
    """Where each piece but the first begins, part by part: its part's number above the bits of a place on the curve."""
    found: list[Rows] = []
    order = np.lexsort((place, part))
    part, place = part[order], place[order]
    for number, count in enumerate(pieces.tolist()):
        start, end = np.searchsorted(part, [number, number + 1])
        inside = place[start:end]
        if not len(inside):
            inside = np.arange(count, dtype=np.int64) * ((1 << CURVE_BITS) // count)
        begins = inside[np.arange(count) * len(inside) // count]
        begins[0] = 0  # whatever comes before the first row of the sample
        found.append((number << CURVE_BITS) + begins)
    return np.concatenate(found)[1:]


def _plain(values: pa.Array) -> _Values:
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return np.array(values.to_pylist(), dtype=object)
    found: _Values = values.to_numpy(zero_copy_only=False)
    return found
