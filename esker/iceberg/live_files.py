"""Which files make up a snapshot?  (spec, "Manifests", "Scan Planning")

The entries of the manifests that are not deleted, as columns: data files apart from delete files. Files of different partition
specs have different partition tuples, so these stay in parts, one for each spec and shape.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.arrow_types import to_arrow
from esker.core.columns import Mask, rows_of
from esker.core.types import Type
from esker.errors import InvalidTable
from esker.iceberg.data_files import Content
from esker.iceberg.manifest_lists import ManifestFile
from esker.iceberg.manifests import COLUMN_TYPES, Entries, read_manifests
from esker.iceberg.metadata import PartitionField, PartitionSpec, TableMetadata
from esker.iceberg.partitions import identity_sources, partition_numbers, partition_type, partition_values

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Files:
    """Files of one kind, in parts. Whatever is asked of all of them comes in the order of the parts."""

    metadata: TableMetadata
    parts: tuple[Entries, ...]

    def __len__(self) -> int:
        return sum(part.table.num_rows for part in self.parts)

    def column(self, name: str) -> pa.Array:
        """A column of all files."""
        kind = COLUMN_TYPES[name]
        chunks = [_alike(chunk, kind) for part in self.parts for chunk in part.table.column(name).chunks]
        return pa.concat_arrays(chunks) if chunks else pa.nulls(0, kind)

    def numbers(self, name: str) -> Numbers:
        """A column of numbers without nulls."""
        return rows_of(self.column(name))

    @cached_property
    def spec_ids(self) -> Numbers:
        return np.concatenate([np.full(p.table.num_rows, p.spec_id, np.int64) for p in self.parts] or [_NONE])

    def spec(self, part: Entries) -> PartitionSpec:
        found = self.metadata.spec_at(part.spec_id)
        assert found is not None  # checked when the manifests were listed
        return found

    def values(self, field: PartitionField, kind: Type | None = None) -> pa.Array:
        """The values of a partition field; null in the files of specs that do not have it."""
        wanted = kind or partition_type(self.metadata, field)
        arrays = [self._part_values(part, field, wanted) for part in self.parts]
        return pa.concat_arrays(arrays) if arrays else pa.nulls(0, to_arrow(wanted))

    def has_field(self, field: PartitionField) -> Mask:
        """Which files are of a spec with this partition field."""
        specs = [s.spec_id for s in self.metadata.partition_specs if any(f.is_same(field) for f in s.fields)]
        return np.isin(self.spec_ids, specs)

    def shared(self, column_id: int, kind: Type) -> tuple[Mask, pa.Array]:
        """Which files are partitioned by a column as it is, and the value that all of their rows have in it."""
        own = [identity_sources(self.spec(part)).get(column_id) for part in self.parts]
        arrays = [
            pa.nulls(part.table.num_rows, to_arrow(kind)) if field is None else self._part_values(part, field, kind)
            for part, field in zip(self.parts, own, strict=True)
        ]
        counts = [part.table.num_rows for part in self.parts]
        is_shared: Mask = np.repeat(np.array([field is not None for field in own], dtype=bool), counts)
        return is_shared, pa.concat_arrays(arrays) if arrays else pa.nulls(0, to_arrow(kind))

    def only(self, keep: Mask) -> "Files":
        """Some of the files."""
        starts = np.cumsum([0, *(p.table.num_rows for p in self.parts)])
        return Files(
            self.metadata, tuple(p.only(keep[a:b]) for p, a, b in zip(self.parts, starts, starts[1:], strict=False))
        )

    def _part_values(self, part: Entries, field: PartitionField, kind: Type) -> pa.Array:
        spec = self.spec(part)
        own = next((f for f in spec.fields if f.is_same(field)), None)
        if own is None:
            return pa.nulls(part.table.num_rows, to_arrow(kind))
        return partition_values(part.partition, spec, own, kind)


@dataclass(frozen=True)
class LiveFiles:
    """The data files and the delete files of a snapshot."""

    data: Files
    deletes: Files

    @cached_property
    def scopes(self) -> tuple[Numbers, Numbers]:
        """A number for the spec and partition of each data file, and of each delete file: equal where both are equal."""
        both = Files(self.data.metadata, (*self.data.parts, *self.deletes.parts))
        scopes = np.zeros(len(both), np.int64)
        following = 0
        for spec in both.metadata.partition_specs:
            rows = np.flatnonzero(both.spec_ids == spec.spec_id)
            if len(rows):
                own = both.only(both.spec_ids == spec.spec_id)
                numbers = partition_numbers([own.values(f) for f in spec.fields], len(rows))
                scopes[rows] = numbers + following
                following += int(numbers.max()) + 1
        return scopes[: len(self.data)], scopes[len(self.data) :]


def read_live(
    metadata: TableMetadata,
    manifests: Sequence[ManifestFile],
    bodies: Sequence[bytes],
    where: str,
    statistics_of: Collection[int] | None,
) -> LiveFiles:
    """The live files of manifests whose bytes are at hand, with the statistics of columns of these ids, or of all for None."""
    data = [at for at, m in enumerate(manifests) if not m.is_deletes]
    deletes = [at for at, m in enumerate(manifests) if m.is_deletes]
    found = [
        read_manifests([manifests[at] for at in kind], [bodies[at] for at in kind], where, ids)
        for kind, ids in ((data, statistics_of), (deletes, None))
    ]
    live = LiveFiles(*(Files(metadata, tuple(e.only(e.is_live) for e in entries)) for entries in found))
    if (live.data.numbers("content") != Content.DATA).any() or (live.deletes.numbers("content") == Content.DATA).any():
        raise InvalidTable("a manifest of data files lists delete files, or the other way round", where=where)
    return live


def _alike(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values of a list or map under the names that all manifests share."""
    if values.type == kind:
        return values
    if pa.types.is_map(kind):
        keys, items = values.keys.cast(kind.key_type), values.items.cast(kind.item_type)
        return pa.MapArray.from_arrays(_offsets(values), keys, items).cast(kind)
    return pa.ListArray.from_arrays(_offsets(values), values.values.cast(kind.value_type)).cast(kind)


def _offsets(values: pa.Array) -> pa.Array:
    """Where each list begins and ends; null where there is none."""
    offsets = values.offsets
    if not values.null_count:
        return offsets
    known = pc.is_valid(values)
    ends = pa.concat_arrays([known, pa.array([True])])
    return pc.if_else(ends, offsets, pa.scalar(None, offsets.type))


_NONE = np.zeros(0, np.int64)
