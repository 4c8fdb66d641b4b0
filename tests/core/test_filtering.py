"""Filtering gives what row-wise evaluation gives."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core.filtering import mask
from esker.core.predicate import (
    And,
    Comparison,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Predicate,
    StartsWith,
    Truth,
)
from esker.errors import InvalidRequest, Unsupported
from tests.core.test_predicate_oracle import PATHS, VALUES, evaluate, predicates, rows, table

NAN = float("nan")


@pytest.mark.parametrize("column", PATHS, ids=".".join)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_mask_is_what_row_wise_evaluation_gives(column: tuple[str, ...], data: st.DataObject) -> None:
    paths = (column, ("b",))
    predicate, some = data.draw(predicates({path: VALUES[path] for path in paths})), data.draw(rows(paths))
    assert mask(predicate, table(some)).to_pylist() == [evaluate(predicate, row) for row in some]


X = ("x",)


@pytest.mark.parametrize(
    "operator, value, expected",
    [
        (Operator.EQ, NAN, [True, False, False, None]),
        (Operator.GE, NAN, [True, False, False, None]),
        (Operator.LT, NAN, [False, True, True, None]),
        (Operator.LE, NAN, [True, True, True, None]),
        (Operator.GT, 5.0, [True, False, False, None]),
        (Operator.LE, 5.0, [False, True, True, None]),
        (Operator.EQ, -0.0, [False, True, False, None]),
    ],
)
def test_nan_equals_itself_and_exceeds_every_number(
    operator: Operator, value: float, expected: list[bool | None]
) -> None:
    for kind in (pa.float32(), pa.float64()):
        found = mask(Comparison(X, operator, value), pa.table({"x": pa.array([NAN, 0.0, 1.0, None], kind)}))
        assert found.to_pylist() == expected


def test_both_zeros_and_nan_are_found_in_a_list() -> None:
    numbers = pa.table({"x": [0.0, -0.0, NAN, 1.0, None]})
    assert mask(IsIn(X, (-0.0, NAN)), numbers).to_pylist() == [True, True, True, False, None]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_arrow_form_of_text_is_compared_by_bytes(kind: pa.DataType) -> None:
    rows = pa.table({"x": pa.array(["\U0001f600", "\uffff", "a", None]).cast(kind)})
    assert mask(Comparison(X, Operator.GT, "\uffff"), rows).to_pylist() == [True, False, False, None]
    assert mask(IsIn(X, ("a", "b")), rows).to_pylist() == [False, False, True, None]
    assert mask(StartsWith(X, "a"), rows).to_pylist() == [False, False, True, None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Oslo"])
def test_instants_are_compared_whatever_their_unit_and_zone(unit: str, zone: str | None) -> None:
    rows = pa.table({"x": pa.array([0, None], pa.int64()).cast(pa.timestamp(unit, zone))})
    tz = UTC if zone else None
    for value, expected in ((datetime(1970, 1, 1, tzinfo=tz), False), (datetime(9999, 1, 1, tzinfo=tz), True)):
        assert mask(Comparison(X, Operator.LT, value), rows).to_pylist() == [expected, None]


def test_a_field_of_a_null_struct_is_null_even_where_a_value_lies_below_it() -> None:
    inner = pa.StructArray.from_arrays([pa.array([1, 1])], ["y"], mask=pa.array([False, True]))
    rows = pa.table({"x": inner})
    assert mask(Comparison(("x", "y"), Operator.EQ, 1), rows).to_pylist() == [True, None]
    assert mask(IsNull(("x", "y")), rows).to_pylist() == [False, True]


def test_chunks_and_batches_and_no_rows_are_filtered_alike() -> None:
    predicate = Not(Comparison(X, Operator.EQ, 1))
    chunked = pa.table({"x": pa.chunked_array([[1, 2], [None]])})
    assert mask(predicate, chunked).to_pylist() == [False, True, None]
    assert mask(predicate, chunked.to_batches()[0]).to_pylist() == [False, True]
    assert mask(And(predicate, Truth(None)), chunked.slice(0, 0)).to_pylist() == []


def test_an_opaque_part_is_refused_by_its_text() -> None:
    with pytest.raises(Unsupported, match=r"only Spark can evaluate: upper\(x\) = 1\n.*use to_df"):
        mask(And(Truth(False), Opaque("upper(x) = 1")), pa.table({"x": ["a"]}))


@pytest.mark.parametrize(
    "predicate", [IsNull(("z",)), IsNull(("x", "y")), Comparison(X, Operator.EQ, 1.5), IsIn(X, (1.5,)),
                  Comparison(X, Operator.EQ, "1")]
)
def test_a_predicate_that_is_not_bound_to_the_rows_is_refused(predicate: Predicate) -> None:
    with pytest.raises(InvalidRequest):
        mask(predicate, pa.table({"x": [1]}))
