"""Which files does a version have?"""

import pyarrow as pa

from esker.lance.snapshot import Snapshot

_SCHEMA = pa.schema(
    [
        ("path", pa.string()), ("size", pa.int64()), ("fragment", pa.int64()), ("records", pa.int64()), ("deleted", pa.int64()),
        ("file_version", pa.string()), ("columns", pa.list_(pa.string())), ("deletion_file", pa.string()),
    ]
)  # fmt: skip


def files(snapshot: Snapshot) -> pa.Table:
    """A row for each data file: a fragment has one or more, each with some of its columns."""
    names = {field.id: field.name for field in snapshot.manifest.fields}
    rows = []
    for fragment in snapshot.fragments:
        deletion = fragment.deletion
        for file in fragment.files:
            rows.append(
                {
                    "path": snapshot.place.data_file(snapshot.manifest, file).removeprefix(f"{snapshot.location}/"),
                    "size": file.size,
                    "fragment": fragment.id,
                    "records": fragment.physical_rows,
                    "deleted": 0 if deletion is None else deletion.rows,
                    "file_version": file.version,
                    "columns": [names[id] for id in file.fields if id in names],
                    "deletion_file": None if deletion is None else f"_deletions/{deletion.name(fragment.id)}",
                }
            )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)
