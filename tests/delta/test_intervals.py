"""How long an interval is that a table property states."""

from datetime import timedelta

import pytest

from esker.delta.intervals import parse_interval


@pytest.mark.parametrize(
    "text, length",
    [
        ("interval 30 days", timedelta(days=30)), ("INTERVAL 1 WEEK", timedelta(weeks=1)), ("36 hours", timedelta(hours=36)),
        ("interval 1 day 12 hours", timedelta(hours=36)), (" 5 minutes 10 seconds ", timedelta(seconds=310)),
        ("1.5 seconds", timedelta(seconds=1.5)), ("10 milliseconds 3 microseconds", timedelta(microseconds=10_003)),
        ("interval 2 days -1 day", timedelta(days=1)), ("0 days", timedelta()), ("interval 1day", timedelta(days=1)),
    ],
)  # fmt: skip
def test_an_interval_is_the_sum_of_its_parts(text: str, length: timedelta) -> None:
    assert parse_interval(text) == length


@pytest.mark.parametrize(
    "text",
    ["", "interval", "1", "days", "1 month", "interval 1 year", "1 fortnight", "-1 day", "1 day,", "1 day 2", "٣ days",
     "99999999999999 weeks", "1e3 days"],
)  # fmt: skip
def test_a_text_without_a_fixed_length_is_no_interval(text: str) -> None:
    """catalogue, 7: "Intervals may not use months or years." """
    with pytest.raises(ValueError, match=r"interval|below zero"):
        parse_interval(text)
