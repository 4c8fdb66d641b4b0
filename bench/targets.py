"""Which tables are written to?

Made once, as those in `tables`, and never written to themselves: each call gets a copy whose data files are links. Beside the
`target` of a case lies the `source` of the rows that go into it, as plain Parquet.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.data import rows, small_rows
from bench.scale import Scale
from bench.tables import Action, adds_of, commit, made, written

LOOSE_ROWS = 1_000
_OF_SOURCE = 99_999


def empty(folder: Path, scale: Scale) -> Path:
    """A table for a few rows at a time. Writers have defaults of their own for when a checkpoint is due, so it says when."""

    def make(target: Path) -> None:
        commit(target / "target", small_rows(0).schema, [], properties={"delta.checkpointInterval": "10"})
        put(target / "source", [small_rows(0)])

    return made(folder / "empty-with-interval", make)


def empty_for_rows(folder: Path, scale: Scale) -> Path:
    """A table for many rows at once."""

    def make(target: Path) -> None:
        commit(target / "target", rows(0, 1).schema, [])
        put(target / "source", (rows(i, scale.rows_per_file) for i in range(scale.target_files)))

    return made(folder / f"empty-for-{scale.target_files}x{scale.rows_per_file}", make)


def plain(folder: Path, scale: Scale) -> Path:
    """A table of large files, which are written again where rows of theirs change."""

    def make(target: Path) -> None:
        commit(target / "target", rows(0, 1).schema, _large_files(target / "target", scale, scale.target_files))
        put(target / "source", [changes(scale.target_files * scale.rows_per_file, scale.source_rows)])

    return made(folder / f"plain-{scale.target_files}x{scale.rows_per_file}", make)


def with_vectors(folder: Path, scale: Scale) -> Path:
    """The same table, where deletion vectors are enabled."""
    source = plain(folder, scale)
    return made(folder / f"vectors-{scale.target_files}x{scale.rows_per_file}", lambda target: _enabled(source, target))


def of_two_sizes(folder: Path, scale: Scale) -> Path:
    """A table with deletion vectors, and a small one that has a tenth of its rows; each has a source that is all over it."""

    def make(target: Path) -> None:
        files = scale.target_files // 10
        _enabled(plain(folder, scale), target)
        _commit_enabled(target / "small", _large_files(target / "small", scale, files))
        put(target / "small-source", [changes(files * scale.rows_per_file, scale.source_rows)])

    return made(folder / f"sizes-{scale.target_files}x{scale.rows_per_file}", make)


def loose(folder: Path, scale: Scale) -> Path:
    """A table of small files."""

    def make(target: Path) -> None:
        table = target / "target"
        adds = [written(table, f"data/part-{i:05}.parquet", rows(i, LOOSE_ROWS)) for i in range(scale.loose_files)]
        commit(table, rows(0, 1).schema, adds)

    return made(folder / f"loose-{scale.loose_files}", make)


def copied(table: Path, target: Path) -> Path:
    """A table of its own with the same data files, which are never changed and so may be links."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(table / "_delta_log", target / "_delta_log")
    if (table / "data").exists():
        shutil.copytree(table / "data", target / "data", copy_function=os.link)
    return target


def _large_files(table: Path, scale: Scale, count: int) -> list[Action]:
    return [written(table, f"data/part-{i:05}.parquet", rows(i, scale.rows_per_file)) for i in range(count)]


def _enabled(source: Path, target: Path) -> None:
    """The table and the source, with deletion vectors enabled."""
    copied(source / "target", target / "target")
    shutil.rmtree(target / "target" / "_delta_log")
    _commit_enabled(target / "target", adds_of(source / "target"))
    shutil.copytree(source / "source", target / "source", copy_function=os.link)


def _commit_enabled(table: Path, adds: Iterable[Action]) -> None:
    properties = {"delta.enableDeletionVectors": "true"}
    commit(table, rows(0, 1).schema, adds, features=("deletionVectors",), properties=properties)


def changes(known: int, count: int) -> pa.Table:
    """Rows of which half have ids that are there, at random, and half have new ones."""
    old = np.sort(np.random.default_rng(5).choice(known, count // 2, replace=False))
    new = np.arange(known, known + count - count // 2)
    return rows(_OF_SOURCE, count).set_column(0, "id", pa.array(np.concatenate([old, new])))


def put(folder: Path, parts: Iterable[pa.Table]) -> None:
    folder.mkdir()
    for i, part in enumerate(parts):
        pq.write_table(part, folder / f"part-{i:05}.parquet")
