"""What does the history say of a merge?"""

from collections.abc import Sequence

from esker.core.change import RowPositions, count
from esker.core.merge import ChangeRow, DeleteRow, InsertRow, Merge, UpdateRow
from esker.core.types import Json
from esker.delta.row_commit import Times, file_metrics
from esker.delta.row_edits import Edited
from esker.delta.transaction import Operation

_ACTIONS: dict[type[ChangeRow | InsertRow], str] = {UpdateRow: "update", DeleteRow: "delete", InsertRow: "insert"}


def merge_operation(
    merge: Merge,
    done: Edited,
    source_rows: int,
    matched: Sequence[RowPositions],
    not_matched_by_source: Sequence[RowPositions],
    times: Times,
) -> Operation:
    """The operation in the words of DESCRIBE HISTORY; the positions are those of each clause."""
    parameters: dict[str, Json] = {
        "predicate": [merge.on],
        "matchedPredicates": _told(merge.matched),
        "notMatchedPredicates": _told(merge.not_matched),
        "notMatchedBySourcePredicates": _told(merge.not_matched_by_source),
    }
    counts = {
        "numTargetRowsMatchedUpdated": _rows(merge.matched, matched, UpdateRow),
        "numTargetRowsMatchedDeleted": _rows(merge.matched, matched, DeleteRow),
        "numTargetRowsNotMatchedBySourceUpdated": _rows(merge.not_matched_by_source, not_matched_by_source, UpdateRow),
        "numTargetRowsNotMatchedBySourceDeleted": _rows(merge.not_matched_by_source, not_matched_by_source, DeleteRow),
    }
    files = file_metrics(done)
    metrics = {
        "numSourceRows": source_rows,
        "numTargetRowsInserted": done.counts.inserted,
        "numTargetRowsUpdated": done.counts.updated,
        "numTargetRowsDeleted": done.counts.deleted or 0,
        "numTargetRowsCopied": done.counts.copied,
        "numOutputRows": sum(file.statistics.rows for file in done.written),
        "numTargetFilesAdded": files["numAddedFiles"],
        "numTargetFilesRemoved": files["numRemovedFiles"],
        "numTargetBytesAdded": files["numAddedBytes"],
        "numTargetBytesRemoved": files["numRemovedBytes"],
        "numTargetChangeFilesAdded": files["numAddedChangeFiles"],
        "numTargetDeletionVectorsAdded": files["numDeletionVectorsAdded"],
        "numTargetDeletionVectorsUpdated": files["numDeletionVectorsUpdated"],
        "numTargetDeletionVectorsRemoved": files["numDeletionVectorsRemoved"],
    }
    return Operation("MERGE", parameters, metrics | counts | times.metrics())


def _told(clauses: Sequence[ChangeRow | InsertRow]) -> list[Json]:
    return [_clause(clause) for clause in clauses]


def _clause(clause: ChangeRow | InsertRow) -> dict[str, Json]:
    condition: dict[str, Json] = {} if clause.condition is None else {"predicate": clause.condition}
    return {**condition, "actionType": _ACTIONS[type(clause)]}


def _rows(clauses: Sequence[ChangeRow], found: Sequence[RowPositions], kind: type[ChangeRow]) -> int:
    return sum(count(rows) for clause, rows in zip(clauses, found, strict=True) if isinstance(clause, kind))
