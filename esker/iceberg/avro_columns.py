"""How do the rows of Avro files become Arrow columns?  (Apache Avro specification, "Binary Encoding"; Iceberg, Appendix A)

Field by field, every step an operation on whole NumPy arrays: all rows at once where it can be told where each starts. Else the
blocks of a file, which are independent, are read in step: the first row of each, then the second.

Members of records are named by their field ids, as texts, where they have one: Iceberg finds columns by ids.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from esker.core.types import Json
from esker.errors import InvalidTable, Unsupported
from esker.iceberg.avro_file import AvroBlock, AvroFile
from esker.iceberg.avro_readers import Bits, Column, List, Longs, Null, Optional, Record, Stretch
from esker.iceberg.avro_source import Numbers, Source
from esker.iceberg.avro_starts import read_side_by_side

_BATCH = 4 << 20  # bytes of blocks that are read at once: what is made of them fits the processor's cache


def read_columns(
    files: Sequence[AvroFile], where: str, without: Collection[str] = (), keys: Collection[int] | None = None
) -> tuple[pa.Table, Numbers]:
    """The rows of files of one schema, in order, and the number of the file that each row is of.

    Members whose labels are in `without` are passed over, and of maps by numbers all but the `keys`, where these are given.
    """
    schema = files[0].schema
    blocks = [block for file in files for block in file.blocks if block.rows]
    numbers = np.repeat(np.arange(len(files)), [file.rows for file in files])
    try:
        wanted = _Wanted(frozenset(without), None if keys is None else np.array(sorted(keys), np.int64))
        parts = [_rows(schema, batch, wanted) for batch in _batches(blocks)] or [_rows(schema, [], wanted)]
    except (IndexError, OverflowError, MemoryError) as error:
        raise InvalidTable("the rows of an Avro file do not follow its schema", where=where) from error
    except InvalidTable as error:
        raise InvalidTable(f"the rows of an Avro file do not follow its schema: {error.what}", where=where) from error
    return pa.concat_tables(parts), numbers


@dataclass(frozen=True)
class _Wanted:
    without: frozenset[str]
    keys: Numbers | None


_Batch = Sequence[tuple[int, bytes]]
"""Blocks: how many rows each has, and their bytes."""


def _batches(blocks: Sequence[AvroBlock]) -> Iterator[_Batch]:
    batch: list[tuple[int, bytes]] = []
    size = 0
    for block in blocks:
        data = block.expanded()
        batch.append((block.rows, data))
        size += len(data)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _rows(schema: str, blocks: _Batch, wanted: _Wanted) -> pa.Table:
    data = b"".join([*(data for _, data in blocks), bytes(16)])
    sizes = np.array([len(data) for _, data in blocks], np.int64)
    counts = np.array([rows for rows, _ in blocks], np.int64)
    ends = np.cumsum(sizes)
    at = ends - sizes
    source = Source(data, wanted.without, wanted.keys)
    parsed = _parsed(schema)
    root = _column(parsed, source, {})
    if not read_side_by_side(root, source, at, ends, counts):
        root = _column(parsed, source, {})
        _read_in_step(root, at, ends, counts)
    rows = root.finish(int(counts.sum()))
    if not pa.types.is_struct(rows.type):
        raise Unsupported("Avro files of anything but records")
    return pa.Table.from_arrays(rows.flatten(), schema=pa.schema(list(rows.type)))


def _read_in_step(root: Column, at: Numbers, ends: Numbers, counts: Numbers) -> None:
    """Read the first row of all blocks, then the second."""
    first = np.cumsum(counts) - counts
    at = at.copy()
    for row in range(int(counts.max(initial=0))):
        live = np.flatnonzero(counts > row)
        at[live] = root.read(first[live] + row, at[live])
    if (at != ends).any():
        raise InvalidTable("a block is longer or shorter than its rows")


def _parsed(schema: str) -> Json:
    try:
        parsed: Json = json.loads(schema)
    except ValueError as error:
        raise InvalidTable(f"the Avro schema is not JSON: {error}") from error
    return parsed


def _column(schema: Json, source: Source, names: dict[str, Json]) -> Column:
    match schema:
        case str() if schema in names:
            return _column(names[schema], source, names)
        case str():
            return _primitive({"type": schema}, source)
        case [one]:
            return _column(one, source, names)
        case ["null", other] | [other, "null"]:
            return Optional(source, _column(other, source, names), 0 if schema[0] == "null" else 1)
        case list():
            raise Unsupported("an Avro union of several types")
        case {"type": "record" | "fixed", "name": str() as name}:
            names[name] = schema
    match schema:
        case {"type": "record", "fields": list() as fields}:
            return Record(source, [_member(member, source, names) for member in fields])
        case {"type": "array", "items": items, **rest}:
            return List(source, _column(items, source, names), rest.get("logicalType") == "map")
        case {"type": "map", "values": values}:
            entry = Record(source, [("key", Stretch(source, pa.string())), ("value", _column(values, source, names))])
            return List(source, entry, is_map=True)
        case {"type": dict() | list() as inner}:
            return _column(inner, source, names)
        case {"type": str() as kind} if kind in names and kind != "fixed":
            return _column(names[kind], source, names)
        case dict():
            return _primitive(schema, source)
    raise InvalidTable(f"the Avro schema has a type that is none: {schema!r}")


def _member(member: Json, source: Source, names: dict[str, Json]) -> tuple[str, Column]:
    return _label(member), _column(_type(member), source, names)


def _label(member: Json) -> str:
    match member:
        case {"field-id": int() as number}:
            return str(number)
        case {"name": str() as name}:
            return name
    raise InvalidTable(f"the Avro schema has a field without a name: {member!r}")


def _type(member: Json) -> Json:
    match member:
        case {"type": kind}:
            return kind
    raise InvalidTable(f"the Avro schema has a field without a type: {member!r}")


def _primitive(schema: dict[str, Json], source: Source) -> Column:
    kind, logical = schema.get("type"), schema.get("logicalType")
    match kind, logical:
        case "null", _:
            return Null(source)
        case "boolean", _:
            return Bits(source, pa.bool_(), 1)
        case "int", "date":
            return Longs(source, pa.date32())
        case "int", "time-millis":
            return Longs(source, pa.time32("ms"))
        case "int", _:
            return Longs(source, pa.int32())
        case "long", "time-micros":
            return Longs(source, pa.time64("us"))
        case "long", ("timestamp-micros" | "timestamp-nanos" | "local-timestamp-micros" | "local-timestamp-nanos"):
            unit = "ns" if str(logical).endswith("nanos") else "us"
            return Longs(source, pa.timestamp(unit, "UTC" if schema.get("adjust-to-utc") else None))
        case "long", ("timestamp-millis" | "local-timestamp-millis"):  # in files that Iceberg did not write
            return Longs(source, pa.timestamp("ms"))
        case "long", _:
            return Longs(source, pa.int64())
        case "float", _:
            return Bits(source, pa.float32(), 4)
        case "double", _:
            return Bits(source, pa.float64(), 8)
        case ("bytes" | "fixed"), "decimal":
            return Stretch(source, _decimal(schema), _width(schema) if kind == "fixed" else None)
        case "bytes", _:
            return Stretch(source, pa.binary())
        case "fixed", _:
            return Stretch(source, pa.binary(_width(schema)), _width(schema))
        case "string", _:
            return Stretch(source, pa.string())
    raise Unsupported(f"the Avro type {schema}")


def _decimal(schema: dict[str, Json]) -> pa.DataType:
    match schema:
        case {"precision": int() as precision} if 0 < precision <= 38:
            scale = schema.get("scale", 0)
            if isinstance(scale, int):
                return pa.decimal128(precision, scale)
    raise InvalidTable(f"the Avro schema has a decimal without a precision: {schema!r}")


def _width(schema: dict[str, Json]) -> int:
    match schema:
        case {"size": int() as size} if 0 <= size < 2**20:
            return size
    raise InvalidTable(f"the Avro schema has a fixed type without a size: {schema!r}")
