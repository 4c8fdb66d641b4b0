"""What does the command line do when something fails?

An `EskerError` is told in one message on standard error, and its class is the exit code, so that a script can tell a wrong
table from a wrong question. A reader that goes away, as `head` does, is no failure.
"""

import os
import sys
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from esker.cli.terminal import Screen
from esker.errors import CommitUnknown, Conflict, EskerError, InvalidRequest, InvalidTable, Unsupported

EXIT_CODES: dict[type[EskerError], int] = {
    InvalidRequest: 2, InvalidTable: 3, Unsupported: 4, Conflict: 5, CommitUnknown: 6,
}  # fmt: skip
"""The exit code of each kind of error; 0 is success and 1 whatever is not in this list."""


class Commands(TyperGroup):
    """The commands, with Esker's errors told and not thrown."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except EskerError as error:
            tell(error)
            raise typer.Exit(exit_code(error)) from error
        except BrokenPipeError as gone:
            hush()
            raise typer.Exit(0) from gone


def exit_code(error: EskerError) -> int:
    """The exit code that stands for the error."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)


def tell(error: EskerError) -> None:
    """Print the error on standard error."""
    Screen(is_aside=True).print(Text("Error: ", style="bold red").append(str(error), style="default"), soft_wrap=True)


def hush() -> None:
    """Send what is still to be printed nowhere: nobody reads it, and Python would complain when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
