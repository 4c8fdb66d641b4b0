"""How are the days and instants of a file that counts them by the hybrid calendar counted as everybody does?"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from esker.arrow.conform import compacted, is_list, list_offsets, null_mask
from esker.core.columns import Rows
from esker.core.hybrid_calendar import HybridCalendar, gregorian_days, true_instants


def recounted(values: pa.Array, kind: pa.DataType, calendar: HybridCalendar) -> pa.Array:
    """The values, of dates and instants at any depth, counted as everybody does.

    `kind` is the type with a zone for each instant, also for INT96, which the values' own type has without one.
    """
    stored = values.type
    if isinstance(stored, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(stored, recounted(values.storage, kind, calendar))
    if pa.types.is_struct(stored):
        members = [recounted(values.field(i), kind.field(i).type, calendar) for i in range(stored.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(stored), mask=null_mask(values))
    if pa.types.is_map(stored):
        entries = compacted(values)
        keys = recounted(entries.keys, kind.key_type, calendar)
        items = recounted(entries.items, kind.item_type, calendar)
        return pa.MapArray.from_arrays(list_offsets(values), keys, items, type=stored, mask=null_mask(values))
    if is_list(stored):
        inner = recounted(values.flatten(), kind.value_type, calendar)
        plain = pa.list_(stored.value_field)
        return pa.ListArray.from_arrays(list_offsets(values), inner, type=plain, mask=null_mask(values))
    if pa.types.is_date32(stored) and calendar.has_moments:
        return _changed(values, pa.int32(), gregorian_days)
    if pa.types.is_timestamp(stored) and kind.tz is not None:
        is_counted = calendar.has_moments if stored.tz is not None else calendar.has_int96
        scale = _MICROSECONDS.get(stored.unit)
        if is_counted and scale is not None:
            return _changed(values, pa.int64(), lambda counts: true_instants(counts * scale, calendar.zone) // scale)
    return values


_MICROSECONDS = {"us": 1, "ms": 1_000}


def _changed(values: pa.Array, storage: pa.DataType, change: Callable[[Rows], Rows]) -> pa.Array:
    counts = values.view(storage)
    known = counts.drop_null()
    if not len(known):
        return values
    found = np.zeros(len(counts), dtype=np.int64)
    is_known = counts.is_valid().to_numpy(zero_copy_only=False)
    found[is_known] = change(known.to_numpy().astype(np.int64))
    return pa.array(found, pa.int64(), mask=~is_known).cast(storage).view(values.type)
