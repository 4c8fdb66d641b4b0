"""What happened to the table, and when?"""

from itertools import islice

import pyarrow as pa

from esker.lance.snapshot import Snapshot
from esker.lance.snapshot import history as snapshots

_TEXTS = pa.map_(pa.string(), pa.string())
_SCHEMA = pa.schema(
    [
        ("version", pa.uint64()), ("timestamp", pa.timestamp("us", "UTC")), ("operation", pa.string()),
        ("operationParameters", _TEXTS), ("readVersion", pa.uint64()), ("operationMetrics", _TEXTS),
        ("userMetadata", pa.string()), ("engineInfo", pa.string()), ("tags", pa.list_(pa.string())),
    ]
)  # fmt: skip


def history(snapshot: Snapshot, limit: int | None) -> pa.Table:
    """A row for each version up to this one that is still there, the newest first."""
    tags: dict[int, list[str]] = {}
    for tag in snapshot.tags:
        if tag.branch == snapshot.place.branch:
            tags.setdefault(tag.version, []).append(tag.name)
    until = (found for found in snapshots(snapshot.place) if found.version <= snapshot.version)
    return pa.Table.from_pylist([_row(found, tags) for found in islice(until, limit)], schema=_SCHEMA)


def _row(snapshot: Snapshot, tags: dict[int, list[str]]) -> dict[str, object]:
    made = snapshot.transaction
    writer = snapshot.manifest.writer
    return {
        "version": snapshot.version,
        "timestamp": snapshot.manifest.timestamp,
        "operation": None if made is None else made.operation,
        "operationParameters": None if made is None else list(made.details.items()),
        "readVersion": None if made is None else made.read_version,
        "userMetadata": None if made is None else made.message,
        "engineInfo": None if writer is None else str(writer),
        "tags": tags.get(snapshot.version, []),
    }
