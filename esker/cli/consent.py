"""Does the user want what cannot be taken back: files deleted, or other clients locked out?

Asked on a terminal. Where there is none nobody can answer, so the caller must have said yes already.
"""

import sys

import typer

from esker.errors import InvalidRequest


def check_can_ask(is_needless: bool, what: str = "this deletes files") -> None:
    """Refuse at once, before anything is looked for, where there would be nobody to ask."""
    if not is_needless and not _has_terminal():
        raise InvalidRequest(
            f"{what}, and there is no terminal to ask on",
            hint="Add --dry-run to see what would be done, or --yes to have it done.",
        )


def is_agreed(question: str, otherwise: str = "Nothing was deleted.") -> bool:
    """Ask; whoever says no is told that nothing has happened."""
    if typer.confirm(question, err=True):
        return True
    typer.echo(otherwise, err=True)
    return False


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
