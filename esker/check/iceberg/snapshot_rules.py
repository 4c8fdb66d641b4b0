"""Do snapshots and manifest lists say what they must?  (spec, "Snapshots", "Manifest Lists", "Sequence Numbers", "Row Lineage")"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from esker.check.iceberg.evidence import Evidence, Node, number
from esker.check.iceberg.sections import spec
from esker.check.model import Rule, Severity, Sighting
from esker.iceberg.data_files import Content, Status

_OPERATIONS = ("append", "replace", "overwrite", "delete")
_MINUTE = 60_000


def _snapshots(evidence: Evidence) -> Iterator[tuple[str, Node]]:
    return ((f"snapshot {one.get('snapshot-id')}", one) for one in evidence.objects("snapshots"))


def _lists(evidence: Evidence) -> Iterator[Sighting]:
    for where, one in _snapshots(evidence):
        if "manifest-list" in one and "manifests" in one:
            yield Sighting(where, "it has a manifest list and manifests, and may have one of them only")
        elif not isinstance(one.get("manifest-list"), str) and evidence.version > 1:
            yield Sighting(where, "it has no manifest list")
        elif "manifest-list" not in one and "manifests" not in one:
            yield Sighting(where, "it has neither a manifest list nor manifests")


def _operations(evidence: Evidence) -> Iterator[Sighting]:
    for where, one in _snapshots(evidence):
        summary = one.get("summary")
        operation = summary.get("operation") if isinstance(summary, dict) else None
        if operation not in _OPERATIONS and (evidence.version > 1 or operation is not None):
            yield Sighting(where, f"its operation is {operation!r:.40}, none of {', '.join(_OPERATIONS)}")


def _sequence_numbers(evidence: Evidence) -> Iterator[Sighting]:
    by_id = {number(one, "snapshot-id"): one for _, one in _snapshots(evidence)}
    for where, one in _snapshots(evidence) if evidence.version > 1 else ():
        parent = by_id.get(number(one, "parent-snapshot-id"))
        own, before = number(one, "sequence-number"), number(parent or {}, "sequence-number")
        # a snapshot of version 1 has no number, and 0 is read; so has its parent
        if own is not None and before is not None and own <= before and own > 0:
            yield Sighting(where, f"its sequence number {own} is not above its parent's {before}")


def _times(evidence: Evidence) -> Iterator[Sighting]:
    by_id = {number(one, "snapshot-id"): one for _, one in _snapshots(evidence)}
    for where, one in _snapshots(evidence):
        parent = by_id.get(number(one, "parent-snapshot-id"), {})
        own, before = number(one, "timestamp-ms"), number(parent, "timestamp-ms")
        if own is not None and before is not None and own < before - _MINUTE:
            yield Sighting(where, f"it was made at {own}, before its parent at {before}")


def _schema_ids(evidence: Evidence) -> Iterator[Sighting]:
    known = {number(schema, "schema-id") for schema in evidence.objects("schemas")}
    for where, one in _snapshots(evidence):
        if (told := number(one, "schema-id")) is not None and known and told not in known:
            yield Sighting(where, f"its schema is {told}, which is not listed")


def _row_ids(evidence: Evidence) -> Iterator[Sighting]:
    """ "first-row-id" and "added-rows" are required in version 3; a snapshot from before the upgrade has none."""
    for where, one in _snapshots(evidence) if evidence.version >= 3 else ():
        first, added = number(one, "first-row-id"), number(one, "added-rows")
        if (first is None) is not (added is None):
            yield Sighting(where, "of first-row-id and added-rows it has only one")
        elif first is not None and added is not None and min(first, added) < 0:
            yield Sighting(where, f"first-row-id is {first} and added-rows {added}, and neither may be negative")


def _listed(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.unlisted is not None and evidence.snapshot is not None:
        yield Sighting(f"snapshot {evidence.snapshot.snapshot_id}", evidence.unlisted.what)


def _once(evidence: Evidence) -> Iterator[Sighting]:
    counted = Counter(manifest.manifest_path for manifest in evidence.manifest_files)
    yield from (Sighting("manifest list", f"{path} is listed {times} times") for path, times in counted.items() if times > 1)


def _specs(evidence: Evidence) -> Iterator[Sighting]:
    for manifest in evidence.manifest_files if evidence.metadata else ():
        if evidence.metadata is not None and evidence.metadata.spec_at(manifest.partition_spec_id) is None:
            yield Sighting(manifest.manifest_path, f"its partition spec {manifest.partition_spec_id} is not listed")


def _manifest_sequence(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.snapshot
    for manifest in evidence.manifest_files if snapshot is not None and evidence.version > 1 else ():
        if snapshot is not None and manifest.sequence_number > snapshot.sequence_number:
            yield Sighting(manifest.manifest_path, f"its sequence number {manifest.sequence_number} is above the snapshot's")
        if manifest.min_sequence_number > manifest.sequence_number:
            yield Sighting(manifest.manifest_path, f"its lowest sequence number {manifest.min_sequence_number} is above its own")


def _deletes_in_version_1(evidence: Evidence) -> Iterator[Sighting]:
    for manifest in evidence.manifest_files if evidence.version == 1 else ():
        if manifest.is_deletes:
            yield Sighting(manifest.manifest_path, "it holds delete files, which version 1 does not have")


def _manifest_row_ids(evidence: Evidence) -> Iterator[Sighting]:
    """The rows of manifests that were given ids are apart."""
    given = [m for m in evidence.manifest_files if m.first_row_id is not None and not m.is_deletes]
    for manifest in evidence.manifest_files:
        if manifest.is_deletes and manifest.first_row_id is not None:
            yield Sighting(manifest.manifest_path, "it holds delete files, and delete files have no row ids")
    ordered = sorted(given, key=lambda m: m.first_row_id or 0)
    for one, other in pairwise(ordered):
        if one.first_row_id == other.first_row_id and (one.added_rows_count or 0) + (one.existing_rows_count or 0):
            yield Sighting(other.manifest_path, f"it starts with the row id {other.first_row_id}, as {one.manifest_path} does")


def _counts(evidence: Evidence) -> Iterator[Sighting]:
    for manifest in evidence.manifests:
        if manifest.problem is not None:
            continue
        files, rows = Counter[Status](), Counter[Status]()
        for entry in manifest.entries:
            files[entry.status] += 1
            rows[entry.status] += entry.file.record_count
        listed = manifest.file
        told = {
            Status.ADDED: (listed.added_files_count, listed.added_rows_count),
            Status.EXISTING: (listed.existing_files_count, listed.existing_rows_count),
            Status.DELETED: (listed.deleted_files_count, listed.deleted_rows_count),
        }
        for status, (file_count, row_count) in told.items():
            for what, said, found in (("files", file_count, files[status]), ("rows", row_count, rows[status])):
                if said is not None and said != found:
                    yield Sighting(manifest.where, f"the list says {said} {status.name.lower()} {what}, and there are {found}")


def _totals(evidence: Evidence) -> Iterator[Sighting]:
    """What the summary counts is what there is."""
    snapshot = evidence.snapshot
    if snapshot is None or evidence.unlisted is not None or any(m.problem for m in evidence.manifests):
        return
    data = [e.file for e in evidence.live if e.file.content == Content.DATA]
    deletes = [e.file for e in evidence.live if e.file.content != Content.DATA]
    found = {
        "total-data-files": len(data),
        "total-records": sum(file.record_count for file in data),
        "total-delete-files": len(deletes),
        "total-position-deletes": sum(file.record_count for file in deletes if file.content == Content.POSITION_DELETES),
        "total-equality-deletes": sum(file.record_count for file in deletes if file.content == Content.EQUALITY_DELETES),
    }
    for key, count in found.items():
        said = snapshot.summary.get(key)
        if said is not None and said != str(count) and snapshot.manifest_list is not None:
            yield Sighting(f"snapshot {snapshot.snapshot_id}", f"{key} is {said:.40}, and there are {count}")


_SNAPSHOTS = spec("#snapshots")
_LISTS = spec("#manifest-lists")
_ROLL_BACK = "Roll back to a snapshot that is whole."
_REWRITE = "Rewrite the manifests."
_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

RULES: tuple[Rule[Evidence], ...] = (
    Rule("snapshot.manifests", _ERROR, _SNAPSHOTS, "A snapshot has a manifest list.", _ROLL_BACK, _lists),
    Rule("snapshot.operation", _WARNING, _SNAPSHOTS, "A snapshot says what it did, in a word of the specification.", "Expire the snapshot.", _operations),
    Rule("snapshot.sequence-number", _ERROR, spec("#sequence-numbers"), "Sequence numbers rise from parent to child.", _ROLL_BACK, _sequence_numbers),
    Rule("snapshot.time", _WARNING, _SNAPSHOTS, "A snapshot is younger than its parent.", "Nothing: time travel by timestamp may be off.", _times),
    Rule("snapshot.schema", _ERROR, _SNAPSHOTS, "A snapshot's schema is listed.", "Expire the snapshot.", _schema_ids),
    Rule("snapshot.row-ids", _ERROR, spec("#row-lineage"), "First row id and added rows come together.", _ROLL_BACK, _row_ids),
    Rule("list.there", _ERROR, _LISTS, "The manifest list is there and whole.", _ROLL_BACK, _listed),
    Rule("list.once", _ERROR, _LISTS, "A manifest is listed once.", _REWRITE, _once),
    Rule("list.specs", _ERROR, _LISTS, "Manifests are of partition specs that are listed.", _ROLL_BACK, _specs),
    Rule("list.sequence-numbers", _ERROR, _LISTS, "A manifest is no younger than its snapshot, and no older than its files.", _REWRITE, _manifest_sequence),
    Rule("list.deletes", _ERROR, spec("#version-2-row-level-deletes"), "Version 1 has no delete files.", "Upgrade the table.", _deletes_in_version_1),
    Rule("list.row-ids", _ERROR, spec("#row-lineage"), "No two manifests give the same row ids.", "Write the rows to a new table.", _manifest_row_ids),
    Rule("list.counts", _ERROR, _LISTS, "The list counts what its manifests hold.", _REWRITE, _counts),
    Rule("snapshot.totals", _WARNING, _SNAPSHOTS, "The summary counts what there is.", "Commit any change with a client that counts anew.", _totals),
)  # fmt: skip
