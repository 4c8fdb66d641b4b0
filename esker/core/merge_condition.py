"""Which rows of the target can match at all?

From the condition of a merge: what it asks of the target alone, and which columns must equal columns of the source. Whatever
cannot be understood asks nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import assert_never

import sqlglot
from sqlglot import exp

from esker.core import types as t
from esker.core.binding import bind
from esker.core.nesting import resolved
from esker.core.predicate import (
    And,
    Comparison,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
    Path,
    Predicate,
    StartsWith,
    Truth,
    Value,
    all_of,
    columns,
    opaque_parts,
)
from esker.core.sql import parse
from esker.core.types import Decimal, Struct, Type


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a merge: what it is called, and its columns."""

    name: str
    schema: Struct


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A column of the target that must equal one of the source."""

    target: Path
    source: Path


def target_predicate(on: str, target: Side, source: Side, zone: tzinfo | None) -> Predicate:
    """What the condition asks of the target alone, bound to its columns. Raises `InvalidRequest` where it is no condition."""
    condition = parse(on, zone or UTC)
    if zone is None:  # there is no telling what a time without a zone means
        return Truth(True)
    own = [p for p in _conjuncts(condition) if not any(opaque_parts(p)) and _is_about(p, target, source)]
    return all_of(*(bind(_renamed(part, target), target.schema, zone) for part in own))


def key_pairs(on: str, target: Side, source: Side) -> tuple[KeyPair, ...]:
    """The columns that the condition compares for equality, where values of both compare by one order."""
    tree = sqlglot.parse_one(on, dialect="spark")
    pairs = (_pair(node, target, source) for node in _equalities(tree))
    return tuple(dict.fromkeys(pair for pair in pairs if pair is not None))


def within(column: Path, bounds: tuple[Value, Value] | None) -> Predicate:
    """What a column must be to equal one of some values between these bounds; None where there are no values."""
    if bounds is None:
        return Truth(False)
    low, high = bounds
    return all_of(Comparison(column, Operator.GE, low), Comparison(column, Operator.LE, high))


def _conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, And):
        yield from _conjuncts(predicate.left)
        yield from _conjuncts(predicate.right)
    else:
        yield predicate


def _is_about(part: Predicate, target: Side, source: Side) -> bool:
    return all(_own(path, target, source) is not None for path in columns(part))


def _own(path: Path, side: Side, other: Side) -> Path | None:
    """The path within a side that surely means the side's column; None where it may mean another."""
    if path[0].lower() == side.name.lower():
        inner = path[1:]
        return inner if inner and side.schema.find(inner[0]) else None
    if path[0].lower() == other.name.lower() or other.schema.find(path[0]) or not side.schema.find(path[0]):
        return None
    return path


def _renamed(predicate: Predicate, target: Side) -> Predicate:
    """The predicate with the target's name taken off its columns."""
    match predicate:
        case Comparison() | IsIn() | IsNull() | StartsWith():
            path = predicate.column
            return replace(predicate, column=path[1:] if path[0].lower() == target.name.lower() else path)
        case Not():
            return Not(_renamed(predicate.child, target))
        case And():
            return And(_renamed(predicate.left, target), _renamed(predicate.right, target))
        case Or():
            return Or(_renamed(predicate.left, target), _renamed(predicate.right, target))
        case Truth() | Opaque():
            return predicate
    assert_never(predicate)


def _equalities(node: exp.Expr) -> Iterator[exp.Expr]:
    match node:
        case exp.Paren():
            yield from _equalities(node.this)
        case exp.And():
            yield from _equalities(node.left)
            yield from _equalities(node.right)
        case exp.EQ():
            yield node


def _pair(node: exp.Expr, target: Side, source: Side) -> KeyPair | None:
    left, right = (_path(side) for side in (node.this, node.args["expression"]))
    if left is None or right is None:
        return None
    for one, other in ((left, right), (right, left)):
        own, foreign = _own(one, target, source), _own(other, source, target)
        if own is not None and foreign is not None and _compare_alike(target.schema.at(own), source.schema.at(foreign)):
            return KeyPair(resolved(target.schema, own) or own, resolved(source.schema, foreign) or foreign)
    return None


def _path(node: exp.Expr) -> Path | None:
    match node:
        case exp.Paren():
            return _path(node.this)
        case exp.Column():
            parts = node.parts
            return tuple(part.name for part in parts) if all(isinstance(p, exp.Identifier) for p in parts) else None
    return None


def _compare_alike(one: t.Field | None, other: t.Field | None) -> bool:
    """Whether an equal pair of values lies within the bounds of either side. NaN and what is not sorted by bytes need not."""
    if one is None or other is None:
        return False
    if one.type in t.INTEGRAL and other.type in t.INTEGRAL:
        return True
    return one.type == other.type and _is_ordered(one.type)


def _is_ordered(kind: Type) -> bool:
    return isinstance(kind, Decimal) or kind in (t.STRING, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)
