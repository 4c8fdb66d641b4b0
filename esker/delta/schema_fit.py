"""Do rows with these columns fit a Delta table as it is?"""

from collections.abc import Iterator

from esker.core import row_fit
from esker.core.types import Field, Struct
from esker.delta import column_names
from esker.delta.column_mapping import Mode
from esker.delta.column_metadata import default, generation_expression, numbering


def mismatches(table: Struct, rows: Struct) -> tuple[str, ...]:
    """Every reason for which rows with these columns cannot be written to the table as it is."""
    return (*ambiguities(rows), *row_fit.mismatches(table, rows, _has_source))


def ambiguities(rows: Struct) -> Iterator[str]:
    """Columns of the rows that cannot be told apart by name."""
    # With a mapping in force no character is forbidden, so what is left are names that are empty or there twice.
    yield from (f"of the rows, {problem}" for problem in column_names.problems(rows, Mode.NAME))


def _has_source(field: Field) -> bool:
    return default(field) is not None or generation_expression(field) is not None or numbering(field) is not None
