"""What can be said about all tables below a root, from the command line?"""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import esker
from esker.auditing.clients import Standing
from esker.auditing.forms import page_data, to_csv, to_json
from esker.auditing.model import Audit, AuditedTable
from esker.auditing.page import page
from esker.check.model import Severity
from esker.cli.judge import SEVERITIES
from esker.cli.options import AsJson, StorageOption, pairs
from esker.cli.render import columns_of
from esker.cli.terminal import Screen, progress
from esker.cli.values import bytes_of, document
from esker.compat.verdicts import Verdict
from esker.core.features import Presence
from esker.errors import InvalidRequest

ON_SCREEN = 50
"""How many tables, the worst first, and how many totals are shown where a person reads."""


def audit(
    root: Annotated[str, typer.Argument(metavar="ROOT", help="A folder, or a URL such as s3://bucket/lake.")],
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a line of CSV for each table.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page to look at, complete in one file.")
    ] = None,
    sizes: Annotated[
        bool, typer.Option("--sizes", help="List the files of tables that do not tell their size otherwise.")
    ] = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Also search folders that begin with a dot or an underscore.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Show all tables and totals, not the first of them.")] = False,
    storage_option: StorageOption = None,
) -> None:
    """Every table below a folder or bucket: format, version, features, size, age, findings, and who is locked out."""
    if as_json and as_csv:
        raise InvalidRequest("--json or --csv, not both")
    with progress("looking around", unit="tables") as ticker:
        found = esker.audit(
            root,
            sizes=sizes,
            hidden=hidden,
            storage_options=pairs(storage_option, "--storage-option", "KEY=VALUE"),
            progress=lambda what, done, of: ticker.set(done, of if of is not None else max(done, 1)),
        )
    if html is not None:
        _write(html, page(page_data(found, esker.__version__)))
    if as_json:
        typer.echo(document(to_json(found)))
    elif as_csv:
        typer.echo(to_csv(found), nl=False)
    else:
        Screen().show(_shown(found, None if all_ else ON_SCREEN))
        if html is not None:
            Screen().show(Text(f"The page is in {html}", style="dim"))


def _write(path: Path, text: str) -> None:
    """The file appears under its name only when it is whole."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _shown(found: Audit, most: int | None) -> RenderableType:
    if not found.tables:
        return Group(Text(f"There is no table below {found.root}.", style="yellow"), _skipped(found))
    ranked = sorted(found.tables, key=lambda table: (-(table.worst or 0), table.folder))
    parts: list[RenderableType] = [_tables(ranked[:most])]
    if rest := len(ranked[most:]) if most is not None else 0:
        parts.append(Text(f"and {rest:,} more: --all, --csv, --json or --html show them", style="dim"))
    parts += [Text("\nfeatures", style="bold"), _features(found, most)]
    out = [standing for standing in found.clients if standing.is_newest and (standing.locked_out or standing.harmed)]
    if out:
        parts += [Text("\nclients, by their newest release known, that are locked out or get tables wrong", style="bold")]
        parts += [_clients(sorted(out, key=lambda standing: (-standing.locked_out, standing.client.name))[:most])]
    return Group(*parts, _sum(found), _skipped(found))


def _tables(tables: list[AuditedTable]) -> RenderableType:
    shown = columns_of("table", "format", "version", "protocol", "features", "size", "files", "changed", "findings")
    for table in tables:
        features = ", ".join(name for name, presence in table.features.items() if presence > Presence.SUPPORTED)
        findings = Text("\n").join(Text(remark.what, style=SEVERITIES[remark.severity]) for remark in table.remarks)
        shown.add_row(
            Text(table.folder or ".", style="bold", overflow="fold"), Text(table.format), Text(_number(table.version)),
            Text(table.protocol or "", overflow="fold"), Text(features),
            Text("" if table.size is None else bytes_of(table.size)), Text(_number(table.files)),
            Text("" if table.modified is None else f"{table.modified:%Y-%m-%d}"), findings,
        )  # fmt: skip
    return shown


def _features(found: Audit, most: int | None) -> RenderableType:
    shown = columns_of("feature", "format", "tables", "supported", "active", "in use")
    for total in found.features[:most]:
        counts = (total.tables, total.supported, total.active, total.in_use)
        shown.add_row(Text(total.feature), Text(total.format), *(Text(_number(count)) for count in counts))
    return shown


def _clients(standings: list[Standing]) -> RenderableType:
    shown = columns_of("client", "releases", "format", "cannot read", "cannot write", "gets wrong", "unknown")
    for one in standings:
        unknown = max(one.read.get(Verdict.UNKNOWN, 0), one.write.get(Verdict.UNKNOWN, 0))
        counts = (one.locked_out, one.write.get(Verdict.REFUSES, 0), one.harmed, unknown)
        shown.add_row(
            Text(one.client.title), Text(one.release.versions), Text(one.client.format), *(Text(_number(c)) for c in counts)
        )
    return shown


def _sum(found: Audit) -> Text:
    known = [table for table in found.tables if table.size is not None]
    size = bytes_of(sum(table.size or 0 for table in known))
    rest = len(found.tables) - len(known)
    worst = {severity: sum(table.worst is severity for table in found.tables) for severity in Severity}
    unsized = f" ({rest:,} do not tell their size: --sizes lists their files)" if rest else ""
    return Text(
        f"\n{len(found.tables):,} tables, {size}{unsized}; {worst[Severity.ERROR]:,} with errors, "
        f"{worst[Severity.WARNING]:,} with warnings; {found.folders:,} folders searched",
        style="dim",
    )


def _skipped(found: Audit) -> Text:
    if not found.skipped:
        return Text("")
    told = "\n".join(f"  {skipped.folder or '.'}: {skipped.why}" for skipped in found.skipped[:10])
    more = f"\n  and {len(found.skipped) - 10:,} more" if len(found.skipped) > 10 else ""
    return Text(f"not searched:\n{told}{more}", style="dim")


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
