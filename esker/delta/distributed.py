"""Which files are in the table, when the log outgrows one machine?

The reconciliation of `replay` as a job: log files are read apart, their actions brought together by path, and each group is
reconciled as the whole would be. Statistics and partition values decide in the same place which files a filter leaves, so that
only those come back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from esker.core.columns import Rows, booleans, empty, int64, mask_of, rows_of
from esker.core.predicate import Predicate
from esker.core.types import Struct
from esker.delta.checkpoint import read_file_columns, sidecar_file
from esker.delta.column_mapping import physical, physical_name
from esker.delta.file_actions import REMOVE_FIELDS, FileActions, add_schema, from_checkpoint, from_json
from esker.delta.log import Commit
from esker.delta.parsed_stats import stats_texts
from esker.delta.plan import Pruner
from esker.delta.replay import LiveFiles, reconcile
from esker.delta.snapshot import Snapshot
from esker.storage import storage_at
from esker.storage.port import FileInfo

_AGE = pa.field("age", pa.int64())
_IS_ADD = pa.field("isAdd", pa.bool_())
_LINES = 1 << 40  # more than any file has: the lines of a compaction count below the age of the file


@dataclass(frozen=True)
class ReplayJob:
    """The replay of a snapshot's log, with the files that a predicate rules out left out."""

    snapshot: Snapshot
    predicate: Predicate | None = None
    files: tuple[tuple[int, bool, FileInfo], ...] = field(init=False)
    """Each log file: its age, whether it is a compaction, and where it is; checkpoints and sidecars have age 0."""

    def __post_init__(self) -> None:
        log = self.snapshot.log
        base = [] if log.checkpoint is None else [
            *log.checkpoint.files,
            *(sidecar_file(sidecar, self.snapshot.location) for sidecar in self.snapshot.sidecars),
        ]
        entries = [(i + 1, not isinstance(e, Commit), e.file) for i, e in enumerate(log.entries)]
        object.__setattr__(self, "files", (*((0, False, f) for f in base), *entries))

    key = "path"

    @property
    def inputs(self) -> int:
        return len(self.files)

    @property
    def size(self) -> int:
        return sum(file.size for _, _, file in self.files)

    @property
    def mapped(self) -> pa.Schema:
        return pa.schema([_AGE, _IS_ADD, *self.reduced])

    @property
    def reduced(self) -> pa.Schema:
        names = [physical_name(f, self.snapshot.mapping) for f in self.snapshot.partition_fields]
        return add_schema(names, with_stats=True)

    def map(self, number: int) -> Iterator[pa.RecordBatch]:
        age, is_compaction, file = self.files[number]
        place = self.snapshot.place
        storage, where = storage_at(place.url, place.options), f"{place.url}/{file.path}"
        if age == 0:
            fields = {"add": [*self.reduced.names, "stats_parsed"]}
            actions = from_checkpoint(read_file_columns(storage, file, fields), self.reduced, where)
            actions = self._with_texts(actions)
        else:
            actions = from_json(storage.read(file.path), self.reduced, where)
        lines = actions.ages if is_compaction and actions.ages else None
        yield from self._rows(actions.adds, age, None if lines is None else lines[0], True).to_batches()
        yield from self._rows(actions.removes, age, None if lines is None else lines[1], False).to_batches()

    def reduce(self, rows: pa.Table) -> pa.Table:
        is_add = rows.column("isAdd")
        adds = rows.filter(is_add)
        removes = rows.filter(booleans(~mask_of(is_add)))
        ages = (rows_of(adds.column("age")), rows_of(removes.column("age")))
        wanted = adds.select(self.reduced.names).cast(self.reduced)
        gone = removes.select([f.name for f in REMOVE_FIELDS]).cast(pa.schema(REMOVE_FIELDS))
        live = reconcile([FileActions(wanted, gone, ages=ages)])
        if self.predicate is None or not len(live):
            return live.table
        pinned = self.snapshot.pinned(live)
        return live.table.filter(booleans(Pruner(pinned)(self.predicate)))

    def _with_texts(self, actions: FileActions) -> FileActions:
        """The actions with statistics as JSON, as commits have them, where the checkpoint keeps them as structs only."""
        if actions.parsed is None:
            return actions
        snapshot, at = self.snapshot, actions.adds.column_names.index("stats")
        stored = Struct(tuple(physical(f, snapshot.mapping) for f in snapshot.schema))
        return replace(actions, adds=actions.adds.set_column(at, "stats", stats_texts(actions.parsed, stored)))

    def _rows(self, actions: pa.Table, age: int, lines: Rows | None, is_add: bool) -> pa.Table:
        count = actions.num_rows
        ages = np.full(count, age * _LINES, np.int64)
        columns = [int64(ages if lines is None else ages + lines), booleans(np.full(count, is_add))]
        for column in self.reduced:
            has = column.name in actions.column_names
            columns.append(actions.column(column.name) if has else pa.nulls(count, column.type))
        return pa.table(columns, schema=self.mapped)


def live_files(rows: pa.Table, job: ReplayJob) -> LiveFiles:
    """The outcome of the job."""
    table = rows.cast(job.reduced) if rows.num_rows else empty(job.reduced)
    return LiveFiles(table, (table.num_rows,) if table.num_rows else ())


