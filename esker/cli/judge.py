"""What can be said about a table from the command line: who gets it right, what it is promised, and which rules it breaks?"""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import esker
from esker.check.model import Finding, Severity, worst
from esker.cli.action import perform
from esker.cli.options import AsJson, Force, Location, Relocate, StorageOption, Timestamp, Version, opened, pairs
from esker.cli.render import columns_of
from esker.cli.terminal import Screen, progress
from esker.cli.values import document
from esker.compat.report import ClientReport, Compatibility, Shift
from esker.compat.verdicts import Judgement, Verdict
from esker.core.protocol_changes import ProtocolChange
from esker.core.types import Json
from esker.errors import InvalidRequest

_STYLES = {
    Verdict.YES: "green", Verdict.LIMITED: "yellow", Verdict.UNKNOWN: "dim", Verdict.REFUSES: "red", Verdict.HARMS: "bold red",
}  # fmt: skip
SEVERITIES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTICE: "dim"}
EXIT_CODES: dict[Severity | None, int] = {None: 0, Severity.NOTICE: 0, Severity.WARNING: 10, Severity.ERROR: 11}
"""What `check` exits with, by the worst that it found."""


def compat(
    table: Location, version: Version = None, timestamp: Timestamp = None,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="NAME[==V]", help="Only this client, or this release of it. May be repeated."),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="CHANGE", help="Who is gained and lost by enable=A,B or drop=A,B or upgrade=READER[,WRITER]."
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All releases that something is known of, not the newest only.")] = False,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Which clients read, write, refuse or misread the table, why, and what would help. Nothing is changed."""
    change = None if after is None else _change(after)
    found = opened(table, version, timestamp, relocate, storage_option)
    with progress("asking who reads this"):
        report = found.compat(client or (), after=change, latest=not all_ and not client)
    if as_json:
        typer.echo(document(_compatibility_json(report)))
    else:
        Screen().show(Group(*_compatibility(report, change is not None)))


def require(
    table: Location,
    promises: Annotated[
        list[str] | None, typer.Argument(metavar="PROMISE...", help='What to promise, as in "delta-spark>=3.2: write".')
    ] = None,
    take_back: Annotated[bool, typer.Option("--take-back", help="Take these promises back, or all where none is given.")] = False,
    force: Force = False, as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Promise that clients go on working with the table: Esker then refuses changes that would break that."""
    found = opened(table, None, None, None, storage_option)
    if take_back:
        perform(found, "taking promises back", as_json, lambda: found.unrequire(promises or None), force)
    elif not promises:
        raise InvalidRequest("nothing is promised", hint='A promise is a text such as "delta-spark>=3.2: write".')
    else:
        perform(found, "promising", as_json, lambda: found.require(promises), force)


def check(
    table: Location, version: Version = None,
    deep: Annotated[bool, typer.Option("--deep", help="Also read all data files and deletion vectors.")] = False,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Which rules of its specification the table breaks. Exits with 10 for warnings and 11 for errors."""
    with progress("checking"):
        found = esker.check_table(
            table,
            version=version,
            deep=deep,
            relocate=pairs(relocate, "--relocate", "OLD=NEW"),
            storage_options=pairs(storage_option, "--storage-option", "KEY=VALUE"),
        )
    if as_json:
        typer.echo(document([_finding_json(finding) for finding in found]))
    else:
        Screen().show(_findings(found))
    if code := EXIT_CODES[worst(found)]:
        raise typer.Exit(code)


def _change(text: str) -> ProtocolChange:
    """What `enable=A,B` and the like say."""
    kind, _, said = text.partition("=")
    names = [name.strip() for name in said.split(",") if name.strip()]
    match kind.strip(), names:
        case "enable", [_, *_]:
            return esker.enable(*names)
        case "drop", [_, *_]:
            return esker.drop(*names)
        case "upgrade", [version] if version.isdecimal():
            return esker.upgrade(int(version))
        case "upgrade", [reader, writer] if reader.isdecimal() and writer.isdecimal():
            return esker.upgrade(int(reader), int(writer))
    raise InvalidRequest(f"--after {text} is not of the form enable=A,B or drop=A,B or upgrade=READER[,WRITER]")


def _compatibility(report: Compatibility, is_foreseen: bool) -> Iterator[RenderableType]:
    if is_foreseen:
        for title, shifts, style in (("lost", report.lost, "bold red"), ("gained", report.gained, "green")):
            yield Text(f"{title}: {len(shifts) or 'nobody'}", style=style if shifts else "dim")
            if shifts:
                yield _shifts(shifts)
        yield Text("after the change", style="bold")
    yield _reports(report.clients)
    if report.promises:
        yield Text("promised: " + "; ".join(report.promises), style="bold")
        yield from (Text(f"broken: {breach}", style="bold red", overflow="fold") for breach in report.breaches)
        if not report.breaches:
            yield Text("Every promise is kept.", style="green")


def _shifts(shifts: tuple[Shift, ...]) -> RenderableType:
    shown = columns_of("client", "releases", "to", "now", "then", "because of", "what helps")
    for shift in shifts:
        shown.add_row(
            Text(shift.client.name, style="bold"), Text(shift.versions), Text(shift.operation.value),
            _verdict(shift.before), _verdict(shift.after),
            Text(", ".join(shift.deciding.features)), Text("\n".join(shift.remedies)),
        )  # fmt: skip
    return shown


def _reports(reports: tuple[ClientReport, ...]) -> RenderableType:
    shown = columns_of("client", "releases", "reads", "writes", "because", "what helps", "known by")
    for report in reports:
        reasons = dict.fromkeys(str(reason) for judged in (report.read, report.write) for reason in judged.reasons)
        known = "" if report.release is None else report.release.evidence.value
        shown.add_row(
            Text(report.client.name, style="bold"), Text(report.versions), _verdict(report.read), _verdict(report.write),
            Text("\n".join(reasons)), Text("\n".join(report.remedies)), Text(known, style="dim"),
        )  # fmt: skip
    return shown


def _verdict(judgement: Judgement) -> Text:
    return Text(judgement.verdict.value, style=_STYLES[judgement.verdict])


def _findings(found: tuple[Finding, ...]) -> RenderableType:
    if not found:
        return Text("The table keeps every rule that was looked into.", style="green")
    shown = columns_of("severity", "where", "what", "how to mend it", "rule")
    for finding in sorted(found, key=lambda finding: -finding.severity):
        shown.add_row(
            Text(finding.severity.name.lower(), style=SEVERITIES[finding.severity]), Text(finding.where, overflow="fold"),
            Text(finding.what, overflow="fold"), Text(finding.mend),
            Text(f"{finding.rule}\n{finding.section}", style="dim", overflow="fold"),
        )  # fmt: skip
    counts = ", ".join(
        f"{count} of severity {severity.name.lower()}"
        for severity in reversed(Severity)
        if (count := sum(finding.severity is severity for finding in found))
    )
    return Group(shown, Text(counts, style="dim"))


def _compatibility_json(report: Compatibility) -> dict[str, Json]:
    return {
        "clients": [_report_json(one) for one in report.clients],
        "lost": [_shift_json(shift) for shift in report.lost], "gained": [_shift_json(shift) for shift in report.gained],
        "promises": [*report.promises], "breaches": [*report.breaches],
    }  # fmt: skip


def _shift_json(shift: Shift) -> dict[str, Json]:
    return {
        "client": shift.client.name, "versions": shift.versions, "operation": shift.operation.value,
        "before": _judgement_json(shift.before), "after": _judgement_json(shift.after),
        "because_of": [*shift.deciding.features], "remedies": [*shift.remedies],
    }  # fmt: skip


def _report_json(report: ClientReport) -> dict[str, Json]:
    release = report.release
    return {
        "client": report.client.name, "title": report.client.title, "versions": report.versions,
        "read": _judgement_json(report.read), "write": _judgement_json(report.write), "remedies": [*report.remedies],
        "evidence": None if release is None else release.evidence.value,
        "source": None if release is None else release.source, "date": None if release is None else release.date,
    }  # fmt: skip


def _judgement_json(judgement: Judgement) -> dict[str, Json]:
    reasons: list[Json] = [{"feature": reason.feature, "what": reason.what} for reason in judgement.reasons]
    return {"verdict": judgement.verdict.value, "reasons": reasons, "path": judgement.path or None}


def _finding_json(finding: Finding) -> dict[str, Json]:
    return {
        "rule": finding.rule, "severity": finding.severity.name.lower(), "section": finding.section, "where": finding.where,
        "what": finding.what, "mend": finding.mend,
    }  # fmt: skip
