"""How does a user put a merge together?"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from esker.core.merge import DeleteRow, InsertRow, Merge, UpdateRow

if TYPE_CHECKING:
    from pyspark.sql import Column

T = TypeVar("T")


class MergeBuilder(Generic[T]):
    """A merge in the making. Each method gives the merge with one clause more; `execute` performs it.

    For each row the first clause of its kind counts whose condition is true, so only the last of a kind may go without one.
    Conditions are SQL; values are SQL or Spark columns. Both may name columns by the side they are of: `source.id`.
    """

    def __init__(self, merge: Merge, run: Callable[[Merge], T]) -> None:
        self._merge = merge
        self._run = run

    def when_matched_update(self, set: "Mapping[str, str | Column]", condition: str | None = None) -> "MergeBuilder[T]":
        """Set columns in rows that a source row matches."""
        return self._next(replace(self._merge, matched=(*self._merge.matched, UpdateRow(dict(set), condition))))

    def when_matched_update_all(self, condition: str | None = None) -> "MergeBuilder[T]":
        """Set all columns to those of the source row that have their names."""
        return self._next(replace(self._merge, matched=(*self._merge.matched, UpdateRow(None, condition))))

    def when_matched_delete(self, condition: str | None = None) -> "MergeBuilder[T]":
        """Delete rows that a source row matches."""
        return self._next(replace(self._merge, matched=(*self._merge.matched, DeleteRow(condition))))

    def when_not_matched_insert(
        self, values: "Mapping[str, str | Column]", condition: str | None = None
    ) -> "MergeBuilder[T]":
        """Add source rows that match no row; columns that are not named get their defaults."""
        return self._next(replace(self._merge, not_matched=(*self._merge.not_matched, InsertRow(dict(values), condition))))

    def when_not_matched_insert_all(self, condition: str | None = None) -> "MergeBuilder[T]":
        """Add source rows that match no row, with all their columns."""
        return self._next(replace(self._merge, not_matched=(*self._merge.not_matched, InsertRow(None, condition))))

    def when_not_matched_by_source_update(
        self, set: "Mapping[str, str | Column]", condition: str | None = None
    ) -> "MergeBuilder[T]":
        """Set columns in rows that no source row matches."""
        clauses = (*self._merge.not_matched_by_source, UpdateRow(dict(set), condition))
        return self._next(replace(self._merge, not_matched_by_source=clauses))

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> "MergeBuilder[T]":
        """Delete rows that no source row matches."""
        return self._next(replace(self._merge, not_matched_by_source=(*self._merge.not_matched_by_source, DeleteRow(condition))))

    def with_schema_evolution(self) -> "MergeBuilder[T]":
        """Add columns of the source that the table lacks, where all columns or these are asked for."""
        return self._next(replace(self._merge, evolves_schema=True))

    def execute(self) -> T:
        """Merge, in one commit."""
        return self._run(self._merge)

    def _next(self, merge: Merge) -> "MergeBuilder[T]":
        return MergeBuilder(merge, self._run)
