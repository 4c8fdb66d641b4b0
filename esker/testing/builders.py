"""How does a Delta table come about without a writer?  (PROTOCOL.md, "Actions", "Delta Log Entries")

A builder that puts Parquet files, deletion vectors and commits of raw actions where a table is to be. It checks nothing:
a table that breaks the protocol is built as readily as a sound one, which is what tests want.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.core.bitmap import Bitmap
from esker.core.types import Json
from esker.delta.deletion_vectors import z85_encode
from esker.storage import Storage, open_storage

Body = dict[str, Json]
"""What an action says, under the action's name in the log."""


class DeltaTableBuilder:
    """A Delta table in the making. Commits are numbered as they come, from `version` 0 on."""

    def __init__(self, place: Storage | str | os.PathLike[str]) -> None:
        self.storage: Storage = open_storage(place) if isinstance(place, str | os.PathLike) else place
        self.version = -1

    @property
    def location(self) -> str:
        """The table's URL."""
        return self.storage.url

    def commit(self, *actions: Mapping[str, Json]) -> int:
        """Write the actions as the next version, one a line, and give its number."""
        version = self.version + 1
        lines = b"".join(orjson.dumps(action) + b"\n" for action in actions)
        self.storage.put_if_absent(f"_delta_log/{version:020}.json", lines)
        self.version = version
        return version

    def write_data(
        self, rows: pa.Table, partition: Mapping[str, str | None] | None = None, *, path: str | None = None, time: int = 0
    ) -> Body:
        """Write the rows, which have the columns that files have, as a data file; the body of its `add`."""
        name = path or f"part-{uuid4()}.parquet"
        return {
            "path": name, "partitionValues": dict(partition or {}), "size": self._write_parquet(name, rows),
            "modificationTime": time, "dataChange": True, "stats": orjson.dumps(statistics(rows)).decode(),
        }  # fmt: skip

    def write_changes(self, rows: pa.Table, partition: Mapping[str, str | None] | None = None) -> Body:
        """Write changed rows, with their `_change_type`, as a change data file; the body of its `cdc`."""
        name = f"_change_data/cdc-{uuid4()}.parquet"
        size = self._write_parquet(name, rows)
        return {"path": name, "partitionValues": dict(partition or {}), "size": size, "dataChange": False}

    def write_deletion_vector(self, positions: Iterable[int]) -> Body:
        """Write the positions as a deletion vector in a file of its own; its descriptor."""
        bitmap, name = Bitmap.of(positions), uuid4()
        data = bitmap.serialize()
        # "1 byte: format version", then per vector: its size, its bytes, their CRC-32.  Deletion Vector File Storage Format
        record = b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
        self.storage.put(f"deletion_vector_{name}.bin", record)
        return {
            "storageType": "u", "pathOrInlineDv": z85_encode(name.bytes), "offset": 1, "sizeInBytes": len(data),
            "cardinality": len(bitmap),
        }  # fmt: skip

    def _write_parquet(self, path: str, rows: pa.Table) -> int:
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink)
        data = sink.getvalue().to_pybytes()
        self.storage.put(path, data)
        return len(data)


def protocol(reader: int = 1, writer: int = 2, *, readers: Iterable[str] = (), writers: Iterable[str] = ()) -> Body:
    """The body of a `protocol`; feature lists are given where one of them has a name in it."""
    body: Body = {"minReaderVersion": reader, "minWriterVersion": writer}
    if reading := list(readers):
        body["readerFeatures"] = list(reading)
    if writing := [*reading, *writers]:
        body["writerFeatures"] = list(writing)
    return body


def column(name: str, kind: Json, metadata: Mapping[str, Json] | None = None, *, nullable: bool = True) -> Body:
    """A field of the schema in Delta's JSON."""
    return {"name": name, "type": kind, "nullable": nullable, "metadata": dict(metadata or {})}


def metadata(
    columns: Iterable[Mapping[str, Json]], partition_by: Iterable[str] = (), properties: Mapping[str, str] | None = None,
    **more: Json,
) -> Body:  # fmt: skip
    """The body of a `metaData`; `more` are its other members, `id` and `createdTime` among them."""
    schema = {"type": "struct", "fields": [dict(c) for c in columns]}
    return {
        "id": str(uuid4()), "format": {"provider": "parquet", "options": {}}, "schemaString": orjson.dumps(schema).decode(),
        "partitionColumns": list(partition_by), "configuration": dict(properties or {}), "createdTime": 0, **more,
    }  # fmt: skip


def removal(add: Mapping[str, Json], *, time: int = 0) -> Body:
    """The body of the `remove` that takes back what an `add` brought."""
    kept = ("path", "partitionValues", "size", "stats", "deletionVector")
    body = {name: add[name] for name in kept if name in add}
    return {**body, "deletionTimestamp": time, "dataChange": True, "extendedFileMetadata": True}


def statistics(rows: pa.Table) -> Body:
    """The statistics of a file with these rows: exact, for columns that have an order."""
    bounds = {name: _bounds(rows.column(name)) for name in rows.column_names if _has_order(rows.schema.field(name).type)}
    known = {name: found for name, found in bounds.items() if found is not None}
    return {
        "numRecords": rows.num_rows,
        "minValues": {name: low for name, (low, _) in known.items()},
        "maxValues": {name: high for name, (_, high) in known.items()},
        "nullCount": {name: rows.column(name).null_count for name in rows.column_names},
        "tightBounds": True,
    }


def _bounds(values: pa.ChunkedArray) -> tuple[Json, Json] | None:
    found = pc.min_max(values)
    low, high = found["min"], found["max"]
    return (_stated(low), _stated(high)) if low.is_valid else None


def _stated(value: pa.Scalar) -> Json:
    kind = value.type
    if pa.types.is_timestamp(kind):
        # "Timestamps are [...] truncated to milliseconds", so a greatest one is true only if its files keep none finer.
        text = value.as_py().strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        return f"{text}Z" if kind.tz else text
    plain = value.as_py()
    return plain if isinstance(plain, int | float | str) else float(plain) if pa.types.is_decimal(kind) else str(plain)


def _has_order(kind: pa.DataType) -> bool:
    types = pa.types
    ordered = (types.is_integer, types.is_floating, types.is_decimal, types.is_string, types.is_date, types.is_timestamp)
    return any(test(kind) for test in ordered)
