"""What can be asked of a row?

The condition of a filter as a closed set of values, with SQL's three truth values. A part that Esker cannot reason
about is `Opaque`: it may turn out TRUE, FALSE or NULL, so it never lets a file be skipped, and only Spark can evaluate
it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal as Number
from enum import Enum
from typing import TypeAlias, assert_never

Path: TypeAlias = tuple[str, ...]
Value: TypeAlias = bool | int | float | Number | str | bytes | date | datetime
"""A literal that is not null. A `datetime` with a zone is an instant, one without is a wall clock reading."""


class Operator(Enum):
    """How a column is compared with a literal."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def flipped(self) -> "Operator":
        """The operator with its sides exchanged: `3 < x` is `x > 3`."""
        return {
            Operator.LT: Operator.GT, Operator.LE: Operator.GE, Operator.GT: Operator.LT, Operator.GE: Operator.LE,
        }.get(self, self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column op value`. NULL where the column is null; as in Spark, NaN equals itself and exceeds all numbers."""

    column: Path
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class IsIn:
    """`column IN (values...)`; `has_null` tells that NULL is listed too, which turns FALSE into NULL."""

    column: Path
    values: tuple[Value, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column IS NULL`: never NULL itself."""

    column: Path


@dataclass(frozen=True, slots=True)
class StartsWith:
    """`column LIKE 'prefix%'`."""

    column: Path
    prefix: str


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant: TRUE, FALSE, or NULL (None)."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition only Spark can evaluate; `text` is for messages."""

    text: str


@dataclass(frozen=True, slots=True)
class Not:
    """TRUE where the child is FALSE, and the other way round; NULL stays NULL."""

    child: "Predicate"


@dataclass(frozen=True, slots=True)
class And:
    """TRUE where both are; FALSE where one is, whatever the other."""

    left: "Predicate"
    right: "Predicate"


@dataclass(frozen=True, slots=True)
class Or:
    """TRUE where one is, whatever the other; FALSE where both are."""

    left: "Predicate"
    right: "Predicate"


Predicate: TypeAlias = Comparison | IsIn | IsNull | StartsWith | Truth | Opaque | Not | And | Or


def all_of(*parts: Predicate) -> Predicate:
    """The conjunction of all parts; TRUE for none."""
    return _balanced(And, parts) if parts else Truth(True)


def any_of(*parts: Predicate) -> Predicate:
    """The disjunction of all parts; FALSE for none."""
    return _balanced(Or, parts) if parts else Truth(False)


def columns(predicate: Predicate) -> Iterator[Path]:
    """The columns that the predicate names, possibly more than once."""
    match predicate:
        case Comparison() | IsIn() | IsNull() | StartsWith():
            yield predicate.column
        case Not():
            yield from columns(predicate.child)
        case And() | Or():
            yield from columns(predicate.left)
            yield from columns(predicate.right)


def opaque_parts(predicate: Predicate) -> Iterator[str]:
    """The text of every part that only Spark can evaluate."""
    match predicate:
        case Opaque():
            yield predicate.text
        case Not():
            yield from opaque_parts(predicate.child)
        case And() | Or():
            yield from opaque_parts(predicate.left)
            yield from opaque_parts(predicate.right)


def describe(predicate: Predicate) -> str:
    """The predicate as SQL-like text, for messages."""
    match predicate:
        case Comparison():
            return f"{_name(predicate.column)} {predicate.operator.value} {_literal(predicate.value)}"
        case IsIn():
            items = [*map(_literal, predicate.values), *(["NULL"] if predicate.has_null else [])]
            return f"{_name(predicate.column)} IN ({', '.join(items)})"
        case IsNull():
            return f"{_name(predicate.column)} IS NULL"
        case StartsWith():
            return f"startswith({_name(predicate.column)}, {_literal(predicate.prefix)})"
        case Truth():
            return "NULL" if predicate.value is None else str(predicate.value).upper()
        case Opaque():
            return predicate.text
        case Not():
            return f"NOT ({describe(predicate.child)})"
        case And():
            return f"({describe(predicate.left)} AND {describe(predicate.right)})"
        case Or():
            return f"({describe(predicate.left)} OR {describe(predicate.right)})"
    assert_never(predicate)


def _balanced(joined: type[And] | type[Or], parts: tuple[Predicate, ...]) -> Predicate:
    # A long chain must not become a deep tree: every reader of a predicate recurses over it.
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return joined(_balanced(joined, parts[:middle]), _balanced(joined, parts[middle:]))


def _name(column: Path) -> str:
    return ".".join(part if part.isidentifier() else "`" + part.replace("`", "``") + "`" for part in column)


def _literal(value: Value) -> str:
    match value:
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            return f"TIMESTAMP{'' if value.tzinfo else '_NTZ'} '{value}'"
        case date():
            return f"DATE '{value}'"
        case float():
            return f"{value!r}D"
    return str(value)
