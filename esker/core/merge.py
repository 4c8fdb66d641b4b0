"""What is a merge to do with rows that match, and with those that do not?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from esker.core.change import Expression


@dataclass(frozen=True, slots=True)
class UpdateRow:
    """Set columns to values; None for all columns to those of the source row that have their names."""

    values: Mapping[str, Expression] | None = field(hash=False)
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteRow:
    """Delete the row."""

    condition: str | None = None


@dataclass(frozen=True, slots=True)
class InsertRow:
    """Add a row with these values; None for the values of the source row's columns by their names."""

    values: Mapping[str, Expression] | None = field(hash=False)
    condition: str | None = None


ChangeRow: TypeAlias = UpdateRow | DeleteRow


@dataclass(frozen=True)
class Merge:
    """A merge: for each row the first clause of its kind counts whose condition is TRUE.

    Conditions and values call the two sides `target` and `source`, or as these say.
    """

    on: str
    matched: tuple[ChangeRow, ...] = ()
    not_matched: tuple[InsertRow, ...] = ()
    not_matched_by_source: tuple[ChangeRow, ...] = ()
    target: str = "target"
    source: str = "source"
    evolves_schema: bool = False

    @property
    def is_insert_only(self) -> bool:
        return not self.matched and not self.not_matched_by_source

    @property
    def allows_many_matches(self) -> bool:
        """Whether it makes no difference how many source rows a row matches."""
        return self.matched in ((), (DeleteRow(),))


def problems(merge: Merge) -> Iterator[str]:
    """What keeps the merge from making sense, whatever the table."""
    kinds: dict[str, Sequence[ChangeRow | InsertRow]] = {
        "matched": merge.matched,
        "not matched": merge.not_matched,
        "not matched by source": merge.not_matched_by_source,
    }
    if not any(kinds.values()):
        yield "it has no clause, so there is nothing to do"
    for kind, clauses in kinds.items():
        if any(clause.condition is None for clause in clauses[:-1]):
            yield f"of the clauses for rows {kind} only the last may go without a condition: those behind it would never count"
    if any(isinstance(clause, UpdateRow) and clause.values is None for clause in merge.not_matched_by_source):
        yield "a row not matched by the source has no source row to take all columns from"
    if merge.target.lower() == merge.source.lower():
        yield f"target and source are both called {merge.target}"
