"""What does Esker ask of a place that keeps files?

Six verbs. A path is relative to the storage's root, separated by `/`, and taken literally: nothing is percent-decoded,
and nothing leads out of the root. `esker.testing.storage` has the contract that every implementation passes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file as a listing shows it. `modified` is in milliseconds since the epoch."""

    path: str
    size: int
    modified: int


class Storage(Protocol):
    """A folder, or a bucket's prefix."""

    @property
    def url(self) -> str:
        """The root, with a scheme and without a trailing slash, nothing percent-encoded: `file:///lake/my events`."""

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to, not including, `end` or the end of the file; `NotFound` where there is none."""

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        """All files below the folder `prefix`, at any depth, in ascending order of their paths' code points.

        With `after`, only those whose path is greater than it. A folder that does not exist has no files.
        """

    def head(self, path: str) -> FileInfo:
        """Size and time of one file; `NotFound` where there is none."""

    def put(self, path: str, data: bytes) -> None:
        """Write the file whole, replacing what was there; a reader sees the old bytes or the new, never a part."""

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Write the file whole, or raise `AlreadyExists`; of any number of rivals exactly one succeeds.

        What is `durable` outlives a loss of power once the call has returned. What can be made again need not be, and costs
        less: after a loss of power it may be missing, or empty.
        """

    def delete(self, path: str) -> None:
        """Remove the file; removing what is not there is no error."""
