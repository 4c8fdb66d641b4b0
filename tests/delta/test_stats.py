"""What a file's statistics promise, and that no promise is read that was not made.  (PROTOCOL.md, "Per-file Statistics")"""

import json
import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.sql import parse
from esker.core.types import Field, Struct, Type
from tests.delta.tables import Log, add, checkpoint_rows, metadata, parquet, protocol, rows

SCHEMA = Struct(
    (
        Field("i", t.LONG), Field("s", t.STRING), Field("x", t.DOUBLE), Field("d", t.Decimal(20, 3)), Field("day", t.DATE),
        Field("at", t.TIMESTAMP), Field("b", t.BOOLEAN), Field("in", Struct((Field("n", t.INTEGER),))),
    )
)  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONG_TEXTS = ["a" * 31, "a" * 32, "a" * 33, "a" * 40 + "z", "😀" * 16, "😀" * 17, "😀" * 32 + "x", "é" * 33, "\U0010ffff" * 33]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])),
    "s": st.one_of(st.text("ab\uffff😀", max_size=3), st.sampled_from(LONG_TEXTS)),
    "x": st.one_of(st.sampled_from([-1.5, -0.0, 0.0, 0.1, 1e308, math.inf, -math.inf, math.nan])),
    "d": st.decimals(-5, 5, places=3).map(lambda d: d.quantize(Decimal("0.001"))) | st.just(Decimal("12345678901234567.891")),
    "day": st.dates(date(2024, 1, 1), date(2024, 1, 4)),
    "at": st.integers(-2000, 2000).map(lambda us: EPOCH + timedelta(microseconds=us)),
    "b": st.booleans(),
    "in": st.one_of(st.none(), st.fixed_dictionaries({"n": st.none() | st.integers(-2, 2)})),
}
ROW = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})


def cut(text: str, units: bool) -> str:
    """A text cut off at 32 characters, or at 32 units of UTF-16 without splitting one."""
    if not units:
        return text[:32]
    while len(text.encode("utf-16-le")) > 64:
        text = text[:-1]
    return text


def spelled(value: Any, is_truncated: bool, in_units: bool) -> Any:
    """A bound as writers spell it in JSON."""
    match value:
        case datetime():
            millis = (value - EPOCH) // timedelta(milliseconds=1) if is_truncated else None
            stamp = value if millis is None else EPOCH + timedelta(milliseconds=millis)
            return stamp.isoformat(timespec="milliseconds" if is_truncated else "microseconds").replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case str():
            return cut(value, in_units) if is_truncated else value
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case Decimal():
            return f"@{value}@"
    return value


def written(stats: dict[str, Any]) -> str:
    """The statistics as JSON, with decimals as numbers of all their digits."""
    return re.sub('"@(.*?)@"', r"\1", json.dumps(stats))


@st.composite
def statistics(draw: st.DrawFn, file: list[dict[str, Any]]) -> dict[str, Any]:
    """Statistics of the rows that the specification allows: of some columns, truncated, wide."""
    is_wide, in_units = draw(st.booleans()), draw(st.booleans())
    found: dict[str, Any] = {"minValues": {}, "maxValues": {}, "nullCount": {}, "tightBounds": not is_wide}
    if draw(st.booleans()):
        found["numRecords"] = len(file)
    for name in VALUES:
        if not draw(st.booleans()):
            continue
        column = [(row["in"] or {}).get("n") if name == "in" else row[name] for row in file]
        present = [v for v in column if v is not None and v == v]
        nulls = sum(v is None for v in column)
        if is_wide and nulls not in (0, len(file)):
            nulls = draw(st.integers(1, max(len(file) - 1, 1)))
        low = high = None
        if present:
            low, high = (spelled(f(present), draw(st.booleans()), in_units) for f in (min, max))
            if any(v is not None and v != v for v in column) and draw(st.booleans()):
                high = "NaN"  # Spark's greatest value
        for key, value in (("minValues", low), ("maxValues", high), ("nullCount", nulls)):
            if value is not None and draw(st.integers(0, 5)):
                found[key][name] = {"n": value} if name == "in" else value
    return found


PREDICATES = [
    "i = 0", "i > 2", "i <= -3", "i <> 1", "i IN (1, 2)", "NOT (i < 0)", "i IS NULL", "i IS NOT NULL", "i = 9007199254740993",
    "s = 'a'", "s > 'a'", "s < 'b'", f"s = '{LONG_TEXTS[3]}'", f"s = '{LONG_TEXTS[5]}'", f"s = '{LONG_TEXTS[6]}'", "s LIKE 'a%'",
    f"s > '{'a' * 40}'", f"s = '{LONG_TEXTS[8]}'", "x > 0", "x = 0", "x < 0", "x >= 0.1", "x <> 0.1", "NOT (x <= 1.0)",
    "d = 12345678901234567.891", "d > 1.5", "d < -0.001", "day = DATE '2024-01-02'", "day > DATE '2024-01-03'",
    "at = TIMESTAMP '1970-01-01 00:00:00.000999Z'", "at > TIMESTAMP '1970-01-01 00:00:00.001Z'",
    "at <= TIMESTAMP '1969-12-31 23:59:59.9995Z'", "b", "NOT b", "b = true", "`in`.n = 1", "`in`.n IS NULL",
    "`in`.n > 0 OR i = 1",
    "i > 0 AND s < 'b'", "`in` IS NULL",
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_filter_gives_the_same_rows_with_statistics_as_without(data: st.DataObject) -> None:
    """ "These upper/lower bounds are sufficient information for data skipping."  (Per-file Statistics)"""
    log, bare = Log().start(SCHEMA), Log().start(SCHEMA)
    for number in range(data.draw(st.integers(1, 3))):
        file = data.draw(st.lists(ROW, min_size=1, max_size=4))
        table = rows(SCHEMA, **{name: [row[name] for row in file] for name in VALUES})
        log.commit(log.data(f"f{number}.parquet", table, stats=written(data.draw(statistics(file)))))
        bare.commit(bare.data(f"f{number}.parquet", table, stats="{}"))
    for where in data.draw(st.lists(st.sampled_from(PREDICATES), min_size=1, max_size=8, unique=True)):
        assert repr(log.open().to_arrow(where=where).to_pylist()) == repr(bare.open().to_arrow(where=where).to_pylist())


def kept(kind: Type, stats: Any, where: str) -> bool:
    """Whether a file with these statistics is read for the filter."""
    log = Log().start(Struct((Field("c", kind),)), features=["timestampNtz"])
    log.commit(add("f", stats=stats))
    plan = log.delta().plan()
    return bool(plan.matching(parse(where))[0])


def bounds(low: Any, high: Any, **more: Any) -> dict[str, Any]:
    return {"numRecords": 3, "minValues": {"c": low}, "maxValues": {"c": high}, "nullCount": {"c": 0}} | more


SKIPPED = [
    (t.LONG, bounds(1, 5), "c > 5"), (t.LONG, bounds(1, 5), "c < 1"), (t.LONG, bounds(1, 5), "c IS NULL"),
    (t.LONG, bounds(1, 5, nullCount={"c": 3}), "c IS NOT NULL"), (t.LONG, bounds(1, 5, nullCount={"c": 3}), "c = 2"),
    (t.LONG, {"numRecords": 0}, "c = 2"), (t.STRING, bounds("a", "b"), "c > 'b'"), (t.STRING, bounds("a", "b" * 32), "c > 'c'"),
    (t.DATE, bounds("2024-01-01", "2024-01-02"), "c > DATE '2024-01-02'"),
    (t.TIMESTAMP, bounds("2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.000Z"), "c >= TIMESTAMP '2024-01-01 00:00:00.001Z'"),
    (t.TIMESTAMP, bounds("1850-01-01T00:00:30.000-07:52:58", "1850-01-01T00:00:30.000-07:52:58"), "c > TIMESTAMP '1850-01-01 07:55:00Z'"),
    (t.TIMESTAMP, bounds("2024-01-01T00:00:00.000+01:00", "2024-01-01T00:00:00.000+01:00"),
     "c >= TIMESTAMP '2024-01-01 00:00:00Z'"),
    (t.Decimal(20, 3), bounds(1.5, 12345678901234567.891), "c > 12345678901234600"), (t.BOOLEAN, bounds(False, False), "c"),
    (t.INTEGER, bounds(1, 5, tightBounds=False), "c > 5"),
]  # fmt: skip


@pytest.mark.parametrize("kind, stats, where", SKIPPED, ids=lambda value: str(value)[:40])
def test_a_file_that_cannot_have_a_matching_row_is_skipped(kind: Type, stats: Any, where: str) -> None:
    assert not kept(kind, stats, where)


KEPT = [
    (t.LONG, None, "c = 1"), (t.LONG, "", "c = 1"), (t.LONG, "null", "c = 1"), (t.LONG, "x", "c = 1"), (t.LONG, "[]", "c = 1"),
    (t.LONG, '{"minValues":', "c = 1"), (t.LONG, '{"minValues":5}', "c = 1"), (t.LONG, "{}\n{}", "c = 1"),
    (t.LONG, bounds("5", "6"), "c = 1"), (t.LONG, bounds(5.5, 6.5), "c = 1"), (t.LONG, bounds(True, True), "c = 7"),
    (t.LONG, bounds(2**70, 2**70), "c = 1"), (t.LONG, bounds([5], {"a": 6}), "c = 1"), (t.LONG, bounds(None, None), "c = 1"),
    (t.LONG, bounds(1, 5, nullCount={"c": 2}, tightBounds=False), "c IS NULL"),
    (t.LONG, bounds(1, 5, nullCount={"c": -1}), "c IS NULL"), (t.LONG, bounds(1, 5, nullCount={"c": "0"}), "c IS NULL"),
    (t.LONG, {"minValues": {"c": 1}, "maxValues": {"c": 5}}, "c IS NULL"),
    (t.STRING, bounds("a", "b" * 32), f"c = '{'b' * 33}'"), (t.STRING, bounds("a", "😀" * 16), f"c = '{'😀' * 17}'"),
    (t.STRING, bounds("a", "b" * 32), f"c LIKE '{'b' * 33}%'"), (t.STRING, bounds(1, 2), "c = 'x'"),
    (t.DOUBLE, bounds("NaN", "NaN"), "c = 1.5"), (t.DOUBLE, bounds("-Infinity", "Infinity"), "c = 1.5"),
    (t.DOUBLE, bounds("x", None), "c = 1.5"), (t.DATE, bounds("2024-02-30", "x"), "c = DATE '2024-01-01'"),
    (t.DATE, bounds(5, 6), "c = DATE '2024-01-01'"),
    (t.TIMESTAMP, bounds("2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.000Z"), "c = TIMESTAMP '2024-01-01 00:00:00.000999Z'"),
    # 00:00:30 on the clocks of Los Angeles then, which were 7:52:58 behind; the seconds of the offset are not told
    (t.TIMESTAMP, bounds("1850-01-01T00:00:30.000-07:52", "1850-01-01T00:00:30.000-07:52"), "c = TIMESTAMP '1850-01-01 07:53:28Z'"),
    (t.TIMESTAMP, bounds("1900-01-01T00:00:00.000+00:19", "1900-01-01T00:00:00.000+00:19"), "c = TIMESTAMP '1899-12-31 23:40:28Z'"),
    (t.TIMESTAMP, bounds("garbage", "garbage"), "c = TIMESTAMP '2024-01-01 00:00:00Z'"),
    (t.Decimal(20, 3), bounds("x", 1e400), "c = 1"), (t.Decimal(5, 3), bounds(1.00001, 1.00001), "c = 1"),
    (t.Decimal(5, 3), bounds(999999, 999999), "c = 1"), (t.Decimal(20, 3), bounds("1.5", "2.5"), "c = 2"),
    (t.BINARY, bounds("a", "b"), "c IS NOT NULL"),
]  # fmt: skip


@pytest.mark.parametrize("kind, stats, where", KEPT, ids=lambda value: str(value)[:40])
def test_a_file_is_never_skipped_for_statistics_that_do_not_say_so(kind: Type, stats: Any, where: str) -> None:
    """PROTOCOL.md, "Per-file Statistics", and its note: "String columns are cut off [...] Timestamp columns are truncated"."""
    assert kept(kind, stats, where)


def test_a_decimal_bound_is_exact_beyond_the_digits_of_a_float() -> None:
    stats = '{"numRecords":1,"minValues":{"c":12345678901234567.891},"maxValues":{"c":12345678901234567.891}}'
    assert kept(t.Decimal(20, 3), stats, "c = 12345678901234567.891")
    assert not kept(t.Decimal(20, 3), stats, "c > 12345678901234567.891")


@pytest.mark.parametrize("kind, told, meant", [
    (t.Decimal(38, 9), "-8.999999999999998e+28", "-90000000000000000000000000000"), (t.Decimal(20, 3), "12345678901234568", "12345678901234567.891"),
    (t.Decimal(38, 0), "1e38", "99999999999999999999999999999999999999"), (t.Decimal(38, 18), "1.2345678901234567", "1.234567890123456789"),
    (t.Decimal(38, 38), "-1.2345678901234567e-10", "-0.00000000012345678901234567890123456789"),
    (t.Decimal(16, 15), "9.007199254740992", "9.007199254740993"),
])  # fmt: skip
def test_a_decimal_bound_that_was_rounded_to_a_float_skips_nothing(kind: t.Decimal, told: str, meant: str) -> None:
    """deltalake, as of 1.6, writes the bounds of decimals as the floats that are near."""
    stats = f'{{"numRecords":1,"minValues":{{"c":{told}}},"maxValues":{{"c":{told}}}}}'
    assert kept(kind, stats, f"c = {meant}")


@settings(max_examples=40, deadline=None)
@given(st.decimals(min_value=-(10**18), max_value=10**18, places=19))
def test_a_file_is_read_for_a_decimal_whose_bounds_are_the_nearest_floats(value: Decimal) -> None:
    stats = f'{{"numRecords":1,"minValues":{{"c":{float(value)!r}}},"maxValues":{{"c":{float(value)!r}}}}}'
    assert kept(t.Decimal(38, 19), stats, f"c = {value:f}")


def test_broken_statistics_of_one_file_leave_those_of_others_in_use() -> None:
    log = Log().start()
    for i, stats in enumerate(["{", json.dumps({"numRecords": 1, "minValues": {"id": 7}, "maxValues": {"id": 7}}), "null", "7"]):
        log.commit(add(f"f{i}", stats=stats))
    assert log.open().files()["records"].to_pylist() == [None, 1, None, None]
    assert log.delta().plan().matching(parse("id = 1")).tolist() == [True, False, True, True]


STRUCTS = [
    ("texts for timestamps", t.TIMESTAMP, pa.string(), "2024-01-01T00:00:00.000Z", "c > TIMESTAMP '2024-01-02 00:00:00Z'", False),
    ("milliseconds", t.TIMESTAMP, pa.timestamp("ms", "UTC"), datetime(2024, 1, 1, tzinfo=UTC),
     "c > TIMESTAMP '2024-01-01 00:00:00.000999Z'", False),
    ("milliseconds that were cut", t.TIMESTAMP, pa.timestamp("ms", "UTC"), datetime(2024, 1, 1, tzinfo=UTC),
     "c = TIMESTAMP '2024-01-01 00:00:00.000999Z'", True),
    ("another integer", t.LONG, pa.int32(), 5, "c > 5", False), ("a text for a number", t.LONG, pa.string(), "x", "c > 5", True),
    ("a struct for a number", t.LONG, pa.struct([("y", pa.int64())]), {"y": 1}, "c > 5", True),
    ("a cut text", t.STRING, pa.string(), "b" * 32, f"c = '{'b' * 33}'", True),
]  # fmt: skip


@pytest.mark.parametrize("kind, stored, bound, where, expected", [c[1:] for c in STRUCTS], ids=[c[0] for c in STRUCTS])
def test_statistics_as_a_struct_are_read_in_whatever_type_they_have(
    kind: Type, stored: pa.DataType, bound: Any, where: str, expected: bool
) -> None:
    value = pa.struct([("c", stored)])
    parsed = pa.struct([("numRecords", pa.int64()), ("minValues", value), ("maxValues", value)])
    action = {"add": add("f")["add"] | {"stats_parsed": {"numRecords": 1, "minValues": {"c": bound}, "maxValues": {"c": bound}}}}
    log = Log()
    top = [protocol(), metadata(Struct((Field("c", kind),)))]
    log.put(f"{0:020}.checkpoint.parquet", parquet(checkpoint_rows([*top, action], parsed)))
    assert bool(log.delta().plan().matching(parse(where))[0]) is expected
