"""What are the rows of a scan of fragments?

pylance reads them: columns and filters go to it, and it uses the table's indices where it can. What comes back has the scan's
columns, and the filter is looked at again row by row, since the library's SQL is not Spark's.
"""

from collections.abc import Iterator

import lance
import numpy as np
import pyarrow as pa

from esker.arrow.lance.dataset import scanned
from esker.core.filtering import mask
from esker.core.fragments import FragmentColumn, FragmentScan, RowFact
from esker.core.predicate import Predicate
from esker.core.predicate import columns as columns_of
from esker.errors import InvalidTable

_ADDRESS, _ID = "_rowaddr", "_rowid"
_OFFSET_BITS = np.uint64(32)


def read_fragments(scan: FragmentScan, where: Predicate | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of the scan's fragments for which `where` is TRUE, in the types of `arrow_schema`."""
    if not len(scan):
        return
    if where is not None:
        missing = {path[0] for path in columns_of(where)} - {column.field.name for column in scan.columns}
        assert not missing, missing
    with scanned(scan) as dataset:
        for batch in scanner(dataset, scan).to_batches():
            rows = _shown(batch, scan)
            if where is not None:
                rows = rows.filter(mask(where, rows))
            if rows.num_rows:
                yield rows


def scanner(dataset: lance.LanceDataset, scan: FragmentScan) -> lance.LanceScanner:
    """What reads the scan's fragments, with as much of its filter as was left to pylance."""
    facts = {column.source for column in scan.columns}
    fragments = None
    if not scan.is_whole:
        wanted = set(scan.fragments)
        fragments = [fragment for fragment in dataset.get_fragments() if fragment.fragment_id in wanted]
        if len(fragments) != len(wanted):
            raise InvalidTable(f"pylance finds {len(fragments)} of {len(wanted)} fragments", where=scan.location)
    return dataset.scanner(
        columns=[column.source for column in scan.columns if isinstance(column.source, str)],
        filter=scan.pushed,
        use_scalar_index=scan.goes_by_indices,
        fragments=fragments,
        with_row_address=bool(facts & {RowFact.FRAGMENT, RowFact.POSITION}) or not scan.columns,
        with_row_id=RowFact.ID in facts,
        blob_handling="all_binary" if any(column.is_blob for column in scan.columns) else None,
    )


def _shown(batch: pa.RecordBatch, scan: FragmentScan) -> pa.RecordBatch:
    if not scan.columns:
        present = pa.StructArray.from_arrays([], fields=[], mask=pa.repeat(False, batch.num_rows))
        return pa.RecordBatch.from_struct_array(present)
    return pa.RecordBatch.from_arrays([_array(batch, column) for column in scan.columns], schema=scan.arrow_schema)


def _array(batch: pa.RecordBatch, column: FragmentColumn) -> pa.Array:
    match column.source:
        case RowFact.FRAGMENT:
            addresses = batch.column(_ADDRESS).to_numpy(zero_copy_only=False)
            return pa.array((addresses >> _OFFSET_BITS).astype(np.int64))
        case RowFact.POSITION:
            addresses = batch.column(_ADDRESS).to_numpy(zero_copy_only=False)
            return pa.array((addresses & np.uint64(0xFFFFFFFF)).astype(np.int64))
        case RowFact.ID:
            return batch.column(_ID).cast(pa.int64())
        case str(name):
            values = batch.column(name)
            if isinstance(values, pa.ExtensionArray):
                values = values.storage
            return values if values.type == column.arrow else values.cast(column.arrow)
