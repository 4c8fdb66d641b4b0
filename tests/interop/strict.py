"""A reader that knows only what every Delta reader has known from the beginning, and checks that it need not know more.

It opens the newest classic checkpoint, replays the commits after it, and reads files by the names and types that the schema
states. Whatever would need a feature is an error.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

TYPES = {
    "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(), "double": pa.float64(),
    "string": pa.string(), "date": pa.date32(),
}  # fmt: skip


def strict_rows(folder: Path, knows: frozenset[str] = frozenset({"appendOnly", "invariants"})) -> pa.Table:
    """The rows of a table whose protocol asks for no feature beyond `knows`."""
    live: dict[str, dict[str, Any]] = {}
    protocol: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for action in _actions(folder / "_delta_log"):
        protocol = action.get("protocol") or protocol
        metadata = action.get("metaData") or metadata
        if add := action.get("add"):
            live[add["path"]] = add
        if remove := action.get("remove"):
            live.pop(remove["path"], None)
    asked = {*(protocol.get("readerFeatures") or ()), *(protocol.get("writerFeatures") or ())}
    assert asked <= knows, asked - knows
    assert protocol["minReaderVersion"] == 1, protocol
    for mark in ("delta.columnMapping", "delta.typeChanges"):
        assert mark not in metadata["schemaString"]
    fields = json.loads(metadata["schemaString"])["fields"]
    schema = pa.schema([(field["name"], TYPES[field["type"]]) for field in fields])
    return pa.concat_tables([_file(folder, add, schema) for add in live.values()] or [schema.empty_table()])


def _actions(log: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start = -1
    if (hint := log / "_last_checkpoint").exists():
        start = json.loads(hint.read_text())["version"]
        found += pq.read_table(log / f"{start:020}.checkpoint.parquet").to_pylist()
    for path in sorted(log.glob("*.json")):
        if path.stem.isdigit() and int(path.stem) > start:
            found += [json.loads(line) for line in path.read_text().splitlines()]
    return found


def _file(folder: Path, add: dict[str, Any], schema: pa.Schema) -> pa.Table:
    assert not add.get("deletionVector"), add
    held = pq.ParquetFile(folder / unquote(add["path"])).read()
    values = dict(add["partitionValues"] or {})
    columns = []
    for field in schema:
        if field.name in values:
            columns.append(pa.array([values[field.name]] * held.num_rows, pa.string()).cast(field.type))
        elif field.name in held.column_names:
            assert held.schema.field(field.name).type == field.type, (field, held.schema)
            columns.append(held.column(field.name))
        else:
            columns.append(pa.nulls(held.num_rows, field.type))
    return pa.table(columns, schema=schema)
