"""What does a filter that Spark pushes down ask for?

Reads the form that Catalyst's `Expression.toJSON` gives: the nodes of one expression in pre-order, each with its class
and its number of children. Spark has already resolved names and made both sides of a comparison of one type. What is
not understood becomes `Opaque`, which only means that no file is skipped for it: Spark checks the rows itself.

Literals that the form does not carry, all `Opaque`: the values of an `InSet` (an IN of more than
`spark.sql.optimizer.inSetConversionThreshold` literals), binary values, and intervals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal as Number
from typing import TypeAlias

import numpy as np

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
from esker.core.sql import instant, timestamp_of
from esker.core.types import Json
from esker.errors import InvalidRequest

Node: TypeAlias = Mapping[str, Json]


def from_catalyst(nodes: Sequence[Node], zone: tzinfo | None = None) -> Predicate:
    """The predicate of one filter.

    Catalyst writes the instants of TIMESTAMP literals as clock readings in the session's time zone: give it as `zone`,
    or conditions on them are `Opaque`. Raises `InvalidRequest` where the nodes are not one expression.
    """
    try:
        tree, rest = _tree(nodes, 0)
        found = _Reader(zone).predicate(tree)
    except RecursionError:
        return Opaque("a filter that is nested too deeply")
    if rest != len(nodes):
        raise InvalidRequest("a filter from Spark is not one expression")
    return found


@dataclass(frozen=True, slots=True)
class _Tree:
    """An expression: the last part of its class name, what it says, its children."""

    name: str
    node: Node
    children: tuple["_Tree", ...]

    def __str__(self) -> str:
        match self.name:
            case "AttributeReference":
                return str(self.node.get("name"))
            case "Literal":
                return str(self.node.get("value"))
        return f"{self.name}({', '.join(map(str, self.children))})"


def _tree(nodes: Sequence[Node], at: int) -> tuple[_Tree, int]:
    try:
        node = nodes[at]
        name, count = str(node["class"]).rsplit(".", 1)[-1], int(str(node["num-children"]))
    except (IndexError, KeyError, ValueError) as error:
        raise InvalidRequest("a filter from Spark is not one expression") from error
    children: list[_Tree] = []
    at += 1
    for _ in range(count):
        child, at = _tree(nodes, at)
        children.append(child)
    return _Tree(name, node, tuple(children)), at


class _Reader:
    def __init__(self, zone: tzinfo | None):
        self.zone = zone

    def predicate(self, tree: _Tree) -> Predicate:
        match tree.name:
            case "And":
                return all_of(*(self.predicate(part) for part in _chain(tree)))
            case "Or":
                return any_of(*(self.predicate(part) for part in _chain(tree)))
            case "Not":
                return Not(self.predicate(tree.children[0]))
            case "IsNull" | "IsNotNull":
                column = _column(tree.children[0])
                return Opaque(str(tree)) if column is None else _null_test(tree.name, column.path)
            case "AttributeReference" | "GetStructField":
                column = _column(tree)
                is_boolean = column is not None and column.type == "boolean"
                return Comparison(column.path, Operator.EQ, True) if column and is_boolean else Opaque(str(tree))
            case "Literal" if tree.node.get("dataType") == "boolean":
                value = self.literal(tree, "boolean")
                return Truth(value if isinstance(value, bool) else None)
            case "In":
                return self.listed(tree) or Opaque(str(tree))
            case "StartsWith":
                return self.prefixed(tree) or Opaque(str(tree))
            case "EqualNullSafe":
                found = self.compared(tree, Operator.EQ)
                if isinstance(found, Comparison):
                    return all_of(Not(IsNull(found.column)), found)
                return Opaque(str(tree))
        if operator := _OPERATORS.get(tree.name):
            return self.compared(tree, operator) or Opaque(str(tree))
        return Opaque(str(tree))

    def compared(self, tree: _Tree, operator: Operator) -> Predicate | None:
        left, right = tree.children
        column, literal = _column(left), right
        if column is None:
            column, literal, operator = _column(right), left, operator.flipped
        if column is None or literal.name != "Literal":
            return None
        if literal.node.get("value") is None:
            return Truth(None)
        value = self.literal(literal, column.type)
        return None if value is None else Comparison(column.path, operator, value)

    def listed(self, tree: _Tree) -> Predicate | None:
        column, items = _column(tree.children[0]), tree.children[1:]
        if column is None or not items or any(item.name != "Literal" for item in items):
            return None
        given = [item for item in items if item.node.get("value") is not None]
        values = [value for item in given if (value := self.literal(item, column.type)) is not None]
        if len(values) < len(given):
            return None
        return IsIn(column.path, tuple(values), len(given) < len(items)) if values else Truth(None)

    def prefixed(self, tree: _Tree) -> Predicate | None:
        column, literal = _column(tree.children[0]), tree.children[1]
        if column is None or literal.name != "Literal":
            return None
        value = self.literal(literal, column.type)
        return StartsWith(column.path, value) if isinstance(value, str) else None

    def literal(self, tree: _Tree, expected: Json) -> Value | None:
        """The value of a literal of the expected type; None where the text does not carry it exactly."""
        text, kind = tree.node.get("value"), tree.node.get("dataType")
        if not isinstance(text, str) or not isinstance(kind, str) or kind != expected:
            return None
        try:
            return self._value(text, kind)
        except (ValueError, ArithmeticError):
            return None

    def _value(self, text: str, kind: str) -> Value | None:
        match kind:
            case "boolean":
                return {"true": True, "false": False}.get(text)
            case "byte" | "short" | "integer" | "long":
                return int(text)
            case "double":
                return float(text)
            case "float":
                return float(np.float32(text))
            case "string":
                return text
            case "date":
                return date.fromisoformat(text)
            case "timestamp":
                return self._instant(text)
            case "timestamp_ntz":  # unlike the others, as a count of microseconds
                return datetime(1970, 1, 1) + timedelta(microseconds=int(text))
        return Number(text) if kind.startswith("decimal(") else None

    def _instant(self, text: str) -> datetime | None:
        reading = timestamp_of(text)
        if reading is None or reading.tzinfo or self.zone is None:
            return None
        first, second = (instant(reading.replace(fold=fold), self.zone) for fold in (0, 1))
        return first if first == second else None  # clocks were set back: the text does not say which of two it is


_OPERATORS = {
    "EqualTo": Operator.EQ,
    "LessThan": Operator.LT,
    "LessThanOrEqual": Operator.LE,
    "GreaterThan": Operator.GT,
    "GreaterThanOrEqual": Operator.GE,
}


@dataclass(frozen=True, slots=True)
class _Column:
    path: Path
    type: Json


def _column(tree: _Tree) -> _Column | None:
    match tree.name:
        case "AttributeReference":
            return _Column((str(tree.node["name"]),), tree.node.get("dataType"))
        case "GetStructField":
            parent = _column(tree.children[0])
            fields = parent.type.get("fields") if parent and isinstance(parent.type, dict) else None
            ordinal = tree.node.get("ordinal")
            if parent is None or not isinstance(fields, list) or not isinstance(ordinal, int):
                return None
            field = fields[ordinal]
            return _Column((*parent.path, str(field["name"])), field["type"]) if isinstance(field, dict) else None
        case "Cast":
            child = _column(tree.children[0])
            return child if child and child.type == tree.node.get("dataType") else None
    return None


def _null_test(name: str, column: Path) -> Predicate:
    return IsNull(column) if name == "IsNull" else Not(IsNull(column))


def _chain(tree: _Tree) -> list[_Tree]:
    """The parts of a chain of ANDs or of ORs, in order."""
    found: list[_Tree] = []
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if part.name == tree.name:
            waiting.extend(reversed(part.children))
        else:
            found.append(part)
    return found
