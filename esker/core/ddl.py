"""Which columns does a text declare?

Spark SQL's words for the columns of a table. The text of an expression is taken over as it stands; what it means is
Spark's to say.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from esker.core.ddl_types import read_field_option, read_type
from esker.core.sql_tokens import Cursor, Token, TokenKind, refusal
from esker.core.types import Field, Type


@dataclass(frozen=True, slots=True)
class Identity:
    """How a column is numbered; `allows_explicit` tells whether a row may bring its own number."""

    start: int = 1
    step: int = 1
    allows_explicit: bool = False


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column as it is declared. `default` and `generated` are expressions; at most one source of values is there."""

    field: Field
    default: str | None = None
    generated: str | None = None
    identity: Identity | None = None


def parse_ddl(text: str) -> tuple[ColumnDefinition, ...]:
    """The columns that a list such as `id bigint NOT NULL, name string COMMENT 'x'` declares, in order.

    Raises `InvalidRequest`, with the position, where the text is no such list.
    """
    return _whole(text, _columns)


def parse_type(text: str) -> Type:
    """The type that a text such as `map<string,array<int>>` names. Raises `InvalidRequest` where it names none."""
    return _whole(text, read_type)


_Part = TypeVar("_Part")
# After one of these an operand must follow, so whatever follows belongs to the expression.
_OPERATORS = ("IS", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "THEN", "ELSE", "WHEN", "CASE", "AS", "DISTINCT", "FROM")


def _whole(text: str, part: Callable[[Cursor], _Part]) -> _Part:
    cursor = Cursor(text)
    try:
        found = part(cursor)
    except RecursionError as error:
        raise refusal(text[:100], "it is nested too deeply", 0) from error
    if not cursor.is_done:
        raise cursor.refused("the end is expected")
    return found


def _columns(cursor: Cursor) -> tuple[ColumnDefinition, ...]:
    found = [_column(cursor)]
    while cursor.takes(","):
        found.append(_column(cursor))
    return tuple(found)


def _column(cursor: Cursor) -> ColumnDefinition:
    name = cursor.name()
    column = ColumnDefinition(Field(name, read_type(cursor)))
    seen: set[str] = set()
    while not cursor.token.says(",") and not cursor.is_done:
        at = cursor.token
        said, column = _option(cursor, column)
        if said in seen:
            raise cursor.refused(f"{said} is said once at most: another option is expected", at)
        seen.add(said)
    return column


def _option(cursor: Cursor, column: ColumnDefinition) -> tuple[str, ColumnDefinition]:
    if (declared := read_field_option(cursor, column.field)) is not None:
        return declared[0], replace(column, field=declared[1])
    # "DEFAULT" and "GENERATED" both say where values come from: one of them is enough
    if cursor.takes("DEFAULT"):
        return "a source of values", replace(column, default=_expression(cursor))
    if cursor.takes("GENERATED"):
        return "a source of values", _generated(cursor, column)
    raise cursor.refused("an option of a column, or a comma, is expected")


def _expression(cursor: Cursor) -> str:
    """The text up to a comma or an option of the column that stands outside all brackets."""
    first = cursor.token
    last: Token | None = None
    depth = 0
    while not cursor.is_done and (depth or not _ends_expression(cursor, last)):
        last = cursor.next()
        depth += last.says("(", "[") - last.says(")", "]")
        if depth < 0:
            raise cursor.refused("an expression is expected", last)
    if last is None or depth:
        raise cursor.refused("a closing bracket is expected" if depth else "an expression is expected")
    return cursor.text[first.start : last.end]


def _ends_expression(cursor: Cursor, last: Token | None) -> bool:
    if cursor.token.says(","):
        return True
    if last is None or last.says(*_OPERATORS) or (last.kind is TokenKind.SYMBOL and not last.says(")", "]")):
        return False
    follower = cursor.peek()
    return (
        (cursor.token.says("NOT") and follower.says("NULL"))
        or (cursor.token.says("COMMENT") and follower.kind is TokenKind.STRING)
        or (cursor.token.says("GENERATED") and follower.says("ALWAYS", "BY"))
    )


def _generated(cursor: Cursor, column: ColumnDefinition) -> ColumnDefinition:
    by_default = cursor.takes("BY", "DEFAULT")
    if not by_default:
        cursor.expect("ALWAYS")
    cursor.expect("AS")
    if cursor.takes("IDENTITY"):
        return replace(column, identity=_identity(cursor, by_default))
    if by_default:
        raise cursor.refused("IDENTITY is expected")
    return replace(column, generated=_enclosed(cursor))


def _enclosed(cursor: Cursor) -> str:
    """The text between a parenthesis and the one that closes it."""
    start = cursor.token
    cursor.expect("(")
    depth = 1
    while depth:
        if cursor.is_done:
            raise cursor.refused("a closing parenthesis is expected")
        last = cursor.next()
        depth += last.says("(") - last.says(")")
    text = cursor.text[start.end : last.start].strip()
    if not text:
        raise cursor.refused("an expression is expected", last)
    return text


def _identity(cursor: Cursor, allows_explicit: bool) -> Identity:
    start: int | None = None
    step: int | None = None
    if cursor.takes("("):
        while not cursor.takes(")"):
            if start is None and cursor.takes("START", "WITH"):
                start = cursor.integer()
            elif step is None and cursor.takes("INCREMENT", "BY"):
                at = cursor.token
                step = cursor.integer()
                if step == 0:
                    raise cursor.refused("a step that leads to another number is expected", at)
            else:
                raise cursor.refused("START WITH, INCREMENT BY or a closing parenthesis is expected")
            cursor.takes(",")
    return Identity(1 if start is None else start, 1 if step is None else step, allows_explicit)
