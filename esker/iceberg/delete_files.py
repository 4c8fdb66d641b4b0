"""How are deleted rows recorded?  (spec, "Position Delete Files", "Delete File Stats"; "Deletion Vectors")

Version 2: a file of paths and positions for each partition. Version 3: one Puffin file with a deletion vector for each data file,
which holds all rows of the file that are dead by position and takes the place of what recorded them before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from esker.core.bitmap import Bitmap
from esker.core.columns import int64
from esker.errors import InvalidTable
from esker.iceberg.data_files import Content, DataFile, Metrics
from esker.iceberg.file_change import LiveFile
from esker.iceberg.place import Place
from esker.iceberg.puffin import puffin_file, vector_blob
from esker.iceberg.state import TableState
from esker.iceberg.summary import ENGINE
from esker.iceberg.writing import recorded_path

PATH_ID, POSITION_ID = 2147483546, 2147483545


@dataclass(frozen=True)
class DeadRows:
    """A data file and rows of it: those that die now, and all that are dead then."""

    live: LiveFile
    gone: Bitmap
    dead: Bitmap


def write_deletes(state: TableState, files: Sequence[DeadRows], folder: str) -> tuple[DataFile, ...]:
    """Write what records the dead rows, below the folder of the data root."""
    if state.metadata.format_version >= 3:
        return _write_vectors(state, files, folder)
    groups: dict[tuple[int, tuple[object, ...]], list[DeadRows]] = {}
    for file in files:
        groups.setdefault((file.live.file.spec_id, _key(file.live.file.partition)), []).append(file)
    return tuple(_write_positions(state, group, folder) for group in groups.values())


def _key(values: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(repr(v) if isinstance(v, float) else v for v in values)


def _write_vectors(state: TableState, files: Sequence[DeadRows], folder: str) -> tuple[DataFile, ...]:
    written = puffin_file([vector_blob(f.dead, f.live.file.file_path) for f in files], f"{ENGINE['engine-name']}")
    path = f"{folder}/{uuid4()}-deletes.puffin"
    _put(state, path, written.data)
    return tuple(
        DataFile(
            recorded_path(state, path), "PUFFIN", len(file.dead), len(written.data), file.live.file.spec_id,
            file.live.file.partition, Content.POSITION_DELETES, referenced_data_file=file.live.file.file_path,
            content_offset=blob.offset, content_size_in_bytes=blob.length,
        )
        for file, blob in zip(files, written.blobs, strict=True)
    )  # fmt: skip


_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": str(PATH_ID)}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": str(POSITION_ID)}),
    ]
)


def _write_positions(state: TableState, files: Sequence[DeadRows], folder: str) -> DataFile:
    """ "The rows in the delete file must be sorted by `file_path` then `pos`": paths as their bytes are ordered."""
    ordered = sorted(files, key=lambda f: f.live.file.file_path.encode())
    paths = [f.live.file.file_path for f in ordered]
    counts = np.array([len(f.gone) for f in ordered], np.int64)
    positions = np.concatenate([f.gone.to_numpy().astype(np.int64) for f in ordered])
    column = pa.array(paths, pa.string()).take(int64(np.repeat(np.arange(len(paths)), counts)))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table([column, int64(positions)], schema=_SCHEMA), sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    path = f"{folder}/{uuid4()}-deletes.parquet"
    _put(state, path, data)
    rows = int(counts.sum())
    # Bounds are whole: "equal lower/upper bound of `file_path`" tells that the deletes are of one file.
    ends = {PATH_ID: (paths[0].encode(), paths[-1].encode()), POSITION_ID: _ends(positions)}
    metrics = Metrics(
        None, {PATH_ID: rows, POSITION_ID: rows}, {PATH_ID: 0, POSITION_ID: 0}, {},
        {key: low for key, (low, _) in ends.items()}, {key: high for key, (_, high) in ends.items()},
    )  # fmt: skip
    first = ordered[0].live.file
    return DataFile(
        recorded_path(state, path), "PARQUET", rows, len(data), first.spec_id, first.partition, Content.POSITION_DELETES, metrics,
        referenced_data_file=paths[0] if len(paths) == 1 else None,
    )  # fmt: skip


def _ends(positions: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[bytes, bytes]:
    return positions.min().astype("<i8").tobytes(), positions.max().astype("<i8").tobytes()


def _put(state: TableState, path: str, data: bytes) -> None:
    storage, name = state.place.locate(recorded_path(state, path))
    storage.put_if_absent(name, data)


def check_dead(file: DeadRows, before: Bitmap) -> None:
    """Raise where the rows that die are dead already, or are none of the file's."""
    is_alive = len(file.dead) == len(before) + len(file.gone)
    if not is_alive or (file.dead.greatest or 0) >= file.live.file.record_count:
        raise InvalidTable(
            f"the rows are not those that record_count, {file.live.file.record_count}, stands for", where=file.live.file.file_path
        )


def of_data_files(place: Place, deletes: Sequence[LiveFile], paths: Iterable[str]) -> tuple[LiveFile, ...]:
    """The delete files that are of one data file alone, of those at these paths. One place may be spelled in many ways."""
    found: dict[str, list[LiveFile]] = {}
    for live in deletes:
        if live.file.content == Content.POSITION_DELETES and (path := only_file(live.file)) is not None:
            found.setdefault(place.absolute(path), []).append(live)
    return tuple(live for path in paths for live in found.get(place.absolute(path), ()))


def only_file(deletes: DataFile) -> str | None:
    """The data file that position deletes are of, where it is one alone."""
    if deletes.referenced_data_file is not None:
        return deletes.referenced_data_file
    low = (deletes.metrics.lower_bounds or {}).get(PATH_ID)
    high = (deletes.metrics.upper_bounds or {}).get(PATH_ID)
    return low.decode() if low is not None and low == high else None
