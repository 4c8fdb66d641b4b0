"""Which days and instants did a writer mean that counts them by the hybrid calendar?"""

from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.core.footers import file_statistics
from esker.core.hybrid_calendar import HybridCalendar, gregorian_days, hybrid_calendar, true_instants
from esker.errors import Unsupported

EPOCH = date(1970, 1, 1).toordinal()

# Since which day of the hybrid calendar it is how many days behind: Spark's own table, RebaseDateTime.julianGregDiffs.
BEHIND = {
    -719_164: 2, -682_945: 1, -646_420: 0, -609_895: -1, -536_845: -2, -500_320: -3, -463_795: -4, -390_745: -5, -354_220: -6,
    -317_695: -7, -244_645: -8, -208_120: -9, -171_595: -10, -141_427: 0,
}  # fmt: skip


def test_days_are_as_far_apart_as_the_table_of_spark_says() -> None:
    days = np.arange(-719_164, -130_000)
    since = np.array(list(BEHIND))
    behind = np.array(list(BEHIND.values()))[np.searchsorted(since, days, side="right") - 1]
    assert (gregorian_days(days) - days - behind == 0).all()


def test_a_leap_day_that_the_gregorian_calendar_lacks_is_the_first_of_march() -> None:
    julian = date(1000, 3, 1).toordinal() - EPOCH - 1 + 6
    assert gregorian_days(np.array([julian])).tolist() == [date(1000, 3, 1).toordinal() - EPOCH]


# As delta-spark 4.4 wrote them with `datetimeRebaseModeInWrite` LEGACY, and read them again.
INSTANTS = [
    ("America/Los_Angeles", -62_135_740_800_000_000, -62_135_568_422_000_000),  # 0001-01-01 00:00:00 on the clocks there
    ("UTC", -62_135_769_600_000_000, -62_135_596_800_000_000),
    ("Z", -62_135_769_600_000_000, -62_135_596_800_000_000),
    (None, -62_135_769_600_000_000, -62_135_596_800_000_000),
    ("+00:00", -62_135_769_600_000_000, -62_135_596_800_000_000),
    ("America/Los_Angeles", -1, -1),
    ("America/Los_Angeles", -2_208_988_800_000_000, -2_208_988_800_000_000),
]


@pytest.mark.parametrize("zone, stored, meant", INSTANTS)
def test_instants_keep_what_the_writers_clocks_showed(zone: str | None, stored: int, meant: int) -> None:
    assert true_instants(np.array([stored]), zone).tolist() == [meant]


def test_an_unknown_zone_is_refused_where_it_matters() -> None:
    assert true_instants(np.array([0]), "Nowhere/At/All").tolist() == [0]
    with pytest.raises(Unsupported, match="Nowhere/At/All"):
        true_instants(np.array([-(10**17)]), "Nowhere/At/All")


FOOTERS = [
    ({}, None),
    ({b"org.apache.spark.version": b"4.1.0"}, None),
    ({b"org.apache.spark.legacyDateTime": b""}, None),  # nobody but Spark counts so
    ({b"org.apache.spark.version": b"2.4.8"}, HybridCalendar(True, True, None)),
    ({b"org.apache.spark.version": b"3.0.1"}, HybridCalendar(False, True, None)),
    ({b"org.apache.spark.version": b"3.5.0", b"org.apache.spark.legacyDateTime": b"", b"org.apache.spark.timeZone": b"UTC"},
     HybridCalendar(True, False, "UTC")),
    ({b"org.apache.spark.version": b"3.5.0-SNAPSHOT", b"org.apache.spark.legacyINT96": b""}, HybridCalendar(False, True, None)),
]  # fmt: skip


@pytest.mark.parametrize("footer, told", FOOTERS)
def test_a_footer_tells_what_is_counted_by_the_hybrid_calendar(footer: dict[bytes, bytes], told: HybridCalendar | None) -> None:
    assert hybrid_calendar(footer) == told


def test_the_bounds_of_what_is_counted_so_are_not_those_of_the_rows() -> None:
    rows = pa.table({"d": [date(1000, 1, 1)], "t": [datetime(1000, 1, 1, tzinfo=UTC)], "i": [1]})
    footer = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}
    for metadata, known in (({}, {"d", "t", "i"}), (footer, {"i"})):
        sink = pa.BufferOutputStream()
        pq.write_table(rows.replace_schema_metadata(metadata), sink)
        found = file_statistics(pq.read_metadata(pa.BufferReader(sink.getvalue())))
        assert {path[0] for path, bounds in found.columns.items() if bounds.lower is not None} == known
        assert all(bounds.nulls == 0 for bounds in found.columns.values())
