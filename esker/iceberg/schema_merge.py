"""Which schema holds the table's columns and those of the rows?  (spec, "Schema Evolution")"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.predicate import Path
from esker.core.row_fit import difference, fits
from esker.core.types import Array, Field, Map, Struct, Type, any_type, relaxed
from esker.errors import InvalidRequest
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.new_ids import new_field, new_struct, with_ids
from esker.iceberg.schema import Schema, minimum_version
from esker.iceberg.schema_changes import changed_partitions, is_promotion, numbered


def merged_schema(metadata: TableMetadata, rows: Struct, where: str) -> Schema:
    """The table's schema with whatever columns the rows bring, and with wider types where Iceberg promotes them.

    Columns that are added may be null. Raises `InvalidRequest`, naming every column that does not fit even so.
    """
    merging = _Merging(metadata, count(metadata.last_column_id + 1))
    struct = merging.struct(metadata.schema.struct, rows, ())
    if merging.problems:
        raise InvalidRequest("the table cannot take over the columns of the rows", where=where, problems=merging.problems)
    return metadata.schema if struct == metadata.schema.struct else numbered(metadata, replace(metadata.schema, struct=struct))


def replaced_schema(metadata: TableMetadata, rows: Struct) -> Schema:
    """A schema of the rows' columns alone, all of them new."""
    struct = new_struct(rows, count(metadata.last_column_id + 1))
    return numbered(metadata, Schema(struct))


class _Merging:
    """The problems come to light while the schema is put together."""

    def __init__(self, metadata: TableMetadata, ids: Iterator[int]) -> None:
        self.metadata = metadata
        self.version = metadata.format_version
        self.ids = ids
        self.problems: list[str] = []

    def struct(self, table: Struct, rows: Struct, path: Path) -> Struct:
        brought = {field.name.lower(): field for field in rows}
        kept = [self._kept(field, brought.get(field.name.lower()), (*path, field.name)) for field in table]
        fresh = [self._added(field, (*path, field.name)) for field in rows if table.find(field.name) is None]
        return Struct((*kept, *fresh))

    def _kept(self, table: Field, rows: Field | None, path: Path) -> Field:
        if rows is None:
            return table
        merged = replace(table, type=self._type(table.type, rows.type, path))
        if merged != table:
            self.problems += changed_partitions(self.metadata, table, path)
        return merged

    def _type(self, table: Type, rows: Type, path: Path) -> Type:
        match table, rows:
            case Struct(), Struct():
                return self.struct(table, rows, path)
            case Array(), Array():
                return replace(table, element=self._type(table.element, rows.element, (*path, "element")))
            case Map(), Map():
                value = self._type(table.value, rows.value, (*path, "value"))
                if not fits(table.key, rows.key):
                    self.problems.append(difference((*path, "key"), table.key, rows.key))
                return replace(table, value=value)
        if fits(table, rows):
            return table
        if is_promotion(table, rows, self.version):
            return with_ids(rows, self.ids) if table == t.VOID else rows
        self.problems.append(difference(path, table, rows))
        return table

    def _added(self, field: Field, path: Path) -> Field:
        if any_type(field.type, t.VOID):
            self.problems.append(f"the column {spelled(path)} has only nulls of no type in the rows; cast it")
        if (asked := minimum_version(field.type)) > self.version:
            self.problems.append(f"the column {spelled(path)} has a type of format version {asked}")
        return new_field(Field(field.name, relaxed(field.type)), self.ids)
