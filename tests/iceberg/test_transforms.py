"""Iceberg specification, "Partition Transforms", Appendix B."""

from datetime import UTC, date, datetime, time
from decimal import Decimal as Number
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.transforms import BucketTransform, TruncateTransform
from pyiceberg.types import DecimalType, LongType, StringType

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.types import Decimal, Fixed
from esker.errors import InvalidRequest, InvalidTable, Unsupported
from esker.iceberg.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    Bucket,
    Truncate,
    Unknown,
    hashes,
    misfit,
    parse_transform,
    transformed,
)  # fmt: skip

HASHES = [
    (34, t.INTEGER, 2017239379),
    (34, t.LONG, 2017239379),
    (Number("14.20"), Decimal(9, 2), -500754589),
    (date(2017, 11, 16), t.DATE, -653330422),
    (time(22, 31, 8), t.TIME, -662762989),
    (datetime(2017, 11, 16, 22, 31, 8), t.TIMESTAMP_NTZ, -2047944441),
    (datetime(2017, 11, 16, 22, 31, 8, tzinfo=UTC), t.TIMESTAMP, -2047944441),
    (np.datetime64("2017-11-16T22:31:08.000001001"), t.TIMESTAMP_NTZ_NS, -1207196810),
    ("iceberg", t.STRING, 1210000089),
    (UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, t.UUID, 1488055340),
    (bytes([0, 1, 2, 3]), Fixed(4), -188683207),
    (bytes([0, 1, 2, 3]), t.BINARY, -188683207),
]


@pytest.mark.parametrize(("value", "kind", "hashed"), HASHES, ids=lambda v: str(v)[:20])
def test_the_hash_vectors_of_the_specification(value, kind, hashed):
    assert hashes(pa.array([value, None], to_arrow(kind)), kind)[0] == hashed


@pytest.mark.parametrize(
    ("transform", "kind", "values", "expected"),
    [
        (Truncate(10), t.INTEGER, [1, -1, 10, None], [0, -10, 10, None]),
        (Truncate(10), t.LONG, [1, -1, -(2**40) - 1], [0, -10, -(2**40) - 4]),
        (Truncate(50), Decimal(9, 2), [Number("10.65"), Number("-0.01"), None], [Number("10.50"), Number("-0.50"), None]),
        (Truncate(3), t.STRING, ["iceberg", "ab", "ж€😀x", None], ["ice", "ab", "ж€😀", None]),
        (Truncate(3), t.BINARY, [b"\0\1\2\3", b""], [b"\0\1\2", b""]),
        (YEAR, t.DATE, [date(1970, 1, 1), date(1969, 12, 31), date(2017, 11, 16), None], [0, -1, 47, None]),
        (MONTH, t.DATE, [date(1970, 1, 1), date(1969, 12, 31), date(2017, 11, 16)], [0, -1, 574]),
        (DAY, t.TIMESTAMP_NTZ, [datetime(1969, 12, 31, 23), datetime(1970, 1, 2)], [date(1969, 12, 31), date(1970, 1, 2)]),
        (HOUR, t.TIMESTAMP, [datetime(1969, 12, 31, 23, tzinfo=UTC), datetime(1970, 1, 1, 1, 59, tzinfo=UTC)], [-1, 1]),
        (MONTH, t.TIMESTAMP_NS, [datetime(1969, 12, 31, 23, tzinfo=UTC)], [-1]),
        (VOID, t.STRING, ["a"], [None]),
        (IDENTITY, t.STRING, ["a", None], ["a", None]),
        (Bucket(16), t.LONG, [34, None], [2017239379 % 16, None]),
    ],
    ids=str,
)  # fmt: skip
def test_values_become_partition_values(transform, kind, values, expected):
    assert transformed(transform, pa.array(values, to_arrow(kind)), kind).to_pylist() == expected


@given(st.lists(st.none() | st.binary(max_size=40)))
def test_the_hash_of_bytes_is_what_another_implementation_computes(values):
    mmh3 = pytest.importorskip("mmh3")
    found = hashes(pa.array(values, pa.binary()), t.BINARY).tolist()
    assert [h for h, v in zip(found, values, strict=True) if v is not None] == [mmh3.hash(v) for v in values if v is not None]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.integers(1, 2**31 - 1))
def test_buckets_of_numbers_are_those_of_pyiceberg(values, count):
    bucket = BucketTransform(count).transform(LongType())
    assert transformed(Bucket(count), pa.array(values, pa.int64()), t.LONG).to_pylist() == [bucket(v) for v in values]


@given(st.lists(st.decimals(-(10**18), 10**18, places=3)), st.integers(1, 10**6))
def test_decimals_are_bucketed_and_cut_as_by_pyiceberg(values, number):
    kind = Decimal(38, 3)
    column = pa.array(values, to_arrow(kind))
    bucket, cut = BucketTransform(number), TruncateTransform(number)
    assert transformed(Bucket(number), column, kind).to_pylist() == [bucket.transform(DecimalType(38, 3))(v) for v in values]
    assert transformed(Truncate(number), column, kind).to_pylist() == [cut.transform(DecimalType(38, 3))(v) for v in values]


@given(st.lists(st.text()), st.integers(1, 20))
def test_texts_are_cut_as_by_pyiceberg(values, width):
    cut = TruncateTransform(width).transform(StringType())
    assert transformed(Truncate(width), pa.array(values, pa.string()), t.STRING).to_pylist() == [cut(v) for v in values]


@pytest.mark.parametrize("text", ["identity", "void", "year", "month", "day", "hour", "bucket[16]", "truncate[4]"])
def test_a_transform_is_spelled_as_it_was_read(text):
    assert not isinstance(parse_transform(text), Unknown)
    assert str(parse_transform(text)) == text
    assert parse_transform(text.upper()) == parse_transform(text)


@pytest.mark.parametrize("text", ["zorder", "bucket", "bucket[x]", "bucket[4, 8]", "truncate[]"])
def test_a_transform_that_is_not_known_keeps_its_text_and_computes_nothing(text):
    transform = parse_transform(text)
    assert transform == Unknown(text)
    assert str(transform) == text
    with pytest.raises(Unsupported, match="does not take"):
        transformed(transform, pa.array([1]), t.LONG)


@pytest.mark.parametrize("text", ["bucket[0]", "truncate[0]", "bucket[2147483648]"])
def test_a_parameter_that_is_out_of_range_is_refused(text):
    with pytest.raises(InvalidTable, match="positive"):
        parse_transform(text)


@pytest.mark.parametrize(
    ("transform", "kind"),
    [(HOUR, t.DATE), (YEAR, t.TIME), (Bucket(4), t.DOUBLE), (Bucket(4), t.BOOLEAN), (Truncate(4), t.DATE), (IDENTITY, t.VARIANT)],
    ids=str,
)  # fmt: skip
def test_a_type_that_a_transform_does_not_take_is_refused(transform, kind):
    assert misfit(transform, kind) is not None
    with pytest.raises(InvalidRequest):
        transformed(transform, pa.nulls(1), kind)


def test_a_sliced_array_gives_its_own_values():
    values = pa.array(["a", "bb", "ccc", "dddd"]).slice(1, 2)
    assert hashes(values, t.STRING).tolist() == hashes(pa.array(["bb", "ccc"]), t.STRING).tolist()
