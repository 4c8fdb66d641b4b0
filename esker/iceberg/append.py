"""How are rows added to a table, or put in the place of others?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from esker.core.predicate import Predicate, Truth
from esker.core.types import Struct
from esker.core.write import RowSource, WriteOptions
from esker.errors import InvalidRequest, Unsupported
from esker.iceberg.commit import now
from esker.iceberg.data_files import DataFile
from esker.iceberg.file_change import APPEND, OVERWRITE, FileChange, LiveFile, ReadSet, live_files
from esker.iceberg.leftovers import publish_or_discard
from esker.iceberg.partition_match import same_partitions
from esker.iceberg.partitioning import new_spec
from esker.iceberg.schema_merge import merged_schema, replaced_schema
from esker.iceberg.state import TableState
from esker.iceberg.updates import (
    AddPartitionSpec,
    AddSchema,
    SetCurrentSchema,
    SetDefaultSpec,
    SetProperties,
    Update,
    updated,
)
from esker.iceberg.writing import data_files, write_spec

TRANSACTION = "esker.transaction."
USER_METADATA = "user-metadata"
FAST_APPEND = "esker.fast-append"


def append(state: TableState, rows: RowSource, options: WriteOptions) -> TableState:
    """Add the rows."""
    if is_done(state, options):
        return state
    target = with_columns_of(state, rows.schema, options)
    files = data_files(rows.write(write_spec(target.state, rows.schema)), target.state)
    is_fast = state.metadata.properties.get(FAST_APPEND, "false").lower() == "true"
    change = FileChange(APPEND, files, summary=noted(options), is_fast=is_fast)
    return publish_or_discard(state, change, files, (*target.updates, *progress(options)))


def overwrite(state: TableState, rows: RowSource, options: WriteOptions) -> TableState:
    """Put the rows in the place of all that are there."""
    if is_done(state, options):
        return state
    target = with_columns_of(state, rows.schema, options)
    files = data_files(rows.write(write_spec(target.state, rows.schema)), target.state)
    return _replaced(state, target, files, everything(state), (Truth(True),), options)


def overwrite_partitions(state: TableState, rows: RowSource, options: WriteOptions) -> TableState:
    """Put the rows in the place of those in the same partitions; other partitions stay."""
    if is_done(state, options):
        return state
    if state.metadata.spec.is_unpartitioned:
        return overwrite(state, rows, options)
    target = with_columns_of(state, rows.schema, options)
    files = data_files(rows.write(write_spec(target.state, rows.schema)), target.state)
    found = same_partitions(state, files)
    return _replaced(state, target, files, found, (), replace(options), {"replace-partitions": "true"})


def everything(state: TableState) -> tuple[LiveFile, ...]:
    """All live files, with their deletes."""
    live = state.files
    return (
        *live_files(state, live.data, np.ones(len(live.data), dtype=bool)),
        *live_files(state, live.deletes, np.ones(len(live.deletes), dtype=bool)),
    )


@dataclass(frozen=True)
class Target:
    """The table that rows are written to, and what makes it of the one that is there."""

    state: TableState
    updates: tuple[Update, ...] = ()


def with_columns_of(state: TableState, rows: Struct, options: WriteOptions) -> Target:
    """The table as it is once it has taken over the columns of the rows, where the options ask for that."""
    if options.overwrite_schema:
        return _with_schema_of(state, rows, options.partition_by)
    if options.partition_by is not None:
        raise InvalidRequest("partition_by goes with overwrite_schema", where=state.location)
    schema = merged_schema(state.metadata, rows, state.location) if options.merge_schema else state.schema
    if schema == state.schema:
        return Target(state)
    return targeted(state, (AddSchema(schema), SetCurrentSchema(schema.schema_id)))


def targeted(state: TableState, updates: Sequence[Update]) -> Target:
    """The table after these updates."""
    metadata = updated(state.metadata, updates, now())
    return Target(replace(state, metadata=metadata, schema=metadata.schema), tuple(updates))


def _with_schema_of(state: TableState, rows: Struct, partition_by: tuple[str, ...] | None) -> Target:
    schema = replaced_schema(state.metadata, rows)
    if partition_by is None and state.metadata.spec.fields:
        raise Unsupported(
            "overwrite_schema on a partitioned table without partition_by", where=state.location,
            hint="Say by partition_by what the table is to be partitioned by.",
        )  # fmt: skip
    spec = new_spec(state.metadata, schema, partition_by or ())
    updates = (
        AddSchema(schema), SetCurrentSchema(schema.schema_id), AddPartitionSpec(spec), SetDefaultSpec(spec.spec_id),
    )  # fmt: skip
    return targeted(state, updates)


def is_done(state: TableState, options: WriteOptions) -> bool:
    """Whether the application has written under this number or a later one."""
    if options.transaction is None:
        return False
    app_id, number = options.transaction
    done = state.metadata.properties.get(TRANSACTION + app_id, "")
    return done.lstrip("-").isdecimal() and int(done) >= number


def progress(options: WriteOptions) -> tuple[Update, ...]:
    """What a write with these options records of its transaction."""
    if options.transaction is None:
        return ()
    app_id, number = options.transaction
    return (SetProperties({TRANSACTION + app_id: str(number)}),)


def noted(options: WriteOptions) -> dict[str, str]:
    """What the snapshot says besides."""
    return {} if options.user_metadata is None else {USER_METADATA: options.user_metadata}


def _replaced(
    state: TableState,
    target: Target,
    files: tuple[DataFile, ...],
    gone: tuple[LiveFile, ...],
    conditions: tuple[Predicate, ...],
    options: WriteOptions,
    told: dict[str, str] | None = None,
) -> TableState:
    # What the caller has seen is replaced, and nothing that rivals have added since.
    reads = ReadSet(conditions, frozenset(live.file.file_path for live in gone if not live.file.content))
    change = FileChange(OVERWRITE, files, gone, reads, {**(told or {}), **noted(options)})
    return publish_or_discard(state, change, files, (*target.updates, *progress(options)))
