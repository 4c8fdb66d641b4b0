"""Putting shredded variants together: examples of the specification, random schemas against a slow shredder, Spark."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.arrow.read import read_table
from esker.core import types as t
from esker.core.arrow_types import VARIANT
from esker.core.scan import FromFile, Resolution, ScanColumn, ScanPlan
from esker.core.shredding import unshred
from esker.core.types import Field
from esker.core.variant import Nanos, decode, encode, members, names, object_of, to_json
from esker.errors import InvalidTable
from tests.core.test_variant import LEAVES, told

EMPTY = b"\x01\x00"
BINARY = pa.binary()


def group(typed: pa.DataType) -> pa.StructType:
    return pa.struct([("value", BINARY), ("typed_value", typed)])


def variants(typed: pa.DataType, rows: list[dict[str, Any] | None]) -> pa.StructArray:
    return pa.array(rows, pa.struct([("metadata", BINARY), ("value", BINARY), ("typed_value", typed)]))


def decoded(array: pa.StructArray) -> list[object]:
    unshredded = unshred(array)
    unshredded.validate(full=True)
    assert unshredded.type == VARIANT
    return [row and decode(row["metadata"], row["value"]) for row in unshredded.to_pylist()]


def raw(value: object) -> bytes:
    return encode(value)[1]


# The examples of the specification


def test_measurements_as_in_the_specification() -> None:
    rows = [
        {"metadata": EMPTY, "typed_value": 34}, {"metadata": EMPTY, "value": b"\x00"}, None,
        {"metadata": EMPTY, "value": raw("n/a")}, {"metadata": EMPTY, "typed_value": 100}, {"metadata": EMPTY},
    ]  # fmt: skip
    array = variants(pa.int64(), rows)
    assert decoded(array) == [34, None, None, "n/a", 100, None]
    assert unshred(array).is_null().to_pylist() == [False, False, True, False, False, False]
    assert decoded(array.slice(3, 2)) == ["n/a", 100]


def test_tags_as_in_the_specification() -> None:
    comedy, drama, horror = ({"typed_value": tag} for tag in ("comedy", "drama", "horror"))
    rows = [
        {"metadata": EMPTY, "typed_value": [comedy, drama]}, {"metadata": EMPTY, "value": b"\x00"},
        {"metadata": EMPTY, "typed_value": [horror, {"value": b"\x00"}, {}]}, {"metadata": EMPTY, "typed_value": []},
    ]  # fmt: skip
    array = variants(pa.list_(group(pa.string())), rows)
    assert decoded(array) == [["comedy", "drama"], None, ["horror", None, None], []]
    assert decoded(array.slice(2)) == [["horror", None, None], []]


EVENT = pa.struct([("event_ts", group(pa.timestamp("us", "UTC"))), ("event_type", group(pa.string()))])
EVENT_NAMES = encode(dict.fromkeys(["event_type", "event_ts", "email", "click", "error_msg"]))[0]
NOON = datetime(2024, 10, 24, 12, tzinfo=UTC)


def rest(**fields: object) -> bytes:
    """An object of some fields, by the ids of EVENT_NAMES."""
    ids = {name: id for id, name in enumerate(names(EVENT_NAMES))}
    return object_of([(ids[name], raw(fields[name])) for name in sorted(fields)])


def event(value: bytes | None, ts: Any = None, kind: Any = None) -> dict[str, Any]:
    return {"metadata": EVENT_NAMES, "value": value, "typed_value": {"event_ts": ts or {}, "event_type": kind or {}}}


def test_events_as_in_the_specification() -> None:
    noop, noon = {"typed_value": "noop"}, {"typed_value": NOON}
    rows = [
        event(None, noon, noop), event(rest(email="user@example.com"), noon, noop), event(rest(error_msg="malformed")),
        {"metadata": EVENT_NAMES, "value": raw("not an object")}, event(rest(click="_button"), noon),
        event(None, noon, {"value": b"\x00"}), event(None, {"value": raw("2024-10-24")}, noop), event(None),
        {"metadata": EVENT_NAMES, "value": b"\x00"}, {"metadata": EVENT_NAMES},
    ]  # fmt: skip
    assert decoded(variants(EVENT, rows)) == [
        {"event_type": "noop", "event_ts": NOON}, {"event_type": "noop", "event_ts": NOON, "email": "user@example.com"},
        {"error_msg": "malformed"}, "not an object", {"event_ts": NOON, "click": "_button"},
        {"event_type": None, "event_ts": NOON}, {"event_type": "noop", "event_ts": "2024-10-24"}, {}, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("row", [
    event(rest(event_type="login"), {"typed_value": NOON}, {"typed_value": "login"}),
    event(rest(event_type="login")),
    {"metadata": EVENT_NAMES, "value": rest(event_type="login")},
    event(raw("a")),
    event(b""),
    {"metadata": EVENT_NAMES, "value": raw({})},
    event(None, {"typed_value": NOON, "value": b"\x00"}),
    {**event(None, {"typed_value": NOON}), "metadata": EMPTY},
    {**event(None, {"typed_value": NOON}), "metadata": b""},
    {**event(None, {"typed_value": NOON}), "metadata": None},
])  # fmt: skip
def test_contradictions_of_an_event_are_an_invalid_table(row: dict[str, Any]) -> None:
    with pytest.raises(InvalidTable):
        unshred(variants(EVENT, [event(None), row]))


def test_a_missing_field_needs_no_name_in_the_metadata() -> None:
    assert decoded(variants(EVENT, [{**event(None), "metadata": EMPTY}])) == [{}]


@pytest.mark.parametrize("kind, row", [
    (pa.int64(), {"metadata": EMPTY, "value": raw(1), "typed_value": 1}),
    (pa.list_(group(pa.int64())), {"metadata": EMPTY, "value": raw([1]), "typed_value": []}),
    (pa.list_(group(pa.int64())), {"metadata": EMPTY, "value": raw([1])}),
    (pa.list_(group(pa.int64())), {"metadata": EMPTY, "typed_value": [{"value": raw(1), "typed_value": 1}]}),
    (pa.list_(group(pa.int64())), {"metadata": EMPTY, "typed_value": [None]}),
    (pa.list_(pa.int64()), {"metadata": EMPTY, "typed_value": [1]}),
    (pa.struct([("a", group(pa.int64()))]), {"metadata": encode({"a": 1})[0], "typed_value": {"a": None}}),
    (pa.struct([("a", pa.int64())]), {"metadata": encode({"a": 1})[0], "typed_value": {"a": 1}}),
    (pa.struct([("a", pa.struct([]))]), {"metadata": encode({"a": 1})[0], "typed_value": {"a": {}}}),
    (pa.uint8(), {"metadata": EMPTY, "typed_value": 1}),
    (pa.timestamp("ms"), {"metadata": EMPTY, "typed_value": 1}),
    (pa.binary(12), {"metadata": EMPTY, "typed_value": bytes(12)}),
    (pa.map_(pa.string(), pa.int64()), {"metadata": EMPTY, "typed_value": [("a", 1)]}),
], ids=str)  # fmt: skip
def test_what_the_specification_rules_out_is_an_invalid_table(kind: pa.DataType, row: dict[str, Any]) -> None:
    with pytest.raises(InvalidTable):
        unshred(variants(kind, [row]))


@pytest.mark.parametrize("fields", [
    ["value"], ["metadata"], ["metadata", "value", "value"], ["metadata", "value", "more"],
])  # fmt: skip
def test_a_group_that_is_no_variant_is_an_invalid_table(fields: list[str]) -> None:
    with pytest.raises(InvalidTable):
        unshred(pa.StructArray.from_arrays([pa.array([b"\x01"])] * len(fields), fields))


# Every type


@pytest.mark.parametrize("kind, value, expected", [
    (pa.bool_(), True, True), (pa.bool_(), False, False), (pa.int8(), -1, -1), (pa.int16(), 300, 300),
    (pa.int32(), -(2**31), -(2**31)), (pa.int64(), 5, 5), (pa.float32(), 0.5, 0.5), (pa.float64(), 0.1, 0.1),
    (pa.decimal128(9, 2), Decimal("-1.10"), Decimal("-1.10")), (pa.decimal128(18, 0), Decimal(7), Decimal(7)),
    (pa.decimal128(38, 38), Decimal("-1E-38"), Decimal("-1E-38")),
    (pa.decimal256(20, 1), Decimal("1.5"), Decimal("1.5")),
    (pa.decimal32(5, 1), Decimal("1.5"), Decimal("1.5")), (pa.date32(), date(1969, 1, 1), date(1969, 1, 1)),
    (pa.time64("us"), time(1, 2, 3, 4), time(1, 2, 3, 4)), (pa.timestamp("us", "UTC"), NOON, NOON),
    (pa.timestamp("us", "Europe/Oslo"), NOON, NOON), (pa.timestamp("us"), datetime(1900, 1, 1), datetime(1900, 1, 1)),
    (pa.timestamp("ns", "UTC"), -1, Nanos(-1, True)), (pa.timestamp("ns"), 1, Nanos(1, False)), (pa.string(), "", ""),
    (pa.string(), "é" * 31, "é" * 31), (pa.string(), "a" * 63, "a" * 63), (pa.string(), "a" * 64, "a" * 64),
    (pa.large_string(), "a" * 300, "a" * 300), (pa.string_view(), "a" * 20, "a" * 20), (pa.binary(), b"\x00", b"\x00"),
    (pa.large_binary(), b"", b""), (pa.binary_view(), b"a" * 70, b"a" * 70),
    (pa.uuid(), UUID(int=1).bytes, UUID(int=1)),
    (pa.binary(16), UUID(int=1).bytes, UUID(int=1)), (pa.dictionary(pa.int32(), pa.string()), "a", "a"),
    (pa.large_list(group(pa.int8())), [{"typed_value": 1}], [1]),
], ids=str)  # fmt: skip
def test_every_shredded_type_becomes_the_value_it_stands_for(
    kind: pa.DataType, value: object, expected: object
) -> None:
    typed = pa.array([value, None, value, None], kind)
    fields = {
        "typed_value": typed, "metadata": pa.array([EMPTY] * 4),
        "value": pa.array([None, raw("other"), None, None], BINARY),
    }  # fmt: skip
    array = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    for part in (array, array.slice(1), array.slice(3), array.slice(4)):
        whole = [expected, "other", expected, None]
        assert told(decoded(part)) == told(whole[4 - len(part) :])
    without_value = pa.StructArray.from_arrays([typed, fields["metadata"]], ["typed_value", "metadata"])
    assert told(decoded(without_value)) == told([expected, None, expected, None])


def test_an_unshredded_variant_is_only_put_in_order() -> None:
    values = [raw(1), raw("a"), raw(None)]
    array = pa.StructArray.from_arrays(
        [pa.array(values, pa.large_binary()), pa.array([EMPTY] * 3)],
        ["value", "metadata"],
        mask=pa.array([False, True, False]),
    )
    assert decoded(array) == [1, None, None]
    assert unshred(array).to_pylist() == [
        {"metadata": EMPTY, "value": raw(1)}, None, {"metadata": EMPTY, "value": raw(None)},
    ]  # fmt: skip


def test_fields_are_written_in_the_order_of_their_names_whatever_their_ids() -> None:
    metadata = b"\x01\x04\x00\x01\x02\x03\x04dcba"
    kind = pa.struct([("c", group(pa.int8())), ("a", group(pa.int8()))])
    left = bytes.fromhex("02 02 0200 000204 0C02 0C04")  # {"b": 2, "d": 4}
    row = {"metadata": metadata, "value": left, "typed_value": {"c": {"typed_value": 3}, "a": {"typed_value": 1}}}
    (found,) = unshred(variants(kind, [row])).to_pylist()
    assert found["metadata"] == metadata
    assert [(name, id) for name, id, _ in members(found["value"], names(metadata))] == [
        ("a", 3),
        ("b", 2),
        ("c", 1),
        ("d", 0),
    ]


# Random schemas


@dataclass(frozen=True)
class Leaf:
    kind: pa.DataType
    fits: Callable[[Any], bool]
    stored: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class Elements:
    element: "Schema"


@dataclass(frozen=True)
class Fields:
    fields: dict[str, "Schema"]


Schema: TypeAlias = Leaf | Elements | Fields | None  # None: not shredded

NAMES = st.sampled_from(["a", "b", "é", "value", "typed_value", "metadata", ""])


def is_a(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


def is_decimal(precision: int, scale: int) -> Callable[[Any], bool]:
    return lambda v: type(v) is Decimal and (v.as_tuple().exponent == -scale) and abs(v) < 10 ** (precision - scale)


def is_int(bits: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


SCHEMAS: st.SearchStrategy[Schema] = st.recursive(
    st.sampled_from([
        None, Leaf(pa.bool_(), is_a(bool)), Leaf(pa.int8(), is_int(8)), Leaf(pa.int32(), is_int(32)),
        Leaf(pa.int64(), is_int(64)), Leaf(pa.string(), is_a(str)), Leaf(pa.binary(), is_a(bytes)),
        Leaf(pa.float64(), is_a(float)), Leaf(pa.float32(), lambda v: type(v) is float and float(np.float32(v)) == v),
        Leaf(pa.decimal128(9, 3), is_decimal(9, 3)), Leaf(pa.decimal128(38, 3), is_decimal(38, 3)),
        Leaf(pa.date32(), is_a(date)), Leaf(pa.time64("us"), is_a(time)),
        Leaf(pa.timestamp("us"), lambda v: type(v) is datetime and v.tzinfo is None),
        Leaf(pa.timestamp("us", "UTC"), lambda v: type(v) is datetime and v.tzinfo is not None),
        Leaf(pa.timestamp("ns", "UTC"), lambda v: type(v) is Nanos and v.is_utc, lambda v: v.count),
        Leaf(pa.timestamp("ns"), lambda v: type(v) is Nanos and not v.is_utc, lambda v: v.count),
        Leaf(pa.binary(16), is_a(UUID), lambda v: v.bytes),
    ]),
    lambda parts: st.builds(Elements, parts) | st.builds(Fields, st.dictionaries(NAMES, parts, min_size=1)),
    max_leaves=6,
)  # fmt: skip
VALUES = st.recursive(LEAVES, lambda parts: st.lists(parts, max_size=4) | st.dictionaries(NAMES, parts), max_leaves=10)


def kind_of(schema: Schema) -> pa.StructType:
    match schema:
        case None:
            return pa.struct([("value", BINARY)])
        case Leaf():
            return group(schema.kind)
        case Elements():
            return group(pa.list_(pa.field("element", kind_of(schema.element), False)))
        case Fields():
            return group(pa.struct([pa.field(name, kind_of(part), False) for name, part in schema.fields.items()]))


def shredded(value: Any, schema: Schema, encoded: Callable[[object], bytes]) -> dict[str, Any]:
    match schema:
        case Leaf() if schema.fits(value):
            return {"typed_value": schema.stored(value)}
        case Elements() if isinstance(value, list):
            return {"typed_value": [shredded(item, schema.element, encoded) for item in value]}
        case Fields() if isinstance(value, dict):
            rest = {name: item for name, item in value.items() if name not in schema.fields}
            typed = {n: shredded(value[n], part, encoded) if n in value else {} for n, part in schema.fields.items()}
            return {"typed_value": typed, "value": encoded(rest) if rest else None}
    return {"value": encoded(value)}


def row_of(value: object, schema: Schema) -> dict[str, Any]:
    """The shredded row of a value. Its parts share one metadata, which knows two names more than the value."""
    all_names = dict.fromkeys(names(encode(value)[0]))

    def within(part: object) -> tuple[bytes, bytes]:
        metadata, whole = encode({"part": part, "all": all_names})
        return metadata, next(cell for name, _, cell in members(whole, names(metadata)) if name == "part")

    return {"metadata": within(None)[0], **shredded(value, schema, lambda part: within(part)[1])}


@given(SCHEMAS, st.lists(st.none() | st.builds(lambda value: [value], VALUES), max_size=5), st.data())
def test_what_was_shredded_is_put_together_again(schema: Schema, values: list[Any], data: st.DataObject) -> None:
    rows = [value and row_of(value[0], schema) for value in values]
    kind = pa.struct(data.draw(st.permutations([pa.field("metadata", BINARY), *kind_of(schema)])))
    array = pa.array(rows, kind)
    start = data.draw(st.integers(0, len(values)))
    assert told(decoded(array.slice(start))) == told([value and value[0] for value in values[start:]])


# Spark


@pytest.mark.spark
@pytest.mark.parametrize("schema", [
    "a bigint, b string, c array<struct<x double, y decimal(9,2)>>, d struct<e boolean, f struct<g string>>",
    "struct<z date>", "bigint", "array<string>", "array<variant>", "decimal(20,3)", "a variant, b binary, c timestamp",
])  # fmt: skip
def test_variants_that_spark_shredded_are_those_it_wrote(spark: Any, tmp_path: Path, schema: str) -> None:
    texts = [
        "1", "null", '"text"', "1.50", "1e40", "[]", "{}", '["a", "b", 1, null]', "[[1], {}]", '{"a": 1}', '{"a": "1"}',
        '{"a": 12345678901, "b": "é", "c": [{"x": 1.5e3, "y": 1.25}, {"x": 2, "w": []}, 3], "d": {"e": true, "f": {}}}',
        '{"d": {"f": {"g": ""}}}',
        '{"z": 1, "d": {"f": {"g": null, "h": 2}, "i": 3}, "c": 4, "aa": {"b": "c"}}', '{"d": {"f": 7}, "b": null}',
    ]  # fmt: skip
    settings = {
        "spark.sql.variant.writeShredding.enabled": "true", "spark.sql.session.timeZone": "UTC",
        "spark.sql.variant.forceShreddingSchemaForTest": schema,
    }  # fmt: skip
    before = {name: spark.conf.get(name) for name in settings}
    for name, setting in settings.items():
        spark.conf.set(name, setting)
    try:
        frame = spark.createDataFrame([(i, text) for i, text in enumerate([*texts, None])], "i int, j string")
        typed = "named_struct('a', date'2024-1-2', 'b', X'00FF', 'c', timestamp'2024-01-02 03:04', 'z', date'1900-1-1')"
        other = spark.range(1).selectExpr("100 i", f"to_variant_object({typed}) v")
        frame = frame.selectExpr("i", "parse_json(j) v").union(other.selectExpr("cast(i as int) i", "v")).coalesce(1)
        frame.write.parquet(str(tmp_path / "t"))
        expected = [row.j for row in frame.orderBy("i").selectExpr("to_json(v) j").collect()]
    finally:
        for name, setting in before.items():
            spark.conf.set(name, setting)
    (file,) = (tmp_path / "t").glob("*.parquet")
    assert "typed_value" in [field.name for field in pq.read_schema(file).field("v").type]
    columns = [ScanColumn(field, FromFile(field)) for field in (Field("i", t.INTEGER), Field("v", t.VARIANT))]
    plan = ScanPlan(
        f"file://{tmp_path}", tuple(columns), Resolution.NAME, pa.array([f"file://{file}"]), pa.array([0]), pa.table({}),
        has_deletes=np.zeros(1, dtype=bool),
    )  # fmt: skip
    variants = read_table(plan).sort_by("i").column("v").to_pylist()
    assert [row and to_json(row["metadata"], row["value"]) for row in variants] == expected
