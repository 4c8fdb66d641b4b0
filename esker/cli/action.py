"""How is a table changed from the command line, and what is told of it?"""

from collections.abc import Callable
from contextlib import nullcontext

import typer

import esker
from esker.cli import render
from esker.cli.report import Outcome, outcome
from esker.cli.terminal import Screen, progress
from esker.cli.values import document


def perform(table: esker.Table, what: str, as_json: bool, action: Callable[[], object], force: bool = False) -> None:
    """Do it, with something moving on the terminal meanwhile, and tell which version it made.

    With `force` it may break the table's promises.
    """
    before = table.describe()
    with progress(what), table.forced() if force else nullcontext():
        action()
    tell(outcome(table, before), as_json)


def tell(done: Outcome, as_json: bool) -> None:
    """Show what was done."""
    if as_json:
        typer.echo(document(done.to_json()))
    else:
        Screen().show(render.outcome(done))
