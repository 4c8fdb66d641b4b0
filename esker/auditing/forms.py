"""How is an audit written down: as JSON, as CSV, as the data of its page?"""

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import datetime

from esker.auditing.clients import Standing, releases
from esker.auditing.model import Audit, AuditedTable
from esker.compat.verdicts import Verdict
from esker.core.features import Presence
from esker.core.types import Json


def to_json(audit: Audit) -> dict[str, Json]:
    """The whole audit."""
    return {
        "root": audit.root,
        "at": _text(audit.at),
        "folders": audit.folders,
        "tables": [_table(table, audit.at) for table in audit.tables],
        "features": [
            {
                "format": total.format, "feature": total.feature, "tables": total.tables, "supported": total.supported,
                "active": total.active, "in_use": total.in_use,
            }
            for total in audit.features
        ],
        "clients": [_standing(standing) for standing in audit.clients],
        "skipped": [{"folder": skipped.folder, "why": skipped.why} for skipped in audit.skipped],
    }  # fmt: skip


def to_csv(audit: Audit) -> str:
    """A line for each table."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(_COLUMNS)
    for table in audit.tables:
        told = _table(table, audit.at)
        features = "; ".join(f"{name}: {_word(presence)}" for name, presence in table.features.items())
        findings = "; ".join(f"{remark.severity.name.lower()}: {remark.what}" for remark in table.remarks)
        plain = (_cell(told[name]) for name in _COLUMNS[:-2])
        lines.writerow([*plain, _cell(features), _cell(findings)])
    return out.getvalue()


_COLUMNS = (
    "folder", "location", "format", "name", "version", "protocol", "columns", "files", "size", "modified", "age_days",
    "features", "findings",
)  # fmt: skip


def page_data(audit: Audit, made_by: str) -> dict[str, Json]:
    """What the page shows, with what tables share said once."""
    contracts = {contract: number for number, contract in enumerate(audit.judgements)}
    told: list[Json] = [
        {"features": [[name, int(presence)] for name, presence in contract.features.items()], "judgement": judgement}
        for contract, judgement in audit.judgements.items()
    ]
    rows: list[Json] = [
        [
            table.folder, table.format, table.name, _shown(table.version), table.protocol,
            None if table.contract is None else contracts[table.contract], table.columns, table.files, table.size,
            None if table.modified is None else int(table.modified.timestamp() * 1000),
            [[int(remark.severity), remark.what] for remark in table.remarks],
        ]
        for table in audit.tables
    ]  # fmt: skip
    formats = dict.fromkeys(table.format for table in audit.tables)
    return {
        "root": audit.root, "at": int(audit.at.timestamp() * 1000), "esker": made_by, "folders": audit.folders, "tables": rows,
        "contracts": told, "releases": {format: [*_releases(format)] for format in formats},
        "skipped": [[skipped.folder, skipped.why] for skipped in audit.skipped],
    }  # fmt: skip


def _shown(version: int | None) -> int | str | None:
    """A snapshot's id is a name of many digits, more than a number of a browser has."""
    return version if version is None or abs(version) < _EXACT else str(version)


_EXACT = 1 << 53


def _releases(format: str) -> Iterator[Json]:
    seen: set[str] = set()
    for client, release in releases(format):
        yield {"title": client.title, "versions": release.versions, "newest": client.name not in seen}
        seen.add(client.name)


def _table(table: AuditedTable, at: datetime) -> dict[str, Json]:
    days = None if table.modified is None else max(0, (at - table.modified).days)
    return {
        "folder": table.folder, "location": table.location, "format": table.format, "name": table.name, "version": table.version,
        "protocol": table.protocol, "features": {name: _word(presence) for name, presence in table.features.items()},
        "columns": table.columns, "files": table.files, "size": table.size,
        "modified": None if table.modified is None else _text(table.modified), "age_days": days,
        "findings": [{"severity": remark.severity.name.lower(), "what": remark.what} for remark in table.remarks],
    }  # fmt: skip


def _standing(standing: Standing) -> dict[str, Json]:
    return {
        "client": standing.client.name, "title": standing.client.title, "format": standing.client.format,
        "versions": standing.release.versions, "is_newest": standing.is_newest, "locked_out": standing.locked_out,
        "read": _counts(standing.read), "write": _counts(standing.write),
    }  # fmt: skip


def _counts(counted: Mapping[Verdict, int]) -> dict[str, Json]:
    return {verdict.value: counted[verdict] for verdict in Verdict if verdict in counted}


def _word(presence: Presence) -> str:
    return presence.name.lower().replace("_", " ")


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _cell(value: Json) -> Json:
    """The value as a cell. A text that a spreadsheet would take for a formula gets an apostrophe, which keeps it a text."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
