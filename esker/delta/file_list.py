"""Which files make up the table, and what is known of each?"""

import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import scalar
from esker.core.types import Struct, leaves
from esker.delta.column_mapping import physical_path
from esker.delta.plan import partition_values
from esker.delta.snapshot import Snapshot


def files(snapshot: Snapshot) -> pa.Table:
    """A row per live file: where it is, its partition, its rows and the bounds of its columns."""
    table = snapshot.files.table
    vectors = table.column("deletionVector").combine_chunks()
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        "path": table.column("path"),
        "size": table.column("size"),
        "modified": table.column("modificationTime").cast(pa.timestamp("ms", "UTC")),
        "records": snapshot.statistics.num_records(),
        "deleted": pc.fill_null(pc.struct_field(vectors, "cardinality"), scalar(0, pa.int64())),
        "base_row_id": table.column("baseRowId"),
        "row_commit_version": table.column("defaultRowCommitVersion"),
    }
    if snapshot.partition_fields:
        values = [partition_values(snapshot, snapshot.files, f) for f in snapshot.partition_fields]
        columns["partition"] = pa.StructArray.from_arrays(values, [f.name for f in snapshot.partition_fields])
    columns |= _statistics(snapshot)
    return pa.table(columns)


def _statistics(snapshot: Snapshot) -> dict[str, pa.Array]:
    """`min`, `max` and `null_count`, each a struct by visible column path."""
    if not snapshot.statistics.is_recorded:
        return {}
    partitions = {f.name for f in snapshot.partition_fields}
    stored = Struct(tuple(f for f in snapshot.schema if f.name not in partitions))
    named: dict[str, tuple[pa.Array, pa.Array, pa.Array]] = {}
    kept = {path: (physical_path(snapshot.schema, path, snapshot.mapping), leaf.type) for path, leaf in leaves(stored)}
    snapshot.statistics.load(dict(kept.values()))
    for path, (physical, kind) in kept.items():
        low, high, nulls = snapshot.statistics.bounds(physical, kind)
        if nulls.null_count < len(nulls) or low.null_count < len(low) or high.null_count < len(high):
            named[".".join(path)] = (low, high, nulls)
    if not named:
        return {}
    parts = zip(*named.values(), strict=True)
    return {
        name: pa.StructArray.from_arrays(list(arrays), list(named))
        for name, arrays in zip(("min", "max", "null_count"), parts, strict=True)
    }
