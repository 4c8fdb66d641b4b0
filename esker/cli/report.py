"""What do the commands tell, as values that can be shown or printed as JSON?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import esker
from esker.cli.values import json_schema, moment
from esker.core.arrange import OptimizePlan
from esker.core.features import FeaturePresence, Operation, Permanent, Presence, Removable, Removal
from esker.core.table import Description
from esker.core.types import Json


@dataclass(frozen=True, slots=True)
class FileTotals:
    """What a table's files come to. `rows` and `deleted` are None where the metadata does not say."""

    files: int
    bytes: int
    rows: int | None
    deleted: int | None
    files_with_deletes: int

    def to_json(self) -> dict[str, Json]:
        return {
            "files": self.files, "bytes": self.bytes, "rows": self.rows, "deleted_rows": self.deleted,
            "files_with_deletes": self.files_with_deletes,
        }  # fmt: skip


def totals(files: pa.Table) -> FileTotals:
    """The sums over a table of files. What a file of deletes holds are no rows of the table."""
    data = files.filter(pc.equal(files.column("content"), 0)) if "content" in files.column_names else files
    stored, gone = _sum(data, "records"), _sum(data, "deleted")
    return FileTotals(
        files=files.num_rows,
        bytes=_sum(files, "size") or 0,
        rows=None if stored is None or gone is None else stored - gone,
        deleted=gone,
        files_with_deletes=pc.sum(pc.greater(data.column("deleted"), 0)).as_py() or 0,
    )


def _sum(files: pa.Table, name: str) -> int | None:
    """The sum of a column, None where a file has no number in it."""
    column = files.column(name)
    total: int = pc.sum(column).as_py() or 0
    return None if column.null_count else total


@dataclass(frozen=True, slots=True)
class Inspection:
    """A table's description, and what was asked beyond it."""

    description: Description
    files: FileTotals | None = None
    differences: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Json]:
        about = self.description
        told: dict[str, Json] = {
            "format": about.format, "location": about.location, "version": about.version, "protocol": about.protocol,
            "id": about.id, "name": about.name, "comment": about.comment,
            "created": moment(about.created), "modified": moment(about.modified),
            "partition_columns": list(about.partition_columns), "properties": dict(about.properties),
            "schema": json_schema(about.schema), "findings": list(about.findings),
        }  # fmt: skip
        if self.files is not None:
            told["files"] = self.files.to_json()
        if self.differences is not None:
            told["checksum_differences"] = list(self.differences)
        return told


@dataclass(frozen=True, slots=True)
class FeatureReport:
    """A feature in a table, in words."""

    name: str
    presence: str
    scope: str
    why: str
    can_read: bool
    can_write: bool
    reason: str
    removal: tuple[str, ...]
    is_removable: bool
    in_history: bool | None = None

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name, "presence": self.presence, "scope": self.scope, "why": self.why,
            "esker": {"read": self.can_read, "write": self.can_write, "reason": self.reason},
            "removable": self.is_removable, "removal": list(self.removal), "in_history": self.in_history,
        }  # fmt: skip


def feature_reports(found: tuple[FeaturePresence[Any], ...], *, with_absent: bool) -> list[FeatureReport]:
    """The features that the table has, or all that there are."""
    return [_report(f) for f in found if with_absent or f.presence is not Presence.ABSENT]


def presence_word(presence: Presence) -> str:
    """The presence as people say it."""
    return presence.name.lower().replace("_", " ")


def removal_steps(removal: Removal) -> tuple[str, ...]:
    """How a feature is taken out, step by step, or why it is not."""
    match removal:
        case Permanent(why, instead):
            return (f"not possible: {why}", f"instead: {instead}") if instead else (f"not possible: {why}",)
        case Removable(before, downgrade, traces, history_protected):
            steps = [] if before == "nothing" else [f"first: {before}"]
            cut = "cut off or protect the older versions that need it"
            steps += [f"{cut}: {traces}" if traces else cut] if history_protected else []
            return (*steps, f"then: {downgrade}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done to a table, and with what operation where the format records one."""

    location: str
    version: int
    is_changed: bool
    operation: str | None = None
    metrics: Mapping[str, int | str] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Json]:
        return {
            "location": self.location, "version": self.version, "changed": self.is_changed,
            "operation": self.operation, "metrics": dict(self.metrics),
        }  # fmt: skip


def outcome(table: esker.Table, before: Description | None = None) -> Outcome:
    """What has become of a table that said `before` of itself; by default it was made."""
    now = table.describe()
    if before is not None and before.version == now.version:  # Iceberg has no version for what changes no rows
        return Outcome(table.location, table.version, now != before)
    made = next(iter(table.history(limit=1).to_pylist()), None)
    if made is None:
        return Outcome(table.location, table.version, is_changed=True)
    metrics = {name: int(text) if text.lstrip("-").isdecimal() else text for name, text in made["operationMetrics"] or ()}
    return Outcome(table.location, table.version, True, made["operation"], metrics)


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """Which files a vacuum has deleted, or would; and the version that then tells of it."""

    location: str
    done: esker.Vacuumed
    version: int | None = None

    def to_json(self) -> dict[str, Json]:
        return {
            "location": self.location, "version": self.version, "dry_run": self.done.is_dry_run,
            "files": list(self.done.files), "bytes": self.done.size,
        }  # fmt: skip


def optimize_json(plan: OptimizePlan) -> dict[str, Json]:
    """What a dry run of optimize tells."""
    return {
        "location": plan.location, "version": plan.version, "dry_run": True, "files": list(plan.files),
        "bytes": plan.size, "new_files": plan.pieces,
    }  # fmt: skip


def _report(found: FeaturePresence[Any]) -> FeatureReport:
    why = f"{found.why}, required by {', '.join(found.required_by)}" if found.required_by else found.why
    return FeatureReport(
        name=found.name,
        presence=presence_word(found.presence),
        scope=found.scope.value,
        why=why,
        can_read=found.support.allows(Operation.READ),
        can_write=found.support.allows(Operation.WRITE),
        reason=found.support.reason,
        removal=removal_steps(found.removal),
        is_removable=isinstance(found.removal, Removable),
        in_history=found.in_past,
    )
