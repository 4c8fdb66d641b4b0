"""What work can be spread over many machines?

A job is a value: it can be pickled, and whoever runs it knows nothing of what it computes. Rows are made from each input,
brought together by a key, and reduced, so that all rows of one key are reduced together.
"""

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa


class Job(Protocol):
    """Rows from inputs, brought together by a key and reduced."""

    @property
    def inputs(self) -> int:
        """How many inputs there are; they are numbered from 0."""

    @property
    def size(self) -> int:
        """How many bytes the inputs have, roughly."""

    @property
    def key(self) -> str:
        """The column of the mapped rows by which they are brought together."""

    @property
    def mapped(self) -> pa.Schema:
        """What `map` gives."""

    @property
    def reduced(self) -> pa.Schema:
        """What `reduce` gives."""

    def map(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of one input."""

    def reduce(self, rows: pa.Table) -> pa.Table:
        """What is left of the rows of some keys, all of whose rows are given."""
