"""Which truth values may the rows of a file take?

For each file the subset of {TRUE, FALSE, NULL} that a predicate may have there, from bounds and null counts, as three
masks over all files. A file may be skipped where TRUE is impossible; it matches whole where nothing but TRUE is left.
The parts of AND and OR are taken as independent, which only ever adds outcomes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Flag
from math import isnan
from typing import Protocol, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import filled, mask_of, rows_of
from esker.core.filtering import comparable
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
)

Mask: TypeAlias = npt.NDArray[np.bool_]


class Outcome(Flag):
    """The truth values that the rows of a file may take."""

    TRUE = 1
    FALSE = 2
    NULL = 4


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """What is known of one column, one entry per file.

    Bounds are inclusive, of the column's type, and null where unknown. Those of a floating column say nothing of NaN. A
    file where the column `may_be_null` and `may_have_value` are both False holds no rows.
    """

    lower: pa.Array | None
    upper: pa.Array | None
    may_be_null: Mask
    may_have_value: Mask
    may_hold: Callable[[Sequence[Value]], Mask] | None = None
    """Which files may hold one of these values, by what else is known, such as the hash of a file's values."""


class Stats(Protocol):
    """What is known of a number of files."""

    @property
    def count(self) -> int:
        """How many files there are."""

    def column(self, path: Path) -> ColumnStats | None:
        """The statistics of a column; None when nothing is known."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Which truth values are possible, one entry per file."""

    may_true: Mask
    may_false: Mask
    may_null: Mask

    def __getitem__(self, file: int) -> Outcome:
        found = Outcome(0)
        for possible, outcome in zip((self.may_true, self.may_false, self.may_null), Outcome, strict=True):
            if possible[file]:
                found |= outcome
        return found

    @property
    def negated(self) -> "Outcomes":
        return Outcomes(self.may_false, self.may_true, self.may_null)

    @property
    def must_be_true(self) -> Mask:
        """Where every row satisfies the predicate."""
        return self.may_true & ~self.may_false & ~self.may_null


def may_match(predicate: Predicate, stats: Stats) -> Mask:
    """False only for the files that hold no row for which the predicate is TRUE."""
    return outcomes(predicate, stats).may_true


def must_match(predicate: Predicate, stats: Stats) -> Mask:
    """True only for the files in which the predicate is TRUE for every row."""
    return outcomes(predicate, stats).must_be_true


def outcomes(predicate: Predicate, stats: Stats) -> Outcomes:
    """The truth values that the rows of each file may take; the predicate must be bound to the table's schema."""
    match predicate:
        case Comparison():
            compared = _compared(predicate, _Bounds.of(stats, predicate.column))
            if predicate.operator is Operator.EQ:
                compared = _held(compared, stats, predicate.column, [predicate.value])
            elif predicate.operator is Operator.NE:
                compared = _flipped(_held(_flipped(compared), stats, predicate.column, [predicate.value]))
            return _outcomes(compared, stats, predicate.column)
        case IsIn():
            listed = _listed(predicate.values, _Bounds.of(stats, predicate.column))
            found = _outcomes(_held(listed, stats, predicate.column, predicate.values), stats, predicate.column)
            if not predicate.has_null:
                return found
            return Outcomes(found.may_true, np.zeros(stats.count, bool), found.may_null | found.may_false)
        case StartsWith():
            return _outcomes(_prefixed(predicate.prefix, _Bounds.of(stats, predicate.column)), stats, predicate.column)
        case IsNull():
            known = stats.column(predicate.column) or _unknown(stats.count)
            return Outcomes(known.may_be_null, known.may_have_value, np.zeros(stats.count, bool))
        case Truth(value=value):
            return Outcomes(*(np.full(stats.count, value is constant) for constant in (True, False, None)))
        case Opaque():
            return Outcomes(*(np.ones(stats.count, bool) for _ in Outcome))
        case Not():
            return outcomes(predicate.child, stats).negated
        case And():
            return _both(outcomes(predicate.left, stats), outcomes(predicate.right, stats))
        case Or():
            left, right = outcomes(predicate.left, stats), outcomes(predicate.right, stats)
            return _both(left.negated, right.negated).negated
    assert_never(predicate)


def _both(a: Outcomes, b: Outcomes) -> Outcomes:
    return Outcomes(
        a.may_true & b.may_true,
        a.may_false | b.may_false,
        (a.may_null & (b.may_true | b.may_null)) | (b.may_null & a.may_true),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """Whether the value that a row has may satisfy or fail the condition."""

    may_satisfy: Mask
    may_fail: Mask


def _held(answer: _Answer | None, stats: Stats, column: Path, values: Sequence[Value]) -> _Answer | None:
    """The answer without the files that cannot hold any of the values."""
    known = stats.column(column)
    if known is None or known.may_hold is None:
        return answer
    held = known.may_hold(values)
    everything = np.ones(stats.count, bool)
    found = answer or _Answer(everything, everything)
    return _Answer(found.may_satisfy & held, found.may_fail | ~held)


def _flipped(answer: _Answer | None) -> _Answer | None:
    return None if answer is None else _Answer(answer.may_fail, answer.may_satisfy)


def _outcomes(answer: _Answer | None, stats: Stats, column: Path) -> Outcomes:
    known = stats.column(column) or _unknown(stats.count)
    if answer is None:
        return Outcomes(known.may_have_value, known.may_have_value, known.may_be_null)
    has_value = known.may_have_value
    return Outcomes(answer.may_satisfy & has_value, answer.may_fail & has_value, known.may_be_null)


def _unknown(count: int) -> ColumnStats:
    return ColumnStats(None, None, np.ones(count, bool), np.ones(count, bool))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Both bounds in one type, with nulls for what is unknown or cannot be true."""

    lower: pa.Array
    upper: pa.Array

    @staticmethod
    def of(stats: Stats, column: Path) -> "_Bounds | None":
        known = stats.column(column)
        bounds = [] if known is None else [bound for bound in (known.lower, known.upper) if bound is not None]
        if known is None or not bounds:
            return None
        lower, upper = (
            pa.nulls(stats.count, bounds[0].type) if bound is None else _flat(bound)
            for bound in (known.lower, known.upper)
        )
        return _Bounds(lower, upper)

    def against(self, values: Sequence[Value]) -> "tuple[_Bounds, pa.Array] | None":
        """The bounds and the literals in one type; None where they cannot be compared."""
        try:
            lower, literals = comparable(self.lower, values)
            upper, same = comparable(self.upper, values)
        except TypeError:
            return None
        if lower.type != upper.type or literals.type != same.type:
            return None
        if pa.types.is_floating(lower.type):
            lower, upper = (pc.if_else(pc.is_nan(bound), None, bound) for bound in (lower, upper))
        crossed = filled(pc.greater(lower, upper), False)
        if pc.any(crossed).as_py():
            nothing = pa.nulls(1, lower.type)[0]
            lower, upper = (pc.if_else(crossed, nothing, bound) for bound in (lower, upper))
        return _Bounds(lower, upper), literals


def _compared(comparison: Comparison, bounds: _Bounds | None) -> _Answer | None:
    known = bounds.against([comparison.value]) if bounds else None
    if known is None:
        return None
    (lower, upper), literal = (known[0].lower, known[0].upper), known[1][0]
    if isinstance(comparison.value, float) and isnan(comparison.value):
        below = same = np.ones(len(lower), bool)
        above = np.zeros(len(lower), bool)
    else:
        below = _possible(pc.less(lower, literal))
        above = _possible(pc.greater(upper, literal))
        same = _possible(pc.less_equal(lower, literal)) & _possible(pc.greater_equal(upper, literal))
        if pa.types.is_floating(lower.type):  # NaN is above every number, and the bounds do not count it
            above = np.ones(len(lower), bool)
    match comparison.operator:
        case Operator.EQ:
            return _Answer(same, below | above)
        case Operator.NE:
            return _Answer(below | above, same)
        case Operator.LT:
            return _Answer(below, same | above)
        case Operator.LE:
            return _Answer(below | same, above)
        case Operator.GT:
            return _Answer(above, below | same)
        case Operator.GE:
            return _Answer(above | same, below)
    assert_never(comparison.operator)


def _listed(values: Sequence[Value], bounds: _Bounds | None) -> _Answer | None:
    numbers = [value for value in values if not (isinstance(value, float) and isnan(value))]
    known = bounds.against(numbers) if bounds else None
    if known is None:
        return None
    (lower, upper), literals = (known[0].lower, known[0].upper), known[1]
    count = len(lower)
    lists_nan, holds_nan = len(numbers) < len(values), pa.types.is_floating(lower.type)
    if not numbers:
        return _Answer(np.full(count, lists_nan), np.ones(count, bool))
    first = np.where(_is_known(lower), _less_than(literals, lower), 0)
    beyond = np.where(_is_known(upper), _at_most(literals, upper), len(literals))
    inside = first < beyond
    single = mask_of(filled(pc.equal(lower, upper), False))
    return _Answer(inside | lists_nan, ~(single & inside) | holds_nan)


def _less_than(literals: pa.Array, bounds: pa.Array) -> npt.NDArray[np.int64]:
    """How many literals are less than each bound: one sort for all, in which a bound comes before its equals."""
    order = rows_of(pc.sort_indices(pa.concat_arrays([bounds, literals])))
    seen = np.empty(len(order), np.int64)
    seen[order] = np.cumsum(order >= len(bounds))
    return seen[: len(bounds)]


def _at_most(literals: pa.Array, bounds: pa.Array) -> npt.NDArray[np.int64]:
    """How many literals are less than or equal to each bound."""
    order = rows_of(pc.sort_indices(pa.concat_arrays([literals, bounds])))
    seen = np.empty(len(order), np.int64)
    seen[order] = np.cumsum(order < len(literals))
    return seen[len(literals) :]


def _prefixed(prefix: str, bounds: _Bounds | None) -> _Answer | None:
    known = bounds.against([prefix]) if bounds else None
    if known is None:
        return None
    (lower, upper), literal = (known[0].lower, known[0].upper), known[1][0]
    lower_has, upper_has = pc.starts_with(lower, prefix), pc.starts_with(upper, prefix)
    reachable = _possible(pc.or_(pc.less(lower, literal), lower_has)) & _possible(pc.greater_equal(upper, literal))
    # Between two strings that share a prefix lie only strings that have it too.
    return _Answer(reachable, ~mask_of(filled(pc.and_(lower_has, upper_has), False)))


def _possible(answers: pa.BooleanArray) -> Mask:
    """What is unknown is possible."""
    return mask_of(filled(answers, True))


def _is_known(bounds: pa.Array) -> Mask:
    return mask_of(pc.is_valid(bounds))


def _flat(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
