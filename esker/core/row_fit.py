"""Do rows with these columns fit a table as it is?

Columns are found by name, ignoring case, at every depth. A value that fits a narrower type fits a wider one; nothing else is
converted, and nothing is ever narrowed.
"""

from collections.abc import Callable, Iterator, Mapping

from esker.core import types as t
from esker.core.column_paths import quoted, spelled
from esker.core.predicate import Path
from esker.core.types import Array, Decimal, Field, Fixed, Geography, Geometry, Map, Struct, Type
from esker.core.write import Check


def mismatches(table: Struct, rows: Struct, has_source: Callable[[Field], bool]) -> Iterator[str]:
    """Every reason for which rows with these columns cannot be written to the table.

    `has_source` tells whether a column that rows do not bring gets a value otherwise.
    """
    yield from _struct_mismatches(table, rows, (), has_source)


def fits(table: Type, rows: Type) -> bool:
    """Whether every value of the rows' type is one of the table's too. Types are simple ones."""
    if rows in (table, t.VOID):
        return True
    match table, rows:
        case Decimal(), Decimal():
            return table.precision - rows.precision >= table.scale - rows.scale >= 0
        case Decimal(), _:
            return rows in _DIGITS and table.precision - table.scale >= _DIGITS[rows]
        case (Geometry() | Geography() | Fixed()), t.BINARY:
            return True  # a length that does not fit is found when the value is
        case t.UUID, (t.BINARY | Fixed(16)):
            return True
    return table in _WIDER.get(rows, ())


def difference(path: Path, table: Type, rows: Type) -> str:
    """How a column of the table and one of the rows differ, in words."""
    return f"the column {spelled(path)} is {table} in the table and {rows} in the rows"


def not_null_checks(schema: Struct) -> Iterator[Check]:
    """The conditions that columns which are NOT NULL, at any depth, ask of rows."""
    for path, condition in _present(schema, "", (), 0):
        yield Check(f"NOT NULL of the column {spelled(path)}", condition)


_DIGITS: Mapping[Type, int] = {t.BYTE: 3, t.SHORT: 5, t.INTEGER: 10, t.LONG: 19}
_WIDER: Mapping[Type, tuple[Type, ...]] = {
    t.BYTE: (t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE),
    t.SHORT: (t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE),
    t.INTEGER: (t.LONG, t.DOUBLE),
    t.FLOAT: (t.DOUBLE,),
    t.TIMESTAMP: (t.TIMESTAMP_NS,),
    t.TIMESTAMP_NTZ: (t.TIMESTAMP_NTZ_NS,),
}


def _struct_mismatches(table: Struct, rows: Struct, path: Path, has_source: Callable[[Field], bool]) -> Iterator[str]:
    for field in rows:
        known = table.find(field.name)
        here = (*path, field.name)
        if known is None:
            yield f"the table has no column {spelled(here)}"
        else:
            yield from _type_mismatches(known.type, field.type, here, has_source)
    for known in table:
        if rows.find(known.name) is None and not known.nullable and not has_source(known):
            yield f"the rows lack the column {spelled((*path, known.name))}, which is NOT NULL and has no default"


def _type_mismatches(table: Type, rows: Type, path: Path, has_source: Callable[[Field], bool]) -> Iterator[str]:
    match table, rows:
        case Struct(), Struct():
            yield from _struct_mismatches(table, rows, path, has_source)
        case Array(), Array():
            yield from _type_mismatches(table.element, rows.element, (*path, "element"), has_source)
        case Map(), Map():
            yield from _type_mismatches(table.key, rows.key, (*path, "key"), has_source)
            yield from _type_mismatches(table.value, rows.value, (*path, "value"), has_source)
        case _ if not fits(table, rows):
            yield difference(path, table, rows)


def _present(kind: Type, whole: str, path: Path, depth: int) -> Iterator[tuple[Path, str]]:
    """What must not be null, and the condition for it; `whole` is the SQL of the value that `kind` is the type of.

    Where a struct, an array or a map is null itself, nothing within it is missing.
    """
    guard = f"{whole} IS NULL OR " if whole else ""
    match kind:
        case Struct():
            for field in kind:
                part, here = quoted((field.name,)), (*path, field.name)
                part = f"{whole}.{part}" if whole else part
                if not field.nullable:
                    yield here, f"{guard}{part} IS NOT NULL"
                yield from _present(field.type, part, here, depth)
        case Array():
            yield from _each_present(kind.element, kind.contains_null, whole, (*path, "element"), depth)
        case Map():
            yield from _each_present(kind.key, True, f"map_keys({whole})", (*path, "key"), depth)
            yield from _each_present(kind.value, kind.value_contains_null, f"map_values({whole})", (*path, "value"), depth)


def _each_present(kind: Type, may_be_null: bool, items: str, path: Path, depth: int) -> Iterator[tuple[Path, str]]:
    item = f"x{depth}"
    conditions = [] if may_be_null else [(path, f"{item} IS NOT NULL")]
    for here, condition in (*conditions, *_present(kind, item, path, depth + 1)):
        yield here, f"{items} IS NULL OR forall({items}, {item} -> {condition})"
