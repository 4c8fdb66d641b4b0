"""Where do a row's id and commit version come from?  (PROTOCOL.md, "Row Tracking")"""

from collections.abc import Mapping

from esker.core import types as t
from esker.core.scan import ScanColumn, Stored
from esker.core.types import Field
from esker.errors import InvalidRequest

ROW_ID = "_row_id"
ROW_COMMIT_VERSION = "_row_commit_version"
ENABLED = "delta.enableRowTracking"
BASE_ROW_ID = "__base_row_id"
DEFAULT_COMMIT_VERSION = "__default_row_commit_version"

_MATERIALISED = {
    ROW_ID: "delta.rowTracking.materializedRowIdColumnName",
    ROW_COMMIT_VERSION: "delta.rowTracking.materializedRowCommitVersionColumnName",
}


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
