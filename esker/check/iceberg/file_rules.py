"""Are the files what the manifests say?  (spec, "Manifests", "Delete Formats", "Column Projection", "Partition Transforms")

All of these rules are deep: they read the files. Rows are looked at in Parquet files; others are looked for only.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.check.iceberg.evidence import Evidence, StoredFile
from esker.check.iceberg.sections import puffin, spec
from esker.check.model import Rule, Severity, Sighting
from esker.core.arrow_types import to_arrow
from esker.core.columns import rows_of
from esker.core.types import Array, Map, Struct, Type
from esker.errors import EskerError, InvalidTable
from esker.iceberg.bounds import decoded
from esker.iceberg.data_files import Content
from esker.iceberg.metadata import PartitionField, TableMetadata
from esker.iceberg.puffin import DELETION_VECTOR, parse_puffin, parse_vector
from esker.iceberg.transforms import Unknown, Void, misfit, parse_transform, transformed
from esker.storage.source import open_input

_NAME_MAPPING = "schema.name-mapping.default"
_FIELD_ID = b"PARQUET:field_id"
_PATHS, _POSITIONS = 2147483546, 2147483545
"""The reserved ids of `file_path` and `pos` in position deletes."""


def _there(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(f.file.file_path, "the file is not there") for f in evidence.stored_files if f.info is None and f.problem is None)


def _whole(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(found.where, found.problem) for found in evidence.stored_files if found.problem is not None)


def _sizes(evidence: Evidence) -> Iterator[Sighting]:
    for found in evidence.stored_files:
        if found.info is not None and found.info.size != found.file.file_size_in_bytes:
            yield Sighting(found.where, f"it has {found.info.size} bytes, and the manifest says {found.file.file_size_in_bytes}")


def _rows(evidence: Evidence) -> Iterator[Sighting]:
    for found in evidence.stored_files:
        if found.footer is not None and found.footer.num_rows != found.file.record_count:
            yield Sighting(found.where, f"it has {found.footer.num_rows} rows, and the manifest says {found.file.record_count}")


def _field_ids(evidence: Evidence) -> Iterator[Sighting]:
    """ "If a field id is missing from a data file", a name mapping has to tell."""
    if evidence.metadata is None or _NAME_MAPPING in evidence.metadata.properties:
        return
    for found in _parquet(evidence, Content.DATA):
        if not _by_id(found) and found.footer is not None and found.footer.num_columns:
            yield Sighting(found.where, "its columns have no ids, and the table has no name mapping")


def _partitions(evidence: Evidence) -> Iterator[Sighting]:
    """ "Partition values for a data file must be the same for all records stored in the data file." """
    metadata = evidence.metadata
    for found in _parquet(evidence, Content.DATA) if metadata is not None else ():
        assert metadata is not None
        told = metadata.spec_at(found.file.spec_id)
        for at, field in enumerate(told.fields if told is not None else ()):
            values = _partition_values(evidence, metadata, found, field)
            if values is None or at >= len(found.file.partition):
                continue
            said, distinct = found.file.partition[at], pc.unique(_numbers(values)).to_pylist()
            if distinct not in ([said], []):
                yield Sighting(found.where, f"its partition value of {field.name} is {said!r:.60}, and its rows have {distinct[:3]!r:.120}")


def _partition_values(
    evidence: Evidence, metadata: TableMetadata, found: StoredFile, field: PartitionField
) -> pa.Array | None:
    """What the rows give under the field's transform; None where that cannot be told."""
    transform, columns = parse_transform(field.transform), metadata.schema.by_id()
    if isinstance(transform, Unknown | Void) or len(field.source_ids) != 1 or field.source_ids[0] not in columns:
        return None
    kind = columns[field.source_ids[0]][1].type
    if misfit(transform, kind):
        return None
    values = _column(evidence, found, field.source_ids[0], kind)
    return None if values is None else transformed(transform, values, kind)


def _numbers(values: pa.Array) -> pa.Array:
    """Temporal values as the numbers that manifests keep."""
    if not pa.types.is_temporal(values.type):
        return values
    return values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())


def _statistics(evidence: Evidence) -> Iterator[Sighting]:
    """Counts and bounds hold for the rows: a reader skips files by them."""
    columns = evidence.metadata.schema.by_id() if evidence.metadata is not None else {}
    for found in _parquet(evidence, Content.DATA):
        metrics = found.file.metrics
        for number in sorted({*(metrics.null_value_counts or {}), *(metrics.lower_bounds or {}), *(metrics.upper_bounds or {})}):
            if number not in columns or isinstance(columns[number][1].type, Struct | Array | Map):
                continue
            kind = columns[number][1].type
            values = _column(evidence, found, number, kind)
            if values is None:
                continue
            nulls = (metrics.null_value_counts or {}).get(number)
            if nulls is not None and nulls != values.null_count:
                yield Sighting(found.where, f"the column {number} has {values.null_count} nulls, and the manifest says {nulls}")
            yield from (Sighting(found.where, what) for what in _out_of_bounds(found, number, kind, values))


def _out_of_bounds(found: StoredFile, number: int, kind: Type, values: pa.Array) -> Iterator[str]:
    ordered = values.drop_null()
    if pa.types.is_floating(ordered.type):
        ordered = ordered.filter(pc.invert(pc.is_nan(ordered)))
    if not len(ordered) or pa.types.is_boolean(ordered.type) or pa.types.is_nested(ordered.type):
        return
    ends: tuple[tuple[str, Mapping[int, bytes] | None], ...] = (
        ("lower", found.file.metrics.lower_bounds), ("upper", found.file.metrics.upper_bounds),
    )  # fmt: skip
    for what, bounds in ends:
        if not bounds or number not in bounds:
            continue
        bound = decoded(pa.array([bounds[number]], pa.binary()), kind).cast(ordered.type)[0]
        beyond = pc.less(ordered, bound) if what == "lower" else pc.greater(ordered, bound)
        if pc.any(beyond).as_py():
            yield f"the column {number} has values beyond its {what} bound {bound.as_py()!r:.60}"


def _vectors(evidence: Evidence) -> Iterator[Sighting]:
    rows = {e.file.file_path: e.file.record_count for e in evidence.live if e.file.content == Content.DATA}
    for found in evidence.stored_files:
        file = found.file
        if not file.is_deletion_vector or found.info is None or file.content_offset is None or file.content_size_in_bytes is None:
            continue
        try:
            container = parse_puffin(evidence.read_file(file.file_path), file.file_path)
            bitmap = parse_vector(
                container.data[file.content_offset :][: file.content_size_in_bytes], file.file_path
            )
        except EskerError as error:
            yield Sighting(found.where, error.what)
            continue
        blobs = [b for b in container.blobs if (b.offset, b.length) == (file.content_offset, file.content_size_in_bytes)]
        if not any(blob.type == DELETION_VECTOR for blob in blobs):
            yield Sighting(found.where, f"the file has no deletion vector at {file.content_offset}")
        if len(bitmap) != file.record_count:
            yield Sighting(found.where, f"the vector deletes {len(bitmap)} rows, and the manifest says {file.record_count}")
        of = file.referenced_data_file
        if of in rows and bitmap.greatest is not None and bitmap.greatest >= rows[of]:
            yield Sighting(found.where, f"the vector deletes the row {bitmap.greatest} of a file of {rows[of]} rows")


def _position_deletes(evidence: Evidence) -> Iterator[Sighting]:
    """ "The rows in the delete file must be sorted by file_path then pos." """
    for found in _parquet(evidence, Content.POSITION_DELETES):
        paths, positions = (_column(evidence, found, number, None) for number in (_PATHS, _POSITIONS))
        if paths is None or positions is None:
            yield Sighting(found.where, "it holds position deletes and has no columns file_path and pos")
            continue
        if paths.null_count or positions.null_count:
            yield Sighting(found.where, "it holds position deletes with nulls")
            continue
        if pc.any(pc.less(positions, 0)).as_py():
            yield Sighting(found.where, "it deletes rows at negative positions")
        ordered = pc.sort_indices(pa.table({"p": paths, "n": positions}), [("p", "ascending"), ("n", "ascending")])
        if not np.array_equal(rows_of(ordered), np.arange(len(ordered))):
            yield Sighting(found.where, "its rows are not sorted by file and position")


def _equality_columns(evidence: Evidence) -> Iterator[Sighting]:
    for found in _parquet(evidence, Content.EQUALITY_DELETES):
        have = set(_ids(found.footer.schema.to_arrow_schema())) if found.footer is not None else set()
        missing = [one for one in found.file.equality_ids or () if one not in have]
        yield from (Sighting(found.where, f"it deletes by the column {one}, and does not have it") for one in missing)


def _parquet(evidence: Evidence, content: Content) -> Iterator[StoredFile]:
    return (f for f in evidence.stored_files if f.footer is not None and f.file.content == content)


def _by_id(found: StoredFile) -> dict[int, str]:
    """The names of the file's top-level columns by their ids."""
    if found.footer is None:
        return {}
    fields = found.footer.schema.to_arrow_schema()
    return {int(f.metadata[_FIELD_ID]): f.name for f in fields if f.metadata and _FIELD_ID in f.metadata}


def _ids(fields: Iterable[pa.Field]) -> Iterator[int]:
    """The ids of columns and of what lies in their structs."""
    for field in fields:
        if field.metadata and _FIELD_ID in field.metadata:
            yield int(field.metadata[_FIELD_ID])
        if pa.types.is_struct(field.type):
            yield from _ids(field.type)


def _column(evidence: Evidence, found: StoredFile, number: int, kind: Type | None) -> pa.Array | None:
    """A top-level column of a file, in the type that it has now; None where the file has none."""
    name = _by_id(found).get(number)
    if name is None or found.info is None:
        return None
    storage, path = evidence.place.locate(found.file.file_path)
    try:
        with open_input(storage, path, found.info.size) as source:
            column = pq.read_table(source, columns=[name], partitioning=None).column(0).combine_chunks()
            values = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
            return values if kind is None else values.cast(to_arrow(kind))
    except (pa.ArrowException, OSError) as error:
        raise InvalidTable(f"the column {name} cannot be read: {error}", where=found.where) from error


_MANIFESTS = spec("#manifests")
_ROLL_BACK = "Bring the file back, or roll back to a snapshot that is whole."
_REWRITE = "Rewrite the data file."
_ERROR = Severity.ERROR

RULES: tuple[Rule[Evidence], ...] = (
    Rule("file.there", _ERROR, _MANIFESTS, "Live files are there.", _ROLL_BACK, _there, is_deep=True),
    Rule("file.whole", _ERROR, spec("#appendix-a-format-specific-requirements"), "Live files are of their format.", _ROLL_BACK, _whole, is_deep=True),
    Rule("file.size", Severity.WARNING, _MANIFESTS, "Files have the sizes that manifests tell; some clients find footers by them.", _REWRITE, _sizes, is_deep=True),
    Rule("file.rows", _ERROR, _MANIFESTS, "Files have as many rows as manifests tell.", _REWRITE, _rows, is_deep=True),
    Rule("file.field-ids", _ERROR, spec("#column-projection"), "Columns of data files have ids, or the table a name mapping.", "Set schema.name-mapping.default.", _field_ids, is_deep=True),
    Rule("file.partition", _ERROR, spec("#partitioning"), "All rows of a file have its partition values.", _REWRITE, _partitions, is_deep=True),
    Rule("file.statistics", _ERROR, _MANIFESTS, "Counts and bounds hold for the rows.", _REWRITE, _statistics, is_deep=True),
    Rule("file.vector", _ERROR, puffin("#deletion-vector-v1-blob-type"), "Deletion vectors are whole and delete rows that are there.", "Roll back, or rewrite the data file if its rows are known.", _vectors, is_deep=True),
    Rule("file.position-deletes", _ERROR, spec("#position-delete-files"), "Position deletes name files and positions, sorted.", "Rewrite the position deletes.", _position_deletes, is_deep=True),
    Rule("file.equality-deletes", _ERROR, spec("#equality-delete-files"), "Equality deletes have the columns that they delete by.", _ROLL_BACK, _equality_columns, is_deep=True),
)  # fmt: skip
