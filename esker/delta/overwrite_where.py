"""How do rows take the place of those that meet a condition?"""

from collections.abc import Sequence
from dataclasses import replace

import orjson

from esker.core.change import RowEditor
from esker.core.scan import ScanPlan
from esker.core.types import Json
from esker.core.write import Check, RowSource, WriteOptions, WrittenFile
from esker.delta import column_mapping
from esker.delta.actions import Add, action_json
from esker.delta.append import once, progress, with_columns_of
from esker.delta.clustering import clustering_columns
from esker.delta.delete import doomed
from esker.delta.file_actions import add_schema, from_json
from esker.delta.leftovers import discarding
from esker.delta.plan import plan
from esker.delta.replay import LiveFiles
from esker.delta.row_commit import Besides, changeable, published
from esker.delta.row_edits import Edited, Edits, edited
from esker.delta.row_specs import RowSpecs
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Operation
from esker.delta.writing import added, identity_marks, write_spec


def overwrite_where(
    snapshot: Snapshot, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor
) -> Snapshot:
    """Delete the rows for which the condition is TRUE and add the given ones, for each of which it must be, in one commit."""
    return once(snapshot, options, lambda asked_at: _overwrite_where(snapshot, rows, where, options, asked_at, editor))


def _overwrite_where(
    snapshot: Snapshot, rows: RowSource, where: str, options: WriteOptions, asked_at: int, editor: RowEditor
) -> Snapshot:
    target = with_columns_of(snapshot, rows.schema) if options.merge_schema else snapshot
    specs = RowSpecs.of(changeable(target))
    found = doomed(specs, where, editor)
    spec = write_spec(target, rows.schema)
    spec = replace(spec, checks=(*spec.checks, Check(f"the condition of the overwrite: {where}", where)))
    with discarding(target.place.storage, (spec.folder,)):
        files = rows.write(spec)
        adds = added(files, target.metadata, target.mapping, clustering=clustering_columns(target) or ())
        done = edited(specs, Edits(found.rows, whole=found.whole, added_files=_plan_of(target, adds)), editor)
    metadata = identity_marks(target.metadata, files, target.mapping)
    besides = Besides(
        adds=adds,
        paths=tuple(file.path for file in files),
        metadata=None if metadata == snapshot.metadata else metadata,
        protocol=None if target.protocol == snapshot.protocol else target.protocol,
        txns=progress(options),
        asked_at=asked_at,
    )
    return published(snapshot, done, _operation(snapshot, where, files, done, options), found.reads, besides)


def _plan_of(snapshot: Snapshot, adds: Sequence[Add]) -> ScanPlan | None:
    """How to read the rows of files that were just written."""
    if not adds:
        return None
    lines = b"".join(orjson.dumps(action_json(add)) + b"\n" for add in adds)
    partitions = [column_mapping.physical_name(f, snapshot.mapping) for f in snapshot.partition_fields]
    table = from_json(lines, add_schema(partitions, with_stats=True), snapshot.location).adds
    return plan(snapshot.pinned(LiveFiles(table, (table.num_rows,))))


def _operation(
    snapshot: Snapshot, where: str, files: Sequence[WrittenFile], done: Edited, options: WriteOptions
) -> Operation:
    parameters: dict[str, Json] = {
        "mode": "Overwrite", "partitionBy": [*snapshot.metadata.partition_columns], "predicate": where,
    }  # fmt: skip
    metrics = {
        "numFiles": len(files) + len(done.fresh),
        "numOutputRows": sum(file.statistics.rows for file in (*files, *done.written)),
        "numOutputBytes": sum(file.size for file in (*files, *done.written)),
        "numCopiedRows": done.counts.copied,
        "numRemovedFiles": len(done.removed),
        "numRemovedBytes": sum(add.size for add in done.removed),
        "numAddedChangeFiles": len(done.feed),
    }
    if done.counts.deleted is not None:
        metrics["numDeletedRows"] = done.counts.deleted
    return Operation("WRITE", parameters, metrics, options.user_metadata)
