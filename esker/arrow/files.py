"""What does a data file hold, in whatever format it is written?

A `StoredFile` gives a file's fields, with their ids in Arrow's metadata, and its rows a piece at a time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, assert_never

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from esker.arrow.conform import FIELD_ID
from esker.arrow.int96 import with_instants
from esker.arrow.parquet_files import open_parquet
from esker.arrow.recount import recounted
from esker.core.hybrid_calendar import HybridCalendar, hybrid_calendar
from esker.core.scan import FileFormat, ScanPlan, ScanTask
from esker.core.types import VARIANT, any_type
from esker.iceberg.avro_columns import read_columns
from esker.iceberg.avro_file import parse_avro
from esker.storage import open_input, split_url, storage_at

_FEW = 256
"""Rows that are read together where a row group is too large."""


class StoredFile(Protocol):
    """A data file that is open."""

    @property
    def fields(self) -> list[pa.Field]:
        """The fields under their own names."""

    @property
    def count(self) -> int:
        """How many rows there are, dead ones counted."""

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[int, pa.Table | None]]:
        """The rows of these columns in order: how many, and the columns if any are asked for."""


@contextmanager
def open_file(plan: ScanPlan, task: ScanTask) -> Iterator[StoredFile]:
    """The file of a task."""
    root, name = split_url(task.path)
    storage = storage_at(root, plan.storage_options)
    match task.format:
        case FileFormat.PARQUET:
            with open_parquet(open_input(storage, name, None), coerce_int96_timestamp_unit="us") as file:
                yield _Parquet(file, any_type(plan.schema, VARIANT))
        case FileFormat.ORC:
            with open_input(storage, name, None) as source:
                yield _Orc(orc.ORCFile(source))
        case FileFormat.AVRO:
            rows, _ = read_columns([parse_avro(storage.read(name), task.path)], task.path)
            yield _Avro(rows)
        case _:
            assert_never(task.format)


@dataclass(frozen=True)
class _Parquet:
    file: pq.ParquetFile
    has_variants: bool

    @property
    def fields(self) -> list[pa.Field]:
        return with_instants(self.file) if self.has_variants else list(self.file.schema_arrow)

    @property
    def count(self) -> int:
        return int(self.file.metadata.num_rows)

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[int, pa.Table | None]]:
        hybrid = hybrid_calendar(self.file.metadata.metadata or {})
        for group in range(self.file.metadata.num_row_groups):
            if not names:
                yield self.file.metadata.row_group(group).num_rows, None
                continue
            for batch in self._batches(group, names):
                rows = pa.Table.from_batches([batch])
                yield rows.num_rows, rows if hybrid is None else self._recounted(rows, hybrid)

    def _batches(self, group: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a row group: at once, or in parts where texts are longer together than an array of Arrow's may be."""
        batches: Iterator[pa.RecordBatch]
        try:
            batches = iter(self.file.read_row_group(group, columns=names).combine_chunks().to_batches())
        except pa.ArrowNotImplementedError:  # where they are within lists or structs, Arrow does not part them itself
            batches = self.file.iter_batches(_FEW, [group], names)
        return batches

    def _recounted(self, rows: pa.Table, calendar: HybridCalendar) -> pa.Table:
        kinds = {field.name: field.type for field in with_instants(self.file)}
        columns = [
            pa.chunked_array([recounted(chunk, kinds[name], calendar) for chunk in column.chunks], column.type)
            for name, column in zip(rows.column_names, rows.columns, strict=True)
        ]
        return pa.table(columns, schema=rows.schema)


@dataclass(frozen=True)
class _Orc:
    file: orc.ORCFile

    @property
    def fields(self) -> list[pa.Field]:
        return list(self.file.schema)

    @property
    def count(self) -> int:
        return int(self.file.nrows)

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[int, pa.Table | None]]:
        if not names:
            yield self.count, None
            return
        for stripe in range(self.file.nstripes):
            rows = pa.Table.from_batches([self.file.read_stripe(stripe, columns=list(names))])
            yield rows.num_rows, rows


@dataclass(frozen=True)
class _Avro:
    rows: pa.Table

    @property
    def fields(self) -> list[pa.Field]:
        return [_labelled(field) for field in self.rows.schema]

    @property
    def count(self) -> int:
        return int(self.rows.num_rows)

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[int, pa.Table | None]]:
        yield self.count, self.rows.select(list(names)).combine_chunks() if names else None


def _labelled(field: pa.Field) -> pa.Field:
    """The field with its id, which stands in the place of its name; no name of Avro begins with a digit."""
    kind = _labelled_type(field.type)
    return (
        field.with_type(kind).with_metadata({FIELD_ID: field.name}) if field.name.isdecimal() else field.with_type(kind)
    )


def _labelled_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_labelled(member) for member in kind])
    if pa.types.is_list(kind):
        return pa.list_(_labelled(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_labelled(kind.key_field), _labelled(kind.item_field))
    return kind
