"""How is what a table asks of its clients changed from the command line?

Each command shows first what it would do, to the table and to its clients, and asks.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, TypeAlias

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from esker.cli.action import perform
from esker.cli.consent import check_can_ask, is_agreed
from esker.cli.maintain import DryRun, Yes
from esker.cli.options import AsJson, Force, Location, Relocate, StorageOption, opened
from esker.cli.render import columns_of
from esker.cli.terminal import Screen, progress
from esker.cli.values import bytes_of, document, moment
from esker.compat.change import ChangePlan
from esker.compat.report import Shift
from esker.core.protocol_changes import Dropped
from esker.core.types import Json

Features: TypeAlias = Annotated[list[str], typer.Argument(metavar="FEATURE...", help="The features, by their names.")]
_CHANGES = "this changes what the table asks of its clients"
_MOST = 12
"""Lines of clients that are shown."""


def enable(
    table: Location, features: Features,
    dry_run: DryRun = False, yes: Yes = False, force: Force = False,
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Enable features: shows what that asks of clients, and asks."""
    check_can_ask(yes or dry_run, _CHANGES)
    found = opened(table, None, None, None, storage_option)
    if _is_wanted(lambda: found.enable(*features, dry_run=True), dry_run, yes, as_json):
        perform(found, "enabling", as_json, lambda: found.enable(*features), force)


def upgrade(
    table: Location,
    reader: Annotated[
        int | None, typer.Option("--reader", min=1, metavar="N", help="The reader version, or an Iceberg table's version.")
    ] = None,
    writer: Annotated[int | None, typer.Option("--writer", min=1, metavar="N", help="The writer version.")] = None,
    dry_run: DryRun = False, yes: Yes = False, force: Force = False,
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Have the table support all that versions of the protocol imply: shows what that asks of clients, and asks."""
    check_can_ask(yes or dry_run, _CHANGES)
    found = opened(table, None, None, None, storage_option)
    if _is_wanted(lambda: found.upgrade(reader, writer, dry_run=True), dry_run, yes, as_json):
        perform(found, "upgrading", as_json, lambda: found.upgrade(reader, writer), force)


def drop_feature(
    table: Location, features: Features,
    truncate_history: Annotated[
        bool, typer.Option("--truncate-history", help="Cut off older versions that need the features.")
    ] = False,
    keep_client: Annotated[
        str | None, typer.Option("--keep-client", metavar="NAME[==V]", help="Choose the way after which this client works.")
    ] = None,
    dry_run: DryRun = False, yes: Yes = False, force: Force = False, as_json: AsJson = False, relocate: Relocate = None,
    storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Take features out of the table: shows what that rewrites and whom it lets in, and asks."""
    check_can_ask(yes or dry_run, _CHANGES)
    found = opened(table, None, None, relocate, storage_option)

    def plan() -> ChangePlan:
        return found.drop_feature(*features, truncate_history=truncate_history, keep_client=keep_client, dry_run=True)

    if _is_wanted(plan, dry_run, yes, as_json):
        with progress("dropping"), found.forced() if force else nullcontext():
            done = found.drop_feature(*features, truncate_history=truncate_history, keep_client=keep_client)
        if as_json:
            typer.echo(document(_dropped_json(done)))
        else:
            Screen().show(_dropped(done))


def _is_wanted(plan: Callable[[], ChangePlan], is_dry: bool, is_agreed_already: bool, as_json: bool) -> bool:
    """Whether the change is to be made: shown first, unless the user has agreed to whatever it is."""
    if is_agreed_already and not is_dry:
        return True
    with progress("looking ahead"):
        found = plan()
    if is_dry and as_json:
        typer.echo(document(plan_json(found)))
        return False
    Screen(is_aside=as_json).show(_plan(found))
    if is_dry:
        return False
    return found.foresight.changes_nothing or is_agreed("Make this change?", "Nothing was changed.")


def plan_json(plan: ChangePlan) -> dict[str, Json]:
    """What a dry run tells."""
    told = plan.foresight
    return {
        "location": told.location, "version": told.version, "dry_run": True,
        "protocol": {"before": told.protocol_before, "after": told.protocol_after}, "properties": dict(told.properties),
        "files": list(told.rewriting.files), "bytes": told.rewriting.size, "steps": list(told.steps),
        "clients": {"gained": [_client_json(c) for c in plan.gained], "lost": [_client_json(c) for c in plan.lost]},
    }  # fmt: skip


def _client_json(change: Shift) -> dict[str, Json]:
    return {
        "client": change.client.name, "versions": change.versions, "operation": change.operation.value,
        "before": change.before.verdict.value, "after": change.after.verdict.value,
        "reasons": [str(reason) for reason in change.deciding.reasons],
    }  # fmt: skip


def _dropped_json(done: Dropped) -> dict[str, Json]:
    return {
        "location": done.location, "version": done.version, "protocol": done.protocol, "dropped": list(done.features),
        "done": done.is_done, "remaining": list(done.remaining), "why": done.why or None,
        "come_back": moment(done.come_back),
    }  # fmt: skip


def _plan(plan: ChangePlan) -> RenderableType:
    told = plan.foresight
    if told.changes_nothing:
        return Text(f"The table is so already: {told.protocol_before}")
    shown = columns_of("", "what")
    shown.add_row(Text("protocol", style="bold"), Text(f"{told.protocol_before}\n→ {told.protocol_after}"))
    if told.properties:
        texts = [f"{name} is taken out" if text is None else f"{name}={text}" for name, text in told.properties.items()]
        shown.add_row(Text("properties", style="bold"), Text("\n".join(texts)))
    if told.rewriting.files:
        size = bytes_of(told.rewriting.size)
        shown.add_row(Text("rewritten", style="bold"), Text(f"{len(told.rewriting.files):,} files, {size}"))
    if told.steps:
        shown.add_row(Text("steps", style="bold"), Text("\n".join(told.steps)))
    for title, changes, style in (("clients gained", plan.gained, "green"), ("clients lost", plan.lost, "red")):
        if changes:
            shown.add_row(Text(title, style="bold"), Text(_clients(changes), style=style))
    return shown


def _clients(changes: tuple[Shift, ...]) -> str:
    lines = [str(change) for change in changes[:_MOST]]
    return "\n".join([*lines, f"and {len(changes) - _MOST} more"] if len(changes) > _MOST else lines)


def _dropped(done: Dropped) -> RenderableType:
    gone = Text(f"{', '.join(done.features)} dropped: {done.location} is at version {done.version}, {done.protocol}")
    if done.is_done:
        return gone
    wait = Text(f"{', '.join(done.remaining)} remains: {done.why}.", style="yellow")
    when = Text(f"Run the same command again after {moment(done.come_back)}.")
    return Group(gone, wait, when) if done.features else Group(wait, when)
