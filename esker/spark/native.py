"""How does Spark scan the planned files as its own?

A Java source that comes with this package is compiled, once, in the driver's JVM and implements Spark's `FileIndex` over the
plan. Spark then plans and reads as for any Parquet table: no file is listed, filters reach the plan when a query is
planned, constants are partition columns. One of them, hidden, holds the bits of a file's dead rows.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar, assert_never
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from esker.core.binding import bind
from esker.core.catalyst import from_catalyst
from esker.core.predicate import Predicate, all_of, columns
from esker.core.scan import Deletes, Positions, Resolution, ScanPlan
from esker.core.types import BINARY, LONG, Field, Struct
from esker.errors import EskerError, InvalidTable
from esker.spark.doors import door_of, known_zone
from esker.spark.files import PARQUET_OPTIONS, spark_path
from esker.spark.layout import Layout, layout, named, visible
from esker.spark.types import to_spark_schema


def rows(spark: SparkSession, plan: ScanPlan) -> DataFrame:
    """The live rows of the planned files, with the plan's columns."""
    shape = layout(plan)
    door = door_of(spark, "PlannedFiles")
    relation = _relation(spark, door, plan, shape)
    if plan.has_deletes.any():
        relation = relation.where(_is_alive(door, named(shape.hidden("dead")), named(shape.row)))
    return visible(relation, plan, shape)


def _relation(spark: SparkSession, door: Any, plan: ScanPlan, shape: Layout) -> DataFrame:
    jvm: Any = spark.sparkContext._jvm
    has_deletes = bool(plan.has_deletes.any())
    dead = (Field(shape.hidden("dead"), BINARY),) if has_deletes else ()
    partitions = Struct((*shape.partitions, *dead))
    # Spark's reader fills a column of this name. Asked for as a metadata column it would come boxed in a struct, row by row.
    row_index = (
        jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME()
    )
    data = Struct((*shape.data, Field(shape.row, LONG))) if shape.needs_row else shape.data
    stored = Struct((*shape.stored, Field(row_index, LONG))) if shape.needs_row else shape.stored
    planned = door.relation(
        spark._jsparkSession,
        spark_path(plan.location),
        _listing(plan, shape, dead),
        len(plan),
        *(
            jvm.org.apache.spark.sql.types.DataType.fromJson(to_spark_schema(schema).json())
            for schema in (partitions, data, stored)
        ),
        plan.resolution is Resolution.ID,
        has_deletes,
        jvm.PythonUtils.toScalaMap(PARQUET_OPTIONS),
        _Planner(plan),
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(planned), spark)


def _listing(plan: ScanPlan, shape: Layout, dead: tuple[Field, ...]) -> bytearray:
    """Paths, sizes and constants as a deflated Arrow stream."""
    paths = pa.array([spark_path(url) for url in plan.paths.to_pylist()], pa.string())
    table = pa.table({"path": paths, "size": plan.sizes})
    for ours, constant in shape.constants.items():
        table = table.append_column(ours, plan.constants.column(constant))
    for column in dead:
        table = table.append_column(column.name, pa.nulls(len(plan), pa.binary()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=100_000)
    return bytearray(zlib.compress(sink.getvalue(), 1))


def _is_alive(door: Any, dead: Column, row: Column) -> Column:
    """Whether a row's bit is not set. A file without deletes has no bits, and rows beyond the last bit live."""
    offset = F.shiftleft(F.shiftright(row, 5), 2)
    word = Column(door.word(dead._jc, offset.cast("int")._jc))
    bit = F.call_function("shiftright", word, row.bitwiseAND(31).cast("int")).bitwiseAND(1)
    return dead.isNull() | (offset >= F.length(dead)) | (bit == 0)


class _Planner:
    """Answers what Spark asks while it plans a query, with bytes, or with a text that says what went wrong.

    An exception must not cross to the JVM: it would be told as a fault of the connection.
    """

    def __init__(self, plan: ScanPlan):
        self._plan = plan

    def apply(self, question: str, about: str) -> bytearray | str:
        try:
            match question:
                case "matching":
                    return self._matching(json.loads(about))
                case "deletes":
                    return self._deletes(json.loads(about))
            return f"a planner was asked for {question}"
        except EskerError as error:
            return f"{type(error).__name__}: {error}"
        except Exception as error:
            return f"the files of {self._plan.location} could not be planned: {type(error).__name__}: {error}"

    def _matching(self, asked: dict[str, Any]) -> bytearray:
        """A bit for each file."""
        mask = self._plan.matching(all_of(*self._conditions(asked["filters"], known_zone(asked["zone"]))))
        return bytearray(np.packbits(mask, bitorder="little").tobytes())

    def _conditions(self, filters: list[list[dict[str, Any]]], zone: ZoneInfo | None) -> Iterator[Predicate]:
        """What the filters say of visible columns; one that names a hidden column skips no file."""
        schema = self._plan.schema
        for tree in filters:
            condition = from_catalyst(tree, zone)
            if all(path[0] in schema.names for path in columns(condition)):
                yield bind(condition, schema)

    def _deletes(self, ordinals: list[int]) -> bytearray:
        """For each file the number of its bytes of bits, and the bytes, deflated."""
        deletes = self._plan.load_deletes([i for i in ordinals if self._plan.has_deletes[i]])
        out = bytearray()
        for i in ordinals:
            if self._plan.has_deletes[i] and i not in deletes:
                raise InvalidTable("the deletes of this file were not found", where=self._plan.paths[i].as_py())
            bits = _bits(deletes[i]) if i in deletes else b""
            out += struct.pack("<i", len(bits)) + bits
        return bytearray(zlib.compress(out, 1))

    class Java:
        implements: ClassVar[list[str]] = ["java.util.function.BiFunction"]


def _bits(deletes: Deletes) -> bytes:
    match deletes:
        case Positions(bitmap):
            return bitmap.words().astype("<i8").tobytes()
    assert_never(deletes)
