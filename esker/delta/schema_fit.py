"""Do rows with these columns fit a table as it is?

Columns are found by name, ignoring case, at every depth. A value that fits a narrower type fits a wider one; nothing else is
converted, and nothing is ever narrowed.
"""

from collections.abc import Iterator, Mapping

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.predicate import Path
from esker.core.types import Array, Decimal, Field, Map, Struct, Type
from esker.delta import column_names
from esker.delta.column_mapping import Mode
from esker.delta.column_metadata import default, generation_expression, numbering


def mismatches(table: Struct, rows: Struct) -> tuple[str, ...]:
    """Every reason for which rows with these columns cannot be written to the table as it is."""
    return (*ambiguities(rows), *_struct_mismatches(table, rows, ()))


def fits(table: Type, rows: Type) -> bool:
    """Whether every value of the rows' type is one of the table's too. Types are simple ones."""
    if rows in (table, t.VOID):
        return True
    if isinstance(table, Decimal):
        if isinstance(rows, Decimal):
            return table.precision - rows.precision >= table.scale - rows.scale >= 0
        return rows in _DIGITS and table.precision - table.scale >= _DIGITS[rows]
    return table in _WIDER.get(rows, ())


def ambiguities(rows: Struct) -> Iterator[str]:
    """Columns of the rows that cannot be told apart by name."""
    # With a mapping in force no character is forbidden, so what is left are names that are empty or there twice.
    yield from (f"of the rows, {problem}" for problem in column_names.problems(rows, Mode.NAME))


def difference(path: Path, table: Type, rows: Type) -> str:
    """How a column of the table and one of the rows differ, in words."""
    return f"the column {spelled(path)} is {table} in the table and {rows} in the rows"


_DIGITS: Mapping[Type, int] = {t.BYTE: 3, t.SHORT: 5, t.INTEGER: 10, t.LONG: 19}
_WIDER: Mapping[Type, tuple[Type, ...]] = {
    t.BYTE: (t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE),
    t.SHORT: (t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE),
    t.INTEGER: (t.LONG, t.DOUBLE),
    t.FLOAT: (t.DOUBLE,),
}


def _struct_mismatches(table: Struct, rows: Struct, path: Path) -> Iterator[str]:
    for field in rows:
        known = table.find(field.name)
        here = (*path, field.name)
        if known is None:
            yield f"the table has no column {spelled(here)}"
        else:
            yield from _type_mismatches(known.type, field.type, here)
    for known in table:
        if rows.find(known.name) is None and not known.nullable and not _has_source(known):
            yield f"the rows lack the column {spelled((*path, known.name))}, which is NOT NULL and has no default"


def _type_mismatches(table: Type, rows: Type, path: Path) -> Iterator[str]:
    match table, rows:
        case Struct(), Struct():
            yield from _struct_mismatches(table, rows, path)
        case Array(), Array():
            yield from _type_mismatches(table.element, rows.element, (*path, "element"))
        case Map(), Map():
            yield from _type_mismatches(table.key, rows.key, (*path, "key"))
            yield from _type_mismatches(table.value, rows.value, (*path, "value"))
        case _ if not fits(table, rows):
            yield difference(path, table, rows)


def _has_source(field: Field) -> bool:
    return default(field) is not None or generation_expression(field) is not None or numbering(field) is not None
