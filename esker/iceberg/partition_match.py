"""Which live files lie in the partitions of others?"""

from collections.abc import Sequence

import numpy as np

from esker.iceberg.data_files import DataFile
from esker.iceberg.file_change import LiveFile, live_files
from esker.iceberg.live_files import Files
from esker.iceberg.state import TableState


def same_partitions(state: TableState, files: Sequence[DataFile]) -> tuple[LiveFile, ...]:
    """The live data and delete files of the same partition spec and the same partition values."""
    wanted = {(file.spec_id, _bits(file.partition)) for file in files}
    found: tuple[LiveFile, ...] = ()
    for kind in (state.files.data, state.files.deletes):
        found += tuple(live for live in _all(state, kind) if (live.file.spec_id, _bits(live.file.partition)) in wanted)
    return found


def _all(state: TableState, files: Files) -> tuple[LiveFile, ...]:
    return live_files(state, files, np.ones(len(files), dtype=bool))


def _bits(values: tuple[object, ...]) -> tuple[object, ...]:
    """Values that compare as partitions do: there is one NaN, and the zeros differ."""
    return tuple(repr(value) if isinstance(value, float) else value for value in values)
