"""What does a table know of a data file or a delete file?  (Iceberg specification, "Manifests": `data_file`, `manifest_entry`)"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from esker.core.footers import Bound


class Content(IntEnum):
    """What a file holds."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


class Status(IntEnum):
    """What a snapshot has done to a file."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class Metrics:
    """Statistics by field ids; bounds are bytes. None where nothing is known."""

    column_sizes: Mapping[int, int] | None = field(default=None, hash=False)
    value_counts: Mapping[int, int] | None = field(default=None, hash=False)
    null_value_counts: Mapping[int, int] | None = field(default=None, hash=False)
    nan_value_counts: Mapping[int, int] | None = field(default=None, hash=False)
    lower_bounds: Mapping[int, bytes] | None = field(default=None, hash=False)
    upper_bounds: Mapping[int, bytes] | None = field(default=None, hash=False)


NO_METRICS = Metrics()


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file or a delete file. Partition values are plain, in the order of the spec's fields."""

    file_path: str
    file_format: str
    record_count: int
    file_size_in_bytes: int
    spec_id: int
    partition: tuple[Bound | None, ...] = ()
    content: Content = Content.DATA
    metrics: Metrics = NO_METRICS
    key_metadata: bytes | None = None
    split_offsets: tuple[int, ...] | None = None
    equality_ids: tuple[int, ...] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None

    @property
    def is_deletion_vector(self) -> bool:
        return self.content == Content.POSITION_DELETES and self.file_format.lower() == "puffin"

    @property
    def identity(self) -> tuple[str, int | None]:
        """What tells it from other files: deletion vectors share theirs."""
        return self.file_path, self.content_offset


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A file and what a snapshot has done to it. Where numbers are None they are the manifest's."""

    status: Status
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    file: DataFile

    @property
    def is_live(self) -> bool:
        return self.status != Status.DELETED
