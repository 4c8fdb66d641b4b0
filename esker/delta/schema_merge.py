"""What does a table become that takes over the columns of rows?  (PROTOCOL.md, "Type Widening", "Column Mapping")

Columns are found by name, ignoring case, at every depth. What is there keeps its place, its name and its metadata.
"""

from collections.abc import Callable
from dataclasses import replace

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.nesting import each, type_at, types
from esker.core.predicate import Path
from esker.core.row_fit import difference, fits
from esker.core.types import Array, Field, Map, Struct, Type, any_type, relaxed
from esker.delta import column_names
from esker.delta.actions import Metadata, with_schema
from esker.delta.column_mapping_ids import with_mapping
from esker.delta.column_metadata import COMMENT
from esker.delta.properties import column_mapping_mode, type_widening_enabled
from esker.delta.schema_change_rules import stays_convertible, widening_problems
from esker.delta.schema_fit import ambiguities
from esker.delta.type_changes import is_automatic, is_known_to_iceberg, recorded
from esker.errors import InvalidRequest

MayWiden = Callable[[Type, Type], bool]


def never(old: Type, new: Type) -> bool:
    """The rule of a table whose columns keep their types."""
    return False


def evolved(metadata: Metadata, rows: Struct) -> Metadata:
    """The metadata with whatever columns the rows bring, and with wider types where the table allows that.

    Raises `InvalidRequest`, with every problem, where the rows would not fit even so.
    """
    may_widen = never
    if type_widening_enabled(metadata.configuration):
        may_widen = is_known_to_iceberg if stays_convertible(metadata) else is_automatic
    schema = merged(metadata.schema, rows, may_widen)
    mode = column_mapping_mode(metadata.configuration)
    known = set(column_names.problems(metadata.schema, mode))
    problems = [problem for problem in column_names.problems(schema, mode) if problem not in known]
    for path, kind in types(schema):
        old = type_at(metadata.schema, path)
        if old is not None and old != kind and not isinstance(kind, Struct | Array | Map):
            problems += widening_problems(path, metadata)
    if problems:
        raise InvalidRequest("the table cannot take over the columns of the rows", problems=problems)
    return metadata if schema == metadata.schema else with_mapping(with_schema(metadata, schema), metadata)


def merged(table: Struct, rows: Struct, may_widen: MayWiden = never) -> Struct:
    """The table's columns, and behind them those that only the rows have, at every depth; what is there keeps its place.

    Columns that are added may be null. Raises `InvalidRequest`, naming every column that differs, where a type of the rows
    fits the table's neither as it is nor widened.
    """
    merging = _Merging(may_widen)
    result = merging.struct(table, rows, ())
    if problems := [*ambiguities(rows), *merging.problems]:
        raise InvalidRequest("the columns of the rows and of the table cannot be merged", problems=problems)
    return result


class _Merging:
    """The problems come to light while the schema is put together."""

    def __init__(self, may_widen: MayWiden):
        self.may_widen = may_widen
        self.problems: list[str] = []

    def struct(self, table: Struct, rows: Struct, path: Path) -> Struct:
        brought = {field.name.lower(): field for field in rows}
        kept = [self.field(field, brought.get(field.name.lower()), (*path, field.name)) for field in table]
        fresh = [self.added(field, (*path, field.name)) for field in rows if table.find(field.name) is None]
        return Struct((*kept, *fresh))

    def field(self, table: Field, rows: Field | None, path: Path) -> Field:
        if rows is None:
            return table
        changes: list[tuple[Path, Type, Type]] = []
        result = replace(table, type=self.type(table.type, rows.type, path, (), changes))
        for inside, old, new in changes:
            result = recorded(result, inside, old, new)
        return result

    def type(self, table: Type, rows: Type, path: Path, inside: Path, changes: list[tuple[Path, Type, Type]]) -> Type:
        """The type that holds both; `changes` takes what was widened between the field and the structs below it."""

        def within(step: str, one: Type, other: Type) -> Type:
            return self.type(one, other, (*path, step), (*inside, step), changes)

        match table, rows:
            case Struct(), Struct():
                return self.struct(table, rows, path)
            case Array(), Array():
                return replace(table, element=within("element", table.element, rows.element))
            case Map(), Map():
                key = within("key", table.key, rows.key)
                return replace(table, key=key, value=within("value", table.value, rows.value))
        if fits(table, rows):
            return table
        if self.may_widen(table, rows):
            changes.append((inside, table, rows))
            return rows
        self.problems.append(difference(path, table, rows))
        return table

    def added(self, field: Field, path: Path) -> Field:
        """The column as a table gets it: nullable at every depth, and with nothing of where it came from but comments."""
        if any_type(field.type, t.VOID):
            self.problems.append(f"the column {spelled(path)} has only nulls of no type in the rows; cast it")
        loose = replace(field, type=relaxed(field.type), nullable=True)
        return each(Struct((loose,)), _plain).fields[0]


def _plain(field: Field) -> Field:
    comment = {key: text for key, text in field.metadata.items() if key == COMMENT}
    return replace(field, id=None, metadata=comment)
