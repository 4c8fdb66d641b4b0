"""Statistics as structs, printed as the protocol spells them in JSON.  (PROTOCOL.md, "Per-file Statistics")"""

import json
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.types import Decimal, Field, Struct, Type
from esker.delta.deletion_vectors import z85_decode
from esker.delta.parsed_stats import stats_texts
from esker.delta.replay import LiveFiles
from esker.delta.stats import FileStatistics

INSTANT = datetime(2024, 2, 29, 12, 34, 56, 789_999, tzinfo=UTC)


def printed(value: Any, kind: Type, stored: pa.DataType | None = None) -> Any:
    """What JSON says of a column whose least value is this one."""
    column = pa.array([value], stored or to_arrow(kind))
    low = pa.StructArray.from_arrays([column], ["c"])
    (text,) = stats_texts(pa.StructArray.from_arrays([low], ["minValues"]), Struct((Field("c", kind),))).to_pylist()
    return json.loads(text, parse_float=Number)["minValues"].get("c")


@pytest.mark.parametrize(
    "value, kind, expected",
    [
        (5, t.LONG, 5), (-128, t.BYTE, -128), (True, t.BOOLEAN, True), (1.5, t.DOUBLE, Number("1.5")),
        (0.1, t.FLOAT, Number("0.1")), ("a", t.STRING, "a"), ('"\\\n\0é😀', t.STRING, '"\\\n\0é😀'), ("", t.STRING, ""),
        (date(2024, 2, 29), t.DATE, "2024-02-29"), (date(1, 1, 1), t.DATE, "0001-01-01"),
        (Number("0.00"), Decimal(38, 10), Number("0E-10")), (Number("123456789012345678901234567890.12"), Decimal(38, 2),
                                                            Number("123456789012345678901234567890.12")),
    ],
)  # fmt: skip
def test_each_type_has_its_spelling(value: Any, kind: Type, expected: object) -> None:
    assert printed(value, kind) == expected


@pytest.mark.parametrize(
    "value, kind, expected",
    [
        (INSTANT, t.TIMESTAMP, "2024-02-29T12:34:56.789Z"),
        (INSTANT.replace(tzinfo=None), t.TIMESTAMP_NTZ, "2024-02-29T12:34:56.789"),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), t.TIMESTAMP, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_timestamps_are_truncated_down_to_milliseconds(value: datetime, kind: Type, expected: str) -> None:
    """ "Timestamp columns are truncated down to milliseconds." """
    assert printed(value, kind) == expected


def test_an_instant_that_the_file_keeps_without_a_zone_gets_one() -> None:
    """Parquet's INT96, in which Spark writes checkpoints, does not say whether it is an instant."""
    assert printed(INSTANT.replace(tzinfo=None), t.TIMESTAMP, pa.timestamp("ns")) == "2024-02-29T12:34:56.789Z"


@pytest.mark.parametrize(
    "value, kind, stored",
    [
        (float("nan"), t.DOUBLE, None), (float("inf"), t.DOUBLE, None), (float("-inf"), t.FLOAT, None),
        (3_000_000, t.DATE, pa.date32()), (-900_000, t.DATE, pa.date32()), (b"x", t.BINARY, None),
        ([1], t.LONG, pa.list_(pa.int64())),
        (INSTANT, t.STRING, pa.timestamp("us", "UTC")),
    ],
)  # fmt: skip
def test_what_json_or_other_readers_cannot_say_is_left_out(value: Any, kind: Type, stored: pa.DataType | None) -> None:
    assert printed(value, kind, stored) is None


def test_members_without_a_value_are_left_out_and_files_without_statistics_have_none() -> None:
    schema = Struct((Field("a", t.LONG), Field("s", Struct((Field("x", t.STRING),)))))
    bounds = pa.struct([("a", pa.int64()), ("s", pa.struct([("x", pa.string())]))])
    kind = pa.struct(
        [("numRecords", pa.int64()), ("tightBounds", pa.bool_()), ("minValues", bounds), ("nullCount", bounds)]
    )
    parsed = pa.array(
        [
            {"numRecords": 3, "tightBounds": False, "minValues": {"a": 1, "s": {"x": "y"}}, "nullCount": None},
            {"numRecords": None, "minValues": {"a": None, "s": None}},
            None,
        ],
        kind,
    )
    assert stats_texts(parsed, schema).to_pylist() == [
        '{"numRecords":3,"tightBounds":false,"minValues":{"a":1,"s":{"x":"y"}}}',
        '{"minValues":{}}',
        None,
    ]
    assert stats_texts(parsed.slice(1), schema).to_pylist() == ['{"minValues":{}}', None]
    assert stats_texts(parsed.slice(3), schema).to_pylist() == []


def test_names_are_quoted_as_json_has_it() -> None:
    low = pa.StructArray.from_arrays([pa.array([1])], ['a"b\\c'])
    (text,) = stats_texts(pa.StructArray.from_arrays([low], ["minValues"]), Struct()).to_pylist()
    assert json.loads(text) == {"minValues": {'a"b\\c': 1}}


def test_the_bounds_of_a_variant_are_its_bytes_in_base_85() -> None:
    """ "bytes = variant metadata followed by variant value, Z85-encoded to a string"  (variantShredding)"""
    value = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x05\x06\x07\x08"}
    text = printed(value, t.VARIANT, pa.struct([("metadata", pa.binary()), ("value", pa.binary())]))
    assert z85_decode(text) == b"\x01\x00\x00\x0c\x05\x06\x07\x08"


VALUES: dict[Type, st.SearchStrategy[Any]] = {
    t.LONG: st.integers(-(2**63), 2**63 - 1),
    t.DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    t.STRING: st.text('ab"\\\n\0é😀', max_size=6),
    t.BOOLEAN: st.booleans(),
    t.DATE: st.dates(),
    t.TIMESTAMP: st.datetimes(timezones=st.just(UTC)).map(
        lambda m: m.replace(microsecond=m.microsecond // 1000 * 1000)
    ),
    t.TIMESTAMP_NTZ: st.datetimes().map(lambda m: m.replace(microsecond=m.microsecond // 1000 * 1000)),
    Decimal(20, 5): st.decimals(-(10**14), 10**14, places=5),
}


@settings(deadline=None)
@given(st.data(), st.sampled_from(list(VALUES)))
def test_the_text_says_what_the_struct_says(data: st.DataObject, kind: Type) -> None:
    """Read back by the reader of statistics, both forms give the same bounds."""
    low = pa.array(data.draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=5)), to_arrow(kind))
    counts = pa.array(range(len(low)), pa.int64())
    both = {name: pa.StructArray.from_arrays([low], ["c"]) for name in ("minValues", "maxValues")}
    nulls = pa.StructArray.from_arrays([counts], ["c"])
    parsed = pa.StructArray.from_arrays([counts, *both.values(), nulls], ["numRecords", *both, "nullCount"])
    texts = stats_texts(parsed, Struct((Field("c", kind),)))
    by_struct = FileStatistics(LiveFiles(pa.table({"stats": pa.nulls(len(low), pa.string())}), (parsed,)))
    by_text = FileStatistics(LiveFiles(pa.table({"stats": texts}), (len(low),)))
    assert by_text.num_records() == by_struct.num_records()
    for said, expected in zip(by_text.bounds(("c",), kind), by_struct.bounds(("c",), kind), strict=True):
        assert said.to_pylist() == expected.to_pylist()
