"""Which tables do the tests of Lance use, and how are their manifests bent?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import esker
from esker.lance.manifest import parse_manifest
from esker.lance.place import Place
from esker.lance.relocation import manifest_bytes
from esker.lance.snapshot import load
from esker.storage import open_storage
from tests.arrow_editor import ArrowEditor

ROWS = pa.table({"id": pa.array(range(10), pa.int64()), "name": [f"n{i}" for i in range(10)]})


def made(path: Path, rows: pa.Table = ROWS, **options: Any) -> esker.Table:
    """A table with these rows."""
    return esker.create(path, rows, format="lance", **options)


def newest(path: Path) -> Path:
    """The file of the newest manifest."""
    return path / load(Place(open_storage(path))).file.file.path


def bent(path: Path, change: Callable[[Any], None]) -> Path:
    """The table with its newest manifest changed by hand. Sections beside the manifest are left out."""
    file = newest(path)
    message = parse_manifest(file.read_bytes(), str(file)).message
    for section in ("index_section", "transaction_section", "transaction_before"):
        message.ClearField(section)
    change(message)
    file.write_bytes(manifest_bytes(message.SerializeToString()))
    return path


def flagged(path: Path, reader: int, writer: int) -> Path:
    """The table with both words of flags set by hand."""

    def change(message: Any) -> None:
        message.reader_feature_flags, message.writer_feature_flags = reader, writer

    return bent(path, change)


def rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a table behind the port, in the order of their ids."""
    found: list[dict[str, Any]] = esker.Table(table).to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def editor() -> ArrowEditor:
    """An editor that moves rows without Spark."""
    return ArrowEditor()
