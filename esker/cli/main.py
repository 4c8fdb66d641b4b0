"""What can be asked of a table, and done to it, from the command line?

The table of commands. The words are those of the Python methods.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

import esker
from esker.cli import alter, audit, judge, look, maintain, protocol, write
from esker.cli.demo import show
from esker.cli.failures import Commands
from esker.cli.options import Engine

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Read, write, maintain and judge Delta Lake, Iceberg and Lance tables: here or in an object store.",
)


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"esker {esker.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print Esker's version and exit.")
    ] = False,
) -> None: ...


def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="Make the table here and leave it, to play with.")
    ] = None,
    engine: Annotated[Engine, typer.Option("--engine", "-e", help="With arrow, the part on Spark is left out.")] = Engine.SPARK,
) -> None:
    """A whole pipeline in a minute, on a table made for it."""
    show(keep, with_spark=engine is Engine.SPARK)


COMMANDS: Mapping[str, tuple[Callable[..., None], ...]] = {
    "Look and read": (look.inspect, look.features, look.read, look.changes, look.history, look.files),
    "Judge": (judge.compat, judge.require, judge.check, audit.audit),
    "Write rows": (write.create, write.append, write.overwrite, write.delete, write.update, write.merge),
    "Change what it says of itself": (
        alter.set_, alter.unset, alter.add_column, alter.rename_column, alter.drop_column, alter.move_column,
        alter.change_type, alter.add_constraint, alter.drop_constraint,
    ),
    "Change what it asks of clients": (protocol.enable, protocol.upgrade, protocol.drop_feature),
    "Maintain": (
        maintain.optimize, maintain.purge, maintain.cluster_by, maintain.vacuum, maintain.restore, maintain.clone,
        maintain.convert, maintain.checkpoint, maintain.clean_log,
    ),
    "See it all": (demo,),
}  # fmt: skip
"""Each command by the name of its function, as the help groups them."""

for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(command.__name__.strip("_").replace("_", "-"), rich_help_panel=panel)(command)

if __name__ == "__main__":
    app()
