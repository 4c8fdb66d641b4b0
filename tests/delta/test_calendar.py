"""Days and microseconds from texts, in years that Python's own dates reach and in those that they do not."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core import calendar

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.dates())
def test_a_day_is_counted_as_python_counts_it(day: date) -> None:
    assert calendar.days(f"{day.year:04}-{day.month:02}-{day.day:02}") == day.toordinal() - date(1970, 1, 1).toordinal()


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-18 * 60, 18 * 60), st.sampled_from("T "))
def test_an_instant_is_counted_as_python_counts_it(moment: datetime, offset: int, between: str) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    assert calendar.micros(zoned.isoformat(sep=between)) == (zoned - EPOCH) // timedelta(microseconds=1)


DAYS = [
    ("1970-01-01", 0), ("1969-12-31", -1), ("2000-02-29", 11016), ("0001-01-01", -719162), ("0000-01-01", -719528),
    ("-0001-12-31", -719529), ("9999-12-31", 2932896), ("10000-01-01", 2932897), ("+10000-01-01", 2932897),
    ("-290308-12-21", -106751992), ("5-1-2", -717700), ("1582-10-10", -141432),
]  # fmt: skip


@pytest.mark.parametrize("text, day", DAYS)
def test_days_far_from_now_are_those_of_the_proleptic_gregorian_calendar(text: str, day: int) -> None:
    assert calendar.days(text) == day


MICROS = [
    ("1970-01-01 00:00:00", 0), ("1970-01-01T00:00:00.123456Z", 123456), ("1970-01-01 00:00:00.1", 100_000),
    ("1970-01-01 00:00:00.123456789", 123456), ("1969-12-31 23:59:59.999999", -1), ("1970-01-01", 0),
    ("1970-01-01T00:00Z", 0), ("1970-01-01 1:00:00", 3_600_000_000), ("1970-01-01T00:00:00+01:00", -3_600_000_000),
    ("1970-01-01T00:00:00-0130", 5_400_000_000), ("1970-01-01T00:00:00+05", -18_000_000_000),
    ("1970-01-01T00:00:00-07:52:58", 28_378_000_000),
    ("1970-01-01 00:00:00 UTC", 0), ("294247-01-10 04:00:54.775807", 2**63 - 1),
    ("-290308-12-21 19:59:05.224192", -(2**63)),
]  # fmt: skip


@pytest.mark.parametrize("text, micros", MICROS)
def test_a_timestamp_is_read_in_every_spelling_of_the_specification(text: str, micros: int) -> None:
    """PROTOCOL.md, "Partition Value Serialization" """
    assert calendar.micros(text) == micros


@pytest.mark.parametrize("text", [
    "", "x", "2024-02-30", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01", "2024-01-00", "2024-01-01x", "20240101",
    "2024-01-01 00:00:00", "1234567-01-01", "2024-1-1 ", "--2024-01-01",
])  # fmt: skip
def test_what_is_no_date_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a date|no day"):
        calendar.days(text)


@pytest.mark.parametrize("text", [
    "", "x", "2024-01-01 24:00:00", "2024-01-01 00:60:00", "2024-01-01 00:00:60", "2024-01-01 00", "2024-02-30 00:00:00",
    "2024-01-01T00:00:00+25:00", "2024-01-01T00:00:00+01:60", "2024-01-01T00:00:00 Europe/Oslo", "2024-01-01 00:00:00.",
])  # fmt: skip
def test_what_is_no_timestamp_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a|not the|no day"):
        calendar.micros(text)


def test_a_text_says_whether_it_has_a_zone() -> None:
    assert calendar.has_zone("2024-01-01T00:00:00Z")
    assert calendar.has_zone("2024-01-01 00:00:00+01:00")
    assert not calendar.has_zone("2024-01-01 00:00:00")
