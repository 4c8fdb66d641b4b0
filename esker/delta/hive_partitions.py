"""What do the folders of a path say of a file's rows?  (Hive's layout, `country=NO/day=2024-01-01`)

A folder states a column and its value as text. Which type the values have is nowhere written; `inferred` says what Spark
would take it for.
"""

import re
from collections.abc import Iterable, Mapping
from functools import reduce

from esker.core import calendar
from esker.core import types as t
from esker.core.types import Decimal, Type
from esker.storage.paths import decoded

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def folder_values(path: str) -> tuple[tuple[str, str | None], ...]:
    """The columns and values that the folders of a path state, outermost first; folders that state nothing are passed over.

    Raises `ValueError` where a folder lacks one of the two, or a column is stated twice.
    """
    found: dict[str, tuple[str, str | None]] = {}
    for folder in path.split("/")[:-1]:
        label, mark, text = folder.partition("=")
        if not mark:
            continue
        if not label or not text:
            raise ValueError(f"the folder {folder} lacks a column or a value")
        name = decoded(label)
        if name.lower() in found:
            raise ValueError(f"the column {name} is stated twice")
        found[name.lower()] = (name, None if text == NO_VALUE else decoded(text))
    return tuple(found.values())


def inferred(texts: Iterable[str | None]) -> Type:
    """The narrowest type that all values have: a number, a date, a timestamp, else a string."""
    kinds = {_kind(text) for text in texts if text is not None}
    return reduce(_wider, kinds) if kinds else t.STRING


def stated(text: str | None, kind: Type) -> str | None:
    """The text of a partition value, as the protocol spells it: a day is no timestamp."""
    return f"{text} 00:00:00" if text is not None and kind == t.TIMESTAMP and _DATE.fullmatch(text) else text


_WHOLE_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Infinity", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?", re.ASCII)
_BIG = Decimal(38, 0)


def _kind(text: str) -> Type:
    if _WHOLE_NUMBER.fullmatch(text) and len(text.lstrip("+-0")) <= _BIG.precision:
        number = int(text)
        return t.INTEGER if -(2**31) <= number < 2**31 else t.LONG if -(2**63) <= number < 2**63 else _BIG
    if _NUMBER.fullmatch(text):
        return t.DOUBLE
    try:
        if _TIMESTAMP.fullmatch(text):
            calendar.micros(text)
            return t.TIMESTAMP
        if _DATE.fullmatch(text):
            calendar.days(text)
            return t.DATE
    except ValueError:  # the 30th of February
        pass
    return t.STRING


def _wider(one: Type, other: Type) -> Type:
    return one if one == other else _WIDER.get(frozenset({one, other}), t.STRING)


_WIDER: Mapping[frozenset[Type], Type] = {
    frozenset({t.INTEGER, t.LONG}): t.LONG,
    frozenset({t.INTEGER, _BIG}): _BIG,
    frozenset({t.LONG, _BIG}): _BIG,
    frozenset({t.INTEGER, t.DOUBLE}): t.DOUBLE,
    frozenset({t.DATE, t.TIMESTAMP}): t.TIMESTAMP,
}
"""Spark's own table: a long is no double, because not every long has one of its own."""
