"""Do the live files fit the table, as far as the log tells?  (PROTOCOL.md, "Add File and Remove File", "Per-file Statistics")"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from esker.check.delta.evidence import TAKEN_OVER, Evidence, LoggedAction
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.core.columns import mask_of
from esker.core.types import Json, Type, leaves
from esker.delta import properties, row_tracking
from esker.delta.actions import Add
from esker.delta.column_mapping import Mode, physical_name, physical_path
from esker.delta.column_metadata import numbering
from esker.delta.partitions import parse_values
from esker.delta.protocol import is_supported
from esker.delta.schema import parse_schema
from esker.delta.snapshot import Snapshot
from esker.errors import EskerError


def _stats(add: Add) -> dict[str, object]:
    try:
        found = orjson.loads(add.stats or "{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _records(add: Add) -> int | None:
    count = _stats(add).get("numRecords")
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _partition_keys(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is None:
        return
    wanted = {physical_name(f, snapshot.mapping) for f in snapshot.partition_fields}
    for action, values in _partitioned(evidence):
        path = action.body.get("path")
        if missing := sorted(wanted - {*values}):
            yield Sighting(str(path), f"partitionValues lacks {', '.join(missing)}")
        if beyond := sorted({*values} - wanted):
            yield Sighting(str(path), f"partitionValues has {', '.join(beyond)}, by which the table is not partitioned")


def _partition_types(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is None:
        return
    for field in snapshot.partition_fields:
        name = physical_name(field, snapshot.mapping)
        told = {add.path: add.partition_values.get(name) for add in evidence.live}
        told |= {str(action.body.get("path")): _text(values.get(name)) for action, values in _partitioned(evidence)}
        wrong = {text for text in told.values() if not _is_of(text, field.type)}
        yield from (Sighting(path, f"the value {text!r} of {field.name} is no {field.type}") for path, text in told.items() if text in wrong)


def _partition_folders(evidence: Evidence) -> Iterator[Sighting]:
    """Folders that are named by a value, as in Hive, of files that say another. Clients go by what the files say."""
    snapshot = evidence.readable
    kinds = {} if snapshot is None else {physical_name(f, snapshot.mapping): f.type for f in snapshot.partition_fields}
    for action, values in _partitioned(evidence):
        for name, folder in _FOLDER.findall(unquote(str(action.body.get("path")))):
            if name in kinds and name in values and not _is_same(unquote(folder), _text(values[name]), kinds[name]):
                yield Sighting(str(action.body.get("path")), f"its folder says {name}={folder}, and partitionValues {values[name]!r}")


_FOLDER = re.compile("(?:^|/)([^/=]+)=([^/]*)(?=/)")
_NULL = "__HIVE_DEFAULT_PARTITION__"


def _is_same(folder: str, text: str | None, kind: Type) -> bool:
    if not text or folder == _NULL:
        return not text and folder in (_NULL, "")
    if folder == text:
        return True  # NaN too, which equals nothing
    try:
        both = parse_values(pa.array([folder, text], pa.string()), kind, "", "")
    except EskerError:
        return True  # file.partition-values tells of it
    return bool(both[0].equals(both[1]))


def _partitioned(evidence: Evidence) -> Iterator[tuple[LoggedAction, dict[str, Json]]]:
    """The files that live, or were added since the partition columns are what they are, with their partition values."""
    if evidence.readable is None:
        return
    since = _partitioned_since(evidence)
    live = {add.path for add in evidence.live}
    for action in evidence.actions("add"):
        values = action.body.get("partitionValues")
        is_known = since is not None and action.version >= since
        if isinstance(values, dict) and (is_known or action.body.get("path") in live):
            yield action, values


def _partitioned_since(evidence: Evidence) -> int | None:
    """The version from which on, as far as the log still tells, the partition columns are what they are."""
    since = min(evidence.listing.checkpoints, default=None)
    newest: bytes | None = None
    for action in reversed([*evidence.actions("metaData")]):
        newest = newest or _partitioning(action.body)
        if _partitioning(action.body) != newest:
            break
        since = action.version
    return since


def _partitioning(metadata: Mapping[str, Json]) -> bytes:
    """The partition columns, as a metadata action has them and as its schema does."""
    named = metadata.get("partitionColumns")
    try:
        fields = orjson.loads(str(metadata.get("schemaString")))["fields"]
        names = named if isinstance(named, list) else []
        return orjson.dumps([named, [field for field in fields if field["name"] in names]])
    except (orjson.JSONDecodeError, KeyError, TypeError):  # metadata.schema tells of it
        return orjson.dumps(named)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None  # action.add-partition-values tells of others


def _statistics_columns(evidence: Evidence) -> Iterator[Sighting]:
    """Columns that statistics know, and the table does not and never did."""
    known = None if evidence.readable is None else _known_columns(evidence, evidence.readable)
    if known is None:
        return
    for add in evidence.live:
        bounds = [found for kind in ("minValues", "maxValues", "nullCount") if isinstance(found := _stats(add).get(kind), dict)]
        if unknown := sorted({name for found in bounds for name in found if name.lower() not in known}):
            yield Sighting(add.path, f"statistics know {', '.join(unknown)}, which the table does not have")


def _known_columns(evidence: Evidence, snapshot: Snapshot) -> frozenset[str] | None:
    """The physical names of columns in lower case; None where nothing tells all of them.

    Without column mapping no column can have been dropped or renamed. With it a file may have columns of any older schema, also
    of the schemas of the table that it was taken over from.
    """
    if snapshot.mapping is Mode.NONE:
        return frozenset(name.lower() for name in snapshot.schema.names)
    is_whole = bool(evidence.commits) and evidence.commits[0].version == 0
    if not is_whole or any(action.body.get("operation") in TAKEN_OVER for action in evidence.actions("commitInfo")):
        return None
    try:
        schemas = [parse_schema(str(action.body.get("schemaString")), snapshot.location) for action in evidence.actions("metaData")]
    except EskerError:
        return None  # metadata.schema tells of it
    return frozenset(physical_name(field, snapshot.mapping).lower() for schema in schemas for field in schema)


def _is_of(text: str | None, kind: Type) -> bool:
    try:
        parse_values(pa.array([text], pa.string()), kind, "", "")
    except EskerError:
        return False
    return True


def _partition_nulls(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    required = [] if snapshot is None else [f for f in snapshot.partition_fields if not f.nullable]
    for field in required:
        name = physical_name(field, snapshot.mapping) if snapshot else field.name
        for add in evidence.live:
            if not add.partition_values.get(name):
                yield Sighting(add.path, f"it has no value of the partition column {field.name}, which is never null")


def _record_counts(evidence: Evidence) -> Iterator[Sighting]:
    for add in evidence.live:
        count = _stats(add).get("numRecords")
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
            yield Sighting(add.path, f"numRecords is {count!r}")


def _null_counts(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is None:
        return
    records = snapshot.statistics.num_records()
    for path, leaf in leaves(snapshot.schema):
        stored = physical_path(snapshot.schema, path, snapshot.mapping)
        _, _, nulls = snapshot.statistics.bounds(stored, leaf.type)
        wrong = mask_of(pc.fill_null(pc.or_(pc.greater(nulls, records), pc.less(nulls, 0)), False))
        yield from (Sighting(evidence.live[i].path, f"nullCount of {'.'.join(path)} is beyond numRecords, or below 0") for i in wrong.nonzero()[0])


def _crossed_bounds(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is None:
        return
    for path, leaf in leaves(snapshot.schema):
        stored = physical_path(snapshot.schema, path, snapshot.mapping)
        low, high, _ = snapshot.statistics.bounds(stored, leaf.type)
        if pa.types.is_nested(low.type) or pa.types.is_null(low.type):
            continue
        wrong = mask_of(pc.fill_null(pc.greater(low, high), False))
        yield from (Sighting(evidence.live[i].path, f"the minimum of {'.'.join(path)} is above its maximum") for i in wrong.nonzero()[0])


def _vector_records(evidence: Evidence) -> Iterator[Sighting]:
    for add in evidence.live:
        if add.deletion_vector is not None and _records(add) is None:
            yield Sighting(add.path, "a file with a deletion vector has no numRecords")


def _vector_size(evidence: Evidence) -> Iterator[Sighting]:
    for add in evidence.live:
        records = _records(add)
        if add.deletion_vector is not None and records is not None and add.deletion_vector.cardinality > records:
            yield Sighting(add.path, f"{add.deletion_vector.cardinality} rows are deleted of {records}")


def _empty_vectors(evidence: Evidence) -> Iterator[Sighting]:
    for add in evidence.live:
        if add.deletion_vector is not None and add.deletion_vector.cardinality == 0:
            yield Sighting(add.path, "its deletion vector deletes nothing")


def _tracks(snapshot: Snapshot | None) -> bool:
    return snapshot is not None and is_supported(snapshot.protocol, "rowTracking")


def _row_ids(evidence: Evidence) -> Iterator[Sighting]:
    if _tracks(evidence.readable) and properties.row_tracking_enabled(evidence.configuration):
        for add in evidence.live:
            if add.base_row_id is None or add.default_row_commit_version is None:
                yield Sighting(add.path, "row tracking is enabled, and the file has no row ids or commit version")


def _row_id_ranges(evidence: Evidence) -> Iterator[Sighting]:
    if not _tracks(evidence.readable):
        return
    known = [(add.base_row_id, records, add.path) for add in evidence.live if add.base_row_id is not None and (records := _records(add))]
    end, before = -1, ""
    for first, records, path in sorted(known):
        if first <= end:
            yield Sighting(path, f"its row ids begin at {first}, which {before} has")
        if first + records - 1 > end:
            end, before = first + records - 1, path


def _row_id_mark(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is None or not _tracks(snapshot):
        return
    mark = row_tracking.high_water_mark(snapshot.domains, snapshot.location)
    for add in evidence.live:
        records = _records(add)
        if add.base_row_id is not None and records and add.base_row_id + records - 1 > mark:
            yield Sighting(add.path, f"its row ids reach to {add.base_row_id + records - 1}, beyond the high-water mark {mark}")


def _row_versions(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is not None and _tracks(snapshot):
        for add in evidence.live:
            version = add.default_row_commit_version
            if version is not None and not 0 <= version <= snapshot.version:
                yield Sighting(add.path, f"its rows come from version {version}, and the table is at {snapshot.version}")


def _identity_marks(evidence: Evidence) -> Iterator[Sighting]:
    snapshot = evidence.readable
    if snapshot is None or not is_supported(snapshot.protocol, "identityColumns"):
        return
    for field in snapshot.schema:
        numbers = numbering(field)
        if numbers is None or numbers.allows_explicit:
            continue  # rows may bring numbers of their own
        low, high, _ = snapshot.statistics.bounds((physical_name(field, snapshot.mapping),), field.type)
        farthest = pc.max(high).as_py() if numbers.step > 0 else pc.min(low).as_py()
        mark = numbers.high_water_mark
        if farthest is not None and (mark is None or (farthest - mark) * numbers.step > 0):
            yield Sighting(field.name, f"rows have the number {farthest}, and the high-water mark is {mark}")


_REWRITE = "Rewrite the file: delete its rows and add them again."
_STATS = "Rewrite the file, so that it gets statistics that hold."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("file.partition-keys", Severity.WARNING, protocol("#partition-value-serialization"), "partitionValues has the partition columns, and no others.", _REWRITE, _partition_keys),
    Rule("file.partition-values", Severity.ERROR, protocol("#partition-value-serialization"), "Partition values are of their columns' types.", _REWRITE, _partition_types),
    Rule("file.partition-nulls", Severity.ERROR, protocol("#partition-value-serialization"), "A partition column that is never null has a value.", _REWRITE, _partition_nulls),
    Rule("file.partition-folder", Severity.NOTICE, protocol("#partition-value-serialization"), "A folder named by a value has files of that value.", "See which of the two is right; clients go by partitionValues.", _partition_folders),
    Rule("file.statistics-columns", Severity.NOTICE, protocol("#per-file-statistics"), "Statistics are of the table's columns.", "See whether a column was lost from the schema.", _statistics_columns),
    Rule("file.records", Severity.ERROR, protocol("#per-file-statistics"), "numRecords is a number of rows.", _STATS, _record_counts),
    Rule("file.null-count", Severity.ERROR, protocol("#per-file-statistics"), "nullCount is between 0 and numRecords.", _STATS, _null_counts),
    Rule("file.bounds", Severity.ERROR, protocol("#per-file-statistics"), "A minimum is not above its maximum.", _STATS, _crossed_bounds),
    Rule("file.vector-records", Severity.ERROR, protocol("#deletion-vectors"), "A file with a deletion vector has numRecords.", _STATS, _vector_records),
    Rule("file.vector-cardinality", Severity.ERROR, protocol("#deletion-vectors"), "No more rows are deleted than there are.", _REWRITE, _vector_size),
    Rule("file.vector-empty", Severity.NOTICE, protocol("#deletion-vectors"), "A deletion vector deletes something.", "Purge the table.", _empty_vectors),
    Rule("file.row-ids", Severity.ERROR, protocol("#row-tracking"), "While row tracking is enabled every file has row ids.", "Disable row tracking and enable it again.", _row_ids),
    Rule("file.row-id-ranges", Severity.ERROR, protocol("#row-tracking"), "No row id is given out twice.", _REWRITE, _row_id_ranges),
    Rule("file.row-id-mark", Severity.ERROR, protocol("#row-tracking"), "Row ids lie below the high-water mark.", "Commit a higher mark.", _row_id_mark),
    Rule("file.row-versions", Severity.ERROR, protocol("#row-tracking"), "Rows come from a version that is there.", _REWRITE, _row_versions),
    Rule("file.identity-mark", Severity.ERROR, protocol("#identity-columns"), "Numbers lie within the high-water mark.", "Set the mark to the farthest number.", _identity_marks),
)  # fmt: skip
