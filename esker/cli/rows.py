"""Which rows does a command want, and who reads them?"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

import esker
from esker.cli.options import Engine
from esker.core.arrow_types import from_arrow
from esker.core.binding import bind
from esker.core.filtering import mask
from esker.core.sql import parse
from esker.core.types import Field, Struct
from esker.errors import InvalidRequest
from esker.spark import collected, filtered


@dataclass(frozen=True)
class Rows:
    """Rows still to be read, batch after batch, all of one schema."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]

    def first(self, count: int | None) -> "Rows":
        """At most so many of the rows; no more batches are read than they need."""
        return self if count is None else Rows(self.schema, _first(self.batches, count))


def of_table(
    table: esker.Table, columns: Sequence[str] | None, where: str | None, limit: int | None, engine: Engine
) -> Rows:
    """The table's rows."""
    if engine is Engine.SPARK:
        frame = table.to_df(columns=columns, where=where)
        return of_arrow(collected(frame if limit is None else frame.limit(limit)))
    return _started(table, columns, table.to_batches(columns, where)).first(limit)


def of_changes(
    changes: esker.Changes, columns: Sequence[str] | None, where: str | None, limit: int | None, engine: Engine
) -> Rows:
    """The changed rows; they were asked for with all columns, since the filter may need any of them."""
    if engine is Engine.SPARK:
        frame = changes.to_df()
        frame = frame if where is None else filtered(frame, where)
        frame = frame if columns is None else frame.select(*_spelled(columns, frame.columns))
        return of_arrow(collected(frame if limit is None else frame.limit(limit)))
    found = changes.to_arrow()
    if where is not None:
        schema = Struct(tuple(Field(f.name, from_arrow(f.type)) for f in found.schema))
        predicate = bind(parse(where), schema)
        batches = [batch.filter(mask(predicate, batch)) for batch in found.to_batches()]
        found = pa.Table.from_batches(batches, found.schema)
    found = found if columns is None else found.select(_spelled(columns, found.column_names))
    return of_arrow(found).first(limit)


def of_arrow(table: pa.Table) -> Rows:
    """The rows of an Arrow table."""
    return Rows(table.schema, table.to_batches())


def _spelled(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    by_name = {name.lower(): name for name in known}
    if unknown := [name for name in columns if name.lower() not in by_name]:
        raise InvalidRequest(f"there is no column {', '.join(unknown)}; there are {', '.join(known)}")
    return [by_name[name.lower()] for name in columns]


def _started(table: esker.Table, columns: Sequence[str] | None, batches: Iterator[pa.RecordBatch]) -> Rows:
    """The batches with their schema, which the first of them tells; without one, the table does."""
    first = next(batches, None)
    if first is None:
        return of_arrow(table.to_arrow(columns, "false"))
    return Rows(first.schema, _joined(first, batches))


def _joined(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _first(batches: Iterable[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    left = count
    for batch in batches if left else ():
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return
