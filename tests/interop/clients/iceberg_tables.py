"""Which Iceberg tables are clients shown, to see what they make of each thing that a version admits?  (spec, "Format Versioning")

One small table a format version, and one for each thing that a client can fail at: *active*, the metadata asks writers for it;
*used*, the table holds it. What Esker does not write is put into the metadata by hand.
"""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

import esker
from esker.iceberg.data_files import Content, DataFile
from esker.iceberg.features import MERGE_ON_READ, WRITE_MODES
from esker.iceberg.file_change import FileChange
from esker.iceberg.snapshot_writer import publish
from esker.iceberg.table import IcebergTable
from tests.arrow_editor import ArrowEditor
from tests.interop.clients.making import PLAIN, Step, by_esker, rows, then
from tests.interop.clients.tables import Case

Json = dict[str, Any]


def iceberg_cases() -> Iterator[Case]:
    """Every table."""
    yield from (_made(f"format version {version}", version) for version in (1, 2, 3))
    for version, name in ((2, "position_deletes"), (3, "deletion_vectors")):
        yield _made(f"{name} active", version, **dict.fromkeys(WRITE_MODES, MERGE_ON_READ))
        yield _made(f"{name} used", version, after=then(_marking, _deleting), holds=rows(2, 3))
    yield _made("equality_deletes used", 2, after=_deleting_by_value, holds=rows(2, 3))
    yield _made("refs used", 2, after=_naming)
    yield _made("default_values used", 3, after=lambda place: esker.open(place).add_columns("stars INT DEFAULT 5"),
                holds=rows(1, 2, 3, stars=[5, 5, 5]), appended=rows(4, stars=pa.array([1], pa.int32())))  # fmt: skip
    yield _made("type_unknown used", 3, f"{PLAIN}, nothing VOID")
    yield _made("type_timestamp_ns used", 3, rows(1, at=AT).schema, before=rows(1, 2, at=pa.array([*AT, None], AT.type)), appended=rows(4, at=AT))
    for name, kind in (("variant", "variant"), ("geometry", "geometry"), ("geography", "geography")):
        yield _made(f"type_{name} used", 3, after=edited(_with_column(kind)))
    yield _made("statistics used", 2, after=edited(_with_entry("statistics", STATISTICS)))
    yield _made("partition_statistics used", 2, after=edited(_with_entry("partition-statistics", PARTITION_STATISTICS)))
    yield _made("unknown_transforms used", 2, after=edited(_with_spec({"source-id": 1, "transform": "spiral[3]"})))
    yield _made("multi_arg_transforms used", 3, after=edited(_with_spec({"source-ids": [1, 2], "transform": "bucket[4]"})))
    yield _made("encryption_keys used", 3, after=edited(_with_entry("encryption-keys", KEY)))


def edited(change: Callable[[Json], None]) -> Step:
    """The newest metadata changed by hand."""

    def step(place: Path) -> None:
        newest = max((place / "metadata").glob("v*.metadata.json"), key=lambda file: int(file.name[1:].partition(".")[0]))
        metadata = json.loads(newest.read_text())
        change(metadata)
        newest.write_text(json.dumps(metadata))

    return step


AT = pa.array([datetime(2026, 3, 31, 2, 30)], pa.timestamp("ns"))
STATISTICS = {"statistics-path": "gone.puffin", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []}
PARTITION_STATISTICS = {"statistics-path": "gone.parquet", "file-size-in-bytes": 1}
KEY = {"key-id": "k1", "encrypted-key-metadata": "a2V5", "encrypted-by-id": "k0"}


def _made(name: str, version: int, schema: str | pa.Schema = PLAIN, /, *, before: pa.Table | None = None, after: Step | None = None, **told: Any) -> Case:
    of_case = {key: told.pop(key) for key in ("holds", "appended") if key in told}
    properties = {"format-version": str(version), **told}
    return by_esker(name, schema, before, after, format="iceberg", properties=properties, **of_case)


def _marking(place: Path) -> None:
    esker.open(place).set_properties(dict.fromkeys(WRITE_MODES, MERGE_ON_READ))


def _deleting(place: Path) -> None:
    esker.open(place)._table.delete("id = 1", ArrowEditor())


def _deleting_by_value(place: Path) -> None:
    """The row of id 1 is deleted by its value."""
    state = _iceberg(place).state
    path = place / "data" / f"{uuid4()}-deletes.parquet"
    schema = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    pq.write_table(pa.table([[1]], schema=schema), path)
    file = DataFile(
        f"{state.location}/data/{path.name}", "PARQUET", 1, path.stat().st_size, 0, (), Content.EQUALITY_DELETES,
        equality_ids=(1,),
    )  # fmt: skip
    publish(state, FileChange("delete", (file,)))


def _naming(place: Path) -> None:
    table = esker.open(place)
    table.iceberg.create_tag("then")
    table.iceberg.create_branch("audit")


def _iceberg(place: Path) -> IcebergTable:
    table = esker.open(place)._table
    assert isinstance(table, IcebergTable)
    return table


def _with_column(kind: str) -> Callable[[Json], None]:
    """A column that no file has."""

    def change(metadata: Json) -> None:
        metadata["last-column-id"] = 3
        metadata["schemas"][-1]["fields"].append({"id": 3, "name": "more", "required": False, "type": kind})

    return change


def _with_entry(name: str, entry: Json) -> Callable[[Json], None]:
    def change(metadata: Json) -> None:
        snapshot = {} if name == "encryption-keys" else {"snapshot-id": metadata["current-snapshot-id"]}
        metadata[name] = [{**snapshot, **entry}]

    return change


def _with_spec(field: Json) -> Callable[[Json], None]:
    """A partition spec for files to come."""

    def change(metadata: Json) -> None:
        metadata["partition-specs"].append({"spec-id": 1, "fields": [{"name": "part", "field-id": 1000, **field}]})
        metadata["default-spec-id"], metadata["last-partition-id"] = 1, 1000

    return change
