"""How are the rows written that come in the place of others?

Rows are told by their positions, which were found before. What is written to data files and again to the change feed is
computed once and held for the time of the call, so that both say the same.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from esker.core.change import ChangeFeed, Rewrite, RowChange, RowInserts, RowUpdate, count
from esker.core.column_paths import quoted
from esker.core.fragments import Scan
from esker.core.write import Absent, Computed, Given, WriteSpec
from esker.errors import InvalidRequest
from esker.spark.assign import assigned
from esker.spark.failures import job
from esker.spark.positions import Marks
from esker.spark.write import checked, table_rows, write_rows


@dataclass(frozen=True)
class Join:
    """How target rows find their source rows, and source rows without a target row are added."""

    matched: Callable[[DataFrame], DataFrame]
    """Each target row with the source row that matches it."""
    inserted: Callable[[RowInserts, ExitStack], DataFrame]
    """The rows to add, as they are written."""


def rewritten(rewrite: Rewrite, read: Callable[[Scan], DataFrame], name: str, join: Join | None = None) -> RowChange:
    """Write copies, updated and inserted rows in one job, then the change feed. `name` is what expressions call the target."""
    touched = [rewrite.deleted, *(update.positions for update in rewrite.updates)]
    marks = Marks(read(rewrite.target.plan), rewrite.target, touched)
    with ExitStack() as held:
        copied, updated = _kept(rewrite, marks, name, join, held)
        inserted = _inserted(rewrite, join, held)
        parts = [*copied, *updated, *inserted]
        written = write_rows(_union(parts), _spec(rewrite)) if parts else ()
        if rewrite.feed is None:
            return RowChange(written)
        feed = [*_gone(rewrite, rewrite.feed, marks, read), *_come(rewrite.feed, updated, inserted, read)]
        rows = [table_rows(frame.withColumn(rewrite.feed.kind, F.lit(kind)), rewrite.feed.spec) for kind, frame in feed]
        return RowChange(written, write_rows(_union(rows), rewrite.feed.spec))


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """The frame, computed once, for as long as the call lasts. What somebody else holds is left to them."""
    if frame.storageLevel != StorageLevel.NONE:
        yield frame
        return
    frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield frame
    finally:
        frame.unpersist()


def _kept(
    rewrite: Rewrite, marks: Marks, name: str, join: Join | None, held: ExitStack
) -> tuple[list[DataFrame], list[DataFrame]]:
    """The copied and the updated rows as they are written; in one frame where one pass over the files can make both."""
    if rewrite.copied is None:
        return [], _updated(rewrite, marks, name, join, held)
    if rewrite.updates and rewrite.feed is None and all(_is_simple(update) for update in rewrite.updates):
        return [_in_place(rewrite, rewrite.copied, marks, name)], []
    return [table_rows(marks.rows.where(~marks.any), rewrite.copied)], _updated(rewrite, marks, name, join, held)


def _is_simple(update: RowUpdate) -> bool:
    """Whether the row itself has all that its new values are made of."""
    return not update.is_joined and not any(isinstance(column.value, Computed) for column in update.spec.columns)


def _in_place(rewrite: Rewrite, copied: WriteSpec, marks: Marks, name: str) -> DataFrame:
    """All rows that stay, each with its values put in place where it is updated. No other row's new values are computed."""
    rows = marks.rows.where(~marks[0]).alias(name)
    values = {c.field.name: F.col(quoted((name, c.field.name))) for c in copied.columns}
    for i, update in enumerate(rewrite.updates):
        for column in update.spec.columns:
            old, own = values[column.field.name], column.field.name
            if isinstance(column.value, Absent):
                values[own] = F.when(marks[i + 1], F.lit(None)).otherwise(old)
            elif put := {path[1:]: value for path, value in update.values.items() if path[0] == own}:
                current = F.col(quoted((name, own)))
                new = assigned(rows, column.field, current, put, update.spec.location)
                values[own] = F.when(marks[i + 1], new).otherwise(old)
    updated = [marks[i + 1] for i in range(len(rewrite.updates))]
    shown = rows.select(*(value.alias(own) for own, value in values.items()), *updated)
    for i, update in enumerate(rewrite.updates):
        shown = checked(shown, update.spec.checks, marks[i + 1])
    return table_rows(shown, copied)


def _updated(rewrite: Rewrite, marks: Marks, name: str, join: Join | None, held: ExitStack) -> list[DataFrame]:
    """The updated rows as they are written; where they were joined, they are proved to be those that were found."""
    if not rewrite.updates:
        return []
    frames = [_after(marks.rows.where(marks[i + 1]), update, name, join) for i, update in enumerate(rewrite.updates)]
    is_joined = any(update.is_joined for update in rewrite.updates)
    if not is_joined and rewrite.feed is None:
        return frames
    updated = held.enter_context(persisted(_union(frames)))
    with job("update the rows", _spec(rewrite).location):
        rows = updated.count() if is_joined else None
    if rows is not None and rows != sum(count(update.positions) for update in rewrite.updates):
        raise InvalidRequest(
            "the source gave other rows when it was read again",
            where=_spec(rewrite).location,
            hint="Have it give the same rows each time, or write it to a table first. Nothing was changed.",
        )
    return [updated]


def _after(rows: DataFrame, update: RowUpdate, name: str, join: Join | None) -> DataFrame:
    """The rows with their values put in place."""
    rows = rows.alias(name)
    if update.is_joined:
        assert join is not None
        rows = join.matched(rows)
    columns: list[Column] = []
    for column in update.spec.columns:
        if isinstance(column.value, Given):
            own = column.value.name
            values = {path[1:]: value for path, value in update.values.items() if path[0] == own}
            old = F.col(quoted((name, own)))
            columns.append(assigned(rows, column.field, old, values, update.spec.location).alias(own))
    return table_rows(rows.select(*columns), update.spec)


def _inserted(rewrite: Rewrite, join: Join | None, held: ExitStack) -> list[DataFrame]:
    if rewrite.inserts is None:
        return []
    assert join is not None
    inserted = join.inserted(rewrite.inserts, held)
    return [inserted if rewrite.feed is None else held.enter_context(persisted(inserted))]


def _gone(
    rewrite: Rewrite, feed: ChangeFeed, marks: Marks, read: Callable[[Scan], DataFrame]
) -> Iterator[tuple[str, DataFrame]]:
    """The rows that were and are not, by their kinds."""
    if rewrite.updates:
        is_updated = reduce(Column.__or__, (marks[i + 1] for i in range(len(rewrite.updates))))
        yield feed.before, marks.rows.where(is_updated)
    if rewrite.deleted:
        yield feed.deleted, marks.rows.where(marks[0])
    if feed.removed_files is not None:
        yield feed.deleted, read(feed.removed_files)


def _come(
    feed: ChangeFeed, updated: Sequence[DataFrame], inserted: Sequence[DataFrame], read: Callable[[Scan], DataFrame]
) -> Iterator[tuple[str, DataFrame]]:
    """The rows that are and were not."""
    yield from ((feed.after, frame) for frame in updated)
    yield from ((feed.inserted, frame) for frame in inserted)
    if feed.added_files is not None:
        yield feed.inserted, read(feed.added_files)


def _spec(rewrite: Rewrite) -> WriteSpec:
    inserts = () if rewrite.inserts is None else rewrite.inserts.clauses
    specs = [update.spec for update in rewrite.updates] + [insert.spec for insert in inserts]
    return rewrite.copied or specs[0]


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, frames)
