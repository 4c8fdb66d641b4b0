"""How are rows found and written anew without Spark?

A row editor and a merger for tests, slow and simple, row by row: conditions that Arrow can evaluate, values that are columns,
literals or sums, matches by one column.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp

from esker.arrow.scan import read_rows
from esker.arrow.write import ArrowRows
from esker.core.arrow_types import to_arrow_schema
from esker.core.binding import bind
from esker.core.bitmap import Bitmap
from esker.core.change import (
    AddressedPlan,
    ChangeFeed,
    Matches,
    Rewrite,
    RowChange,
    RowInserts,
    RowPositions,
    RowUpdate,
    SourceKeys,
    union,
)
from esker.core.filtering import mask
from esker.core.fragments import Scan, arrow_schema
from esker.core.merge import Merge
from esker.core.predicate import Path
from esker.core.sql import parse
from esker.core.types import Struct
from esker.core.write import Given, WriteSpec, WrittenFile

Row = Mapping[str, Any]


class ArrowEditor:
    """Finds and writes rows one by one."""

    zone: tzinfo | None = UTC

    def matching(
        self, target: AddressedPlan, conditions: Sequence[str | None], skipped: RowPositions | None = None
    ) -> tuple[RowPositions, ...]:
        table = _table(target.plan)
        truths = [None if c is None else _truths(c, table, target.plan.schema) for c in conditions]
        found: list[dict[int, list[int]]] = [{} for _ in conditions]
        for at, row in enumerate(table.to_pylist()):
            if not _is_in(row, target, skipped or {}):
                first = next((i for i, truth in enumerate(truths) if truth is None or truth[at]), None)
                if first is not None:
                    found[first].setdefault(row[target.file], []).append(row[target.position])
        return tuple(_bitmaps(rows) for rows in found)

    def rewritten(self, rewrite: Rewrite) -> RowChange:
        target, rows = rewrite.target, _rows(rewrite.target.plan)
        touched = union(rewrite.deleted, *(update.positions for update in rewrite.updates))
        written: list[WrittenFile] = []
        if rewrite.copied is not None:
            written += _write((row for row in rows if not _is_in(row, target, touched)), rewrite.copied)
        after: list[Row] = []
        for update in rewrite.updates:
            fresh = [self._updated(row, update) for row in rows if _is_in(row, target, update.positions)]
            written += _write(fresh, update.spec)
            after += fresh
        inserted = [] if rewrite.inserts is None else self._inserted(rewrite.inserts)
        if rewrite.inserts is not None:
            written += _write(inserted, rewrite.inserts.clauses[0].spec)
        if rewrite.feed is None:
            return RowChange(tuple(written))
        before = [row for row in rows if any(_is_in(row, target, update.positions) for update in rewrite.updates)]
        deleted = [row for row in rows if _is_in(row, target, rewrite.deleted)]
        return RowChange(tuple(written), tuple(_told(rewrite.feed, before, after, deleted, inserted)))

    def _updated(self, row: Row, update: RowUpdate) -> Row:
        scope = {"target": row, "source": self._source_of(row) if update.is_joined else {}}
        return {**row, **{path[0]: _value(value, scope) for path, value in update.values.items()}}

    def _source_of(self, row: Row) -> Row:
        raise AssertionError("there is no source")

    def _inserted(self, inserts: RowInserts) -> list[Row]:
        raise AssertionError("there is no source")


class ArrowMerger(ArrowEditor):
    """Merges the rows of an Arrow table by one column, with one insert clause at most and no conditions."""

    def __init__(self, rows: pa.Table, merge: Merge) -> None:
        found = re.fullmatch(r"target\.(\w+) = source\.(\w+)", merge.on)
        assert found is not None
        self._rows, self._table, self._source = rows.to_pylist(), found[1], found[2]
        self.source: Struct = ArrowRows(rows).schema

    def keys(self, columns: Sequence[Path]) -> SourceKeys:
        values = {path: [row[path[0]] for row in self._rows if row[path[0]] is not None] for path in columns}
        return SourceKeys(len(self._rows), {path: (min(v), max(v)) if v else None for path, v in values.items()})

    def matches(self, target: AddressedPlan, conditions: Sequence[str | None]) -> Matches:
        assert list(conditions) == [None]
        keys = [row[self._source] for row in self._rows]
        found: dict[int, list[int]] = {}
        pairs = 0
        for row in _rows(target.plan):
            if count := keys.count(row[self._table]):
                found.setdefault(row[target.file], []).append(row[target.position])
                pairs += count
        return Matches(_bitmaps(found), pairs, (_bitmaps(found),))

    def _source_of(self, row: Row) -> Row:
        (found,) = [source for source in self._rows if source[self._source] == row[self._table]]
        return found

    def _inserted(self, inserts: RowInserts) -> list[Row]:
        (clause,) = inserts.clauses
        against = _rows(inserts.against.plan)
        if inserts.rows is not None:
            against = [row for row in against if _is_in(row, inserts.against, inserts.rows)]
        there = {row[self._table] for row in against}
        fresh = [row for row in self._rows if row[self._source] not in there]
        return [{name: _value(value, {"source": row}) for name, value in clause.values.items()} for row in fresh]


def _truths(condition: str, rows: pa.Table, schema: Struct) -> list[bool]:
    if found := re.fullmatch(r"\(\s*(.*?)\s*\) IS NOT TRUE", condition, re.DOTALL):
        return [not truth for truth in _truths(found[1], rows, schema)]
    return [bool(truth) for truth in mask(bind(parse(condition), schema), rows).to_pylist()]


def _table(plan: Scan) -> pa.Table:
    return pa.Table.from_batches(read_rows(plan), arrow_schema(plan))


def _rows(plan: Scan) -> list[Row]:
    return list(_table(plan).to_pylist())


def _is_in(row: Row, target: AddressedPlan, rows: RowPositions) -> bool:
    return row[target.file] in rows and row[target.position] in rows[row[target.file]]


def _bitmaps(rows: Mapping[int, Iterable[int]]) -> dict[int, Bitmap]:
    return {file: Bitmap.of(positions) for file, positions in rows.items()}


def _value(expression: object, scope: Mapping[str, Row]) -> Any:
    """A column of either side, a literal, or a sum of them."""
    return _evaluated(sqlglot.parse_one(str(expression), dialect="spark"), scope)


def _evaluated(node: exp.Expression, scope: Mapping[str, Row]) -> Any:
    match node:
        case exp.Column():
            return scope[node.table or "target"][node.name]
        case exp.Literal():
            return node.name if node.is_string else int(node.name)
        case exp.Add():
            return _evaluated(node.left, scope) + _evaluated(node.right, scope)
    raise AssertionError(f"not for these tests: {node.sql()}")


def _write(rows: Iterable[Row], spec: WriteSpec) -> tuple[WrittenFile, ...]:
    given = Struct(tuple(column.field for column in spec.columns if isinstance(column.value, Given)))
    whole = [{name: row.get(name) for name in given.names} for row in rows]
    return ArrowRows(pa.Table.from_pylist(whole, schema=to_arrow_schema(given))).write(spec)


def _told(
    feed: ChangeFeed, before: list[Row], after: list[Row], deleted: list[Row], inserted: list[Row]
) -> tuple[WrittenFile, ...]:
    gone = [] if feed.removed_files is None else _rows(feed.removed_files)
    come = [] if feed.added_files is None else _rows(feed.added_files)
    kinds = {
        feed.before: before, feed.after: after, feed.deleted: [*deleted, *gone], feed.inserted: [*inserted, *come],
    }  # fmt: skip
    return _write(({**row, feed.kind: kind} for kind, rows in kinds.items() for row in rows), feed.spec)
