"""What do manifests know of a column's values?  (spec, "Manifests": column metrics; "Appendix D")

Metrics are maps from column ids, one map for each file; what is asked for is one column in all files.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import Mask, booleans, filled, int64, mask_of, rows_of, scalar
from esker.core.skipping import ColumnStats
from esker.core.types import Type
from esker.errors import InvalidTable, Unsupported
from esker.iceberg.bounds import decoded
from esker.iceberg.live_files import Files


@dataclass(frozen=True)
class FileStatistics:
    """The metrics of files that were read with them."""

    files: Files

    def column(self, field_id: int, kind: Type, is_always_there: bool) -> ColumnStats:
        """The statistics of a column. `is_always_there` tells that no struct above it can be null."""
        values, nulls = (self.counts(name, field_id) for name in ("value_counts", "null_value_counts"))
        may_be_null = mask_of(filled(pc.greater(nulls, scalar(0, pa.int64())), True))
        if not is_always_there:  # writers differ in whether the nulls of structs count
            may_be_null = np.ones(len(self.files), dtype=bool)
        only_nulls = mask_of(filled(pc.equal(values, nulls), False))
        return ColumnStats(
            self.bound("lower_bounds", field_id, kind),
            self.bound("upper_bounds", field_id, kind),
            may_be_null,
            ~only_nulls,
        )

    def bound(self, name: str, field_id: int, kind: Type) -> pa.Array | None:
        """The bounds of a column; None where its type has none that can be compared."""
        stored = looked_up(self.files.column(name), field_id)
        if stored.null_count == len(stored):
            return None
        try:
            return decoded(stored, kind)
        except Unsupported:
            return None
        except InvalidTable as error:
            raise InvalidTable(
                f"a bound of column {field_id}: {error.what}", where=self.files.metadata.location
            ) from error

    def counts(self, name: str, field_id: int) -> pa.Array:
        """How many values, or nulls or NaN, a column has; null where that is not known."""
        found = looked_up(self.files.column(name), field_id)
        # older writers put there what parquet-mr says of a count that a footer does not have: -1
        return pc.if_else(pc.less(found, scalar(0, pa.int64())), scalar(None, pa.int64()), found)


def looked_up(maps: pa.MapArray, key: int) -> pa.Array:
    """The value of a key in each map; null where there is none."""
    offsets = rows_of(maps.offsets)
    start, end = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    keys = rows_of(maps.keys.slice(start, end - start))
    hits = np.flatnonzero(keys == key)
    rows = np.searchsorted(offsets - start, hits, side="right") - 1
    places = np.full(len(maps), -1, np.int64)
    places[rows[::-1]] = hits[::-1]  # of several, the first
    found: Mask = places >= 0
    if maps.null_count:
        found &= mask_of(pc.is_valid(maps))
    taken = pc.if_else(booleans(found), int64(places), scalar(None, pa.int64()))
    return maps.items.slice(start, end - start).take(taken)
