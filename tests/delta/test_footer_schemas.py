"""Which schema Parquet files have, one and all.  (PROTOCOL.md, "Delta Data Type to Parquet Type Mappings")"""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Map, Struct, Type
from esker.delta.footer_schemas import merged, stored_schema
from esker.errors import InvalidRequest, Unsupported
from tests.delta.tables import parquet


def footer(table: pa.Table, **options: Any) -> pq.FileMetaData:
    return pq.read_metadata(io.BytesIO(parquet(table, **options)))


def of(kind: pa.DataType, **options: Any) -> Type:
    """The type of a column that was written so, behind others that have several columns in the file."""
    before = {"s": pa.nulls(0, pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int64()))])), "m": pa.nulls(0, MAP)}
    return stored_schema(footer(pa.table({**before, "c": pa.nulls(0, kind)}), **options)).fields[2].type


MAP = pa.map_(pa.string(), pa.int64())


@pytest.mark.parametrize(
    "kind, expected",
    [
        (pa.bool_(), t.BOOLEAN), (pa.int8(), t.BYTE), (pa.int16(), t.SHORT), (pa.int32(), t.INTEGER), (pa.int64(), t.LONG),
        (pa.float32(), t.FLOAT), (pa.float64(), t.DOUBLE), (pa.string(), t.STRING), (pa.large_string(), t.STRING),
        (pa.binary(), t.BINARY), (pa.date32(), t.DATE), (pa.decimal128(38, 10), Decimal(38, 10)),
        (pa.timestamp("us", "UTC"), t.TIMESTAMP), (pa.timestamp("ms", "Europe/Oslo"), t.TIMESTAMP),
        (pa.timestamp("us"), t.TIMESTAMP_NTZ), (pa.dictionary(pa.int32(), pa.string()), t.STRING),
        (pa.list_(pa.int32()), Array(t.INTEGER)), (pa.large_list(pa.int32()), Array(t.INTEGER)),
        (pa.list_(pa.int32(), 2), Array(t.INTEGER)), (pa.map_(pa.string(), pa.date32()), Map(t.STRING, t.DATE)),
        (pa.struct([("a", pa.list_(pa.struct([("b", pa.bool_())])))]),
         Struct((Field("a", Array(Struct((Field("b", t.BOOLEAN),)))),))),
    ],
)  # fmt: skip
def test_each_type_of_parquet_is_one_of_deltas(kind: pa.DataType, expected: Type) -> None:
    assert of(kind) == expected


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ns")])
def test_int96_is_an_instant(kind: pa.DataType) -> None:
    """ "timestamp| `int96` or `int64`" """
    assert of(kind, use_deprecated_int96_timestamps=True) == t.TIMESTAMP


@pytest.mark.parametrize(
    "kind",
    [pa.uint8(), pa.uint64(), pa.float16(), pa.time64("us"), pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.binary(4),
     pa.null(), pa.duration("us"), pa.decimal256(50, 2), pa.uuid()],
)  # fmt: skip
def test_types_that_delta_does_not_have_are_refused_with_the_column(kind: pa.DataType) -> None:
    table = pa.table(
        {"fine": pa.nulls(0, pa.int64()), "c": pa.nulls(0, pa.struct([("x.y", kind)])), "d": pa.nulls(0, kind)}
    )
    with pytest.raises(Unsupported) as refused:
        stored_schema(footer(table))
    assert [problem.split(" is of type ")[0] for problem in refused.value.problems] == [
        "the column c.`x.y`",
        "the column d",
    ]


def test_everything_is_nullable() -> None:
    table = pa.table({"a": [1]}, schema=pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    assert stored_schema(footer(table)) == Struct((Field("a", t.LONG, nullable=True),))


def struct(**members: Type) -> Struct:
    return Struct(tuple(Field(name, kind) for name, kind in members.items()))


def test_columns_come_in_the_order_in_which_files_have_them() -> None:
    assert merged([("x", struct(b=t.LONG)), ("y", struct(a=t.LONG, b=t.LONG)), ("z", struct(c=t.DATE))]) == struct(
        b=t.LONG, a=t.LONG, c=t.DATE
    )


def test_members_are_merged_at_every_depth() -> None:
    one = struct(s=struct(x=t.LONG), l=Array(struct(x=t.LONG)), m=Map(t.STRING, struct(x=t.LONG)))
    other = struct(s=struct(y=t.DATE), l=Array(struct(y=t.DATE)), m=Map(t.STRING, struct(y=t.DATE)))
    both = struct(x=t.LONG, y=t.DATE)
    assert merged([("x", one), ("y", other)]) == struct(s=both, l=Array(both), m=Map(t.STRING, both))


def test_names_that_differ_in_case_are_one_column() -> None:
    assert merged([("x", struct(Id=t.LONG)), ("y", struct(ID=t.LONG, id2=t.LONG))]) == struct(Id=t.LONG, id2=t.LONG)


@pytest.mark.parametrize(
    "one, other, problem",
    [
        (t.LONG, t.INTEGER, "c is of type long in x, and integer in y"),
        (t.LONG, t.STRING, "c is of type long in x, and string in y"),
        (Decimal(5, 2), Decimal(6, 2), "c is of type decimal(5,2) in x, and decimal(6,2) in y"),
        (t.LONG, Array(t.LONG), "c is of type long in x, and array<long> in y"),
        (struct(a=t.LONG), struct(a=t.DATE), "c.a is of type long in x, and date in y"),
        (Array(t.LONG), Array(t.DATE), "c.element is of type long in x, and date in y"),
        (Map(t.LONG, t.LONG), Map(t.DATE, t.LONG), "c.key is of type long in x, and date in y"),
        (Map(t.LONG, struct(a=t.LONG)), Map(t.LONG, struct(a=t.DATE)), "c.value.a is of type long in x, and date in y"),
    ],
)  # fmt: skip
def test_a_column_of_two_types_is_refused_with_the_files(one: Type, other: Type, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        merged([("x", struct(b=t.LONG, c=one)), ("x2", struct(b=t.LONG, c=one)), ("y", struct(c=other))])
    assert refused.value.problems == (problem,)


def test_all_conflicts_are_told_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        merged([("x", struct(a=t.LONG, b=t.LONG)), ("y", struct(a=t.DATE)), ("z", struct(b=t.DATE))])
    assert len(refused.value.problems) == 2
