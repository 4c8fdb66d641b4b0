"""Which format has the table at a location, or is it to have?"""

import os
from collections.abc import Iterator, Mapping

from esker.arrow.read import read_table
from esker.check.delta.rules import check_delta
from esker.check.model import Finding
from esker.core.table import FormatTable, IfExists, TableDefinition
from esker.core.types import Struct
from esker.core.write import RowSource
from esker.delta.log import LOG_FOLDER
from esker.delta.snapshot import Place
from esker.delta.table import DeltaTable, convert_to_delta, create_delta, open_delta
from esker.errors import InvalidRequest, NotFound, Unsupported
from esker.iceberg.state import split_location
from esker.iceberg.table import create_iceberg, open_iceberg
from esker.storage import Storage, open_storage


def open_format(
    location: str | os.PathLike[str], options: Mapping[str, str], moves: Mapping[str, str]
) -> FormatTable:
    """Look which format the table has, and open it."""
    folder, metadata_file = split_location(os.fspath(location))
    if metadata_file is not None:
        return open_iceberg(open_storage(folder, options), metadata_file, options, moves, read_table)
    storage = open_storage(location, options)
    if _has(storage, "_delta_log"):
        return open_delta(storage, options, moves)
    if _has(storage, "metadata"):
        return open_iceberg(storage, None, options, moves, read_table)
    if _has(storage, "_versions"):
        raise Unsupported("this looks like a Lance table, and Esker does not read Lance yet", where=storage.url)
    hint = "A Delta table has a folder _delta_log, an Iceberg table a folder metadata."
    raise NotFound("there is no table here", where=storage.url, hint=hint)


def create_format(
    format: str,
    location: str | os.PathLike[str],
    definition: TableDefinition,
    rows: RowSource | None,
    if_exists: IfExists,
    options: Mapping[str, str],
) -> FormatTable:
    """Create a table of this format."""
    storage = open_storage(location, options)
    if format not in ("delta", "iceberg"):
        raise Unsupported(f"creating tables of the format {format}; Esker writes delta and iceberg", where=storage.url)
    for other, folder in _FOLDERS.items():
        if other != format and _has(storage, folder):
            raise InvalidRequest(f"this looks like a table of the format {other}", where=storage.url, hint="Choose another place.")
    if format == "iceberg":
        return create_iceberg(storage, definition, rows, if_exists, options, read_table)
    return create_delta(storage, definition, rows, if_exists, options)


_FOLDERS = {"delta": LOG_FOLDER, "iceberg": "metadata", "lance": "_versions"}


def convert_format(
    location: str | os.PathLike[str], partitions: Struct | None, infer_types: bool, options: Mapping[str, str]
) -> FormatTable:
    """Make a table of the Parquet files at a location."""
    return convert_to_delta(open_storage(location, options), partitions, infer_types, options)


def check_format(
    location: str | os.PathLike[str], version: int | None, deep: bool, options: Mapping[str, str], moves: Mapping[str, str]
) -> Iterator[Finding]:
    """Look which rules of its specification the table at a location breaks. It need not be one that can be opened."""
    storage = open_storage(location, options)
    if not _has(storage, LOG_FOLDER):
        raise NotFound("there is no Delta table here", where=storage.url, hint="A Delta table has a folder _delta_log.")
    return check_delta(Place(storage, options, moves), version, deep=deep)


def check_opened(table: FormatTable, deep: bool) -> Iterator[Finding]:
    """Look which rules of its specification an open table breaks."""
    match table:
        case DeltaTable():
            return check_delta(table.snapshot.place, table.version, deep=deep)
    raise Unsupported(f"checking tables of the format {table.format}", where=table.location)


def _has(storage: Storage, folder: str) -> bool:
    return next(iter(storage.list(folder)), None) is not None
