"""The binary encoding of variants: examples of the specification, round trips, malformed bytes, Spark's own words."""

import math
import struct
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql import VariantVal

from esker.core import variant
from esker.core.variant import DEPTH, Kind, Nanos, decode, encode, to_json
from esker.errors import InvalidRequest, InvalidTable, Unsupported

EMPTY = b"\x01\x00\x00"
ABC = b"\x01\x03\x00\x01\x02\x03cba"  # the dictionary c, b, a
INT64 = st.integers(-(2**63), 2**63 - 1)

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**38) + 1, 10**38 - 1), INT64, st.floats(), st.text(max_size=100),
    st.binary(max_size=100), st.decimals(places=3, min_value=-(10**30), max_value=10**30), st.dates(), st.times(),
    st.datetimes(), st.datetimes(timezones=st.just(UTC)), st.uuids(), st.builds(Nanos, INT64, st.booleans()),
)  # fmt: skip
NAMES = st.text(max_size=5)
VALUES = st.recursive(LEAVES, lambda parts: st.lists(parts) | st.dictionaries(NAMES, parts), max_leaves=30)


def told(value: object) -> object:
    """The value so that == tells apart what Python holds equal: 1, 1.0 and True; 0.0 and -0.0. All NaNs are one."""
    match value:
        case dict():
            return {name: told(item) for name, item in value.items()}
        case list() | tuple():
            return [told(item) for item in value]
        case float():
            return "NaN" if math.isnan(value) else ("float", struct.pack("<d", value))
        case int() if not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            return Decimal, Decimal(value)  # a variant has no longer ints
    return type(value), value


@given(VALUES)
@example({"b": 1, "a": {"c": [None, {}], "é": []}})
@example(list(range(300)))
@example({str(i): "x" * 300 for i in range(300)})
def test_what_was_encoded_decodes_to_itself(value: object) -> None:
    assert told(decode(*encode(value))) == told(value)


@pytest.mark.parametrize("metadata, value, expected", [
    ("01 00", "00", None),
    ("01 00", "0D 6E 2F 61", "n/a"),
    ("01 00", "04", True),
    ("01 00", "08", False),
    ("01 00", "0C FF", -1),
    ("01 00", "10 00 01", 256),
    ("01 00", "14 00 00 01 00", 65536),
    ("01 00", "18 00 00 00 00 01 00 00 00", 2**32),
    ("01 00", "1C 00 00 00 00 00 00 F0 3F", 1.0),
    ("01 00", "38 00 00 80 3F", 1.0),
    ("01 00", "20 02 6E 00 00 00", Decimal("1.10")),
    ("01 00", "24 00 FF FF FF FF FF FF FF FF", Decimal(-1)),
    ("01 00", "28 26" + " FF" * 16, Decimal("-1E-38")),
    ("01 00", "2C 00 00 00 00", date(1970, 1, 1)),
    ("01 00", "30 01 00 00 00 00 00 00 00", datetime(1970, 1, 1, microsecond=1, tzinfo=UTC)),
    ("01 00", "34 FF FF FF FF FF FF FF FF", datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("01 00", "3C 02 00 00 00 00 FF", b"\x00\xff"),
    ("01 00", "40 03 00 00 00 6E 2F 61", "n/a"),
    ("01 00", "44 01 00 00 00 00 00 00 00", time(microsecond=1)),
    ("01 00", "48 FF FF FF FF FF FF FF FF", Nanos(-1, is_utc=True)),
    ("01 00", "4C 01 00 00 00 00 00 00 00", Nanos(1, is_utc=False)),
    ("01 00", "50 00112233445566778899AABBCCDDEEFF", UUID("00112233-4455-6677-8899-aabbccddeeff")),
    ("01 00", "02 00 00", {}),
    ("01 00", "03 00 00", []),
    ("01 00", "13 01000000 00 01 00", [None]),
    ("01 00", "03 02 00 02 03 0C 01 08", [1, False]),
], ids=lambda case: str(case)[:20])  # fmt: skip
def test_every_type_is_read_as_the_specification_writes_it(metadata: str, value: str, expected: object) -> None:
    assert told(decode(bytes.fromhex(metadata), bytes.fromhex(value))) == told(expected)


def test_the_values_of_an_object_lie_in_any_order_behind_fields_in_order_of_their_names() -> None:
    # {"c": 3, "b": 2, "a": 1}, "the value list can be in any order"
    value = bytes.fromhex("02 03 020100 04020006 0C03 0C02 0C01")
    assert decode(ABC, value) == {"a": 1, "b": 2, "c": 3}
    assert to_json(ABC, value) == '{"a":1,"b":2,"c":3}'


def test_encoding_takes_the_smallest_ints_and_sorts_the_dictionary() -> None:
    metadata, value = encode({"b": 1, "a": {"b": 128, "ä": None}})
    assert variant.names(metadata) == ("a", "b", "ä")
    assert metadata[0] == 0b0001_0001
    assert value == bytes.fromhex("02 02 0001 000B0D  02 02 0102 000304 1080 00 00  0C01")
    limits = {2**7 - 1: 2, -(2**7): 2, 2**7: 3, 2**15: 5, -(2**31) - 1: 9, 2**63 - 1: 9, 2**63: 18}
    assert {number: len(encode(number)[1]) for number in limits} == limits


@pytest.mark.parametrize("value, text", [
    (encode(1.0), "1.0"), (encode(1e7), "1.0E7"), (encode(-1e7), "-1.0E7"), (encode(12345678.5), "1.23456785E7"),
    (encode(0.001), "0.001"), (encode(0.0001), "1.0E-4"), (encode(5e-324), "4.9E-324"), (encode(-0.0), "-0.0"),
    (encode(1e22), "1.0E22"), (encode(1.7976931348623157e308), "1.7976931348623157E308"), (encode(math.nan), '"NaN"'),
    (encode(-math.inf), '"-Infinity"'), ((EMPTY, Kind.FLOAT.header + struct.pack("<f", 0.1)), "0.1"),
    ((EMPTY, Kind.FLOAT.header + struct.pack("<f", 1.4e-45)), "1.4E-45"),
    ((EMPTY, Kind.FLOAT.header + struct.pack("<f", 3.4e38)), "3.4E38"),
    (encode(Decimal("1.10")), "1.1"), (encode(Decimal("100.00")), "100"), (encode(Decimal("-0.010")), "-0.01"),
    (encode(Decimal("0.00")), "0"), (encode(Decimal("1E+10")), "10000000000"), (encode(10**37), "1" + "0" * 37),
    (encode(date(2024, 1, 2)), '"2024-01-02"'),
    ((EMPTY, Kind.DATE.header + struct.pack("<i", 3789391)), '"+12345-01-01"'),
    ((EMPTY, Kind.DATE.header + struct.pack("<i", -735599)), '"-0044-01-01"'),
    (encode(datetime(2024, 1, 2, 3, 4, 5, 500000, UTC)), '"2024-01-02 03:04:05.5+00:00"'),
    (encode(datetime(2024, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=1)))), '"2024-01-02 02:04:00+00:00"'),
    (encode(datetime(1969, 12, 31, 23, 59, 59)), '"1969-12-31 23:59:59"'), (encode(time(1, 2, 3)), '"01:02:03"'),
    (encode(Nanos(-1, True)), '"1969-12-31 23:59:59.999999999+00:00"'), (encode(b"\x00\xff\x10"), '"AP8Q"'),
    (encode(UUID(int=1)), '"00000000-0000-0000-0000-000000000001"'),
    (encode('a\x1f\x7f\n/"\\u001f é'), '"a\\u001F\x7f\\n/\\"\\\\u001f é"'),
    (encode({"é\n": [None, True]}), '{"é\\n":[null,true]}'),
], ids=lambda case: str(case)[:30])  # fmt: skip
def test_json_is_spelled_as_spark_spells_it(value: tuple[bytes, bytes], text: str) -> None:
    assert to_json(*value) == text


@pytest.mark.parametrize("metadata, value, why", [
    ("", "00", "cut short"), ("02 00", "00", "version 2"), ("01 01 00", "00", "cut short"),
    ("01 01 01 02 61", "00", "astray"),
    ("01 01 00 05 61", "00", "astray"), ("01 02 00 02 01 61 62", "00", "astray"), ("01 01 00 01 FF", "00", "UTF-8"),
    ("C1 FFFFFFFF", "00", "cut short"), ("01 00", "", "should start"), ("01 00", "0C", "cut short"),
    ("01 00", "40 FFFFFFFF 00", "cut short"), ("01 00", "09 61", "cut short"), ("01 00", "05 FF", "UTF-8"),
    ("01 00", "20 27 00000000", "digits"), ("01 00", "20 00 00CA9A3B", "digits"),
    ("01 00", "44 FFFFFFFFFFFFFFFF", "day"),
    ("01 00", "13 FFFFFFFF", "cut short"), ("01 00", "03 01 00 05 00", "cut short"),
    ("01 00", "03 01 01 01 00", "start"),
    ("01 00", "02 01 00 00 01 00", "not in the dictionary"), ("01 01 00 01 61", "02 02 0000 000102 0000", "one name"),
    ("01 02 00 01 02 61 61", "02 02 0001 000102 0000", "one name"), ("01 00", "03 02 00 00 01 00", "overlap"),
])  # fmt: skip
def test_malformed_bytes_are_an_invalid_table(metadata: str, value: str, why: str) -> None:
    for read in (decode, to_json):
        with pytest.raises(InvalidTable, match=why):
            read(bytes.fromhex(metadata), bytes.fromhex(value))


@given(st.binary(max_size=60), st.binary(max_size=200))
def test_no_bytes_raise_anything_but_our_errors(metadata: bytes, value: bytes) -> None:
    for dictionary in (metadata, EMPTY, ABC):
        for read in (decode, to_json):
            with suppress(InvalidTable, Unsupported):
                read(dictionary, value)


@given(VALUES, st.data())
def test_no_damage_to_a_value_raises_anything_but_our_errors(value: object, data: st.DataObject) -> None:
    parts = [bytearray(part) for part in encode(value)]
    for part in parts:
        for _ in range(data.draw(st.integers(0, 3))):
            part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
        del part[data.draw(st.integers(0, len(part))) or len(part) :]
    for read in (decode, to_json):
        with suppress(InvalidTable, Unsupported):
            read(*map(bytes, parts))


def test_few_bytes_cannot_stand_for_a_value_without_end() -> None:
    value = b"\x00"
    for _ in range(60):  # each level names the level below twice: 2 ** 60 leaves if it were read
        value = b"\x07\x02" + struct.pack("<3H", 0, 0, len(value)) + value
    with pytest.raises(InvalidTable, match="overlap"):
        decode(EMPTY, value)


def test_nesting_is_limited_in_both_directions() -> None:
    fits: list[Any] = []
    for _ in range(DEPTH - 1):
        fits = [fits]
    metadata, value = encode([fits])
    assert to_json(metadata, value).startswith("[" * DEPTH)
    with pytest.raises(InvalidRequest, match="deeper"):
        encode([[fits]])
    with pytest.raises(InvalidTable, match="deeper"):
        decode(metadata, variant.array_of([variant.array_of([value])]))


def test_a_type_that_the_specification_may_add_is_not_supported() -> None:
    with pytest.raises(Unsupported, match="type 21"):
        decode(EMPTY, bytes([21 << 2, 0]))


def test_days_beyond_the_calendar_of_python_are_read_as_json_only() -> None:
    value = Kind.TIMESTAMP.header + struct.pack("<q", 2**63 - 1)
    assert to_json(EMPTY, value) == '"+294247-01-10 04:00:54.775807+00:00"'
    with pytest.raises(Unsupported, match="calendar"):
        decode(EMPTY, value)


@pytest.mark.parametrize("value", [
    {1: 2}, object(), {3}, Decimal("NaN"), 10**38, Decimal("1E-39"), "\ud800", {"\ud800": 1}, time(tzinfo=UTC),
    Nanos(2**63, True),
], ids=lambda value: ascii(value).partition(" at 0x")[0])  # fmt: skip
def test_what_no_variant_can_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest):
        encode(value)


@pytest.mark.spark
def test_spark_reads_what_was_encoded_and_renders_it_alike(spark: Any) -> None:
    values = [
        None, True, 1, -129, 2**40, 10**30, 1.5, 1e30, 1e-5, Decimal("12.3400"), Decimal("1E-20"), "é\n\x1f\"\\",
        b"\x00\xff", [], {}, date(2024, 2, 29), datetime(2024, 1, 1, 12, 30, tzinfo=UTC), UUID(int=7),
        datetime(1900, 1, 1, 0, 0, 0, 120),
        {"b": [1, {"a": "x" * 100, "ä": None}], "a": {"b": 2.0}}, list(range(1000)), {str(i): i for i in range(400)},
    ]  # fmt: skip
    rows = [(i, VariantVal(value, metadata)) for i, (metadata, value) in enumerate(map(encode, values))]
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        frame = spark.createDataFrame(rows, "i int, v variant")
        said = [row.j for row in frame.selectExpr("i", "to_json(v) j").orderBy("i").collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert said == [to_json(*encode(value)) for value in values]
