"""What did the `add` of a live file say?  (PROTOCOL.md, "Add File and Remove File")

Live files stay in Arrow columns for as long as they are only read. Whoever adds or removes them again needs the records: made
here, batch by batch, for all files or for some.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from esker.core.columns import Rows, int64
from esker.core.types import Struct
from esker.delta import column_mapping
from esker.delta.actions import Add
from esker.delta.deletion_vectors import DeletionVector, descriptors
from esker.delta.parsed_stats import stats_texts
from esker.delta.replay import LiveFiles
from esker.delta.snapshot import Snapshot

_BATCH = 1 << 14


def live_adds(snapshot: Snapshot, rows: Sequence[int] | None = None) -> Iterator[Add]:
    """The live files as `add` actions, `data_change` as recorded; `rows` picks some, by their place in `snapshot.files`."""
    files = snapshot.files
    wanted = np.arange(len(files), dtype=np.int64) if rows is None else np.asarray(rows, dtype=np.int64)
    stored = Struct(tuple(column_mapping.physical(f, snapshot.mapping) for f in snapshot.schema))
    for start in range(0, len(wanted), _BATCH):
        yield from _adds(files, wanted[start : start + _BATCH], stored, snapshot.location)


def _adds(files: LiveFiles, rows: Rows, stored: Struct, where: str) -> Iterator[Add]:
    table = files.table.take(int64(rows))
    plain = (table.column(name).to_pylist() for name in _PLAIN)
    columns = zip(
        *plain,
        _partitions(table),
        _stats(files, table, rows, stored),
        _tags(table),
        _vectors(table, where),
        strict=True,
    )
    for path, size, time, change, row_id, version, provider, values, stats, tags, vector in columns:
        yield Add(
            path=path, partition_values=values, size=size or 0, modification_time=time or 0, data_change=change is not False,
            stats=stats, tags=tags, deletion_vector=vector, base_row_id=row_id, default_row_commit_version=version,
            clustering_provider=provider,
        )  # fmt: skip


_PLAIN = (
    "path", "size", "modificationTime", "dataChange", "baseRowId", "defaultRowCommitVersion", "clusteringProvider",
)  # fmt: skip


def _partitions(table: pa.Table) -> Iterator[Mapping[str, str | None]]:
    """The partition values by physical name."""
    values = table.column("partitionValues").combine_chunks()
    names = [field.name for field in values.type]
    if not names:
        return iter([{} for _ in range(len(values))])
    texts = [column.to_pylist() for column in values.flatten()]
    return (dict(zip(names, row, strict=True)) for row in zip(*texts, strict=True))


def _stats(files: LiveFiles, table: pa.Table, rows: Rows, stored: Struct) -> list[str | None]:
    """The statistics as JSON, printed where the checkpoint has them as structs only."""
    texts: list[str | None] = table.column("stats").to_pylist()
    start = 0
    for piece in files.parsed:
        length = piece if isinstance(piece, int) else len(piece)
        if not isinstance(piece, int):
            there = np.flatnonzero((rows >= start) & (rows < start + length))
            printed = stats_texts(piece.take(int64(rows[there] - start)), stored)
            for at, text in zip(there.tolist(), printed.to_pylist(), strict=True):
                texts[at] = text
        start += length
    return texts


def _tags(table: pa.Table) -> list[Mapping[str, str | None] | None]:
    if "tags" not in table.column_names:
        return [None] * table.num_rows
    return [None if pairs is None else dict(pairs) for pairs in table.column("tags").to_pylist()]


def _vectors(table: pa.Table, where: str) -> list[DeletionVector | None]:
    found: list[DeletionVector | None] = [None] * table.num_rows
    column = table.column("deletionVector")
    if column.null_count < table.num_rows:
        for at, vector in descriptors(column.to_pylist(), where):
            found[at] = vector
    return found
