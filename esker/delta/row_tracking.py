"""Where do a row's id and commit version come from?  (PROTOCOL.md, "Row Tracking")"""

from collections.abc import Mapping

import orjson

from esker.core import types as t
from esker.core.scan import ScanColumn, Stored
from esker.core.types import Field
from esker.delta.actions import Add, DomainMetadata
from esker.errors import InvalidRequest, InvalidTable

ROW_ID = "_row_id"
ROW_COMMIT_VERSION = "_row_commit_version"
ENABLED = "delta.enableRowTracking"
DOMAIN = "delta.rowTracking"
BASE_ROW_ID = "__base_row_id"
DEFAULT_COMMIT_VERSION = "__default_row_commit_version"

_MATERIALISED = {
    ROW_ID: "delta.rowTracking.materializedRowIdColumnName",
    ROW_COMMIT_VERSION: "delta.rowTracking.materializedRowCommitVersionColumnName",
}
MATERIALISED_NAMES = {_MATERIALISED[ROW_ID]: "row-id", _MATERIALISED[ROW_COMMIT_VERSION]: "row-commit-version"}
"""The properties with the names of the materialised columns, and how the names are told apart."""


def column(name: str, configuration: Mapping[str, str], where: str) -> ScanColumn:
    """The row's id or commit version: materialised where the file has it, else derived from the file's own numbers."""
    if configuration.get(ENABLED, "false").lower() != "true":
        # "When Row Tracking is supported but not yet enabled [...] they cannot yet be relied upon to be present"
        raise InvalidRequest(f"{name} needs row tracking, and {ENABLED} is not true", where=where)
    stored = configuration.get(_MATERIALISED[name])
    physical = None if stored is None else Field(stored, t.LONG)
    if name == ROW_ID:
        return ScanColumn(Field(name, t.LONG), Stored(physical, BASE_ROW_ID, plus_row_index=True))
    return ScanColumn(Field(name, t.LONG), Stored(physical, DEFAULT_COMMIT_VERSION))


def high_water_mark(domains: Mapping[str, DomainMetadata], where: str) -> int:
    """The highest row id that was given out, -1 for none."""
    if DOMAIN not in domains:
        return -1
    try:
        recorded = orjson.loads(domains[DOMAIN].configuration)
    except orjson.JSONDecodeError as error:
        raise InvalidTable(f"the domain {DOMAIN} is not JSON: {error}", where=where) from error
    # older editions of the protocol call it highWaterMark
    match recorded:
        case {"rowIdHighWaterMark": int(mark)} | {"highWaterMark": int(mark)}:
            return mark
    raise InvalidTable(f"the domain {DOMAIN} has no rowIdHighWaterMark", where=where)


def mark_domain(mark: int) -> DomainMetadata:
    """The domain that says which row ids were given out."""
    return DomainMetadata(DOMAIN, orjson.dumps({"rowIdHighWaterMark": mark}).decode())


def records(add: Add) -> int:
    """How many row ids the file takes."""
    match orjson.loads(add.stats or "null"):
        case {"numRecords": int(count)}:
            return count
    raise InvalidTable("a file without numRecords cannot get row ids", where=add.path)
