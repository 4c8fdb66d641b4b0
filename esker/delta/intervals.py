"""How long is an interval that a table property states?

Spark's calendar intervals, such as `interval 1 week` or `36 hours`, without months and years, which have no fixed length.
"""

import re
from datetime import timedelta

_UNITS = {
    "week": timedelta(weeks=1), "day": timedelta(days=1), "hour": timedelta(hours=1), "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1), "millisecond": timedelta(milliseconds=1), "microsecond": timedelta(microseconds=1),
}  # fmt: skip
_PART = re.compile(rf"([+-]?\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})s?", re.ASCII)
_WHOLE = re.compile(rf"(?:interval\s+)?{_PART.pattern}(?:\s+{_PART.pattern})*", re.ASCII)


def parse_interval(text: str) -> timedelta:
    """The length of an interval. Raises `ValueError` where the text states none, or one that is below zero."""
    said = text.strip().lower()
    if not _WHOLE.fullmatch(said):
        raise ValueError(f"{text!r} is not an interval such as '2 weeks'; months and years have no fixed length")
    try:
        length = sum((_length(*part) for part in _PART.findall(said)), timedelta())
    except OverflowError as error:
        raise ValueError(f"{text!r} is too long an interval") from error
    if length < timedelta():
        raise ValueError(f"{text!r} is below zero")
    return length


def _length(number: str, unit: str) -> timedelta:
    return _UNITS[unit] * (int(number) if number.lstrip("+-").isdecimal() else float(number))
