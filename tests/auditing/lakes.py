"""Folders full of tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from esker.storage import open_storage
from tests.delta.tables import ID, Log, add, metadata, protocol


def table(folder: Path, *features: str, files: int = 1, name: str | None = None, **settings: Any) -> Log:
    """A Delta table, of which only the log is there."""
    log = Log(open_storage(folder))
    body: Mapping[str, Any] = metadata(ID, id=str(folder.name), **settings)["metaData"]
    log.commit(protocol(*features), {"metaData": {**body, "name": name}})
    log.commit(*(add(f"{number}.parquet", size=100) for number in range(files)))
    return log


def lake(root: Path) -> Path:
    """Tables of all formats, and what else lies around in a lake."""
    table(root / "sales/orders", "deletionVectors", delta__enableDeletionVectors="true", files=3)
    table(root / "sales/customers")
    table(root / "web/clicks", "columnMapping", "unheardOf")
    table(root / "sales/orders/day=1", name="inside another")
    table(root / ".trash/old")
    table(root / "_staging/half")
    (root / "iceberg/metadata").mkdir(parents=True)
    (root / "iceberg/metadata/v1.metadata.json").write_text("{}")
    (root / "vectors.lance/_versions").mkdir(parents=True)
    (root / "vectors.lance/_versions/1.manifest").write_bytes(b"")
    (root / "notes/metadata").mkdir(parents=True)
    (root / "notes/metadata/readme.txt").write_text("no table")
    (root / "broken/_delta_log").mkdir(parents=True)
    (root / "broken/_delta_log/00000000000000000000.json").write_text("{")
    return root
