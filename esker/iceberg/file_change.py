"""What does an operation do to the files of a table, and what has it read to decide that?"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from esker.core.columns import Mask
from esker.core.predicate import Predicate
from esker.iceberg.data_files import Content, DataFile, ManifestEntry
from esker.iceberg.live_files import Files
from esker.iceberg.manifests import Entries, records
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.partitions import partition_type, partition_values
from esker.iceberg.state import TableState

APPEND, OVERWRITE, DELETE, REPLACE = "append", "overwrite", "delete", "replace"


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A file of a snapshot: its entry, with all numbers its own, and the manifest that lists it."""

    entry: ManifestEntry
    manifest_path: str

    @property
    def file(self) -> DataFile:
        return self.entry.file


@dataclass(frozen=True)
class ReadSet:
    """What was read to decide on a change.

    `conditions` say which rows were looked for; none for a change that looked for none. `data_files` are the paths of the files
    whose rows were found, moved or deleted: they must be there still, with the deletes that they had.
    """

    conditions: tuple[Predicate, ...] = ()
    data_files: frozenset[str] = frozenset()
    allows_new_deletes: bool = False
    """Whether rows of the files may have been deleted meanwhile: deleting them again changes nothing."""
    allows_new_rows: bool = False
    """Whether rows that meet the conditions may have been added meanwhile."""


@dataclass(frozen=True)
class FileChange:
    """Files that come and go. What is added by `sequence_number` counts as being as old as that."""

    operation: str
    added: tuple[DataFile, ...] = ()
    removed: tuple[LiveFile, ...] = ()
    reads: ReadSet = ReadSet()
    summary: Mapping[str, str] = field(default_factory=dict, hash=False)
    sequence_number: int | None = None
    is_fast: bool = False
    """Whether manifests stay as they are, however many there are."""

    @property
    def is_nothing(self) -> bool:
        return not self.added and not self.removed

    def of(self, content: Content) -> tuple[DataFile, ...]:
        return tuple(file for file in self.added if file.content == content)


def live_files(state: TableState, files: Files, keep: Mask) -> tuple[LiveFile, ...]:
    """Some of the data files, or of the delete files, of a state, one by one, in their order."""
    is_deletes = files is state.files.deletes
    manifests = [m for m in state.manifests if m.may_have_live_files and m.is_deletes == is_deletes]
    return tuple(
        LiveFile(entry, manifests[int(number)].manifest_path)
        for part in files.only(keep).parts
        for entry, number in zip(current_records(part, state.metadata), part.manifest, strict=True)
    )


def current_records(entries: Entries, metadata: TableMetadata) -> Iterator[ManifestEntry]:
    """The entries one by one, as a manifest that is written now has them.

    Their partition values have the types that they have in the current schema: a day that was the value of a date is another
    number than the timestamp that it was promoted to.
    """
    spec = metadata.spec_at(entries.spec_id)
    assert spec is not None  # checked when the manifests were listed
    kinds = [partition_type(metadata, f) for f in spec.fields]
    values = [partition_values(entries.partition, spec, f, kind) for f, kind in zip(spec.fields, kinds, strict=True)]
    names = [str(f.field_id) for f in spec.fields]
    tuples = pa.StructArray.from_arrays(values, names) if values else pa.array([{}] * len(entries.partition), pa.struct([]))
    return records(replace(entries, partition=tuples))


def numbered(state: TableState, numbers: Iterable[int]) -> tuple[LiveFile, ...]:
    """The data files with these numbers, in ascending order."""
    keep = np.zeros(len(state.files.data), dtype=bool)
    keep[list(numbers)] = True
    return live_files(state, state.files.data, keep)
