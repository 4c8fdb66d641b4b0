"""Which days and instants did a writer mean that counts them by the hybrid calendar?

Spark before version 3, and later ones when asked to, took dates before 1582-10-15 for days of the Julian calendar; a footer
tells. Everybody else counts by the proleptic Gregorian calendar. A day keeps its name, and gets the number that this name has. An
instant keeps what clocks in the writer's zone showed, as Java's older classes knew them: before 1900 as in 1900.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from esker.core.calendar import DAY
from esker.core.columns import Rows
from esker.errors import Unsupported


@dataclass(frozen=True, slots=True)
class HybridCalendar:
    """What of a file is counted by it: dates and timestamps, and those of the type INT96."""

    has_moments: bool
    has_int96: bool
    zone: str | None


def hybrid_calendar(footer: Mapping[bytes, bytes]) -> HybridCalendar | None:
    """What the key-value metadata of a Parquet footer says of it; None where nothing is counted by it."""
    version = re.match(rb"(\d+)\.(\d+)", footer.get(b"org.apache.spark.version", b""))
    if version is None:
        return None
    written_by = int(version[1]), int(version[2])
    has_moments = written_by < (3, 0) or b"org.apache.spark.legacyDateTime" in footer
    has_int96 = written_by < (3, 1) or b"org.apache.spark.legacyINT96" in footer
    zone = footer.get(b"org.apache.spark.timeZone")
    return HybridCalendar(has_moments, has_int96, zone.decode() if zone else None) if has_moments or has_int96 else None


def gregorian_days(days: Rows) -> Rows:
    """The days that have the names in the Gregorian calendar that these have in the hybrid one."""
    # The algorithm for a day of the Julian calendar; a year begins in March, so that its last day is the leap day.
    shifted = days + 2_472_670
    years = (4 * shifted + 3) // 1461
    of_year = shifted - 1461 * years // 4
    months = (5 * of_year + 2) // 153
    of_month = of_year - (153 * months + 2) // 5
    since = years - 4800
    # and the other way round; the leap day of a year that is none in the Gregorian calendar becomes the first of March
    first = since * 365 + since // 4 - since // 100 + since // 400 + (153 * months + 2) // 5 - 719_468
    found: Rows = np.where(days < _GREGORIAN, first + of_month, days)
    return found


def true_instants(micros: Rows, zone: str | None) -> Rows:
    """The instants, in microseconds, that a writer in this zone meant, by default in UTC."""
    old = micros < _SINCE_1900
    if not old.any():
        return micros
    place = _zone(zone)
    shown = micros[old] + _offset(datetime(1900, 1, 1, tzinfo=UTC).astimezone(place))
    readings = gregorian_days(shown // DAY) * DAY + shown % DAY
    # Python's years begin with 1, long before any clock was changed
    offsets = [_offset(_reading(reading).replace(tzinfo=place)) for reading in readings.tolist()]
    found = micros.copy()
    found[old] = readings - np.array(offsets, dtype=np.int64)
    return found


_EPOCH = datetime(1970, 1, 1)
_GREGORIAN = -141_427  # 1582-10-15
_SINCE_1900 = (datetime(1900, 1, 1) - _EPOCH) // timedelta(microseconds=1)


def _reading(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=max(micros, _FIRST))


_FIRST = (datetime(1, 1, 2) - _EPOCH) // timedelta(microseconds=1)


def _offset(moment: datetime) -> int:
    offset = moment.utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)


def _zone(name: str | None) -> tzinfo:
    """The writer's zone, by default UTC."""
    if name is None:
        return UTC
    if name in ("Z", "GMT"):
        return UTC
    if fixed := re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", name):
        offset = timedelta(hours=int(fixed[2]), minutes=int(fixed[3] or 0))
        return timezone(-offset if fixed[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise Unsupported(f"timestamps before 1900 of an old calendar, written in the time zone {name!r}") from None
