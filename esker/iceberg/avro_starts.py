"""Where does each row of the blocks start, so that all can be read side by side?

Avro has no way to find a row but to read all before it. Rows that name files tell it by accident: the texts begin alike. Where
such a text starts, the rest of its row is read, which gives the start of the next; the head of each row is read from there, and
it has to lead to the very text that was found. The first row starts where its block does. So it is proved, row by row, that each
was read from where the one before ended; where any of it fails, nothing is known and the rows are read one after another.
"""

import re
from collections.abc import Sequence

import numpy as np

from esker.errors import InvalidTable
from esker.iceberg.avro_readers import Column, Record, Stretch
from esker.iceberg.avro_source import Bytes, Numbers, Source, stretches

_Steps = list[tuple[Column, bool]]
"""The columns of a row in their order, and whether each is wanted."""


def read_side_by_side(root: Column, source: Source, at: Numbers, ends: Numbers, counts: Numbers) -> bool:
    """Read all rows of blocks that lie between `at` and `ends`; False where they cannot be told apart. Then `root` is spoilt."""
    if not isinstance(root, Record) or not len(at):
        return False
    records: list[Record] = []
    steps = _steps(root, records)
    text = next((i for i, (column, is_wanted) in enumerate(steps) if is_wanted and _is_text(column)), None)
    if text is None:
        return False
    head, tail, column = steps[:text], steps[text + 1 :], steps[text][0]
    assert isinstance(column, Stretch)
    try:
        found = _texts(source, head, at, ends, counts)
        if found is None:
            return False
        slots = np.arange(len(found))
        lengths = _lengths_before(source.data, found)
        behind = _read(tail, slots, found + lengths)
        last = np.cumsum(counts) - 1
        starts = np.concatenate([at[:1], behind[:-1]])
        starts[last[:-1] + 1] = at[1:]
        told, texts = source.lengths(_read(head, slots, starts))
    except (IndexError, OverflowError, MemoryError, InvalidTable):
        return False
    if (behind[last] != ends).any() or (told != lengths).any() or (texts != found).any():
        return False
    column.keep(slots, found)
    column.sizes.append(lengths)
    for record in records:
        record.slots.append(slots)
    return True


def _steps(record: Record, records: list[Record]) -> _Steps:
    """The columns of a record and of those in it that are always there."""
    records.append(record)
    steps: _Steps = []
    for name, member in record.members:
        if name in record.source.without:
            steps.append((member, False))
        else:
            steps += _steps(member, records) if isinstance(member, Record) else [(member, True)]
    return steps


def _is_text(column: Column) -> bool:
    return isinstance(column, Stretch) and column.width is None


def _read(steps: _Steps, slots: Numbers, at: Numbers) -> Numbers:
    for column, is_wanted in steps:
        at = column.read(slots, at) if is_wanted else column.past(at)
    return at


def _texts(source: Source, head: _Steps, at: Numbers, ends: Numbers, counts: Numbers) -> Numbers | None:
    """Where the text of each row probably starts."""
    first = at
    for column, _ in head:
        first = column.past(first)
    lengths, starts = source.lengths(first)
    known = [source.bytes[a : a + n] for a, n in zip(starts.tolist(), lengths.tolist(), strict=True)]
    beginning = next((text for text in _beginnings(known) if source.bytes.count(text) >= counts.sum()), None)
    if beginning is None:
        return None
    found = np.fromiter((match.start() for match in re.finditer(re.escape(beginning), source.bytes)), np.int64)
    bounds = np.searchsorted(found, np.append(at, ends[-1]))
    # The text may be met more than once in a row, if it is as often in all of them.
    times, rest = np.divmod(np.diff(bounds), counts)
    if rest.any() or not times.all():
        return None
    row = stretches(np.zeros_like(counts), counts)
    first_of_each: Numbers = found[np.repeat(bounds[:-1], counts) + row * np.repeat(times, counts)]
    return first_of_each


def _beginnings(texts: Sequence[bytes]) -> list[bytes]:
    """What the texts have in common at their beginning, up to a slash, the longest first."""
    least, greatest = min(texts), max(texts)
    same = next((i for i, (a, b) in enumerate(zip(least, greatest, strict=False)) if a != b), min(len(least), len(greatest)))
    return [least[: match.end()] for match in re.finditer(b"/", least[:same])][::-1]


def _lengths_before(data: Bytes, at: Numbers) -> Numbers:
    """The numbers that end right before these places. Where a byte that says so ends the number before, this is all of it."""
    values = np.zeros(len(at), np.int64)
    rows, place = np.arange(len(at)), at - 1
    for _ in range(4):
        values[rows] = values[rows] << 7 | (data[place] & 0x7F)
        place = place - 1
        more = data[place] >= 0x80
        rows, place = rows[more], place[more]
    return values >> 1
