"""What does deltalake make of a table?  Run by a Python that has it."""

import pyarrow as pa
import pyarrow.parquet as pq
from answering import answer
from deltalake import DeltaTable

try:
    from deltalake import write_deltalake
except ImportError:  # before 0.10
    from deltalake.writer import write_deltalake

try:
    from deltalake import QueryBuilder
except ImportError:  # before 0.22
    QueryBuilder = None


def through_pyarrow(place):
    return DeltaTable(place).to_pyarrow_table().to_pylist()


def through_datafusion(place):
    found = QueryBuilder().register("t", DeltaTable(place)).execute("SELECT * FROM t")
    batches = found if isinstance(found, list) else found.read_all() if hasattr(found, "read_all") else found.fetchall()
    table = pa.table(batches) if not isinstance(batches, list) else pa.Table.from_batches(map(pa.record_batch, batches))
    return table.to_pylist()


def append(place, rows):
    write_deltalake(place, pq.read_table(rows), mode="append")


WAYS = {"to_pyarrow_table / to_pandas": through_pyarrow}
if QueryBuilder is not None:
    WAYS["QueryBuilder (DataFusion)"] = through_datafusion
answer(WAYS, {"write_deltalake": append})
