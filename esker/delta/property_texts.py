"""How is the text of a property read?

Each function gives the value that a text states, and raises `ValueError`, saying what is expected, where it states none.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from esker.core.column_paths import parse_paths
from esker.core.predicate import Path
from esker.delta.intervals import parse_interval
from esker.errors import EskerError

E = TypeVar("E", bound=Enum)


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false is expected")
    return text.lower() == "true"


def number(least: int) -> Callable[[str], int]:
    """A whole number of 64 bits that is no less than `least`."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) or not least <= int(text) < 2**63:
            raise ValueError(f"a whole number from {least} on is expected")
        return int(text)

    return parse


def one_of(*allowed: str) -> Callable[[str], str]:
    """One of these words, whatever its capitals."""

    def parse(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError(f"one of {', '.join(allowed)} is expected")
        return text.lower()

    return parse


def member(kind: type[E]) -> Callable[[str], E]:
    """One of an enumeration's values, whatever its capitals."""

    def parse(text: str) -> E:
        for found in kind:
            if str(found.value).lower() == text.lower():
                return found
        raise ValueError(f"one of {', '.join(str(found.value) for found in kind)} is expected")

    return parse


def interval(text: str) -> timedelta:
    """A length of time, such as `interval 1 week`."""
    try:
        return parse_interval(text)
    except EskerError as error:
        raise ValueError(error.what) from error


def columns(text: str) -> tuple[Path, ...]:
    """Columns with commas between them."""
    try:
        return parse_paths(text)
    except EskerError as error:
        raise ValueError("columns with commas between them are expected, other names than words in backticks") from error


def size(text: str) -> int:
    """A number of bytes, with a unit or without."""
    found = re.fullmatch(r"(\d{1,15})\s*([kmgt]?)b?", text.strip().lower(), re.ASCII)
    if found is None or int(found[1]) == 0:
        raise ValueError("a number of bytes is expected, such as 104857600 or 100mb")
    return int(found[1]) << 10 * " kmgt".index(found[2] or " ")


def codec(text: str) -> str:
    """How Parquet is compressed; `none` for not at all."""
    return one_of("none", "uncompressed", "snappy", "gzip", "lz4", "lz4_raw", "zstd")(text).replace("uncompressed", "none")


def page_version(text: str) -> str:
    """ "`1.0.0` (page V1) or `2.MINOR.PATCH` (page V2)"  (Table Properties)"""
    if not re.fullmatch(r"1\.0\.0|2\.\d+\.\d+", text, re.ASCII):
        raise ValueError("1.0.0 or 2.MINOR.PATCH is expected")
    return text


def formats(text: str) -> tuple[str, ...]:
    """The formats that a table is converted to."""
    names = tuple(name.strip() for name in text.lower().split(",")) if text.strip() else ()
    if len(set(names)) < len(names) or not set(names) <= {"iceberg", "hudi"}:
        raise ValueError("iceberg and hudi, each at most once, are expected")
    return names
