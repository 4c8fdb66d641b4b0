"""What does the text of a condition mean?

Spark SQL's syntax, read by sqlglot's grammar for it. Comparisons of a column with literals, IN, BETWEEN, IS NULL, plain
LIKE prefixes and their combinations become a `Predicate`; every other part becomes `Opaque`: never dropped, never
guessed. Literals stay of the kind they are written in; `binding` fits them to the columns.

A timestamp written without a zone is in `zone`, which is UTC unless the caller knows the session's.
"""

import re
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal as Number
from decimal import InvalidOperation
from math import isinf

import numpy as np
import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from esker.core.predicate import (
    Comparison,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Path,
    Predicate,
    StartsWith,
    Truth,
    Value,
    all_of,
    any_of,
)
from esker.errors import InvalidRequest

_SPARK = sqlglot.Dialect.get_or_raise("spark")
# sqlglot reads half of a surrogate pair as a question mark, Spark reads the pair as one character
_SURROGATE = re.compile(r"\\[uU](0000)?[dD][89a-fA-F]|[\ud800-\udfff]")


def parse(text: str, zone: tzinfo = UTC) -> Predicate:
    """The condition that `text` states; `InvalidRequest`, with the position, where it is not one."""
    try:
        _refuse_foreign_tokens(text, _SPARK.tokenize(text))
        tree = sqlglot.parse_one(text, dialect=_SPARK)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        what = str(first.get("description") or error).split("\n")[0]
        if what.startswith("Required keyword"):  # its words are those of the parser's own classes
            what = "something is missing"
        raise _refusal(text, what, first.get("line"), first.get("col")) from error
    except TokenError as error:
        raise _refusal(text, "a quoted text or a comment does not end, or a character has no meaning") from error
    except RecursionError as error:
        raise _refusal(text, "it is nested too deeply") from error
    if not isinstance(tree, exp.Condition) or isinstance(tree, exp.Query | exp.Alias | exp.Star):
        raise _refusal(text, f"a condition is expected, not a {type(tree).__name__.upper()}")
    try:
        return _Reader(zone, has_surrogates=_SURROGATE.search(text) is not None).predicate(tree)
    except RecursionError as error:
        raise _refusal(text, "it is nested too deeply") from error


class _Reader:
    def __init__(self, zone: tzinfo, has_surrogates: bool):
        self.zone = zone
        self.has_surrogates = has_surrogates

    def predicate(self, node: exp.Expr) -> Predicate:
        if not _is_plain(node):
            return _opaque(node)
        match node:
            case exp.Paren():
                return self.predicate(node.this)
            case exp.And():
                return all_of(*(self.predicate(part) for part in node.flatten(unnest=False)))
            case exp.Or():
                return any_of(*(self.predicate(part) for part in node.flatten(unnest=False)))
            case exp.Not():
                return Not(self.predicate(node.this))
            case exp.Boolean():
                return Truth(bool(node.this))
            case exp.Null():
                return Truth(None)
            case exp.Column() | exp.Dot():
                column = _column(node)
                return Comparison(column, Operator.EQ, True) if column else _opaque(node)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self.comparison(node)
            case exp.NullSafeEQ():
                return self.null_safe(node)
            case exp.NullSafeNEQ():
                found = self.null_safe(node)
                return found if isinstance(found, Opaque) else Not(found)
            case exp.Between():
                return self.between(node)
            case exp.In():
                return self.is_in(node)
            case exp.Is():
                return self.is_constant(node)
            case exp.Like() | exp.StartsWith():
                return self.prefix(node)
        return _opaque(node)

    def comparison(self, node: exp.Binary) -> Predicate:
        operator = _OPERATORS[type(node)]
        left, right = _column(node.this), _column(node.expression)
        if left and right is None:
            return self.compared(left, operator, node.expression) or _opaque(node)
        if right and left is None:
            return self.compared(right, operator.flipped, node.this) or _opaque(node)
        return _opaque(node)

    def compared(self, column: Path, operator: Operator, side: exp.Expr) -> Predicate | None:
        if _is_null(side):
            return Truth(None)
        value = self.literal(side)
        return None if value is None else Comparison(column, operator, value)

    def null_safe(self, node: exp.Binary) -> Predicate:
        column, side = _column(node.this), node.expression
        if column is None:
            column, side = _column(node.expression), node.this
        if column and _is_null(side):
            return IsNull(column)
        value = self.literal(side)
        if column is None or value is None:
            return _opaque(node)
        return all_of(Not(IsNull(column)), Comparison(column, Operator.EQ, value))

    def between(self, node: exp.Between) -> Predicate:
        column = _column(node.this)
        low = self.compared(column, Operator.GE, node.args["low"]) if column else None
        high = self.compared(column, Operator.LE, node.args["high"]) if column else None
        return all_of(low, high) if low and high else _opaque(node)

    def is_in(self, node: exp.In) -> Predicate:
        column, items = _column(node.this), node.expressions
        values = [self.literal(item) for item in items if not _is_null(item)]
        found = tuple(value for value in values if value is not None)
        if column is None or not items or len(found) < len(values):
            return _opaque(node)
        has_null = len(values) < len(items)
        return IsIn(column, found, has_null) if found else Truth(None)

    def is_constant(self, node: exp.Is) -> Predicate:
        column = _column(node.this)
        match node.expression:
            case exp.Null() if column:
                return IsNull(column)
            case exp.Boolean(this=value) if column:
                return all_of(Not(IsNull(column)), Comparison(column, Operator.EQ, bool(value)))
        return _opaque(node)

    def prefix(self, node: exp.Expr) -> Predicate:
        column, pattern = _column(node.this), self.literal(node.args["expression"])
        if column is None or not isinstance(pattern, str):
            return _opaque(node)
        if isinstance(node, exp.StartsWith):
            return StartsWith(column, pattern)
        stem = pattern.removesuffix("%")
        if not set(stem).isdisjoint("%_\\"):
            return _opaque(node)
        # Of what is no text Spark looks at the text: 5.0 is not LIKE '5'. A list of texts is compared so too, unlike `=`.
        found = IsIn(column, (pattern,)) if stem == pattern else StartsWith(column, stem)
        # `x NOT LIKE y` is not a NOT around a LIKE here, but a flag on it.
        return Not(found) if node.args.get("negate") else found

    def literal(self, node: exp.Expr) -> Value | None:
        """The value that is written; None where it is not a literal that we can read exactly."""
        match node:
            case exp.Paren():
                return self.literal(node.this)
            case exp.Neg():
                return _negated(self.literal(node.this))
            case exp.Boolean():
                return bool(node.this)
            case exp.Literal(is_string=True) | exp.RawString():
                return None if self.has_surrogates else str(node.this)
            case exp.Literal():
                return _number(str(node.this))
            case exp.HexString():
                return bytes.fromhex(node.this) if len(node.this) % 2 == 0 else None
            case exp.Cast() if _is_plain(node):
                value = self.literal(node.this)
                return None if value is None else _cast(value, node.to, self.zone)
        return None


_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: Operator.EQ, exp.NEQ: Operator.NE, exp.LT: Operator.LT, exp.LTE: Operator.LE, exp.GT: Operator.GT,
    exp.GTE: Operator.GE,
}


def date_of(text: str) -> date | None:
    """The day that Spark's cast from text to date gives, for the forms that name nothing but a day."""
    found = re.fullmatch(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", text.strip(" "), re.ASCII)
    try:
        return date(*(int(part or 1) for part in found.groups())) if found else None
    except ValueError:
        return None


def timestamp_of(text: str) -> datetime | None:
    """The reading that Spark's cast from text to timestamp takes, with a zone only where the text states an offset."""
    found = re.fullmatch(
        r"(?P<day>\d{4}-\d{1,2}-\d{1,2})"
        r"(?:[ T](?P<h>\d{1,2}):(?P<m>\d{1,2}):(?P<s>\d{1,2})(?:\.(?P<us>\d{1,6}))?(?P<zone>Z|[+-]\d\d:\d\d)?)?",
        text.strip(" "), re.ASCII,
    )
    day = date_of(found["day"]) if found else None
    if found is None or day is None:
        return None
    try:
        hour, minute, second = (int(found[part] or 0) for part in ("h", "m", "s"))
        micros = int((found["us"] or "").ljust(6, "0"))
        reading = datetime(day.year, day.month, day.day, hour, minute, second, micros)
        zone = datetime.strptime(found["zone"], "%z").tzinfo if found["zone"] else None
        return reading.replace(tzinfo=zone).astimezone(UTC) if zone else reading
    except (ValueError, OverflowError):
        return None


def instant(reading: datetime, zone: tzinfo) -> datetime | None:
    """The instant at which clocks in `zone` show `reading`: the first of two; in a gap, moved on as Spark does."""
    if reading.tzinfo is not None or is_utc(zone):
        return reading if reading.tzinfo else reading.replace(tzinfo=UTC)
    # Before 1970 the time zone databases of Python and Java need not agree.
    return None if reading.year < 1971 else reading.replace(tzinfo=zone).astimezone(UTC)


def is_utc(zone: tzinfo) -> bool:
    """Whether clocks in this zone show UTC at all times."""
    return zone is UTC or str(zone) in ("UTC", "Etc/UTC")


def number_of(text: str) -> int | float | None:
    """The number that Spark's cast from text gives, for the plain forms."""
    text = text.strip(" ")
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        return int(text) if len(text) < 40 else None
    if _FRACTION.fullmatch(text):
        return float(text)
    return _NAMED.get(text.lower())


_FRACTION = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?", re.ASCII)
_NAMED = {"nan": float("nan"), "infinity": float("inf"), "inf": float("inf"), "-infinity": -float("inf"),
          "-inf": -float("inf"), "+infinity": float("inf"), "+inf": float("inf")}


def _column(node: exp.Expr) -> Path | None:
    match node:
        case exp.Paren():
            return _column(node.this)
        case exp.Dot():
            parent = _column(node.this)
            return (*parent, node.name) if parent and isinstance(node.expression, exp.Identifier) else None
        case exp.Column():
            parts = node.parts
            return tuple(part.name for part in parts) if all(isinstance(p, exp.Identifier) for p in parts) else None
    return None


def _is_null(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return isinstance(node, exp.Null)


def _is_plain(node: exp.Expr) -> bool:
    """Whether the node says nothing beyond what its class says: a flag that we do not know may change its meaning."""
    known = _ARGUMENTS.get(type(node), {"this", "expression"})
    return all(name in known or value in (None, False, []) for name, value in node.args.items())


_ARGUMENTS: dict[type[exp.Expr], set[str]] = {
    exp.Column: {"this", "table", "db", "catalog"},
    exp.Between: {"this", "low", "high"},
    exp.In: {"this", "expressions"},
    exp.Cast: {"this", "to"},
    exp.TryCast: {"this", "to", "safe"},
    exp.Like: {"this", "expression", "negate"},
}


def _opaque(node: exp.Expr) -> Opaque:
    return Opaque(node.sql(dialect=_SPARK, comments=False))


def _number(text: str) -> int | float | Number | None:
    if text.isdecimal():
        return int(text) if len(text.lstrip("0")) <= 38 else None
    if "e" in text.lower():
        value = float(text)
        return None if isinf(value) else value
    exact = Number(text)
    digits = exact.as_tuple()
    return exact if len(digits.digits) <= 38 and -int(digits.exponent) <= 38 else None


def _negated(value: Value | None) -> Value | None:
    if isinstance(value, Number):
        return value.copy_negate()  # the minus sign would round to the digits of Python's decimal context
    return -value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _cast(value: Value, to: exp.DataType, zone: tzinfo) -> Value | None:
    """The value cast as Spark does it, where the cast loses nothing."""
    kind = to.this
    if kind in _INTEGRAL:
        bound = 2 ** (_INTEGRAL[kind] - 1)
        number = number_of(value) if isinstance(value, str) else value
        is_whole = isinstance(number, int) and not isinstance(number, bool)
        return number if is_whole and -bound <= number < bound else None
    match kind, value:
        case (exp.DType.DATE, str()):
            return date_of(value)
        case (exp.DType.TIMESTAMPTZ | exp.DType.TIMESTAMPLTZ | exp.DType.TIMESTAMP, str()):
            reading = timestamp_of(value)
            return None if reading is None else instant(reading, zone)
        case (exp.DType.TIMESTAMPNTZ, str()):
            reading = timestamp_of(value)
            return None if reading is None or reading.tzinfo else reading
        case (exp.DType.DOUBLE, str() | int() | float() | Number()) if not isinstance(value, bool):
            found = number_of(value) if isinstance(value, str) else value
            return None if found is None else float(found)
        case (exp.DType.FLOAT, str() | int() | float() | Number()) if not isinstance(value, bool):
            found = number_of(value) if isinstance(value, str) else value
            return None if found is None else _single(float(found))
        case (exp.DType.DECIMAL, str() | int() | Number()) if not isinstance(value, bool):
            return _decimal(value, to)
        case (exp.DType.TEXT, str()) | (exp.DType.BOOLEAN, bool()) | (exp.DType.BINARY, bytes()):
            return value
    return None


_INTEGRAL = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.INT: 32, exp.DType.BIGINT: 64}


def _single(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _decimal(value: str | int | Number, to: exp.DataType) -> Number | None:
    parameters = [int(parameter.name) for parameter in to.expressions]
    precision, scale = (parameters + [10, 0][len(parameters):])[:2]
    if isinstance(value, str) and not _FRACTION.fullmatch(value.strip(" ")):
        return None
    try:
        exact = Number(value)
        digits = exact.as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(digits.exponent, int) or -digits.exponent > scale or exact.adjusted() >= precision - scale:
        return None
    return exact


def _refuse_foreign_tokens(text: str, tokens: list[Token]) -> None:
    # sqlglot reads 0x1F and 0b11 as numbers; Spark reads them as names.
    for token in tokens:
        if token.token_type in (TokenType.HEX_STRING, TokenType.BIT_STRING) and text[token.start] == "0":
            raise _refusal(text, f"{text[token.start : token.end + 1]} is not a literal", token.line, token.col)


def _refusal(text: str, what: str, line: int | None = None, column: int | None = None) -> InvalidRequest:
    where = f" at line {line}, column {column}" if line and column else ""
    return InvalidRequest(f"cannot read the condition{where}: {what}", problems=[text] if text.strip() else [])
