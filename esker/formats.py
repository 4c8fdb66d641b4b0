"""Which format has the table at a location, or is it to have?"""

import os
from collections.abc import Iterator, Mapping

from esker.arrow.lance import library
from esker.check.delta.rules import check_delta
from esker.check.model import Finding
from esker.core.table import FormatTable, IfExists, TableDefinition
from esker.core.types import Struct
from esker.core.write import RowSource
from esker.delta.log import LOG_FOLDER
from esker.delta.snapshot import Place
from esker.delta.table import DeltaTable, convert_to_delta, create_delta, open_delta
from esker.errors import InvalidRequest, NotFound, Unsupported
from esker.lance.table import create_lance, open_lance
from esker.lance.versions import VERSIONS_FOLDER
from esker.storage import Storage, open_storage


def open_format(
    location: str | os.PathLike[str], options: Mapping[str, str], moves: Mapping[str, str]
) -> FormatTable:
    """Look which format the table has, and open it."""
    storage = open_storage(location, options)
    if _has(storage, "_delta_log"):
        return open_delta(storage, options, moves)
    if _has(storage, "metadata"):
        raise Unsupported("this looks like an Iceberg table, and Esker does not read Iceberg yet", where=storage.url)
    if _has(storage, "_versions"):
        return open_lance(storage, options, moves, library())
    raise NotFound("there is no table here", where=storage.url, hint=_FOLDERS)


_FOLDERS = "A Delta table has a folder _delta_log, an Iceberg table metadata, a Lance table _versions."


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
    if format not in ("delta", "lance"):
        raise Unsupported(f"creating tables of the format {format}; Esker writes delta and lance", where=storage.url)
    for other, folder in (("delta", LOG_FOLDER), ("iceberg", "metadata"), ("lance", VERSIONS_FOLDER)):
        if other != format and _has(storage, folder):
            raise InvalidRequest(f"there is a table of the format {other} here", where=storage.url, hint="Choose another place.")
    if format == "lance":
        return create_lance(storage, definition, rows, if_exists, options, library())
    return create_delta(storage, definition, rows, if_exists, options)


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
