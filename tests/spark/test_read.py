"""Both relations read what the Arrow executor reads."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.core import types as t
from esker.core.arrow_types import VARIANT
from esker.core.scan import Nulls, Resolution, RowIndex, ScanColumn, Stored
from esker.core.types import Array, Decimal, Field, Map, Struct, Type
from esker.core.variant import encode
from esker.errors import InvalidRequest
from tests.spark.plans import assert_same_rows, constant, plan_of, rows_of, stored

pytestmark = pytest.mark.spark

NAMES = [
    "plain.parquet", "a b.parquet", "50%.parquet", "50%20off.parquet", "a#b.parquet", "a?b=c.parquet", "a+b.parquet",
    "日本é.parquet", "[a]{b,c}*.parquet", "back\\slash.parquet", "_hidden.parquet", ".dot.parquet", "a:b.parquet",
    "_change_data/x.parquet", "day=1/x.parquet", "t=2020-01-01 00%3A00%3A00/x.parquet", "no-extension",
]  # fmt: skip


def test_files_are_read_whatever_their_names(read, tmp_path: Path):
    files = {name: pa.table({"i": [n, -1]}) for n, name in enumerate(NAMES)}
    names = pa.table({"name": NAMES})
    plan = plan_of(
        tmp_path, files, [stored("i", t.LONG), constant("name", t.STRING)], constants=names,
        constant_fields=[Field("name", t.STRING)], dead={n: [1] for n in range(len(NAMES))},
    )  # fmt: skip
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert rows_of(frame.toArrow()) == sorted(enumerate(NAMES), key=repr)


def test_a_plan_without_files_gives_an_empty_frame(read, tmp_path: Path):
    plan = plan_of(tmp_path, {}, [stored("i", t.LONG), ScanColumn(Field("n", t.STRING), Nulls())])
    frame = read(plan)
    assert frame.columns == ["i", "n"]
    assert frame.count() == 0


def test_a_plan_without_columns_still_counts(read, tmp_path: Path):
    plan = plan_of(tmp_path, {"a": pa.table({"i": [1, 2, 3]})}, [], dead={0: [1]})
    assert read(plan).count() == 2


def test_the_order_of_the_columns_is_the_plans(read, tmp_path: Path):
    plan = plan_of(
        tmp_path,
        {"a": pa.table({"x": [1, 2], "y": ["a", "b"]})},
        [
            ScanColumn(Field("none", Struct((Field("a", t.INTEGER, nullable=False),))), Nulls()),
            constant("p", t.INTEGER), stored("y", t.STRING), ScanColumn(Field("row", t.LONG), RowIndex()), stored("x", t.LONG),
        ],
        constants=pa.table({"p": pa.array([7], pa.int32())}),
        constant_fields=[Field("p", t.INTEGER)],
    )  # fmt: skip
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert [f.dataType.simpleString() for f in frame.schema] == ["struct<a:int>", "int", "string", "bigint", "bigint"]
    assert all(f.nullable for f in frame.schema if f.name != "row")


def test_names_of_columns_may_have_any_character(read, tmp_path: Path):
    names = ["a b", "a.b", "a`b", "été", "x,y;z{}()=", "_metadata", "__esker_row", "__esker_dead"]
    plan = plan_of(
        tmp_path,
        {"a": pa.table({n: [i, 9] for i, n in enumerate(names)})},
        [stored(n, t.LONG) for n in names],
        dead={0: [1]},
    )
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert frame.where("`a.b` = 1 AND `a``b` = 2").count() == 1
    assert frame.select("_metadata").count() == 1


def test_nested_columns_are_found_by_the_files_names(read, tmp_path: Path):
    inner = Struct((Field("b", t.LONG), Field("c", Struct((Field("d", t.STRING),)))))
    there = Struct((Field("col-2", t.LONG), Field("col-3", Struct((Field("col-4", t.STRING),)))))
    rows = [{"col-2": 1, "col-3": {"col-4": "x"}}, None, {"col-2": None, "col-3": None}]
    in_file = pa.struct({"col-2": pa.int64(), "col-3": pa.struct({"col-4": pa.string()})})
    table = pa.table({
        "col-1": pa.array(rows, in_file),
        "col-5": pa.array([[rows[0], None], [], None], pa.list_(in_file)),
        "col-6": pa.array([[("k", rows[0])], [], None], pa.map_(pa.string(), in_file)),
    })  # fmt: skip
    plan = plan_of(
        tmp_path,
        {"a": table, "without": pa.table({"other": [1]})},
        [
            stored("a", inner, Field("col-1", there)),
            stored("list", Array(inner), Field("col-5", Array(there))),
            stored("map", Map(t.STRING, inner), Field("col-6", Map(t.STRING, there))),
        ],
    )
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert frame.schema["a"].dataType.simpleString() == "struct<b:bigint,c:struct<d:string>>"
    assert rows_of(frame.where("a.c.d = 'x'").select("a.b").toArrow()) == [(1,)]
    assert rows_of(frame.where("a.b = 1").select("a.c.d", "list.b", "map").toArrow())[0][:2] == ("x", [1, None])


def with_ids(schema: dict[str, tuple[int, pa.DataType]]) -> pa.Schema:
    return pa.schema([pa.field(n, k, metadata={"PARQUET:field_id": str(i)}) for n, (i, k) in schema.items()])


def test_columns_found_by_id_are_never_found_by_name(read, tmp_path: Path):
    """The names were swapped, one was dropped and its name given to another, and a type was widened after a rename."""
    old = pa.table(
        {"a": [1, 2], "b": ["x", "y"], "c": [10, 20]},
        schema=with_ids({"a": (1, pa.int32()), "b": (2, pa.string()), "c": (3, pa.int32())}),
    )
    new = pa.table(
        {"a": ["z"], "b": [3], "d": [30]},
        schema=with_ids({"a": (2, pa.string()), "b": (1, pa.int64()), "d": (3, pa.int64())}),
    )
    columns = [
        stored("a", t.STRING, Field("a", t.STRING, id=2)), stored("b", t.LONG, Field("b", t.LONG, id=1)),
        stored("d", t.LONG, Field("d", t.LONG, id=3)), stored("c", t.LONG, Field("c", t.LONG, id=4)),
    ]  # fmt: skip
    plan = plan_of(tmp_path, {"old": old, "new": new}, columns, resolution=Resolution.ID)
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert rows_of(frame.toArrow()) == [("x", 1, 10, None), ("y", 2, 20, None), ("z", 3, 30, None)]
    assert frame.where("b = 1 AND a = 'x'").count() == 1
    assert frame.where("c IS NULL AND d > 10").count() == 2
    assert frame.where("c = 10").count() == 0


def test_nested_columns_are_found_by_id(read, tmp_path: Path):
    inner = pa.struct(
        [
            pa.field("x", pa.int32(), metadata={"PARQUET:field_id": "2"}),
            pa.field("y", pa.string(), metadata={"PARQUET:field_id": "3"}),
        ]
    )
    table = pa.table({"s": [{"x": 1, "y": "a"}]}, schema=with_ids({"s": (1, inner)}))
    seen = Struct((Field("y", t.LONG, id=2), Field("z", t.STRING, id=3), Field("x", t.DOUBLE, id=4)))
    plan = plan_of(tmp_path, {"a": table}, [stored("r", seen, Field("r", seen, id=1))], resolution=Resolution.ID)
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert rows_of(frame.select("r.z", "r.x").where("r.y = 1").toArrow()) == [("a", None)]


def test_columns_of_one_type_in_all_files_are_found_by_id(read, tmp_path: Path):
    files = {
        "old": pa.table({"a": [1, 2], "b": [{"x": "p"}, None]}, schema=with_ids({"a": (1, pa.int64()), "b": (2, pa.struct({"x": pa.string()}))})),
        "new": pa.table({"b": [3], "a": [None]}, schema=with_ids({"b": (1, pa.int64()), "a": (2, pa.struct({"x": pa.string()}))})),
    }  # fmt: skip
    inner = Struct((Field("x", t.STRING),))
    columns = [stored("n", t.LONG, Field("n", t.LONG, id=1)), stored("s", inner, Field("s", inner, id=2))]
    plan = plan_of(tmp_path, files, columns, resolution=Resolution.ID, dead={0: [1]}, may_be_narrower=False)
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert sorted(row.n for row in frame.collect()) == [1, 3]


@pytest.mark.parametrize("relation", ["native"], indirect=True)
def test_a_file_without_ids_is_refused_where_columns_are_found_by_id(read, tmp_path: Path):
    plan = plan_of(
        tmp_path, {"a": pa.table({"a": [1]})}, [stored("a", t.LONG, Field("a", t.LONG, id=1))], resolution=Resolution.ID,
        may_be_narrower=False,
    )  # fmt: skip
    with pytest.raises(Exception, match="field Ids"):
        read(plan).collect()


WIDENED: list[tuple[pa.Array, Type]] = [
    (pa.array([1, -128, None], pa.int8()), t.SHORT),
    (pa.array([1, -128, None], pa.int8()), t.LONG),
    (pa.array([1, -(2**15), None], pa.int16()), t.INTEGER),
    (pa.array([1, -(2**31), None], pa.int32()), t.LONG),
    (pa.array([1, -(2**31), None], pa.int32()), t.DOUBLE),
    (pa.array([1, -5, None], pa.int16()), t.DOUBLE),
    (pa.array([1.5, -0.0, None], pa.float32()), t.DOUBLE),
    (pa.array([date(2020, 1, 1), date(1582, 10, 4), None], pa.date32()), t.TIMESTAMP_NTZ),
    (pa.array([Number("1.25"), Number("-9.99"), None], pa.decimal128(3, 2)), Decimal(20, 4)),
    (pa.array([Number("1.25"), Number("-9.99"), None], pa.decimal128(3, 2)), Decimal(5, 2)),
    (pa.array([1, -(2**31), None], pa.int32()), Decimal(12, 2)),
    (pa.array([1, -(2**63), None], pa.int64()), Decimal(20, 0)),
]  # fmt: skip


@pytest.mark.parametrize("values, wide", WIDENED, ids=lambda v: str(v.type if isinstance(v, pa.Array) else v))
def test_older_and_narrower_types_are_widened(read, tmp_path: Path, values: pa.Array, wide: Type):
    nested = pa.StructArray.from_arrays([values], ["in"])
    plan = plan_of(
        tmp_path,
        {"a": pa.table({"v": values, "s": nested})},
        [stored("v", wide), stored("s", Struct((Field("in", wide),)))],
    )
    assert_same_rows(read(plan), plan)


@pytest.mark.parametrize("relation", ["native"], indirect=True)
def test_older_types_are_widened_where_the_column_had_another_name(read, tmp_path: Path):
    """By id a file's name says nothing; each column is stored under another one, with a dictionary and without."""
    columns = [stored(f"new{n}", wide, Field(f"new{n}", wide, id=n)) for n, (_, wide) in enumerate(WIDENED)]
    there = with_ids({f"old{n}": (n, values.type) for n, (values, _) in enumerate(WIDENED)})
    table = pa.table([values for values, _ in WIDENED], schema=there)
    plan = plan_of(tmp_path, {"coded": table, "plain": table}, columns, resolution=Resolution.ID)
    pq.write_table(table, tmp_path / "plain", use_dictionary=False)
    plan = replace(plan, sizes=pa.array([path.stat().st_size for path in (tmp_path / "coded", tmp_path / "plain")]))
    assert_same_rows(read(plan), plan)


VARIANTS = {"name": Resolution.NAME, "id": Resolution.ID}


@pytest.mark.parametrize("by", VARIANTS)
def test_variants_are_read_at_every_depth_whatever_the_file_is_called(read, tmp_path: Path, by: str):
    """A hidden file is read by Python workers, as are columns found by id without the native relation."""
    values = [{"metadata": metadata, "value": value} for metadata, value in map(encode, ({"a": [1, None]}, "text", None))]
    flat = pa.array([*values, None], VARIANT)
    table = pa.table({
        "v": flat, "s": pa.StructArray.from_arrays([flat], fields=[pa.field("in", VARIANT)]),
        "l": pa.array([[value, None] for value in values] + [None], pa.list_(VARIANT)),
        "m": pa.array([[("k", value)] for value in values] + [None], pa.map_(pa.string(), VARIANT)),
    })  # fmt: skip
    kinds = [t.VARIANT, Struct((Field("in", t.VARIANT),)), Array(t.VARIANT), Map(t.STRING, t.VARIANT)]
    there = table.cast(with_ids({f.name: (n, f.type) for n, f in enumerate(table.schema)}))
    columns = [stored(f.name, kind, Field(f.name, kind, id=n)) for n, (f, kind) in enumerate(zip(table.schema, kinds, strict=True))]
    plan = plan_of(tmp_path, {"_hidden": there, "plain": there}, columns, resolution=VARIANTS[by])
    texts = ['{"a":[1,null]}', '"text"', "null"]
    found = read(plan).selectExpr("to_json(v)", "to_json(s)", "to_json(l)", "to_json(m)", "v IS NULL").collect()
    wanted = [(x, f'{{"in":{x}}}', f"[{x},null]", f'{{"k":{x}}}', False) for x in texts] + [(None, "{}", None, None, True)]
    assert sorted(map(tuple, found), key=repr) == sorted(wanted * 2, key=repr)


@pytest.mark.parametrize("condition, expected", [
    ("v < 1.5", [1]), ("v <= 1.5", [1]), ("v > 1.5", [2, 3]), ("v >= 2.5", [3]), ("v = 1.5", []), ("v <> 2.5", [1, 2, 3]),
    ("v IN (1.5, 3)", [3]), ("v < -2147483649", []), ("v > -2147483649", [1, 2, 3]), ("v < 4294967299", [1, 2, 3]),
    ("v = 4294967298", []), ("v >= 4294967297", []), ("s.in < 1.5", [1]), ("NOT s.in > 2.5", [1, 2]),
])  # fmt: skip
@pytest.mark.parametrize("wide", [t.LONG, t.DOUBLE, Decimal(14, 2)], ids=str)
def test_filters_on_widened_columns_miss_no_row(read, tmp_path: Path, wide: Type, condition: str, expected: list[int]):
    """Parquet's own filters compare with the stored type, which cannot hold what the wider one can."""
    each = [pa.array([n], pa.int32()) for n in (1, 2, 3)]
    files = {str(n): pa.table({"v": v, "s": pa.StructArray.from_arrays([v], ["in"])}) for n, v in enumerate(each)}
    plan = plan_of(tmp_path, files, [stored("v", wide), stored("s", Struct((Field("in", wide),)))])
    assert sorted(int(r.v) for r in read(plan).where(condition).collect()) == expected


@pytest.mark.parametrize("condition, expected", [
    ("d > 1", [1]), ("d <> 0.25", [1, 2, 3, 4]), ("d = 0", [3, 4]), ("d >= 0D OR f > 7", [1, 2, 3, 4]), ("f = FLOAT('NaN')", [1]),
    ("s.in > 1", [1]), ("s.in <= -0.0D", [3, 4]),
])  # fmt: skip
def test_filters_on_floats_miss_no_row(read, tmp_path: Path, condition: str, expected: list[int]):
    """To Spark NaN is above all numbers, and -0.0 is 0.0; to Parquet's own filters NaN is in no bounds, and the zeros are two."""
    values = {1: pa.array([float("nan"), 0.25, None]), 2: pa.array([0.5]), 3: pa.array([-0.0]), 4: pa.array([0.0])}
    files = {
        str(n): pa.table({"n": [n] * len(v), "d": v, "f": v.cast(pa.float32()), "s": pa.StructArray.from_arrays([v], ["in"])})
        for n, v in values.items()
    }
    inner = Struct((Field("in", t.DOUBLE),))
    plan = plan_of(tmp_path, files, [stored("n", t.LONG), stored("d", t.DOUBLE), stored("f", t.FLOAT), stored("s", inner)])
    assert sorted({r.n for r in read(plan).where(condition).collect()}) == expected


CONSTANTS: list[tuple[Type, list[object]]] = [
    (t.BOOLEAN, [True, False, None]),
    (t.BYTE, [-128, 127, None]),
    (t.SHORT, [-(2**15), 2**15 - 1, None]),
    (t.INTEGER, [-(2**31), 2**31 - 1, None]),
    (t.LONG, [-(2**63), 2**63 - 1, None]),
    (t.FLOAT, [float("-inf"), 1.5, None]),
    (t.DOUBLE, [5e-324, -1.7976931348623157e308, None]),
    (t.STRING, ["", "é\n\t\"'\\\x00 日本 😀", None]),
    (t.BINARY, [b"", b"\x00\xff", None]),
    (t.DATE, [date(1, 1, 1), date(9999, 12, 31), None]),
    (t.TIMESTAMP, [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 23, 59, 59, 999999, UTC), None]),
    (t.TIMESTAMP_NTZ, [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), None]),
    (Decimal(9, 2), [Number("-1234567.89"), Number("0.01"), None]),
    (Decimal(38, 10), [Number("-9999999999999999999999999999.9999999999"), Number("0E-10"), None]),
]


@pytest.mark.parametrize("kind, values", CONSTANTS, ids=lambda v: str(v) if not isinstance(v, list) else "")
def test_constants_of_every_type_reach_the_rows(read, tmp_path: Path, kind: Type, values: list[object]):
    from esker.core.arrow_types import to_arrow

    files = {str(n): pa.table({"i": [n]}) for n in range(len(values))}
    plan = plan_of(
        tmp_path, files, [constant("c", kind), stored("i", t.LONG)],
        constants=pa.table({"c": pa.array(values, to_arrow(kind))}), constant_fields=[Field("c", kind)],
    )  # fmt: skip
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert [r.i for r in frame.where("c IS NULL").collect()] == [2]
    assert frame.where("c IS NOT NULL").count() == 2
    assert frame.groupBy("c").count().count() == 3


@pytest.mark.parametrize("dead", [
    {0: []}, {0: [0]}, {0: [99]}, {0: range(100)}, {0: range(0, 100, 3), 1: [63, 64, 65]}, {1: [31, 32]}, {2: [0, 99]},
], ids=str)  # fmt: skip
def test_dead_rows_are_not_read(read, tmp_path: Path, dead):
    files = {str(n): pa.table({"i": range(n * 100, n * 100 + 100)}) for n in range(3)}
    plan = plan_of(tmp_path, files, [stored("i", t.LONG)], dead=dead)
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert frame.count() == 300 - sum(len(d) for d in dead.values())
    assert frame.where("i % 2 = 0").count() == len(
        [i for i in range(300) if i % 2 == 0 and i % 100 not in dead.get(i // 100, ())]
    )


def test_dead_rows_are_found_in_every_row_group(read, tmp_path: Path):
    plan = plan_of(
        tmp_path, {"a": pa.table({"i": range(10_000)})}, [stored("i", t.LONG)], dead={0: range(0, 10_000, 7)}
    )
    pq.write_table(pa.table({"i": range(10_000)}), tmp_path / "a", row_group_size=777, data_page_size=512)
    sized = plan.__class__(**{**plan.__dict__, "sizes": pa.array([(tmp_path / "a").stat().st_size])})
    assert_same_rows(read(sized), sized)
    assert [r.i for r in read(sized).where("i BETWEEN 5000 AND 5010").orderBy("i").collect()] == [
        i for i in range(5000, 5011) if i % 7
    ]


def test_row_ids_are_stored_or_counted_from_a_base(read, tmp_path: Path):
    columns = [
        stored("v", t.STRING),
        ScanColumn(Field("id", t.LONG), Stored(Field("_row_id", t.LONG), "base", plus_row_index=True)),
        ScanColumn(Field("version", t.LONG), Stored(None, "version")),
        ScanColumn(Field("row", t.LONG), RowIndex()),
    ]
    plan = plan_of(
        tmp_path,
        {
            "fresh": pa.table({"v": ["a", "b", "c"]}),
            "kept": pa.table({"v": ["d", "e"], "_row_id": pa.array([7, None], pa.int64())}),
        },
        columns,
        constants=pa.table({"base": pa.array([100, 200], pa.int64()), "version": pa.array([1, None], pa.int64())}),
        constant_fields=[Field("base", t.LONG), Field("version", t.LONG)],
        dead={0: [1]},
    )  # fmt: skip
    frame = read(plan)
    assert_same_rows(frame, plan)
    assert rows_of(frame.select("v", "id").toArrow()) == [("a", 100), ("c", 102), ("d", 7), ("e", 201)]
    assert frame.where("row = 2").count() == 1


def test_void_columns_are_null(read, tmp_path: Path):
    seen = Struct((Field("a", t.LONG), Field("v", t.VOID)))
    plan = plan_of(
        tmp_path,
        {"a": pa.table({"s": [{"a": 1}, None]})},
        [stored("s", seen, Field("s", seen)), ScanColumn(Field("v", t.VOID), Nulls())],
    )
    frame = read(plan)
    assert frame.schema["v"].dataType.simpleString() == "void"
    assert sorted(map(repr, frame.selectExpr("s.a", "s.v", "s IS NULL AS gone", "v").collect())) == [
        "Row(a=1, v=None, gone=False, v=None)", "Row(a=None, v=None, gone=True, v=None)",
    ]  # fmt: skip


def test_old_dates_and_instants_are_not_rebased(read, tmp_path: Path):
    table = pa.table(
        {"d": [date(1000, 1, 1)], "t": pa.array([datetime(1000, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))}
    )
    plan = plan_of(tmp_path, {"a": table}, [stored("d", t.DATE), stored("t", t.TIMESTAMP)])
    assert_same_rows(read(plan), plan)


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
@pytest.mark.parametrize("is_int96", [False, True], ids=["int64", "int96"])
def test_what_was_counted_by_another_calendar_is_told_by_its_footer(read, tmp_path: Path, zone: str, is_int96: bool):
    footer = {"org.apache.spark.version": "3.5.0", "org.apache.spark.timeZone": zone}
    footer |= {"org.apache.spark.legacyDateTime": "", "org.apache.spark.legacyINT96": ""}
    days = [-718_800, -718_799, -354_194, -354_193, -141_428, -141_427, -30_000, 0, None]
    instants = pa.array([d and d * 86_400_000_000 + 12_345_678 for d in days], pa.int64()).view(pa.timestamp("us", "UTC"))
    nested = pa.StructArray.from_arrays([instants], ["t"], mask=pa.array([d == 0 for d in days]))
    table = pa.table({"d": pa.array(days, pa.int32()).view(pa.date32()), "t": instants, "s": nested, "l": [[d] for d in instants]})
    plan = plan_of(
        tmp_path, {"a": table.slice(0, 0)},
        [stored("d", t.DATE), stored("t", t.TIMESTAMP), stored("s", Struct((Field("t", t.TIMESTAMP),))), stored("l", Array(t.TIMESTAMP))],
    )
    pq.write_table(table.replace_schema_metadata(footer), tmp_path / "a", use_deprecated_int96_timestamps=is_int96)
    unsized = replace(plan, sizes=pa.array([0], pa.int64()))
    assert_same_rows(read(unsized), unsized)


def test_where_keeps_the_rows_for_which_it_is_true(read, tmp_path: Path):
    plan = plan_of(tmp_path, {"a": pa.table({"i": [1, 2, None]})}, [stored("i", t.LONG)])
    assert [r.i for r in read(plan, "i > 1").collect()] == [2]


def test_a_file_that_is_gone_stops_the_query(read, tmp_path: Path):
    plan = plan_of(tmp_path, {"a": pa.table({"i": [1]}), "b": pa.table({"i": [2]})}, [stored("i", t.LONG)])
    (tmp_path / "b").unlink()
    with pytest.raises(Exception, match=r"(?i)not exist|not see"):
        read(plan).collect()


@pytest.mark.parametrize("loss", ["gone", "garbled"])
def test_a_session_that_overlooks_lost_files_overlooks_none_of_a_table(read, spark, tmp_path: Path, loss: str):
    plan = plan_of(tmp_path, {"a": pa.table({"i": [1]}), "b": pa.table({"i": [2]})}, [stored("i", t.LONG)])
    own = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
    for key in own:
        spark.conf.set(key, "true")
    try:
        frame = read(plan)
        if loss == "gone":
            (tmp_path / "b").unlink()
        else:
            (tmp_path / "b").write_bytes(b"x" * (tmp_path / "b").stat().st_size)
        with pytest.raises(Exception, match=r"FAILED_READ_FILE"):
            frame.collect()
    finally:
        for key in own:
            spark.conf.unset(key)


@pytest.mark.parametrize("where", ["nonsense(", "unknown_function(i) = 1", "j = 1"])
def test_a_condition_that_is_none_is_the_callers_fault(read, tmp_path: Path, where: str):
    plan = plan_of(tmp_path, {"a": pa.table({"i": [1]})}, [stored("i", t.LONG)])
    with pytest.raises(InvalidRequest, match="no condition on a row"):
        read(plan, where)


def test_a_file_of_unknown_size_is_read_whole(read, tmp_path: Path):
    plan = plan_of(tmp_path, {"a": pa.table({"i": range(1000)})}, [stored("i", t.LONG)])
    unsized = plan.__class__(**{**plan.__dict__, "sizes": pa.array([0], pa.int64())})
    assert read(unsized).count() == 1000


def test_frames_can_be_joined_with_themselves_cached_and_named(read, spark, tmp_path: Path):
    files = {str(n): pa.table({"i": range(n * 10, n * 10 + 10)}) for n in range(4)}
    plan = plan_of(tmp_path, files, [stored("i", t.LONG)], dead={1: [0, 1], 2: [5]})
    frame = read(plan)
    assert frame.alias("a").join(frame.alias("b"), "i").count() == 37
    assert frame.where("i < 20").union(frame.where("i >= 20")).count() == 37
    frame.createOrReplaceTempView("planned")
    assert spark.sql("SELECT count(*) FROM planned WHERE i IN (SELECT max(i) FROM planned)").collect()[0][0] == 1
    cached = frame.cache()
    try:
        assert (cached.count(), cached.where("i = 39").count(), cached.count()) == (37, 1, 37)
    finally:
        cached.unpersist()
        spark.catalog.dropTempView("planned")


def test_a_wide_variety_of_rows_survives(read, tmp_path: Path):
    generator = np.random.default_rng(1)
    files = {
        f"{n}.parquet": pa.table({
            "id": generator.integers(0, 1000, 500), "x": generator.random(500),
            "s": [None if i % 7 == 0 else f"s{i}" for i in range(500)], "l": [[i, None] for i in range(500)],
        })
        for n in range(5)
    }  # fmt: skip
    dead = {n: generator.choice(500, 50, replace=False).tolist() for n in (0, 2, 4)}
    plan = plan_of(
        tmp_path,
        files,
        [stored("id", t.LONG), stored("x", t.DOUBLE), stored("s", t.STRING), stored("l", Array(t.LONG))],
        dead=dead,
    )
    assert_same_rows(read(plan), plan)
