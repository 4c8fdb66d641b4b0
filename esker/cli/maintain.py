"""How is a table kept in shape, taken back, cloned or made of files, from the command line?"""

from datetime import timedelta
from typing import Annotated, TypeAlias

import typer

import esker
from esker.cli import render
from esker.cli.action import perform, tell
from esker.cli.consent import check_can_ask, is_agreed
from esker.cli.options import AsJson, Force, Location, Relocate, StorageOption, Timestamp, Version, names, opened, pairs
from esker.cli.report import VacuumReport, optimize_json, outcome
from esker.cli.terminal import Screen, progress
from esker.cli.values import bytes_of, document
from esker.delta.intervals import parse_interval
from esker.delta.properties import log_retention
from esker.errors import InvalidRequest

Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed where there is no terminal to ask on.")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]


def optimize(
    table: Location,
    where: Annotated[
        str | None, typer.Option("--where", "-w", metavar="SQL", help="Only partitions for which this is true.")
    ] = None,
    z_order_by: Annotated[
        str | None, typer.Option("--z-order-by", "-z", metavar="A,B", help="Bring rows with like values together.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Cluster again what is clustered.")] = False,
    target_size: Annotated[
        int | None, typer.Option("--target-size", min=1, metavar="BYTES", help="How large files should be.")
    ] = None,
    dry_run: DryRun = False, as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Pack small files into larger ones, or lay rows out anew, on Spark."""
    found = opened(table, None, None, relocate, storage_option)
    columns = names(z_order_by, "--z-order-by") or ()
    if not dry_run:
        perform(
            found, "optimizing", as_json,
            lambda: found.optimize(where, z_order_by=columns, full=full, target_size=target_size),
        )  # fmt: skip
        return
    with progress("looking for files"):
        plan = found.optimize(where, z_order_by=columns, full=full, target_size=target_size, dry_run=True)
    if as_json:
        typer.echo(document(optimize_json(plan)))
    else:
        Screen().show(render.optimize(plan))


def purge(
    table: Location,
    where: Annotated[
        str | None, typer.Option("--where", "-w", metavar="SQL", help="Only partitions for which this is true.")
    ] = None,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Rewrite the files of which rows were deleted, on Spark, so that the rows are gone from them."""
    found = opened(table, None, None, relocate, storage_option)
    perform(found, "purging", as_json, lambda: found.purge(where))


def cluster_by(
    table: Location,
    columns: Annotated[
        list[str] | None, typer.Argument(metavar="[COLUMN...]", help="By which columns; none to cluster no more.")
    ] = None,
    force: Force = False, as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Say by which columns optimize keeps rows together."""
    found = opened(table, None, None, None, storage_option)
    perform(found, "setting the clustering columns", as_json, lambda: found.cluster_by(*(columns or ())), force)


def vacuum(
    table: Location,
    retention: Annotated[
        str | None,
        typer.Option("--retention", "-r", metavar="TIME", help="Keep what was needed so long ago: hours, or '7 days'."),
    ] = None,
    lite: Annotated[bool, typer.Option("--lite", help="Go by the log; do not list the storage.")] = False,
    allow_unsafe: Annotated[
        bool, typer.Option("--allow-unsafe", help="Allow less than the table's own retention: readers may lose files.")
    ] = False,
    dry_run: DryRun = False, yes: Yes = False, as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Delete files that no version needs any more: shows which, and asks."""
    kept = None if retention is None else _time(retention)
    check_can_ask(yes or dry_run)
    found = opened(table, None, None, None, storage_option)
    if not yes:
        with progress("looking for files"):
            would_go = VacuumReport(found.location, found.vacuum(kept, lite=lite, dry_run=True, allow_unsafe=allow_unsafe))
        if dry_run or not would_go.done.files:
            _show(would_go, as_json)
            return
        Screen(is_aside=as_json).show(render.vacuum(would_go))
        if not is_agreed(f"Delete these {len(would_go.done.files):,} files, {bytes_of(would_go.done.size)}?"):
            return
    with progress("deleting", unit="files") as bar:
        done = found.vacuum(kept, lite=lite, allow_unsafe=allow_unsafe, progress=bar.set)
    _show(VacuumReport(found.location, done, found.version), as_json)


def restore(
    table: Location, version: Version = None, timestamp: Timestamp = None,
    ignore_missing: Annotated[
        bool, typer.Option("--ignore-missing", help="Leave out files that are gone; their rows are lost.")
    ] = False,
    force: Force = False, as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Take the table back to an earlier version, by a new one."""
    found = opened(table, None, None, relocate, storage_option)
    perform(found, "restoring", as_json, lambda: found.restore(version, timestamp, ignore_missing=ignore_missing), force)


def clone(
    table: Location, to: Annotated[str, typer.Argument(metavar="NEW", help="The path or URL of the clone.")],
    version: Version = None, timestamp: Timestamp = None,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Make a table of its own that shares this one's files."""
    found = opened(table, version, timestamp, relocate, storage_option)
    with progress("cloning"):
        made = found.clone(to, storage_options=pairs(storage_option, "--storage-option", "KEY=VALUE"))
    tell(outcome(made), as_json)


def convert(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A path or a URL of Parquet files.")],
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", metavar="DDL", help="What the folders state: 'day date, country string'.")
    ] = None,
    infer_types: Annotated[
        bool, typer.Option("--infer-types/--no-infer-types", help="Whether partition values tell their types.")
    ] = True,
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Make a table of Parquet files, where they lie."""
    with progress("reading footers"):
        made = esker.convert(
            folder, partition_by=partition_by, infer_types=infer_types,
            storage_options=pairs(storage_option, "--storage-option", "KEY=VALUE"),
        )  # fmt: skip
    tell(outcome(made), as_json)


def checkpoint(
    table: Location, version: Version = None, timestamp: Timestamp = None,
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Write the table's state down in one piece, so that opening it reads little."""
    found = opened(table, version, timestamp, None, storage_option)
    with progress("writing the checkpoint"):
        found.checkpoint()
    if as_json:
        typer.echo(document({"location": found.location, "checkpoint": found.version}))
    else:
        typer.echo(f"a checkpoint of version {found.version} is written")


def clean_log(table: Location, yes: Yes = False, as_json: AsJson = False, storage_option: StorageOption = None) -> None:
    """Delete history that is older than the table keeps it: asks first."""
    check_can_ask(yes)
    found = opened(table, None, None, None, storage_option)
    kept = log_retention(found.describe().properties)
    if not yes and not is_agreed(f"Delete versions from the log that were replaced more than {_words(kept)} ago?"):
        return
    with progress("deleting"):
        deleted = found.clean_log()
    if as_json:
        typer.echo(document({"location": found.location, "deleted_files": deleted}))
    else:
        typer.echo(f"{deleted:,} files of the log were deleted" if deleted else "no part of the log is old enough to go")


def _words(kept: timedelta) -> str:
    return f"{kept.days} days" if not kept.seconds else f"{kept / timedelta(hours=1):g} hours"


def _time(text: str) -> timedelta:
    """A number of hours, or an interval as table properties have it."""
    is_number = text.replace(".", "", 1).isdecimal()
    try:
        return parse_interval(f"{text} hours" if is_number else text)
    except ValueError as error:
        raise InvalidRequest(f"--retention {text} is neither a number of hours nor a time such as '7 days'") from error


def _show(done: VacuumReport, as_json: bool) -> None:
    if as_json:
        typer.echo(document(done.to_json()))
    else:
        Screen().show(render.vacuum(done))
