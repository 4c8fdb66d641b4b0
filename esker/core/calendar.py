"""What day is that?

Dates and times in the proleptic Gregorian calendar, as day and microsecond counts from 1970-01-01. Tables hold years that
Python's own `datetime` cannot, so texts are parsed here; they are printed for the years that everybody reads.
"""

import re
from datetime import UTC, date, datetime

from esker.errors import InvalidRequest

DAY = 86_400_000_000  # microseconds

_EPOCH = date(1970, 1, 1).toordinal()
_DATE = r"(?P<year>[+-]?\d{1,6})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?"
_ZONE = r"(?P<zone>Z|UTC|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?)"
_DATE_ONLY = re.compile(_DATE)
_TIMESTAMP = re.compile(rf"{_DATE}(?:[T ]{_TIME}\s*{_ZONE}?)?")


def days(text: str) -> int:
    """The day of a date such as `2024-02-29`; ValueError for anything else."""
    match = _DATE_ONLY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a date")
    return _day(match)


def micros(text: str) -> int:
    """The microsecond of a timestamp; one without a zone is read as UTC. Digits below the microsecond are cut off."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a timestamp")
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is not a time of day")
    fraction = int((match["fraction"] or "").ljust(6, "0")[:6])
    clock = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction
    return _day(match) * DAY + clock - _offset(match["zone"])


def date_text(day: int) -> str | None:
    """A day as `2024-02-29`; None outside the years 1 to 9999, which not every reader of such a text knows."""
    try:
        return str(date.fromordinal(day + _EPOCH))
    except (ValueError, OverflowError):
        return None


def millis_text(millis: int) -> str | None:
    """A millisecond as `2024-02-29T12:34:56.789`, None outside the years 1 to 9999."""
    day, rest = divmod(millis, DAY // 1000)
    text = date_text(day)
    seconds, fraction = divmod(rest, 1000)
    return text and f"{text}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:03}"


def has_zone(text: str) -> bool:
    """Whether the timestamp says which zone it is in."""
    match = _TIMESTAMP.fullmatch(text)
    return match is not None and match["zone"] is not None


def _day(match: re.Match[str]) -> int:
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        raise ValueError(f"{match.string!r} is no day of the calendar")
    # years are counted from March, so that the leap day is the last day of its year
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _offset(zone: str | None) -> int:
    if zone in (None, "Z", "UTC"):
        return 0
    assert zone is not None
    digits = zone[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    whole = hours * 3600 + minutes * 60 + seconds
    if whole > 18 * 3600 or minutes > 59 or seconds > 59:
        raise ValueError(f"{zone!r} is not the offset of a zone")
    return (-whole if zone[0] == "-" else whole) * 1_000_000


def moment(timestamp: datetime | str) -> datetime:
    """The moment that a caller means by a `datetime` or an ISO text. Without a zone it is in UTC."""
    try:
        read = timestamp if isinstance(timestamp, datetime) else datetime.fromisoformat(timestamp)
    except ValueError as error:
        raise InvalidRequest(f"{timestamp!r} is not a timestamp such as 2026-01-02T03:04:05Z") from error
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
