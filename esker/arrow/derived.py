"""What values are computed of rows, to keep them apart or to sort them?"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from esker.core.write import Derived, SortKey


def derived(rows: pa.Table, value: Derived) -> pa.Array:
    """The value for each row."""
    column = rows.column(value.source[0])
    for name in value.source[1:]:
        column = pc.struct_field(column, name)
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.nulls(0, whole.type)
    return value.compute(whole)


def plain_values(values: pa.Array) -> pa.Array:
    """The same values, where those that count days or units of time are bare numbers."""
    if pa.types.is_temporal(values.type):
        return values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return values


def sorted_rows(rows: pa.Table, keys: Sequence[SortKey]) -> pa.Table:
    """The rows in order; equal ones stay as they were."""
    if not keys:
        return rows
    columns = {str(i): derived(rows, key.value) for i, key in enumerate(keys)}
    by = [
        (name, "descending" if key.is_descending else "ascending", "at_start" if key.nulls_first else "at_end")
        for name, key in zip(columns, keys, strict=True)
    ]
    return rows.take(pc.sort_indices(pa.table(columns), sort_keys=by))
