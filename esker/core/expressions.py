"""What may a caller say of a row?"""

import re
from collections.abc import Iterator
from datetime import UTC, tzinfo

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from esker.core.arrow_types import to_arrow
from esker.core.binding import bind
from esker.core.predicate import Opaque, Predicate
from esker.core.sql import parse
from esker.core.types import BOOLEAN, INTEGRAL, STRING, Struct, Type
from esker.errors import InvalidRequest

_SPARK = sqlglot.Dialect.get_or_raise("spark")


def row_condition(text: str, schema: Struct, zone: tzinfo | None) -> Predicate:
    """The condition over the schema's columns; times without a zone are in `zone`, and opaque where that is not known.

    Raises `InvalidRequest` where the text is no condition, or none that can be told of a row by itself.
    """
    check_row_expression(text)
    bound = bind(parse(text, zone or UTC), schema, zone or UTC)
    return Opaque(text) if zone is None else bound


def expression_problems(text: str) -> Iterator[str]:
    """Why a text is no expression on one row, as far as that can be told without Spark."""
    try:
        sqlglot.parse_one(text, dialect=_SPARK)
    except SqlglotError:
        yield f"this is no expression: {text}"
    except RecursionError:
        return  # too deep to be told
    yield from _far_sighted(text)


def is_no_condition(text: str, schema: Struct) -> bool:
    """Whether the text certainly says something else of a row than TRUE, FALSE or NULL. Of functions only Spark knows that."""
    try:
        tree = sqlglot.parse_one(text, dialect=_SPARK).unnest()
    except (SqlglotError, RecursionError):
        return False
    if isinstance(tree, exp.Column):
        field = schema.at(tuple(part.name for part in tree.parts))
        return field is not None and field.type != BOOLEAN
    return isinstance(tree, _OF_OTHER_TYPES)


_OF_OTHER_TYPES = (
    exp.Literal, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.BitwiseAnd, exp.BitwiseOr,
    exp.BitwiseXor, exp.BitwiseNot,
)  # fmt: skip


def literal(text: str, kind: Type) -> pa.Scalar | None:
    """The value that a text spells in so many words, in a column of this type; None where Spark has to tell what it is."""
    said = text.strip()
    if said.lower() == "null":
        return pa.scalar(None, to_arrow(kind))
    if kind == BOOLEAN and said.lower() in ("true", "false"):
        return pa.scalar(said.lower() == "true")
    if kind == STRING and _PLAIN_TEXT.fullmatch(said):
        return pa.scalar(said[1:-1])
    if kind in INTEGRAL and _WHOLE.fullmatch(said):
        try:
            return pa.scalar(int(said), to_arrow(kind))
        except (pa.ArrowInvalid, OverflowError):
            return None
    return None


_WHOLE = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_PLAIN_TEXT = re.compile(r"'[^'\\]*'")  # what quotes and backslashes within a text mean, Spark's settings say


def check_row_expression(text: str) -> None:
    """Raise `InvalidRequest` for an expression that looks at more than one row."""
    if found := list(_far_sighted(text)):
        raise InvalidRequest("an expression must be about one row", problems=found)


def _far_sighted(text: str) -> Iterator[str]:
    try:
        tree = sqlglot.parse_one(text, dialect=_SPARK)
    except (SqlglotError, RecursionError):
        return  # what is no expression is for others to refuse
    for kind, name in _FAR_SIGHTED.items():
        if tree.find(kind):
            yield f"{name} has no place in: {text}"


_FAR_SIGHTED: dict[type[exp.Expr], str] = {
    exp.Query: "a subquery",
    exp.AggFunc: "an aggregate function",
    exp.Window: "a window function",
}
