"""How is a value written down, in JSON and in a table's cell?"""

import pyarrow as pa
import pytest

from esker.cli.values import json_values

FAR = 2**62  # microseconds: a year that Python does not know

MOMENTS = [
    (pa.timestamp("us"), [0, FAR, -FAR, None],
     ["1970-01-01T00:00:00.000000", "148108-07-06T14:00:27.387904", "-144169-06-28T09:59:32.612096", None]),
    (pa.timestamp("us", "UTC"), [0, FAR, -FAR, None],
     ["1970-01-01T00:00:00.000000Z", "148108-07-06T14:00:27.387904Z", "-144169-06-28T09:59:32.612096Z", None]),
    (pa.timestamp("ms"), [1, -1], ["1970-01-01T00:00:00.001", "1969-12-31T23:59:59.999"]),
    (pa.timestamp("ns"), [1], ["1970-01-01T00:00:00.000000001"]),
    (pa.timestamp("s", "UTC"), [-62_198_755_200], ["-0001-01-01T00:00:00Z"]),
]  # fmt: skip


@pytest.mark.parametrize("kind, counts, texts", MOMENTS, ids=str)
def test_moments_are_told_however_far_they_are(kind: pa.DataType, counts: list[int | None], texts: list[str | None]) -> None:
    assert json_values(pa.array(counts, pa.int64()).view(kind)) == texts


def test_days_are_told_however_far_they_are() -> None:
    days = [0, -719_162, -719_163, -719_528, 2_932_896, 2_932_897, 12_000_000, 2**31 - 1, -(2**31), None]
    assert json_values(pa.array(days, pa.int32()).view(pa.date32())) == [
        "1970-01-01", "0001-01-01", "0000-12-31", "0000-01-01", "9999-12-31", "10000-01-01", "34824-11-19", "5881580-07-11",
        "-5877641-06-23", None,
    ]  # fmt: skip
