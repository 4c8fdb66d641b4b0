"""Which files and which manifests may hold rows for which a filter is TRUE?  (spec, "Scan Planning")

What is known of a column comes from its metrics and from every partition field that is made of it; together they are one set of
bounds for each file. A manifest's summaries are the same for all files of the manifest at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.binding import bind
from esker.core.columns import Mask, mask_of
from esker.core.predicate import Path, Predicate, columns
from esker.core.skipping import ColumnStats, may_match
from esker.core.types import Field, Struct, Type
from esker.errors import Unsupported
from esker.iceberg.bounds import decoded
from esker.iceberg.live_files import Files
from esker.iceberg.manifest_lists import FieldSummary, ManifestFile
from esker.iceberg.metadata import PartitionField, PartitionSpec, TableMetadata
from esker.iceberg.partitions import partition_fields, partition_type
from esker.iceberg.projection import bucket_holds, is_telling_null, source_range
from esker.iceberg.schema import Schema
from esker.iceberg.statistics import FileStatistics
from esker.iceberg.transforms import Bucket, Transform, parse_transform


def matching_manifests(
    metadata: TableMetadata, schema: Schema, manifests: Sequence[ManifestFile], predicate: Predicate
) -> tuple[ManifestFile, ...]:
    """The manifests that may list a data file with a row for which the predicate is TRUE."""
    kept = np.ones(len(manifests), dtype=bool)
    for spec in metadata.partition_specs:
        own = np.array(
            [m.partition_spec_id == spec.spec_id and m.partitions is not None for m in manifests], dtype=bool
        )
        rows = np.flatnonzero(own)
        if len(rows) and spec.fields:
            summaries = _Summaries(metadata, schema.struct, spec, [manifests[int(i)] for i in rows])
            kept[rows] = may_match(predicate, summaries)
    return tuple(m for m, is_kept in zip(manifests, kept, strict=True) if is_kept)


def column_ids(predicate: Predicate, schema: Struct) -> frozenset[int]:
    """The ids of the columns that a bound predicate names, whose statistics a `FilePruner` asks for."""
    fields = (schema.at(path) for path in columns(predicate))
    return frozenset(field.id for field in fields if field is not None and field.id is not None)


@dataclass(frozen=True)
class FilePruner:
    """What is known of the columns of data files that were read with their statistics, or with those of some columns."""

    files: Files
    schema: Struct

    def __call__(self, predicate: Predicate) -> Mask:
        return may_match(bind(predicate, self.schema), self)

    @property
    def count(self) -> int:
        return len(self.files)

    def column(self, path: Path) -> ColumnStats | None:
        field = self.schema.at(path)
        if field is None or field.id is None or isinstance(field.type, Struct):
            return None
        stats = self._statistics.column(field.id, field.type, _is_always_there(self.schema, path))
        for partition in _partition_fields(self.files.metadata, field.id):
            transform = parse_transform(partition.transform)
            values = self.files.values(partition)
            is_known = self.files.has_field(partition)
            stats = _met(stats, _of_partition(transform, values, values, is_known, field.type))
        return stats

    @cached_property
    def _statistics(self) -> FileStatistics:
        return FileStatistics(self.files)


@dataclass(frozen=True)
class _Summaries:
    """What manifests of one spec say of the columns of their files."""

    metadata: TableMetadata
    schema: Struct
    spec: PartitionSpec
    manifests: Sequence[ManifestFile]

    @property
    def count(self) -> int:
        return len(self.manifests)

    def column(self, path: Path) -> ColumnStats | None:
        field = self.schema.at(path)
        everything = np.ones(self.count, dtype=bool)
        stats = ColumnStats(None, None, everything, everything)
        for at, partition in enumerate(self.spec.fields):
            if field is not None and partition.source_ids == (field.id,):
                stats = _met(stats, self._summarised(at, partition, field.type))
        return stats

    def _summarised(self, at: int, partition: PartitionField, source: Type) -> ColumnStats:
        summaries = [m.partitions[at] if m.partitions and at < len(m.partitions) else None for m in self.manifests]
        kind = partition_type(self.metadata, partition)
        transform = parse_transform(partition.transform)
        lower, upper = (
            _bounds([getattr(s, name, None) for s in summaries], kind) for name in ("lower_bound", "upper_bound")
        )
        everything = np.ones(self.count, dtype=bool)
        bounds = None if lower is None or upper is None else source_range(transform, lower, upper, source)
        has_null, has_value = (_noted(summaries, test) for test in (_may_be_null, _may_have_value))
        if not is_telling_null(transform):
            has_null = has_value = everything
        least, greatest = bounds or (None, None)
        return ColumnStats(least, greatest, has_null, has_value)


def _noted(summaries: Sequence[FieldSummary | None], test: Callable[[FieldSummary], bool]) -> Mask:
    return np.array([s is None or test(s) for s in summaries], dtype=bool)


def _may_be_null(summary: FieldSummary) -> bool:
    return summary.contains_null


def _may_have_value(summary: FieldSummary) -> bool:
    # "or null if all values are null or NaN"
    return summary.lower_bound is not None or summary.upper_bound is not None or summary.contains_nan is not False


def _bounds(stored: Sequence[bytes | None], kind: Type) -> pa.Array | None:
    try:
        return decoded(pa.array(stored, pa.binary()), kind)
    except Unsupported:
        return None


def _partition_fields(metadata: TableMetadata, source_id: int) -> list[PartitionField]:
    """The partition fields of all specs that are made of one column alone, once each."""
    return [f for f in partition_fields(metadata) if f.source_ids == (source_id,)]


def _of_partition(transform: Transform, lower: pa.Array, upper: pa.Array, is_known: Mask, source: Type) -> ColumnStats:
    """What partition values say, in the files of specs that have them."""
    everything = np.ones(len(lower), dtype=bool)
    if not is_telling_null(transform):
        return ColumnStats(None, None, everything, everything)
    is_null = mask_of(pc.is_null(lower))
    found = ColumnStats(None, None, ~is_known | is_null, ~is_known | ~is_null)
    if isinstance(transform, Bucket):
        return replace(found, may_hold=bucket_holds(transform.count, lower, source))
    bounds = source_range(transform, lower, upper, source)
    return found if bounds is None else replace(found, lower=bounds[0], upper=bounds[1])


def _met(one: ColumnStats, other: ColumnStats) -> ColumnStats:
    """What both say: the narrower of the bounds, and no more possibilities than either has."""
    return ColumnStats(
        _narrower(one.lower, other.lower, pc.greater),
        _narrower(one.upper, other.upper, pc.less),
        one.may_be_null & other.may_be_null,
        one.may_have_value & other.may_have_value,
        one.may_hold or other.may_hold,
    )


def _narrower(one: pa.Array | None, other: pa.Array | None, is_narrower: Callable[..., pa.Array]) -> pa.Array | None:
    """Of two bounds the one that says more; where only one is known, that one."""
    if one is None or other is None:
        return one if other is None else other
    other = other.cast(one.type)
    if pa.types.is_floating(one.type):  # NaN is no bound
        one, other = (pc.if_else(pc.is_nan(bound), pa.nulls(1, bound.type)[0], bound) for bound in (one, other))
    return pc.if_else(pc.coalesce(is_narrower(other, one), pc.is_null(one)), other, one)


def _is_always_there(schema: Struct, path: Path) -> bool:
    above: list[Field | None] = [schema.at(path[: depth + 1]) for depth in range(len(path) - 1)]
    return all(field is not None and not field.nullable for field in above)
