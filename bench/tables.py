"""Which tables are measured?

They are made once, from fixed seeds, in a cache folder: `ESKER_BENCH_DIR`, or one below the system's temporary folder. The
logs are written by hand, so no side reads its own writing. Data files lie in `data`, where Spark finds them without the table.
"""

import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from bench import checkpoints
from bench.data import REGIONS, delta_schema, rows, small_rows, statistics
from bench.failures import ROOT, Absent
from bench.scale import Scale
from bench.vectors import write_vector

ARCHIVE = Path("delta", "delta-kernel-rs", "300k-add-files-100-col-partitioned.tar.zst")
DELETED = 0.01

Action = Mapping[str, Any]


def cache() -> Path:
    return Path(os.environ.get("ESKER_BENCH_DIR", Path(tempfile.gettempdir(), "esker-bench")))


def big_log(folder: Path, scale: Scale) -> Path:
    """The 300,000 adds of the corpus: five commits, no checkpoint, no statistics, no data files."""
    archive = Path(os.environ.get("ESKER_CORPUS", ROOT.parent / "shared" / "corpus")) / ARCHIVE
    if not archive.is_file():
        raise Absent(f"{ARCHIVE.name} of the corpus is not there; set ESKER_CORPUS to where the corpus lies")
    return made(folder / "big-log", lambda target: _unpack(archive, target))


def classic_checkpoint(folder: Path, scale: Scale) -> Path:
    """The same table with a checkpoint of one Parquet file."""
    log = big_log(folder, scale)
    return made(folder / "big-classic", lambda target: checkpoints.write_classic(log, target))


def v2_checkpoint(folder: Path, scale: Scale) -> Path:
    """The same table with a v2 checkpoint: a Parquet file that names its sidecars."""
    log = big_log(folder, scale)
    return made(folder / "big-v2", lambda target: checkpoints.write_v2(log, target))


def many_files(folder: Path, scale: Scale) -> Path:
    """Small files with statistics, each with ids of its own."""

    def make(target: Path) -> None:
        adds = [written(target, f"data/part-{i:05}.parquet", small_rows(i)) for i in range(scale.small_files)]
        commit(target, small_rows(0).schema, adds)

    return made(folder / f"many-{scale.small_files}", make)


def rows_table(folder: Path, scale: Scale) -> Path:
    """A few large files of several types."""

    def make(target: Path) -> None:
        adds = [written(target, f"data/part-{i:05}.parquet", rows(i, scale.rows_per_file)) for i in range(scale.files)]
        commit(target, rows(0, 1).schema, adds)

    return made(folder / f"rows-{scale.files}x{scale.rows_per_file}", make)


def deleted_table(folder: Path, scale: Scale) -> Path:
    """The same data files, with random rows of each under a deletion vector."""
    source = rows_table(folder, scale)

    def make(target: Path) -> None:
        link(source, target)
        chance = np.random.default_rng(1)
        count = round(scale.rows_per_file * DELETED)
        adds = [
            {**add, "deletionVector": write_vector(target, np.sort(chance.choice(scale.rows_per_file, count, replace=False)))}
            for add in adds_of(source)
        ]
        commit(target, rows(0, 1).schema, adds, features=("deletionVectors",))

    return made(folder / f"deleted-{scale.files}x{scale.rows_per_file}", make)


def partitioned_table(folder: Path, scale: Scale) -> Path:
    """As many rows in folders by partition, named as Hive names them."""

    def make(target: Path) -> None:
        adds = []
        for i in range(scale.files):
            region = REGIONS[i % len(REGIONS)]
            name = f"data/region={region}/part-{i:05}.parquet"
            adds.append(written(target, name, rows(i, scale.rows_per_file).drop_columns("region"), {"region": region}))
        commit(target, rows(0, 1).schema, adds, partition_by=("region",))

    return made(folder / f"partitioned-{scale.files}x{scale.rows_per_file}", make)


def made(target: Path, make: Callable[[Path], None]) -> Path:
    """The table at the target, made there if it is not; half a table never bears the name."""
    if not target.exists():
        draft = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        make(draft)
        draft.rename(target)
    return target


def _unpack(archive: Path, target: Path) -> None:
    with pa.CompressedInputStream(pa.OSFile(str(archive)), "zstd") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        tar.extractall(target, filter="data")
    (log,) = target.glob("*/_delta_log")
    log.rename(target / "_delta_log")
    log.parent.rmdir()


def written(table: Path, name: str, data: pa.Table, partition: Mapping[str, str] | None = None) -> Action:
    """Write a data file; the body of its `add`."""
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path)
    return {
        "path": name, "partitionValues": dict(partition or {}), "size": path.stat().st_size, "modificationTime": 0,
        "dataChange": True, "stats": orjson.dumps(statistics(data)).decode(),
    }  # fmt: skip


def commit(
    table: Path,
    schema: pa.Schema,
    adds: Iterable[Action],
    *,
    partition_by: Iterable[str] = (),
    features: Iterable[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    """The only version of a table."""
    names = list(features)
    plain = {"minReaderVersion": 1, "minWriterVersion": 2}
    listed = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    metadata = {
        "id": "00000000-0000-0000-0000-000000000000", "format": {"provider": "parquet", "options": {}},
        "schemaString": orjson.dumps(delta_schema(schema)).decode(), "partitionColumns": list(partition_by),
        "configuration": dict(properties or {}), "createdTime": 0,
    }  # fmt: skip
    actions = [{"protocol": listed if names else plain}, {"metaData": metadata}, *({"add": add} for add in adds)]
    log = table / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_bytes(b"".join(orjson.dumps(action) + b"\n" for action in actions))


def adds_of(table: Path) -> list[Action]:
    lines = (table / "_delta_log" / f"{0:020}.json").read_bytes().splitlines()
    return [action["add"] for action in map(orjson.loads, lines) if "add" in action]


def link(source: Path, target: Path) -> None:
    """The same data files under another table: both are in the page cache or neither is."""
    (target / "data").mkdir()
    for file in (source / "data").iterdir():
        os.link(file, target / "data" / file.name)
