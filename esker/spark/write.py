"""How do a frame's rows become files?

Spark's own Parquet writer, in one job, into a fresh folder below the table; its committer sees to it that a task that is
repeated or raced by its twin leaves its files once. Checks are part of the same job, so a row that breaks one fails it.
The files stay where they lie.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameWriter
from pyspark.sql import functions as F

from esker.arrow.footers import read_statistics
from esker.core import types as t
from esker.core.calendar import DAY
from esker.core.change import unused
from esker.core.footers import FileStatistics
from esker.core.types import Array, Field, Json, Map, Struct, Type, any_type, relaxed, without_members
from esker.core.write import (
    Absent,
    Check,
    Computed,
    Constant,
    Given,
    Numbered,
    SortKey,
    WriteColumn,
    WriteSpec,
    WrittenFile,
)
from esker.errors import EskerError, Unsupported
from esker.spark.conform import conformed
from esker.spark.expressions import reason
from esker.spark.failures import BROKEN, job
from esker.spark.files import spark_path
from esker.spark.fragment_write import write_fragments
from esker.spark.identity import numbered
from esker.spark.layout import named
from esker.spark.partition_values import parse_value, value_of, value_text
from esker.spark.settings import settings
from esker.spark.types import as_read, from_spark_schema, to_spark
from esker.spark.worker_files import is_needed, write_by_workers
from esker.storage import FileInfo, Storage, join_url, storage_at

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder in which Spark puts the rows whose partition value is null."""

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
        # What a frame says of nulls is what Spark can prove, and its metadata is of where the columns came from.
        return as_read(from_spark_schema(self.frame.schema))

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
        with _evaluated("the values that columns get by themselves"):
            ready = ready.select(*(_computed(c) for c in spec.columns))
    return checked(ready, spec.checks)


def checked(rows: DataFrame, checks: tuple[Check, ...], concerned: Column | None = None) -> DataFrame:
    """The same rows; the job fails at the first that breaks a check, and is `concerned` by it."""
    # Spark moves a condition below a join, to rows that are not written, unless it seems to hold otherwise each time.
    nothing = F.when(F.spark_partition_id() < 0, F.lit("")).otherwise(F.lit(""))
    for check in checks:
        told = F.concat(F.lit(BROKEN + check.what), nothing)
        fails = F.raise_error(told).cast("boolean")
        with _evaluated(check.what):
            holds = F.expr(check.sql) if concerned is None else F.when(concerned, F.expr(check.sql)).otherwise(F.lit(True))
            rows = rows.where(F.when(holds, F.lit(True)).otherwise(fails))
    return rows


def write_rows(rows: DataFrame, spec: WriteSpec) -> tuple[WrittenFile, ...]:
    """Write rows that have the table's columns."""
    if spec.fragments is not None:
        return write_fragments(rows, spec)
    storage = storage_at(spec.location, spec.storage_options)
    if is_needed(spec):
        with _discarding(storage, spec.folder), job("write the rows", spec.location):
            return write_by_workers(rows, spec, storage)
    frame, partitions = _stored(_arranged(_labelled(rows, spec), spec), spec)
    own = settings(rows.sparkSession, _known(rows, WRITER_SETTINGS))
    with own, _discarding(storage, spec.folder), job("write the rows", spec.location):
        _writer(frame, spec, list(partitions)).parquet(spark_path(join_url(spec.location, spec.folder)))
    return _written(storage, spec, partitions)


def _writer(frame: DataFrame, spec: WriteSpec, partitions: list[str]) -> DataFrameWriter:
    writer = frame.write.mode("error").options(**_COMMITTER)
    if spec.rows_per_file is not None:
        writer = writer.option("maxRecordsPerFile", spec.rows_per_file)
    if spec.compression is not None:
        writer = writer.option("compression", spec.compression)
    if spec.has_v2_pages:
        writer = writer.option("parquet.writer.version", "PARQUET_2_0")
    return writer.partitionBy(*partitions) if partitions else writer


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
        case Constant(value):
            return F.lit(value.as_py()).cast(to_spark(relaxed(column.field.type)))
        case Absent():
            return F.lit(None).cast(to_spark(relaxed(column.field.type)))
        case Computed():
            raise AssertionError(column)
    assert_never(column.value)


def _computed(column: WriteColumn) -> Column:
    if isinstance(column.value, Computed):
        return F.expr(column.value.sql).cast(to_spark(column.field.type)).alias(column.field.name)
    return named(column.field.name)


def _stored(rows: DataFrame, spec: WriteSpec) -> tuple[DataFrame, dict[str, str]]:
    """The frame as files hold it, and its partition columns with the physical name of each."""
    stored = [c for c in spec.stored if c.field.type != t.VOID]
    columns = [_stored_column(c).alias(c.physical.name, metadata=_ids(c.physical)) for c in stored]
    by_name = {c.field.name: c for c in spec.columns}
    partitions: dict[str, str] = {}
    for at, name in enumerate(spec.partition_by):
        physical = by_name[name].physical
        # stored beside the text, the column needs its name for itself
        label = unused(f"partition_{at}", [c.physical.name for c in stored]) if spec.stores_partitions else physical.name
        partitions[label] = physical.name
        columns.append(partition_text(named(name), physical.type).alias(label))
    for label, value in zip(_labels(spec), spec.partition_values, strict=True):
        partitions[label] = value.name
        columns.append(named(label))
    return rows.select(*columns), partitions


def _labels(spec: WriteSpec) -> list[str]:
    """Names for the columns of partition values' texts."""
    taken = [name for c in spec.columns for name in (c.field.name, c.physical.name)]
    return [unused(f"partition_{at}", taken) for at in range(len(spec.partition_values))]


def _labelled(rows: DataFrame, spec: WriteSpec) -> DataFrame:
    """The rows with the texts of their partition values."""
    texts = zip(_labels(spec), spec.partition_values, strict=True)
    return rows.withColumns({label: value_text(value) for label, value in texts}) if spec.partition_values else rows


def _arranged(rows: DataFrame, spec: WriteSpec) -> DataFrame:
    """The rows of a partition together, and sorted as files are to be."""
    labels = [named(label) for label in _labels(spec)]
    if labels and not spec.is_arranged:
        rows = rows.hint("rebalance", *labels)
    return rows.sortWithinPartitions(*labels, *(_sort_column(key) for key in spec.sort_by)) if spec.sort_by else rows


def _sort_column(key: SortKey) -> Column:
    value = value_of(key.value)
    if key.is_descending:
        return value.desc_nulls_first() if key.nulls_first else value.desc_nulls_last()
    return value.asc_nulls_first() if key.nulls_first else value.asc_nulls_last()


def _stored_column(column: WriteColumn) -> Column:
    """The column with the names and ids of files, and without members of no type, which files do not have."""
    whole = named(column.field.name)
    if any_type(column.field.type, t.VOID):
        whole = conformed(whole, to_spark(column.field.type), without_members(column.field.type, t.VOID))
    return whole.cast(to_spark(_with_ids(without_members(column.physical.type, t.VOID))))


def partition_text(value: Column, kind: Type) -> Column:
    """A partition value as table formats spell it; null for null and for an empty text."""
    match kind:
        case t.TIMESTAMP:
            text = F.concat(F.translate(_clock(_in_utc(value)), " ", "T"), F.lit("Z"))
        case t.TIMESTAMP_NTZ:
            text = _clock(value)
        case t.BINARY:
            text = _guarded(value.cast("string"), ~F.is_valid_utf8(value.cast("string")), "not UTF-8")
        case _:
            text = value.cast("string")
    named_as_null = _guarded(text, text == NO_VALUE, f"{NO_VALUE!r}, the name of the folder for nulls")
    return _guarded(named_as_null, F.contains(text, F.lit("\0")), "a text with a NUL, which no folder's name can hold")


def _in_utc(value: Column) -> Column:
    """What clocks in UTC show. Functions that go by the session's zone cannot say a time that its clocks leave out."""
    micros = F.unix_micros(value)
    rest = F.pmod(micros, F.lit(DAY))
    days = F.round((micros - rest) / F.lit(DAY)).cast("int")
    seconds = (rest.cast("decimal(18,0)") / F.lit(1_000_000)).cast("decimal(18,6)")
    return F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'") + F.make_dt_interval(days, F.lit(0), F.lit(0), seconds)


def _clock(value: Column) -> Column:
    """A time without a zone, with all six digits of its microseconds."""
    text = value.cast("string")
    micros = F.when(F.contains(text, F.lit(".")), F.substring_index(text, ".", -1)).otherwise(F.lit(""))
    return F.concat(F.substring_index(text, ".", 1), F.lit("."), F.rpad(micros, 6, "0"))


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
def _evaluated(what: str) -> Iterator[None]:
    """What Spark does not know how to evaluate is refused by name."""
    try:
        yield
    except PySparkException as error:
        raise Unsupported(f"Spark cannot evaluate {what}: {reason(error)}") from error


@contextmanager
def _discarding(storage: Storage, folder: str) -> Iterator[None]:
    """What a failed job has written is taken away again."""
    try:
        yield
    except BaseException:
        _discard(storage, folder)
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
        _file(file, found, _partition(file, spec, partitions), spec)
        for file, found in zip(files, statistics, strict=True)
        if found.rows
    )


def _file(file: FileInfo, found: FileStatistics, partition: dict[str, str | None], spec: WriteSpec) -> WrittenFile:
    if not spec.partition_values:
        return WrittenFile(file.path, file.size, file.modified, partition, found)
    texts = [(partition[value.name], value.type) for value in spec.partition_values]
    values = tuple(None if text is None else parse_value(text, kind) for text, kind in texts)
    return WrittenFile(file.path, file.size, file.modified, {}, found, values)


def _partition(file: FileInfo, spec: WriteSpec, partitions: dict[str, str]) -> dict[str, str | None]:
    folders = file.path.removeprefix(f"{spec.folder}/").split("/")[:-1]
    texts = dict(folder.split("=", 1) for folder in folders)
    return {
        partitions[unquote(label)]: None if text == NO_VALUE else unquote(text) for label, text in texts.items()
    }
