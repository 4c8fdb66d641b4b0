"""What must a relation hold, so that the visible columns can be made of it?

A relation is what Spark scans: columns stored in the files, constants of the files, and, where a plan needs them, the
file's ordinal and the row's index. Both relations, native and portable, follow one `Layout`; what is made on top of it
is the same for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from esker.core.scan import FromConstant, FromFile, Nulls, Positions, Resolution, RowIndex, ScanColumn, ScanPlan, Stored
from esker.core.types import INTEGER, Array, Field, Map, Struct, Type
from esker.errors import InvalidRequest
from esker.spark.types import as_read, to_spark

# A name that no file has, so that a column to be found by its id is never found by its name.
_UNNAMED = f"field {uuid4().hex}"


@dataclass(frozen=True)
class Layout:
    """The columns of a relation. Hidden ones have names that no visible column has."""

    data: Struct
    """What is stored in the files, under the relation's names and with the types to read."""
    stored: Struct
    """The same in the same order, with the files' names and ids."""
    constants: Mapping[str, str]
    """The relation's name of each constant column, and the plan's."""
    partitions: Struct
    """The types of the constant columns."""
    file: str
    row: str
    has_deletes: bool
    needs_row: bool


def layout(plan: ScanPlan) -> Layout:
    """Decide what the relation for a plan holds."""
    hidden = _hidden_prefix(plan)
    data: list[Field] = []
    stored: list[Field] = []
    constants: dict[str, str] = {}
    for at, column in enumerate(plan.columns):
        match column.source:
            case FromFile(physical):
                data.append(column.field)
                stored.append(physical)
            case FromConstant(name):
                constants[column.field.name] = name
            case Stored(physical, name, _):
                constants[f"{hidden}constant_{at}"] = name
                if physical is not None:
                    data.append(column.field.renamed(f"{hidden}stored_{at}"))
                    stored.append(physical)
            case RowIndex() | Nulls():
                pass
            case _:
                assert_never(column.source)
    has_deletes = bool(plan.has_deletes.any())
    partitions = [_constant_field(plan, name).renamed(ours) for ours, name in constants.items()]
    return Layout(
        data=as_read(Struct(tuple(data))),
        stored=as_stored(Struct(tuple(stored)), plan.resolution),
        constants=constants,
        partitions=as_read(Struct((*partitions, Field(f"{hidden}file", INTEGER)) if has_deletes else tuple(partitions))),
        file=f"{hidden}file",
        row=f"{hidden}row",
        has_deletes=has_deletes,
        needs_row=has_deletes or any(_adds_row_index(column) for column in plan.columns),
    )


def visible(relation: DataFrame, plan: ScanPlan, layout: Layout) -> DataFrame:
    """The plan's columns, in order, of a relation that follows the layout."""
    if relation.columns == list(plan.schema.names):
        return relation
    return relation.select(*(_column(column, at, layout) for at, column in enumerate(plan.columns)))


def alive(spark: SparkSession, relation: DataFrame, plan: ScanPlan, layout: Layout) -> DataFrame:
    """The rows of a relation that are not deleted."""
    if not layout.has_deletes:
        return relation
    bits = f"{layout.file}_bits"
    dead = spark.createDataFrame(_bitmaps(plan, layout.file, bits))
    rows = relation.join(F.broadcast(dead), layout.file, "left")
    row = name(layout.row)
    word = F.get(F.col(bits), F.shiftright(row, 6).cast("int"))
    return rows.where(F.col(bits).isNull() | (F.coalesce(F.getbit(word, (row % 64).cast("int")), F.lit(0)) == 0))


def name(column: str) -> Column:
    """A column by its name, whatever characters that has."""
    return F.col("`" + column.replace("`", "``") + "`")


def as_stored(schema: Struct, resolution: Resolution) -> Struct:
    """The files' columns as Spark's Parquet reader is to look for them."""
    return Struct(tuple(_as_stored(f, resolution) for f in schema))


def _as_stored(field: Field, resolution: Resolution) -> Field:
    kind = _stored_type(field.type, resolution)
    if resolution is Resolution.ID and field.id is not None:
        return Field(f"{_UNNAMED} {field.id}", kind, id=field.id, metadata={"parquet.field.id": field.id})
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


def _hidden_prefix(plan: ScanPlan) -> str:
    prefix = "__esker_"
    while any(n.lower().startswith(prefix) for n in plan.schema.names):
        prefix = f"_{prefix}"
    return prefix


def _constant_field(plan: ScanPlan, name: str) -> Field:
    for field in plan.constant_fields:
        if field.name == name:
            return field
    raise InvalidRequest(f"the scan plan has no constant {name}", where=plan.location)


def _adds_row_index(column: ScanColumn) -> bool:
    match column.source:
        case RowIndex() | Stored(plus_row_index=True):
            return True
    return False


def _column(column: ScanColumn, at: int, layout: Layout) -> Column:
    hidden = layout.file.removesuffix("file")
    match column.source:
        case FromFile() | FromConstant():
            return name(column.field.name)
        case Stored(physical, _, plus_row_index):
            value = name(f"{hidden}constant_{at}")
            if plus_row_index:
                value = value + name(layout.row)
            if physical is not None:
                value = F.coalesce(name(f"{hidden}stored_{at}"), value)
        case RowIndex():
            value = name(layout.row)
        case Nulls():
            value = F.lit(None).cast(to_spark(as_read(Struct((column.field,))).fields[0].type))
        case _:
            assert_never(column.source)
    return value.alias(column.field.name)


def _bitmaps(plan: ScanPlan, file: str, bits: str) -> pa.Table:
    deletes = plan.load_deletes([int(i) for i in plan.has_deletes.nonzero()[0]])
    words = []
    for each in deletes.values():
        match each:
            case Positions(bitmap):
                words.append(bitmap.words())
            case _:
                assert_never(each)
    return pa.table({file: pa.array(list(deletes), pa.int32()), bits: pa.array(words, pa.list_(pa.int64()))})
