"""Do the rows that are there fulfil what is asked of rows from now on?  (PROTOCOL.md, "CHECK Constraints")

"When adding a CHECK constraint to a table, a writer must validate the existing data in the table": and so it is with whatever
else new rows must fulfil. Files whose statistics prove it are not read, and after a lost race only those that rivals added are.
"""

import numpy as np

from esker.core.change import RowEditor, addressed, count
from esker.core.expressions import row_condition
from esker.core.skipping import outcomes
from esker.core.write import Check
from esker.delta.plan import Pruner, plan
from esker.delta.replay import LiveFiles, rows_without
from esker.delta.row_rules import rules
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest


class ExistingRows:
    """Looks at the rows of each file once."""

    def __init__(self, editor: RowEditor) -> None:
        self._editor = editor
        self._seen: LiveFiles | None = None

    def check(self, base: Snapshot, after: Settled) -> None:
        """Raise `InvalidRequest`, with every rule that `after` brings and how many rows of `base` break it."""
        known = set(rules(base.metadata, base.protocol))
        new = [rule for rule in rules(after.metadata, after.protocol) if rule not in known]
        files = base.files
        unseen = np.arange(len(files)) if self._seen is None else rows_without(files, self._seen)
        if new and (self._seen is None or len(unseen)):
            self._look(base, new, unseen.tolist())
        self._seen = files

    def _look(self, base: Snapshot, new: list[Check], files: list[int]) -> None:
        doubtful = np.zeros(len(base.files), bool)
        for rule in new:
            condition = row_condition(rule.sql, base.schema, self._editor.zone)
            doubtful |= ~outcomes(condition, Pruner(base)).must_be_true
        target = addressed(plan(base))
        # Without a file in doubt Spark still has to say that these are conditions at all.
        read = target.only([file for file in files if doubtful[file]])
        broken = self._editor.matching(read, [f"(\n{rule.sql}\n) IS NOT TRUE" for rule in new])
        problems = [f"{rule.what}: {count(rows)} rows" for rule, rows in zip(new, broken, strict=True) if count(rows)]
        if problems:
            raise InvalidRequest(
                "rows that are there break what is asked of them", where=base.location, problems=problems,
                hint="Change or delete these rows first.",
            )  # fmt: skip
