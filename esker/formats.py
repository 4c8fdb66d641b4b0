"""Which format has the table at a location, or is it to have?"""

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import pyarrow.compute as pc

from esker.arrow.lance import library
from esker.arrow.read import read_table
from esker.catalogs import CatalogSpec, open_catalog
from esker.check.delta.rules import check_delta
from esker.check.iceberg.rules import check_iceberg
from esker.check.lance.rules import check_lance
from esker.check.model import Finding
from esker.compat.promises import broken
from esker.core.features import FeaturePresence, Operation
from esker.core.glance import Glance
from esker.core.table import Creation, FormatTable
from esker.core.types import Struct
from esker.delta.glance import glance
from esker.delta.log import LOG_FOLDER
from esker.delta.snapshot import Place
from esker.delta.table import DeltaTable, convert_to_delta, create_delta, open_delta
from esker.errors import EskerError, InvalidRequest, NotFound, Unsupported
from esker.iceberg.place import METADATA
from esker.iceberg.place import Place as IcebergPlace
from esker.iceberg.state import split_location
from esker.iceberg.table import IcebergTable, create_by_catalog, create_iceberg, open_by_catalog, open_iceberg
from esker.lance.place import Place as LancePlace
from esker.lance.table import LanceTable, create_lance, open_lance
from esker.lance.versions import VERSIONS_FOLDER
from esker.storage import Storage, open_storage, storage_at

_SIGNS = "A Delta table has a folder _delta_log, an Iceberg table metadata, a Lance table _versions."


def open_format(
    location: str | os.PathLike[str], options: Mapping[str, str], moves: Mapping[str, str]
) -> FormatTable:
    """Look which format the table has, and open it."""
    folder, metadata_file = split_location(os.fspath(location))
    if metadata_file is not None:
        return open_iceberg(open_storage(folder, options), metadata_file, options, moves, read_table).judged_by(broken)
    storage = open_storage(location, options)
    if _has(storage, LOG_FOLDER):
        return open_delta(storage, options, moves, broken)
    if _has(storage, METADATA):
        return open_iceberg(storage, None, options, moves, read_table).judged_by(broken)
    if _has(storage, VERSIONS_FOLDER):
        return open_lance(storage, options, moves, library()).judged_by(broken)
    raise _no_table(storage, options)


def open_in_catalog(
    name: str, catalog: CatalogSpec, options: Mapping[str, str], moves: Mapping[str, str]
) -> FormatTable:
    """Open the table that a catalog knows by this name."""
    entry = open_catalog(catalog, options).table(name)
    place = IcebergPlace(open_storage(entry.location, entry.options), entry.options, moves)
    return open_by_catalog(place, entry.catalog, read_table).judged_by(broken)


def create_in_catalog(name: str, catalog: CatalogSpec, wanted: Creation, options: Mapping[str, str]) -> FormatTable:
    """Create an Iceberg table that a catalog knows by this name; where there is one, do as is wanted."""
    tables = open_catalog(catalog, options)
    try:
        entry = tables.table(name)
    except NotFound:
        entry = tables.new_table(name)
    place = IcebergPlace(open_storage(entry.location, entry.options), entry.options)
    return create_by_catalog(place, entry.catalog, wanted, read_table).judged_by(broken)


def create_format(
    format: str, location: str | os.PathLike[str], wanted: Creation, options: Mapping[str, str]
) -> FormatTable:
    """Create a table of this format; where there is one, do as is wanted."""
    storage = open_storage(location, options)
    if format not in _FOLDERS:
        raise Unsupported(f"tables of the format {format}; Esker writes {', '.join(_FOLDERS)}", where=storage.url)
    for other, folder in _FOLDERS.items():
        if other != format and _has(storage, folder):
            what = f"there is a table of the format {other} here"
            raise InvalidRequest(what, where=storage.url, hint="Choose another place.")
    if format == "iceberg":
        return create_iceberg(storage, wanted, options, read_table).judged_by(broken)
    if format == "lance":
        return create_lance(storage, wanted, options, library()).judged_by(broken)
    return create_delta(storage, wanted, options).judged_by(broken)


_FOLDERS = {"delta": LOG_FOLDER, "iceberg": METADATA, "lance": VERSIONS_FOLDER}


def convert_format(
    location: str | os.PathLike[str], partitions: Struct | None, infer_types: bool, options: Mapping[str, str]
) -> FormatTable:
    """Make a table of the Parquet files at a location."""
    return convert_to_delta(open_storage(location, options), partitions, infer_types, options).judged_by(broken)


def check_format(
    location: str | os.PathLike[str], version: int | None, deep: bool, options: Mapping[str, str], moves: Mapping[str, str]
) -> Iterator[Finding]:
    """Look which rules of its specification the table at a location breaks. It need not be one that can be opened."""
    folder, metadata_file = split_location(os.fspath(location))
    storage = open_storage(folder, options)
    if _has(storage, LOG_FOLDER):
        return check_delta(Place(storage, options, moves), version, deep=deep)
    if metadata_file is not None or _has(storage, METADATA):
        return check_iceberg(IcebergPlace(storage, options, moves), metadata_file, version, deep=deep)
    if _has(storage, VERSIONS_FOLDER):
        return check_lance(LancePlace(storage, options, moves), version, deep=deep)
    raise _no_table(storage, options)


def glance_format(format: str, storage: Storage, options: Mapping[str, str], with_files: bool) -> Glance:
    """A table of this format at a glance; `with_files` lists its files where nothing cheaper tells of them."""
    if format == "delta":
        return glance(Place(storage, options), with_files)
    table = open_format(storage.url, options, {})
    if table.format != format:  # a folder can be a table of two formats
        raise Unsupported(f"reading the {format} side of a table that is {table.format} too", where=storage.url)
    files = table.files() if with_files else None
    size = None if files is None else pc.sum(files.column("size")).as_py() or 0
    found, contract = table.features(), table.contract()
    met = {demand.feature or demand.name for demand in contract.demands}
    refused = {op: "; ".join(told) for op in Operation if (told := tuple(_unsupported(found, met, op)))}
    return Glance(table.describe(), found, contract, refused, None if files is None else files.num_rows, size)


def _unsupported(found: Iterable[FeaturePresence[Any]], met: Set[str], operation: Operation) -> Iterator[str]:
    """What stands in the way of the operation among the features that a client really meets: a version admits more."""
    for one in found:
        if one.name in met and one.scope.concerns(operation) and not one.support.allows(operation):
            yield f"{one.name}: {one.support.reason}"


def check_opened(table: FormatTable, deep: bool) -> Iterator[Finding]:
    """Look which rules of its specification an open table breaks."""
    match table:
        case DeltaTable():
            return check_delta(table.snapshot.place, table.version, deep=deep)
        case IcebergTable():
            state = table.state
            snapshot_id = None if state.snapshot is None else state.snapshot.snapshot_id
            return check_iceberg(state.place, state.metadata_file, snapshot_id, deep=deep)
        case LanceTable():
            return check_lance(table.snapshot.place, table.version, deep=deep)
    raise Unsupported(f"checking tables of the format {table.format}", where=table.location)


def _no_table(storage: Storage, options: Mapping[str, str]) -> NotFound:
    """What there is instead."""
    if _has(storage, ""):
        return NotFound("there is no table here", where=storage.url, hint=_SIGNS)
    folder, _, name = storage.url.rpartition("/")
    try:
        storage_at(folder, options).head(name)
    except EskerError:
        return NotFound("there is nothing here", where=storage.url, hint="No file lies below this path: is it spelled right?")
    return NotFound("this is a file, not a table", where=storage.url, hint="Name the folder of the table.")


def _has(storage: Storage, folder: str) -> bool:
    return next(iter(storage.list(folder)), None) is not None
