"""How are columns, properties and constraints of a table changed from the command line?

A column is named by its path as SQL spells it: `address.city`.
"""

from typing import Annotated, TypeAlias

import typer

from esker.cli.action import perform
from esker.cli.options import AsJson, Force, Location, Relocate, StorageOption, opened, pairs

Column: TypeAlias = Annotated[str, typer.Argument(metavar="COLUMN", help="The column, as in address.city.")]
First: TypeAlias = Annotated[bool, typer.Option("--first", help="Before all others.")]
After: TypeAlias = Annotated[str | None, typer.Option("--after", metavar="COLUMN", help="Right after this one.")]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The constraint's name.")]


def set_(
    table: Location,
    properties: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="What the properties are to be.")],
    force: Force = False, as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Set table properties."""
    wanted = pairs(properties, "the property", "KEY=VALUE")
    found = opened(table, None, None, None, storage_option)
    perform(found, "setting properties", as_json, lambda: found.set_properties(wanted), force)


def unset(
    table: Location,
    properties: Annotated[list[str], typer.Argument(metavar="KEY...", help="The properties that are to go.")],
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Take properties out of the table."""
    found = opened(table, None, None, None, storage_option)
    perform(found, "unsetting properties", as_json, lambda: found.unset_properties(*properties))


def add_column(
    table: Location,
    columns: Annotated[str, typer.Argument(metavar="DDL", help="The columns: \"note string COMMENT 'free text'\".")],
    parent: Annotated[str | None, typer.Option("--to", metavar="STRUCT", help="Add them to this struct.")] = None,
    first: First = False, after: After = None,
    force: Force = False, as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Add columns, which are null in the rows that are there."""
    found = opened(table, None, None, None, storage_option)
    perform(
        found, "adding columns", as_json, lambda: found.add_columns(columns, parent=parent, first=first, after=after), force
    )


def rename_column(
    table: Location, column: Column,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="What it is to be called.")],
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Call a column otherwise; the table needs column mapping."""
    found = opened(table, None, None, None, storage_option)
    perform(found, "renaming", as_json, lambda: found.rename_column(column, new_name))


def drop_column(
    table: Location,
    columns: Annotated[list[str], typer.Argument(metavar="COLUMN...", help="The columns that are to go.")],
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Drop columns; the table needs column mapping."""
    found = opened(table, None, None, None, storage_option)
    perform(found, "dropping columns", as_json, lambda: found.drop_columns(*columns))


def move_column(
    table: Location, column: Column, first: First = False, after: After = None,
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Move a column to another place in its struct; without an option to the end."""
    found = opened(table, None, None, None, storage_option)
    perform(found, "moving", as_json, lambda: found.move_column(column, first=first, after=after))


def change_type(
    table: Location, column: Column, kind: Annotated[str, typer.Argument(metavar="TYPE", help="The wider type.")],
    force: Force = False, as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Give a column a wider type; the table needs type widening."""
    found = opened(table, None, None, None, storage_option)
    perform(found, "changing the type", as_json, lambda: found.change_type(column, kind), force)


def add_constraint(
    table: Location, name: Name,
    condition: Annotated[str, typer.Argument(metavar="SQL", help="What must be true for each row.")],
    force: Force = False, as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Have each row fulfil a condition; Spark looks whether those that are there do."""
    found = opened(table, None, None, relocate, storage_option)
    perform(found, "adding the constraint", as_json, lambda: found.add_constraint(name, condition), force)


def drop_constraint(
    table: Location, name: Name, as_json: AsJson = False, storage_option: StorageOption = None
) -> None:
    """Ask a condition of rows no more."""
    found = opened(table, None, None, None, storage_option)
    perform(found, "dropping the constraint", as_json, lambda: found.drop_constraint(name))
