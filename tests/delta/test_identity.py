"""Which number an identity column gives next, and how the farthest one is remembered.  (PROTOCOL.md, "Identity Columns")"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.types import Field, Json, Struct
from esker.delta.column_metadata import Numbering, numbering
from esker.delta.identity import advanced, following
from esker.errors import InvalidRequest

steps = st.integers(-50, 50).filter(bool)
numbers = st.integers(-1000, 1000)


def schema(start: int, step: int, mark: int | None) -> Struct:
    metadata: dict[str, Json] = {"delta.identity.start": start, "delta.identity.step": step}
    return Struct(
        (
            Field(
                "Id", t.LONG, metadata=metadata if mark is None else {**metadata, "delta.identity.highWaterMark": mark}
            ),
            Field("x", t.LONG),
        )
    )


def mark(found: Struct) -> int | None:
    numbered = numbering(found.fields[0])
    return numbered and numbered.high_water_mark


@given(numbers, steps, st.none() | numbers)
def test_the_next_number_is_regular_and_beyond_the_mark(start: int, step: int, high: int | None) -> None:
    """ "The new value should satisfy `value = start + k * step` where k is a non-negative integer"; "the new value should be the
    greater (smaller) than `delta.identity.highWaterMark`" """
    found = following(Numbering(start, step, False, high), "id")
    assert (found - start) % step == 0
    assert (found - start) // step >= 0
    assert high is None or (found - high) * step > 0
    before = found - step
    assert found == start or (high is not None and (before - high) * step <= 0), "none is left out"


@given(numbers, steps, st.none() | st.integers(0, 20), numbers, numbers)
def test_the_mark_reaches_what_was_written_and_never_goes_back(
    start: int, step: int, k: int | None, one: int, other: int
) -> None:
    """ "`delta.identity.highWaterMark` should be updated to the new highest value when the write operation commits." """
    old = None if k is None else start + k * step
    least, greatest = min(one, other), max(one, other)
    found = mark(advanced(schema(start, step, old), {"ID": (least, greatest)}))
    farthest = greatest if step > 0 else least
    assert old is None or (found is not None and (found - old) * step >= 0)
    assert found is None or (found - start) % step == 0
    if found is None:
        assert (farthest - start) * step < 0
    else:
        assert (found - farthest) * step >= 0
    assert (
        following(numbering(advanced(schema(start, step, old), {"id": (least, greatest)}).fields[0]), "id") - farthest
    ) * step > 0


def test_regular_numbers_become_the_mark_as_they_are() -> None:
    assert mark(advanced(schema(1, 1, None), {"Id": (1, 40)})) == 40
    assert mark(advanced(schema(10, -5, 0), {"id": (-35, -5)})) == -35


def test_columns_that_were_not_written_or_are_not_numbered_stay() -> None:
    before = schema(1, 1, 7)
    assert advanced(before, {}) == before
    assert advanced(before, {"x": (1, 99), "Id": (1, 3)}) == before


@pytest.mark.parametrize(
    "start, step, high", [(1, 1, 2**63 - 1), (-1, -1, -(2**63)), (0, 10, 2**63 - 5), (2**63, 1, None)]
)
def test_numbers_end_where_64_bits_do(start: int, step: int, high: int | None) -> None:
    """ "Overflow when calculating generated Identity values should be detected and such writes should not be allowed." """
    with pytest.raises(InvalidRequest, match="no numbers left"):
        following(Numbering(start, step, False, high), "id")
    if high is not None and high % step:
        with pytest.raises(InvalidRequest, match="no numbers left"):
            advanced(schema(start, step, None), {"id": (high, high)})
