"""Esker reads, writes and governs Delta Lake, Apache Iceberg and Lance tables, with rows moved by Spark or by Arrow."""

from typing import TYPE_CHECKING, Any

from esker.auditing.model import Audit
from esker.auditing.run import audit
from esker.compat.change import ChangePlan
from esker.core.protocol_changes import Dropped
from esker.core.table import Vacuumed
from esker.errors import CommitUnknown, Conflict, EskerError, InvalidRequest, InvalidTable, NotFound, Unsupported
from esker.governing import drop, enable, upgrade
from esker.spark import get_session
from esker.table import Changes, Table, check_table, convert, create, open

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "ChangePlan",
    "Changes",
    "CommitUnknown",
    "Conflict",
    "Dropped",
    "EskerError",
    "InvalidRequest",
    "InvalidTable",
    "NotFound",
    "Table",
    "Unsupported",
    "Vacuumed",
    "audit",
    "check_table",
    "convert",
    "create",
    "drop",
    "enable",
    "open",
    "session",
    "upgrade",
]


def session(name: str = "esker", **config: Any) -> "SparkSession":
    """The active Spark session, or a good local one where there is none."""
    return get_session(name, **config)
