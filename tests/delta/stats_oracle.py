"""Do statistics tell the truth?  Every predicate on a value that occurs is asked of the rows and of the statistics."""

import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.binding import bind
from esker.core.filtering import mask
from esker.core.predicate import Comparison, IsNull, Operator, Predicate, Value, opaque_parts
from esker.core.skipping import outcomes
from esker.core.types import Array, Map, leaves
from esker.delta.plan import Pruner
from esker.delta.table import DeltaTable
from esker.table import Table

_UNORDERED = (t.VARIANT, t.VOID)


def assert_statistics_hold(delta: DeltaTable) -> int:
    """No file is said to lack a row that it has, or to have only rows for which a predicate holds that one of them breaks.

    Gives the number of answers that say something, so that a test can see that there are any.
    """
    rows = Table(delta).to_arrow(columns=["*", "_file"])
    files = delta.plan().paths.to_pylist()
    pruner = Pruner(delta.snapshot)
    telling = 0
    for path, field in leaves(delta.schema):
        if isinstance(field.type, Array | Map) or field.type in _UNORDERED:
            continue
        for predicate in _predicates(path, _values(rows, path)):
            bound = bind(predicate, delta.schema)
            if any(opaque_parts(bound)):
                continue
            truth, answer = mask(bound, rows), outcomes(bound, pruner)
            for at, file in enumerate(files):
                found = set(truth.filter(pc.equal(rows.column("_file").combine_chunks(), file)).to_pylist())
                assert True not in found or answer.may_true[at], f"{predicate} is TRUE for a row of {file}"
                assert found <= {True} or not answer.must_be_true[at], f"{predicate} is {found} for rows of {file}"
                telling += not answer.may_true[at] or bool(answer.must_be_true[at])
    return telling


def _values(rows: pa.Table, path: tuple[str, ...]) -> list[Value]:
    column = rows.column(path[0])
    for name in path[1:]:
        column = pc.struct_field(column, name)
    found: list[Value] = []
    for scalar in column.unique():
        try:
            value = scalar.as_py()
        except (ValueError, OverflowError):  # a time that Python cannot say
            continue
        found += [] if value is None else [value]
    return found


def _predicates(path: tuple[str, ...], values: list[Value]) -> list[Predicate]:
    return [IsNull(path), *(Comparison(path, operator, value) for value in values for operator in Operator)]
