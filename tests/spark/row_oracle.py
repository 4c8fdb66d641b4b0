"""What should delete, update and merge do?  Said in plain Python, over lists of rows.

Rows are dictionaries; a `Row` keeps its tag for as long as it is the same row. Conditions and values come as a text in SQL and as
the function that it stands for. Truth has three values: True, False and None.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

Values = Mapping[str, Any]
COLUMNS = ("n", "k", "v", "s", "p")
SCHEMA = "n bigint, k int, v int, s string, p string"
_TAGS = count()


@dataclass(frozen=True)
class Row:
    values: Values
    tag: int = field(default_factory=lambda: next(_TAGS))

    @property
    def visible(self) -> tuple[Any, ...]:
        return tuple(self.values[name] for name in COLUMNS)

    def with_values(self, values: Values) -> "Row":
        return replace(self, values={**self.values, **values})


@dataclass(frozen=True)
class Said:
    """SQL and what it means. `{t}` and `{s}` in the text stand for the names of the two sides, each with a dot."""

    text: str
    meaning: Callable[[Values, Values], Any]

    def sql(self, target: str = "") -> str:
        return self.text.format(t=target, s="source.")

    def __call__(self, target: Values, source: Values | None = None) -> Any:
        return self.meaning(target, source or {})


def both(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def either(a: bool | None, b: bool | None) -> bool | None:
    return negated(both(negated(a), negated(b)))


def negated(a: bool | None) -> bool | None:
    return None if a is None else not a


def known(meaning: Callable[..., Any], *operands: Any) -> Any:
    """NULL where an operand is."""
    return None if None in operands else meaning(*operands)


CONDITIONS = [
    Said("{t}v > 5", lambda t, s: known(lambda v: v > 5, t["v"])),
    Said("{t}s = 'b'", lambda t, s: known(lambda x: x == "b", t["s"])),
    Said("{t}p = 'x'", lambda t, s: known(lambda x: x == "x", t["p"])),
    Said("{t}p <> 'x'", lambda t, s: known(lambda x: x != "x", t["p"])),
    Said("{t}v IS NULL OR {t}s < 'c'", lambda t, s: either(t["v"] is None, known(lambda x: x < "c", t["s"]))),
    Said("NOT ({t}v BETWEEN 2 AND 7)", lambda t, s: known(lambda v: not 2 <= v <= 7, t["v"])),
    Said("{t}v % 2 = 0", lambda t, s: known(lambda v: v % 2 == 0, t["v"])),
    Said("{t}p IN ('x', NULL)", lambda t, s: True if t["p"] == "x" else None),
    Said("{t}s LIKE 'a%' AND {t}v >= 0",
         lambda t, s: both(known(lambda x: x.startswith("a"), t["s"]), known(lambda v: v >= 0, t["v"]))),
    Said("coalesce({t}s, '') = ''", lambda t, s: (t["s"] or "") == ""),
]  # fmt: skip

PAIR_CONDITIONS = [
    *CONDITIONS,
    Said("{s}v > {t}v", lambda t, s: known(lambda a, b: a > b, s["v"], t["v"])),
    Said("{s}s IS NOT NULL", lambda t, s: s["s"] is not None),
]

SOURCE_CONDITIONS = [
    Said("{s}v > 4", lambda t, s: known(lambda v: v > 4, s["v"])),
    Said("{s}p = 'y' OR {s}s IS NULL", lambda t, s: either(known(lambda p: p == "y", s["p"]), s["s"] is None)),
]

ASSIGNMENTS = [
    ("v", Said("{t}v + 1", lambda t, s: known(lambda v: v + 1, t["v"]))),
    ("s", Said("upper({t}s)", lambda t, s: known(str.upper, t["s"]))),
    ("s", Said("NULL", lambda t, s: None)),
    ("p", Said("'z'", lambda t, s: "z")),
    ("v", Said("length({t}s)", lambda t, s: known(len, t["s"]))),
]

PAIR_ASSIGNMENTS = [
    *ASSIGNMENTS,
    ("v", Said("{s}v", lambda t, s: s["v"])),
    ("s", Said("concat({t}s, {s}s)", lambda t, s: known(lambda a, b: a + b, t["s"], s["s"]))),
    ("p", Said("{s}p", lambda t, s: s["p"])),
]

MATCHES = [
    Said("{t}k = {s}k", lambda t, s: known(lambda a, b: a == b, t["k"], s["k"])),
    Said("{t}k = {s}k AND {t}p = 'x'",
         lambda t, s: both(known(lambda a, b: a == b, t["k"], s["k"]), known(lambda p: p == "x", t["p"]))),
    Said("{t}k <=> {s}k", lambda t, s: t["k"] == s["k"]),
]  # fmt: skip


@dataclass(frozen=True)
class Clause:
    """A clause of a merge. `values` None: a delete, or all columns where it `is_all`."""

    kind: str
    condition: Said | None
    values: Mapping[str, Said] | None = None
    is_all: bool = False


@dataclass
class Outcome:
    """The rows afterwards, and the changes: what became of which row."""

    rows: list[Row]
    changes: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    updated: set[int] = field(default_factory=set)

    def keep(self, row: Row) -> None:
        self.rows.append(row)

    def update(self, row: Row, values: Values) -> None:
        after = row.with_values(values)
        self.changes["update_preimage", *row.visible] += 1
        self.changes["update_postimage", *after.visible] += 1
        self.updated.add(row.tag)
        self.rows.append(after)

    def delete(self, row: Row) -> None:
        self.changes["delete", *row.visible] += 1

    def insert(self, row: Row) -> None:
        self.changes["insert", *row.visible] += 1
        self.rows.append(row)


def delete(rows: Iterable[Row], where: Said | None) -> Outcome:
    outcome = Outcome([])
    for row in rows:
        (outcome.delete if where is None or where(row.values) is True else outcome.keep)(row)
    return outcome


def update(rows: Iterable[Row], values: Mapping[str, Said], where: Said | None) -> Outcome:
    outcome = Outcome([])
    for row in rows:
        if where is None or where(row.values) is True:
            outcome.update(row, {name: said(row.values) for name, said in values.items()})
        else:
            outcome.keep(row)
    return outcome


def overwrite(rows: Iterable[Row], fresh: Iterable[Row], where: Said) -> Outcome:
    outcome = delete(rows, where)
    for row in fresh:
        outcome.insert(row)
    return outcome


def merge(rows: Sequence[Row], source: Sequence[Values], on: Said, clauses: Sequence[Clause]) -> Outcome | None:
    """None where a row has more matches than the clauses allow."""
    outcome = Outcome([])
    matched = [clause for clause in clauses if clause.kind == "matched"]
    by_source = [clause for clause in clauses if clause.kind == "not matched by source"]
    seen: set[int] = set()
    for row in rows:
        pairs = [i for i, values in enumerate(source) if on(row.values, values) is True]
        seen |= set(pairs)
        is_plain_delete = len(matched) == 1 and matched[0].values is None and not matched[0].is_all and not matched[0].condition
        if len(pairs) > 1 and matched and not is_plain_delete:
            return None
        if pairs:
            _apply(outcome, row, matched, source[pairs[0]])
        else:
            _apply(outcome, row, by_source, {})
    for i, values in enumerate(source):
        if i not in seen:
            _insert(outcome, values, [clause for clause in clauses if clause.kind == "not matched"])
    return outcome


def _apply(outcome: Outcome, row: Row, clauses: Sequence[Clause], source: Values) -> None:
    for clause in clauses:
        if clause.condition is None or clause.condition(row.values, source) is True:
            if clause.is_all:
                outcome.update(row, source)
            elif clause.values is None:
                outcome.delete(row)
            else:
                outcome.update(row, {name: said(row.values, source) for name, said in clause.values.items()})
            return
    outcome.keep(row)


def _insert(outcome: Outcome, source: Values, clauses: Sequence[Clause]) -> None:
    for clause in clauses:
        if clause.condition is None or clause.condition({}, source) is True:
            values = source if clause.values is None else {n: said({}, source) for n, said in clause.values.items()}
            outcome.insert(Row({name: values.get(name) for name in COLUMNS}))
            return


def random_values(random: Random, number: int) -> dict[str, Any]:
    return {
        "n": number,
        "k": random.choice([None, *range(8)]),
        "v": random.choice([None, *range(10)]),
        "s": random.choice([None, "", "a", "ab", "b", "c", "B"]),
        "p": random.choice([None, "x", "y", "x"]),
    }


def random_clauses(random: Random) -> list[Clause]:
    """Up to two clauses of each kind, the last of them perhaps without a condition."""
    clauses: list[Clause] = []
    for kind, conditions in (
        ("matched", PAIR_CONDITIONS), ("not matched", SOURCE_CONDITIONS), ("not matched by source", CONDITIONS),
    ):  # fmt: skip
        number = random.choice([0, 1, 1, 2] if kind != "not matched by source" else [0, 0, 1, 2])
        for i in range(number):
            is_last = i == number - 1
            condition = None if is_last and random.random() < 0.5 else random.choice(conditions)
            clauses.append(_random_clause(random, kind, condition))
    return clauses or [Clause("not matched", None, is_all=True)]


def _random_clause(random: Random, kind: str, condition: Said | None) -> Clause:
    if kind == "not matched":
        named = {name: Said(f"{{s}}{name}", lambda t, s, name=name: s[name]) for name in ("n", "k", "v")}
        return random.choice([Clause(kind, condition, is_all=True), Clause(kind, condition, named)])
    if kind == "matched" and random.random() < 0.25:
        return Clause(kind, condition, is_all=True)
    if random.random() < 0.35:
        return Clause(kind, condition)
    return Clause(kind, condition, dict(random.sample(PAIR_ASSIGNMENTS if kind == "matched" else ASSIGNMENTS, 2)))
