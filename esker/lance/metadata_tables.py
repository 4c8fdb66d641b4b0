"""What else does a table say of itself, as tables?"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from esker.errors import InvalidRequest
from esker.lance.snapshot import Snapshot

_Rows: TypeAlias = list[dict[str, Any]]


def metadata(snapshot: Snapshot, name: str) -> pa.Table:
    """The metadata table of this name."""
    if name not in _TABLES:
        raise InvalidRequest(
            f"there is no metadata table {name}", where=snapshot.location, hint=f"There are: {', '.join(_TABLES)}."
        )
    schema, rows = _TABLES[name]
    return pa.Table.from_pylist(rows(snapshot), schema=schema)


def _refs(snapshot: Snapshot) -> _Rows:
    tags = [{"name": t.name, "kind": "tag", "branch": t.branch, "version": t.version} for t in snapshot.tags]
    return tags + [
        {"name": b.name, "kind": "branch", "branch": b.parent, "version": b.parent_version, "created": b.created}
        for b in snapshot.branches
    ]


def _indices(snapshot: Snapshot) -> _Rows:
    names = {field.id: field.name for field in snapshot.manifest.fields}
    return [
        {
            "name": index.name, "uuid": index.uuid, "columns": [names.get(id, str(id)) for id in index.fields],
            "kind": index.details or None, "version": index.dataset_version,
        }
        for index in snapshot.manifest.indices
    ]  # fmt: skip


def _fragments(snapshot: Snapshot) -> _Rows:
    return [
        {
            "fragment": fragment.id, "files": len(fragment.files), "records": fragment.physical_rows,
            "deleted": 0 if fragment.deletion is None else fragment.deletion.rows,
            "has_row_ids": fragment.row_ids is not None,
        }
        for fragment in snapshot.fragments
    ]  # fmt: skip


def _base_paths(snapshot: Snapshot) -> _Rows:
    return [
        {"id": base.id, "name": base.name, "path": base.path, "is_dataset_root": base.is_dataset_root}
        for base in snapshot.manifest.base_paths
    ]


_TABLES: Mapping[str, tuple[pa.Schema, Callable[[Snapshot], _Rows]]] = {
    "refs": (
        pa.schema(
            [
                ("name", pa.string()), ("kind", pa.string()), ("branch", pa.string()), ("version", pa.uint64()),
                ("created", pa.timestamp("s", "UTC")),
            ]
        ),
        _refs,
    ),
    "indices": (
        pa.schema(
            [
                ("name", pa.string()), ("uuid", pa.string()), ("columns", pa.list_(pa.string())), ("kind", pa.string()),
                ("version", pa.uint64()),
            ]
        ),
        _indices,
    ),
    "fragments": (
        pa.schema(
            [
                ("fragment", pa.int64()), ("files", pa.int64()), ("records", pa.int64()), ("deleted", pa.int64()),
                ("has_row_ids", pa.bool_()),
            ]
        ),
        _fragments,
    ),
    "base_paths": (
        pa.schema([("id", pa.int64()), ("name", pa.string()), ("path", pa.string()), ("is_dataset_root", pa.bool_())]),
        _base_paths,
    ),
}  # fmt: skip
