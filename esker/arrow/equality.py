"""Which rows are dead because they equal a deleted row?

Values are numbered, alike in the deleted rows and in those that are looked at, so that a key of several columns becomes one
number and null is a value like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import booleans
from esker.core.predicate import Path
from esker.core.scan import SCOPE, SEQUENCE, EqualityDeletes, ScanPlan, ScanTask

Codes = npt.NDArray[np.int64]


def wider(plan: ScanPlan) -> ScanPlan:
    """The plan with the columns by which rows are dead, and without the deletes. What it reads already is not read twice."""
    have = {column.field.name for column in plan.columns}
    taken = key_names(plan)
    hidden = {c.field.name: c for d in plan.equality for c in d.columns if taken[c.field.name] not in have}
    return replace(plan, columns=(*plan.columns, *hidden.values()), equality=(), has_equality=np.zeros(len(plan), bool))


def key_names(plan: ScanPlan) -> Mapping[str, str]:
    """The name that each column of keys has in the wider plan: that of a visible column of the same source, or its own."""
    visible = {column.source: column for column in reversed(plan.columns)}
    names: dict[str, str] = {}
    for key in (column for deletes in plan.equality for column in deletes.columns):
        same = visible.get(key.source)
        is_same = same is not None and same.field.type == key.field.type
        names[key.field.name] = same.field.name if same is not None and is_same else key.field.name
    return names


@dataclass
class DeadKeys:
    """The rows that equality deletes name, and which of them concern a file."""

    deletes: EqualityDeletes
    rows: pa.Table
    names: Mapping[str, str]
    """What the columns of keys are called in the rows that are looked at."""
    _concerning: dict[tuple[int, int | None], pa.Table] = field(default_factory=dict)

    def alive(self, batch: pa.RecordBatch, task: ScanTask) -> pa.BooleanArray:
        """For each row of a file whether none of the deleted rows equals it."""
        dead = self._rows_for(task)
        if not dead.num_rows:
            return booleans(np.ones(batch.num_rows, bool))
        pairs = [(_values(batch, (self.names[key[0]], *key[1:])), _values(dead, key)) for key in self.deletes.keys]
        codes = [_numbered(here, there) for here, there in pairs]
        here, there = reduce(_combined, codes)
        return booleans(~np.isin(here, there))

    def _rows_for(self, task: ScanTask) -> pa.Table:
        sequence, scope = task.constants[SEQUENCE].as_py(), task.constants[SCOPE].as_py()
        if (sequence, scope) not in self._concerning:
            scopes = self.rows.column(SCOPE)
            is_here = pc.or_(pc.is_null(scopes), pc.fill_null(pc.equal(scopes, pa.scalar(scope, pa.int64())), False))
            # "strictly less than the delete's data sequence number"
            is_later = pc.greater(self.rows.column(SEQUENCE), pa.scalar(sequence, pa.int64()))
            self._concerning[sequence, scope] = self.rows.filter(pc.and_(is_here, is_later))
        return self._concerning[sequence, scope]


def _values(rows: pa.Table | pa.RecordBatch, path: Path) -> pa.Array:
    column = rows.column(path[0])
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    for name in path[1:]:
        values = pc.struct_field(values, name)
    return values.chunk(0) if isinstance(values, pa.ChunkedArray) and values.num_chunks == 1 else values


def _numbered(here: pa.Array, there: pa.Array) -> tuple[Codes, Codes]:
    """Equal numbers for equal values, null among them."""
    both = pa.chunked_array([here, there]).combine_chunks().dictionary_encode(null_encoding="encode")
    codes = both.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes[: len(here)], codes[len(here) :]


def _combined(left: tuple[Codes, Codes], right: tuple[Codes, Codes]) -> tuple[Codes, Codes]:
    """One number for the two of each row. They are numbered anew, so that they stay as small as the rows are many."""
    width = max(int(part.max(initial=0)) for part in right) + 1
    whole = [first * width + second for first, second in zip(left, right, strict=True)]
    _, codes = np.unique(np.concatenate(whole), return_inverse=True)
    return codes[: len(whole[0])], codes[len(whole[0]) :]
