"""Does skipping by partitions and statistics ever lose a row?  (spec, "Scan Planning": inclusive and strict projection)

The oracle is slower and simpler: every row is looked at. A file that is skipped has no row for which the filter is TRUE; one that
is said to match whole has no other.
"""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.binding import bind
from esker.core.columns import mask_of
from esker.core.filtering import mask
from esker.core.skipping import may_match, must_match
from esker.core.sql import parse
from esker.core.types import Decimal, Field, Struct, Type
from esker.iceberg.bounds import plain_value
from esker.iceberg.place import Place
from esker.iceberg.projection import bucket_holds, source_range
from esker.iceberg.pruning import FilePruner, matching_manifests
from esker.iceberg.state import load
from esker.iceberg.transforms import Bucket, misfit, parse_transform, transformed
from tests.iceberg.tables import Builder, spec

MOMENTS = st.datetimes(datetime(1969, 11, 1), datetime(1971, 3, 1))
KINDS: dict[str, tuple[Type, st.SearchStrategy[Any]]] = {
    "n": (t.INTEGER, st.integers(-25, 25) | st.integers(-(2**31), 2**31 - 1)),
    "l": (t.LONG, st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)),
    "d": (Decimal(6, 2), st.decimals(-30, 30, places=2)),
    "s": (t.STRING, st.text("ab\u00e9\U0001f600\U0010ffff", max_size=4)),
    "b": (t.BINARY, st.binary(max_size=3) | st.just(b"\xff\xff\xff")),
    "day": (t.DATE, st.dates(date(1969, 11, 1), date(1971, 3, 1))),
    "at": (t.TIMESTAMP, MOMENTS.map(lambda m: m.replace(tzinfo=UTC))),
    "wall": (t.TIMESTAMP_NTZ, MOMENTS),
    "ns": (t.TIMESTAMP_NTZ_NS, MOMENTS),
    "f": (t.DOUBLE, st.floats(-5, 5) | st.sampled_from([float("nan"), 0.0, -0.0, float("inf"), float("-inf")])),
}
TRANSFORMS = ("identity", "bucket[3]", "truncate[2]", "truncate[10]", "year", "month", "day", "hour", "void", "zorder")
FITTING = [
    (name, text)
    for name, (kind, _) in KINDS.items()
    for text in TRANSFORMS
    if text != "zorder" and misfit(parse_transform(text), kind) is None
]


@pytest.mark.parametrize(("name", "text"), FITTING)
def test_no_value_lies_outside_what_its_partition_value_says(name: str, text: str) -> None:
    kind, values = KINDS[name]
    transform = parse_transform(text)

    @settings(max_examples=20, deadline=None)
    @given(st.lists(values, min_size=1, max_size=30))
    def every_value_is_inside(drawn: list[Any]) -> None:
        rows = pa.array(drawn, to_arrow(kind))
        partitions = transformed(transform, rows, kind)
        bounds = source_range(transform, partitions, partitions, kind)
        if bounds is not None:
            known = pc.is_nan(rows) if kind == t.DOUBLE else pa.array([False] * len(rows))
            for test, bound in ((pc.greater_equal, bounds[0]), (pc.less_equal, bounds[1])):
                assert mask_of(pc.or_(known, pc.fill_null(test(rows, bound), True))).all()
        if isinstance(transform, Bucket):
            for at, value in enumerate(drawn):
                assert bucket_holds(transform.count, partitions, kind)([value])[at]

    every_value_is_inside()


def test_times_before_1970_that_were_cut_off_the_wrong_way_are_found() -> None:
    """Older writers wrote -0.5 days as day 0."""
    (lower, _) = source_range(
        parse_transform("day"), pa.array([0], pa.date32()), pa.array([0], pa.date32()), t.TIMESTAMP_NTZ
    )
    assert lower[0].as_py() == datetime(1969, 12, 31)


def test_an_int_that_was_cut_before_it_became_a_long_is_found() -> None:
    """Cutting the lowest int to a multiple of 10 gives a number at the upper end of ints, whatever the column is now."""
    lowest = pa.array([-(2**31)], pa.int32())
    cut = transformed(parse_transform("truncate[10]"), lowest, t.INTEGER).cast(pa.int64())
    (lower, upper) = source_range(parse_transform("truncate[10]"), cut, cut, t.LONG)
    assert lower[0].as_py() <= -(2**31) <= upper[0].as_py()


def _literal(value: Any) -> str:
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime() if value.tzinfo is not None:
            return f"timestamp '{value.isoformat()}'"
        case datetime():
            return f"timestamp_ntz '{value.isoformat()}'"
        case date():
            return f"date '{value}'"
        case float():
            return f"CAST('{value}' AS DOUBLE)"  # whatever it is written like, a list has one type
    return str(value)


SCHEMA = Struct(
    tuple(Field(name, kind, id=i) for i, (name, (kind, _)) in enumerate(KINDS.items(), 1) if name not in ("b", "ns"))
)


def _named(fitting: tuple[str, str]) -> tuple[str, str]:
    """What the partition field is named by."""
    return fitting[0], fitting[1].split("[")[0]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Builder, list[pa.Table], str]:
    """A table of two specs with a few files, their rows, and a filter."""
    names = [f.name for f in SCHEMA]
    first, second = (
        draw(st.lists(st.sampled_from([p for p in FITTING if p[0] in names]), max_size=2, unique_by=_named)) for _ in "ab"
    )
    ids = {f.name: f.id for f in SCHEMA}
    specs = [spec(i, *dict.fromkeys((ids[n], text) for n, text in own)) for i, own in enumerate((first, second))]
    table = Builder(SCHEMA, tuple(specs))
    parts, files = [], []
    for _ in range(draw(st.integers(1, 5))):
        row = {name: draw(st.none() | KINDS[name][1]) for name in names}
        rows = pa.Table.from_pylist(
            [row] * draw(st.integers(1, 2)), pa.schema([(n, to_arrow(KINDS[n][0])) for n in names])
        )
        number = draw(st.integers(0, 1))
        values = []
        for f in specs[number].fields:
            name = next(n for n, i in ids.items() if i == f.source_ids[0])
            made = transformed(parse_transform(f.transform), rows.column(name).combine_chunks(), KINDS[name][0])
            values.append(plain_value(made[0], _kind_of(f.transform, KINDS[name][0])))
        parts.append(rows)
        files.append(table.data(rows, values, number, stats=draw(st.booleans())))
    table.commit(*files)
    return table, parts, _condition(draw, names)


def _kind_of(text: str, source: Type) -> Type:
    return {"bucket": t.INTEGER, "year": t.INTEGER, "month": t.INTEGER, "hour": t.INTEGER, "day": t.DATE}.get(
        text.split("[")[0], source
    )


def _condition(draw: st.DrawFn, names: list[str]) -> str:
    name = draw(st.sampled_from(names))
    values = [_literal(draw(KINDS[name][1])) for _ in range(2)]
    operator = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    simple = draw(
        st.sampled_from(
            [
                f"{name} {operator} {values[0]}", f"{name} IN ({', '.join(values)})", f"{name} IS NULL",
                f"{name} NOT IN ({values[0]}, NULL)", f"{name} BETWEEN {values[0]} AND {values[1]}", f"s LIKE '{draw(st.text('ab', max_size=2))}%'",
            ]
        )
    )  # fmt: skip
    return draw(st.sampled_from([simple, f"NOT ({simple})", f"{simple} OR n = 3", f"{simple} AND s <> 'a'"]))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables())
def test_no_file_or_manifest_with_a_matching_row_is_skipped(made: tuple[Builder, list[pa.Table], str]) -> None:
    table, parts, condition = made
    table.publish()
    state = load(Place(table.storage))
    predicate = bind(parse(condition, UTC), SCHEMA, UTC)
    live = state.files_of(state.manifests, statistics_of=None)
    by_path = {f"{table.metadata.location}/data/{at}.parquet": rows for at, rows in enumerate(parts, 1)}
    truth = [mask(predicate, by_path[path]) for path in live.data.column("file_path").to_pylist()]
    has_match = np.array([bool(pc.any(found).as_py()) for found in truth])
    all_match = np.array([bool(pc.all(pc.fill_null(found, False)).as_py()) for found in truth])
    pruner = FilePruner(live.data, SCHEMA)
    assert (may_match(predicate, pruner) | ~has_match).all()
    assert (~must_match(predicate, pruner) | all_match).all()
    kept = {m.manifest_path for m in matching_manifests(state.metadata, state.schema, state.manifests, predicate)}
    for manifest in state.manifests:
        if manifest.manifest_path not in kept:
            own = state.files_of([manifest]).data.column("file_path").to_pylist()
            assert not any(pc.any(mask(predicate, by_path[path])).as_py() for path in own)
    whole = pa.concat_tables(parts)
    assert table.open().to_arrow(where=condition).num_rows == (pc.sum(mask(predicate, whole)).as_py() or 0)


def test_a_count_below_zero_says_nothing() -> None:
    """Older writers have -1 where a footer has no count of nulls."""
    table = Builder(Struct((Field("id", t.LONG, id=1),)))
    file = table.data(pa.table({"id": pa.array([1, None], pa.int64())}))
    unknown = replace(file.metrics, value_counts={1: -1}, null_value_counts={1: -1})
    table.commit(replace(file, metrics=unknown))
    opened = table.open()
    assert [opened.to_arrow(where=w).num_rows for w in ("id IS NULL", "id = 1")] == [1, 1]
    state = load(Place(table.storage))
    pruner = FilePruner(state.files_of(state.manifests, None).data, state.schema.struct)
    assert not must_match(bind(parse("id < 9"), state.schema.struct), pruner).any()


def test_a_filter_by_day_bucket_or_prefix_skips_what_it_can() -> None:
    """The projections are of use, not only harmless."""
    schema = Struct((Field("at", t.TIMESTAMP, id=1), Field("id", t.LONG, id=2), Field("s", t.STRING, id=3)))
    table = Builder(schema, (spec(0, (1, "day"), (2, "bucket[16]"), (3, "truncate[2]")),))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for i in range(16):
        rows = pa.table(
            {"at": pa.array([start + timedelta(days=i)], to_arrow(t.TIMESTAMP)), "id": [i], "s": [f"{i:02}x"]}
        )
        values = [
            plain_value(
                transformed(parse_transform(f.transform), rows.column(n).combine_chunks(), k)[0],
                _kind_of(f.transform, k),
            )
            for f, n, k in zip(table.specs[0].fields, ("at", "id", "s"), (t.TIMESTAMP, t.LONG, t.STRING), strict=True)
        ]
        table.commit(table.data(rows, values, stats=False))
    opened = table.open()
    for condition, most in (
        ("at < timestamp '2026-01-03T00:00:00Z'", 2),
        ("id = 3", 3),
        ("s = '05x'", 1),
        ("s LIKE '07%'", 2),  # what begins with 06 is known to be less than or equal to 07
    ):
        plan, _, _ = opened._planned(None, condition)
        assert 0 < len(plan) <= most, condition
        assert opened.to_arrow(where=condition).num_rows > 0
