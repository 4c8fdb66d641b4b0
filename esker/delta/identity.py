"""Which number does an identity column give next, and how is the farthest one remembered?  (PROTOCOL.md, "Identity Columns")"""

from collections.abc import Mapping

from esker.core.types import Field, Struct
from esker.delta.column_metadata import HIGH_WATER_MARK, Numbering, numbering, with_metadata
from esker.errors import InvalidRequest

_LEAST, _GREATEST = -(2**63), 2**63 - 1


def following(numbers: Numbering, column: str) -> int:
    """The first number beyond the high-water mark: "`value = start + k * step` where k is a non-negative integer"."""
    mark = numbers.high_water_mark
    steps = 0 if mark is None else max(0, (mark - numbers.start) // numbers.step + 1)
    return _checked(numbers.start + steps * numbers.step, column)


def advanced(schema: Struct, written: Mapping[str, tuple[int, int]]) -> Struct:
    """The schema with high-water marks that reach as far as what was written: least and greatest value by column.

    "`delta.identity.highWaterMark` should be updated to the new highest value when the write operation commits". Where rows
    brought numbers of their own, the mark is the next regular one, which those who add the step to it count on.
    """
    ranges = {name.lower(): found for name, found in written.items()}
    return Struct(tuple(_advanced(field, ranges.get(field.name.lower())) for field in schema))


def _advanced(field: Field, written: tuple[int, int] | None) -> Field:
    numbers = numbering(field)
    if numbers is None or written is None:
        return field
    farthest = written[1] if numbers.step > 0 else written[0]
    steps = -((numbers.start - farthest) // numbers.step)
    mark = numbers.start + steps * numbers.step
    old = numbers.high_water_mark
    if steps < 0 or (old is not None and (mark - old) * numbers.step <= 0):
        return field
    return with_metadata(field, {HIGH_WATER_MARK: _checked(mark, field.name)})


def _checked(number: int, column: str) -> int:
    # "Overflow when calculating generated Identity values should be detected and such writes should not be allowed."
    if not _LEAST <= number <= _GREATEST:
        raise InvalidRequest(f"the identity column {column} has no numbers left")
    return number
