"""What can be seen of a table from the command line?

Each command is a few lines: open the table, ask it, show the answer. The words are those of the Python methods.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from esker.cli import output, render
from esker.cli.options import (
    AsJson,
    Columns,
    Engine,
    Limit,
    Location,
    Output,
    ReadBy,
    Ref,
    Relocate,
    StorageOption,
    Timestamp,
    Version,
    Where,
    names,
    opened,
)
from esker.cli.report import FileTotals, Inspection, feature_reports, totals
from esker.cli.rows import Rows, of_arrow, of_changes, of_table
from esker.cli.terminal import Screen, Ticker, progress
from esker.cli.values import document

ON_SCREEN = 20
"""How many rows are shown where nobody says how many."""


def inspect(
    table: Location, version: Version = None, timestamp: Timestamp = None, ref: Ref = None,
    files: Annotated[bool, typer.Option("--files", help="Also count files, bytes and rows.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Also compare with the version's checksum file.")] = False,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """What the table says of itself: format, version, protocol, schema, properties, and what is odd about it."""
    found = opened(table, version, timestamp, relocate, storage_option, ref)
    with progress("inspecting"):
        told = Inspection(
            found.describe(), totals(found.files()) if files else None, found.verify() if verify else None
        )
    if as_json:
        typer.echo(document(told.to_json()))
    else:
        Screen().show(render.inspection(told))


def features(
    table: Location, version: Version = None, timestamp: Timestamp = None,
    all_: Annotated[bool, typer.Option("--all", help="Also the features that the table does not have.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Read the whole log: do older versions use the features?")
    ] = False,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Which features the table has, how far each has come, what Esker can do with it, how it is taken out."""
    found = opened(table, version, timestamp, relocate, storage_option)
    reports = feature_reports(found.features(history=history), with_absent=all_)
    if as_json:
        typer.echo(document([report.to_json() for report in reports]))
    else:
        screen = Screen()
        screen.show(render.features(reports, screen))


def read(
    table: Location, version: Version = None, timestamp: Timestamp = None, ref: Ref = None,
    where: Where = None, columns: Columns = None, limit: Limit = None,
    as_json: AsJson = False, output: Output = None, engine: ReadBy = Engine.ARROW,
    relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """The table's rows: the first 20 on the screen, all of them as JSON or into a file."""
    found = opened(table, version, timestamp, relocate, storage_option, ref)
    count = _count(limit, as_json, output)
    rows = of_table(found, names(columns), where, count, engine)
    _give(rows, as_json, output, limit, None if where or output is None else totals(found.files()))


def changes(
    table: Location,
    from_version: Annotated[int | None, typer.Option(min=0, metavar="N", help="The first version to tell of.")] = None,
    to_version: Annotated[int | None, typer.Option(min=0, metavar="N", help="The last; by default the newest.")] = None,
    from_timestamp: Annotated[str | None, typer.Option(metavar="TIME", help="The first moment; ISO 8601.")] = None,
    to_timestamp: Annotated[str | None, typer.Option(metavar="TIME", help="The last moment; ISO 8601.")] = None,
    where: Where = None, columns: Columns = None, limit: Limit = None,
    as_json: AsJson = False, output: Output = None, engine: ReadBy = Engine.ARROW,
    relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """The rows that changed between two versions or moments, both counted."""
    found = opened(table, None, None, relocate, storage_option).changes(
        from_version, to_version, from_timestamp=from_timestamp, to_timestamp=to_timestamp
    )
    _give(of_changes(found, names(columns), where, _count(limit, as_json, output), engine), as_json, output, limit)


def history(
    table: Location, version: Version = None, timestamp: Timestamp = None, ref: Ref = None, limit: Limit = None,
    as_json: AsJson = False, output: Output = None, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """What happened to the table, newest first."""
    with progress("reading the log"):
        found = opened(table, version, timestamp, relocate, storage_option, ref).history(limit)
    if as_json or output is not None:
        _give(of_arrow(found), as_json, output, limit)
    else:
        Screen().show(render.history(found))


def files(
    table: Location, version: Version = None, timestamp: Timestamp = None, ref: Ref = None, limit: Limit = None,
    as_json: AsJson = False, output: Output = None, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """The files that make up the table, with partition, size and rows; as JSON also with statistics."""
    with progress("reading the log"):
        found = opened(table, version, timestamp, relocate, storage_option, ref).files()
    shown = found.slice(0, limit)
    if as_json or output is not None:
        _give(of_arrow(shown), as_json, output, limit)
    else:
        Screen().show(render.files(shown, totals(found)))


def _count(limit: int | None, as_json: bool, output: Path | None) -> int | None:
    return ON_SCREEN if limit is None and output is None and not as_json else limit


def _give(rows: Rows, as_json: bool, path: Path | None, limit: int | None, whole: FileTotals | None = None) -> None:
    """Hand the rows over: into a file, as a JSON document, or on the screen."""
    if path is not None:
        expected = None if whole is None or whole.rows is None else min(whole.rows, limit or whole.rows)
        with progress(f"writing {path.name}", expected) as bar:
            written = output.write(path, rows.schema, _counted(rows.batches, bar))
        typer.echo(document({"rows": written, "output": str(path)}) if as_json else f"{written:,} rows in {path}")
    elif as_json:
        for piece in output.json_document(rows.batches):
            sys.stdout.write(piece)
    else:
        screen = Screen()
        shown, count = render.rows(rows, screen)
        screen.show(shown)
        if limit is None and count == ON_SCREEN:
            typer.echo(f"the first {count} rows; --limit gives more, --output all of them", err=True)


def _counted(batches: Iterable[pa.RecordBatch], bar: Ticker) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        bar.advance(batch.num_rows)
