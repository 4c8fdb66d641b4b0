"""Which Iceberg tables are planned, scanned and written to?

Made once, as those in `tables`. The `target` of a case is the table, and beside it lies the `source` of rows that go into it.
Iceberg's files name one another in full, so that a table knows where it will lie.
"""

import os
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.data import REGIONS, rows, small_rows
from bench.iceberg_files import Listed, Making, data_file, moved, pairs, told, with_ids
from bench.scale import Scale
from bench.tables import DELETED, made
from bench.targets import LOOSE_ROWS, changes, put
from esker.core.bitmap import Bitmap
from esker.iceberg.puffin import puffin_file, vector_blob

_DAY = 86_400_000_000
ROWS_LISTED = 1_000
"""The rows that each file is said to have, where there is no file."""
_PATH_ID, _POSITION_ID = 2147483546, 2147483545
_ON_READ = {f"write.{change}.mode": "merge-on-read" for change in ("delete", "update", "merge")}


def listed(folder: Path, scale: Scale) -> Path:
    """A table of many files, of which there are only the names."""
    return _listed(folder, scale.listed_files)


def listed_more(folder: Path, scale: Scale) -> Path:
    """A table of ten times as many."""
    return _listed(folder, scale.listed_files * 10)


def plain(folder: Path, scale: Scale) -> Path:
    """A table of large files, which are written again where rows of theirs change."""
    target = folder / f"iceberg-plain-{_size(scale)}"

    def make(draft: Path) -> None:
        table = draft / "target"
        files = [data_file(table, _name(i), rows(i, scale.rows_per_file)) for i in range(scale.target_files)]
        Making(table, f"{target}/target", rows(0, 1).schema).write(files)
        put(draft / "source", [changes(scale.target_files * scale.rows_per_file, scale.source_rows)])
        (draft / "data").symlink_to("target/data", target_is_directory=True)

    return made(target, make)


def on_read(folder: Path, scale: Scale) -> Path:
    """The same rows in a table of version 3, where changes write deletion vectors."""
    return _alike(folder, scale, "on-read", lambda making, files: making.write(files), 3, _ON_READ)


def with_position_deletes(folder: Path, scale: Scale) -> Path:
    """The same rows, some of each file deleted by a position delete file."""
    return _alike(folder, scale, "positions", lambda making, files: making.write(files, _position_deletes(making, files)))


def with_vectors(folder: Path, scale: Scale) -> Path:
    """The same rows, some of each file deleted by a deletion vector; all are in one file."""
    return _alike(folder, scale, "vectors", lambda making, files: making.write(files, _vectors(making, files)), 3)


def with_equality_deletes(folder: Path, scale: Scale) -> Path:
    """The same rows, some deleted by their ids, which are in one file."""
    return _alike(folder, scale, "equality", lambda making, files: making.write(files, _equality_deletes(making, files)))


def empty_for_rows(folder: Path, scale: Scale) -> Path:
    """A table for many rows at once, which are those of the plain table."""
    source = plain(folder, scale)
    return _empty(folder / f"iceberg-empty-{_size(scale)}", rows(0, 1).schema, lambda to: _link(source / "target/data", to))


def empty(folder: Path, scale: Scale) -> Path:
    """A table for a few rows at a time."""
    return _empty(folder / "iceberg-empty", small_rows(0).schema, lambda to: put(to, [small_rows(0)]))


def loose(folder: Path, scale: Scale) -> Path:
    """A table of small files."""
    target = folder / f"iceberg-loose-{scale.loose_files}"

    def make(draft: Path) -> None:
        table = draft / "target"
        files = [data_file(table, _name(i), rows(i, LOOSE_ROWS)) for i in range(scale.loose_files)]
        Making(table, f"{target}/target", rows(0, 1).schema).write(files)

    return made(target, make)


def copied(table: Path, target: Path) -> Path:
    """A table of its own with the same data files, which are never changed and so may be links."""
    shutil.rmtree(target, ignore_errors=True)
    moved(table, target)
    if (table / "data").exists():
        _link(table / "data", target / "data")
    return target


def linked(table: Path, target: Path) -> Path:
    """The table itself under another name, for those who only read it."""
    target.unlink(missing_ok=True)
    target.symlink_to(table, target_is_directory=True)
    return target


def _listed(folder: Path, count: int) -> Path:
    target = folder / f"iceberg-listed-{count}"

    def make(draft: Path) -> None:
        making = Making(draft / "target", f"{target}/target", rows(0, 1).schema, partition_by="region")
        making.write(map(_said, range(count)))

    return made(target, make)


def _said(number: int) -> Listed:
    """What a writer of the reference implementation would say of a file with these rows."""
    region, first = REGIONS[number % len(REGIONS)], number * ROWS_LISTED
    lower = [struct.pack("<q", first), b"\0\0\0\0", struct.pack("<d", number / 1e7), b"\x01", b"\0", b"word-0",
             struct.pack("<i", 19_000), struct.pack("<q", 19_000 * _DAY), region.encode()]  # fmt: skip
    upper = [struct.pack("<q", first + ROWS_LISTED - 1), b"\xe7\x03\0\0", struct.pack("<d", 1 - number / 1e7),
             b"\0\x98\x96\x7f", b"\x01", b"word-9999", struct.pack("<i", 19_999), struct.pack("<q", 19_999 * _DAY),
             region.encode()]  # fmt: skip
    more = {
        **_COUNTED, "partition": {"region": region}, "lower_bounds": pairs(lower), "upper_bounds": pairs(upper),
        "column_sizes": pairs([5_000 + number % 97 + i for i in range(9)]),
    }  # fmt: skip
    return Listed(f"data/region={region}/{number:07}-5b0c2f7e-00001.parquet", ROWS_LISTED, 45_000 + number % 1_000, more)


_COUNTED = {
    "value_counts": pairs([ROWS_LISTED] * 9), "null_value_counts": pairs([0, 50, *[0] * 7]),
    "nan_value_counts": [{"key": 3, "value": 0}], "split_offsets": [4], "sort_order_id": 0,
}  # fmt: skip


def _size(scale: Scale) -> str:
    return f"{scale.target_files}x{scale.rows_per_file}"


def _name(number: int) -> str:
    return f"data/part-{number:05}.parquet"


def _link(source: Path, target: Path) -> None:
    shutil.copytree(source, target, copy_function=os.link)


def _empty(target: Path, schema: pa.Schema, source: Callable[[Path], object]) -> Path:
    def make(draft: Path) -> None:
        Making(draft / "target", f"{target}/target", schema).write([])
        source(draft / "source")

    return made(target, make)


def _alike(
    folder: Path, scale: Scale, name: str, write: Callable[[Making, Sequence[Listed]], None], version: int = 2,
    properties: Mapping[str, str] | None = None,
) -> Path:  # fmt: skip
    """A table with the data files and the source of the plain one."""
    source, target = plain(folder, scale), folder / f"iceberg-{name}-{_size(scale)}"

    def make(draft: Path) -> None:
        _link(source / "target/data", draft / "target/data")
        _link(source / "source", draft / "source")
        files = [told(draft / "target", _name(i)) for i in range(scale.target_files)]
        write(Making(draft / "target", f"{target}/target", rows(0, 1).schema, version, properties or {}), files)

    return made(target, make)


def _dead(file: Listed, number: int) -> npt.NDArray[np.int64]:
    """The positions of the rows of a file that are deleted, at random."""
    chance = np.random.default_rng([6, number])
    return np.sort(chance.choice(file.records, round(file.records * DELETED), replace=False))


def _position_deletes(making: Making, files: Sequence[Listed]) -> Iterator[Listed]:
    for number, file in enumerate(files):
        dead, path = _dead(file, number), f"{making.location}/{file.path}"
        positions = pa.table({"file_path": pa.array([path] * len(dead)), "pos": pa.array(dead)})
        name = f"data/deletes-{number:05}.parquet"
        pq.write_table(with_ids(positions, (_PATH_ID, _POSITION_ID)), making.draft / name)
        bounds = [{"key": _PATH_ID, "value": path.encode()}]
        about = {"content": 1, "lower_bounds": bounds, "upper_bounds": bounds, "referenced_data_file": path}
        yield Listed(name, len(dead), (making.draft / name).stat().st_size, about)


def _equality_deletes(making: Making, files: Sequence[Listed]) -> list[Listed]:
    first = np.cumsum([0, *(file.records for file in files)])
    dead = np.concatenate([first[number] + _dead(file, number) for number, file in enumerate(files)])
    name = "data/equality.parquet"
    pq.write_table(with_ids(pa.table({"id": pa.array(dead)}), (1,)), making.draft / name)
    return [Listed(name, len(dead), (making.draft / name).stat().st_size, {"content": 2, "equality_ids": [1]})]


def _vectors(making: Making, files: Sequence[Listed]) -> list[Listed]:
    dead = [_dead(file, number) for number, file in enumerate(files)]
    paths = [f"{making.location}/{file.path}" for file in files]
    blobs = [vector_blob(Bitmap.of(rows.tolist()), path) for rows, path in zip(dead, paths, strict=True)]
    puffin = puffin_file(blobs, "bench")
    name = "data/vectors.puffin"
    (making.draft / name).write_bytes(puffin.data)
    about = {"content": 1, "file_format": "PUFFIN"}
    return [
        Listed(name, len(rows), len(puffin.data), {
            **about, "referenced_data_file": path, "content_offset": blob.offset, "content_size_in_bytes": blob.length,
        })
        for rows, path, blob in zip(dead, paths, puffin.blobs, strict=True)
    ]  # fmt: skip
