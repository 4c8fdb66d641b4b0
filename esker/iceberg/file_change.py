"""What does an operation do to the files of a table, and what has it read to decide that?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from esker.core.columns import Mask
from esker.core.predicate import Predicate
from esker.iceberg.data_files import Content, DataFile, ManifestEntry
from esker.iceberg.live_files import Files
from esker.iceberg.manifests import records
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
        for entry, number in zip(records(part), part.manifest, strict=True)
    )


def numbered(state: TableState, numbers: Iterable[int]) -> tuple[LiveFile, ...]:
    """The data files with these numbers, in ascending order."""
    keep = np.zeros(len(state.files.data), dtype=bool)
    keep[list(numbers)] = True
    return live_files(state, state.files.data, keep)
