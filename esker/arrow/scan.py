"""What are the rows of a scan, without Spark, whoever has to read them?"""

from collections.abc import Iterator

import pyarrow as pa

from esker.arrow.lance import read_fragments
from esker.arrow.read import read_batches
from esker.core.fragments import FragmentScan, Scan
from esker.core.predicate import Predicate
from esker.core.scan import ScanPlan


def read_rows(scan: Scan, where: Predicate | None = None) -> Iterator[pa.RecordBatch]:
    """The rows for which `where`, which may name columns of the scan, is TRUE."""
    match scan:
        case ScanPlan():
            return read_batches(scan, where, None if where is None else scan.matching(where))
        case FragmentScan():
            return read_fragments(scan.filtered(where), where)
