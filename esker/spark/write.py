"""How do a frame's rows become files?

Spark's own Parquet writer, in one job, into a fresh folder below the table; its committer sees to it that a task that is
repeated or raced by its twin leaves its files once. Checks are part of the same job, so a row that breaks one fails it.
The files stay where they lie.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from esker.arrow.footers import read_statistics
from esker.core import types as t
from esker.core.types import Array, Field, Json, Map, Struct, Type
from esker.core.write import Absent, Check, Computed, Given, Numbered, WriteColumn, WriteSpec, WrittenFile
from esker.errors import EskerError, InvalidRequest
from esker.spark.conform import conformed
from esker.spark.files import spark_path
from esker.spark.identity import numbered
from esker.spark.layout import named
from esker.spark.settings import settings
from esker.spark.types import from_spark_schema, to_spark
from esker.storage import FileInfo, Storage, join_url, open_storage

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder in which Spark puts the rows whose partition value is null."""
BROKEN = "esker: a row breaks "

WRITER_SETTINGS = {
    # Table formats know no other timestamps, and INT96 has no statistics.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    # Variants are stored whole: a reader of a table without shredding must find them so.
    "spark.sql.variant.writeShredding.enabled": "false",
    "spark.sql.parquet.annotateVariantLogicalType": "false",
}


_COMMITTER = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # The second algorithm puts the files of a task in place one by one: a task that dies meanwhile leaves some of them twice.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
}


class SparkRows:
    """The rows of a frame."""

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame

    @property
    def schema(self) -> Struct:
        return from_spark_schema(self.frame.schema)

    def write(self, spec: WriteSpec) -> tuple[WrittenFile, ...]:
        """Write all rows as the spec says."""
        return write_rows(table_rows(self.frame, spec), spec)


def table_rows(frame: DataFrame, spec: WriteSpec) -> DataFrame:
    """The table's columns, in order and in their types, made of what the rows have; with every row checked."""
    numbering = [c for c in spec.columns if isinstance(c.value, Numbered)]
    given = numbered(frame, {c.field.name: c.value for c in numbering if isinstance(c.value, Numbered)})
    plain = [c for c in spec.columns if not isinstance(c.value, Computed)]
    ready = given.select(*(_value(c, frame).alias(c.field.name) for c in plain))
    if len(plain) < len(spec.columns):
        ready = ready.select(*(_computed(c, ready) for c in spec.columns))
    return checked(ready, spec.checks)


def checked(rows: DataFrame, checks: tuple[Check, ...]) -> DataFrame:
    """The same rows; the job fails at the first that breaks a check."""
    for check in checks:
        told = F.lit(BROKEN + check.what)
        fails = F.raise_error(told).cast("boolean")
        rows = rows.where(F.when(F.expr(check.sql), F.lit(True)).otherwise(fails))
    return rows


def write_rows(rows: DataFrame, spec: WriteSpec) -> tuple[WrittenFile, ...]:
    """Write rows that have the table's columns."""
    storage = open_storage(spec.location, spec.storage_options)
    frame, partitions = _stored(rows, spec)
    writer = frame.write.mode("error").options(**_COMMITTER)
    if spec.rows_per_file is not None:
        writer = writer.option("maxRecordsPerFile", spec.rows_per_file)
    if partitions:
        writer = writer.partitionBy(*partitions)
    with settings(rows.sparkSession, _known(rows, WRITER_SETTINGS)), _job_errors(storage, spec):
        writer.parquet(spark_path(join_url(spec.location, spec.folder)))
    return _written(storage, spec, dict(partitions))


def _known(rows: DataFrame, wanted: dict[str, str]) -> dict[str, str]:
    """The settings that this Spark has: others it would take for its user's own, and keep."""
    conf = rows.sparkSession.conf
    return {key: value for key, value in wanted.items() if conf.isModifiable(key)}


def _value(column: WriteColumn, frame: DataFrame) -> Column:
    match column.value:
        case Given(name):
            return conformed(named(name), frame.schema[name].dataType, column.field.type)
        case Numbered():
            return named(column.field.name)
        case Absent():
            return F.lit(None).cast(to_spark(column.field.type))
        case Computed():
            raise AssertionError(column)
    assert_never(column.value)


def _computed(column: WriteColumn, ready: DataFrame) -> Column:
    if isinstance(column.value, Computed):
        return F.expr(column.value.sql).cast(to_spark(column.field.type)).alias(column.field.name)
    return named(column.field.name)


def _stored(rows: DataFrame, spec: WriteSpec) -> tuple[DataFrame, dict[str, str]]:
    """The frame as files hold it, and its partition columns with the physical name of each."""
    columns = [
        named(c.field.name).cast(to_spark(_with_ids(c.physical.type))).alias(c.physical.name, metadata=_ids(c.physical))
        for c in spec.stored
        if c.field.type != t.VOID
    ]
    by_name = {c.field.name: c for c in spec.columns}
    partitions: dict[str, str] = {}
    for at, name in enumerate(spec.partition_by):
        physical = by_name[name].physical
        # stored beside the text, the column needs its name for itself
        label = f"{physical.name}_{at}" if spec.stores_partitions else physical.name
        partitions[label] = physical.name
        columns.append(partition_text(named(name), physical.type).alias(label))
    return rows.select(*columns), partitions


def partition_text(value: Column, kind: Type) -> Column:
    """A partition value as table formats spell it; null for null and for an empty text."""
    match kind:
        case t.TIMESTAMP:
            text = F.date_format(F.to_utc_timestamp(value, F.current_timezone()), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
        case t.TIMESTAMP_NTZ:
            text = F.date_format(value, "yyyy-MM-dd HH:mm:ss.SSSSSS")
        case t.BINARY:
            text = _guarded(F.decode(value, "UTF-8"), F.encode(F.decode(value, "UTF-8"), "UTF-8") != value, "not UTF-8")
        case _:
            text = value.cast("string")
    return _guarded(text, text == NO_VALUE, f"{NO_VALUE!r}, the name of the folder for nulls")


def _guarded(text: Column, is_bad: Column, what: str) -> Column:
    return F.when(is_bad, F.raise_error(F.lit(f"{BROKEN}the rule that no partition value is {what}"))).otherwise(text)


def _with_ids(kind: Type) -> Type:
    """The type with its members' ids where Spark's writer looks for them, and nothing else told of them."""
    match kind:
        case Struct():
            return Struct(tuple(Field(f.name, _with_ids(f.type), metadata=_ids(f)) for f in kind))
        case Array():
            return Array(_with_ids(kind.element))
        case Map():
            return Map(_with_ids(kind.key), _with_ids(kind.value))
    return kind


def _ids(physical: Field) -> dict[str, Json]:
    return {} if physical.id is None else {"parquet.field.id": physical.id}


@contextmanager
def _job_errors(storage: Storage, spec: WriteSpec) -> Iterator[None]:
    """A row that breaks a check is the caller's fault. What the job has written is taken away again."""
    try:
        yield
    except PySparkException as error:
        _discard(storage, spec.folder)
        if found := re.search(rf"{BROKEN}([^\n]*)", str(error)):
            raise InvalidRequest(f"a row breaks {found[1]}", where=spec.location, hint="Nothing was written.") from error
        raise


def _discard(storage: Storage, folder: str) -> None:
    try:
        for file in list(storage.list(folder)):
            storage.delete(file.path)
    except EskerError:
        return  # leftovers that no version names: vacuum takes them


def _written(storage: Storage, spec: WriteSpec, partitions: dict[str, str]) -> tuple[WrittenFile, ...]:
    # A twin of a task that was slower may still write where the job's scratch was.
    scratch = f"{spec.folder}/_temporary/"
    files = [f for f in storage.list(spec.folder) if f.path.endswith(".parquet") and not f.path.startswith(scratch)]
    statistics = read_statistics(storage, files)
    for file, found in zip(files, statistics, strict=True):
        if not found.rows:
            storage.delete(file.path)
    return tuple(
        WrittenFile(file.path, file.size, file.modified, _partition(file, spec, partitions), found)
        for file, found in zip(files, statistics, strict=True)
        if found.rows
    )


def _partition(file: FileInfo, spec: WriteSpec, partitions: dict[str, str]) -> dict[str, str | None]:
    folders = file.path.removeprefix(f"{spec.folder}/").split("/")[:-1]
    texts = dict(folder.split("=", 1) for folder in folders)
    return {
        partitions[unquote(label)]: None if text == NO_VALUE else unquote(text) for label, text in texts.items()
    }
