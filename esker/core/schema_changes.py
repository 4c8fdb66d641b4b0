"""What can be asked of a table's columns?

The changes as records. A path names struct fields; it goes into arrays by `element` and into maps by `key` and `value`.
Which of them a table allows, and what they do to it, is for its format to say.
"""

from dataclasses import dataclass
from typing import TypeAlias

from esker.core.predicate import Path
from esker.core.types import Field, Type


@dataclass(frozen=True, slots=True)
class First:
    """Before all other columns of its struct."""


@dataclass(frozen=True, slots=True)
class After:
    """Right behind this column of its struct."""

    name: str


@dataclass(frozen=True, slots=True)
class Last:
    """Behind all other columns of its struct."""


Position: TypeAlias = First | After | Last


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A column that rows so far do not have; `parent` leads to the struct that gets it, empty for the table.

    By default it is null in rows that are there and in those that do not bring it, else it has the value of an expression.
    """

    field: Field
    parent: Path = ()
    position: Position = Last()
    default: str | None = None

    @property
    def path(self) -> Path:
        return (*self.parent, self.field.name)


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column goes; files keep what they hold of it."""

    path: Path


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """A column is called otherwise; files keep the name that they have."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class MoveColumn:
    """A column takes another place in its struct."""

    path: Path
    position: Position


@dataclass(frozen=True, slots=True)
class SetComment:
    """A column gets a comment, or loses it where `comment` is None."""

    path: Path
    comment: str | None


@dataclass(frozen=True, slots=True)
class DropNotNull:
    """A column may be null from here on."""

    path: Path


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """A column is never null, in the rows that are there and in those to come."""

    path: Path


@dataclass(frozen=True, slots=True)
class ChangeType:
    """A column, an element, a key or a value gets a wider type."""

    path: Path
    type: Type


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Rows that do not bring the column get this expression's value, or null where `default` is None."""

    path: Path
    default: str | None


SchemaChange: TypeAlias = (
    AddColumn | DropColumn | RenameColumn | MoveColumn | SetComment | DropNotNull | SetNotNull | ChangeType | SetDefault
)
