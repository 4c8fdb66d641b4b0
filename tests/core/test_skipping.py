"""No file that holds a matching row is skipped, and no file is taken whole that holds another."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
)
from esker.core.skipping import ColumnStats, Outcome, Outcomes, may_match, must_match, outcomes
from tests.core.test_predicate_oracle import PATHS, TYPES, VALUES, Row, cell, evaluate, order, predicates, rows

NAN = float("nan")


@dataclass(frozen=True)
class Known:
    """Statistics by column."""

    count: int
    by_column: dict[Path, ColumnStats]

    def column(self, path: Path) -> ColumnStats | None:
        return self.by_column.get(path)


@st.composite
def files_with_stats(draw: st.DrawFn, paths: tuple[Path, ...]) -> tuple[list[list[Row]], Known]:
    files = draw(st.lists(rows(paths), min_size=1, max_size=4))
    known = {path: draw(column_stats(files, path)) for path in paths if draw(st.integers(0, 7))}
    return files, Known(len(files), known)


@st.composite
def column_stats(draw: st.DrawFn, files: list[list[Row]], path: Path) -> ColumnStats:
    """Statistics that are true of the files: exact, widened, truncated, crossed or missing."""
    kind = TYPES[path[0]][1] if len(path) == 1 else pa.int64()
    has_lower = draw(st.integers(0, 5)) > 0
    lower, upper, null, value = [], [], [], []
    for file in files:
        cells = [cell(row, path) for row in file]
        low, high = draw(bounds(path, [found for found in cells if found is not None and found == found], has_lower))
        lower.append(low)
        upper.append(high)
        null.append(None in cells or draw(st.booleans()))
        value.append(any(found is not None for found in cells) or draw(st.booleans()))
    known = pa.array(lower, kind) if has_lower else None
    return ColumnStats(known, pa.array(upper, kind), np.array(null), np.array(value))


@st.composite
def bounds(draw: st.DrawFn, path: Path, found: Sequence[object], may_cross: bool) -> tuple[object, object]:
    domain = sorted((v for v in VALUES[path] if v == v), key=_key)
    if not found:
        return draw(st.sampled_from((None, *domain))), draw(st.sampled_from((None, *domain)))
    low, high = min(found, key=_key), max(found, key=_key)
    lows = [None, low, *(v for v in domain if order(v, low) <= 0)]
    highs = [None, high, *(v for v in domain if order(v, high) >= 0)]
    if isinstance(low, str) and isinstance(high, str):
        lows += [low[:1], low[:2]]
        highs += [high[:1] + "\U0010ffff"]
    if isinstance(low, float):
        lows.append(NAN)
        highs.append(NAN)
    if may_cross and draw(st.integers(0, 15)) == 0:
        return domain[-1], domain[0]
    return draw(st.sampled_from(lows)), draw(st.sampled_from(highs))


class _key:
    def __init__(self, value: object):
        self.value = value

    def __lt__(self, other: "_key") -> bool:
        return order(self.value, other.value) < 0




@pytest.mark.parametrize("column", PATHS, ids=".".join)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_every_outcome_that_a_row_has_is_among_those_of_its_file(column: Path, data: st.DataObject) -> None:
    paths = (column, ("b",)) if data.draw(st.booleans()) else (column,)
    predicate = data.draw(predicates({path: VALUES[path] for path in paths}))
    files, stats = data.draw(files_with_stats(paths))
    found = outcomes(predicate, stats)
    for number, file in enumerate(files):
        for row in file:
            assert _OUTCOME[evaluate(predicate, row)] in found[number]
        if file:
            assert found[number]
    assert (may_match(predicate, stats) == found.may_true).all()
    assert (must_match(predicate, stats) <= ~found.may_false).all()


_OUTCOME = {True: Outcome.TRUE, False: Outcome.FALSE, None: Outcome.NULL}
X = ("x",)


def one(lower: object, upper: object, kind: pa.DataType, null: bool = False, value: bool = True) -> Known:
    stats = ColumnStats(pa.array([lower], kind), pa.array([upper], kind), np.array([null]), np.array([value]))
    return Known(1, {X: stats})


def is_(operator: str, value: object) -> Comparison:
    return Comparison(X, Operator(operator), value)  # type: ignore[arg-type]


T, F, N = Outcome.TRUE, Outcome.FALSE, Outcome.NULL
LONG, TEXT, DOUBLE = pa.int64(), pa.string(), pa.float64()


@pytest.mark.parametrize(
    "predicate, stats, expected",
    [
        (is_("=", 5), one(1, 9, LONG), T | F),
        (is_("=", 10), one(1, 9, LONG), F),
        (is_("=", 5), one(5, 5, LONG), T),
        (is_("<>", 5), one(5, 5, LONG), F),
        (is_("<", 1), one(1, 9, LONG), F),
        (is_("<=", 9), one(1, 9, LONG), T),
        (is_(">", 9), one(1, None, LONG), T | F),
        (is_(">", 0), one(1, None, LONG, null=True), T | N),
        (is_("=", 5), one(9, 1, LONG), T | F),
        (is_("=", 5), one(None, None, LONG, null=True, value=False), N),
        (is_("=", 5), one(None, None, LONG, value=False), Outcome(0)),
        (is_("=", 5), Known(1, {}), T | F | N),
        (is_("=", "5"), one(1, 4, LONG), T | F),
        (is_(">", 9.0), one(1.0, 2.0, DOUBLE), T | F),
        (is_("=", 9.0), one(1.0, 2.0, DOUBLE), F),
        (is_("<", 0.5), one(1.0, 2.0, DOUBLE), F),
        (is_("<", NAN), one(1.0, 2.0, DOUBLE), T | F),
        (is_(">", NAN), one(1.0, 2.0, DOUBLE), F),
        (is_("=", NAN), one(1.0, 2.0, DOUBLE), T | F),
        (is_("=", 0.5), one(NAN, 0.1, DOUBLE), F),
        (is_("<", 0.0), one(-0.0, 1.0, DOUBLE), F),
        (is_("=", 0.0), one(-0.0, -0.0, DOUBLE), T | F),
        (IsIn(X, (0, 10)), one(1, 9, LONG), F),
        (IsIn(X, (9, 10)), one(1, 9, LONG), T | F),
        (IsIn(X, (0, 10), has_null=True), one(1, 9, LONG), N),
        (IsIn(X, (7, 3, 5)), one(5, 5, LONG), T),
        (IsIn(X, (NAN, 5.0)), one(1.0, 2.0, DOUBLE), T | F),
        (IsIn(X, (5.0,)), one(5.0, 5.0, DOUBLE), T | F),
        (IsIn(X, (NAN,)), one(1.0, 2.0, DOUBLE), T | F),
        (IsIn(X, (False,)), one(True, True, pa.bool_()), F),
        (IsIn(X, ("b", "d")), one("c", None, TEXT), T | F),
        (IsIn(X, ("b", "d")), one("e", None, TEXT), F),
        (StartsWith(X, "ab"), one("aa", "aaz", TEXT), F),
        (StartsWith(X, "ab"), one("abc", "abd", TEXT), T),
        (StartsWith(X, "ab"), one("a", "b", TEXT), T | F),
        (StartsWith(X, "ab"), one("ac", "b", TEXT), F),
        (StartsWith(X, "ab"), one("abz", None, TEXT), T | F),
        (IsNull(X), one(1, 9, LONG), F),
        (IsNull(X), one(None, None, LONG, null=True, value=False), T),
        (Not(IsNull(X)), Known(1, {}), T | F),
        (Opaque("x"), one(1, 9, LONG), T | F | N),
        (And(Opaque("x"), is_("=", 10)), one(1, 9, LONG), F),
        (Or(Opaque("x"), is_("<", 10)), one(1, 9, LONG), T),
        (And(Truth(None), is_("<", 10)), one(1, 9, LONG), N),
        (Or(Truth(None), is_("=", 10)), one(1, 9, LONG), N),
    ],
)
def test_the_outcomes_of_one_file(predicate: Predicate, stats: Known, expected: Outcome) -> None:
    assert outcomes(predicate, stats)[0] == expected


def _timed(ask: Callable[[], Outcomes]) -> float:
    start = time.process_time()
    ask()
    return time.process_time() - start


def test_a_million_files_are_decided_in_well_under_a_second() -> None:
    count = 1_000_000
    ends = np.arange(count)
    masks = np.zeros(count, bool), np.ones(count, bool)
    numbers = Known(count, {X: ColumnStats(pa.array(ends), pa.array(ends + 5), *masks)})
    keys = pa.array(ends).cast(pa.string())
    texts = Known(count, {X: ColumnStats(keys, keys, *masks)})
    assert _timed(lambda: outcomes(is_("=", 500), numbers)) < 0.5
    assert _timed(lambda: outcomes(is_("=", "500"), texts)) < 0.5
    assert _timed(lambda: outcomes(IsIn(X, tuple(range(0, 10**6, 100))), numbers)) < 3
