"""What must a relation hold, so that the visible columns can be made of it?

A relation is what Spark scans: columns stored in the files, constants of the files and, where a plan needs it, the row's
index. Both relations, native and portable, follow one `Layout`, and the visible columns are made of both in one way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from esker.core.scan import (
    FromConstant,
    FromConstants,
    FromFile,
    Nulls,
    Partitioned,
    Resolution,
    RowIndex,
    ScanColumn,
    ScanPlan,
    Stored,
)
from esker.core.types import BOOLEAN, VOID, Array, Field, Map, Struct, Type
from esker.errors import InvalidRequest
from esker.spark.types import as_read, to_spark


@dataclass(frozen=True)
class Layout:
    """The columns of a relation."""

    data: Struct
    """What is stored in the files, under the relation's names and with the types to read."""
    stored: Struct
    """The same in the same order, with the files' names and ids."""
    constants: Mapping[str, str]
    """The relation's name of each constant column, and the plan's."""
    partitions: Struct
    """The types of the constant columns, in the same order."""
    needs_row: bool
    prefix: str

    @property
    def row(self) -> str:
        """The column with the row's index, if `needs_row`."""
        return self.hidden("row")

    def hidden(self, name: str) -> str:
        """A name that no visible column has."""
        return f"{self.prefix}{name}"


def layout(plan: ScanPlan) -> Layout:
    """Decide what the relation for a plan holds."""
    prefix = _unused_prefix(plan)
    data: list[Field] = []
    stored: list[Field] = []
    constants: dict[str, str] = {}
    for at, column in enumerate(plan.columns):
        match column.source:
            case FromFile(physical):
                data.append(replace(column.field, type=_read_type(column.field.type, physical.type)))
                stored.append(physical)
            case FromConstant(name):
                constants[column.field.name] = name
            case FromConstants(names):
                constants |= {_member(prefix, at, i): name for i, name in enumerate(names)}
            case Partitioned():
                raise AssertionError("the plan is not settled")
            case Stored(physical, name, _):
                constants[f"{prefix}constant_{at}"] = name
                if physical is not None:
                    data.append(column.field.renamed(f"{prefix}stored_{at}"))
                    stored.append(physical)
            case RowIndex() | Nulls():
                pass
            case _:
                assert_never(column.source)
    return Layout(
        data=as_read(Struct(tuple(data))),
        stored=as_stored(Struct(tuple(stored)), plan.resolution),
        constants=constants,
        partitions=as_read(Struct(tuple(_constant(plan, name).renamed(ours) for ours, name in constants.items()))),
        needs_row=bool(plan.has_deletes.any()) or has_row_index(plan),
        prefix=prefix,
    )


def has_row_index(plan: ScanPlan) -> bool:
    """Whether a visible column is made of the row's index."""
    return any(isinstance(c.source, RowIndex) or getattr(c.source, "plus_row_index", False) for c in plan.columns)


def visible(relation: DataFrame, plan: ScanPlan, layout: Layout) -> DataFrame:
    """The plan's columns, in order, of a relation that follows the layout."""
    if relation.columns == list(plan.schema.names) and not any(_is_converted(c) for c in plan.columns):
        return relation
    return relation.select(*(_column(column, at, layout) for at, column in enumerate(plan.columns)))


def _is_converted(column: ScanColumn) -> bool:
    match column:
        case ScanColumn(field, FromFile(physical)):
            return _read_type(field.type, physical.type) != field.type
    return False


def named(column: str) -> Column:
    """A column by its name, whatever characters that has."""
    return F.col("`" + column.replace("`", "``") + "`")


def as_stored(schema: Struct, resolution: Resolution) -> Struct:
    """The files' columns as Spark's Parquet reader is to look for them."""
    return Struct(tuple(_as_stored(f, resolution) for f in schema))


# What is to be found by id, or not at all, has a name that no file has.
_UNNAMED = f"field {uuid4().hex}"


def _as_stored(field: Field, resolution: Resolution) -> Field:
    kind = _stored_type(field.type, resolution)
    if resolution is Resolution.ID and field.type != VOID and field.id is not None:
        return Field(f"{_UNNAMED} {field.id}", kind, id=field.id, metadata={"parquet.field.id": field.id})
    if field.type == VOID:  # never stored, and not all Sparks can ask for it
        return Field(f"{_UNNAMED} {field.name}", BOOLEAN)
    return Field(field.name, kind)


def _stored_type(kind: Type, resolution: Resolution) -> Type:
    match kind:
        case Struct():
            return as_stored(kind, resolution)
        case Array():
            return Array(_stored_type(kind.element, resolution))
        case Map():
            return Map(_stored_type(kind.key, resolution), _stored_type(kind.value, resolution))
    return kind


def _read_type(wanted: Type, stored: Type) -> Type:
    """The visible names with the types that the files are to be read in, which the plan may ask to be wider."""
    match wanted, stored:
        case Struct(), Struct():
            return Struct(
                tuple(replace(w, type=_read_type(w.type, s.type)) for w, s in zip(wanted, stored, strict=True))
            )
        case Array(), Array():
            return replace(wanted, element=_read_type(wanted.element, stored.element))
        case Map(), Map():
            return replace(
                wanted, key=_read_type(wanted.key, stored.key), value=_read_type(wanted.value, stored.value)
            )
    return stored


def _unused_prefix(plan: ScanPlan) -> str:
    prefix = "__esker_"
    while any(name.lower().startswith(prefix) for name in plan.schema.names):
        prefix = f"_{prefix}"
    return prefix


def _constant(plan: ScanPlan, name: str) -> Field:
    for field in plan.constant_fields:
        if field.name == name:
            return field
    raise InvalidRequest(f"the scan plan has no constant {name}", where=plan.location)


def _member(prefix: str, column: int, member: int) -> str:
    return f"{prefix}constant_{column}_{member}"


def _member_names(field: Field) -> tuple[str, ...]:
    return field.type.names if isinstance(field.type, Struct) else ()


def _column(column: ScanColumn, at: int, layout: Layout) -> Column:
    match column.source:
        case FromFile() if _is_converted(column):
            value = named(column.field.name).cast(to_spark(as_read(Struct((column.field,))).fields[0].type))
        case FromFile() | FromConstant():
            return named(column.field.name)
        case FromConstants(names):
            members = zip(_member_names(column.field), range(len(names)), strict=True)
            value = F.struct(*(named(_member(layout.prefix, at, i)).alias(name) for name, i in members))
        case Partitioned():
            raise AssertionError("the plan is not settled")
        case Stored(physical, _, plus_row_index):
            value = named(layout.hidden(f"constant_{at}"))
            if plus_row_index:
                value = value + named(layout.row)
            if physical is not None:
                value = F.coalesce(named(layout.hidden(f"stored_{at}")), value)
        case RowIndex():
            value = named(layout.row)
        case Nulls():
            value = F.lit(None).cast(to_spark(as_read(Struct((column.field,))).fields[0].type))
        case _:
            assert_never(column.source)
    return value.alias(column.field.name)
