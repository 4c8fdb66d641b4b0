"""Do the entries of manifests say what they must?  (spec, "Manifests", "Manifest Entry Fields", "Scan Planning", "Delete Formats")"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from esker.check.iceberg.evidence import Evidence, Look, Manifest
from esker.check.iceberg.sections import spec
from esker.check.model import Rule, Severity, Sighting
from esker.core.types import FRACTIONAL, Array, Map, Struct, Type
from esker.errors import InvalidTable
from esker.iceberg.bounds import parse_bytes
from esker.iceberg.data_files import Content, DataFile, ManifestEntry, Status
from esker.iceberg.metadata import TableMetadata

_FORMATS = ("parquet", "orc", "avro", "puffin")


def _entries(problem: Callable[[Evidence, Manifest, ManifestEntry], Iterator[str]]) -> Look:
    """A look at each entry for itself."""

    def look(evidence: Evidence) -> Iterator[Sighting]:
        for manifest in evidence.manifests:
            for entry in manifest.entries:
                yield from (Sighting(_name(entry.file), what) for what in problem(evidence, manifest, entry))

    return look


def _name(file: DataFile) -> str:
    return file.file_path.rsplit("/", 1)[-1]


def _readable(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(m.where, m.problem) for m in evidence.manifests if m.problem is not None)


def _lengths(evidence: Evidence) -> Iterator[Sighting]:
    for manifest in evidence.manifests:
        if manifest.size is not None and manifest.size != manifest.file.manifest_length:
            yield Sighting(manifest.where, f"it has {manifest.size} bytes, and the list says {manifest.file.manifest_length}")


def _content(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    if (entry.file.content != Content.DATA) is not manifest.file.is_deletes:
        yield f"a file of {_kind(entry.file)} is in a manifest of {'deletes' if manifest.file.is_deletes else 'data'}"


def _kind(file: DataFile) -> str:
    return file.content.name.lower().replace("_", " ")


def _sequence(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    highest = manifest.file.sequence_number
    for what, told in (("sequence number", entry.sequence_number), ("file sequence number", entry.file_sequence_number)):
        if told is not None and evidence.version > 1 and told > max(highest, 0):
            yield f"its {what} {told} is above its manifest's {highest}"


def _lowest(evidence: Evidence) -> Iterator[Sighting]:
    for manifest in evidence.manifests if evidence.version > 1 else ():
        live = [e.sequence_number for e in manifest.entries if e.is_live and e.sequence_number is not None]
        if live and min(live) < manifest.file.min_sequence_number:
            yield Sighting(manifest.where, f"a file has the sequence number {min(live)}, below the lowest that the list tells")


def _added_ids(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    if entry.status is Status.ADDED and manifest.file.added_snapshot_id not in (None, entry.snapshot_id):
        yield f"it is added by the snapshot {entry.snapshot_id}, in a manifest of {manifest.file.added_snapshot_id}"


def _formats(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    file = entry.file
    if file.file_format.lower() not in _FORMATS:
        yield f"its format is {file.file_format!r:.40}, none of {', '.join(_FORMATS)}"
    elif file.file_format.lower() == "puffin" and file.content != Content.POSITION_DELETES:
        yield "it is a Puffin file, and only deletion vectors are"


def _sizes(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    if entry.file.file_size_in_bytes < 0:
        yield f"its size is {entry.file.file_size_in_bytes}"


def _partitions(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    found = evidence.metadata.spec_at(entry.file.spec_id) if evidence.metadata else None
    if found is not None and len(found.fields) != len(entry.file.partition):
        yield f"it has {len(entry.file.partition)} partition values, and its spec {len(found.fields)} fields"


def _live_once(evidence: Evidence) -> Iterator[Sighting]:
    counted = Counter(entry.file.identity for entry in evidence.live)
    yield from (Sighting(path, f"the file is live {times} times") for (path, _), times in counted.items() if times > 1)


def _equality(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    ids = entry.file.equality_ids
    if entry.file.content != Content.EQUALITY_DELETES:
        if ids:
            yield f"it holds {_kind(entry.file)} and has equality ids"
        return
    if not ids:
        yield "it holds equality deletes and does not say by which columns"
    known = _columns(evidence.metadata)
    yield from (f"it deletes by the column {one}, which no schema has" for one in ids or () if known and one not in known)
    # "Float and double columns cannot be used as delete columns in equality delete files."
    yield from (f"it deletes by the column {one}, of float or double" for one in ids or () if known.get(one) in FRACTIONAL)


def _columns(metadata: TableMetadata | None) -> dict[int, Type]:
    """The columns of all schemas by their ids, as the newest schema that has them says."""
    schemas = metadata.schemas if metadata else ()
    return {number: field.type for schema in schemas for number, (_, field) in schema.by_id().items()}


def _vectors(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    file = entry.file
    if not file.is_deletion_vector:
        return
    if file.referenced_data_file is None:
        yield "it is a deletion vector and does not say of which data file"
    if file.content_offset is None or file.content_size_in_bytes is None:
        yield "it is a deletion vector and does not say where it lies in its file"
    elif file.content_offset < 0 or file.content_offset + file.content_size_in_bytes > file.file_size_in_bytes:
        yield "it is a deletion vector that lies beyond the end of its file"


def _vector_versions(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    if entry.file.is_deletion_vector and evidence.version < 3:
        yield f"it is a deletion vector, which version {evidence.version} does not have"


def _one_vector(evidence: Evidence) -> Iterator[Sighting]:
    """ "There must be at most one deletion vector for each data file in a snapshot." """
    counted = Counter(e.file.referenced_data_file for e in evidence.live if e.file.is_deletion_vector)
    yield from (Sighting(str(path), f"it has {times} deletion vectors") for path, times in counted.items() if times > 1)


def _dangling(evidence: Evidence) -> Iterator[Sighting]:
    there = {e.file.file_path for e in evidence.live if e.file.content == Content.DATA}
    for entry in evidence.live:
        if (of := entry.file.referenced_data_file) is not None and of not in there and entry.file.content != Content.DATA:
            yield Sighting(_name(entry.file), f"it deletes rows of {of}, which is no live file")


def _counts(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    metrics = entry.file.metrics
    values = metrics.value_counts or {}
    for what, counts in (("nulls", metrics.null_value_counts), ("NaNs", metrics.nan_value_counts)):
        for column, count in (counts or {}).items():
            if count < 0 or (column in values and count > values[column]):
                yield f"the column {column} has {count} {what} among {values.get(column)} values"


def _bounds(evidence: Evidence, manifest: Manifest, entry: ManifestEntry) -> Iterator[str]:
    """Bounds are values of their column's type, older types included, and the lower is not above the upper."""
    lower, upper = entry.file.metrics.lower_bounds or {}, entry.file.metrics.upper_bounds or {}
    known = _columns(evidence.metadata)
    for column in sorted(lower.keys() | upper.keys()):
        if column not in known or isinstance(known[column], Struct | Array | Map):
            continue
        try:
            ends = [parse_bytes(bound[column], known[column]) for bound in (lower, upper) if column in bound]
        except InvalidTable as error:
            yield f"a bound of the column {column}: {error.what}"
            continue
        if len(ends) == 2 and type(ends[0]) is type(ends[1]) and ends[0] > ends[1]:  # type: ignore[operator]
            yield f"the column {column} has a lower bound above its upper bound"


def _row_ids(evidence: Evidence) -> Iterator[Sighting]:
    """No two data files have the same row ids."""
    given = [e.file for e in evidence.live if e.file.content == Content.DATA and e.file.first_row_id is not None]
    ordered = sorted((f for f in given if f.record_count), key=lambda file: file.first_row_id or 0)
    for one, other in pairwise(ordered):
        if (one.first_row_id or 0) + one.record_count > (other.first_row_id or 0):
            yield Sighting(_name(other), f"its row ids from {other.first_row_id} on are those of {_name(one)} too")


_ENTRIES = spec("#manifest-entry-fields")
_MANIFESTS = spec("#manifests")
_VECTORS = spec("#deletion-vectors")
_ROLL_BACK = "Roll back to a snapshot that is whole."
_REWRITE_FILE = "Rewrite the data file."
_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

RULES: tuple[Rule[Evidence], ...] = (
    Rule("manifest.there", _ERROR, _MANIFESTS, "Manifests are there and whole.", _ROLL_BACK, _readable),
    Rule("manifest.length", _WARNING, spec("#manifest-lists"), "Manifests have the length that the list tells.", "Rewrite the manifests.", _lengths),
    Rule("entry.content", _ERROR, _MANIFESTS, "A manifest holds data files or delete files, not both.", "Rewrite the manifests.", _entries(_content)),
    Rule("entry.sequence-number", _ERROR, spec("#sequence-number-inheritance"), "No file is younger than its manifest.", _ROLL_BACK, _entries(_sequence)),
    Rule("entry.lowest-sequence-number", _ERROR, spec("#manifest-lists"), "No file is older than the list tells of its manifest.", "Rewrite the manifests.", _lowest),
    Rule("entry.snapshot-id", _WARNING, _ENTRIES, "What a manifest adds, its snapshot adds.", "Rewrite the manifests.", _entries(_added_ids)),
    Rule("entry.format", _ERROR, _MANIFESTS, "Files are of formats that the specification has.", _REWRITE_FILE, _entries(_formats)),
    Rule("entry.size", _ERROR, _MANIFESTS, "Files have sizes.", _ROLL_BACK, _entries(_sizes)),
    Rule("entry.partition", _ERROR, _MANIFESTS, "A file has a value for each field of its partition spec.", _ROLL_BACK, _entries(_partitions)),
    Rule("entry.live-once", _ERROR, _ENTRIES, "A file is live once in a snapshot.", "Delete the rows that are there twice.", _live_once),
    Rule("entry.equality-ids", _ERROR, spec("#equality-delete-files"), "Equality deletes say by which columns, none of them of float or double; nothing else does.", _ROLL_BACK, _entries(_equality)),
    Rule("entry.vector", _ERROR, _VECTORS, "A deletion vector says of which file it is and where it lies.", _ROLL_BACK, _entries(_vectors)),
    Rule("entry.vector-version", _ERROR, _VECTORS, "Deletion vectors are of version 3.", "Upgrade the table, or rewrite the data files.", _entries(_vector_versions)),
    Rule("entry.one-vector", _ERROR, _VECTORS, "A data file has one deletion vector at most.", _REWRITE_FILE, _one_vector),
    Rule("entry.dangling", _WARNING, _VECTORS, "Deletes are of files that are live.", "Remove dangling deletes.", _dangling),
    Rule("entry.counts", _ERROR, _MANIFESTS, "Nulls and NaNs are among the values.", _REWRITE_FILE, _entries(_counts)),
    Rule("entry.bounds", _ERROR, spec("#binary-single-value-serialization"), "Bounds are values of their column, in order.", _REWRITE_FILE, _entries(_bounds)),
    Rule("entry.row-ids", _ERROR, spec("#row-lineage"), "No two files have the same row ids.", _REWRITE_FILE, _row_ids),
)  # fmt: skip
