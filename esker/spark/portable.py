"""How are the planned files read with nothing but the public DataFrame API?

`spark.read.parquet` of the files, joined with a small relation of what is constant in each. It works on every kind of session.
Filters reach the plan only when the caller hands them to it beforehand. Columns are found by name: that Spark finds them by id
depends on a setting of the session, which may change before the rows flow.
"""

from collections.abc import Iterator
from typing import assert_never

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from esker.core import types as t
from esker.core.arrow_types import to_arrow_schema
from esker.core.scan import Deletes, Positions, ScanPlan
from esker.core.types import Array, Field, Map, Struct, Type, any_type
from esker.errors import InvalidTable
from esker.spark.files import PARQUET_OPTIONS, key_of_input_file, spark_key, spark_pattern
from esker.spark.layout import Layout, layout, named, visible
from esker.spark.settings import settings
from esker.spark.types import to_spark, to_spark_schema

# The first keeps folders named `a=b` from being taken for partitions.
_OPTIONS = {"recursiveFileLookup": "true", **PARQUET_OPTIONS}
# Members of structs cannot be kept from Parquet's filters one by one, so none is to skip anything.
_UNFILTERED = {f"parquet.filter.{kind}.enabled": "false" for kind in ("stats", "columnindex", "dictionary", "bloom")}
# Spark lists more paths than these in a job of its own, which takes minutes where a loop takes seconds.
_LISTED_HERE = {"spark.sql.sources.parallelPartitionDiscovery.threshold": str(2**31 - 1)}


def rows(spark: SparkSession, plan: ScanPlan) -> DataFrame:
    """The live rows of the planned files, with the plan's columns. `spark.read` must see each of the files, and find by name."""
    shape = layout(plan)
    if not len(plan):
        return spark.createDataFrame([], to_spark_schema(plan.schema))
    files = _files(spark, plan, shape)
    about = _facts(plan, shape)
    relation = files.select(*_stored_columns(files, shape, with_key=about is not None))
    if about is not None:
        relation = _joined(relation, spark.createDataFrame(about, _fact_schema(plan, shape)), shape)
    if plan.has_deletes.any():
        relation = relation.where(_is_alive(named(shape.hidden("dead")), named(shape.row)))
    return visible(relation, plan, shape)


def _files(spark: SparkSession, plan: ScanPlan, shape: Layout) -> DataFrame:
    """The files' own columns. On a server nothing happens before the proof asks which files there are."""
    options = {**_OPTIONS, **(_UNFILTERED if any(_has_floating(f.type) for f in shape.data) else {})}
    reader = spark.read.schema(to_spark_schema(_readable(shape))).options(**options)
    with settings(spark, _LISTED_HERE):
        files = reader.parquet(*(spark_pattern(url) for url in plan.paths.to_pylist()))
        _prove_complete(files, plan)
    return files


def _has_floating(kind: Type) -> bool:
    """Whether a struct holds floating-point numbers that a filter can name."""
    return isinstance(kind, Struct) and any(f.type in t.FRACTIONAL or _has_floating(f.type) for f in kind)


def _readable(shape: Layout) -> Struct:
    """The files' names with the types to read. Nothing is stored of a void column, so it is looked for as another type."""
    return Struct(tuple(_readable_field(f, s) for f, s in zip(shape.data, shape.stored, strict=True)))


def _readable_field(wanted: Field, stored: Field) -> Field:
    return Field(stored.name, _readable_type(wanted.type, stored.type), metadata=stored.metadata)


def _readable_type(wanted: Type, stored: Type) -> Type:
    match wanted, stored:
        case Struct(), Struct():
            return Struct(tuple(_readable_field(f, s) for f, s in zip(wanted, stored, strict=True)))
        case Array(), Array():
            return Array(_readable_type(wanted.element, stored.element))
        case Map(), Map():
            return Map(_readable_type(wanted.key, stored.key), _readable_type(wanted.value, stored.value))
    return t.BOOLEAN if wanted == t.VOID else wanted


def _prove_complete(files: DataFrame, plan: ScanPlan) -> None:
    """Spark silently reads no rows from a file that it takes for something else, so each must be among its own."""
    seen = {key_of_input_file(name) for name in files.inputFiles()}
    missing = [url for url in plan.paths.to_pylist() if spark_key(url) not in seen]
    if missing:
        raise InvalidTable("Spark does not see these data files", where=plan.location, problems=missing[:20])


def _stored_columns(files: DataFrame, shape: Layout, with_key: bool) -> Iterator[Column]:
    for wanted, stored in zip(shape.data, shape.stored, strict=True):
        column = named(stored.name)
        if _readable_field(wanted, stored).type != wanted.type:
            column = _converted(column, _readable_field(wanted, stored).type, wanted.type)
        yield (_unfiltered(column, wanted.type) if wanted.type in t.FRACTIONAL else column).alias(wanted.name)
    metadata = files.metadataColumn("_metadata")
    if shape.needs_row:
        yield metadata.getField("row_index").alias(shape.row)
    if with_key:
        yield metadata.getField("file_path").alias(shape.hidden("key"))


def _unfiltered(column: Column, kind: Type) -> Column:
    """The same values, as no filter of Parquet's can tell them: see `isFloating` in the Java source of the native relation."""
    return F.nanvl(column, F.lit(float("nan")).cast(to_spark(kind)))


def _converted(column: Column, read: Type, wanted: Type) -> Column:
    """The column with the wanted names. A cast of structs goes by position, and so renames; only void needs more."""
    if not any_type(wanted, t.VOID):
        return column.cast(to_spark(wanted))
    match read, wanted:
        case Struct(), Struct():
            members = [
                _converted(column.getField(r.name), r.type, w.type).alias(w.name)
                for r, w in zip(read, wanted, strict=True)
            ]
            return F.when(column.isNotNull(), F.struct(*members))
        case Array(), Array():
            return F.transform(column, lambda each: _converted(each, read.element, wanted.element))
        case Map(), Map():
            values = F.transform(F.map_values(column), lambda each: _converted(each, read.value, wanted.value))
            return F.map_from_arrays(F.map_keys(column), values)
    return F.lit(None).cast(to_spark(wanted))


def _facts(plan: ScanPlan, shape: Layout) -> pa.Table | None:
    """What is to be known of each file: its constants and the bits of its dead rows, by Spark's spelling of its path."""
    if not shape.constants and not plan.has_deletes.any():
        return None
    schema = to_arrow_schema(shape.partitions)
    facts = pa.table({shape.hidden("key"): pa.array([spark_key(url) for url in plan.paths.to_pylist()], pa.string())})
    for ours, constant in shape.constants.items():
        facts = facts.append_column(ours, plan.constants.column(constant).cast(schema.field(ours).type))
    if plan.has_deletes.any():
        facts = facts.append_column(shape.hidden("dead"), _bits(plan))
    return facts


def _fact_schema(plan: ScanPlan, shape: Layout) -> StructType:
    """The types of the facts, which Spark would guess wrong: it takes a clock reading for an instant."""
    dead = (Field(shape.hidden("dead"), Array(t.LONG)),) if plan.has_deletes.any() else ()
    return to_spark_schema(Struct((Field(shape.hidden("key"), t.STRING), *shape.partitions, *dead)))


def _bits(plan: ScanPlan) -> pa.Array:
    deletes = plan.load_deletes([int(i) for i in plan.has_deletes.nonzero()[0]])
    if missing := [plan.paths[i].as_py() for i in plan.has_deletes.nonzero()[0] if int(i) not in deletes]:
        raise InvalidTable("the deletes of these files were not found", where=plan.location, problems=missing[:20])
    words = [_words(deletes[i]) if i in deletes else None for i in range(len(plan))]
    return pa.array(words, pa.list_(pa.int64()))


def _words(deletes: Deletes) -> list[int]:
    match deletes:
        case Positions(bitmap):
            words: list[int] = bitmap.words().tolist()
            return words
    assert_never(deletes)


def _joined(relation: DataFrame, facts: DataFrame, shape: Layout) -> DataFrame:
    """Each row with the facts of its file. A row whose file is not among them stops the query."""
    key = shape.hidden("key")
    known = shape.hidden("known")
    joined = relation.join(F.broadcast(facts.withColumn(known, F.lit(True))), key, "left")
    told = F.concat(F.lit("a file that was not planned is read: "), named(key))
    return joined.where(F.when(named(known).isNull(), F.raise_error(told).cast("boolean")).otherwise(F.lit(True)))


def _is_alive(dead: Column, row: Column) -> Column:
    """Whether a row's bit is not set. A file without deletes has no bits, and rows beyond the last bit live."""
    word = F.get(dead, F.shiftright(row, 6).cast("int"))
    return dead.isNull() | (F.coalesce(F.getbit(word, row.bitwiseAND(63).cast("int")), F.lit(0)) == 0)
